#include "core/method/equal.h"

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/slots.h"

/* ---- properties of modules ---- */

static bool adds(const struct module *x) { return 1u << x->comp & COMPS_ADDING; }
static bool is_keys(const struct module *x) { return function_of(x)->form == FORM_KEYS; }

static bool parallel_adapter(const struct module *x) {
    return x->fn == FN_BOTTLENECK && !module_is_sequential(x) && adds(x);
}

/* Δh is linear in W_u and b_u, which are trained. */
static bool has_up_map(const struct module *x) {
    return (x->fn == FN_BOTTLENECK || x->fn == FN_LINEAR) && x->norm == NORM_NONE &&
           source_is_trained(x->source);
}

/* Returns whether no other module reads or writes the taps x … y or adds keys there; changes of existing
 * weights are applied below all taps. */
static bool alone_at(const struct question *q, enum tap x, enum tap y) {
    for (int k = 0; k < q->m->count; k++) {
        const struct module *o = &q->m->module[k];
        bool at = (o->read >= x && o->read <= y) || (o->write >= x && o->write <= y);
        if (k != q->i && at && !module_in_weight(o)) return false;
    }
    return true;
}

static bool beside_keys(const struct method *m) {
    for (int k = 0; k < m->count; k++)
        if (is_keys(&m->module[k])) return true;
    return false;
}

static bool only_in_weights(const struct method *m) {
    for (int k = 0; k < m->count; k++)
        if (!module_in_weight(&m->module[k])) return false;
    return true;
}

/* ---- the modules for which each equality holds ---- */

static bool e1(const struct question *q) { return is_keys(q->x) && q->x->comp == COMP_GATED; }
static bool e2(const struct question *q) {
    const struct module *x = q->x;
    return parallel_adapter(x) && x->write == TAP_A_CTX && x->norm == NORM_NONE &&
           source_is_trained(x->source) && x->source != SOURCE_SHARED && alone_at(q, TAP_A_HEAD, TAP_A_OUT);
}

static bool e3(const struct question *q) {
    return has_up_map(q->x) &&
           ((q->x->comp == COMP_SCALED && q->x->scale != 1) || q->x->comp == COMP_LEARNED);
}
static bool e4(const struct question *q) {
    const struct module *x = q->x;
    return has_up_map(x) && x->comp == COMP_SCALED && x->scale > 0 && x->scale != 1 && x->init == INIT_LORA;
}

static bool e5(const struct question *q) {
    const struct module *x = q->x;
    return x->fn == FN_LINEAR && adds(x) && module_is_sequential(x) && tap_map_input(x->write) != TAP_NONE &&
           source_is_trained(x->source) && alone_at(q, x->write, x->write);
}

static bool e6(const struct question *q) {
    return !is_keys(q->x) && module_is_map(q->x) && module_joins(q->x);
}
static bool e7(const struct question *q) { return is_keys(q->x) && module_joins(q->x); }
static bool e8(const struct question *q) {
    return q->x->heads == HEADS_FREE && source_is_trained(q->x->source) && alone_at(q, TAP_A_HEAD, TAP_A_CTX);
}
static bool e9(const struct question *q) {
    const struct module *x = q->x;
    return x->fn == FN_SCALE && (x->write == TAP_A_K || x->write == TAP_A_Q) &&
           alone_at(q, TAP_A_Q, TAP_A_K) && !beside_keys(q->m);
}

static bool e10(const struct question *q) {
    for (int k = 0; k < q->m->count; k++) {
        const struct module *x = &q->m->module[k];
        bool held = x->write == TAP_A_K || x->write == TAP_A_V || x->write == TAP_F_ACT;
        if (x->fn != FN_SCALE || !held || !source_is_trained(x->source)) return false;
    }
    return true;
}

static bool e11(const struct question *q) {
    const struct module *x = q->x;
    return x->fn == FN_BIAS && x->target == TARGET_ALL && (!q->a || q->a->biases) && only_in_weights(q->m);
}

static bool e12(const struct question *q) {
    return is_keys(q->x) && q->x->source == SOURCE_FREE && q->x->comp == COMP_GATED && !q->x->shift;
}
static bool e13(const struct question *q) {
    return q->x->source == SOURCE_MLP || q->x->source == SOURCE_LSTM;
}
static bool e14(const struct question *q) { return function_of(q->x)->form == FORM_ROWS; }
static bool e15(const struct question *q) {
    return parallel_adapter(q->x) &&
           (q->x->comp == COMP_ADD || (q->x->comp == COMP_SCALED && q->x->scale == 1));
}
static bool e16(const struct question *q) { return q->x->source == SOURCE_PRODUCT; }
static bool e17(const struct question *q) { return q->x->fn == FN_DECOMPOSED && q->x->length == LENGTH_MAP; }
static bool e18(const struct question *q) {
    return q->x->fn == FN_LINEAR && module_is_map(q->x) && tap_is_ffn(q->x->write);
}
/* An FFN with biases, or an adapter without; no other module is between the FFN's maps. */
static bool e19(const struct question *q) {
    const struct module *x = q->x;
    return parallel_adapter(x) && x->read == TAP_F_IN && x->write == TAP_F_OUT &&
           x->norm == NORM_NONE && !x->norm_before && x->residual == RESIDUAL_WRITTEN &&
           x->ending == END_MODEL && source_is_trained(x->source) && alone_at(q, TAP_F_PRE, TAP_F_ACT) &&
           (!q->a || (!q->a->gated && q->a->act == x->act && (q->a->biases || !x->biases)));
}

/* The added keys share one softmax with the keys of the attention. */
static bool e20(const struct question *q) {
    return is_keys(q->x) && (q->x->comp == COMP_GATED || comp_gates(q->x->comp));
}
static bool e21(const struct question *q) { return source_is_prompt(q->x->source); }
/* Weights generated per example have no equivalent module. */
static bool e22(const struct question *q) {
    return source_is_generated(q->x->source) && !hyper_is_per_example(q->m, q->i);
}
static bool e23(const struct question *q) { return q->x->source == SOURCE_KRONECKER; }
static bool e24(const struct question *q) { return q->x->source == SOURCE_FUSION; }
static const struct equality equalities[] = {
    { "E1", "prefix keys in the joint softmax = the gated form, for any mask", e1 },
    { "E2", "a parallel adapter at a.ctx = one at a.out with W_u and b_u multiplied by W_o", e2 },
    { "E3",
      "a scale s = W_u and b_u multiplied by s; with ReLU also W_d, b_d and b_u multiplied by s (s > "
      "0)",
      e3 },
    { "E4",
      "a scale s with learning rate η = a scale 1 with learning rate s·η for W_u and b_u, if W_u starts at "
      "0, for Adam with ε = 0 and without gradient clipping",
      e4 },
    { "E5",
      "linear, sequential after a linear layer = that layer with the weight W(I + W_d W_u); b "
      "likewise",
      e5 },
    { "E6", "two LoRAs of equal s on one linear layer = one LoRA of rank r₁+r₂", e6 },
    { "E7", "two gated prefixes = one gated prefix of length l₁+l₂; this does not hold without the gate",
      e7 },
    { "E8", "a parallel adapter per head with equal down-projections = the shared one", e8 },
    { "E9", "scaling keys = scaling queries", e9 },
    { "E10", "IA3 = scaling the rows of W_k, b_k, W_v and b_v, and the columns of W_2", e10 },
    { "E11", "b_k has no effect and b_v is redundant with b_o, unless there is a prefix", e11 },
    { "E12",
      "P-tuning v2 without an MLP = a free prefix; PEFT also shifts the positions of the text (shift=yes)",
      e12 },
    { "E13",
      "a prefix or prompt reparameterized by a network = one trained directly, with the generated values",
      e13 },
    { "E14", "a prompt differs from a fixed prefix: its keys and values at each layer depend on the text",
      e14 },
    { "E15",
      "a parallel adapter scaled by 1 = the unscaled one; only their initial "
      "parameters can differ",
      e15 },
    { "E16",
      "source=product with u v = 1 = the prompt P; a prompt initialized from another run is trained like "
      "any other",
      e16 },
    { "E17",
      "DoRA with the magnitude m fixed to the norm of W + s W_u W_d = LoRA; with the direction fixed "
      "= one scale per output",
      e17 },
    { "E18",
      "LoRA on the linear layers of the FFN differs from a linear parallel adapter: it reads and writes "
      "inside "
      "the FFN",
      e18 },
    { "E19",
      "a parallel adapter at an ungated FFN, with the activation of the FFN = an FFN with r more hidden "
      "units",
      e19 },
    { "E20", "a gated prefix initialized to zeros is not the identity: the output is (1−λ)h", e20 },
    { "E21", "a prefix generated from the prompt of a task = a free prefix with the generated values", e21 },
    { "E22", "modules generated for a task = free modules with the generated values", e22 },
    { "E23", "a bottleneck of Kronecker products = a free bottleneck with the resulting matrices", e23 },
    { "E24", "a fusion of identical adapters with V = I = any one of them", e24 },
};

const struct equality *equality_at(int i) { return i < (int)COUNT_OF(equalities) ? &equalities[i] : NULL; }

bool equality_applies(const struct equality *q, const struct method *m, const struct arch *a) {
    for (int i = 0; i < m->count; i++)
        if (q->of(&(struct question){ m, &m->module[i], i, a })) return true;
    return false;
}
