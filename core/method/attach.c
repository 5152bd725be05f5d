#include "core/method/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/attempt.h"
#include "core/method/classifier.h"
#include "core/method/fusion.h"
#include "core/method/masked.h"
#include "core/method/retriever.h"
#include "core/method/rows.h"
#include "core/method/sources.h"
#include "core/model/joined.h"

/* A prefix is dropped as a sequence of its own, the same in every shard of a step. */
struct prefix_rows {
    int start[2];
    uint64_t id[1];
    struct tape_rows rows;
};

/* Tokens by task, in memory that is used again. */
struct groups_room {
    struct row_groups groups;
    int *start, *block;
    size_t start_room, block_room;
};

struct use_values {
    real *value;
    size_t room;
};

struct attach {
    const struct plan *p;
    const struct model *m;
    struct hooks hooks;
    struct tape *tape;
    int layers;       /* of the deeper stack */
    size_t places;    /* stack × sublayer × (layer + 1): the embedding is layer -1 */
    int *slot;        /* module × place × SLOT_COUNT: plan tensor, or -1 */
    int *made_at;     /* module × place × SLOT_COUNT: made tensor (behind them: of rows), or -1 */
    int *of_model;    /* model tensor: plan tensor in its place (behind them: made tensor), or -1 */
    unsigned *wanted; /* place: bit t: tap t is read or written */
    uint64_t *drop;   /* module × place × 2: dropout sites */
    struct use_values *room; /* module × place: what a function asked room for */
    struct prefix_rows *prefix; /* one a module */
    node *leaf, *made;          /* of this shard */
    int *start;       /* 0…rows: a pooled row is a sequence of one */
    size_t start_room;
    int task;                 /* of batches without ranges */
    bool inner;               /* gradients of what an inner loop adapts alone */
    struct tape_rows *pooled; /* one a task */
    struct groups_room groups[2]; /* of the encoder's tokens, of the decoder's */
    int *row_task;
    size_t row_task_room;
    int *counted;
    size_t counted_room;
    struct rows *rows; /* what is made for each row; NULL: nothing is */
    struct fused fused;
    node vector;       /* the retriever's, where it was made on the way */
    int pass;          /* of the encoder's passes, from 1 */
    bool vectors_only; /* the decoder does not run */
};

static bool attach_by_task(const struct attach *a, int module);
static bool by_row(const struct attach *a, int module);

/* ---- places ---- */

static size_t attach_place_of(const struct attach *a, int stack, int sublayer, int layer) {
    return ((size_t)stack * SITE_ALL + (size_t)sublayer) * ((size_t)a->layers + 1) +
           (size_t)(layer + 1);
}

static size_t attach_place_at(const struct attach *a, const struct site *s) {
    return attach_place_of(a, (int)s->stack, (int)s->sublayer, s->layer);
}

static int *slots_at(const struct attach *a, int module, size_t place) {
    return &a->slot[((size_t)module * a->places + place) * SLOT_COUNT];
}

static int *made_slots(const struct attach *a, int module, size_t place) {
    return &a->made_at[((size_t)module * a->places + place) * SLOT_COUNT];
}

static uint64_t *drop_at(const struct attach *a, int module, const struct site *s) {
    return &a->drop[((size_t)module * a->places + attach_place_at(a, s)) * 2];
}

static node leaf_at(const struct attach *a, int module, const struct site *s, enum slot slot) {
    int i = slots_at(a, module, attach_place_at(a, s))[slot];
    return i < 0 ? NODE_NONE : a->leaf[i];
}

static void index_place(struct attach *a, int module, const struct span *at, int layer) {
    const struct module *m = &a->p->method.module[module];
    size_t place = attach_place_of(a, at->stack, at->site, layer);
    for (int s = 0; s < SLOT_COUNT; s++) {
        const struct plan_tensor *t =
            plan_slot(a->p, module, (enum slot)s, at->stack, at->site, layer);
        slots_at(a, module, place)[s] = t ? (int)(t - a->p->tensor) : -1;
    }
    unsigned bits = 1u << m->write;
    if (m->read != TAP_NONE) bits |= 1u << m->read;
    if (function_of(m)->apply) a->wanted[place] |= bits;
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
    if (module_in_weight(m)) return;
    int n = module_spans(m, &a->m->arch, span);
    for (int i = 0; i < n; i++)
        for (int layer = span[i].first; layer < span[i].end; layer++)
            index_place(a, module, &span[i], layer);
    struct prefix_rows *r = &a->prefix[module];
    r->start[1] = m->size * (attach_by_task(a, module) ? a->p->tasks : 1);
    r->rows = (struct tape_rows){1, r->start, r->id};
}

/* ---- hooks ---- */

static bool hook_wants(void *self, const struct site *site, enum tap tap) {
    const struct attach *a = self;
    return a->wanted[attach_place_at(a, site)] >> tap & 1;
}

/* What stands in the place of a tensor of the model, or NODE_NONE: one that is trained, or made. */
static node attach_weight(const struct attach *a, int tensor) {
    int i = a->of_model[tensor];
    return i < 0 ? NODE_NONE : i < a->p->tensors ? a->leaf[i] : a->made[i - a->p->tensors];
}

static node hook_weight(void *self, struct tape *t, int tensor) {
    const struct attach *a = self;
    (void)t;
    return attach_weight(a, tensor);
}

node use_slot(const struct use *u, enum slot slot) {
    const struct attach *a = u->attach;
    int made = made_slots(a, u->module, attach_place_at(a, u->site))[slot], row = made - a->p->made;
    if (made >= 0 && row < 0) return a->made[made];
    if (made < 0) return leaf_at(a, u->module, u->site, slot);
    bool keys = function_of(u->m)->form == FORM_KEYS;
    return keys ? rows_keys(a->rows, a->tape, row) : rows_value(a->rows, a->tape, row);
}

/* One of the module's values that are made for each row. */
static int row_value_at(const struct attach *a, int module, const struct site *site) {
    const int *made = made_slots(a, module, attach_place_at(a, site));
    int s = 0;
    while (s < SLOT_COUNT && made[s] < a->p->made) s++;
    BUG_IF(s == SLOT_COUNT);
    return made[s] - a->p->made;
}

node use_network(const struct use *u, enum slot slot) {
    return u->attach->leaf[plan_network(u->attach->p, slot) - u->attach->p->tensor];
}

node use_weight(struct tape *t, const struct use *u, enum tensor_role role) {
    const struct attach *a = u->attach;
    const struct model *m = a->m;
    int i = arch_find(m->tensor, m->tensors, role, u->site->stack, u->site->sublayer, u->site->layer);
    if (i < 0) return NODE_NONE;
    if (a->of_model[i] >= 0) return attach_weight(a, i);
    return m->weight[i] ? tape_frozen(t, m->tensor[i].rows, m->tensor[i].cols, m->weight[i]) : NODE_NONE;
}

const struct plan *use_plan(const struct use *u) { return u->attach->p; }

node use_leaf(const struct use *u, int tensor) { return u->attach->leaf[tensor]; }

uint64_t use_dropout_site(const struct use *u) { return drop_at(u->attach, u->module, u->site)[1]; }

real *use_room(const struct use *u, size_t n) {
    const struct attach *a = u->attach;
    struct use_values *x = &a->room[(size_t)u->module * a->places + attach_place_at(a, u->site)];
    GROW(x->value, x->room, n);
    return x->value;
}

double use_factor(const struct use *u, node *learned) {
    *learned = use_slot(u, SLOT_SCALE);
    return u->m->comp == COMP_SCALED ? u->m->scale : 1;
}

node use_gate(struct tape *t, const struct use *u, int gate) {
    node w = use_slot(u, SLOT_GATE_W), b = use_slot(u, SLOT_GATE_B);
    if (comp_gates(u->m->comp) > 1) {
        w = op_rows(t, w, gate, gate + 1);
        b = op_cols(t, b, gate, gate + 1);
    }
    const struct tape_rows *rows = function_of(u->m)->form == FORM_KEYS ? u->site->rows : u->rows;
    return op_pool_mean(t, op_linear_groups(t, u->x, w, b, ACT_SIGMOID, u->groups), rows);
}

node use_compose(struct tape *t, const struct use *u, node base, node delta) {
    node scale;
    double s = use_factor(u, &scale);
    if (u->m->comp == COMP_GATE) {
        if (u->m->scale != 1) delta = op_scale(t, delta, u->m->scale);
        return op_add_gated(t, base, delta, use_gate(t, u, 0), u->rows);
    }
    if (u->m->comp == COMP_CHANNEL)
        return op_add(t, base, op_channel_scale_groups(t, delta, use_slot(u, SLOT_CHANNEL), u->groups));
    return op_add_scaled(t, base, delta, s, scale);
}

node use_dropout(struct tape *t, const struct use *u, node x, int which) {
    return op_dropout(t, x, u->rows, u->m->dropout, drop_at(u->attach, u->module, u->site)[which]);
}

static struct use use_of(const struct attach *a, int module, const struct site *site, const struct tape_rows *rows) {
    return (struct use){.attach = a, .m = &a->p->method.module[module], .arch = &a->m->arch,
                        .module = module, .site = site, .rows = rows};
}

/* Which block of a tensor of source task each token takes.  A batch of one task is one run, however its
 * rows come (in generation, one token a row that goes on). */
static const struct row_groups *token_groups(struct attach *a, const struct forward *f,
                                             const struct tape_rows *rows, int tokens) {
    const struct batch *b = f->batch;
    int ranges = b->ranges ? b->ranges : 1;
    struct groups_room *g = rows == &f->rows ? &a->groups[0] : &a->groups[1];
    GROW(g->start, g->start_room, (size_t)ranges + 1);
    GROW(g->block, g->block_room, (size_t)ranges);
    for (int i = 0; i < ranges; i++) {
        g->start[i] = i ? rows->start[b->range[i].first] : 0;
        g->block[i] = b->ranges ? b->range[i].task : a->task;
    }
    g->start[ranges] = tokens;
    g->groups = (struct row_groups){ ranges, a->p->tasks, g->start, g->block };
    return &g->groups;
}

static bool by_row(const struct attach *a, int module) { return a->rows && hyper_makes_rows(&a->p->method, module); }

static bool attach_by_task(const struct attach *a, int module) {
    return a->p->tasks > 1 && !by_row(a, module) && source_row(a->p->method.module[module].source)->by_task;
}

/* Where the encoder runs twice it runs first without what is made; then what is made stands in place of what is
 * trained at the same tap. */
static bool works_at(const struct attach *a, int module, const struct site *site) {
    const struct method *m = &a->p->method;
    if (!module_covers(&m->module[module], &a->m->arch, site->stack, site->sublayer, site->layer)) return false;
    if (a->hooks.passes != 2 || site->stack != STACK_ENCODER) return true;
    if (hyper_makes_rows(m, module)) return a->pass == 2;
    for (int i = 0; i < m->count && a->pass == 2; i++)
        if (hyper_makes_rows(m, i) && m->module[i].write == m->module[module].write &&
            module_covers(&m->module[i], &a->m->arch, site->stack, site->sublayer, site->layer))
            return false;
    return true;
}

/* What a module reads where the tap that it writes holds `value` by now. */
static node read_of(const struct forward *f, struct site *site, const struct module *m, bool key_side,
                    node value) {
    if (m->read == m->write || m->read == TAP_NONE) return value;
    if (m->read == TAP_F_NORM || m->read == TAP_A_NORM) return site_norm(f, site);
    return m->read == TAP_A_IN && key_side ? site->source : site->value[m->read];
}

static node attach_apply(struct attach *a, struct tape *t, const struct forward *f, struct site *site,
                         int module, node value) {
    const struct module *m = &a->p->method.module[module];
    bool key_side = m->write == TAP_A_K || m->write == TAP_A_V;
    struct use u = use_of(a, module, site, key_side ? site->key_rows : site->rows);
    u.value = value;
    u.fused = &a->fused;
    u.attention_dropout = f->attention_dropout;
    if (site->sublayer == SUB_EMBED) u.ids = site->stack == STACK_DECODER ? f->batch->target_in : f->batch->ids;
    if (attach_by_task(a, module)) u.groups = token_groups(a, f, u.rows, tape_rows_of(t, value));
    if (by_row(a, module))
        u.groups = rows_groups(a->rows, f, u.rows, tape_rows_of(t, value), row_value_at(a, module, site));
    u.x = read_of(f, site, m, key_side, value);
    BUG_IF(u.x == NODE_NONE);
    if (m->ending == END_BARE) site->bare = true;
    return function_of(m)->apply(t, &u);
}

static node hook_write(void *self, struct tape *t, const struct forward *f, struct site *site,
                       enum tap tap, enum tap_stage stage, node value) {
    struct attach *a = self;
    for (int i = 0; i < a->p->method.count; i++) {
        const struct module *m = &a->p->method.module[i];
        if (m->write != tap || !function_of(m)->apply) continue;
        if (stage != (module_is_map(m) ? TAP_RAW : TAP_DONE)) continue;
        if (!works_at(a, i, site)) continue;
        value = attach_apply(a, t, f, site, i, value);
    }
    return value;
}

/* The task of each row of the batch. */
static const int *row_tasks(struct attach *a, const struct batch *b) {
    GROW(a->row_task, a->row_task_room, (size_t)b->rows + 1);
    for (int i = 0; i < b->rows && !b->ranges; i++) a->row_task[i] = a->task;
    for (int r = 0; r < b->ranges; r++)
        for (int i = b->range[r].first; i < b->range[r].end; i++) a->row_task[i] = b->range[r].task;
    return a->row_task;
}

/* 0, 1, … n-1: each row's own block. */
static const int *counted(struct attach *a, int n) {
    GROW(a->counted, a->counted_room, (size_t)n + 1);
    for (int i = 0; i < n; i++) a->counted[i] = i;
    return a->counted;
}

static int hook_keys(void *self, struct tape *t, const struct forward *f, struct site *site,
                     struct kv_set *set, int room) {
    struct attach *a = self;
    int n = 0;
    for (int i = 0; i < a->p->method.count; i++) {
        const struct module *m = &a->p->method.module[i];
        if (!function_of(m)->keys_of || !works_at(a, i, site)) continue;
        BUG_IF(n == room);
        struct kv_set *x = &set[n++];
        *x = (struct kv_set){ 0 };
        bool row = by_row(a, i);
        struct use u = use_of(a, i, site, row ? rows_of_keys(a->rows, f, i) : &a->prefix[i].rows);
        u.x = site->value[TAP_A_IN];
        function_of(m)->keys_of(t, &u, x);
        x->join = m->comp == COMP_GATED || comp_gates(m->comp) ? KV_CONCAT : KV_ADD;
        x->s = use_factor(&u, &x->scale);
        x->blocks = row ? rows_count(a->rows) : attach_by_task(a, i) ? a->p->tasks : 1;
        x->block = row ? rows_sequences(a->rows, f, site) : attach_by_task(a, i) ? row_tasks(a, f->batch)
                                                                                 : NULL;
        if (comp_gates(m->comp)) {
            x->blocks = site->rows->count;
            x->block = counted(a, site->rows->count);
        }
    }
    return n;
}

/* The module whose rows join the encoder's sequences, or -1. */
static int joining(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (function_of(&m->module[i])->form == FORM_ROWS && !attempt_is_source(&m->module[i])) return i;
    return -1;
}

static struct joined_rows joined_rows(const struct method *m) {
    int i = joining(m);
    if (i < 0) return (struct joined_rows){0};
    const struct module *x = &m->module[i];
    return (struct joined_rows){.count = x->size, .at_words = x->write == TAP_EMBED_WORDS,
                                .after_first = x->place == PLACE_AFTER_BOS, .first_read = x->pool == POOL_ROW0,
                                    .reads_words = m->attempt.on};
}

/* The rows that other runs' prompts and the method's own make for each sequence. */
static node attempted_rows(struct attach *a, struct tape *t, const struct forward *f, node words, int own, const struct site *at) {
    const struct method *m = &a->p->method;
    node prompt[MIX_MOST];
    int n = 0;
    for (int i = 0; i < m->count; i++) {
        const struct use u = use_of(a, i, at, &f->tokens);
        if (attempt_is_source(&m->module[i])) prompt[n++] = use_slot(&u, SLOT_OWN);
    }
    const struct use u = use_of(a, own, at, &f->tokens);
    prompt[n++] = use_slot(&u, SLOT_OWN);
    return attempt_rows(t, a->p, a->leaf, words, &f->tokens, prompt, n);
}

static node hook_rows(void *self, struct tape *t, const struct forward *f, node words, int *each, const int **block) {
    struct attach *a = self;
    int module = joining(&a->p->method);
    const struct site at = {.stack = STACK_ENCODER, .sublayer = SUB_EMBED, .layer = -1, .rows = &f->tokens, .key_rows = &f->tokens};
    const struct use u = use_of(a, module, &at, &f->tokens);
    if (a->p->method.attempt.on) {
        *each = u.m->size;
        *block = counted(a, f->tokens.count);
        return attempted_rows(a, t, f, words, module, &at);
    }
    node rows = use_slot(&u, function_of(u.m)->slots[0].slot);
    bool several = attach_by_task(a, module);
    *each = tape_rows_of(t, rows) / (several ? a->p->tasks : 1);
    *block = several ? row_tasks(a, f->batch) : NULL;
    return rows;
}

/* ---- a row's own vector ---- */

static node retriever_leaf(const struct attach *a, enum slot slot) {
    for (int i = 0; i < a->p->tensors; i++)
        if (a->p->tensor[i].kind == PLAN_NETWORK && a->p->tensor[i].role == (int)slot) return a->leaf[i];
    return NODE_NONE;
}

/* z of what the encoder has come to. */
static node retrieve(const struct attach *a, const struct forward *f, node x) {
    const struct retriever *r = &a->p->method.retriever;
    struct tape *t = a->tape;
    tape_site(t, "retriever");
    node h = joined_mean(f, x);
    if (!r->width) return h;
    if (r->hidden)
        h = op_linear_act(t, h, retriever_leaf(a, SLOT_MLP_W1), retriever_leaf(a, SLOT_MLP_B1), ACT_RELU);
    return op_linear(t, h, retriever_leaf(a, SLOT_MLP_W2), retriever_leaf(a, SLOT_MLP_B2));
}

/* Whether z is made on the way: of a layer, or as what weights are made from. */
static bool retrieves_early(const struct method *m) {
    const struct hyper *h = hyper_of_rows(m);
    return m->retriever.on && (m->retriever.tap || (h && h->instance == ROW_RETRIEVER));
}

static bool hook_reached(void *self, struct tape *t, const struct forward *f, int layer, node x) {
    struct attach *a = self;
    const struct method *m = &a->p->method;
    bool early = retrieves_early(m) && layer == m->retriever.tap;
    if (early) a->vector = retrieve(a, f, x);
    if (!a->rows || layer != hyper_tap(m)) return early;
    node h = hyper_of_rows(m)->instance == ROW_RETRIEVER ? a->vector : joined_mean(f, x);
    const int *task = row_tasks(a, f->batch);
    bool first = a->hooks.passes == 2 && a->pass == 1, second = a->pass == 2;
    if (!second) rows_make(a->rows, t, f, a->leaf, STACK_ENCODER, h, task);
    if (!first && !a->vectors_only) rows_make(a->rows, t, f, a->leaf, STACK_DECODER, h, task);
    if (first) a->pass = 2;
    return true;
}

const real *attach_made_for_row(struct attach *a, int i, int row) { return rows_one(a->rows, a->tape, i, row); }

/* ---- life ---- */

struct attach *attach_new(const struct plan *p, const struct model *m) {
    struct attach *a = xcalloc(1, sizeof *a);
    size_t modules = (size_t)p->method.count;
    a->p = p;
    a->m = m;
    a->rows = rows_new(p);
    a->hooks = (struct hooks){a, hook_wants, hook_weight, hook_write, hook_keys, hook_reached,
                              a->rows ? hyper_of_rows(&p->method)->passes : 1, joined_rows(&p->method), method_moved(&p->method),
                              hook_rows};
    a->layers = m->arch.encoder_layers;
    if (a->layers < m->arch.decoder_layers) a->layers = m->arch.decoder_layers;
    a->places = (size_t)STACK_ALL * SITE_ALL * ((size_t)a->layers + 1);
    size_t places = modules * a->places;
    a->slot = xcalloc(places + 1, SLOT_COUNT * sizeof *a->slot);
    a->made_at = xcalloc(places + 1, SLOT_COUNT * sizeof *a->made_at);
    a->wanted = xcalloc(a->places, sizeof *a->wanted);
    a->drop = xcalloc(places + 1, 2 * sizeof *a->drop);
    a->room = xcalloc(places + 1, sizeof *a->room);
    a->prefix = xcalloc(modules + 1, sizeof *a->prefix);
    a->of_model = xcalloc((size_t)m->tensors, sizeof *a->of_model);
    a->pooled = xcalloc((size_t)p->tasks, sizeof *a->pooled);
    a->leaf = xcalloc((size_t)p->tensors, sizeof *a->leaf);
    a->made = xcalloc((size_t)p->made + 1, sizeof *a->made);
    memset(a->slot, 0xff, (places + 1) * SLOT_COUNT * sizeof *a->slot);
    memset(a->of_model, 0xff, (size_t)m->tensors * sizeof *a->of_model);
    memset(a->made_at, 0xff, (places + 1) * SLOT_COUNT * sizeof *a->made_at);
    for (int i = 0; i < p->method.count; i++) index_module(a, i);
    /* A head's pooler stands in for the model's only where there is one. */
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].tensor >= 0 && p->tensor[i].kind != PLAN_OWN && (p->tasks == 1 || p->tensor[i].kind != PLAN_HEAD))
            a->of_model[p->tensor[i].tensor] = i;
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *x = &p->made_tensor[i];
        if (x->tensor >= 0) a->of_model[x->tensor] = p->tensors + i;
        else made_slots(a, x->module, attach_place_of(a, x->stack, x->site, x->layer))[x->slot] = i;
    }
    for (int i = 0; i < p->by_row; i++) {
        const struct plan_made *x = &p->row_tensor[i];
        made_slots(a, x->module, attach_place_of(a, x->stack, x->site, x->layer))[x->slot] = p->made + i;
    }
    return a;
}

void attach_free(struct attach *a) {
    if (!a) return;
    for (size_t i = 0; i < (size_t)a->p->method.count * a->places; i++) free(a->room[i].value);
    free(a->room);
    free(a->slot);
    free(a->made_at);
    free(a->wanted);
    free(a->drop);
    free(a->prefix);
    free(a->of_model);
    free(a->leaf);
    free(a->made);
    free(a->start);
    free(a->pooled);
    free(a->row_task);
    free(a->counted);
    rows_free(a->rows);
    for (int i = 0; i < 2; i++) {
        free(a->groups[i].start);
        free(a->groups[i].block);
    }
    free(a);
}

void attach_for_task(struct attach *a, int task) {
    BUG_IF(task < 0 || task >= a->p->tasks);
    a->task = task;
}

/* ---- a step ---- */

bool plan_in_prologue(const struct plan *p, const struct plan_tensor *t) {
    if (t->kind == PLAN_NETWORK) return t->role >= SLOT_HYPER_TASK && &p->method.hyper[t->generator] != hyper_of_rows(&p->method);
    return t->kind == PLAN_OWN && t->role >= SLOT_PROMPT && t->role <= SLOT_PRODUCT_V;
}

static bool gets_gradient(const struct plan *p, const struct plan_tensor *t) {
    bool frozen = t->frozen || (t->kind == PLAN_HEAD && p->method.head == METHOD_HEAD_FROZEN);
    return !frozen && !plan_in_prologue(p, t);
}

/* Leaves are made at once, before the forward pass: what the pass recycles lies above. */
const struct hooks *attach_begin(struct attach *a, struct tape *t, const real *params,
                                 const real *made, real *grads) {
    const struct plan *p = a->p;
    a->tape = t;
    a->vector = NODE_NONE;
    a->pass = 1;
    a->vectors_only = false;
    a->fused.count = 0;
    rows_begin(a->rows);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *x = &p->tensor[i];
        bool moves = gets_gradient(p, x) && (!a->inner || x->inner);
        a->leaf[i] = plan_in_prologue(p, x) ? NODE_NONE : source_leaf(t, x, params, moves ? grads : NULL);
    }
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *x = &p->made_tensor[i];
        a->made[i] = grads && !p->made_frozen
                           ? tape_trained(t, x->rows, x->cols, made + x->offset, grads + p->trained + x->offset)
                           : tape_frozen(t, x->rows, x->cols, made + x->offset);
    }
    return &a->hooks;
}

void attach_end(struct attach *a, real *grads) {
    for (int i = 0; i < a->p->tensors; i++) {
        const struct plan_tensor *t = &a->p->tensor[i];
        if (!gets_gradient(a->p, t)) memset(grads + t->offset, 0, t->count * sizeof *grads);
    }
    if (a->p->made_frozen) memset(grads + a->p->trained, 0, a->p->made_size * sizeof *grads);
    a->tape = NULL;
}

static node head_leaf(const struct attach *a, int task, enum slot slot) {
    const struct plan_tensor *t = plan_head(a->p, task, slot);
    return t ? a->leaf[t - a->p->tensor] : NODE_NONE;
}

node attach_pool(struct attach *a, struct forward *f, node encoded) {
    const struct classifier *c = classifier_of(&a->p->method, &a->m->arch);
    if (c) return c->pooler ? forward_pool(f, encoded) : forward_first(f, encoded);
    /* Poolers of the tasks' own come in attach_head. */
    bool own = a->p->tasks > 1 && plan_head(a->p, 0, SLOT_POOLER_W);
    return own ? forward_first(f, encoded) : forward_pool(f, encoded);
}

/* Rows `first` on, a sequence of one each, for a task's dropout. */
static const struct tape_rows *pooled_rows(struct attach *a, const struct forward *f, int task, int first, int count) {
    GROW(a->start, a->start_room, (size_t)f->rows.count + 1);
    for (int i = 0; i <= f->rows.count; i++) a->start[i] = i;
    a->pooled[task] = (struct tape_rows){count, a->start, f->rows.id + first};
    return &a->pooled[task];
}

node attach_head(struct attach *a, struct forward *f, node pooled, struct task_range range, double dropout) {
    struct tape *t = a->tape;
    int count = range.end - range.first;
    node x = pooled, dense = head_leaf(a, range.task, SLOT_POOLER_W);
    if (count < f->rows.count) x = op_rows(t, x, range.first, range.end);
    const struct tape_rows *rows = pooled_rows(a, f, range.task, range.first, count);
    const struct classifier *own = classifier_of(&a->p->method, &a->m->arch);
    tape_site(t, "head");
    if (dense != NODE_NONE && !own && a->m->arch.pooler && a->p->tasks > 1) { /* BERT's pooler, the task's own */
        x = op_linear_act(t, x, dense, head_leaf(a, range.task, SLOT_POOLER_B), ACT_TANH);
    } else if (dense != NODE_NONE && (own || !a->m->arch.pooler)) { /* RoBERTa: its dense map is the head's */
        x = op_dropout(t, x, rows, dropout, rng_site("head.dense.drop"));
        x = op_linear_act(t, x, dense, head_leaf(a, range.task, SLOT_POOLER_B), own ? own->act : ACT_TANH);
    }
    x = op_dropout(t, x, rows, dropout, rng_site("head.drop"));
    return op_linear(t, x, head_leaf(a, range.task, SLOT_HEAD_W), head_leaf(a, range.task, SLOT_HEAD_B));
}

/* ---- a head of masked words ---- */

/* What the vocabulary is compared with. */
static node attach_words_of(struct attach *a, const struct forward *f, node rows, node *table, node *bias) {
    const struct model *m = a->m;
    tape_site(a->tape, "head");
    node x = op_linear_act(a->tape, rows, head_leaf(a, 0, SLOT_WORDS_W), head_leaf(a, 0, SLOT_WORDS_B), m->arch.act);
    x = op_layernorm(a->tape, x, NODE_NONE, head_leaf(a, 0, SLOT_WORDS_NORM_W), head_leaf(a, 0, SLOT_WORDS_NORM_B),
                     m->arch.norm_eps);
    *table = forward_weight(f, arch_find(m->tensor, m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1));
    *bias = head_leaf(a, 0, SLOT_WORDS_BIAS);
    return x;
}

node attach_words_loss(struct attach *a, struct forward *f, node rows, double *each) {
    node table, bias, x = attach_words_of(a, f, rows, &table, &bias);
    tape_site(a->tape, "loss");
    return op_vocabulary_loss(a->tape, x, table, bias, f->batch->mask_id, f->batch->mask_weight, 0, each);
}

node attach_words_logits(struct attach *a, struct forward *f, node rows) {
    node table, bias, x = attach_words_of(a, f, rows, &table, &bias);
    return op_linear(a->tape, x, table, bias);
}

/* ---- a generated head ---- */

void attach_inner(struct attach *a, bool inner) { a->inner = inner; }

/* W_2 tanh(W_1 x + b_1) + b_2, of four slots in this order. */
static node mapped(struct attach *a, node x, enum slot first) {
    x = op_linear_act(a->tape, x, head_leaf(a, 0, first), head_leaf(a, 0, first + 1), ACT_TANH);
    return op_linear(a->tape, x, head_leaf(a, 0, first + 2), head_leaf(a, 0, first + 3));
}

static node dropped(struct attach *a, struct forward *f, node pooled, double dropout) {
    tape_site(a->tape, "head");
    return op_dropout(a->tape, pooled, pooled_rows(a, f, 0, 0, f->rows.count), dropout, rng_site("head.drop"));
}

node attach_features(struct attach *a, struct forward *f, node pooled, double dropout) {
    return mapped(a, dropped(a, f, pooled, dropout), SLOT_FEATURE_W1);
}

void attach_labels(struct attach *a, struct forward *f, node pooled, const struct tape_rows *classes, double dropout,
                   node *w, node *b) {
    int width = a->p->label_width - 1;
    node vector = op_pool_mean(a->tape, mapped(a, dropped(a, f, pooled, dropout), SLOT_LABEL_W1), classes);
    *w = op_cols(a->tape, vector, 0, width);
    *b = op_cols(a->tape, vector, width, width + 1);
}

/* ---- the retriever ---- */

void attach_vectors_only(struct attach *a) { a->vectors_only = true; }

node attach_retrieve(struct attach *a, struct forward *f, node encoded) {
    if (!a->p->method.retriever.on) return NODE_NONE;
    return a->vector != NODE_NONE ? a->vector : retrieve(a, f, encoded);
}

int attach_retrieved_width(const struct plan *p, const struct arch *a) {
    const struct retriever *r = &p->method.retriever;
    return r->on ? retriever_width(r, a) : 0;
}

/* ---- prologue ---- */

/* Made tensor `first` and those that are made with it; returns the first one that is not among them. */
static int attach_make(const struct plan *p, const struct model *m, struct tape *t, const real *params, real *grads, int first,
                       node *made) {
    const struct plan_made *x = &p->made_tensor[first];
    if (x->tensor < 0) return source_row(p->method.module[x->module].source)->make(p, t, params, grads, first, made);
    made[first] = masked_make(p, m, t, params, grads, first);
    return first + 1;
}

void attach_prologue(const struct plan *p, const struct model *m, struct tape *t, const real *params, real *grads,
                     node *made) {
    for (int i = 0; i < p->made; i++) made[i] = NODE_NONE;
    for (int i = 0; i < p->made;) i = attach_make(p, m, t, params, grads, i, made);
}

void attach_remake(const struct plan *p, const struct model *m, const real *params, real *made) {
    bool some = false;
    for (int i = 0; i < p->made; i++) some |= !p->made_tensor[i].kept;
    if (!some) return;
    struct arena *memory = arena_new();
    struct tape *t = tape_new(memory);
    node *value = xcalloc((size_t)p->made, sizeof *value);
    tape_reset(t, false, 0, 0);
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *x = &p->made_tensor[i];
        if (x->kept) continue;
        attach_make(p, m, t, params, NULL, i, value);
        memcpy(made + x->offset, tape_value(t, value[i]), x->count * sizeof *made);
    }
    free(value);
    tape_free(t);
    arena_free(memory);
}
