/* The metadata of a GGUF file as a config.json, and its tensors under the names of transformers. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/gguf.h"

bool gguf_is_file(const char *path) {
    unsigned char head[GGUF_HEAD];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    return n > 0 && gguf_is(head, (size_t)n);
}

/* ---- names ---- */

/* By folder: of GPT-2 and of the others; NULL: they have no such tensor. */
static const struct {
    const char *gguf, *folder[2];
} tensor_names[] = {
    { "token_embd.weight", { "embed_tokens.weight", "wte.weight" } },
    { "position_embd.weight", { NULL, "wpe.weight" } },
    { "output_norm.weight", { "norm.weight", "ln_f.weight" } },
    { "output_norm.bias", { NULL, "ln_f.bias" } },
    { "output.weight", { "lm_head.weight", "lm_head.weight" } },
    { "rope_freqs.weight", { "rope_freqs.weight", NULL } },
};
static const struct {
    const char *gguf, *folder[2];
} layer_names[] = {
    { "attn_norm", { "input_layernorm", "ln_1" } },      { "attn_q", { "self_attn.q_proj", NULL } },
    { "attn_k", { "self_attn.k_proj", NULL } },          { "attn_v", { "self_attn.v_proj", NULL } },
    { "attn_qkv", { NULL, "attn.c_attn" } },             { "attn_q_norm", { "self_attn.q_norm", NULL } },
    { "attn_k_norm", { "self_attn.k_norm", NULL } },     { "ffn_gate", { "mlp.gate_proj", NULL } },
    { "ffn_up", { "mlp.up_proj", "mlp.c_fc" } },         { "ffn_down", { "mlp.down_proj", "mlp.c_proj" } },
    { "ffn_norm", { "post_attention_layernorm", "ln_2" } },
    { "attn_output", { "self_attn.o_proj", "attn.c_proj" } },
};

/* Returns what follows "blk.N."; *digits is the length of N.  NULL for another name. */
static const char *after_layer(const char *name, int *digits) {
    if (!text_starts(name, "blk.")) return NULL;
    size_t n = strspn(name + 4, "0123456789");
    if (!n || n > 9 || name[4 + n] != '.') return NULL;
    *digits = (int)n;
    return name + 4 + n + 1;
}

char *gguf_folder_name(const char *name, bool gpt2) {
    int digits = 0;
    for (size_t i = 0; i < COUNT_OF(tensor_names); i++)
        if (!strcmp(tensor_names[i].gguf, name) && tensor_names[i].folder[gpt2])
            return xstrdup(tensor_names[i].folder[gpt2]);
    const char *part = after_layer(name, &digits), *end = part ? strrchr(part, '.') : NULL;
    for (size_t i = 0; end && i < COUNT_OF(layer_names); i++) {
        const char *map = layer_names[i].folder[gpt2];
        if (map && text_starts(part, layer_names[i].gguf) && part + strlen(layer_names[i].gguf) == end)
            return xprintf("%s.%.*s.%s%s", gpt2 ? "h" : "layers", digits, name + 4, map, end);
    }
    return NULL;
}

char *gguf_own_name(const char *name) {
    for (size_t i = 0; i < COUNT_OF(tensor_names); i++)
        if (tensor_names[i].folder[0] && !strcmp(tensor_names[i].folder[0], name))
            return xstrdup(tensor_names[i].gguf);
    if (!text_starts(name, "layers.")) return NULL;
    const char *layer = name + strlen("layers."), *part = strchr(layer, '.'), *end = strrchr(name, '.');
    for (size_t i = 0; part && i < COUNT_OF(layer_names); i++) {
        const char *folder = layer_names[i].folder[0];
        if (folder && text_starts(part + 1, folder) && part + 1 + strlen(folder) == end)
            return xprintf("blk.%.*s.%s%s", (int)(part - layer), layer, layer_names[i].gguf, end);
    }
    return NULL;
}

/* ---- the configuration ---- */

static const char *const architectures[] = { "llama", "qwen2", "qwen3", "gpt2" };

/* Keys after the name of the architecture, and their counterparts. */
static const struct {
    const char *key, *config, *gpt2; /* NULL: not of these models */
    bool required;
} config_keys[] = {
    { "block_count", "num_hidden_layers", "n_layer", true },
    { "embedding_length", "hidden_size", "n_embd", true },
    { "feed_forward_length", "intermediate_size", "n_inner", true },
    { "attention.head_count", "num_attention_heads", "n_head", true },
    { "attention.layer_norm_rms_epsilon", "rms_norm_eps", NULL, true },
    { "attention.layer_norm_epsilon", NULL, "layer_norm_epsilon", true },
    { "attention.head_count_kv", "num_key_value_heads", NULL, false },
    { "attention.key_length", "head_dim", NULL, false },
    { "context_length", "max_position_embeddings", "n_positions", false },
    { "rope.freq_base", "rope_theta", NULL, false },
    { "attention.sliding_window", "sliding_window", NULL, false },
};
/* Others that are checked below, or that change nothing. */
static const char *const other_keys[] = {
    "attention.value_length", "rope.dimension_count", "rope.scaling.type", "rope.scaling.factor",
    "rope.scaling.original_context_length", "rope.scaling.finetuned", "expert_count", "expert_used_count",
    "vocab_size", "tensor_data_layout",
};

struct gguf_reading {
    const struct st_file *st;
    const struct gguf *g;
    const char *path;
    const char *architecture;
    bool gpt2;
    json_t *config;
    struct err *e; /* the first error stays */
};

/* Returns the counterpart of key i. */
static const char *config_name(const struct gguf_reading *r, size_t i) {
    return r->gpt2 ? config_keys[i].gpt2 : config_keys[i].config;
}

static void gguf_refuse(struct gguf_reading *r, const char *key, const char *found, const char *right) {
    if (!r->e->code)
        err_set(r->e, ERR_INPUT, "%s: metadata \"%s%s\": %s; %s", r->path,
                *key == '.' ? r->architecture : "", key, found, right);
}

static void refuse_number(struct gguf_reading *r, const char *key, long long found, const char *right) {
    char text[32];
    snprintf(text, sizeof text, "%lld", found);
    gguf_refuse(r, key, text, right);
}

/* Returns the value of a key, after the architecture's name if it starts with a dot; NULL if absent or after
 * an error. */
static json_t *get(struct gguf_reading *r, const char *key) {
    if (r->e->code) return NULL;
    char *whole = xprintf("%s%s", *key == '.' ? r->architecture : "", key);
    json_t *v = gguf_value(r->g, whole, r->e);
    free(whole);
    return v;
}

/* Returns an integer, or `fallback` if the key is absent. */
static long long get_int(struct gguf_reading *r, const char *key, long long fallback) {
    json_t *v = get(r, key);
    if (v && !json_is_integer(v)) gguf_refuse(r, key, "wrong type", "must be an integer");
    long long n = json_is_integer(v) ? (long long)json_integer_value(v) : fallback;
    json_decref(v);
    return n;
}

/* Keys of the architecture that are not known may change what the model computes. */
static void refuse_unknown_keys(struct gguf_reading *r) {
    size_t prefix = strlen(r->architecture);
    const char *key;
    for (size_t i = 0; (key = gguf_key(r->g, i)); i++) {
        if (!text_starts(key, r->architecture) || key[prefix] != '.') continue;
        const char *rest = key + prefix + 1;
        bool known = false, window = !strcmp(rest, "attention.sliding_window");
        for (size_t k = 0; k < COUNT_OF(config_keys); k++)
            known |= config_name(r, k) && !strcmp(rest, config_keys[k].key);
        for (size_t k = 0; k < COUNT_OF(other_keys); k++) known |= !strcmp(rest, other_keys[k]);
        if (!known || (window && strcmp(r->architecture, "llama")))
            return gguf_refuse(r, key, "unknown key", "models with this setting are not supported");
    }
}

/* Checks the kind of the file and sets r->architecture. */
static void read_kind(struct gguf_reading *r) {
    json_t *type = get(r, "general.type"), *name = get(r, "general.architecture");
    const char *found = json_string_value(name);
    if (type && (!json_is_string(type) || strcmp(json_string_value(type), "model")))
        gguf_refuse(r, "general.type", "not a model", "only files of whole models are supported");
    if (get_int(r, "split.count", 0) > 1)
        gguf_refuse(r, "split.count", "one of several files", "join them with llama-gguf-split --merge");
    for (size_t i = 0; found && i < COUNT_OF(architectures); i++)
        if (!strcmp(found, architectures[i])) r->architecture = architectures[i];
    if (!r->architecture) {
        char *shown = found ? text_visible(found, strlen(found)) : xstrdup("missing");
        gguf_refuse(r, "general.architecture", shown, "supported: llama, qwen2, qwen3 and gpt2");
        free(shown);
    }
    json_decref(type);
    json_decref(name);
}

static void read_keys(struct gguf_reading *r) {
    char key[64];
    for (size_t i = 0; !r->e->code && i < COUNT_OF(config_keys); i++) {
        if (!config_name(r, i)) continue;
        snprintf(key, sizeof key, ".%s", config_keys[i].key);
        json_t *v = get(r, key);
        if (v) json_object_set_new(r->config, config_name(r, i), v);
        else if (config_keys[i].required)
            gguf_refuse(r, key, "missing", "the model cannot be read without it");
    }
    if (get_int(r, ".expert_count", 0) > 0)
        gguf_refuse(r, ".expert_count", "above 0", "mixtures of experts are not supported");
}

/* Sets the width of heads and the number of key heads, whose defaults differ from a folder's. */
static void gguf_read_heads(struct gguf_reading *r) {
    json_int_t width = json_integer_value(json_object_get(r->config, "hidden_size")),
               heads = json_integer_value(json_object_get(r->config, "num_attention_heads"));
    if (!r->e->code && (heads < 1 || heads > width))
        refuse_number(r, ".attention.head_count", heads, "must be between 1 and embedding_length");
    if (r->e->code) return;
    if (!json_object_get(r->config, "num_key_value_heads"))
        json_object_set_new(r->config, "num_key_value_heads", json_integer(heads));
    if (!json_object_get(r->config, "head_dim")) {
        if (width % heads) refuse_number(r, ".attention.head_count", heads, "must divide embedding_length");
        json_object_set_new(r->config, "head_dim", json_integer(width / heads));
    }
    json_int_t head = json_integer_value(json_object_get(r->config, "head_dim"));
    long long value = get_int(r, ".attention.value_length", head),
              turned = get_int(r, ".rope.dimension_count", head);
    if (value != head) refuse_number(r, ".attention.value_length", value, "must equal attention.key_length");
    if (turned != head)
        refuse_number(r, ".rope.dimension_count", turned, "only rotation of whole heads is supported");
}

static void gguf_read_rope(struct gguf_reading *r) {
    json_t *type = get(r, ".rope.scaling.type");
    const char *name = json_string_value(type);
    if (name && (!strcmp(name, "linear") || !strcmp(name, "yarn"))) {
        json_t *rope = json_object(), *factor = get(r, ".rope.scaling.factor"),
               *original = get(r, ".rope.scaling.original_context_length");
        json_object_set(rope, "rope_type", type);
        if (factor) json_object_set_new(rope, "factor", factor);
        if (original) json_object_set_new(rope, "original_max_position_embeddings", original);
        json_object_set_new(r->config, "rope_scaling", rope);
    } else if (type && (!name || strcmp(name, "none"))) {
        gguf_refuse(r, ".rope.scaling.type", name ? name : "wrong type", "supported: none, linear and yarn");
    }
    json_decref(type);
}

/* What only the tensors show. */
static void read_tensors(struct gguf_reading *r) {
    const struct st_tensor *table = st_find(r->st, "token_embd.weight");
    if (!r->e->code && !table)
        err_set(r->e, ERR_INPUT, "%s: the tensor \"token_embd.weight\" is missing", r->path);
    if (r->e->code) return;
    bool head = st_find(r->st, "output.weight"), biases = st_find(r->st, "blk.0.attn_q.bias"),
         ffn_biases = st_find(r->st, "blk.0.ffn_gate.bias");
    json_object_set_new(r->config, "vocab_size", json_integer((json_int_t)table->shape[0]));
    if (r->gpt2) return; /* a head may be a copy of the table */
    json_object_set_new(r->config, "tie_word_embeddings", json_boolean(!head));
    if (!strcmp(r->architecture, "qwen2")) return; /* always biases, of queries, keys and values only */
    json_object_set_new(r->config, "attention_bias", json_boolean(biases));
    json_object_set_new(r->config, "mlp_bias", json_boolean(ffn_biases));
}

/* The tokens that end a text: of a document, of a turn, of a message. */
static void gguf_read_ends(struct gguf_reading *r) {
    static const char *const keys[] = { "eos", "eot", "eom" };
    json_t *ends = json_array();
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        char *key = xprintf("tokenizer.ggml.%s_token_id", keys[i]);
        long long id = get_int(r, key, -1);
        bool known = id < 0;
        for (size_t k = 0; k < json_array_size(ends); k++)
            known |= json_integer_value(json_array_get(ends, k)) == id;
        if (!known) json_array_append_new(ends, json_integer(id));
        free(key);
    }
    if (json_array_size(ends)) json_object_set(r->config, "eos_token_id", ends);
    json_decref(ends);
}

/* Checks the vocabulary against the word embedding, and reads the ids of special tokens. */
static void check_vocabulary(struct gguf_reading *r) {
    json_int_t rows = json_integer_value(json_object_get(r->config, "vocab_size"));
    static const char *const lists[] = { "tokens", "scores", "token_type" };
    char key[64];
    const char *id;
    if (get_int(r, ".vocab_size", rows) != rows)
        gguf_refuse(r, ".vocab_size", "differs from the rows of token_embd.weight", "must be equal");
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        snprintf(key, sizeof key, "tokenizer.ggml.%s", lists[i]);
        size_t n = gguf_length(r->g, key);
        if (n && (json_int_t)n != rows)
            refuse_number(r, key, (long long)n, "must have one element per row of token_embd.weight");
    }
    for (size_t i = 0; (id = gguf_key(r->g, i)); i++) {
        if (!text_starts(id, "tokenizer.ggml.") || !text_ends(id, "_token_id")) continue;
        long long n = get_int(r, id, 0);
        if (n < 0 || n >= rows) refuse_number(r, id, n, "must be the id of a token of the vocabulary");
        if (!strcmp(id, "tokenizer.ggml.bos_token_id"))
            json_object_set_new(r->config, "bos_token_id", json_integer(n));
    }
    gguf_read_ends(r);
}

json_t *gguf_config(const char *path, struct err *e) {
    struct gguf_reading r = { .st = st_open(path, e), .path = path, .e = e };
    if (!r.st) return NULL;
    r.g = st_gguf(r.st);
    BUG_IF(!r.g);
    r.config = json_object();
    read_kind(&r);
    if (!e->code) {
        json_object_set_new(r.config, "model_type", json_string(r.architecture));
        r.gpt2 = !strcmp(r.architecture, "gpt2");
        refuse_unknown_keys(&r);
        read_keys(&r);
        if (!r.gpt2) {
            gguf_read_heads(&r);
            gguf_read_rope(&r);
        }
        json_object_set_new(r.config, r.gpt2 ? "activation_function" : "hidden_act",
                            json_string(r.gpt2 ? "gelu_new" : "silu"));
        read_tensors(&r);
        if (!e->code) check_vocabulary(&r);
    }
    st_close((struct st_file *)(uintptr_t)r.st);
    if (!e->code) return r.config;
    json_decref(r.config);
    return NULL;
}

/* ---- the tokenizer ---- */

json_t *gguf_tokenizer(const struct gguf *g, struct err *e) {
    static const char *const keys[] = {
        "model", "pre", "tokens", "token_type", "scores", "merges", "bos_token_id", "eos_token_id",
        "unknown_token_id", "padding_token_id", "add_bos_token", "add_eos_token", "add_space_prefix",
    };
    json_t *meta = json_object();
    e->code = 0;
    for (size_t i = 0; !e->code && i < COUNT_OF(keys); i++) {
        char *key = xprintf("tokenizer.ggml.%s", keys[i]);
        json_t *v = gguf_length(g, key) ? gguf_array(g, key, e) : gguf_value(g, key, e);
        if (v) json_object_set_new(meta, keys[i], v);
        free(key);
    }
    if (!e->code && json_object_get(meta, "model")) return meta;
    json_decref(meta);
    return NULL;
}

/* Returns the value of a key of the architecture llama, or 0. */
static size_t llama_size(const struct gguf *g, const char *key) {
    struct err ignored = ERR_INIT;
    json_t *v = gguf_value(g, key, &ignored);
    json_int_t n = json_integer_value(v);
    json_decref(v);
    return n > 0 && n <= 1 << 20 ? (size_t)n : 0;
}

void gguf_mark_pairs(const struct gguf *g, struct st_tensor *list, size_t n) {
    struct err ignored = ERR_INIT;
    json_t *name = gguf_value(g, "general.architecture", &ignored);
    bool llama = json_is_string(name) && !strcmp(json_string_value(name), "llama");
    json_decref(name);
    size_t heads = llama_size(g, "llama.attention.head_count"),
           head = llama_size(g, "llama.attention.key_length");
    if (!head && heads) head = llama_size(g, "llama.embedding_length") / heads;
    if (!llama || !head || head % 2) return;
    for (size_t i = 0; i < n; i++) {
        int digits;
        const char *part = after_layer(list[i].name, &digits);
        static const char *const rotated[] = { "attn_q.weight", "attn_k.weight", "attn_q.bias",
                                               "attn_k.bias" };
        for (size_t k = 0; part && k < COUNT_OF(rotated); k++)
            if (!strcmp(part, rotated[k]) && !(list[i].shape[0] % head)) list[i].pairs = head;
    }
}
