/* What the command line names, a run or a model, opened for use. */
#ifndef APP_VERBS_OPEN_H
#define APP_VERBS_OPEN_H

#include "app/history/opened.h"
#include "app/verbs/args.h"

/* RUN (and --model for a model that was moved), or --model; with the names.  On failure nothing is left
 * open. */
int verb_open(struct opened *o, const struct args *a, struct err *e);
/* A run as it was typed, from the verb's database; --model is where its model lies now, --task one of several
 * tasks.  On failure opened_release frees. */
int verb_open_typed(struct opened *o, const struct args *a, const char *typed, struct err *e);
/* --max-length, or the run's. */
int verb_max_len(const struct opened *o, const struct args *a, int64_t *out, struct err *e);

#endif
