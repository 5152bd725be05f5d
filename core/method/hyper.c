#include "core/method/hyper.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "core/method/init.h"
#include "core/method/sources.h"

static const struct hyper usual = {.on = true, .task = 64, .layer = 64, .place = 64, .hidden = 128, .inner = 64,
                                   .norm = true, .net = HYPER_STACK, .start = HYPER_NORMAL, .biases = true};
static const char *const nets[] = {"stack", "layer", "site"};
static const char *const starts[] = {"normal", "fan"};
static const double norm_eps = 1e-6;

#define SIZE(member, least) {#member, offsetof(struct hyper, member), NETWORK_SIZE, least, NULL, 0, false}
static const struct network_key keys[] = {
    SIZE(task, 1), SIZE(layer, 0), SIZE(place, 0), SIZE(hidden, 1), SIZE(inner, 1),
    {"norm", offsetof(struct hyper, norm), NETWORK_FLAG, 0, NULL, 0, false},
    {"net", offsetof(struct hyper, net), NETWORK_WORD, 0, nets, COUNT_OF(nets), false},
    {"start", offsetof(struct hyper, start), NETWORK_WORD, 0, starts, COUNT_OF(starts), false},
    {"biases", offsetof(struct hyper, biases), NETWORK_FLAG, 0, NULL, 0, true},
};
const struct network hyper_network = {"hyper", "generator", offsetof(struct method, hyper), sizeof usual, &usual,
                                      keys, COUNT_OF(keys)};

/* ---- where it works ---- */

static bool is_made(const struct method *m, int module) { return m->module[module].source == SOURCE_HYPER; }

/* A module at one sublayer of a stack. */
struct module_place {
    int module, site;
};
enum { PLACES = METHOD_MODULES * SPANS };

/* In the order of the canonical text, so that a method means the same however its modules were listed. */
static int places_in(const struct method *m, const struct arch *a, int stack, struct module_place out[PLACES]) {
    struct span span[SPANS];
    int order[METHOD_MODULES], n = 0;
    method_order(m, order);
    for (int i = 0; i < m->count; i++) {
        int module = order[i], spans = is_made(m, module) ? module_spans(&m->module[module], a, span) : 0;
        for (int k = 0; k < spans; k++)
            if (span[k].stack == stack) out[n++] = (struct module_place){module, span[k].site};
    }
    return n;
}

static int place_index(const struct module_place *place, int n, const struct plan_made *of) {
    int i = 0;
    while (i < n && (place[i].module != of->module || place[i].site != of->site)) i++;
    BUG_IF(i == n);
    return i;
}

/* Whether all places of a stack have the same slots, so that one head can make them. */
static bool alike(const struct method *m, const struct arch *a, int stack) {
    struct module_place place[PLACES];
    struct slot_shape x, y;
    int n = places_in(m, a, stack, place);
    for (int i = 1; i < n; i++) {
        const struct module *p = &m->module[place[0].module], *q = &m->module[place[i].module];
        if (p->fn != q->fn) return false;
        for (const struct function_slot *s = function_of(p)->slots; s->name; s++) {
            bool has = s->shape(p, a, &x), also = s->shape(q, a, &y);
            if (has != also || (has && (x.rows != y.rows || x.cols != y.cols))) return false;
        }
    }
    return true;
}

const char *hyper_fault(const struct method *m, const struct arch *a) {
    bool some = false;
    for (int i = 0; i < m->count; i++) some |= is_made(m, i);
    if (some && !m->hyper.on) return "source=hyper needs a generator: add + hyper, as + hyper(task=64, layer=64, place=64)";
    if (!some && m->hyper.on) return "the generator makes nothing: give a module source=hyper";
    if (m->hyper.on && m->hyper.net == HYPER_STACK && (!alike(m, a, STACK_ENCODER) || !alike(m, a, STACK_DECODER)))
        return "one network a stack makes values of one shape: give its modules the same function and sizes, or say net=site or net=layer";
    return NULL;
}

/* ---- its tensors ---- */

static bool one_projection(const struct hyper *h) { return !h->layer && !h->place; }
static const char *stack_word(int stack) { return stack == STACK_DECODER ? "dec" : "enc"; }

__attribute__((format(printf, 7, 8)))
static void add(struct build *b, struct plan_tensor t, enum slot role, int rows, int cols, bool vector, const char *name, ...) {
    va_list args;
    va_start(args, name);
    vsnprintf(t.name, sizeof t.name, name, args);
    va_end(args);
    t.kind = PLAN_NETWORK;
    t.module = -1;
    t.tensor = -1;
    t.blocks = role == SLOT_HYPER_TASK ? rows : 1;
    t.kept = true;
    t.role = (int)role;
    t.rows = rows;
    t.cols = cols;
    t.decays = !vector;
    build_network(b, &t);
}

static void add_projection(struct build *b, int stack, const char *word) {
    const struct hyper *h = &b->p->method.hyper;
    const struct plan_tensor at = {.stack = stack, .site = SUB_EMBED, .layer = -1};
    add(b, at, SLOT_HYPER_W_TASK, h->hidden, h->task, false, "hyper.%s.W_1.task", word);
    if (h->layer) add(b, at, SLOT_HYPER_W_LAYER, h->hidden, h->layer, false, "hyper.%s.W_1.layer", word);
    if (h->place) add(b, at, SLOT_HYPER_W_PLACE, h->hidden, h->place, false, "hyper.%s.W_1.place", word);
    if (h->biases) add(b, at, SLOT_HYPER_B1, 1, h->hidden, true, "hyper.%s.b_1", word);
    add(b, at, SLOT_HYPER_W2, h->inner, h->hidden, false, "hyper.%s.W_2", word);
    if (h->biases) add(b, at, SLOT_HYPER_B2, 1, h->inner, true, "hyper.%s.b_2", word);
    if (!h->norm) return;
    add(b, at, SLOT_HYPER_NORM_W, 1, h->inner, true, "hyper.%s.norm.gamma", word);
    add(b, at, SLOT_HYPER_NORM_B, 1, h->inner, true, "hyper.%s.norm.beta", word);
}

/* The heads of a module's slots. */
static void add_heads(struct build *b, const struct module *m, struct plan_tensor at, const char *word) {
    const struct hyper *h = &b->p->method.hyper;
    struct slot_shape shape;
    for (const struct function_slot *s = function_of(m)->slots; s->name; s++) {
        if (!s->shape(m, b->a, &shape) || shape.one) continue;
        at.of_slot = (int)s->slot;
        add(b, at, SLOT_HYPER_HEAD_W, shape.rows * shape.cols, h->inner, false, "hyper.%s.%s.weight", word, s->name);
        if (h->biases) add(b, at, SLOT_HYPER_HEAD_B, 1, shape.rows * shape.cols, true, "hyper.%s.%s.bias", word, s->name);
    }
}

/* The heads of one place of a stack: its own at each layer, or for all of them. */
static void add_place_heads(struct build *b, struct plan_tensor at, const struct module_place *place, const char *word) {
    struct span span[SPANS];
    const struct module *m = &b->p->method.module[place->module];
    int n = module_spans(m, b->a, span);
    char name[48];
    for (int k = 0; k < n; k++) {
        if (span[k].stack != at.stack || span[k].site != place->site) continue;
        bool each = b->p->method.hyper.net == HYPER_LAYER && span[k].first >= 0;
        snprintf(name, sizeof name, "%s.all.%d", word, at.place);
        if (!each) add_heads(b, m, at, name);
        for (at.layer = span[k].first; each && at.layer < span[k].end; at.layer++) {
            snprintf(name, sizeof name, "%s.%d.%d", word, at.layer, at.place);
            add_heads(b, m, at, name);
        }
    }
}

static void plan_stack(struct build *b, int stack) {
    const struct method *m = &b->p->method;
    const struct hyper *h = &m->hyper;
    struct module_place place[PLACES];
    int places = places_in(m, b->a, stack, place), layers = arch_layers(b->a, stack);
    struct plan_tensor at = {.stack = stack, .site = SUB_EMBED, .layer = -1};
    const char *word = stack_word(stack);
    if (!places) return;
    for (int i = 0; i < b->p->made; i++) {
        struct plan_made *of = &b->p->made_tensor[i];
        if (of->stack == stack && is_made(m, of->module)) of->place = place_index(place, places, of);
    }
    if (h->layer) add(b, at, SLOT_HYPER_LAYER, layers, h->layer, false, "hyper.%s.layer", word);
    if (h->place) add(b, at, SLOT_HYPER_PLACE, places, h->place, false, "hyper.%s.place", word);
    if (!one_projection(h)) add_projection(b, stack, word);
    if (h->net == HYPER_STACK) add_heads(b, &m->module[place[0].module], at, word);
    for (at.place = 0; h->net != HYPER_STACK && at.place < places; at.place++)
        add_place_heads(b, at, &place[at.place], word);
}

void hyper_plan(struct build *b) {
    const struct hyper *h = &b->p->method.hyper;
    const struct plan_tensor at = {.stack = STACK_ENCODER, .site = SUB_EMBED, .layer = -1};
    if (!h->on) return;
    add(b, at, SLOT_HYPER_TASK, b->p->tasks, h->task, false, "hyper.task");
    if (one_projection(h)) add_projection(b, STACK_ENCODER, "all");
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++) plan_stack(b, stack);
}

/* ---- start ---- */

/* start=fan: what is made has about a thousandth of the usual size of its kind (the released generators):
 * U(±1e-3·√(3/(inner·fan))), fan the columns of what is made, 1 of a vector. */
static void fan(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out) {
    int columns = 1;
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *of = &p->made_tensor[i];
        if (of->slot == t->of_slot && of->stack == t->stack &&
            !function_slot(&p->method.module[of->module], (enum slot)of->slot)->vector)
            columns = of->cols;
    }
    init_uniform(key, out, t->count, 1e-3 * sqrt(3.0 / ((double)t->cols * columns)));
}

void hyper_init(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out) {
    const struct hyper *h = &p->method.hyper;
    double in = h->task + h->layer + h->place, sigma = 0.01;
    bool released = h->start == HYPER_FAN;
    switch ((enum slot)t->role) {
    case SLOT_HYPER_TASK: case SLOT_HYPER_LAYER: case SLOT_HYPER_PLACE: init_normal(key, out, t->count, 1); return;
    case SLOT_HYPER_W_TASK: case SLOT_HYPER_W_LAYER: case SLOT_HYPER_W_PLACE:
        if (released) init_uniform(key, out, t->count, 1 / sqrt(in));
        else init_normal(key, out, t->count, sigma);
        return;
    case SLOT_HYPER_W2:
        if (released) init_uniform(key, out, t->count, 1 / sqrt(h->hidden));
        else init_normal(key, out, t->count, sigma);
        return;
    case SLOT_HYPER_B1: case SLOT_HYPER_B2:
        init_uniform(key, out, t->count, !released ? 0 : 1 / sqrt(t->role == SLOT_HYPER_B1 ? in : h->hidden));
        return;
    case SLOT_HYPER_HEAD_W:
        if (released) fan(p, t, key, out);
        else init_normal(key, out, t->count, sigma);
        return;
    case SLOT_HYPER_NORM_W: init_fill(out, t->count, 1); return;
    /* What multiplies what is there starts as the identity; a norm behind a change starts near 0 as the rest. */
    case SLOT_HYPER_HEAD_B: init_fill(out, t->count, t->of_slot == SLOT_CHANNEL); return;
    case SLOT_HYPER_NORM_B: init_fill(out, t->count, 0); return;
    default: BUG("role %d of a generator", t->role);
    }
}

/* ---- at work ---- */

struct hyper_work {
    const struct plan *p;
    struct tape *t;
    const real *params;
    real *grads;
    int stack; /* the heads', embeddings' and places' */
    int layers, places;
};

static const struct plan_tensor *find(const struct plan *p, enum slot role, int stack, int layer, int place, int of_slot) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind == PLAN_NETWORK && t->role == (int)role && t->stack == stack && t->layer == layer &&
            t->place == place && t->of_slot == of_slot)
            return t;
    }
    return NULL;
}

const struct plan_tensor *plan_prototypes(const struct plan *p) {
    return p->method.hyper.on ? find(p, SLOT_HYPER_TASK, STACK_ENCODER, -1, 0, 0) : NULL;
}

static node leaf_of(const struct hyper_work *w, const struct plan_tensor *t) {
    return t ? source_leaf(w->t, t, w->params, w->grads) : NODE_NONE;
}

static node leaf(const struct hyper_work *w, enum slot role, int stack) { return leaf_of(w, find(w->p, role, stack, -1, 0, 0)); }

/* Rows (ℓ, p, τ): the conditions through the first map, added up. */
static node conditions(const struct hyper_work *w, int stack, int layers, int places) {
    const struct hyper *h = &w->p->method.hyper;
    int tasks = w->p->tasks, n = layers * places * tasks;
    struct embed_table table[EMBED_TABLES];
    int32_t *ids = xmalloc(3 * (size_t)n * sizeof *ids);
    for (int i = 0; i < n; i++) {
        ids[i] = i % tasks;
        ids[n + i] = i / tasks / places;
        ids[2 * n + i] = i / tasks % places;
    }
    int tables = 0;
    table[tables++] = (struct embed_table){
        op_linear(w->t, leaf(w, SLOT_HYPER_TASK, STACK_ENCODER), leaf(w, SLOT_HYPER_W_TASK, stack), NODE_NONE), ids, 0};
    if (h->layer)
        table[tables++] = (struct embed_table){
            op_linear(w->t, leaf(w, SLOT_HYPER_LAYER, stack), leaf(w, SLOT_HYPER_W_LAYER, stack), NODE_NONE), ids + n, 0};
    if (h->place)
        table[tables++] = (struct embed_table){
            op_linear(w->t, leaf(w, SLOT_HYPER_PLACE, stack), leaf(w, SLOT_HYPER_W_PLACE, stack), NODE_NONE), ids + 2 * n, 0};
    node sum = op_embed_sum(w->t, n, table, tables);
    free(ids);
    if (h->biases) sum = op_bias(w->t, sum, leaf(w, SLOT_HYPER_B1, stack));
    return op_act(w->t, sum, ACT_RELU);
}

static node project(const struct hyper_work *w, int stack, int layers, int places) {
    node x = conditions(w, stack, layers, places);
    x = op_linear(w->t, x, leaf(w, SLOT_HYPER_W2, stack), leaf(w, SLOT_HYPER_B2, stack));
    if (!w->p->method.hyper.norm) return x;
    return op_layernorm(w->t, x, NODE_NONE, leaf(w, SLOT_HYPER_NORM_W, stack), leaf(w, SLOT_HYPER_NORM_B, stack), norm_eps);
}

static node head(const struct hyper_work *w, node x, int layer, int place, int slot) {
    return op_linear(w->t, x, leaf_of(w, find(w->p, SLOT_HYPER_HEAD_W, w->stack, layer, place, slot)),
                     leaf_of(w, find(w->p, SLOT_HYPER_HEAD_B, w->stack, layer, place, slot)));
}

/* The embedding has the condition of the first layer, which it is below. */
static int layer_of(const struct plan_made *of) { return of->layer < 0 ? 0 : of->layer; }

/* How many layers and places of the stack in hand there is something made for. */
static void measure(struct hyper_work *w) {
    const struct plan_tensor *table = find(w->p, SLOT_HYPER_LAYER, w->stack, -1, 0, 0);
    w->layers = table ? table->rows : 0;
    w->places = 0;
    for (int i = 0; i < w->p->made; i++) {
        const struct plan_made *of = &w->p->made_tensor[i];
        if (of->stack != w->stack || !is_made(&w->p->method, of->module)) continue;
        if (of->place >= w->places) w->places = of->place + 1;
        if (layer_of(of) >= w->layers) w->layers = layer_of(of) + 1;
    }
}

/* Everything of a stack; `shared`: the projection of all stacks, or NODE_NONE. */
static void make_stack(struct hyper_work *w, node shared, node *made) {
    const struct hyper *h = &w->p->method.hyper;
    int tasks = w->p->tasks;
    node all[SLOT_COUNT] = {NODE_NONE};
    node x = shared != NODE_NONE ? shared : project(w, w->stack, w->layers, w->places);
    for (int i = 0; i < w->p->made; i++) {
        const struct plan_made *of = &w->p->made_tensor[i];
        if (of->stack != w->stack || !is_made(&w->p->method, of->module)) continue;
        int row = (layer_of(of) * w->places + of->place) * tasks;
        tape_site(w->t, "generator of module %d", of->module + 1);
        if (h->net != HYPER_STACK) {
            node own = shared != NODE_NONE ? shared : op_rows(w->t, x, row, row + tasks);
            made[i] = head(w, own, h->net == HYPER_LAYER ? of->layer : -1, of->place, of->slot);
            continue;
        }
        if (all[of->slot] == NODE_NONE) all[of->slot] = head(w, x, -1, 0, of->slot);
        made[i] = shared != NODE_NONE ? all[of->slot] : op_rows(w->t, all[of->slot], row, row + tasks);
    }
}

void hyper_make(const struct plan *p, struct tape *t, const real *params, real *grads, node *made) {
    struct hyper_work w = {.p = p, .t = t, .params = params, .grads = grads};
    node shared = one_projection(&p->method.hyper) ? project(&w, STACK_ENCODER, 1, 1) : NODE_NONE;
    for (w.stack = STACK_ENCODER; w.stack <= STACK_DECODER; w.stack++) {
        measure(&w);
        if (w.places) make_stack(&w, shared, made);
    }
}
