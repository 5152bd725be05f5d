/* Forward pass of a generator: the conditions through the projection and the heads, per task or per
 * example. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "core/method/hyper.h"
#include "core/method/prompt.h"
#include "core/method/sources.h"

static const double norm_eps = 1e-6;

struct hyper_work {
    const struct plan *p;
    int generator;
    const struct hyper *h;
    struct tape *t;
    /* The generator's tensors: existing leaves, or leaves to be created from a prologue. */
    const node *leaf;
    const struct prologue *from;
    int stack; /* stack of the heads, the embeddings and the places */
    int layers, places;
    int units;       /* number of tasks, or of examples */
    const int *task; /* of each example; NULL: the units are tasks */
    node row;        /* g, one vector per example; NODE_NONE: no example condition */
    node inner;      /* I of each layer, place and task, or (one) of each task */
    bool one;
    node all[SLOT_COUNT]; /* net=stack: the slot computed from all of I */
};

static const struct plan_tensor *hyper_generate_find(const struct plan *p, int generator, enum slot role,
                                                     int stack, int layer, int place, int of_slot) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind == PLAN_NETWORK && t->generator == generator && t->role == (int)role &&
            t->stack == stack && t->layer == layer && t->place == place && t->of_slot == of_slot)
            return t;
    }
    return NULL;
}

const struct plan_tensor *plan_prototypes(const struct plan *p) {
    int g = hyper_of_prototypes(&p->method);
    enum slot role = g >= 0 && p->method.hyper[g].prototype ? SLOT_HYPER_PROTOTYPE : SLOT_HYPER_TASK;
    return g < 0 ? NULL : hyper_generate_find(p, g, role, STACK_ENCODER, -1, 0, 0);
}

static node leaf_of(const struct hyper_work *w, const struct plan_tensor *t) {
    if (!t) return NODE_NONE;
    return w->leaf ? w->leaf[t - w->p->tensor] : source_leaf(w->t, t, w->from->params, w->from->grads);
}

static node hyper_generate_leaf(const struct hyper_work *w, enum slot role, int stack) {
    return leaf_of(w, hyper_generate_find(w->p, w->generator, role, stack, -1, 0, 0));
}

/* Adds the contribution of one condition to the result of the first map; ids: index of the vector for each
 * row. */
static void add_condition(const struct hyper_work *w, struct embed_table *table, int *n, node vectors,
                          enum slot map, int stack, const int32_t *ids) {
    if (vectors == NODE_NONE) return;
    table[(*n)++] = (struct embed_table){
        op_linear(w->t, vectors, hyper_generate_leaf(w, map, stack), NODE_NONE), ids, 0
    };
}

/* Rows (ℓ, p, unit): the sum of the conditions after the first map. */
static node conditions(const struct hyper_work *w, int stack, int layers, int places) {
    int units = w->units, n = layers * places * units, tables = 0;
    struct embed_table table[EMBED_TABLES];
    int32_t *ids = xmalloc(4 * (size_t)n * sizeof *ids), *task = ids, *unit = ids + n, *layer = unit + n,
            *place = layer + n;
    for (int i = 0; i < n; i++) {
        unit[i] = i % units;
        task[i] = w->task ? w->task[unit[i]] : unit[i];
        layer[i] = i / units / places;
        place[i] = i / units % places;
    }
    add_condition(w, table, &tables, hyper_generate_leaf(w, SLOT_HYPER_TASK, STACK_ENCODER),
                  SLOT_HYPER_W_TASK, stack, task);
    add_condition(w, table, &tables, hyper_generate_leaf(w, SLOT_HYPER_PROTOTYPE, STACK_ENCODER),
                  SLOT_HYPER_W_PROTOTYPE, stack, task);
    add_condition(w, table, &tables, w->row, SLOT_HYPER_W_ROW, stack, unit);
    add_condition(w, table, &tables, hyper_generate_leaf(w, SLOT_HYPER_LAYER, stack), SLOT_HYPER_W_LAYER,
                  stack, layer);
    add_condition(w, table, &tables, hyper_generate_leaf(w, SLOT_HYPER_PLACE, stack), SLOT_HYPER_W_PLACE,
                  stack, place);
    node sum = op_embed_sum(w->t, n, table, tables);
    free(ids);
    if (w->h->biases) sum = op_bias(w->t, sum, hyper_generate_leaf(w, SLOT_HYPER_B1, stack));
    return op_act(w->t, sum, ACT_RELU);
}

static node project(const struct hyper_work *w, int stack, int layers, int places) {
    node x = conditions(w, stack, layers, places);
    if (w->h->inner)
        x = op_linear(w->t, x, hyper_generate_leaf(w, SLOT_HYPER_W2, stack),
                      hyper_generate_leaf(w, SLOT_HYPER_B2, stack));
    if (!w->h->norm) return x;
    return op_layernorm(w->t, x, NODE_NONE, hyper_generate_leaf(w, SLOT_HYPER_NORM_W, stack),
                        hyper_generate_leaf(w, SLOT_HYPER_NORM_B, stack), norm_eps);
}

/* `cols` 0: one row per unit; otherwise in the layout of op_linear_generated. */
static node hyper_generate_head(const struct hyper_work *w, node x, int layer, int place, int slot,
                                int cols) {
    node weight = leaf_of(
        w, hyper_generate_find(w->p, w->generator, SLOT_HYPER_HEAD_W, w->stack, layer, place, slot));
    node bias = leaf_of(
        w, hyper_generate_find(w->p, w->generator, SLOT_HYPER_HEAD_B, w->stack, layer, place, slot));
    return cols ? op_linear_generated(w->t, x, weight, bias, cols) : op_linear(w->t, x, weight, bias);
}

/* Returns the layer index of the generator. The embedding has the condition of the first layer. */
static int layer_of(const struct hyper_work *w, const struct plan_generated *of) {
    int layer = of->layer - (of->stack == STACK_ENCODER ? w->p->hyper_first_layer[w->generator] : 0);
    return layer < 0 ? 0 : layer;
}

/* Returns the layer of the heads that generate a value, -1: shared by all layers. */
static int head_layer(const struct hyper_work *w, const struct plan_generated *of) {
    return w->h->net == HYPER_LAYER ? of->layer : -1;
}

/* Counts the layers and places of the current stack for which something is generated. */
static void measure(struct hyper_work *w) {
    const struct plan_tensor *table = hyper_generate_find(w->p, w->generator, SLOT_HYPER_LAYER, w->stack, -1,
                                                          0, 0);
    int n;
    const struct plan_generated *values = hyper_values(w->p, w->generator, &n);
    w->layers = table ? table->rows : 0;
    w->places = 0;
    for (int i = 0; i < n; i++) {
        const struct plan_generated *of = &values[i];
        if (of->stack != w->stack || !hyper_generates(w->p, w->generator, of)) continue;
        if (of->place >= w->places) w->places = of->place + 1;
        if (layer_of(w, of) >= w->layers) w->layers = layer_of(w, of) + 1;
    }
}

/* ---- per task ---- */

/* Returns a slot of the module and layer of `of`: one row per task, or with `cols` the matrices of the tasks,
 * concatenated. */
static node slot_of(struct hyper_work *w, const struct plan_generated *of, int slot, int cols) {
    int row = w->one ? 0 : (layer_of(w, of) * w->places + of->place) * w->units;
    if (w->h->net != HYPER_STACK) {
        node own = w->one ? w->inner : op_rows(w->t, w->inner, row, row + w->units);
        return hyper_generate_head(w, own, head_layer(w, of), of->place, slot, cols);
    }
    if (w->all[slot] == NODE_NONE) w->all[slot] = hyper_generate_head(w, w->inner, -1, 0, slot, cols);
    if (w->one) return w->all[slot];
    int rows = tape_rows_of(w->t, w->all[slot]) / tape_rows_of(w->t, w->inner); /* rows of one of them */
    return op_rows(w->t, w->all[slot], row * rows, (row + w->units) * rows);
}

/* Returns the keys or values computed from the prompts of the tasks with generated maps. */
static node of_prompts(struct hyper_work *w, const struct plan_generated *of) {
    enum slot map[2];
    struct prologue from = *w->from;
    from.of = of;
    node prompt = prologue_leaf(&from, SLOT_PROMPT);
    prompt_slots(of, map);
    node down = slot_of(w, of, map[0], tape_cols_of(w->t, prompt));
    return prompt_value(w->p, w->t, prompt, down,
                        slot_of(w, of, map[1], w->p->method.module[of->module].mid));
}

/* Generates all values of a stack; `shared`: the projection of all stacks, or NODE_NONE. */
static void make_stack(struct hyper_work *w, node shared, node *generated) {
    memset(w->all, 0, sizeof w->all);
    w->one = shared != NODE_NONE;
    w->inner = w->one ? shared : project(w, w->stack, w->layers, w->places);
    for (int i = 0; i < w->p->generated; i++) {
        const struct plan_generated *of = &w->p->generated_tensor[i];
        if (of->stack != w->stack || !hyper_generates(w->p, w->generator, of)) continue;
        tape_site(w->t, "generator of module %d", of->module + 1);
        bool prompt = source_is_prompt(w->p->method.module[of->module].source);
        generated[i] = prompt ? of_prompts(w, of) : slot_of(w, of, of->slot, 0);
    }
}

void hyper_generate(const struct prologue *x, int g) {
    struct hyper_work w = { .p = x->p,
                            .generator = g,
                            .h = &x->p->method.hyper[g],
                            .t = x->t,
                            .from = x,
                            .units = x->p->tasks };
    node shared = hyper_one_projection(w.h) ? project(&w, STACK_ENCODER, 1, 1) : NODE_NONE;
    for (w.stack = STACK_ENCODER; w.stack <= STACK_DECODER; w.stack++) {
        measure(&w);
        if (w.places) make_stack(&w, shared, x->generated);
    }
}

/* ---- per example ---- */

/* Computes g from h, through its two maps if they exist. */
static node row_vector(const struct hyper_work *w, node h) {
    if (w->h->instance != EXAMPLE_MLP) return h;
    node x = op_linear_act(w->t, h, hyper_generate_leaf(w, SLOT_HYPER_ROW_W1, w->stack),
                           hyper_generate_leaf(w, SLOT_HYPER_ROW_B1, w->stack), ACT_RELU);
    return op_linear(w->t, x, hyper_generate_leaf(w, SLOT_HYPER_ROW_W2, w->stack),
                     hyper_generate_leaf(w, SLOT_HYPER_ROW_B2, w->stack));
}

void hyper_generate_per_example(const struct plan *p, struct tape *t, const node *leaves, int stack, node h,
                                const int *task, struct example_value *value) {
    const struct hyper *by = hyper_with_example(&p->method);
    struct hyper_work w = { .p = p,
                            .generator = (int)(by - p->method.hyper),
                            .h = by,
                            .t = t,
                            .leaf = leaves,
                            .stack = stack,
                            .units = tape_rows_of(t, h),
                            .task = task };
    measure(&w);
    if (!w.places) return;
    tape_site(t, "generator");
    w.row = row_vector(&w, h);
    node x = project(&w, stack, w.layers, w.places);
    for (int i = 0; i < p->per_example; i++) {
        const struct plan_generated *of = &p->example_tensor[i];
        if (of->stack != stack) continue;
        int first = (layer_of(&w, of) * w.places + of->place) * w.units;
        tape_site(t, "generator of module %d", of->module + 1);
        if (by->net != HYPER_STACK) {
            node own = hyper_generate_head(&w, op_rows(t, x, first, first + w.units), head_layer(&w, of),
                                           of->place, of->slot, of->cols);
            value[i] = (struct example_value){ own, 0, w.units };
            continue;
        }
        if (w.all[of->slot] == NODE_NONE)
            w.all[of->slot] = hyper_generate_head(&w, x, -1, 0, of->slot, of->cols);
        value[i] = (struct example_value){ w.all[of->slot], first, w.layers * w.places * w.units };
    }
}
