/* Draws of a run trained over episodes: the inner loop adapts its initialization to the support set (Bansal
 * et al. 2022). Label vectors come from at most four examples per class; then gradient descent with the run's
 * learning rates, a linear warm-up over a tenth of the steps and linear decay to zero, and gradients clipped
 * at the run's norm or 1; the last state is evaluated. A draw is stored as an ordinary checkpoint: the class
 * logits W_c (F_2 tanh(F_1 p + a_1) + a_2) + b_c are a classifier with two maps, (W F_2) tanh(F_1 p + a_1) +
 * (W a_2 + b). */
#ifndef CORE_TRAIN_FEWSHOT_FEWSHOT_META_H
#define CORE_TRAIN_FEWSHOT_FEWSHOT_META_H

#include "core/base/crew.h"
#include "core/data/task.h"
#include "core/model/model.h"
#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"

enum { FEWSHOT_META_STEPS = 2000 }; /* maximum per draw */

struct fewshot_meta;
/* Opens the checkpoint of such a run on its model; ERR_INPUT as predictor_open. */
struct fewshot_meta *fewshot_meta_open(const char *checkpoint, struct model *m, struct err *e);
void fewshot_meta_free(struct fewshot_meta *x);
const struct plan *fewshot_meta_plan(const struct fewshot_meta *x);
const real *fewshot_meta_params(const struct fewshot_meta *x);
/* Returns the reason why the tensors of draws cannot be stored, or NULL. */
const char *fewshot_meta_unkept(const struct fewshot_meta *x);

/* A draw: the task with the support set as training set; the outcome is *result, or `failure`. */
struct fewshot_meta_draw {
    const struct task *task;
    struct fewshot_result *result;
    const char *folder;  /* folder for its tensors; NULL: they are not stored */
    char *path;          /* path of its checkpoint, or NULL; caller frees */
    char sha256[65];
    char failure[512];   /* "" */
};
/* Trains draws, one worker each. c: config of the task, with steps, batch size, epochs and seed as for
 * ordinary draws. */
void fewshot_meta_draws(const struct fewshot_meta *x, const struct run_config *c, const struct fewshot *how,
                        struct fewshot_meta_draw *draws, int n, struct crew *crew);

#endif
