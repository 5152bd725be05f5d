/* Internals of the matrices: matrix.c, and matrix_tasks.c for the tasks of a run. */
#ifndef APP_INSIGHT_MATRIX_PRIVATE_H
#define APP_INSIGHT_MATRIX_PRIVATE_H

#include "app/insight/matrix.h"

/* Initializes without names and values. */
void matrix_new(struct matrix *m, enum matrix_of of, const char *measure, int rows, int columns);
/* Returns "model", "#3", or "#3 the best"; owned by the probe. */
const char *matrix_side_name(const struct probe *p);
/* Opens m->about with the members that identify the subject; `layer` below 0 and not PROBE_RETRIEVER:
 * none. */
void matrix_describe(struct matrix *m, const struct probe *const *side, int sides, int layer, struct buf *b);
/* Closes it, with the summary of the matrix. */
void matrix_end_description(struct matrix *m, struct buf *b);

#endif
