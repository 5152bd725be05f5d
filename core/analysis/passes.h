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

/* A pass's hooks with an ear: begin puts it before those that the pass has (without any it hears nothing),
 * and its `outer` gives everything to them until the caller sets wants, write or keys.  The first member of
 * the struct that these are then called with. */
struct listener {
    struct hooks outer;
    const struct hooks *inner;
};
void listener_begin(struct listener *l, struct forward *f);
/* What the pass's own hooks want, write and give. */
bool listener_wants(void *listener, const struct site *s, enum tap tap);
node listener_write(void *listener, struct tape *t, const struct forward *f, struct site *s, enum tap tap,
                    enum tap_stage stage, node value);
int listener_keys(void *listener, struct tape *t, const struct forward *f, struct site *s, struct kv_set *set,
                  int room);

int row_passes_units(const struct row_passes *all);
void row_passes_run(struct row_passes *all, struct crew *crew);

#endif
