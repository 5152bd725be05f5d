/* Which task of a run a new one is like, told from a few rows of it: what adapting begins from. */
#ifndef CORE_TRAIN_USE_RETRIEVE_H
#define CORE_TRAIN_USE_RETRIEVE_H

#include "core/data/task.h"
#include "core/train/use/predict.h"

/* Whether the run has prototypes that rows can be compared with: task embeddings of the retriever's width,
 * drawn to it by a prototype loss. */
bool retrieve_has_prototypes(const struct predictor *p);
/* cosine[i·tasks + t]: of row i's retriever vector, made with the weights of task t, with t's prototype
 * (PHA eq. 10).  `rows` are encoded.  ERR_FAILED where one is not finite. */
int retrieve_cosines(const struct predictor *p, const struct dataset *rows, double *cosine, struct err *e);
/* loss[t]: of the task's train rows with the weights of the run's task t.  Of texts the mean over target
 * tokens. Rows with labels have no head yet that could tell: each is told from the others of the draw by the
 * cosine of pooled vectors over 0.1, a class by the mean of its rows, a score by the mean of all, weighted
 * so; squared error and cross-entropy, the row itself left out (one alone in its class is kept). */
int retrieve_losses(const struct predictor *p, const struct task *t, double *loss, struct err *e);

#endif
