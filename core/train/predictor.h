/* What a predictor is made of; private to core/train. */
#ifndef CORE_TRAIN_PREDICTOR_H
#define CORE_TRAIN_PREDICTOR_H

#include "core/train/predict.h"

struct predictor {
    struct model *m;
    struct plan *plan;
    real *params, *made;
    bool regression;
    int max_len;
    int labels;
    char **label;
};

#endif
