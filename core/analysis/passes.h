/* Forward passes over the examples of a dataset with a predictor's method, in batches on the crew's workers,
 * without dropout, with hooks that observe activations. */
#ifndef CORE_ANALYSIS_PASSES_H
#define CORE_ANALYSIS_PASSES_H

#include "core/method/attach.h"
#include "core/model/model.h"
#include "core/train/use/predict.h"

enum { PASS_ROWS = 8 };

struct row_pass;
struct row_passes {
    const struct model *m;
    const struct predictor *p; /* its current task */
    const struct dataset *d;   /* encoded */
    size_t first, end;         /* of its rows */
    bool decoder;              /* also run the decoder, which reads the targets */
    struct row_pass_seat *seat; /* private */
    /* Called on a worker's thread before and after a pass; either may be NULL. They may write only data of
     * that pass. */
    void (*before)(const struct row_passes *all, const struct row_pass *x);
    void (*after)(const struct row_passes *all, const struct row_pass *x);
    void *self;
};

/* A pass, valid until `after` returns. */
struct row_pass {
    const struct row_passes *all;
    int unit;     /* from 0 */
    size_t first; /* row of the dataset */
    int rows;     /* PASS_ROWS, or the remaining ones */
    struct forward *f;
    struct attach *attach;
};

/* Hooks that observe a pass: begin inserts them before the existing hooks of the pass, and `outer` forwards
 * everything to those until the caller sets wants, write or keys. The first member of the struct that is
 * passed to them. */
struct listener {
    struct hooks outer;
    const struct hooks *inner;
};
void listener_begin(struct listener *l, struct forward *f);
/* Forward to the existing hooks of the pass. */
bool listener_wants(void *listener, const struct site *s, enum tap tap);
node listener_write(void *listener, struct tape *t, const struct forward *f, struct site *s, enum tap tap,
                    enum tap_stage stage, node value);
int listener_keys(void *listener, struct tape *t, const struct forward *f, struct site *s, struct kv_set *set,
                  int room);

int row_passes_units(const struct row_passes *all);
void row_passes_run(struct row_passes *all, struct crew *crew);

#endif
