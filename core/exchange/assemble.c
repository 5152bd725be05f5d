#include "core/exchange/assemble.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void assembly_init(struct assembly *a, const struct model *m) {
    *a = (struct assembly){ .m = m };
    a->weight = xcalloc((size_t)m->tensors, sizeof *a->weight);
}

void assembly_release(struct assembly *a) {
    free(a->piece);
    free(a->value);
    free(a->weight);
    *a = (struct assembly){ 0 };
}

/* Returns whether two pieces are equal except for their places. */
static bool alike(const struct module *x, const struct module *y) {
    struct module a = *x, b = *y;
    a.first = b.first = 1;
    a.last = b.last = 0;
    a.stack = b.stack = STACK_ALL;
    a.site = b.site = SITE_ALL;
    module_normalize(&a);
    module_normalize(&b);
    return module_equal(&a, &b);
}

struct placed *assembly_piece(struct assembly *a, const struct module *m, int stack, int site, int layer) {
    for (size_t i = 0; i < a->pieces; i++) {
        struct placed *p = &a->piece[i];
        if (p->stack == stack && p->site == site && p->layer == layer && alike(&p->module, m))
            return p;
    }
    GROW(a->piece, a->room, a->pieces + 1);
    a->piece[a->pieces] = (struct placed){ .module = *m, .stack = stack, .site = site, .layer = layer };
    return &a->piece[a->pieces++];
}

void piece_add(struct placed *p, enum slot slot, const real *values, size_t size) {
    BUG_IF(p->count == PIECE_VALUES);
    p->value[p->count].slot = slot;
    p->value[p->count].values = values;
    p->value[p->count++].size = size;
}

void assembly_value(struct assembly *a, const struct method_value *value) {
    GROW(a->value, a->value_room, a->values + 1);
    a->value[a->values++] = *value;
}

void assembly_head(struct assembly *a, const char *name, const real *values, size_t size) {
    BUG_IF(a->heads == (int)COUNT_OF(a->head) || strlen(name) >= sizeof a->head[0].name);
    strcpy(a->head[a->heads].name, name);
    a->head[a->heads].values = values;
    a->head[a->heads++].size = size;
}

/* ---- values of the model's own tensors ---- */

static bool is_embedding(const struct tensor_info *t) {
    return t->role == ROLE_EMBED_WORD || t->role == ROLE_EMBED_POSITION || t->role == ROLE_EMBED_TYPE;
}

/* Returns whether the tensors with values are exactly the parameters of the module. */
static bool covers_all(const struct assembly *a, const struct module *m) {
    bool any = false;
    for (int i = 0; i < a->m->tensors; i++) {
        bool takes = module_selects(m, &a->m->arch, &a->m->tensor[i]);
        if (takes != (a->weight[i] != NULL)) return false;
        any = any || takes;
    }
    return any;
}

static struct module in_weight(enum fn fn, enum target target, enum tap tap) {
    struct module m = module_default(fn);
    m.target = target;
    m.write = tap;
    return m;
}

/* A piece without values, whose parameters are tensors of the model. */
static void add_place(struct assembly *a, enum fn fn, enum tap tap, const struct tensor_info *t) {
    struct module m = in_weight(fn, TARGET_TAP, tap);
    assembly_piece(a, &m, t->stack, t->sublayer, t->layer);
}

/* A module that is not restricted to single places. */
static void add_whole(struct method *out, enum fn fn, enum target target) {
    for (int i = 0; i < out->count; i++)
        if (out->module[i].fn == fn && out->module[i].target == target) return;
    out->module[out->count++] = in_weight(fn, target, TAP_NONE);
}

static bool has_weight_at(const struct assembly *a, const struct tensor_info *at, enum tap tap) {
    int i = arch_find(a->m->tensor, a->m->tensors, tap_weight_role(tap), at->stack, at->sublayer, at->layer);
    return i >= 0 && a->weight[i];
}

static int assemble_add_tensor(struct assembly *a, int i, bool tables, const char *path, struct method *out,
                               struct err *e) {
    static const enum tap taps[] = { TAP_A_Q,   TAP_A_K,   TAP_A_V,   TAP_A_OUT, TAP_A_END,
                                     TAP_F_PRE, TAP_F_UP, TAP_F_OUT, TAP_F_END, TAP_EMBED };
    const struct tensor_info *t = &a->m->tensor[i];
    if (tensor_is_pooler(t)) add_whole(out, FN_FULL, TARGET_POOLER);
    else if (is_embedding(t)) add_whole(out, FN_FULL, TARGET_EMBEDDINGS);
    if (tensor_is_pooler(t) || is_embedding(t)) return 0;
    for (size_t k = 0; k < COUNT_OF(taps); k++) {
        if (t->role != tap_weight_role(taps[k]) && t->role != tap_bias_role(taps[k])) continue;
        if (taps[k] == TAP_EMBED && tables) return 0;
        add_place(a, has_weight_at(a, t, taps[k]) ? FN_FULL : FN_BIAS, taps[k], t);
        return 0;
    }
    return err_set(e, ERR_INPUT,
                   "%s: contains the tensor %s of the base model; petri has no method that trains "
                   "only this tensor",
                   path, t->name);
}

static int add_weights(struct assembly *a, const char *path, struct method *out, struct err *e) {
    static const struct {
        enum fn fn;
        enum target target;
    } whole[] = { { FN_BIAS, TARGET_ALL },
                  { FN_FULL, TARGET_NORMS },
                  { FN_BIAS, TARGET_NORMS },
                  { FN_FULL, TARGET_EMBEDDINGS } };
    bool any = false, tables = false;
    for (int i = 0; i < a->m->tensors; i++) {
        any = any || a->weight[i];
        tables = tables || (a->weight[i] && is_embedding(&a->m->tensor[i]));
    }
    for (size_t k = 0; any && k < COUNT_OF(whole); k++) {
        struct module m = in_weight(whole[k].fn, whole[k].target, TAP_NONE);
        if (!covers_all(a, &m)) continue;
        add_whole(out, whole[k].fn, whole[k].target);
        return 0;
    }
    int rc = 0;
    for (int i = 0; !rc && i < a->m->tensors; i++)
        if (a->weight[i]) rc = assemble_add_tensor(a, i, tables, path, out, e);
    return rc;
}

/* ---- places into ranges ---- */

enum { STACKS = 2, SITES = SUB_EMBED + 1, LAYERS = 256 };
struct places {
    bool at[STACKS][SITES][LAYERS];
};

static bool same_span(const bool *a, const bool *b) { return !memcmp(a, b, LAYERS); }

static int add_range(struct method *out, const struct module *like, int stack, int site, int first,
                     int last, int layers, const char *path, struct err *e) {
    if (out->count == METHOD_MODULES)
        return err_set(
            e, ERR_INPUT,
            "%s: the settings differ between too many target modules: a method would need more than %d "
            "modules",
            path, METHOD_MODULES);
    struct module *m = &out->module[out->count++];
    *m = *like;
    m->stack = stack;
    m->site = site;
    m->first = first + 1;
    m->last = last + 1 == layers ? 0 : last + 1;
    return 0;
}

/* Adds a module for each run of adjacent layers of a span. */
static int add_span(struct method *out, const struct module *like, const bool *at, int stack,
                    int site, int layers, const char *path, struct err *e) {
    int rc = 0;
    for (int i = 0; i < layers && !rc; i++) {
        if (!at[i]) continue;
        int last = i;
        while (last + 1 < layers && at[last + 1]) last++;
        rc = add_range(out, like, stack, site, i, last, layers, path, e);
        i = last;
    }
    return rc;
}

/* Finds the stacks of a model that such a module may cover, and whether it covers the same layers of all, or
 * of all of the decoder's. */
static int add_modules(struct method *out, const struct assembly *a, const struct module *like,
                       const struct places *p, const char *path, struct err *e) {
    struct module everywhere = *like;
    struct span span[SPANS];
    everywhere.stack = STACK_ALL;
    everywhere.site = SITE_ALL;
    everywhere.first = 1;
    everywhere.last = 0;
    module_normalize(&everywhere);
    int n = module_spans(&everywhere, &a->m->arch, span), rc = 0;
    bool all = true, decoder = true;
    int first_of_decoder = -1;
    BUG_IF(!n);
    for (int k = 0; k < n; k++) {
        const bool *at = p->at[span[k].stack][span[k].site];
        all = all && span[k].end == span[0].end && same_span(at, p->at[span[0].stack][span[0].site]);
        if (span[k].stack != STACK_DECODER) continue;
        if (first_of_decoder < 0) first_of_decoder = k;
        decoder = decoder && same_span(at, p->at[STACK_DECODER][span[first_of_decoder].site]);
    }
    if (span[0].site == SUB_EMBED) {
        bool encoder = p->at[STACK_ENCODER][SUB_EMBED][0];
        return add_range(out, like,
                         all       ? STACK_ALL
                         : encoder ? STACK_ENCODER
                                   : STACK_DECODER,
                         SITE_ALL, 0, 0, 1, path, e);
    }
    if (all) return add_span(out, like, p->at[span[0].stack][span[0].site], STACK_ALL, SITE_ALL,
                             span[0].end, path, e);
    for (int k = 0; k < n && !rc; k++) {
        bool together = decoder && span[k].stack == STACK_DECODER && n > 2;
        if (together && k != first_of_decoder) continue;
        int site = together || n <= 2 ? SITE_ALL : span[k].site;
        rc = add_span(out, like, p->at[span[k].stack][span[k].site], span[k].stack, site,
                      span[k].end, path, e);
    }
    return rc;
}

static int add_pieces(struct assembly *a, const char *path, struct method *out, struct err *e) {
    bool *done = xcalloc(a->pieces + 1, 1);
    int rc = 0;
    for (size_t i = 0; i < a->pieces && !rc; i++) {
        if (done[i]) continue;
        struct places *p = xcalloc(1, sizeof *p);
        for (size_t k = i; k < a->pieces; k++) {
            const struct placed *x = &a->piece[k];
            if (done[k] || !alike(&x->module, &a->piece[i].module)) continue;
            done[k] = true;
            p->at[x->stack][x->site][x->layer < 0 ? 0 : x->layer] = true;
        }
        rc = add_modules(out, a, &a->piece[i].module, p, path, e);
        free(p);
    }
    free(done);
    return rc;
}

int assembly_method(struct assembly *a, const char *path, struct method *out, struct err *e) {
    *out = (struct method){ .head = METHOD_HEAD_TRAINED, .classifier = a->classifier, .fusion = a->fusion };
    int rc = add_weights(a, path, out, e);
    if (!rc) rc = add_pieces(a, path, out, e);
    if (rc) return rc;
    char *text = method_canonical(out);
    rc = method_parse(text, out, e);
    free(text);
    return rc ? err_prefix(e, "%s", path) : 0;
}

/* ---- values into a plan ---- */

static const real *value_of(const struct assembly *a, const struct plan *p,
                            const struct plan_tensor *t, size_t *size) {
    const struct module *m = &p->method.module[t->module];
    for (size_t i = 0; i < a->pieces; i++) {
        const struct placed *x = &a->piece[i];
        if (x->stack != t->stack ||
            x->site != t->site || x->layer != t->layer || !alike(&x->module, m)) continue;
        for (int k = 0; k < x->count; k++)
            if ((int)x->value[k].slot == t->role) {
                *size = x->value[k].size;
                return x->value[k].values;
            }
    }
    return NULL;
}

static const real *head_value(const struct assembly *a, const struct plan_tensor *t, size_t *size) {
    for (int i = 0; i < a->heads; i++)
        if (!strcmp(a->head[i].name, t->name)) {
            *size = a->head[i].size;
            return a->head[i].values;
        }
    return NULL;
}

static bool is_map(const struct plan_tensor *t) {
    return t->kind == PLAN_NETWORK && t->role >= SLOT_FUSION_QUERY_W && t->role <= SLOT_FUSION_VALUE;
}

/* Returns the value of a tensor that belongs to the method as a whole, or NULL. */
static const real *method_value(const struct assembly *a, const struct plan_tensor *t, size_t *size) {
    for (size_t i = 0; i < a->values; i++) {
        const struct method_value *x = &a->value[i];
        bool there = x->stack == t->stack && x->site == t->site && x->layer == t->layer && x->tap == t->place;
        if ((int)x->slot != t->role || (is_map(t) && !there)) continue;
        *size = x->size;
        return x->values;
    }
    return NULL;
}

/* Checks that each value of a piece has its tensor. */
static int check_pieces(const struct assembly *a, const char *path, const struct plan *p, struct err *e) {
    size_t values = a->values, places = 0, size;
    for (size_t i = 0; i < a->pieces; i++) values += (size_t)a->piece[i].count;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        places += t->kind == PLAN_OWN || (t->kind == PLAN_NETWORK && method_value(a, t, &size));
    }
    return values == places
               ? 0
               : err_set(e, ERR_INPUT, "%s: found %zu module tensors, but the inferred method has %zu",
                                       path,
                         values, places);
}

int assembly_fill(const struct assembly *a, const char *path, const struct plan *p, real *params,
                  struct err *e) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        size_t size = t->count;
        const real *v = t->kind == PLAN_MODEL ? a->weight[t->tensor]
                        : t->kind == PLAN_NETWORK || t->role == SLOT_KRON_A ? method_value(a, t, &size)
                        : t->kind == PLAN_HEAD ? head_value(a, t, &size)
                                               : value_of(a, p, t, &size);
        if (!v && (t->kind == PLAN_OWN || is_map(t)))
            return err_set(e, ERR_INPUT, "%s: the parameters of %s are missing", path, t->name);
        if (v && size != t->count)
            return err_set(e, ERR_INPUT, "%s: %s has %zu parameters, but the model needs %" PRId64
                                         " × %" PRId64,
                           path, t->name, size, t->rows, t->cols);
        if (v) memcpy(params + t->offset, v, t->count * sizeof *v);
    }
    return check_pieces(a, path, p, e);
}
