#include "core/model/arch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/arch_reading.h"
#include "core/model/gguf.h"

enum {
    CONFIG_LIMIT = 1 << 20, /* bytes */
    LABELS_MAX = 65536,
};

void arch_took(struct arch_reading *r, const char *key, const char *value) {
    if (r->report) buf_printf(r->report, "%s: \"%s\" is missing; using %s\n", r->file, key, value);
}

int arch_get_int(struct arch_reading *r, const char *key, int fallback, int lo, int hi) {
    if (r->failed) return 0;
    json_int_t v = 0;
    struct err bad = ERR_INIT;
    if (!json_get_int(r->config, r->file, key, &v, &bad)) {
        char text[32];
        if (!bad.code && fallback >= 0) {
            snprintf(text, sizeof text, "%d", fallback);
            arch_took(r, key, text);
            return fallback;
        }
        r->failed = true;
        if (bad.code) *r->e = bad;
        else err_set(r->e, ERR_INPUT, "%s: \"%s\" is missing", r->file, key);
        return 0;
    }
    if (v < lo || v > hi) {
        r->failed = true;
        err_set(r->e, ERR_INPUT, "%s: \"%s\": %lld is not between %d and %d", r->file, key,
                (long long)v, lo, hi);
        return 0;
    }
    return (int)v;
}

double arch_get_double(struct arch_reading *r, const char *key, double fallback, double lo, double hi,
                         bool said) {
    if (r->failed) return 0;
    double v = fallback;
    struct err bad = ERR_INIT;
    char text[32];
    if (!json_get_double(r->config, r->file, key, &v, &bad)) {
        if (bad.code) {
            r->failed = true;
            *r->e = bad;
        } else if (said) {
            text_from_double(fallback, text);
            arch_took(r, key, text);
        }
        return fallback;
    }
    if (!(v >= lo && v <= hi)) {
        r->failed = true;
        text_from_double(v, text);
        err_set(r->e, ERR_INPUT, "%s: \"%s\": %s is not between %g and %g", r->file, key, text, lo,
                hi);
    }
    return v;
}

double arch_get_rate(struct arch_reading *r, const char *key, double fallback, bool said) {
    return arch_get_double(r, key, fallback, 0, 0.999, said);
}

bool arch_get_bool(struct arch_reading *r, const char *key, bool fallback) {
    bool v = fallback;
    struct err bad = ERR_INIT;
    if (r->failed) return fallback;
    if (!json_get_bool(r->config, r->file, key, &v, &bad) && bad.code) {
        r->failed = true;
        *r->e = bad;
    }
    return v;
}

const char *arch_get_string(struct arch_reading *r, const char *key) {
    const char *v = NULL;
    struct err bad = ERR_INIT;
    if (r->failed) return NULL;
    if (!json_get_string(r->config, r->file, key, &v, &bad) && bad.code) {
        r->failed = true;
        *r->e = bad;
    }
    return v;
}

/* Reads a token id, the first one of a list; -1 for null, `fallback` without the key. */
static int arch_get_id(struct arch_reading *r, const char *key, int fallback) {
    const json_t *v = json_object_get(r->config, key);
    if (r->failed || !v) return fallback;
    if (json_is_null(v)) return -1;
    if (json_is_array(v)) {
        v = json_array_get(v, 0);
        if (r->report && json_is_integer(v) && strcmp(key, "eos_token_id"))
            buf_printf(r->report, "%s: \"%s\" is a list; using its first id, %lld\n", r->file, key,
                       (long long)json_integer_value(v));
    }
    if (json_is_integer(v) && json_integer_value(v) >= -1 &&
        json_integer_value(v) < VOCABULARY_MAX)
        return (int)json_integer_value(v);
    r->failed = true;
    return err_set(r->e, ERR_INPUT, "%s: \"%s\": must be a token id", r->file, key), fallback;
}

void arch_refuse(struct arch_reading *r, const char *key, const char *found, const char *right) {
    if (r->failed) return;
    r->failed = true;
    err_set(r->e, ERR_INPUT, "%s: \"%s\": %s; %s", r->file, key, found, right);
}

static const struct {
    const char *name;
    enum act act;
} act_names[] = {
    { "gelu", ACT_GELU },          { "gelu_python", ACT_GELU },   { "gelu_new", ACT_GELU_TANH },
    { "gelu_fast", ACT_GELU_TANH }, { "gelu_pytorch_tanh", ACT_GELU_TANH }, { "relu", ACT_RELU },
    { "silu", ACT_SILU },          { "swish", ACT_SILU },         { "tanh", ACT_TANH },
};

enum act arch_get_act(struct arch_reading *r, const char *key, const char *fallback) {
    const char *name = arch_get_string(r, key);
    if (!name) {
        if (!r->failed) arch_took(r, key, fallback);
        name = fallback;
    }
    for (size_t i = 0; i < COUNT_OF(act_names); i++)
        if (!strcmp(name, act_names[i].name)) return act_names[i].act;
    struct buf known = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(act_names); i++)
        buf_printf(&known, "%s%s", i ? ", " : "supported: ", act_names[i].name);
    char *found = xprintf("\"%s\"", name);
    arch_refuse(r, key, found, buf_text(&known));
    free(found);
    buf_release(&known);
    return ACT_NONE;
}

void arch_divide_heads(struct arch_reading *r, const char *key, struct arch *a) {
    if (r->failed) return;
    if (a->width % a->heads) {
        char *found = xprintf("%d", a->heads);
        char *right = xprintf("must divide the hidden size %d", a->width);
        arch_refuse(r, key, found, right);
        free(found);
        free(right);
        return;
    }
    a->head_width = a->width / a->heads;
}

static void arch_read_bert(struct arch_reading *r, struct arch *a) {
    bool roberta = a->family == FAMILY_ROBERTA;
    a->width = arch_get_int(r, "hidden_size", -1, 1, WIDTH_MAX);
    a->encoder_layers = arch_get_int(r, "num_hidden_layers", -1, 1, LAYERS_MAX);
    a->heads = arch_get_int(r, "num_attention_heads", -1, 1, WIDTH_MAX);
    arch_divide_heads(r, "num_attention_heads", a);
    a->inner = arch_get_int(r, "intermediate_size", -1, 1, WIDTH_MAX);
    a->vocabulary = arch_get_int(r, "vocab_size", -1, 1, VOCABULARY_MAX);
    a->positions = arch_get_int(r, "max_position_embeddings", roberta ? 514 : 512, 1, POSITIONS_MAX);
    a->types = arch_get_int(r, "type_vocab_size", roberta ? 1 : 2, 1, 1024);
    a->norm_eps = arch_get_double(r, "layer_norm_eps", 1e-12, 0, 1, true);
    a->act = arch_get_act(r, "hidden_act", "gelu");
    a->pad_id = arch_get_int(r, "pad_token_id", roberta ? 1 : 0, 0, VOCABULARY_MAX);
    a->position_offset = roberta ? a->pad_id + 1 : 0;
    a->dropout = arch_get_rate(r, "hidden_dropout_prob", 0.1, true);
    a->attention_dropout = arch_get_rate(r, "attention_probs_dropout_prob", 0.1, true);
    a->classifier_dropout = arch_get_rate(r, "classifier_dropout", a->dropout, false);
    a->biases = a->scale_scores = a->embed_norm = a->tied = true;
    a->pooler = !roberta;
    const char *kind = arch_get_string(r, "position_embedding_type");
    if (kind && strcmp(kind, "absolute"))
        arch_refuse(r, "position_embedding_type", kind, "only absolute positions are supported");
    if (arch_get_bool(r, "is_decoder", false))
        arch_refuse(r, "is_decoder", "true", "this family is supported as an encoder only");
    if (arch_get_bool(r, "add_cross_attention", false))
        arch_refuse(r, "add_cross_attention", "true", "this family is supported as an encoder only");
}

/* petri's blocks have the same number of heads and inner width in both stacks. */
static void same_on_both(struct arch_reading *r, const char *key, int a, int b) {
    if (r->failed || a == b) return;
    char *found = xprintf("%d, which differs from %d of the encoder", b, a);
    arch_refuse(r, key, found, "encoder and decoder must have the same value");
    free(found);
}

static void read_bart(struct arch_reading *r, struct arch *a) {
    bool mbart = a->family == FAMILY_MBART;
    a->width = arch_get_int(r, "d_model", -1, 1, WIDTH_MAX);
    a->encoder_layers = arch_get_int(r, "encoder_layers", -1, 1, LAYERS_MAX);
    a->decoder_layers = arch_get_int(r, "decoder_layers", -1, 1, LAYERS_MAX);
    a->heads = arch_get_int(r, "encoder_attention_heads", -1, 1, WIDTH_MAX);
    arch_divide_heads(r, "encoder_attention_heads", a);
    same_on_both(r, "decoder_attention_heads", a->heads,
                 arch_get_int(r, "decoder_attention_heads", a->heads, 1, WIDTH_MAX));
    a->inner = arch_get_int(r, "encoder_ffn_dim", -1, 1, WIDTH_MAX);
    same_on_both(r, "decoder_ffn_dim", a->inner,
                 arch_get_int(r, "decoder_ffn_dim", a->inner, 1, WIDTH_MAX));
    a->vocabulary = arch_get_int(r, "vocab_size", -1, 1, VOCABULARY_MAX);
    a->position_offset = 2;
    a->positions =
        arch_get_int(r, "max_position_embeddings", 1024, 1, POSITIONS_MAX) + a->position_offset;
    a->norm_eps = 1e-5;
    a->act = arch_get_act(r, "activation_function", "gelu");
    a->pad_id = arch_get_int(r, "pad_token_id", 1, 0, VOCABULARY_MAX);
    a->dropout = arch_get_rate(r, "dropout", 0.1, true);
    a->attention_dropout = arch_get_rate(r, "attention_dropout", 0, true);
    a->classifier_dropout = arch_get_rate(r, "classifier_dropout", 0, false);
    a->activation_dropout = arch_get_rate(r, "activation_dropout", 0, false);
    a->embed_scale = arch_get_bool(r, "scale_embedding", false);
    a->decoder_start = mbart ? -1 : 2;
    a->bos_id = 0;
    a->eos_id = 2;
    a->forced_eos = 2;
    a->decoded_scale = 1;
    a->logits_bias = true;
    a->biases = a->scale_scores = a->embed_norm = true;
    a->pre_norm = mbart;
    a->tied = arch_get_bool(r, "tie_word_embeddings", true);
}

static void read_t5(struct arch_reading *r, struct arch *a) {
    a->width = arch_get_int(r, "d_model", -1, 1, WIDTH_MAX);
    a->encoder_layers = arch_get_int(r, "num_layers", -1, 1, LAYERS_MAX);
    a->decoder_layers = arch_get_int(r, "num_decoder_layers", a->encoder_layers, 1, LAYERS_MAX);
    a->heads = arch_get_int(r, "num_heads", -1, 1, WIDTH_MAX);
    a->head_width = arch_get_int(r, "d_kv", 64, 1, WIDTH_MAX);
    a->inner = arch_get_int(r, "d_ff", -1, 1, WIDTH_MAX);
    a->vocabulary = arch_get_int(r, "vocab_size", -1, 1, VOCABULARY_MAX);
    a->buckets = arch_get_int(r, "relative_attention_num_buckets", 32, 4, 65536);
    a->bucket_distance = arch_get_int(r, "relative_attention_max_distance", 128, 2, POSITIONS_MAX);
    a->norm_eps = arch_get_double(r, "layer_norm_epsilon", 1e-6, 0, 1, true);
    a->pad_id = arch_get_int(r, "pad_token_id", 0, 0, VOCABULARY_MAX);
    a->dropout = arch_get_rate(r, "dropout_rate", 0.1, true);
    a->attention_dropout = a->activation_dropout = a->dropout;
    a->classifier_dropout = arch_get_rate(r, "classifier_dropout", 0, false);
    a->pre_norm = a->rms_norm = a->final_dropout = true;
    a->decoder_start = a->pad_id;
    a->eos_id = 1;
    a->tied = arch_get_bool(r, "tie_word_embeddings", true);
    /* Newer files state the scale separately from tying, which they always call true. */
    a->decoded_scale = arch_get_bool(r, "scale_decoder_outputs", a->tied) && !r->failed
                           ? 1 / sqrt(a->width)
                           : 1;
    const char *kind = arch_get_string(r, "feed_forward_proj");
    if (!kind || !strcmp(kind, "relu")) {
        if (!kind && !r->failed) arch_took(r, "feed_forward_proj", "relu");
        a->act = ACT_RELU;
    } else if (!strcmp(kind, "gated-gelu")) {
        a->act = ACT_GELU_TANH;
        a->gated = true;
    } else {
        char *found = xprintf("\"%s\"", kind);
        arch_refuse(r, "feed_forward_proj", found, "supported: relu and gated-gelu");
        free(found);
    }
    if (!r->failed && (size_t)a->heads * (size_t)a->head_width > WIDTH_MAX)
        arch_refuse(r, "d_kv", "too large", "num_heads × d_kv must be at most 65536");
    if (!r->failed && a->bucket_distance <= a->buckets / 2)
        arch_refuse(r, "relative_attention_max_distance", "too small",
                    "must be more than half of relative_attention_num_buckets");
}

static const struct {
    const char *name;
    const char *architecture; /* prefixes of the class names in "architectures" */
    const char *prefix;       /* of tensor names in files of models with a head */
    void (*read)(struct arch_reading *r, struct arch *a);
} families[FAMILY_COUNT] = {
    [FAMILY_BERT] = { "bert", "Bert", "bert.", arch_read_bert },
    [FAMILY_ROBERTA] = { "roberta", "Roberta", "roberta.", arch_read_bert },
    [FAMILY_BART] = { "bart", "Bart", "model.", read_bart },
    [FAMILY_MBART] = { "mbart", "MBart", "model.", read_bart },
    [FAMILY_T5] = { "t5", "T5", "", read_t5 },
    [FAMILY_LLAMA] = { "llama", "Llama", "model.", arch_read_causal },
    [FAMILY_MISTRAL] = { "mistral", "Mistral", "model.", arch_read_causal },
    [FAMILY_QWEN2] = { "qwen2", "Qwen2", "model.", arch_read_causal },
    [FAMILY_QWEN3] = { "qwen3", "Qwen3", "model.", arch_read_causal },
    [FAMILY_GPT2] = { "gpt2", "GPT2", "transformer.", arch_read_gpt2 },
};

/* Families under other names: the same layers and tensors, another tokenizer. */
static const struct {
    const char *name, *architecture;
    enum family family;
} other_names[] = {
    { "xlm-roberta", "XLMRoberta", FAMILY_ROBERTA },
    { "camembert", "Camembert", FAMILY_ROBERTA },
};

char *arch_class(const struct arch *a, const char *end) {
    const char *class = families[a->family].architecture;
    for (size_t i = 0; i < COUNT_OF(other_names); i++)
        if (!strcmp(other_names[i].name, a->model_type)) class = other_names[i].architecture;
    return xprintf("%s%s", class, end);
}

const char *family_name(enum family f) {
    return (unsigned)f < FAMILY_COUNT ? families[f].name : "unknown";
}

const char *family_prefix(enum family f) {
    BUG_IF((unsigned)f >= FAMILY_COUNT);
    return families[f].prefix;
}

static char *known_families(void) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < FAMILY_COUNT; i++) buf_printf(&b, "%s%s", i ? ", " : "", families[i].name);
    for (size_t i = 0; i < COUNT_OF(other_names); i++) buf_printf(&b, ", %s", other_names[i].name);
    return buf_take(&b);
}

static const char *first_architecture(const struct arch_reading *r) {
    return json_string_value(json_array_get(json_object_get(r->config, "architectures"), 0));
}

/* Returns whether a class belongs to a family: other families may start with the same name, such as Qwen2Moe. */
static bool is_class_of(const char *class, const char *family) {
    static const char *const ends[] = { "For", "Model", "LMHeadModel", "DoubleHeadsModel", "EncoderModel" };
    bool of = false;
    for (size_t i = 0; text_starts(class, family) && i < COUNT_OF(ends); i++)
        of |= text_starts(class + strlen(family), ends[i]);
    return of;
}

/* Folders older than the key "model_type" still name their class. */
static const char *type_of_architecture(struct arch_reading *r) {
    const char *class = first_architecture(r);
    for (int i = 0; class && i < FAMILY_COUNT; i++)
        if (is_class_of(class, families[i].architecture)) {
            arch_took(r, "model_type", families[i].name);
            return families[i].name;
        }
    for (size_t i = 0; class && i < COUNT_OF(other_names); i++) {
        if (!is_class_of(class, other_names[i].architecture)) continue;
        arch_took(r, "model_type", other_names[i].name);
        return other_names[i].name;
    }
    return NULL;
}

/* The ids of "eos_token_id", of which the first is known. */
static void arch_read_ends(struct arch_reading *r, struct arch *a) {
    const json_t *list = json_object_get(r->config, "eos_token_id");
    size_t n = json_is_array(list) ? json_array_size(list) : 1;
    if (a->eos_id >= 0) a->end[a->ends++] = a->eos_id;
    if (n > END_TOKENS) arch_refuse(r, "eos_token_id", "too many ids", "at most 8 are supported");
    if (a->causal && a->eos_id >= a->vocabulary)
        arch_refuse(r, "eos_token_id", "invalid", "must be the id of a token of the vocabulary");
    for (size_t i = 1; !r->failed && i < n; i++) {
        const json_t *id = json_array_get(list, i);
        if (json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) < a->vocabulary)
            a->end[a->ends++] = (int32_t)json_integer_value(id);
        else
            arch_refuse(r, "eos_token_id", "invalid", "must be a token id or a list of token ids");
    }
}

/* Ids of special tokens. */
static void read_ids(struct arch_reading *r, struct arch *a) {
    const int start = a->family == FAMILY_T5 ? a->pad_id : -1;
    a->bos_id = arch_get_id(r, "bos_token_id", a->bos_id);
    a->eos_id = arch_get_id(r, "eos_token_id", a->eos_id);
    arch_read_ends(r, a);
    if (!arch_generates(a)) return;
    a->decoder_start = arch_get_id(r, "decoder_start_token_id", a->decoder_start);
    if (a->decoder_start < 0) a->decoder_start = start;
    a->forced_bos = arch_get_id(r, "forced_bos_token_id", a->forced_bos);
    a->forced_eos = arch_get_id(r, "forced_eos_token_id", a->forced_eos);
    const struct {
        const char *key;
        int id;
    } ids[] = { { "bos_token_id", a->bos_id },
               { "eos_token_id", a->eos_id },
               { "decoder_start_token_id", a->decoder_start },
               { "forced_bos_token_id", a->forced_bos },
               { "forced_eos_token_id", a->forced_eos } };
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        if (r->failed || ids[i].id < a->vocabulary) continue;
        char *found = xprintf("%d", ids[i].id);
        char *right = xprintf("the vocabulary has %d tokens", a->vocabulary);
        arch_refuse(r, ids[i].key, found, right);
        free(found);
        free(right);
    }
}

static void arch_read_family(struct arch_reading *r, struct arch *a) {
    const char *type = arch_get_string(r, "model_type");
    if (r->failed) return;
    if (!type) type = type_of_architecture(r);
    char *known = known_families();
    int i = 0;
    while (type && i < FAMILY_COUNT && strcmp(families[i].name, type)) i++;
    for (size_t k = 0; type && k < COUNT_OF(other_names); k++)
        if (!strcmp(other_names[k].name, type)) i = (int)other_names[k].family;
    if (!type) {
        r->failed = true;
        err_set(r->e, ERR_INPUT, "%s: \"model_type\" is missing; supported: %s", r->file, known);
    } else if (i == FAMILY_COUNT) {
        r->failed = true;
        err_set(r->e, ERR_INPUT, "%s: \"model_type\": \"%s\" is not supported; supported: %s", r->file,
                type, known);
    } else {
        a->family = (enum family)i;
        snprintf(a->model_type, sizeof a->model_type, "%s", type);
    }
    free(known);
}

/* Reads id2label: an object from "0", "1", … to names, each id once and without gaps. */
static void arch_read_labels(struct arch_reading *r, struct arch *a) {
    const json_t *map = json_object_get(r->config, "id2label");
    if (r->failed || !map || json_is_null(map)) return;
    size_t n = json_object_size(map);
    if (!json_is_object(map) || n > LABELS_MAX) {
        arch_refuse(r, "id2label", "invalid", "must be an object of at most 65,536 ids and names");
        return;
    }
    a->label = xcalloc(n ? n : 1, sizeof *a->label);
    a->labels = (int)n;
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)map, key, value) {
        int64_t id;
        const char *name = json_string_value(value);
        if (!text_to_int(key, &id) || id < 0 || id >= (int64_t)n || a->label[id] || !name ||
            !*name) {
            char *found = xprintf("invalid at the key \"%s\"", key);
            arch_refuse(r, "id2label", found, "keys must be 0, 1, … without gaps, and values must be "
                                              "nonempty strings");
            free(found);
            return;
        }
        a->label[id] = xstrdup(name);
    }
}

static void arch_read_problem(struct arch_reading *r, struct arch *a) {
    static const char *const names[] = {
        [PROBLEM_CLASSES] = "single_label_classification",
        [PROBLEM_LABELS] = "multi_label_classification",
        [PROBLEM_SCORES] = "regression",
    };
    const char *said = arch_get_string(r, "problem_type");
    if (!said) return;
    for (int i = PROBLEM_CLASSES; i < (int)COUNT_OF(names); i++)
        if (!strcmp(said, names[i])) a->problem = (enum problem)i;
    if (a->problem) return;
    char *found = xprintf("\"%.60s\"", said);
    arch_refuse(r, "problem_type", found,
                "must be single_label_classification, multi_label_classification or regression");
    free(found);
}

/* Takes ownership of `config`; NULL when it could not be read, for the reason in *first. */
static int arch_read_config(const char *file, json_t *config, struct err *first, struct arch *out,
                            struct buf *report, struct err *e) {
    *out = (struct arch){
        .bos_id = -1, .eos_id = -1, .decoder_start = -1, .forced_bos = -1, .forced_eos = -1 };
    struct arch_reading r = { file, config, report, first, !config };
    if (config && !json_is_object(config)) {
        r.failed = true;
        err_set(first, ERR_INPUT, "%s: must be a JSON object", file);
    }
    arch_read_family(&r, out);
    if (!r.failed) families[out->family].read(&r, out);
    read_ids(&r, out);
    arch_read_labels(&r, out);
    arch_read_problem(&r, out);
    const char *class = first_architecture(&r), *type = arch_get_string(&r, "torch_dtype");
    if (!type) type = arch_get_string(&r, "dtype");
    snprintf(out->architecture, sizeof out->architecture, "%s", class ? class : "");
    snprintf(out->torch_dtype, sizeof out->torch_dtype, "%s", type ? type : "");
    if (!r.failed && out->positions && arch_max_length(out) < 3)
        arch_refuse(&r, "max_position_embeddings", "too small", "the maximum sequence length must be at "
                                                                "least 3 tokens");
    json_decref(config);
    if (!r.failed) return 0;
    arch_release(out);
    if (e) *e = *first;
    return first->code;
}

int arch_parse(const char *name, const char *bytes, size_t n, struct arch *out, struct buf *report,
               struct err *e) {
    struct err first = ERR_INIT;
    return arch_read_config(name, json_parse(name, bytes, n, &first), &first, out, report, e);
}

int arch_read(const char *path, struct arch *out, struct buf *report, struct err *e) {
    struct err first = ERR_INIT;
    char *file = file_is_folder(path) ? file_join(path, "config.json") : xstrdup(path);
    json_t *config = gguf_is_file(file) ? gguf_config(file, &first) : json_read(file, CONFIG_LIMIT, &first);
    int rc = arch_read_config(file, config, &first, out, report, e);
    free(file);
    return rc;
}

void arch_release(struct arch *a) {
    for (int i = 0; i < a->labels; i++) free(a->label[i]);
    free(a->label);
    *a = (struct arch){ 0 };
}

bool arch_class_is_other(const char *class) {
    return strstr(class, "TokenClassification") || strstr(class, "MultipleChoice") ||
           strstr(class, "QuestionAnswering");
}

int arch_max_length(const struct arch *a) {
    int n = a->positions ? a->positions - a->position_offset : a->context ? a->context : MAX_TEXT_TOKENS;
    return n < MAX_TEXT_TOKENS ? n : MAX_TEXT_TOKENS;
}

int arch_key_width(const struct arch *a) { return (a->key_heads ? a->key_heads : a->heads) * a->head_width; }

bool arch_generates(const struct arch *a) { return a->decoder_layers > 0; }

void arch_positions(const struct arch *a, const int32_t *ids, size_t n, int32_t *out) {
    bool padding = a->family == FAMILY_ROBERTA;
    int32_t next = 0;
    for (size_t i = 0; i < n; i++) out[i] = padding && ids[i] == a->pad_id ? -1 : next++;
}

int arch_bucket(const struct arch *a, int distance, bool decoder) {
    int n = a->buckets, first = 0;
    if (decoder) {
        distance = distance < 0 ? -distance : 0;
    } else {
        n /= 2;
        first = distance > 0 ? n : 0;
        distance = distance < 0 ? -distance : distance;
    }
    int exact = n / 2;
    if (distance < exact) return first + distance;
    float along = logf((float)distance / (float)exact) /
                  (float)log((double)a->bucket_distance / exact) * (float)(n - exact);
    int bucket = exact + (int)along;
    return first + (bucket < n ? bucket : n - 1);
}
