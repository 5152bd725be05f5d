/* Rows of a dataset through a model with a predictor's method, some at a time on the crew's workers, without
 * dropout: for what looks inside of the passes. */
#ifndef CORE_ANALYSIS_PASSES_H
#define CORE_ANALYSIS_PASSES_H

#include "core/method/attach.h"
#include "core/model/model.h"
#include "core/train/use/predict.h"

enum { PASS_ROWS = 8 };

struct row_pass;
struct row_passes {
    const struct model *m;
    const struct predictor *p; /* its task in use */
    const struct dataset *d;   /* encoded */
    size_t first, end;         /* of its rows */
    bool decoder;              /* through the decoder too, which reads the rows' targets */
    struct row_pass_seat *seat; /* private */
    /* On a worker's thread, before a pass and after it; either may be NULL.  What they write must be the
     * pass's own. */
    void (*before)(const struct row_passes *all, const struct row_pass *x);
    void (*after)(const struct row_passes *all, const struct row_pass *x);
    void *self;
};

/* One of them, alive until `after` returns. */
struct row_pass {
    const struct row_passes *all;
    int unit;     /* from 0 */
    size_t first; /* row of the dataset */
    int rows;     /* PASS_ROWS, or what is left */
    struct forward *f;
    struct attach *attach;
};

int row_passes_units(const struct row_passes *all);
void row_passes_run(struct row_passes *all, struct crew *crew);

#endif
