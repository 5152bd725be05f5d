/* The tensors of each family: names, roles and shapes, one table per family.
 *
 * A table is a list of segments in the order of the forward pass.  A segment appears once, or once per layer;
 * its parts are tensors. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/model/arch.h"
#include "core/model/taps.h"

/* A size that depends on the config. */
enum size { ONE, WIDTH, PROJECTED, INNER, VOCABULARY, POSITIONS, TYPES, BUCKETS, HEADS, KEYS, HEAD_WIDTH };

/* When a part exists. */
enum when {
    ALWAYS, IF_POOLER, IF_GATED, IF_PLAIN, IF_PRE_NORM, IF_UNTIED, FIRST_LAYER,
    IF_QKV_BIASES, IF_O_BIAS, IF_FFN_BIASES, IF_QK_NORM
};

struct tensor_part {
    enum tensor_role role;
    enum sublayer sublayer;
    enum size rows, cols; /* rows ONE: a vector */
    enum when when;
    const char *name; /* %d: the layer */
};

struct segment {
    enum stack stack;
    bool per_layer;
    const struct tensor_part *part;
    size_t parts;
};

#define NORM_PAIR(role_w, role_b, sub, when, name)                                                 \
    { role_w, sub, ONE, WIDTH, when, name ".weight" }, { role_b, sub, ONE, WIDTH, when, name ".bias" }
#define LINEAR_PAIR(role_w, role_b, sub, out, in, name)                                            \
    { role_w, sub, out, in, ALWAYS, name ".weight" }, { role_b, sub, ONE, out, ALWAYS, name ".bias" }
#define PROJECTIONS(sub, q, k, v, o)                                                               \
    LINEAR_PAIR(ROLE_Q_W, ROLE_Q_B, sub, PROJECTED, WIDTH, q),                                     \
        LINEAR_PAIR(ROLE_K_W, ROLE_K_B, sub, PROJECTED, WIDTH, k),                                 \
        LINEAR_PAIR(ROLE_V_W, ROLE_V_B, sub, PROJECTED, WIDTH, v),                                 \
        LINEAR_PAIR(ROLE_O_W, ROLE_O_B, sub, WIDTH, PROJECTED, o)

/* ---- BERT and RoBERTa ---- */

static const struct tensor_part bert_embeddings[] = {
    { ROLE_EMBED_WORD, SUB_EMBED, VOCABULARY, WIDTH, ALWAYS, "embeddings.word_embeddings.weight" },
    { ROLE_EMBED_POSITION, SUB_EMBED, POSITIONS, WIDTH, ALWAYS,
     "embeddings.position_embeddings.weight" },
    { ROLE_EMBED_TYPE, SUB_EMBED, TYPES, WIDTH, ALWAYS, "embeddings.token_type_embeddings.weight" },
    NORM_PAIR(ROLE_EMBED_NORM_W, ROLE_EMBED_NORM_B, SUB_EMBED, ALWAYS, "embeddings.LayerNorm"),
};
#define BERT_LAYER "encoder.layer.%d."
static const struct tensor_part bert_layer[] = {
    PROJECTIONS(SUB_SELF, BERT_LAYER "attention.self.query", BERT_LAYER "attention.self.key",
                BERT_LAYER "attention.self.value", BERT_LAYER "attention.output.dense"),
    NORM_PAIR(ROLE_A_NORM_W, ROLE_A_NORM_B, SUB_SELF, ALWAYS,
              BERT_LAYER "attention.output.LayerNorm"),
    LINEAR_PAIR(ROLE_F1_W, ROLE_F1_B, SUB_FFN, INNER, WIDTH, BERT_LAYER "intermediate.dense"),
    LINEAR_PAIR(ROLE_F2_W, ROLE_F2_B, SUB_FFN, WIDTH, INNER, BERT_LAYER "output.dense"),
    NORM_PAIR(ROLE_F_NORM_W, ROLE_F_NORM_B, SUB_FFN, ALWAYS, BERT_LAYER "output.LayerNorm"),
};
static const struct tensor_part bert_pooler[] = {
    { ROLE_POOLER_W, SUB_EMBED, WIDTH, WIDTH, IF_POOLER, "pooler.dense.weight" },
    { ROLE_POOLER_B, SUB_EMBED, ONE, WIDTH, IF_POOLER, "pooler.dense.bias" },
};

/* ---- BART and mBART ---- */

static const struct tensor_part bart_shared[] = {
    { ROLE_EMBED_WORD, SUB_EMBED, VOCABULARY, WIDTH, ALWAYS, "shared.weight" },
};
#define BART_EMBEDDINGS(stack)                                                                     \
    { ROLE_EMBED_POSITION, SUB_EMBED, POSITIONS, WIDTH, ALWAYS, stack ".embed_positions.weight" },   \
        NORM_PAIR(ROLE_EMBED_NORM_W, ROLE_EMBED_NORM_B, SUB_EMBED, ALWAYS,                         \
                  stack ".layernorm_embedding")
#define BART_ATTENTION(sub, prefix, name, norm)                                                    \
    PROJECTIONS(sub, prefix name ".q_proj", prefix name ".k_proj", prefix name ".v_proj",          \
                prefix name ".out_proj"),                                                          \
        NORM_PAIR(ROLE_A_NORM_W, ROLE_A_NORM_B, sub, ALWAYS, prefix norm)
#define BART_FFN(prefix)                                                                           \
    LINEAR_PAIR(ROLE_F1_W, ROLE_F1_B, SUB_FFN, INNER, WIDTH, prefix "fc1"),                        \
        LINEAR_PAIR(ROLE_F2_W, ROLE_F2_B, SUB_FFN, WIDTH, INNER, prefix "fc2"),                    \
        NORM_PAIR(ROLE_F_NORM_W, ROLE_F_NORM_B, SUB_FFN, ALWAYS, prefix "final_layer_norm")
#define BART_FINAL(stack)                                                                          \
    NORM_PAIR(ROLE_FINAL_NORM_W, ROLE_FINAL_NORM_B, SUB_EMBED, IF_PRE_NORM, stack ".layer_norm")

static const struct tensor_part bart_encoder[] = { BART_EMBEDDINGS("encoder") };
static const struct tensor_part bart_encoder_layer[] = {
    BART_ATTENTION(SUB_SELF, "encoder.layers.%d.", "self_attn", "self_attn_layer_norm"),
    BART_FFN("encoder.layers.%d."),
};
static const struct tensor_part bart_encoder_end[] = { BART_FINAL("encoder") };
static const struct tensor_part bart_decoder[] = { BART_EMBEDDINGS("decoder") };
static const struct tensor_part bart_decoder_layer[] = {
    BART_ATTENTION(SUB_SELF, "decoder.layers.%d.", "self_attn", "self_attn_layer_norm"),
    BART_ATTENTION(SUB_CROSS, "decoder.layers.%d.", "encoder_attn", "encoder_attn_layer_norm"),
    BART_FFN("decoder.layers.%d."),
};
static const struct tensor_part bart_decoder_end[] = { BART_FINAL("decoder") };
static const struct tensor_part language_head[] = {
    { ROLE_LM_HEAD, SUB_EMBED, VOCABULARY, WIDTH, IF_UNTIED, "lm_head.weight" },
};

/* ---- T5 ---- */

#define T5_NORM(role, sub, name) { role, sub, ONE, WIDTH, ALWAYS, name }
#define T5_ATTENTION(sub, prefix, name)                                                            \
    T5_NORM(ROLE_A_NORM_W, sub, prefix "layer_norm.weight"),                                       \
        { ROLE_Q_W, sub, PROJECTED, WIDTH, ALWAYS, prefix name ".q.weight" },                        \
        { ROLE_K_W, sub, PROJECTED, WIDTH, ALWAYS, prefix name ".k.weight" },                        \
        { ROLE_V_W, sub, PROJECTED, WIDTH, ALWAYS, prefix name ".v.weight" },                        \
        { ROLE_O_W, sub, WIDTH, PROJECTED, ALWAYS, prefix name ".o.weight" }
#define T5_BIAS(prefix)                                                                            \
    { ROLE_RELATIVE_BIAS, SUB_SELF, BUCKETS, HEADS, FIRST_LAYER,                                    \
     prefix "SelfAttention.relative_attention_bias.weight" }
#define T5_FFN(prefix)                                                                             \
    T5_NORM(ROLE_F_NORM_W, SUB_FFN, prefix "layer_norm.weight"),                                   \
        { ROLE_F1_W, SUB_FFN, INNER, WIDTH, IF_PLAIN, prefix "DenseReluDense.wi.weight" },           \
        { ROLE_F1_W, SUB_FFN, INNER, WIDTH, IF_GATED, prefix "DenseReluDense.wi_0.weight" },         \
        { ROLE_F1G_W, SUB_FFN, INNER, WIDTH, IF_GATED, prefix "DenseReluDense.wi_1.weight" },        \
        { ROLE_F2_W, SUB_FFN, WIDTH, INNER, ALWAYS, prefix "DenseReluDense.wo.weight" }

static const struct tensor_part t5_encoder_layer[] = {
    T5_ATTENTION(SUB_SELF, "encoder.block.%d.layer.0.", "SelfAttention"),
    T5_BIAS("encoder.block.%d.layer.0."),
    T5_FFN("encoder.block.%d.layer.1."),
};
static const struct tensor_part t5_encoder_end[] = {
    T5_NORM(ROLE_FINAL_NORM_W, SUB_EMBED, "encoder.final_layer_norm.weight"),
};
static const struct tensor_part t5_decoder_layer[] = {
    T5_ATTENTION(SUB_SELF, "decoder.block.%d.layer.0.", "SelfAttention"),
    T5_BIAS("decoder.block.%d.layer.0."),
    T5_ATTENTION(SUB_CROSS, "decoder.block.%d.layer.1.", "EncDecAttention"),
    T5_FFN("decoder.block.%d.layer.2."),
};
static const struct tensor_part t5_decoder_end[] = {
    T5_NORM(ROLE_FINAL_NORM_W, SUB_EMBED, "decoder.final_layer_norm.weight"),
};

/* ---- Llama, Mistral, Qwen ---- */

#define CAUSAL_LINEAR(role_w, role_b, sub, out, in, when, name)                                    \
    { role_w, sub, out, in, ALWAYS, name ".weight" }, { role_b, sub, ONE, out, when, name ".bias" }
#define CAUSAL_ATTENTION "layers.%d.self_attn."
#define CAUSAL_FFN "layers.%d.mlp."

static const struct tensor_part causal_embeddings[] = {
    { ROLE_EMBED_WORD, SUB_EMBED, VOCABULARY, WIDTH, ALWAYS, "embed_tokens.weight" },
};
static const struct tensor_part causal_layer[] = {
    { ROLE_A_NORM_W, SUB_SELF, ONE, WIDTH, ALWAYS, "layers.%d.input_layernorm.weight" },
    CAUSAL_LINEAR(ROLE_Q_W, ROLE_Q_B, SUB_SELF, PROJECTED, WIDTH, IF_QKV_BIASES, CAUSAL_ATTENTION "q_proj"),
    CAUSAL_LINEAR(ROLE_K_W, ROLE_K_B, SUB_SELF, KEYS, WIDTH, IF_QKV_BIASES, CAUSAL_ATTENTION "k_proj"),
    CAUSAL_LINEAR(ROLE_V_W, ROLE_V_B, SUB_SELF, KEYS, WIDTH, IF_QKV_BIASES, CAUSAL_ATTENTION "v_proj"),
    { ROLE_Q_NORM, SUB_SELF, ONE, HEAD_WIDTH, IF_QK_NORM, CAUSAL_ATTENTION "q_norm.weight" },
    { ROLE_K_NORM, SUB_SELF, ONE, HEAD_WIDTH, IF_QK_NORM, CAUSAL_ATTENTION "k_norm.weight" },
    CAUSAL_LINEAR(ROLE_O_W, ROLE_O_B, SUB_SELF, WIDTH, PROJECTED, IF_O_BIAS, CAUSAL_ATTENTION "o_proj"),
    { ROLE_F_NORM_W, SUB_FFN, ONE, WIDTH, ALWAYS, "layers.%d.post_attention_layernorm.weight" },
    CAUSAL_LINEAR(ROLE_F1_W, ROLE_F1_B, SUB_FFN, INNER, WIDTH, IF_FFN_BIASES, CAUSAL_FFN "gate_proj"),
    CAUSAL_LINEAR(ROLE_F1G_W, ROLE_F1G_B, SUB_FFN, INNER, WIDTH, IF_FFN_BIASES, CAUSAL_FFN "up_proj"),
    CAUSAL_LINEAR(ROLE_F2_W, ROLE_F2_B, SUB_FFN, WIDTH, INNER, IF_FFN_BIASES, CAUSAL_FFN "down_proj"),
};
static const struct tensor_part causal_end[] = {
    { ROLE_FINAL_NORM_W, SUB_EMBED, ONE, WIDTH, ALWAYS, "norm.weight" },
    { ROLE_LM_HEAD, SUB_EMBED, VOCABULARY, WIDTH, IF_UNTIED, "lm_head.weight" },
};

/* ---- GPT-2, whose files have queries, keys and values in one tensor (entries.c) ---- */

static const struct tensor_part gpt2_embeddings[] = {
    { ROLE_EMBED_WORD, SUB_EMBED, VOCABULARY, WIDTH, ALWAYS, "wte.weight" },
    { ROLE_EMBED_POSITION, SUB_EMBED, POSITIONS, WIDTH, ALWAYS, "wpe.weight" },
};
static const struct tensor_part gpt2_layer[] = {
    NORM_PAIR(ROLE_A_NORM_W, ROLE_A_NORM_B, SUB_SELF, ALWAYS, "h.%d.ln_1"),
    PROJECTIONS(SUB_SELF, "h.%d.attn.c_attn.q", "h.%d.attn.c_attn.k", "h.%d.attn.c_attn.v", "h.%d.attn.c_proj"),
    NORM_PAIR(ROLE_F_NORM_W, ROLE_F_NORM_B, SUB_FFN, ALWAYS, "h.%d.ln_2"),
    LINEAR_PAIR(ROLE_F1_W, ROLE_F1_B, SUB_FFN, INNER, WIDTH, "h.%d.mlp.c_fc"),
    LINEAR_PAIR(ROLE_F2_W, ROLE_F2_B, SUB_FFN, WIDTH, INNER, "h.%d.mlp.c_proj"),
};
static const struct tensor_part gpt2_end[] = {
    NORM_PAIR(ROLE_FINAL_NORM_W, ROLE_FINAL_NORM_B, SUB_EMBED, ALWAYS, "ln_f"),
    { ROLE_LM_HEAD, SUB_EMBED, VOCABULARY, WIDTH, IF_UNTIED, "lm_head.weight" },
};

#define ONCE(stack, parts) { stack, false, parts, COUNT_OF(parts) }
#define LAYERS(stack, parts) { stack, true, parts, COUNT_OF(parts) }

static const struct segment bert[] = {
    ONCE(STACK_ENCODER, bert_embeddings),
    LAYERS(STACK_ENCODER, bert_layer),
    ONCE(STACK_ENCODER, bert_pooler),
};
static const struct segment bart[] = {
    ONCE(STACK_ENCODER, bart_shared),        ONCE(STACK_ENCODER, bart_encoder),
    LAYERS(STACK_ENCODER, bart_encoder_layer), ONCE(STACK_ENCODER, bart_encoder_end),
    ONCE(STACK_DECODER, bart_decoder),       LAYERS(STACK_DECODER, bart_decoder_layer),
    ONCE(STACK_DECODER, bart_decoder_end),   ONCE(STACK_DECODER, language_head),
};
static const struct segment t5[] = {
    ONCE(STACK_ENCODER, bart_shared),
    LAYERS(STACK_ENCODER, t5_encoder_layer),
    ONCE(STACK_ENCODER, t5_encoder_end),
    LAYERS(STACK_DECODER, t5_decoder_layer),
    ONCE(STACK_DECODER, t5_decoder_end),
    ONCE(STACK_DECODER, language_head),
};

static const struct segment causal[] = {
    ONCE(STACK_ENCODER, causal_embeddings),
    LAYERS(STACK_ENCODER, causal_layer),
    ONCE(STACK_ENCODER, causal_end),
};

static const struct segment gpt2[] = {
    ONCE(STACK_ENCODER, gpt2_embeddings),
    LAYERS(STACK_ENCODER, gpt2_layer),
    ONCE(STACK_ENCODER, gpt2_end),
};

static const struct {
    const struct segment *segment;
    size_t segments;
} tables[FAMILY_COUNT] = {
    [FAMILY_BERT] = { bert, COUNT_OF(bert) },   [FAMILY_ROBERTA] = { bert, COUNT_OF(bert) },
    [FAMILY_BART] = { bart, COUNT_OF(bart) },   [FAMILY_MBART] = { bart, COUNT_OF(bart) },
    [FAMILY_T5] = { t5, COUNT_OF(t5) },
    [FAMILY_LLAMA] = { causal, COUNT_OF(causal) }, [FAMILY_MISTRAL] = { causal, COUNT_OF(causal) },
    [FAMILY_QWEN2] = { causal, COUNT_OF(causal) }, [FAMILY_QWEN3] = { causal, COUNT_OF(causal) },
    [FAMILY_GPT2] = { gpt2, COUNT_OF(gpt2) },
};

static int arch_tensors_size_of(const struct arch *a, enum size s) {
    switch (s) {
    case ONE: return 1;
    case WIDTH: return a->width;
    case PROJECTED: return a->heads * a->head_width;
    case INNER: return a->inner;
    case VOCABULARY: return a->vocabulary;
    case POSITIONS: return a->positions;
    case TYPES: return a->types;
    case BUCKETS: return a->buckets;
    case HEADS: return a->heads;
    case KEYS: return arch_key_width(a);
    case HEAD_WIDTH: return a->head_width;
    }
    BUG("unknown size %d", (int)s);
}

static bool is_there(const struct arch *a, enum when when, int layer) {
    switch (when) {
    case ALWAYS: return true;
    case IF_POOLER: return a->pooler;
    case IF_GATED: return a->gated;
    case IF_PLAIN: return !a->gated;
    case IF_PRE_NORM: return a->pre_norm;
    case IF_UNTIED: return !a->tied;
    case FIRST_LAYER: return layer == 0;
    case IF_QKV_BIASES: return a->qkv_biases;
    case IF_O_BIAS: return a->o_bias;
    case IF_FFN_BIASES: return a->ffn_biases;
    case IF_QK_NORM: return a->qk_norm;
    }
    BUG("unknown condition %d", (int)when);
}

static bool is_bias(enum tensor_role role) {
    switch (role) {
    case ROLE_EMBED_NORM_B: case ROLE_Q_B: case ROLE_K_B: case ROLE_V_B: case ROLE_O_B:
    case ROLE_A_NORM_B: case ROLE_F1_B: case ROLE_F2_B: case ROLE_F_NORM_B:
    case ROLE_FINAL_NORM_B: case ROLE_POOLER_B: case ROLE_F1G_B:
        return true;
    default:
        return false;
    }
}

/* Table names contain at most one %d, the layer.  Formatted piecewise: a method is planned on every key press
 * in Compose, where printf took half of the time. */
static void write_name(char *out, size_t room, const char *format, int layer) {
    const char *mark = strstr(format, "%d");
    size_t n = mark ? (size_t)(mark - format) : strlen(format);
    BUG_IF(n + strlen(format) + 12 > room);
    memcpy(out, format, n);
    out[n] = '\0';
    if (!mark) return;
    int tenth = 1;
    while (layer / tenth > 9) tenth *= 10;
    for (; tenth; tenth /= 10) out[n++] = (char)('0' + layer / tenth % 10);
    memcpy(out + n, mark + 2, strlen(mark + 2) + 1);
}

static void arch_tensors_fill(const struct arch *a, const struct segment *s, const struct tensor_part *p,
                              int layer, struct tensor_info *out) {
    *out = (struct tensor_info){
        .rows = arch_tensors_size_of(a, p->rows), .cols = arch_tensors_size_of(a, p->cols),
        .role = p->role,
        .stack = s->stack,
        .sublayer = p->sublayer,
        .layer = layer,
        .bias = is_bias(p->role),
        .vector = p->rows == ONE,
    };
    write_name(out->name, sizeof out->name, p->name, layer);
}

int arch_tensors(const struct arch *a, struct tensor_info **out) {
    struct tensor_info *list = NULL;
    size_t n = 0, room = 0;
    for (size_t i = 0; i < tables[a->family].segments; i++) {
        const struct segment *s = &tables[a->family].segment[i];
        int layers = s->stack == STACK_ENCODER ? a->encoder_layers : a->decoder_layers;
        for (int k = 0; k < (s->per_layer ? layers : 1); k++) {
            int layer = s->per_layer ? k : -1;
            for (size_t j = 0; j < s->parts; j++) {
                if (!is_there(a, s->part[j].when, layer)) continue;
                GROW(list, room, n + 1);
                arch_tensors_fill(a, s, &s->part[j], layer, &list[n++]);
            }
        }
    }
    *out = list;
    return (int)n;
}

int arch_find(const struct tensor_info *list, int n, enum tensor_role role, int stack, int sublayer,
              int layer) {
    for (int i = 0; i < n; i++)
        if (list[i].role == role && list[i].stack == stack && list[i].sublayer == sublayer &&
            list[i].layer == layer)
            return i;
    return -1;
}

bool tensor_is_pooler(const struct tensor_info *t) {
    return t->role == ROLE_POOLER_W || t->role == ROLE_POOLER_B;
}

bool arch_is_map(const struct arch *a, enum tensor_role role) {
    switch (role) {
    case ROLE_Q_W: case ROLE_K_W: case ROLE_V_W: case ROLE_O_W: return true;
    case ROLE_F1_W: case ROLE_F1G_W: case ROLE_F2_W: case ROLE_LM_HEAD: return true;
    case ROLE_EMBED_WORD: return a->tied && arch_generates(a);
    default: return false;
    }
}

size_t arch_parameters(const struct arch *a) {
    struct tensor_info *list;
    size_t sum = 0;
    int n = arch_tensors(a, &list);
    for (int i = 0; i < n; i++)
        if (!a->pooler_absent || !tensor_is_pooler(&list[i]))
            sum += (size_t)list[i].rows * (size_t)list[i].cols;
    free(list);
    return sum;
}
