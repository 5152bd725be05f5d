/* What the files that make matrices share: matrix.c, and matrix_tasks.c for what a run knows of its tasks. */
#ifndef APP_INSIGHT_MATRIX_PRIVATE_H
#define APP_INSIGHT_MATRIX_PRIVATE_H

#include "app/insight/matrix.h"

/* Without names and values. */
void matrix_new(struct matrix *m, enum matrix_of of, const char *measure, int rows, int columns);
/* "model", "#3", "#3 the best"; the probe's own. */
const char *matrix_side_name(const struct probe *p);
/* Opens m->about with the members that say what it is of; `layer` below 0 and no PROBE_RETRIEVER: none. */
void matrix_describe(struct matrix *m, const struct probe *const *side, int sides, int layer, struct buf *b);
/* Closes it, with what stands beside the matrix. */
void matrix_end_description(struct matrix *m, struct buf *b);

#endif
