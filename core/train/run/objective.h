/* Sources of training data and training objectives, each a table of functions that the run calls; private to
 * core/train. Sources: the tasks' examples, in setup.c, step.c, part.c and evaluate.c, or episodes, in
 * core/train/meta/meta_run.c. Objectives: class or score by a head, in objective_head.c; text-to-text and
 * language modeling, in objective_text.c; masked language modeling, in objective_masked.c. */
#ifndef CORE_TRAIN_RUN_OBJECTIVE_H
#define CORE_TRAIN_RUN_OBJECTIVE_H

#include "core/train/run/batch.h"
#include "core/train/run/state.h"

struct example_source {
    bool starts; /* evaluate before the first step, also without a validation set */
    /* begin: sets up the tasks and the objective. release: frees what begin allocated, also after a
     * failure. */
    int (*begin)(struct run *r, const struct run_tasks *tasks, struct err *e);
    void (*release)(struct run *r);

    int (*parts)(const struct run *r); /* maximum number per step */
    void (*prepare)(struct run *r);    /* selects the data of a step and divides it into parts */
    void (*part)(struct run *r, int index, struct worker *w, real *grads);
    void (*updated)(struct run *r);    /* after the optimizer step; or NULL */

    /* Evaluation: interval in steps, number of units, examples completed by a unit, one unit. */
    int64_t (*every)(const struct run *r);
    int (*units)(const struct run *r);
    int64_t (*unit_examples)(const struct run *r, int index);
    void (*unit)(struct run *r, int index, struct worker *w);
    /* Sends the results of all units other than the scores of splits; returns false when the run failed. */
    bool (*report)(struct run *r);
};
extern const struct example_source source_examples, source_episodes;
/* The functions of source_examples. */
int examples_parts(const struct run *r);
void examples_prepare(struct run *r);
void examples_part(struct run *r, int index, struct worker *w, real *grads);
int64_t examples_every(const struct run *r);
int examples_units(const struct run *r);
int64_t examples_unit_examples(const struct run *r, int index);
void examples_unit(struct run *r, int index, struct worker *w);
bool examples_report(struct run *r);

/* Resources of a pass. */
struct bench {
    struct tape *tape;
    struct arena *memory;
    struct attach *attach;
    real *grads; /* NULL: no backward pass */
    struct worker *worker;
};

/* The objectives, in the order in which they are tried: a new one is a file and a line here. */
#define OBJECTIVES(_)                                                                                        \
    _(masked)                                                                                                \
    _(language)                                                                                              \
    _(text)                                                                                                  \
    _(head)

struct objective {
    /* Returns whether this objective trains tasks of this kind on the model. */
    bool (*fits)(const struct arch *a, enum data_kind kind);
    const char *loss_op; /* op of the loss, for messages; NULL: by the kind of the first task */
    const char
        *other_examples; /* message suffix where NaN or infinite logits may belong to another example; or
                          * "" */
    int (*begin)(struct run *r, struct err *e); /* or NULL */
    void (*release)(struct run *r);             /* or NULL */

    /* An example of a step. take (or NULL): counts it and returns its total number of tokens, given those of
     * its text; weigh: sets its weights in the loss. */
    size_t (*take)(struct run *r, struct run_task *of, uint32_t row, size_t tokens);
    void (*weigh)(const struct run *r, const struct run_task *of, struct batch_example *x);
    /* Adds further inputs of the loss to a packed batch; or NULL. */
    void (*pack)(const struct run *r, struct arena *memory, struct batch *b, const struct batch_example *row,
                 int n);
    /* Computes the weighted losses of the examples of a part, 1×1 each, per task or for all together;
     * part->loss is without distillation losses. Returns their number. */
    int (*losses)(struct run *r, const struct bench *on, struct pass *p, node encoded, struct part *part,
                  node *loss);

    /* Splits. open (or NULL): writes the generation options of a task to *how. */
    int (*open)(struct run *r, int task, struct generate_options *how, struct err *e);
    void (*split_init)(const struct run *r, struct run_split *s, const struct generate_options *how);
    int (*split_units)(const struct run_split *s);
    int64_t (*split_examples)(const struct run_split *s, int unit);
    bool (*split_score)(const struct run *r, struct run_split *s, int unit, struct worker *w,
                        struct attach *a, const real *params, const real *generated, uint64_t *bad);
    void (*split_measure)(struct run_split *s, const struct task *t, struct metrics *m,
                          struct metric_value *tokens);
    /* Appends further metrics besides those of the task's kind; or NULL. */
    void (*metrics)(struct event *e, const struct task *t, const struct metrics *m,
                    const struct metric_value *tokens);
};
#define OBJECTIVE_ROW(name) extern const struct objective objective_##name;
OBJECTIVES(OBJECTIVE_ROW)
#undef OBJECTIVE_ROW

/* Sets the weight of an example where the loss is the mean over examples. */
void weigh_example(const struct run *r, const struct run_task *of, struct batch_example *x);
/* Returns the random stream of the masks of the current step. */
uint64_t step_masks(const struct run *r);
/* Appends a metric, unless the event is full. */
void event_add_metric(struct event *e, const char *name, struct metric_value v);

#endif
