/* Folding a trained method into the base weights, and back.
 *
 * Exact, because each form is linear in what it reads: a low-rank change adds s·W_u W_d to
 * its map; a scale at a map's output multiplies rows of that map and its bias, one at a
 * map's input multiplies columns. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/attach.h"
#include "core/method/slots.h"

/* The map that a scale at this tap is folded into. */
struct fold {
    enum tap map;  /* by its output */
    bool columns;  /* the tap is the map's input */
};

static bool fold_of(const struct module *m, struct fold *out) {
    switch (m->write) {
    case TAP_A_Q:
    case TAP_A_K:
    case TAP_A_V:
    case TAP_A_OUT:
    case TAP_F_PRE:
    case TAP_F_OUT:
    case TAP_EMBED: *out = (struct fold){m->write, false}; return true;
    case TAP_A_CTX: *out = (struct fold){TAP_A_OUT, true}; return true;
    case TAP_F_ACT: *out = (struct fold){TAP_F_OUT, true}; return true;
    default: return false;
    }
}

bool attach_can_merge(const struct plan *p, const char **why) {
    struct fold fold;
    *why = "";
    for (int i = 0; i < p->method.count; i++) {
        const struct module *m = &p->method.module[i];
        switch (m->fn) {
        case FN_BIAS: case FN_FULL: break;
        case FN_LINEAR:
            if (module_is_map(m)) break;
            *why = "a linear module over more than one map has no single weight to go into";
            return false;
        case FN_SCALE:
            if (m->write == TAP_EMBED && !p->embed_norm) {
                *why = "a scale at embed: this model has no norm there that it could go into";
                return false;
            }
            if (fold_of(m, &fold)) break;
            *why = "a scale at this tap belongs to no map";
            return false;
        case FN_BOTTLENECK:
            *why = "a bottleneck bends its input: no weight of the model does the same";
            return false;
        case FN_SOFTMAX:
            *why = "a prefix takes part in the softmax: no weight of the model does the same";
            return false;
        case FN_COUNT: BUG("no such function");
        }
    }
    return true;
}

/* ---- one tensor ---- */

struct merge {
    const struct plan *p;
    const struct model *m;
    const real *params;
    real **out;
    bool back; /* unmerge */
};

/* The merged copy of a tensor, made at first; NULL without memory. */
static real *copy_of(struct merge *x, int tensor) {
    const struct tensor_info *t = &x->m->tensor[tensor];
    if (!x->out[tensor]) {
        BUG_IF(x->back);
        x->out[tensor] = mem_try((size_t)t->rows * (size_t)t->cols, sizeof(real));
        if (x->out[tensor])
            memcpy(x->out[tensor], x->m->weight[tensor],
                   (size_t)t->rows * (size_t)t->cols * sizeof(real));
    }
    return x->out[tensor];
}

/* A layer of a module's span. */
struct where {
    int module, stack, site, layer;
};

static const real *values(const struct merge *x, const struct where *w, enum slot slot) {
    const struct plan_tensor *t = plan_slot(x->p, w->module, slot, w->stack, w->site, w->layer);
    return t ? x->params + t->offset : NULL;
}

static int no_memory(const struct merge *x, int tensor, struct err *e) {
    return err_set(e, ERR_SYSTEM, "%s: no memory for a merged copy", x->m->tensor[tensor].name);
}

/* W += s·W_u W_d, or back. */
static int merge_linear(struct merge *x, const struct where *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    int i = arch_find(x->m->tensor, x->m->tensors, tap_weight_role(m->write), at->stack, at->site,
                      at->layer);
    const struct tensor_info *t = &x->m->tensor[i];
    const real *learned = values(x, at, SLOT_SCALE);
    real s = m->comp == COMP_SCALED ? (real)m->scale : learned ? *learned : 1, *w = copy_of(x, i);
    if (!w) return no_memory(x, i, e);
    blas_gemm(false, false, t->rows, t->cols, m->size, x->back ? -s : s,
              values(x, at, SLOT_UP_W), m->size, values(x, at, SLOT_DOWN_W),
              t->cols, 1, w, t->cols);
    return 0;
}

static void scale_values(real *w, int rows, int cols, const real *l, bool columns, bool back) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            real s = l[columns ? c : r];
            if (back) w[(size_t)r * (size_t)cols + (size_t)c] /= s;
            else w[(size_t)r * (size_t)cols + (size_t)c] *= s;
        }
}

static int merge_scale(struct merge *x, const struct where *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    const real *l = values(x, at, SLOT_CHANNEL);
    struct fold fold;
    if (!fold_of(m, &fold)) BUG("merge of a scale at %s", tap_name(m->write));
    const enum tensor_role roles[] = {tap_weight_role(fold.map), tap_bias_role(fold.map)};
    if (x->back)
        for (int i = 0; i < tap_width(&x->m->arch, m->write); i++)
            if (l[i] == 0)
                return err_set(e, ERR_FAILED, "a scale at %s is 0: it cannot be divided out",
                               tap_name(m->write));
    for (int k = 0; k < (fold.columns ? 1 : 2); k++) {
        int i = arch_find(x->m->tensor, x->m->tensors, roles[k], at->stack, at->site, at->layer);
        if (i < 0) continue; /* a map without a bias */
        const struct tensor_info *t = &x->m->tensor[i];
        real *w = copy_of(x, i);
        if (!w) return no_memory(x, i, e);
        /* A vector's elements are the map's outputs. */
        if (t->vector) scale_values(w, t->cols, 1, l, false, x->back);
        else scale_values(w, t->rows, t->cols, l, fold.columns, x->back);
    }
    return 0;
}

static int merge_trained(struct merge *x, struct err *e) {
    for (int i = 0; i < x->p->tensors; i++) {
        const struct plan_tensor *t = &x->p->tensor[i];
        if (t->kind != PLAN_MODEL) continue;
        real *w = copy_of(x, t->tensor);
        if (!w) return no_memory(x, t->tensor, e);
        memcpy(w, x->back ? x->m->weight[t->tensor] : x->params + t->offset, t->count * sizeof *w);
    }
    return 0;
}

static int merge_function(struct merge *x, enum fn fn, struct err *e) {
    for (int i = 0; i < x->p->method.count; i++) {
        struct span span[SPANS];
        if (x->p->method.module[i].fn != fn) continue;
        int n = module_spans(&x->p->method.module[i], &x->m->arch, span);
        for (int k = 0; k < n; k++)
            for (int layer = span[k].first; layer < span[k].end; layer++) {
                const struct where at = {i, span[k].stack, span[k].site, layer};
                int rc = fn == FN_LINEAR ? merge_linear(x, &at, e) : merge_scale(x, &at, e);
                if (rc) return rc;
            }
    }
    return 0;
}

/* Trained tensors first, then low-rank changes, then scales, which work on both. */
int attach_merge(const struct plan *p, const struct model *m, const real *params, real **out,
                 struct err *e) {
    struct merge x = {p, m, params, out, false};
    const char *why;
    memset(out, 0, (size_t)m->tensors * sizeof *out);
    if (!attach_can_merge(p, &why)) return err_set(e, ERR_FAILED, "cannot be merged: %s", why);
    int rc = merge_trained(&x, e);
    if (!rc) rc = merge_function(&x, FN_LINEAR, e);
    if (!rc) rc = merge_function(&x, FN_SCALE, e);
    for (int i = 0; rc && i < m->tensors; i++) {
        free(out[i]);
        out[i] = NULL;
    }
    return rc;
}

int attach_unmerge(const struct plan *p, const struct model *m, const real *params,
                   real *const *out, struct err *e) {
    struct merge x = {p, m, params, (real **)out, true};
    int rc = merge_function(&x, FN_SCALE, e);
    if (!rc) rc = merge_function(&x, FN_LINEAR, e);
    if (!rc) rc = merge_trained(&x, e);
    return rc;
}
