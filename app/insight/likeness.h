/* Similarity of the trainable tensors of two runs, pairwise. */
#ifndef APP_INSIGHT_LIKENESS_H
#define APP_INSIGHT_LIKENESS_H

#include "app/history/opened.h"

struct likeness {
    int rows, columns;
    char **row_name, **column_name; /* as in the plan; a low-rank product under one name */
    double *value;                  /* rows×columns; NaN: a change of zero, or other shapes */
};
/* Compares low-rank products by principal angles, other tensors (of the model: their change) by cosine.
 * Both are opened runs; the caller frees names and values. */
void likeness_of(struct likeness *l, const struct opened *a, const struct opened *b);

#endif
