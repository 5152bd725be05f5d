/* What a run learns from and what it asks of it, each a row of functions that the run calls for all that
 * differs; private to core/train.
 *
 * Where its steps and evaluations take from: the tasks' examples, in setup.c, step.c, part.c and evaluate.c, or
 * episodes, in core/train/meta/meta_run.c.  What is asked of an example: its class or score by a head, in
 * objective_head.c; a text, in objective_text.c; its masked words, in objective_masked.c. */
#ifndef CORE_TRAIN_RUN_OBJECTIVE_H
#define CORE_TRAIN_RUN_OBJECTIVE_H

#include "core/train/run/batch.h"
#include "core/train/run/state.h"

struct example_source {
    bool starts; /* it is evaluated before the first step, also without a dev split */
    /* Takes the tasks, and the objective.  release: what begin made, also where it failed. */
    int (*begin)(struct run *r, const struct run_tasks *tasks, struct err *e);
    void (*release)(struct run *r);

    int (*parts)(const struct run *r); /* of a step, at most */
    void (*prepare)(struct run *r);    /* a step: takes what it learns from, and cuts it into parts */
    void (*part)(struct run *r, int index, struct worker *w, real *grads);
    void (*updated)(struct run *r);    /* after the parameters were; or NULL */

    /* An evaluation: steps between two, its units, the examples that are done with one, and a unit. */
    int64_t (*every)(const struct run *r);
    int (*units)(const struct run *r);
    int64_t (*unit_rows)(const struct run *r, int index);
    void (*unit)(struct run *r, int index, struct worker *w);
    /* Sends what came of all units but the scores of splits; false when the run failed. */
    bool (*tell)(struct run *r);
};
extern const struct example_source source_examples, source_episodes;
/* What source_examples is made of. */
int examples_parts(const struct run *r);
void examples_prepare(struct run *r);
void examples_part(struct run *r, int index, struct worker *w, real *grads);
int64_t examples_every(const struct run *r);
int examples_units(const struct run *r);
int64_t examples_unit_rows(const struct run *r, int index);
void examples_unit(struct run *r, int index, struct worker *w);
bool examples_tell(struct run *r);

/* What a pass runs on. */
struct bench {
    struct tape *tape;
    struct arena *memory;
    struct attach *attach;
    real *grads; /* NULL: the way back is not gone */
    struct worker *worker;
};

struct objective {
    const char *loss_op; /* the op of its loss, for messages; NULL: by the kind of the first task */
    const char *beside;  /* whose else a logit that is not finite may be; "": nobody's */
    int (*begin)(struct run *r, struct err *e); /* or NULL */
    void (*release)(struct run *r);             /* or NULL */

    /* An example of a step.  take (or NULL): notes that it is drawn and returns its tokens, of which its text
     * has `tokens`; weigh: what it counts in the loss. */
    size_t (*take)(struct run *r, struct run_task *of, uint32_t row, size_t tokens);
    void (*weigh)(const struct run *r, const struct run_task *of, struct batch_row *x);
    /* Adds to a packed batch what else the loss needs; or NULL. */
    void (*pack)(const struct run *r, struct arena *memory, struct batch *b, const struct batch_row *row,
                 int n);
    /* The weighted losses of a part's examples, 1×1 each, of every task that is in it or of all together; in
     * part->loss without what teachers add.  Returns how many. */
    int (*losses)(struct run *r, const struct bench *on, struct pass *p, node encoded, struct part *part,
                  node *loss);

    /* Splits.  open (or NULL): what those of a task have in common, into *how. */
    int (*open)(struct run *r, int task, struct generate_options *how, struct err *e);
    void (*split_init)(const struct run *r, struct run_split *s, const struct generate_options *how);
    int (*split_units)(const struct run_split *s);
    int64_t (*split_rows)(const struct run_split *s, int unit);
    bool (*split_score)(const struct run *r, struct run_split *s, int unit, struct worker *w,
                        struct attach *a, const real *params, const real *made, uint64_t *bad);
    void (*split_measure)(struct run_split *s, const struct task *t, struct metrics *m,
                          struct metric_value *tokens);
    /* The metrics that the kind of the task does not name; or NULL. */
    void (*metrics)(struct event *e, const struct task *t, const struct metrics *m,
                    const struct metric_value *tokens);
};
extern const struct objective objective_head, objective_text, objective_masked;

/* What an example weighs where the loss is the mean over examples. */
void weigh_example(const struct run *r, const struct run_task *of, struct batch_row *x);
/* Which masks are drawn in the step in hand. */
uint64_t step_masks(const struct run *r);
/* Appends a metric, while there is room. */
void event_add_metric(struct event *e, const char *name, struct metric_value v);

#endif
