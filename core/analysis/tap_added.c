#include "core/analysis/tap_added.h"

#include <math.h>
#include <stdlib.h>

#include "core/analysis/passes.h"
#include "core/base/mem.h"

/* Hooks of a pass that observe `write`. */
struct tap_added_pass {
    struct listener hooks;
    int layers;
    struct tap_added_layer *layer; /* of this pass */
};

struct tap_added_rows {
    int layers;
    struct tap_added_pass *pass; /* one per unit, so that the order of summation is fixed */
};

static void add_up(struct tap_added_layer *l, const real *before, const real *after, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double was = (double)before[i], by = (double)after[i] - was;
        if (!(fabs(by) <= l->largest)) l->largest = fabs(by); /* NaN propagates */
        l->added += by * by;
        l->was += was * was;
    }
}

static node added_write(void *self, struct tape *t, const struct forward *f, struct site *site, enum tap tap,
                        enum tap_stage stage, node value) {
    struct tap_added_pass *a = self;
    const real *before = tape_value(t, value);
    node after = listener_write(self, t, f, site, tap, stage, value);
    bool here = after != value && site->stack == STACK_ENCODER && site->layer >= 0 && site->layer < a->layers;
    if (here)
        add_up(&a->layer[site->layer], before, tape_value(t, after),
               (size_t)tape_rows_of(t, after) * (size_t)tape_cols_of(t, after));
    return after;
}

static void listen_to_taps(const struct row_passes *all, const struct row_pass *x) {
    const struct tap_added_rows *rows = all->self;
    struct tap_added_pass *a = &rows->pass[x->unit];
    a->layers = rows->layers;
    a->layer = xcalloc((size_t)rows->layers + 1, sizeof *a->layer);
    listener_begin(&a->hooks, x->f);
    a->hooks.outer.write = added_write;
}

int tap_added(const struct model *m, const struct predictor *p, const struct dataset *d, struct crew *crew,
              struct tap_added *out, struct err *e) {
    BUG_IF(!d->examples || !d->max_len);
    struct tap_added_rows rows = { .layers = m->arch.encoder_layers };
    struct row_passes passes = {
        .m = m, .p = p, .d = d, .end = d->examples, .before = listen_to_taps, .self = &rows
    };
    int units = row_passes_units(&passes), rc = 0;
    rows.pass = xcalloc((size_t)units, sizeof *rows.pass);
    *out = (struct tap_added){ rows.layers, xcalloc((size_t)rows.layers + 1, sizeof *out->layer) };
    row_passes_run(&passes, crew);
    for (int u = 0; u < units; u++) {
        for (int l = 0; l < rows.layers; l++) {
            const struct tap_added_layer *from = &rows.pass[u].layer[l];
            struct tap_added_layer *to = &out->layer[l];
            if (!(from->largest <= to->largest)) to->largest = from->largest;
            to->added += from->added;
            to->was += from->was;
        }
        free(rows.pass[u].layer);
    }
    free(rows.pass);
    for (int l = 0; !rc && l < rows.layers; l++)
        if (!isfinite(out->layer[l].added))
            rc = err_set(e, ERR_FAILED, "layer %d: the change Δh of the method is NaN or infinite", l + 1);
    if (rc) tap_added_release(out);
    return rc;
}

void tap_added_release(struct tap_added *a) {
    free(a->layer);
    *a = (struct tap_added){ 0 };
}
