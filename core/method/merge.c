/* Merges a trained method into the base weights, and removes it; the merge of each function is in its
 * file. */
#include "core/method/merge.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/attach.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/masked.h"
#include "core/method/sources.h"

/* plan_of_task creates a plan that can be merged. */
static bool one_each(const struct plan *p, const struct module *m) {
    const struct source_row *s = source_row(m->source);
    return s->by_task && (p->tasks > 1 || s->when == SOURCE_PROLOGUE);
}

bool attach_can_merge(const struct plan *p, const char **why) {
    *why = "";
    for (int i = 0; i < p->method.count; i++) {
        const struct module *m = &p->method.module[i];
        const struct function *f = function_of(m);
        const char *reason = f->unmergeable ? f->unmergeable(p, m) : f->unmerged;
        if (!reason && hyper_is_per_example(&p->method, i))
            reason = "weights are generated per example: they cannot be merged";
        if (!reason && one_each(p, m))
            reason = "weights depend on the task: merge one task at a time with --task";
        if (!reason) continue;
        *why = reason;
        return false;
    }
    return true;
}

/* ---- one tensor ---- */

/* Copies the tensor on first use. */
real *merge_copy(struct merge *x, int tensor, struct err *e) {
    const struct tensor_info *t = &x->m->tensor[tensor];
    if (!x->out[tensor]) {
        x->out[tensor] = mem_try((size_t)t->rows * (size_t)t->cols, sizeof(real));
        if (x->out[tensor]) model_read_weight(x->m, tensor, x->out[tensor]);
        else err_set(e, ERR_SYSTEM, "%s: out of memory for a merged copy", t->name);
    }
    return x->out[tensor];
}

const real *merge_values(const struct merge *x, const struct merge_at *at, enum slot slot) {
    const struct plan_tensor *t = plan_slot(x->p, at->module, slot, at->stack, at->site, at->layer);
    return t ? x->params + t->offset : NULL;
}

int merge_tensor(const struct merge *x, const struct merge_at *at, enum tensor_role role) {
    return arch_find(x->m->tensor, x->m->tensors, role, at->stack, at->site, at->layer);
}

double merge_scale(const struct merge *x, const struct merge_at *at) {
    const struct module *m = &x->p->method.module[at->module];
    const real *learned = merge_values(x, at, SLOT_SCALE);
    return m->comp == COMP_SCALED ? m->scale : learned ? (double)*learned : 1;
}

const char *merge_of_maps(const struct plan *p, const struct module *m) {
    (void)p;
    return module_is_map(m) ? NULL
                            : "a change that spans more than one linear layer cannot be merged into a weight";
}

int merge_low(struct merge *x, const struct merge_at *at, const struct merge_change *change, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    int i = merge_tensor(x, at, tap_weight_role(m->write)), rank = m->size;
    const struct tensor_info *t = &x->m->tensor[i];
    real *w = merge_copy(x, i, e), *up = w ? mem_try((size_t)t->rows * (size_t)rank, sizeof *up) : NULL;
    if (!up) return w ? err_set(e, ERR_SYSTEM, "out of memory for the update of %s", t->name) : ERR_SYSTEM;
    real *to = up;
    const real *from = change->up;
    for (int r = 0; r < t->rows; r++)
        for (int c = 0; c < rank; c++, to++) {
            *to = *from++;
            if (change->outer) *to *= change->outer[r];
            if (change->inner) *to *= change->inner[c];
        }
    blas_gemm(false, false, t->rows, t->cols, rank, (real)merge_scale(x, at), up, rank, change->down,
              change->cols ? change->cols : t->cols, 1, w, t->cols);
    free(up);
    return 0;
}

static int merge_trained(struct merge *x, struct err *e) {
    for (int i = 0; i < x->p->tensors; i++) {
        const struct plan_tensor *t = &x->p->tensor[i];
        if (t->kind != PLAN_MODEL) continue;
        real *w = merge_copy(x, t->tensor, e);
        if (!w) return ERR_SYSTEM;
        memcpy(w, x->params + t->offset, t->count * sizeof *w);
    }
    return 0;
}

/* Computes the weights with masked changes. */
static int merge_masked(struct merge *x, struct err *e) {
    bool some = false;
    for (int i = 0; i < x->p->generated; i++) some |= x->p->generated_tensor[i].tensor >= 0;
    if (!some) return 0;
    struct arena *memory = arena_new();
    struct tape *t = tape_new(memory);
    int rc = 0;
    for (int i = 0; !rc && i < x->p->generated; i++) {
        const struct plan_generated *generated = &x->p->generated_tensor[i];
        real *w = generated->tensor >= 0 ? merge_copy(x, generated->tensor, e) : NULL;
        rc = generated->tensor >= 0 && !w ? ERR_SYSTEM : 0;
        if (!w) continue;
        tape_reset(t, false, 0, 0);
        const struct prologue one = { x->p, x->m, t, x->params, NULL, NULL, i, generated };
        memcpy(w, tape_value(t, masked_make(&one)), generated->count * sizeof *w);
    }
    tape_free(t);
    arena_free(memory);
    return rc;
}

static int fold_module(struct merge *x, int module, struct err *e) {
    const struct module *m = &x->p->method.module[module];
    struct span span[SPANS];
    int n = module_spans(m, &x->m->arch, span);
    for (int k = 0; k < n; k++)
        for (int layer = span[k].first; layer < span[k].end; layer++) {
            const struct merge_at at = { module, span[k].stack, span[k].site, layer };
            int rc = function_of(m)->merge(x, &at, e);
            if (rc) return rc;
        }
    return 0;
}

static int fold_turn(struct merge *x, enum merge_turn turn, struct err *e) {
    int rc = 0;
    for (int i = 0; rc == 0 && i < x->p->method.count; i++)
        if (function_of(&x->p->method.module[i])->turn == turn) rc = fold_module(x, i, e);
    return rc;
}

int attach_merge(const struct plan *p, const struct model *m, const real *params, real **out,
                 struct err *e) {
    struct merge x = { p, m, params, out };
    const char *why;
    memset(out, 0, (size_t)m->tensors * sizeof *out);
    if (!attach_can_merge(p, &why)) return err_set(e, ERR_FAILED, "cannot be merged: %s", why);
    int rc = merge_trained(&x, e);
    if (!rc) rc = merge_masked(&x, e);
    for (int turn = MERGE_ADDS; !rc && turn < MERGE_TURNS; turn++)
        rc = fold_turn(&x, (enum merge_turn)turn, e);
    for (int i = 0; rc && i < m->tensors; i++) {
        free(out[i]);
        out[i] = NULL;
    }
    return rc;
}
