/* Opens the run or the model of the command line. */
#ifndef APP_VERBS_OPEN_H
#define APP_VERBS_OPEN_H

#include "app/history/opened.h"
#include "app/verbs/args.h"

/* Opens RUN (with --model if its model was moved), or --model, with label names.  On failure nothing is left
 * open. */
int verb_open(struct opened *o, const struct args *a, struct err *e);
/* Opens a typed run from the database; --model is the path of its model if it was moved, --task one of its
 * tasks.  After a failure the caller calls opened_release. */
int verb_open_typed(struct opened *o, const struct args *a, const char *typed, struct err *e);
/* Applies --precision to a model.  ERR_USAGE if it differs from the precision of a run. */
int verb_precision(struct opened *o, const struct args *a, struct err *e);
/* Returns --max-length, or the value of the run, in *out. */
int verb_max_len(const struct opened *o, const struct args *a, int64_t *out, struct err *e);

#endif
