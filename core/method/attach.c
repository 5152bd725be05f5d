#include "core/method/attach.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/slots.h"

/* A prefix is dropped as a sequence of its own, the same in every shard of a step. */
struct prefix_rows {
    int start[2];
    uint64_t id[1];
    struct tape_rows rows;
};

struct attach {
    const struct plan *p;
    const struct model *m;
    struct hooks hooks;
    struct tape *tape;
    int layers;       /* of the deeper stack */
    size_t places;    /* stack × sublayer × (layer + 1): the embedding is layer -1 */
    int *slot;        /* module × place × SLOT_COUNT: plan tensor, or -1 */
    int *made_at;     /* module × place: first made tensor, or -1 */
    int *of_model;    /* model tensor: plan tensor in its place, or -1 */
    unsigned *wanted; /* place: bit t: tap t is read or written */
    uint64_t *drop;   /* module × place × 2: dropout sites */
    struct prefix_rows *prefix; /* one a module */
    node *leaf, *made;          /* of this shard */
    int *start;       /* 0…rows: a pooled row is a sequence of one */
    size_t start_room;
    struct tape_rows pooled;
};

/* ---- places ---- */

static size_t place_of(const struct attach *a, int stack, int sublayer, int layer) {
    return ((size_t)stack * SITE_ALL + (size_t)sublayer) * ((size_t)a->layers + 1) +
           (size_t)(layer + 1);
}

static size_t place_at(const struct attach *a, const struct site *s) {
    return place_of(a, (int)s->stack, (int)s->sublayer, s->layer);
}

static int *slots_at(const struct attach *a, int module, size_t place) {
    return &a->slot[((size_t)module * a->places + place) * SLOT_COUNT];
}

static uint64_t *drop_at(const struct attach *a, int module, const struct site *s) {
    return &a->drop[((size_t)module * a->places + place_at(a, s)) * 2];
}

static node leaf_at(const struct attach *a, int module, const struct site *s, enum slot slot) {
    int i = slots_at(a, module, place_at(a, s))[slot];
    return i < 0 ? NODE_NONE : a->leaf[i];
}

static void index_place(struct attach *a, int module, const struct span *at, int layer) {
    const struct module *m = &a->p->method.module[module];
    size_t place = place_of(a, at->stack, at->site, layer);
    for (int s = 0; s < SLOT_COUNT; s++) {
        const struct plan_tensor *t =
            plan_slot(a->p, module, (enum slot)s, at->stack, at->site, layer);
        slots_at(a, module, place)[s] = t ? (int)(t - a->p->tensor) : -1;
    }
    unsigned bits = 1u << m->write;
    if (m->read != TAP_NONE) bits |= 1u << m->read;
    if (m->fn != FN_SOFTMAX) a->wanted[place] |= bits;
    char name[96];
    for (int k = 0; k < 2; k++) {
        snprintf(name, sizeof name, "drop.%d.%d.%s%s.%s.%d.%d", at->stack, layer,
                 at->site == SUB_CROSS ? "cross." : "", fn_name(m->fn), tap_name(m->write), module,
                 k);
        a->drop[((size_t)module * a->places + place) * 2 + (size_t)k] = rng_site(name);
    }
}

/* Fills the tables of one module: where its tensors are, which taps it needs. */
static void index_module(struct attach *a, int module) {
    const struct module *m = &a->p->method.module[module];
    struct span span[SPANS];
    if (m->fn == FN_BIAS || m->fn == FN_FULL) return;
    int n = module_spans(m, &a->m->arch, span);
    for (int i = 0; i < n; i++)
        for (int layer = span[i].first; layer < span[i].end; layer++)
            index_place(a, module, &span[i], layer);
    struct prefix_rows *r = &a->prefix[module];
    r->start[1] = m->size;
    r->rows = (struct tape_rows){1, r->start, r->id};
}

/* ---- hooks ---- */

static bool hook_wants(void *self, const struct site *site, enum tap tap) {
    const struct attach *a = self;
    return a->wanted[place_at(a, site)] >> tap & 1;
}

static node hook_weight(void *self, struct tape *t, int tensor) {
    const struct attach *a = self;
    (void)t;
    return a->of_model[tensor] < 0 ? NODE_NONE : a->leaf[a->of_model[tensor]];
}

/* s as a constant, with the learned value beside it. */
static double factor(const struct attach *a, int module, const struct site *site, node *scale) {
    const struct module *m = &a->p->method.module[module];
    *scale = leaf_at(a, module, site, SLOT_SCALE);
    return m->comp == COMP_SCALED ? m->scale : 1;
}

static node linear(const struct attach *a, struct tape *t, const struct site *site, int module,
                   node x, const struct tape_rows *rows, node value) {
    const struct module *m = &a->p->method.module[module];
    node scale, down = leaf_at(a, module, site, SLOT_DOWN_W);
    double s = factor(a, module, site, &scale);
    x = op_dropout(t, x, rows, m->dropout, *drop_at(a, module, site));
    x = op_linear(t, x, down, NODE_NONE);
    return op_linear_add(t, value, x, leaf_at(a, module, site, SLOT_UP_W), NODE_NONE, s, scale);
}

static node bottleneck(const struct attach *a, struct tape *t, const struct site *site, int module,
                       node x, const struct tape_rows *rows, node value) {
    const struct module *m = &a->p->method.module[module];
    const struct arch *arch = &a->m->arch;
    node scale, down = leaf_at(a, module, site, SLOT_DOWN_W),
                up = leaf_at(a, module, site, SLOT_UP_W);
    node down_b = leaf_at(a, module, site, SLOT_DOWN_B),
         up_b = leaf_at(a, module, site, SLOT_UP_B);
    double s = factor(a, module, site, &scale);
    if (m->heads == HEADS_FACTORISED) {
        if (m->read == TAP_A_Q && arch->scale_scores)
            x = op_scale(t, x, 1 / sqrt(arch->head_width));
        x = op_head_linear(t, x, down, arch->heads);
        if (down_b != NODE_NONE) x = op_bias(t, x, down_b);
        if (m->act != ACT_NONE) x = op_act(t, x, m->act);
    } else {
        x = op_linear_act(t, x, down, down_b, m->act);
    }
    x = op_dropout(t, x, rows, m->dropout, *drop_at(a, module, site));
    if (m->heads == HEADS_SHARED) return op_linear_add(t, value, x, up, up_b, s, scale);
    x = op_head_linear(t, x, up, arch->heads);
    if (up_b != NODE_NONE) x = op_bias(t, x, up_b);
    return op_add_scaled(t, value, x, s, scale);
}

/* `value` is what the tap holds by now. */
static node apply(const struct attach *a, struct tape *t, const struct forward *f,
                  struct site *site, int module, node value) {
    const struct module *m = &a->p->method.module[module];
    bool key_side = m->write == TAP_A_K || m->write == TAP_A_V;
    const struct tape_rows *rows = key_side ? site->key_rows : site->rows;
    if (m->fn == FN_SCALE)
        return op_channel_scale(t, value, leaf_at(a, module, site, SLOT_CHANNEL));
    node x = m->read == m->write                  ? value
             : m->read == TAP_F_NORM              ? site_norm(f, site)
             : m->read == TAP_A_IN && key_side    ? site->source
                                                  : site->value[m->read];
    BUG_IF(x == NODE_NONE);
    return (m->fn == FN_LINEAR ? linear : bottleneck)(a, t, site, module, x, rows, value);
}

static node hook_write(void *self, struct tape *t, const struct forward *f, struct site *site,
                       enum tap tap, enum tap_stage stage, node value) {
    const struct attach *a = self;
    for (int i = 0; i < a->p->method.count; i++) {
        const struct module *m = &a->p->method.module[i];
        if (m->write != tap || m->fn == FN_SOFTMAX || m->fn == FN_BIAS || m->fn == FN_FULL)
            continue;
        if (stage != (module_is_map(m) ? TAP_RAW : TAP_DONE)) continue;
        if (!module_covers(m, &a->m->arch, site->stack, site->sublayer, site->layer)) continue;
        value = apply(a, t, f, site, i, value);
    }
    return value;
}

/* P_k (0) or P_v (1) of a module at a layer: free, shared or made by the prologue. */
static node prefix_of(const struct attach *a, struct tape *t, int module, const struct site *site,
                      int which) {
    const struct module *m = &a->p->method.module[module];
    int made = a->made_at[(size_t)module * a->places + place_at(a, site)];
    node x = m->source == SOURCE_MLP ? a->made[made + which]
                                     : leaf_at(a, module, site, which ? SLOT_VALUE : SLOT_KEY);
    return op_dropout(t, x, &a->prefix[module].rows, m->dropout, drop_at(a, module, site)[which]);
}

static int hook_keys(void *self, struct tape *t, const struct forward *f, struct site *site,
                     struct kv_set *set, int room) {
    const struct attach *a = self;
    int n = 0;
    (void)f;
    for (int i = 0; i < a->p->method.count; i++) {
        const struct module *m = &a->p->method.module[i];
        if (m->fn != FN_SOFTMAX ||
            !module_covers(m, &a->m->arch, site->stack, site->sublayer, site->layer))
            continue;
        BUG_IF(n == room);
        struct kv_set *x = &set[n++];
        *x = (struct kv_set){ 0 };
        x->key = prefix_of(a, t, i, site, 0);
        x->value = prefix_of(a, t, i, site, 1);
        x->join = m->comp == COMP_GATED ? KV_CONCAT : KV_ADD;
        x->s = factor(a, i, site, &x->scale);
    }
    return n;
}

/* ---- life ---- */

struct attach *attach_new(const struct plan *p, const struct model *m) {
    struct attach *a = xcalloc(1, sizeof *a);
    size_t modules = (size_t)p->method.count;
    a->p = p;
    a->m = m;
    a->hooks = (struct hooks){a, hook_wants, hook_weight, hook_write, hook_keys};
    a->layers = m->arch.encoder_layers;
    if (a->layers < m->arch.decoder_layers) a->layers = m->arch.decoder_layers;
    a->places = (size_t)STACK_ALL * SITE_ALL * ((size_t)a->layers + 1);
    size_t places = modules * a->places;
    a->slot = xcalloc(places + 1, SLOT_COUNT * sizeof *a->slot);
    a->made_at = xcalloc(places + 1, sizeof *a->made_at);
    a->wanted = xcalloc(a->places, sizeof *a->wanted);
    a->drop = xcalloc(places + 1, 2 * sizeof *a->drop);
    a->prefix = xcalloc(modules + 1, sizeof *a->prefix);
    a->of_model = xcalloc((size_t)m->tensors, sizeof *a->of_model);
    a->leaf = xcalloc((size_t)p->tensors, sizeof *a->leaf);
    a->made = xcalloc((size_t)p->made + 1, sizeof *a->made);
    memset(a->slot, 0xff, (places + 1) * SLOT_COUNT * sizeof *a->slot);
    memset(a->of_model, 0xff, (size_t)m->tensors * sizeof *a->of_model);
    memset(a->made_at, 0xff, (places + 1) * sizeof *a->made_at);
    for (int i = 0; i < p->method.count; i++) index_module(a, i);
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].tensor >= 0) a->of_model[p->tensor[i].tensor] = i;
    for (int i = 0; i < p->made; i += 2) { /* keys, then values */
        const struct plan_made *x = &p->made_tensor[i];
        size_t place = place_of(a, x->stack, x->site, x->layer);
        a->made_at[(size_t)x->module * a->places + place] = i;
    }
    return a;
}

void attach_free(struct attach *a) {
    if (!a) return;
    free(a->slot);
    free(a->made_at);
    free(a->wanted);
    free(a->drop);
    free(a->prefix);
    free(a->of_model);
    free(a->leaf);
    free(a->made);
    free(a->start);
    free(a);
}

/* ---- a step ---- */

static bool only_in_prologue(const struct plan_tensor *t) {
    return t->role >= SLOT_MLP_E && t->role <= SLOT_MLP_B2;
}

static bool gets_gradient(const struct plan *p, const struct plan_tensor *t) {
    bool frozen = t->kind == PLAN_HEAD && p->method.head == METHOD_HEAD_FROZEN;
    return !frozen && !only_in_prologue(t);
}

static node new_leaf(struct tape *t, int rows, int cols, const real *value, real *grad) {
    return grad ? tape_trained(t, rows, cols, value, grad) : tape_frozen(t, rows, cols, value);
}

/* Leaves are made at once, before the forward pass: what the pass recycles lies above. */
const struct hooks *attach_begin(struct attach *a, struct tape *t, const real *params,
                                 const real *made, real *grads) {
    const struct plan *p = a->p;
    a->tape = t;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *x = &p->tensor[i];
        real *grad = grads && gets_gradient(p, x) ? grads + x->offset : NULL;
        a->leaf[i] = only_in_prologue(x) ? NODE_NONE
                                         : new_leaf(t, x->rows, x->cols, params + x->offset, grad);
    }
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *x = &p->made_tensor[i];
        a->made[i] = new_leaf(t, x->rows, x->cols, made + x->offset,
                              grads ? grads + p->trained + x->offset : NULL);
    }
    return &a->hooks;
}

void attach_end(struct attach *a, real *grads) {
    for (int i = 0; i < a->p->tensors; i++) {
        const struct plan_tensor *t = &a->p->tensor[i];
        if (!gets_gradient(a->p, t)) memset(grads + t->offset, 0, t->count * sizeof *grads);
    }
    a->tape = NULL;
}

static node head_leaf(const struct attach *a, enum slot slot) {
    const struct plan_tensor *t = plan_head(a->p, slot);
    return t ? a->leaf[t - a->p->tensor] : NODE_NONE;
}

node attach_head(struct attach *a, struct forward *f, node encoded, double dropout) {
    struct tape *t = a->tape;
    node x = forward_pool(f, encoded), dense = head_leaf(a, SLOT_POOLER_W);
    size_t rows = (size_t)f->rows.count;
    GROW(a->start, a->start_room, rows + 1);
    for (size_t i = 0; i <= rows; i++) a->start[i] = (int)i;
    a->pooled = (struct tape_rows){f->rows.count, a->start, f->rows.id};
    tape_site(t, "head");
    if (!a->m->arch.pooler && dense != NODE_NONE) { /* RoBERTa: its dense map is the head's */
        x = op_dropout(t, x, &a->pooled, dropout, rng_site("head.dense.drop"));
        x = op_linear_act(t, x, dense, head_leaf(a, SLOT_POOLER_B), ACT_TANH);
    }
    x = op_dropout(t, x, &a->pooled, dropout, rng_site("head.drop"));
    return op_linear(t, x, head_leaf(a, SLOT_HEAD_W), head_leaf(a, SLOT_HEAD_B));
}

/* ---- prologue ---- */

static node own_leaf(const struct plan *p, struct tape *t, const struct plan_made *of,
                     enum slot slot, const real *params, real *grads) {
    const struct plan_tensor *x = plan_slot(p, of->module, slot, of->stack, of->site, -1);
    return new_leaf(t, x->rows, x->cols, params + x->offset, grads ? grads + x->offset : NULL);
}

void attach_prologue(const struct plan *p, struct tape *t, const real *params, real *grads,
                     node *made) {
    for (int i = 0; i < p->made;) {
        const struct plan_made *of = &p->made_tensor[i];
        int col = 0;
        node w[5];
        tape_site(t, "prefix network of module %d", of->module + 1);
        for (int k = 0; k < 5; k++)
            w[k] = own_leaf(p, t, of, (enum slot)(SLOT_MLP_E + k), params, grads);
        node h = op_linear_act(t, w[0], w[1], w[2], p->method.module[of->module].mid_act);
        node all = op_linear(t, h, w[3], w[4]);
        /* Columns: keys and values of the first layer, of the second, … */
        for (; i < p->made && p->made_tensor[i].module == of->module &&
               p->made_tensor[i].stack == of->stack && p->made_tensor[i].site == of->site;
             i++) {
            made[i] = op_cols(t, all, col, col + p->made_tensor[i].cols);
            col += p->made_tensor[i].cols;
        }
    }
}
