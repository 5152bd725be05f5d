/* Settings of generation that several verbs have. */
#ifndef APP_VERBS_GENERATING_H
#define APP_VERBS_GENERATING_H

#include "app/verbs/args.h"
#include "core/model/generate.h"

/* Sets the maximum number of new tokens, sampling, the repetition penalty and the stop texts, where they are
 * given. */
int verb_sampling(const struct args *a, struct generate_options *o, struct err *e);

#endif
