/* The parts of a predictor; private to core/train. In predict.c; text generation in predict_text.c, export in
 * export.c and export_compare.c. */
#ifndef CORE_TRAIN_RUN_PREDICTOR_H
#define CORE_TRAIN_RUN_PREDICTOR_H

#include "core/train/use/predict.h"

/* Labels of a task. */
struct predictor_task {
    char *name;            /* "" in a single-task run */
    enum data_kind label_kind;   /* kind of the labels */
    int labels;
    char **label;
};

struct predictor {
    struct model *m;
    struct plan *plan;
    real *params, *generated;
    bool facts_known;      /* the run recorded config and tokenizer of the model, not only its weights */
    bool several;          /* multi-label: a sigmoid per label */
    bool text;             /* text-to-text, without a head */
    char *chat_template;   /* as in struct run_config */
    bool loss_on_all;
    bool prefix;           /* prepend the task's name to source texts of labeled tasks */
    int max_len, max_target, beams;
    int tasks;             /* number of tasks of the run */
    struct predictor_task *of;
    int at;                /* current task */
    char *origin;          /* config of imported parameters, or NULL */
};

struct attach;
struct worker;
/* Runs work in units on a crew (p NULL: the model without a method; `a` is then NULL). A unit with NaN or
 * infinite logits sets *bad to the row and returns false; the first gives ERR_FAILED. */
struct predictor_work {
    void *self;
    int units;
    bool (*unit)(void *self, int unit, struct worker *w, struct attach *a, uint64_t *bad);
    const char *path; /* of the examples, or NULL */
    bool (*watch)(void *self, int done); /* as in crew_do; canceled: ERR_INTERRUPTED */
};
int predictor_units(const struct model *m, const struct predictor *p, const struct predictor_work *work,
                    struct crew *crew, struct err *e);

/* Loads an exported folder and compares its logits with those of the predictor on a tokenized split: *worst
 * is the largest difference; ERR_FAILED for a difference larger than floating-point noise. */
int export_compare(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                   struct crew *crew, double *worst, struct err *e);

#endif
