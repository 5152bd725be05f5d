/* What each layer makes of rows: one vector a row and layer, for maps and similarities.
 *
 * On the caller's thread, without dropout; a row's vectors do not depend on its neighbours
 * in the batch.  The model and the predictor are only read. */
#ifndef CORE_ANALYSIS_STATES_H
#define CORE_ANALYSIS_STATES_H

#include <stdbool.h>

#include "core/train/predict.h"

enum pooling { POOL_MEAN, POOL_CLS };

struct states {
    int rows, layers, width; /* layers: of the model, and one more for the embeddings (0) */
    real *value;             /* layers × rows × width */
    int outputs;             /* of the head; 0 without */
    double *logits;          /* rows × outputs */
};
void states_release(struct states *s);
/* The vectors of one layer: rows × width. */
const real *states_layer(const struct states *s, int layer);

/* Rows row[0…n-1] of an encoded split through the model as it is. */
int states_of_model(struct states *s, const struct model *m, const struct dataset *d,
                    const uint32_t *row, int n, enum pooling pool, struct err *e);
/* The same through a trained method, with the head's logits. */
int states_of_run(struct states *s, const struct predictor *p, const struct dataset *d,
                  const uint32_t *row, int n, enum pooling pool, struct err *e);

#endif
