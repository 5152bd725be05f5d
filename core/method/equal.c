#include "core/method/equal.h"

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/slots.h"

static bool prefix(const struct module *m) { return function_of(m)->form == FORM_KEYS; }
static bool gated(const struct module *m) { return m->comp == COMP_GATED; }
static bool low_rank(const struct module *m) { return module_is_map(m); }
static bool decomposed(const struct module *m) { return m->fn == FN_DECOMPOSED; }
static bool free_heads(const struct module *m) { return m->heads == HEADS_FREE; }
static bool by_mlp(const struct module *m) { return m->source == SOURCE_MLP || m->source == SOURCE_LSTM; }
static bool flat_prefix(const struct module *m) { return prefix(m) && m->source == SOURCE_FREE && gated(m); }
static bool of_rows(const struct module *m) { return function_of(m)->form == FORM_ROWS; }
static bool of_product(const struct module *m) { return m->source == SOURCE_PRODUCT; }
static bool equal_of_prompt(const struct module *m) { return source_is_prompt(m->source); }
static bool of_products(const struct module *m) { return m->source == SOURCE_KRONECKER; }
static bool fused(const struct module *m) { return m->source == SOURCE_FUSION; }
static bool generated(const struct module *m) { return source_is_generated(m->source); }

static bool before_out(const struct module *m) {
    return m->fn == FN_BOTTLENECK && m->write == TAP_A_CTX && !module_is_sequential(m);
}

static bool has_factor(const struct module *m) {
    return m->fn == FN_BOTTLENECK && (m->comp == COMP_SCALED || m->comp == COMP_LEARNED);
}

static bool has_fixed_factor(const struct module *m) {
    return (m->fn == FN_BOTTLENECK || m->fn == FN_LINEAR) && m->comp == COMP_SCALED && m->scale != 1;
}

static bool is_by_one(const struct module *m) {
    return m->fn == FN_BOTTLENECK && !module_is_sequential(m) && (m->comp == COMP_ADD || (m->comp == COMP_SCALED && m->scale == 1));
}

static bool low_rank_in_ffn(const struct module *m) { return m->fn == FN_LINEAR && module_is_map(m) && tap_is_ffn(m->write); }
static bool beside_ffn(const struct module *m) {
    return m->fn == FN_BOTTLENECK && m->write == TAP_F_OUT && m->read == TAP_F_IN && m->norm == NORM_NONE && !m->norm_before;
}

static bool behind_map(const struct module *m) {
    return m->fn == FN_LINEAR && module_is_sequential(m) && tap_map_input(m->write) != TAP_NONE;
}

static bool scales_keys(const struct module *m) { return m->fn == FN_SCALE && (m->write == TAP_A_K || m->write == TAP_A_Q); }
static bool scales(const struct module *m) {
    return m->fn == FN_SCALE && (m->write == TAP_A_K || m->write == TAP_A_V || m->write == TAP_F_ACT);
}
static bool key_biases(const struct module *m) { return m->fn == FN_BIAS && m->target == TARGET_ALL; }

static const struct equality equalities[] = {
    {"E1", "keys of a prefix in the joint softmax = the gated form, for any mask", gated},
    {"E2", "a parallel adapter at `a.ctx` = one at `a.out` with W_u and b_u taken through W_o", before_out},
    {"E3", "scale s = s·W_u and s·b_u; for relu also s·W_d, s·b_d, s·b_u (s > 0)", has_factor},
    {"E4", "scale s at rate η = scale 1 at rate s·η of W_u and b_u, from W_u = 0, with Adam of ε = 0 and no clipping", has_fixed_factor},
    {"E5", "linear, sequential behind a map = W(I + W_d W_u), b likewise", behind_map},
    {"E6", "two LoRAs of equal s at one map = one of rank r₁+r₂", low_rank},
    {"E7", "two gated prefixes = one of length l₁+l₂; two ungated ones are not", gated},
    {"E8", "a parallel adapter for each head whose down-maps are equal = the shared one", free_heads},
    {"E9", "scaling keys = scaling queries", scales_keys},
    {"E10", "IA3 = rows of W_k, b_k, W_v, b_v and columns of W_2 scaled", scales},
    {"E11", "b_k has no effect and b_v is redundant with b_o, until there is a prefix", key_biases},
    {"E12", "P-tuning v2 without an MLP = a flat prefix; libraries give its keys positions, petri none", flat_prefix},
    {"E13", "a prefix or a prompt behind its network = the flat one with the made values", by_mlp},
    {"E14", "a prompt is no fixed prefix: its rows' keys and values at each layer depend on the text", of_rows},
    {"E15", "a parallel adapter scaled by 1 = the unscaled one; starts differ in the first step's values alone", is_by_one},
    {"E16", "a product whose u v is 1 = the prompt P; a prompt that starts from another's trains as any other", of_product},
    {"E17", "DoRA with m held at the length of W + s W_u W_d = LoRA; without a change of direction = each output scaled", decomposed},
    {"E18", "LoRA at the FFN's maps is no parallel adapter without a bend: it reads and writes inside", low_rank_in_ffn},
    {"E19", "a parallel adapter at the FFN with the FFN's own activation = an FFN wider by r, ungated", beside_ffn},
    {"E20", "a prefix of zeros is no no-op: it leaves (1−λ)h", prefix},
    {"E21", "what is made of a task's prompt = the flat prefix with the made values", equal_of_prompt},
    {"E22", "what the generator makes for a task = modules of its own with the made values", generated},
    {"E23", "what Kronecker products make = a free bottleneck with the made maps", of_products},
    {"E24", "a fusion of adapters that are equal, with V = I = one of them", fused},
};

const struct equality *equality_at(int i) { return i < (int)COUNT_OF(equalities) ? &equalities[i] : NULL; }

bool equality_applies(const struct equality *q, const struct method *m) {
    if (q->of == generated && hyper_by_row(m)) return false; /* no module has what each row has */
    for (int i = 0; i < m->count; i++)
        if (q->of(&m->module[i])) return true;
    return false;
}
