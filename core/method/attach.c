#include "core/method/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/attach_in.h"
#include "core/method/functions.h"
#include "core/method/masked.h"
#include "core/method/packing.h"
#include "core/method/sources.h"

/* ---- places ---- */

static size_t place_of(const struct attach *a, int stack, int sublayer, int layer) {
    return ((size_t)stack * SITE_ALL + (size_t)sublayer) * ((size_t)a->layers + 1) +
           (size_t)(layer + 1);
}

size_t attach_place_at(const struct attach *a, const struct site *s) {
    return place_of(a, (int)s->stack, (int)s->sublayer, s->layer);
}

int *attach_slots(const struct attach *a, int module, size_t place) {
    return &a->slot[((size_t)module * a->places + place) * SLOT_COUNT];
}

int *attach_generated_slots(const struct attach *a, int module, size_t place) {
    return &a->generated_at[((size_t)module * a->places + place) * SLOT_COUNT];
}

uint64_t *attach_drop(const struct attach *a, int module, const struct site *s) {
    return &a->drop[((size_t)module * a->places + attach_place_at(a, s)) * 2];
}

static void index_place(struct attach *a, int module, const struct span *at, int layer) {
    const struct module *m = &a->p->method.module[module];
    size_t place = place_of(a, at->stack, at->site, layer);
    for (int s = 0; s < SLOT_COUNT; s++) {
        const struct plan_tensor *t =
            plan_slot(a->p, module, (enum slot)s, at->stack, at->site, layer);
        attach_slots(a, module, place)[s] = t ? (int)(t - a->p->tensor) : -1;
    }
    unsigned bits = 1u << m->write;
    if (m->read != TAP_NONE) bits |= 1u << m->read;
    if (function_of(m)->apply) a->used_taps[place] |= bits;
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
    r->rows = (struct tape_rows){ 1, r->start, r->id };
}

/* ---- tasks and examples ---- */

bool attach_per_example(const struct attach *a, int module) {
    return a->rows && hyper_is_per_example(&a->p->method, module);
}

bool attach_by_task(const struct attach *a, int module) {
    return a->p->tasks > 1 && !attach_per_example(a, module) &&
           source_row(a->p->method.module[module].source)->by_task;
}

const int *attach_example_tasks(struct attach *a, const struct batch *b) {
    GROW(a->example_task, a->example_task_room, (size_t)b->examples + 1);
    for (int i = 0; i < b->examples && !b->ranges; i++) a->example_task[i] = a->task;
    for (int r = 0; r < b->ranges; r++)
        for (int i = b->range[r].first; i < b->range[r].end; i++) a->example_task[i] = b->range[r].task;
    return a->example_task;
}

node attach_weight(const struct attach *a, int tensor) {
    int i = a->of_model[tensor];
    return i < 0 ? NODE_NONE : i < a->p->tensors ? a->leaf[i] : a->generated[i - a->p->tensors];
}

/* ---- lifetime ---- */

struct attach *attach_new(const struct plan *p, const struct model *m) {
    struct attach *a = xcalloc(1, sizeof *a);
    size_t modules = (size_t)p->method.count;
    a->p = p;
    a->m = m;
    a->rows = example_weights_new(p);
    a->hooks = attach_hooks(a);
    a->layers = m->arch.encoder_layers;
    if (a->layers < m->arch.decoder_layers) a->layers = m->arch.decoder_layers;
    a->places = (size_t)STACK_ALL * SITE_ALL * ((size_t)a->layers + 1);
    size_t places = modules * a->places;
    a->slot = xcalloc(places + 1, SLOT_COUNT * sizeof *a->slot);
    a->generated_at = xcalloc(places + 1, SLOT_COUNT * sizeof *a->generated_at);
    a->used_taps = xcalloc(a->places, sizeof *a->used_taps);
    a->drop = xcalloc(places + 1, 2 * sizeof *a->drop);
    a->room = xcalloc(places + 1, sizeof *a->room);
    a->prefix = xcalloc(modules + 1, sizeof *a->prefix);
    a->of_model = xcalloc((size_t)m->tensors, sizeof *a->of_model);
    a->pooled = xcalloc((size_t)p->tasks, sizeof *a->pooled);
    a->leaf = xcalloc((size_t)p->tensors, sizeof *a->leaf);
    a->generated = xcalloc((size_t)p->generated + 1, sizeof *a->generated);
    memset(a->slot, 0xff, (places + 1) * SLOT_COUNT * sizeof *a->slot);
    memset(a->of_model, 0xff, (size_t)m->tensors * sizeof *a->of_model);
    memset(a->generated_at, 0xff, (places + 1) * SLOT_COUNT * sizeof *a->generated_at);
    for (int i = 0; i < p->method.count; i++) index_module(a, i);
    /* The pooler of a head replaces the model's only if the model has one. */
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].tensor >= 0 && p->tensor[i].kind != PLAN_OWN &&
            (p->tasks == 1 || p->tensor[i].kind != PLAN_HEAD))
            a->of_model[p->tensor[i].tensor] = i;
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *x = &p->generated_tensor[i];
        if (x->tensor >= 0) a->of_model[x->tensor] = p->tensors + i;
        else attach_generated_slots(a, x->module, place_of(a, x->stack, x->site, x->layer))[x->slot] = i;
    }
    for (int i = 0; i < p->per_example; i++) {
        const struct plan_generated *x = &p->example_tensor[i];
        attach_generated_slots(a, x->module,
                               place_of(a, x->stack, x->site, x->layer))[x->slot] = p->generated + i;
    }
    return a;
}

void attach_free(struct attach *a) {
    if (!a) return;
    for (size_t i = 0; i < (size_t)a->p->method.count * a->places; i++) free(a->room[i].value);
    free(a->room);
    free(a->slot);
    free(a->generated_at);
    free(a->used_taps);
    free(a->drop);
    free(a->prefix);
    free(a->of_model);
    free(a->leaf);
    free(a->generated);
    free(a->start);
    free(a->pooled);
    free(a->example_task);
    free(a->counted);
    example_weights_free(a->rows);
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

void attach_inner(struct attach *a, bool inner) { a->inner = inner; }

bool plan_in_prologue(const struct plan *p, const struct plan_tensor *t) {
    if (t->kind == PLAN_NETWORK)
        return t->role >= SLOT_HYPER_TASK && &p->method.hyper[t->generator] != hyper_with_example(&p->method);
    return t->kind == PLAN_OWN && t->role >= SLOT_PROMPT && t->role <= SLOT_PRODUCT_V;
}

static bool gets_gradient(const struct plan *p, const struct plan_tensor *t) {
    bool frozen = t->frozen || (t->kind == PLAN_HEAD && p->method.head == METHOD_HEAD_FROZEN);
    return !frozen && !plan_in_prologue(p, t);
}

const struct plan_tensor *attach_table(const struct plan *p, const struct model *m) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *x = &p->tensor[i];
        if (x->kind == PLAN_MODEL && m->tensor[x->tensor].role == ROLE_EMBED_WORD && gets_gradient(p, x))
            return x;
    }
    return NULL;
}

void attach_table_rows(struct attach *a) { a->table = attach_table(a->p, a->m); }

/* Creates all leaves before the forward pass, below the mark down to which the pass recycles memory. */
const struct hooks *attach_begin(struct attach *a, struct tape *t, const real *params,
                                 const real *generated, real *grads) {
    const struct plan *p = a->p;
    a->tape = t;
    a->vector = NODE_NONE;
    a->pass = 1;
    a->vectors_only = false;
    a->fused.count = 0;
    example_weights_begin(a->rows);
    bool packs = packing_ready(p, params, generated);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *x = &p->tensor[i];
        bool moves = gets_gradient(p, x) && (!a->inner || x->inner);
        real *to = moves ? grads : NULL;
        if (x == a->table && to)
            a->leaf[i] = tape_trained_rows(t, (int)x->rows, (int)x->cols, params + x->offset, to + x->offset);
        else a->leaf[i] = plan_in_prologue(p, x) ? NODE_NONE : source_leaf(t, x, params, to);
        const struct packed *packed = packs ? packing_of(p, i) : NULL;
        if (packed) tape_pack(t, a->leaf[i], packed);
    }
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *x = &p->generated_tensor[i];
        a->generated[i] = grads && !p->generated_frozen
                              ? tape_trained(t, x->rows, x->cols, generated + x->offset,
                                             grads + p->trained + x->offset)
                              : tape_frozen(t, x->rows, x->cols, generated + x->offset);
        const struct packed *packed = packs ? packing_of(p, p->tensors + i) : NULL;
        if (packed) tape_pack(t, a->generated[i], packed);
    }
    return &a->hooks;
}

void attach_end(struct attach *a, real *grads) {
    for (int i = 0; i < a->p->tensors; i++) {
        const struct plan_tensor *t = &a->p->tensor[i];
        if (!gets_gradient(a->p, t)) memset(grads + t->offset, 0, t->count * sizeof *grads);
    }
    if (a->p->generated_frozen) memset(grads + a->p->trained, 0, a->p->generated_size * sizeof *grads);
    a->tape = NULL;
}

/* ---- prologue ---- */

/* Generates tensor `first` and those that are generated together with it; returns the next index. */
static int attach_make(struct prologue *x, int first) {
    x->first = first;
    x->of = &x->p->generated_tensor[first];
    if (x->of->tensor < 0) return source_row(x->p->method.module[x->of->module].source)->make(x);
    x->generated[first] = masked_make(x);
    return first + 1;
}

void attach_prologue(const struct plan *p, const struct model *m, struct tape *t, const real *params,
                     real *grads, node *generated) {
    struct prologue x = { p, m, t, params, grads, generated, 0, NULL };
    for (int i = 0; i < p->generated; i++) generated[i] = NODE_NONE;
    for (int i = 0; i < p->generated;) i = attach_make(&x, i);
}

void attach_regenerate(const struct plan *p, const struct model *m, const real *params, real *generated) {
    bool some = false;
    for (int i = 0; i < p->generated; i++) some |= !p->generated_tensor[i].stored;
    if (!some) return;
    struct arena *memory = arena_new();
    struct tape *t = tape_new(memory);
    node *value = xcalloc((size_t)p->generated, sizeof *value);
    struct prologue all = { p, m, t, params, NULL, value, 0, NULL };
    tape_reset(t, false, 0, 0);
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *x = &p->generated_tensor[i];
        if (x->stored) continue;
        attach_make(&all, i);
        memcpy(generated + x->offset, tape_value(t, value[i]), x->count * sizeof *generated);
    }
    free(value);
    tape_free(t);
    arena_free(memory);
}
