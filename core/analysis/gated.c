#include "core/analysis/gated.h"

#include <math.h>
#include <stdlib.h>

#include "core/analysis/passes.h"
#include "core/base/mem.h"

/* Hooks of a pass that observe an attention. */
struct gated_pass {
    struct listener hooks;
    int layer;              /* from 0 */
    bool first;             /* the pass has the first row */
    int sets;
    struct kv_set set[HOOK_SETS]; /* of that layer */
    bool seen;
    struct gated_form *out;
};

struct gated_rows {
    struct gated_pass *pass; /* one per unit */
    struct gated_form *out;
    int layer;
};

static bool gated_here(const struct gated_pass *g, const struct site *s) {
    return s->stack == STACK_ENCODER && s->sublayer == SUB_SELF && s->layer == g->layer;
}

static bool gated_wants(void *self, const struct site *s, enum tap tap) {
    const struct gated_pass *g = self;
    if (gated_here(g, s) && (tap == TAP_A_HEAD || tap == TAP_A_Q || tap == TAP_A_K || tap == TAP_A_V))
        return true;
    return listener_wants(self, s, tap);
}

static int gated_keys(void *self, struct tape *t, const struct forward *f, struct site *s, struct kv_set *set,
                      int room) {
    struct gated_pass *g = self;
    int n = listener_keys(self, t, f, s, set, room);
    if (!gated_here(g, s)) return n;
    g->sets = n;
    for (int i = 0; i < n; i++) g->set[i] = set[i];
    return n;
}

/* ---- one query of one head, in double ---- */

struct gated_query {
    const real *q;
    int width, of, head_width; /* column offsets in a row of keys and values */
    double scale;
};

/* Adds exp(score − top)·value of n keys to sum, their mass to *mass; the keys are at `first` of each row. */
static void attend_to(const struct gated_query *x, const real *key, const real *value, int n, double top,
                      double *sum, double *mass) {
    for (int j = 0; j < n; j++) {
        const real *k = key + (size_t)j * (size_t)x->of, *v = value + (size_t)j * (size_t)x->of;
        double score = 0;
        for (int i = 0; i < x->head_width; i++) score += (double)x->q[i] * (double)k[i];
        double w = exp(score * x->scale - top);
        *mass += w;
        for (int i = 0; i < x->head_width; i++) sum[i] += w * (double)v[i];
    }
}

static double highest(const struct gated_query *x, const real *key, int n, double top) {
    for (int j = 0; j < n; j++) {
        double score = 0;
        for (int i = 0; i < x->head_width; i++)
            score += (double)x->q[i] * (double)key[(size_t)j * (size_t)x->of + (size_t)i];
        top = fmax(top, score * x->scale);
    }
    return top;
}

/* Computes λ of one query, and the distance of (1 − λ) h + λ Δh from the joint value. */
struct gated_keys_of {
    const real *key, *value, *prefix_key, *prefix_value;
    int keys, prefixes;
};
static double gap_of(const struct gated_query *x, const struct gated_keys_of *k, const real *joint,
                     double *share, double *size) {
    double *h = xcalloc((size_t)x->head_width * 2, sizeof *h), *by = h + x->head_width, own = 0, more = 0,
           gap = 0;
    double top = highest(x, k->prefix_key, k->prefixes, highest(x, k->key, k->keys, -INFINITY));
    attend_to(x, k->key, k->value, k->keys, top, h, &own);
    attend_to(x, k->prefix_key, k->prefix_value, k->prefixes, top, by, &more);
    *share = more / (own + more);
    for (int i = 0; i < x->head_width; i++) {
        double gated = (1 - *share) * (h[i] / own) + *share * (by[i] / more);
        gap = fmax(gap, fabs(gated - (double)joint[i]));
        *size = fmax(*size, fabs((double)joint[i]));
    }
    free(h);
    return gap;
}

/* Returns the prefix block of a sequence. */
static bool gated_prefix_of(const struct gated_pass *g, const struct tape *t, int sequence,
                            struct gated_keys_of *k) {
    for (int i = 0; i < g->sets; i++) {
        const struct kv_set *s = &g->set[i];
        if (s->join != KV_CONCAT) continue;
        int rows = tape_rows_of(t, s->key) / (s->blocks ? s->blocks : 1),
            at = s->block ? s->block[sequence] : 0;
        size_t first = (size_t)(at * rows) * (size_t)tape_cols_of(t, s->key);
        k->prefix_key = tape_value(t, s->key) + first;
        k->prefix_value = tape_value(t, s->value) + first;
        k->prefixes = rows;
        return true;
    }
    return false;
}

static void look_at(struct gated_pass *g, const struct tape *t, const struct forward *f,
                    const struct site *s, node joint) {
    struct gated_form *out = g->out;
    const struct arch *a = &f->model->arch;
    int of = a->heads * a->head_width;
    const real *q = tape_value(t, s->value[TAP_A_Q]), *k = tape_value(t, s->value[TAP_A_K]),
               *v = tape_value(t, s->value[TAP_A_V]), *value = tape_value(t, joint);
    for (int i = 0; i < s->rows->count; i++) {
        int first = s->rows->start[i], keys = s->key_rows->start[i];
        struct gated_keys_of of_row = { .keys = s->key_rows->start[i + 1] - keys };
        if (!gated_prefix_of(g, t, i, &of_row)) return;
        for (int row = first; row < s->rows->start[i + 1]; row++)
            for (int head = 0; head < a->heads; head++) {
                size_t at = (size_t)head * (size_t)a->head_width, place = (size_t)row * (size_t)of + at;
                const struct gated_query x = { q + place, a->head_width, of, a->head_width,
                                               a->scale_scores ? 1 / sqrt(a->head_width) : 1 };
                struct gated_keys_of one = of_row;
                double share;
                one.key = k + (size_t)keys * (size_t)of + at;
                one.value = v + (size_t)keys * (size_t)of + at;
                one.prefix_key += at;
                one.prefix_value += at;
                out->gap = fmax(out->gap, gap_of(&x, &one, value + place, &share, &out->size));
                out->least = fmin(out->least, share);
                out->most = fmax(out->most, share);
                if (g->first && !i && row - first < out->tokens)
                    out->share[(row - first) * a->heads + head] = share;
            }
    }
    g->seen = true;
}

static node gated_write(void *self, struct tape *t, const struct forward *f, struct site *s, enum tap tap,
                        enum tap_stage stage, node value) {
    struct gated_pass *g = self;
    if (gated_here(g, s) && tap == TAP_A_HEAD && stage == TAP_RAW) look_at(g, t, f, s, value);
    return listener_wants(self, s, tap) ? listener_write(self, t, f, s, tap, stage, value) : value;
}

static void listen_to_attention(const struct row_passes *all, const struct row_pass *x) {
    const struct gated_rows *rows = all->self;
    struct gated_pass *g = &rows->pass[x->unit];
    *g = (struct gated_pass){ .layer = rows->layer, .first = !x->unit, .out = rows->out };
    listener_begin(&g->hooks, x->f);
    g->hooks.outer.wants = gated_wants;
    g->hooks.outer.write = gated_write;
    g->hooks.outer.keys = gated_keys;
}

int gated_form_of(const struct model *m, const struct predictor *p, const struct dataset *d, int layer,
                  struct gated_form *out, struct err *e) {
    BUG_IF(!d->examples || !d->max_len || layer < 1 || layer > m->arch.encoder_layers);
    struct gated_rows rows = { .out = out, .layer = layer - 1 };
    struct row_passes passes = {
        .m = m, .p = p, .d = d, .end = d->examples, .before = listen_to_attention, .self = &rows
    };
    *out = (struct gated_form){ .heads = m->arch.heads,
                                .tokens = (int)(d->start[1] - d->start[0]),
                                .least = INFINITY,
                                .most = -INFINITY };
    out->share = xcalloc((size_t)out->tokens * (size_t)out->heads + 1, sizeof *out->share);
    rows.pass = xcalloc((size_t)row_passes_units(&passes), sizeof *rows.pass);
    row_passes_run(&passes, NULL); /* sequentially: the passes share their results */
    bool seen = rows.pass[0].seen;
    free(rows.pass);
    int rc = !seen ? err_set(e, ERR_USAGE, "layer %d: the softmax of the attention has no prefix", layer)
             : !isfinite(out->gap) ? err_set(e, ERR_FAILED, "layer %d: the attention weights are NaN or "
                                                            "infinite", layer)
                                   : 0;
    if (rc) gated_form_release(out);
    return rc;
}

void gated_form_release(struct gated_form *g) {
    free(g->share);
    *g = (struct gated_form){ 0 };
}
