#include "app/insight/likeness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/similarity.h"
#include "core/base/mem.h"
#include "core/method/functions.h"

/* The unit of comparison of two runs: a low-rank product as a whole, or a tensor. */
struct piece {
    char *name;
    const real *u, *v; /* product: u rows×rank, v rank×columns; else v: `count` values */
    real *made;        /* owned: a change of a model tensor */
    int rank, rows, columns;
    size_t count;
};

struct tensor_pieces {
    struct piece *piece;
    int count;
};

static void tensor_pieces_release(struct tensor_pieces *s) {
    for (int i = 0; i < s->count; i++) {
        free(s->piece[i].name);
        free(s->piece[i].made);
    }
    free(s->piece);
}

/* Returns the tensor PREFIX.W_u that belongs to PREFIX.W_d of a linear module, or NULL. */
static const struct plan_tensor *partner(const struct plan *p, const struct plan_tensor *t) {
    size_t n = strlen(t->name);
    if (t->kind != PLAN_OWN || !function_of(&p->method.module[t->module])->linear || n < 4 ||
        strcmp(t->name + n - 4, ".W_d"))
        return NULL;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *u = &p->tensor[i];
        if (!strncmp(u->name, t->name, n - 3) && !strcmp(u->name + n - 3, "W_u") && u->cols == t->rows)
            return u;
    }
    return NULL;
}

static bool is_up_of_pair(const struct plan *p, const struct plan_tensor *t) {
    for (int i = 0; i < p->tensors; i++)
        if (partner(p, &p->tensor[i]) == t) return true;
    return false;
}

/* Returns a model tensor's change; other tensors are returned unchanged. */
static void likeness_take_tensor(struct piece *c, const struct model *m, const struct plan_tensor *t,
                                 const real *params) {
    *c = (struct piece){ .name = xstrdup(t->name), .v = params + t->offset, .count = t->count };
    const real *before = t->kind == PLAN_MODEL ? model_weight(m, t->tensor) : NULL;
    if (!before) return;
    c->made = xcalloc(t->count, sizeof *c->made);
    for (size_t i = 0; i < t->count; i++) c->made[i] = params[t->offset + i] - before[i];
    c->v = c->made;
}

static struct tensor_pieces pieces_of(const struct opened *o) {
    const struct plan *p = predictor_plan(o->predictor);
    const real *params = predictor_params(o->predictor);
    struct tensor_pieces s = { .piece = xcalloc((size_t)p->tensors + 1, sizeof *s.piece) };
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i], *up = partner(p, t);
        struct piece *c = &s.piece[s.count];
        if (is_up_of_pair(p, t)) continue;
        s.count++;
        if (!up) {
            likeness_take_tensor(c, o->model, t, params);
            continue;
        }
        *c = (struct piece){ .name = xstrndup(t->name, strlen(t->name) - 4), .u = params + up->offset,
                             .v = params + t->offset, .rank = t->rows, .rows = up->rows, .columns = t->cols };
    }
    return s;
}

/* Returns whether all values are floating-point noise; such a change has no similarity. */
static bool is_zero(const struct piece *c) {
    for (size_t i = 0; i < c->count; i++)
        if (fabs((double)c->v[i]) > SIMILARITY_ZERO) return false;
    return true;
}

/* Undefined for pieces of different kind or shape, and for a zero one. */
static double likeness_alike(const struct piece *a, const struct piece *b) {
    double v;
    if (!a->u != !b->u) return NAN;
    if (a->u) {
        if (a->rows != b->rows || a->columns != b->columns) return NAN;
        return similarity_low_rank(a->u, a->v, a->rank, b->u, b->v, b->rank, a->rows, a->columns);
    }
    if (a->count != b->count || is_zero(a) || is_zero(b)) return NAN;
    similarity_cosine(a->v, 1, b->v, 1, (int)a->count, &v);
    return v;
}

void likeness_of(struct likeness *l, const struct opened *a, const struct opened *b) {
    struct tensor_pieces x = pieces_of(a), y = pieces_of(b);
    *l = (struct likeness){ .rows = x.count, .columns = y.count };
    l->row_name = xcalloc((size_t)x.count + 1, sizeof *l->row_name);
    l->column_name = xcalloc((size_t)y.count + 1, sizeof *l->column_name);
    l->value = xcalloc((size_t)x.count * (size_t)y.count + 1, sizeof *l->value);
    for (int i = 0; i < x.count; i++) {
        l->row_name[i] = xstrdup(x.piece[i].name);
        for (int j = 0; j < y.count; j++)
            l->value[i * y.count + j] = likeness_alike(&x.piece[i], &y.piece[j]);
    }
    for (int j = 0; j < y.count; j++) l->column_name[j] = xstrdup(y.piece[j].name);
    tensor_pieces_release(&x);
    tensor_pieces_release(&y);
}
