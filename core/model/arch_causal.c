/* config.json of the families with one causal stack: llama, mistral, qwen2, qwen3 and gpt2. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/model/arch_reading.h"

static const char *const rope_names[] = {
    [ROPE_DEFAULT] = "default", [ROPE_LINEAR] = "linear",   [ROPE_LLAMA3] = "llama3",
    [ROPE_YARN] = "yarn",       [ROPE_DYNAMIC] = "dynamic",
};

static void refuse_text(struct arch_reading *r, const char *key, const char *value, const char *right) {
    char *found = xprintf("\"%.60s\"", value);
    arch_refuse(r, key, found, right);
    free(found);
}

/* YaRN (Peng et al. 2023): the factor of cosines and sines. */
static void read_yarn(struct arch_reading *r, struct rope *rope) {
    rope->beta_fast = arch_get_double(r, "beta_fast", 32, 1, 1e6, false);
    rope->beta_slow = arch_get_double(r, "beta_slow", 1, 1e-6, 1e6, false);
    rope->scale =
        arch_get_double(r, "attention_factor", 0.1 * log(rope->factor) + 1, 1e-6, 1e6, false);
    if (json_object_get(r->config, "mscale") || json_object_get(r->config, "mscale_all_dim"))
        arch_refuse(r, "mscale", "given", "this variant of yarn is not supported");
    if (!arch_get_bool(r, "truncate", true))
        arch_refuse(r, "truncate", "false", "this variant of yarn is not supported");
}

/* Reads the object that describes the frequencies; r->config is that object. */
static void read_rope_object(struct arch_reading *r, struct rope *rope, int positions) {
    const char *kind = arch_get_string(r, "rope_type");
    if (!kind) kind = arch_get_string(r, "type");
    int i = 0;
    while (kind && i < (int)COUNT_OF(rope_names) && strcmp(kind, rope_names[i])) i++;
    if (i == (int)COUNT_OF(rope_names))
        return refuse_text(r, "rope_type", kind, "supported: default, linear, llama3, yarn and dynamic");
    rope->kind = (enum rope_kind)i;
    if (rope->kind == ROPE_DEFAULT) return;
    rope->factor = arch_get_double(r, "factor", 0, 1, 1e6, false);
    if (!r->failed && rope->factor < 1) arch_refuse(r, "factor", "missing", "must be a number of at least 1");
    rope->original = arch_get_int(r, "original_max_position_embeddings", positions, 1, POSITIONS_MAX);
    rope->low = arch_get_double(r, "low_freq_factor", 1, 1e-6, 1e6, false);
    rope->high = arch_get_double(r, "high_freq_factor", 4, 1e-6, 1e6, false);
    if (rope->kind == ROPE_LLAMA3 && rope->high <= rope->low)
        arch_refuse(r, "high_freq_factor", "not above low_freq_factor", "must be above it");
    if (rope->kind == ROPE_YARN) read_yarn(r, rope);
    if (rope->kind == ROPE_DYNAMIC && r->report)
        buf_printf(r->report,
                   "%s: \"rope_type\": dynamic: texts of more than %d tokens are not supported, because their length "
                   "would change the rotation of all keys\n",
                   r->file, positions);
}

/* Newer files have all in "rope_parameters", older ones "rope_theta" and "rope_scaling". */
static void read_rope(struct arch_reading *r, struct arch *a) {
    const json_t *config = r->config, *inner = json_object_get(config, "rope_parameters");
    if (!json_is_object(inner)) inner = json_object_get(config, "rope_scaling");
    a->rope = (struct rope){ .factor = 1, .scale = 1 };
    a->rope.theta = arch_get_double(r, "rope_theta", 10000, 1, 1e12, false);
    if (r->failed || !json_is_object(inner)) return;
    r->config = inner;
    a->rope.theta = arch_get_double(r, "rope_theta", a->rope.theta, 1, 1e12, false);
    double part = arch_get_double(r, "partial_rotary_factor", 1, 0, 1, false);
    if (!r->failed && part < 1)
        arch_refuse(r, "partial_rotary_factor", "below 1", "only rotation of whole heads is supported");
    read_rope_object(r, &a->rope, a->context);
    r->config = config;
}

/* The number of tokens that a token attends to, where a layer has such a limit. */
static void read_window(struct arch_reading *r, struct arch *a) {
    const json_t *window = json_object_get(r->config, "sliding_window");
    if (a->family == FAMILY_MISTRAL) {
        if (!json_is_null(window)) a->window = arch_get_int(r, "sliding_window", 4096, 1, POSITIONS_MAX);
        return;
    }
    if (a->family == FAMILY_LLAMA) {
        if (json_is_integer(window) && r->report)
            buf_printf(r->report, "%s: \"sliding_window\" is ignored, as in transformers and llama.cpp: each "
                                  "token attends to all previous tokens\n", r->file);
        return;
    }
    if (arch_get_bool(r, "use_sliding_window", false))
        arch_refuse(r, "use_sliding_window", "true", "windows in some of the layers are not supported");
    size_t i;
    const json_t *kind;
    json_array_foreach(json_object_get(r->config, "layer_types"), i, kind) {
        const char *name = json_string_value(kind);
        if (name && strcmp(name, "full_attention"))
            refuse_text(r, "layer_types", name, "only full_attention is supported");
    }
}

static void read_heads(struct arch_reading *r, struct arch *a) {
    bool llama = a->family == FAMILY_LLAMA;
    a->heads = arch_get_int(r, "num_attention_heads", -1, 1, WIDTH_MAX);
    a->key_heads = arch_get_int(r, "num_key_value_heads", llama ? a->heads : -1, 1, WIDTH_MAX);
    if (!r->failed && a->heads % a->key_heads) {
        char *found = xprintf("%d", a->key_heads), *right = xprintf("must divide the %d heads", a->heads);
        arch_refuse(r, "num_key_value_heads", found, right);
        free(found);
        free(right);
    }
    const json_t *width = json_object_get(r->config, "head_dim");
    if (width && !json_is_null(width)) a->head_width = arch_get_int(r, "head_dim", -1, 2, WIDTH_MAX);
    else if (a->family == FAMILY_QWEN3) a->head_width = 128;
    else arch_divide_heads(r, "num_attention_heads", a);
    if (!r->failed && a->head_width % 2)
        arch_refuse(r, "head_dim", "odd", "rotary embeddings need an even width");
    if (!r->failed && (size_t)a->heads * (size_t)a->head_width > WIDTH_MAX)
        arch_refuse(r, "head_dim", "too large", "num_attention_heads × head_dim must be at most 65536");
}

static void refuse_foreign(struct arch_reading *r) {
    if (json_is_object(json_object_get(r->config, "quantization_config")))
        arch_refuse(r, "quantization_config", "given", "quantized weights of this format are not supported");
    if (json_object_get(r->config, "auto_map"))
        arch_refuse(r, "auto_map", "given", "models with custom code are not supported");
}

void arch_read_causal(struct arch_reading *r, struct arch *a) {
    a->width = arch_get_int(r, "hidden_size", -1, 1, WIDTH_MAX);
    a->encoder_layers = arch_get_int(r, "num_hidden_layers", -1, 1, LAYERS_MAX);
    read_heads(r, a);
    a->inner = arch_get_int(r, "intermediate_size", -1, 1, WIDTH_MAX);
    a->vocabulary = arch_get_int(r, "vocab_size", -1, 1, VOCABULARY_MAX);
    a->context = arch_get_int(r, "max_position_embeddings", 2048, 1, 1 << 24);
    a->norm_eps = arch_get_double(r, "rms_norm_eps", 1e-6, 0, 1, true);
    a->act = arch_get_act(r, "hidden_act", "silu");
    a->attention_dropout = arch_get_rate(r, "attention_dropout", 0, false);
    a->tied = arch_get_bool(r, "tie_word_embeddings", false);
    a->qkv_biases = a->family == FAMILY_QWEN2 || arch_get_bool(r, "attention_bias", false);
    a->o_bias = a->family != FAMILY_QWEN2 && a->qkv_biases;
    a->ffn_biases = arch_get_bool(r, "mlp_bias", false);
    a->qk_norm = a->family == FAMILY_QWEN3;
    a->causal = a->gated = a->pre_norm = a->rms_norm = a->scale_scores = true;
    a->pad_id = -1;
    a->decoded_scale = 1;
    read_rope(r, a);
    read_window(r, a);
    refuse_foreign(r);
}

/* A number that has another name in older files. */
static int get_renamed(struct arch_reading *r, const char *key, const char *old, int fallback, int hi) {
    return arch_get_int(r, json_object_get(r->config, key) ? key : old, fallback, 1, hi);
}

void arch_read_gpt2(struct arch_reading *r, struct arch *a) {
    a->width = arch_get_int(r, "n_embd", -1, 1, WIDTH_MAX);
    a->encoder_layers = arch_get_int(r, "n_layer", -1, 1, LAYERS_MAX);
    a->heads = arch_get_int(r, "n_head", -1, 1, WIDTH_MAX);
    arch_divide_heads(r, "n_head", a);
    a->inner = arch_get_int(r, "n_inner", 4 * a->width, 1, 4 * WIDTH_MAX);
    a->vocabulary = arch_get_int(r, "vocab_size", -1, 1, VOCABULARY_MAX);
    a->positions = get_renamed(r, "n_positions", "n_ctx", 1024, POSITIONS_MAX);
    a->norm_eps = arch_get_double(r, "layer_norm_epsilon", 1e-5, 0, 1, true);
    a->act = arch_get_act(r, "activation_function", "gelu_new");
    a->dropout = arch_get_rate(r, "resid_pdrop", 0.1, true);
    a->attention_dropout = arch_get_rate(r, "attn_pdrop", 0.1, true);
    if (arch_get_rate(r, "embd_pdrop", a->dropout, false) != a->dropout)
        arch_refuse(r, "embd_pdrop", "differs from resid_pdrop", "both must be equal");
    a->tied = arch_get_bool(r, "tie_word_embeddings", true);
    a->causal = a->pre_norm = a->biases = true;
    a->qkv_biases = a->o_bias = a->ffn_biases = true;
    a->scale_scores = arch_get_bool(r, "scale_attn_weights", true);
    a->pad_id = -1;
    a->decoded_scale = 1;
    if (arch_get_bool(r, "scale_attn_by_inverse_layer_idx", false))
        arch_refuse(r, "scale_attn_by_inverse_layer_idx", "true", "this variant of attention is not supported");
    if (arch_get_bool(r, "add_cross_attention", false))
        arch_refuse(r, "add_cross_attention", "true", "cross-attention to an encoder is not supported in this family");
    refuse_foreign(r);
}

/* ---- rotary embeddings ---- */

/* Llama 3.1: low frequencies are divided by the factor, high ones stay, those in between are mixed. */
static double of_llama3(const struct rope *r, double f) {
    double turns = r->original * f / (2 * M_PI), mix = (turns - r->low) / (r->high - r->low);
    mix = mix < 0 ? 0 : mix > 1 ? 1 : mix;
    return (1 - mix) * f / r->factor + mix * f;
}

/* The index of the pair that turns n times in the original context. */
static double yarn_pair(const struct rope *r, int width, double n) {
    return width * log(r->original / (2 * M_PI * n)) / (2 * log(r->theta));
}

static double of_yarn(const struct rope *r, int width, int i, double f) {
    double first = fmax(floor(yarn_pair(r, width, r->beta_fast)), 0),
           last = fmin(ceil(yarn_pair(r, width, r->beta_slow)), width - 1);
    if (first == last) last += 0.001;
    double mix = (i - first) / (last - first);
    mix = mix < 0 ? 0 : mix > 1 ? 1 : mix;
    return f * (1 - mix) + f / r->factor * mix;
}

void arch_rope(const struct arch *a, double *frequency) {
    const struct rope *r = &a->rope;
    for (int i = 0; i < a->head_width / 2; i++) {
        double f = pow(r->theta, -2.0 * i / a->head_width);
        switch (r->kind) {
        case ROPE_DEFAULT: break;
        case ROPE_DYNAMIC: break; /* within the context */
        case ROPE_LINEAR: f /= r->factor; break;
        case ROPE_LLAMA3: f = of_llama3(r, f); break;
        case ROPE_YARN: f = of_yarn(r, a->head_width, i, f); break;
        }
        frequency[i] = f;
    }
}
