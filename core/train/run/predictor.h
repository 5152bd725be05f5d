/* What a predictor is made of; private to core/train.
 *
 * In predict.c; predictors that write in predict_text.c, export in export.c and export_compare.c. */
#ifndef CORE_TRAIN_RUN_PREDICTOR_H
#define CORE_TRAIN_RUN_PREDICTOR_H

#include "core/train/use/predict.h"

/* What one of its tasks is answered with. */
struct predictor_task {
    char *name;            /* "" where the run has one */
    enum data_kind gold;   /* what the rows were labelled with */
    int labels;
    char **label;
};

struct predictor {
    struct model *m;
    struct plan *plan;
    real *params, *made;
    bool facts_known;      /* its run knows config and tokenizer of the model, not only its weights */
    bool several;          /* any number of its labels applies to a text: each has a sigmoid */
    bool text;             /* writes texts: no head */
    bool prefix;           /* of labelled tasks in text form */
    int max_len, max_target, beams;
    int tasks;             /* 1, or all of its run's */
    struct predictor_task *of;
    int at;                /* the one in use */
    char *origin;          /* the config that its values came with from elsewhere, or NULL */
};

struct attach;
struct worker;
/* Work in units of a crew (p NULL: the model as it is; `a` is then NULL too).  A unit that
 * finds logits that are not finite names the row and returns false: ERR_FAILED for the first. */
struct predictor_work {
    void *self;
    int units;
    bool (*unit)(void *self, int unit, struct worker *w, struct attach *a, uint64_t *bad);
    const char *path; /* of the rows, or NULL */
    bool (*watch)(void *self, int done); /* as crew_do takes it; given up is ERR_INTERRUPTED */
};
int predictor_units(const struct model *m, const struct predictor *p, const struct predictor_work *work,
                    struct crew *crew, struct err *e);

/* Reads an exported folder and compares its logits with the predictor's on the rows of an encoded
 * split: *worst is the largest difference; ERR_FAILED for one that rounding does not explain. */
int export_compare(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                   struct crew *crew, double *worst, struct err *e);

#endif
