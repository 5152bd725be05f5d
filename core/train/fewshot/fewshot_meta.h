/* Draws of a run that was learned over episodes: its inner rule adapts its start to the shots (Bansal et al.
 * 2022). Label vectors are made of four rows a class at most; then plain gradient descent at the run's rates,
 * with a linear warm-up over a tenth of the steps and down to zero, gradients clipped at the run's norm or 1;
 * the last state tells the rows that are scored.
 *
 * What a draw came to is kept as a checkpoint like any other: the class of a row is W_c (F_2 tanh(F_1 p +
 * a_1) + a_2) + b_c, which is a classifier of two maps, (W F_2) tanh(F_1 p + a_1) + (W a_2 + b). */
#ifndef CORE_TRAIN_FEWSHOT_FEWSHOT_META_H
#define CORE_TRAIN_FEWSHOT_FEWSHOT_META_H

#include "core/base/crew.h"
#include "core/data/task.h"
#include "core/model/model.h"
#include "core/train/config/config.h"
#include "core/train/fewshot/fewshot.h"

enum { FEWSHOT_META_STEPS = 2000 }; /* most of a draw */

struct fewshot_meta;
/* The checkpoint of such a run on its model; ERR_INPUT as predictor_open. */
struct fewshot_meta *fewshot_meta_open(const char *checkpoint, struct model *m, struct err *e);
void fewshot_meta_free(struct fewshot_meta *x);
const struct plan *fewshot_meta_plan(const struct fewshot_meta *x);
const real *fewshot_meta_params(const struct fewshot_meta *x);
/* Why draws keep no tensors, or NULL. */
const char *fewshot_meta_unkept(const struct fewshot_meta *x);

/* A draw: the task with the shots for train rows; what it came to goes into *result, or `failure`. */
struct fewshot_meta_draw {
    const struct task *task;
    struct fewshot_result *result;
    const char *folder;  /* where its tensors go; NULL: they are not kept */
    char *path;          /* of its checkpoint, or NULL; the caller's */
    char sha256[65];
    char failure[512];   /* "" */
};
/* Trains draws, a worker each.  c: of the task; steps, batch, passes and seed as ordinary draws take them. */
void fewshot_meta_draws(const struct fewshot_meta *x, const struct run_config *c, const struct fewshot *how,
                        struct fewshot_meta_draw *draws, int n, struct crew *crew);

#endif
