/* Using what was trained: evaluation, prediction, export.  On the caller's thread, or on
 * `workers` of them with the same bits. */
#ifndef CORE_TRAIN_PREDICT_H
#define CORE_TRAIN_PREDICT_H

#include "core/data/metrics.h"
#include "core/train/run.h"

/* A trained method with its head, from a checkpoint file, ready to run. */
struct predictor;
/* Refuses (ERR_INPUT) missing, unexpected or misshapen tensors by name, and a backbone whose
 * fingerprint differs from the checkpoint's. */
struct predictor *predictor_open(const char *checkpoint, struct model *m, struct err *e);
/* The model as its folder gives it, with its own head; refused when it has none. */
struct predictor *predictor_of_model(struct model *m, struct err *e);
void predictor_free(struct predictor *p);
const struct plan *predictor_plan(const struct predictor *p);
int predictor_classes(const struct predictor *p);
const char *predictor_label(const struct predictor *p, int i); /* bytes as in the data */

/* probabilities: rows × classes (softmax in double), or rows scores for regression; logits
 * likewise when not NULL.  ids/types from tokenizer_encode. */
int predictor_run(struct predictor *p, const struct dataset *d, int workers, double *probabilities,
                  double *logits, struct err *e);

/* Writes a Hugging Face folder: merged where the method can be, refused with the reason
 * otherwise.  *worst: the largest logit difference between run and folder on `rows` rows. */
int predictor_export(struct predictor *p, const char *folder, const struct dataset *probe,
                     double *worst, struct err *e);

#endif
