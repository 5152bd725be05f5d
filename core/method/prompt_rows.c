#include "core/method/prompt_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/ops.h"
#include "core/method/sources.h"

enum { GATES = 4, LSTM_TENSORS = 4 }; /* W_ih, W_hh, b_ih, b_hh of each layer and direction */

int prompt_rows_kept(const struct module *m, const struct arch *a) {
    return m->size * (m->rows == ROWS_PEFT && a->decoder_layers ? 2 : 1);
}

static enum slot lstm_slot(int layer, int way, int k) {
    return (enum slot)(SLOT_LSTM + (layer * 2 + way) * LSTM_TENSORS + k);
}

const char *prompt_lstm_name(enum slot slot) {
    static const char *const names[PROMPT_LSTM_LAYERS * 2 * LSTM_TENSORS] = {
        "W_ih.0", "W_hh.0", "b_ih.0", "b_hh.0", "W_ih.0r", "W_hh.0r", "b_ih.0r", "b_hh.0r",
        "W_ih.1", "W_hh.1", "b_ih.1", "b_hh.1", "W_ih.1r", "W_hh.1r", "b_ih.1r", "b_hh.1r" };
    return names[slot - SLOT_LSTM];
}

bool prompt_lstm_is_bias(enum slot slot) { return (slot - SLOT_LSTM) % LSTM_TENSORS >= 2; }

/* ---- plan ---- */

static void plan_map(struct build *b, int module, const struct span *s, enum slot w, int rows, int cols) {
    build_own(b, module, s, -1, w, 1, rows, cols);
    build_own(b, module, s, -1, (enum slot)(w + 1), 1, 1, rows); /* its bias */
}

static void plan_lstm(struct build *b, int module, const struct span *s, int d, int h) {
    for (int layer = 0; layer < PROMPT_LSTM_LAYERS; layer++)
        for (int way = 0; way < 2; way++) {
            build_own(b, module, s, -1, lstm_slot(layer, way, 0), 1, GATES * h, layer ? 2 * h : d);
            build_own(b, module, s, -1, lstm_slot(layer, way, 1), 1, GATES * h, h);
            build_own(b, module, s, -1, lstm_slot(layer, way, 2), 1, 1, GATES * h);
            build_own(b, module, s, -1, lstm_slot(layer, way, 3), 1, 1, GATES * h);
        }
    plan_map(b, module, s, SLOT_MLP_W1, 2 * h, 2 * h);
    plan_map(b, module, s, SLOT_MLP_W2, d, 2 * h);
}

void prompt_rows_plan(struct build *b, int module, const struct span *s) {
    const struct module *m = &b->p->method.module[module];
    int rows = prompt_rows_kept(m, b->a), d = b->a->width, h = m->mid, tasks = b->p->tasks;
    bool product = m->source == SOURCE_PRODUCT;
    build_place(b, module, s, -1);
    if (product) {
        build_own(b, module, s, -1, SLOT_PRODUCT, 1, rows, d);
        build_own(b, module, s, -1, SLOT_PRODUCT_U, tasks, rows, h);
        build_own(b, module, s, -1, SLOT_PRODUCT_V, tasks, h, d);
    } else {
        build_own(b, module, s, -1, SLOT_MLP_E, 1, rows, d);
        if (m->source == SOURCE_LSTM) plan_lstm(b, module, s, d, h);
        else {
            plan_map(b, module, s, SLOT_MLP_W1, h, d);
            plan_map(b, module, s, SLOT_MLP_W2, h, h);
            plan_map(b, module, s, SLOT_MLP_W3, d, h);
        }
    }
    build_generated(b, module, s, -1, SLOT_OWN, product ? tasks : 1, rows, d);
}

/* ---- forward ---- */

/* Returns [a | b] Wᵀ + bias without concatenating a and b. */
static node linear_of_two(struct tape *t, node a, node b, node w, node bias) {
    int half = tape_cols_of(t, a), all = tape_cols_of(t, w);
    node left = op_linear(t, a, op_cols(t, w, 0, half), bias);
    return op_linear_add(t, left, b, op_cols(t, w, half, all), NODE_NONE, 1, NODE_NONE);
}

/* One step of the LSTM: the gates in z are i, f, g, o; updates *c, the cell state, and returns the output. */
static node cell(struct tape *t, node z, node *c) {
    int h = tape_cols_of(t, z) / GATES;
    node i = op_act(t, op_cols(t, z, 0, h), ACT_SIGMOID), f = op_act(t, op_cols(t, z, h, 2 * h), ACT_SIGMOID);
    node g = op_act(t, op_cols(t, z, 2 * h, 3 * h), ACT_TANH),
         o = op_act(t, op_cols(t, z, 3 * h, 4 * h), ACT_SIGMOID);
    node in = op_mul(t, i, g);
    *c = *c == NODE_NONE ? in : op_add(t, op_mul(t, f, *c), in);
    return op_mul(t, o, op_act(t, *c, ACT_TANH));
}

/* Runs one direction over all rows; `from`: x W_ihᵀ + b_ih of each row. */
static node lstm_way(const struct prologue *x, node from, int layer, int way) {
    struct tape *t = x->t;
    node w = prologue_leaf(x, lstm_slot(layer, way, 1)), b = prologue_leaf(x, lstm_slot(layer, way, 3));
    node h = NODE_NONE, c = NODE_NONE, all = NODE_NONE;
    int rows = tape_rows_of(t, from);
    for (int i = 0; i < rows; i++) {
        int at = way ? rows - 1 - i : i;
        node z = op_rows(t, from, at, at + 1);
        z = h == NODE_NONE ? op_bias(t, z, b) : op_linear_add(t, z, h, w, b, 1, NODE_NONE);
        h = cell(t, z, &c);
        all = all == NODE_NONE ? h : way ? op_concat_rows(t, h, all) : op_concat_rows(t, all, h);
    }
    return all;
}

static node lstm(const struct prologue *x, node e) {
    struct tape *t = x->t;
    node out[2] = { NODE_NONE, NODE_NONE };
    for (int layer = 0; layer < PROMPT_LSTM_LAYERS; layer++) {
        node next[2];
        for (int way = 0; way < 2; way++) {
            node w = prologue_leaf(x, lstm_slot(layer, way, 0)),
                 b = prologue_leaf(x, lstm_slot(layer, way, 2));
            node from = layer ? linear_of_two(t, out[0], out[1], w, b) : op_linear(t, e, w, b);
            next[way] = lstm_way(x, from, layer, way);
        }
        out[0] = next[0];
        out[1] = next[1];
    }
    node w = prologue_leaf(x, SLOT_MLP_W1), b = prologue_leaf(x, SLOT_MLP_B1);
    node h = op_act(t, linear_of_two(t, out[0], out[1], w, b), ACT_RELU);
    return op_linear(t, h, prologue_leaf(x, SLOT_MLP_W2), prologue_leaf(x, SLOT_MLP_B2));
}

static node mlp(const struct prologue *x, node e) {
    enum act act = x->p->method.module[x->of->module].mid_act;
    node h = op_linear_act(x->t, e, prologue_leaf(x, SLOT_MLP_W1), prologue_leaf(x, SLOT_MLP_B1), act);
    h = op_linear_act(x->t, h, prologue_leaf(x, SLOT_MLP_W2), prologue_leaf(x, SLOT_MLP_B2), act);
    return op_linear(x->t, h, prologue_leaf(x, SLOT_MLP_W3), prologue_leaf(x, SLOT_MLP_B3));
}

/* Returns P ⊙ (u v) of each task, concatenated. */
static node prompt_rows_product(const struct prologue *x) {
    struct tape *t = x->t;
    node p = prologue_leaf(x, SLOT_PRODUCT), u = prologue_leaf(x, SLOT_PRODUCT_U),
         v = prologue_leaf(x, SLOT_PRODUCT_V), all = NODE_NONE;
    int tasks = x->p->tasks, rows = tape_rows_of(t, p), rank = tape_cols_of(t, u);
    for (int i = 0; i < tasks; i++) {
        node ui = tasks > 1 ? op_rows(t, u, i * rows, (i + 1) * rows) : u;
        node vi = tasks > 1 ? op_rows(t, v, i * rank, (i + 1) * rank) : v;
        node one = op_mul(t, p, op_matmul(t, ui, vi));
        all = all == NODE_NONE ? one : op_concat_rows(t, all, one);
    }
    return all;
}

int prompt_rows_make(const struct prologue *x) {
    tape_site(x->t, "prompt network of module %d", x->of->module + 1);
    switch (x->p->method.module[x->of->module].source) {
    case SOURCE_PRODUCT: x->generated[x->first] = prompt_rows_product(x); break;
    case SOURCE_LSTM: x->generated[x->first] = lstm(x, prologue_leaf(x, SLOT_MLP_E)); break;
    default: x->generated[x->first] = mlp(x, prologue_leaf(x, SLOT_MLP_E));
    }
    return x->first + 1;
}

/* ---- counting ---- */

void prompt_rows_terms(struct terms *t, const struct plan *p, const struct module *m, const struct arch *a) {
    int rows = prompt_rows_kept(m, a), d = a->width, h = m->mid;
    const char *twice = rows > m->size ? "2·" : "";
    char letters[64];
    snprintf(letters, sizeof letters, "%sl·d", twice);
    terms_add(t, letters, "%d·%d", rows, d);
    if (m->source == SOURCE_PRODUCT) {
        snprintf(letters, sizeof letters, "T·k·(%sl+d)", twice);
        terms_add(t, letters, "%d·%d·(%d+%d)", p->tasks, h, rows, d);
    } else if (m->source == SOURCE_LSTM) {
        terms_add(t, "8h·(d+h+2)", "8·%d·(%d+%d+2)", h, d, h);
        terms_add(t, "8h·(3h+2)", "8·%d·(3·%d+2)", h, h);
        terms_add(t, "2h·(2h+1)", "2·%d·(2·%d+1)", h, h);
        terms_add(t, "(2h+1)·d", "(2·%d+1)·%d", h, d);
    } else {
        terms_add(t, "(d+1)·h", "%d·%d", d + 1, h);
        terms_add(t, "(h+1)·h", "%d·%d", h + 1, h);
        terms_add(t, "(h+1)·d", "%d·%d", h + 1, d);
    }
}
