/* Similarity of a new task to the tasks of a run, from a few examples, to select the initialization of
 * adaptation. */
#ifndef CORE_TRAIN_USE_RETRIEVE_H
#define CORE_TRAIN_USE_RETRIEVE_H

#include "core/data/task.h"
#include "core/train/use/predict.h"

/* Returns whether the run has prototypes: task embeddings of the retriever's width, trained with a prototype
 * loss. */
bool retrieve_has_prototypes(const struct predictor *p);
/* Writes to cosine[i·tasks + t] the cosine similarity of example i's retriever vector, computed with the
 * weights of task t, with the prototype of t (PHA eq. 10). `rows` are tokenized. ERR_FAILED for NaN or
 * infinite vectors. */
int retrieve_cosines(const struct predictor *p, const struct dataset *rows, double *cosine, struct err *e);
/* Writes to loss[t] the loss of the task's training set with the weights of task t of the run. Texts: mean
 * over target tokens. Labeled examples, which have no trained head: each is predicted from the others
 * by cosine similarities of pooled vectors at temperature 0.1, a class by the mean of its examples, a score
 * by the weighted mean of all; cross-entropy or squared error. The example itself is excluded, unless it is
 * the only one of its class. */
int retrieve_losses(const struct predictor *p, const struct task *t, double *loss, struct err *e);

#endif
