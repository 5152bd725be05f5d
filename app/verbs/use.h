/* A run or a model, opened for use (verb_use.c). */
#ifndef APP_VERBS_USE_H
#define APP_VERBS_USE_H

#include "app/history/backbone.h"
#include "app/verbs/args.h"
#include "app/verbs/input.h"
#include "core/train/config.h"
#include "core/train/predict.h"
#include "store/store.h"

/* A predictor with what it came from. */
struct user {
    struct model *model;
    struct predictor *predictor;
    struct run_config config; /* of the run, of several tasks as if it had the one in use; zeroed for a model's
                               * own head */
    bool several;             /* the run has more than one task */
    char *method;             /* of the run, as text; NULL without one */
    int64_t run;              /* 0: a model */
    int64_t step;             /* of the run's checkpoint */
    const char **name;        /* labels in the order of the outputs */
    int names;
};

/* The run's best checkpoint on its model, looked for as backbone_open does; names stay empty.  `task`: which of
 * its tasks, by name; NULL: the only one (ERR_USAGE lists several).  What is
 * worth saying about the model goes to `said` (may be NULL), a line each.  On failure user_release
 * frees. */
int user_open_run(struct user *u, struct store *s, int64_t id, const char *task, const struct backbone_hint *hint,
                  struct buf *said, struct err *e);
/* The same of a run as it was typed, from the verb's database; --model is where its model lies now, --task one
 * of several tasks. */
int user_open_typed(struct user *u, const struct args *a, const char *typed, struct err *e);
/* What is said of a run that knows no facts of its model (core/model/facts.h).  Caller frees. */
char *user_facts_unknown(int64_t run);
/* RUN (and --model for a model that was moved), or --model; with the names.  On failure nothing is left open. */
int user_open(struct user *u, const struct args *a, struct err *e);
/* --max-len, or the run's. */
int user_max_len(const struct user *u, const struct args *a, int64_t *out, struct err *e);
/* How the run read its tables; points into *u. */
struct table_reader user_reader(const struct user *u);
void user_release(struct user *u);

#endif
