#include "core/method/attempt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/init.h"
#include "core/method/slots.h"

static const char *const norms[] = { "trained", "frozen" };
static const struct attempt defaults = { .on = true, .hidden = 100 };

#define AT(member) .offset = offsetof(struct attempt, member)
static const struct key keys[] = {
    { "hidden", AT(hidden), .kind = KEY_WHOLE, .least = 1,
      .description = "Inner width of the network that computes the attention query from the input." },
    { "temperature", AT(temperature), .kind = KEY_WEIGHT,
      .description = "Temperature of the attention scores; 0: e (2.718) times the model width." },
    { "norm", AT(norm), KEY_WORDS(norms),
      .description = "Whether the LayerNorm of the query network is trained; the released code freezes it." },
};
const struct network attempt_network = { "attempt",
                                         "attempt",
                                         offsetof(struct method, attempt),
                                         sizeof defaults,
                                         &defaults,
                                         keys,
                                         COUNT_OF(keys) };

/* ---- rules ---- */

bool attempt_is_source(const struct module *m) { return m->fn == FN_PROMPT && m->source == SOURCE_FUSION; }

static const char *prompt_fault(const struct module *x, const struct module *own) {
    if (own->source != SOURCE_FREE)
        return "attempt: the target prompt must be trainable: use source=free";
    if (x->rows != ROWS_ACTING || own->rows != ROWS_ACTING)
        return "attempt: all prompts must have rows=acting";
    if (x->size != own->size) return "attempt: all prompts must have the same length l";
    if (x->write != own->write || x->place != own->place)
        return "attempt: all prompts must have the same write= and place=";
    return NULL;
}

const char *attempt_fault(const struct method *m, int *module) {
    const struct module *own = NULL;
    int sources = 0;
    for (int i = 0; i < m->count; i++) {
        sources += attempt_is_source(&m->module[i]);
        if (m->module[i].fn == FN_PROMPT && !attempt_is_source(&m->module[i])) own = &m->module[i];
    }
    *module = -1;
    if (m->attempt.on && !sources)
        return "attempt: missing prompts of other runs: use attempt(runs=3|5), or add prompts with "
               "source=fusion,init=run(N)";
    if (sources && !m->attempt.on)
        return "source=fusion needs a module that combines the prompts: append '+ attempt'";
    if (sources && !own)
        return "attempt: the trainable target prompt is missing: append '+ prompt(l=…)'";
    if (sources >= MIX_MOST) return "attempt: too many prompts of other runs: at most 31";
    for (*module = 0; sources && *module < m->count; ++*module) {
        const char *fault = attempt_is_source(&m->module[*module]) ? prompt_fault(&m->module[*module], own)
                                                                   : NULL;
        if (fault) return fault;
    }
    *module = -1;
    return NULL;
}

/* ---- plan ---- */

static void attempt_add(struct build *b, enum slot slot, int rows, int cols) {
    static const char *const names[] = { "W_d", "W_u", "norm.weight", "norm.bias" };
    struct plan_tensor t = build_part(PLAN_NETWORK, slot, rows, cols);
    t.fixed = t.frozen = rows == 1 && b->p->method.attempt.norm == ATTEMPT_NORM_FROZEN;
    build_network(b, t, "attempt.%s", names[slot - SLOT_ATTEMPT_DOWN]);
}

void attempt_plan(struct build *b) {
    const struct attempt *x = &b->p->method.attempt;
    int d = b->a->width;
    if (!x->on) return;
    attempt_add(b, SLOT_ATTEMPT_DOWN, x->hidden, d);
    attempt_add(b, SLOT_ATTEMPT_UP, d, x->hidden);
    attempt_add(b, SLOT_ATTEMPT_NORM_W, 1, d);
    attempt_add(b, SLOT_ATTEMPT_NORM_B, 1, d);
}

bool attempt_is_own(const struct plan_tensor *t) {
    return t->kind == PLAN_NETWORK && t->role >= SLOT_ATTEMPT_DOWN && t->role <= SLOT_ATTEMPT_NORM_B;
}

void attempt_init(const struct plan_tensor *t, struct rng_key key, real *out) {
    if (t->rows > 1) init_uniform(key, out, t->count, 1 / sqrt(t->cols));
    else init_fill(out, t->count, t->role == SLOT_ATTEMPT_NORM_W);
}

/* ---- forward ---- */

static node constant(struct tape *t, int rows, int cols, double value) {
    size_t n = (size_t)rows * (size_t)cols;
    real *x = tape_keep(t, (n + 1) * sizeof *x);
    init_fill(x, n, value);
    return tape_frozen(t, rows, cols, x);
}

/* Returns the softmax of each row of scores, as a mix of unit vectors. */
static node attempt_softmax(struct tape *t, node scores) {
    int rows = tape_rows_of(t, scores), n = tape_cols_of(t, scores);
    node unit[MIX_MOST];
    for (int k = 0; k < n; k++) {
        real *x = tape_keep(t, ((size_t)rows * (size_t)n + 1) * sizeof *x);
        init_fill(x, (size_t)rows * (size_t)n, 0);
        for (int i = 0; i < rows; i++) x[(size_t)i * (size_t)n + (size_t)k] = 1;
        unit[k] = tape_frozen(t, rows, n, x);
    }
    return op_mix(t, scores, unit, n);
}

/* Returns the maximum over the rows of each prompt, concatenated. */
static node pooled_prompts(struct tape *t, const node *prompt, int prompts) {
    node all = NODE_NONE;
    for (int k = 0; k < prompts; k++) {
        int *start = tape_keep(t, 2 * sizeof *start);
        uint64_t *id = tape_keep(t, sizeof *id);
        struct tape_rows *rows = tape_keep(t, sizeof *rows);
        start[0] = 0;
        start[1] = tape_rows_of(t, prompt[k]);
        *id = 0;
        *rows = (struct tape_rows){ 1, start, id };
        node one = op_pool_max(t, prompt[k], rows);
        all = k ? op_concat_rows(t, all, one) : one;
    }
    return all;
}

static node network_leaf(const struct plan *p, const node *leaf, enum slot slot) {
    return leaf[plan_network(p, slot) - p->tensor];
}

node attempt_rows(struct tape *t, const struct plan *p, const node *leaf, node words,
                  const struct tape_rows *tokens, const node *prompt, int prompts) {
    const struct attempt *x = &p->method.attempt;
    double temperature = x->temperature > 0 ? x->temperature : M_E * tape_cols_of(t, words), eps = 1e-5;
    tape_site(t, "attention over prompts");
    node h = op_linear_act(t, op_pool_max(t, words, tokens), network_leaf(p, leaf, SLOT_ATTEMPT_DOWN),
                           NODE_NONE, ACT_SILU);
    h = op_linear(t, h, network_leaf(p, leaf, SLOT_ATTEMPT_UP), NODE_NONE);
    h = op_layernorm(t, h, NODE_NONE, network_leaf(p, leaf, SLOT_ATTEMPT_NORM_W),
                     network_leaf(p, leaf, SLOT_ATTEMPT_NORM_B), eps);
    node a = attempt_softmax(
        t, op_scale(t, op_linear(t, h, pooled_prompts(t, prompt, prompts), NODE_NONE), 1 / temperature));
    node all = NODE_NONE;
    for (int k = 0; k < prompts; k++) {
        node share = op_cols(t, a, k, k + 1);
        if (k == prompts - 1)
            /* the own prompt is always added with weight 1 */
            share = op_bias(t, share, constant(t, 1, 1, 1));
        node one = op_gated_copies(t, prompt[k], share);
        all = k ? op_add(t, all, one) : one;
    }
    return all;
}

/* ---- texts ---- */

char *attempt_formula(const struct method *m) {
    char temperature[32] = "e\u00B7d";
    if (m->attempt.temperature > 0) snprintf(temperature, sizeof temperature, "%g", m->attempt.temperature);
    return xprintf(
        "H = LN(W_u silu(W_d max x)), a = softmax_j(max P_j·H/%s), prompt of the example: P + Σ a_j P_j, "
        "x: its token embeddings",
        temperature);
}
