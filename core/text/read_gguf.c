/* The tokenizer in the metadata of a GGUF file, as the tokenizer.json of the same tokenizer. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"
#include "core/text/regex.h"
#include "core/text/tokenizer.h"

enum token_type { TYPE_NORMAL = 1, TYPE_UNKNOWN, TYPE_CONTROL, TYPE_USER, TYPE_UNUSED, TYPE_BYTE, TYPES };

/* Kinds of byte-level tokenizers by "tokenizer.ggml.pre". */
static const struct pre_rule {
    const char *name;
    enum regex regex;    /* REGEX_GPT2: the one that ByteLevel has */
    bool digits;         /* each digit is a piece */
    bool compose;        /* NFC */
    bool ignore_merges, bos;
} pre_rules[] = {
    { "gpt-2", REGEX_GPT2, false, false, false, false },
    { "smollm", REGEX_GPT2, true, false, false, false },
    { "qwen2", REGEX_QWEN2, false, true, false, false },
    { "llama-bpe", REGEX_LLAMA3, false, false, true, true },
};

const char *tokenizer_gguf_pre(int i) { return i < (int)COUNT_OF(pre_rules) ? pre_rules[i].name : NULL; }

/* The first error stays in *e. */
struct gguf_meta {
    const char *file;
    const json_t *meta, *tokens, *types;
    const struct pre_rule *pre; /* NULL: SentencePiece */
    size_t count;               /* tokens */
    json_t *vocab;              /* ids by token */
    struct err *e;
};

static void refuse_meta(struct gguf_meta *g, const char *key, const char *found, const char *right) {
    if (g->e->code) return;
    char *shown = text_visible(found, strlen(found) > 80 ? 80 : strlen(found));
    err_set(g->e, ERR_INPUT, "%s: metadata \"tokenizer.ggml.%s\": %s; %s", g->file, key, shown, right);
    free(shown);
}

/* Returns an array with one element per token. */
static const json_t *meta_list(struct gguf_meta *g, const char *key, bool required) {
    const json_t *list = json_object_get(g->meta, key);
    if (!list && !required) return NULL;
    if (!json_array_size(list)) {
        refuse_meta(g, key, list ? "no elements" : "missing", "one per token is required");
    } else if (g->count && json_array_size(list) != g->count) {
        char *found = xprintf("%zu elements", json_array_size(list)),
             *right = xprintf("must be %zu, one per token", g->count);
        refuse_meta(g, key, found, right);
        free(found);
        free(right);
    }
    return list;
}

static bool meta_bool(struct gguf_meta *g, const char *key, bool fallback) {
    const json_t *v = json_object_get(g->meta, key);
    if (v && !json_is_boolean(v)) refuse_meta(g, key, "wrong type", "must be a boolean");
    return v ? json_is_true(v) : fallback;
}

static const char *token_text(const struct gguf_meta *g, size_t id) {
    return json_string_value(json_array_get(g->tokens, id));
}

/* Returns the text of a special token; NULL without one. */
static const char *meta_token(struct gguf_meta *g, const char *key) {
    const json_t *v = json_object_get(g->meta, key);
    json_int_t id = json_integer_value(v);
    if (!v) return NULL;
    if (json_is_integer(v) && id >= 0 && (size_t)id < g->count) return token_text(g, (size_t)id);
    refuse_meta(g, key, "no token has this id", "must be the id of a token");
    return NULL;
}

static enum token_type type_of(const struct gguf_meta *g, size_t id) {
    json_int_t type = g->types ? json_integer_value(json_array_get(g->types, id)) : TYPE_NORMAL;
    return type > 0 && type < TYPES ? (enum token_type)type : TYPES;
}

/* ---- tokens ---- */

static void refuse_element(struct gguf_meta *g, const char *key, size_t i, const char *found,
                           const char *right) {
    char *what = xprintf("element %zu: %s", i, found);
    refuse_meta(g, key, what, right);
    free(what);
}

/* Rows of the embedding without a token are listed as unused. */
static void meta_vocabulary(struct gguf_meta *g, json_t *added) {
    for (size_t i = 0; !g->e->code && i < g->count; i++) {
        const json_t *token = json_array_get(g->tokens, i);
        const char *text = json_string_value(token);
        enum token_type type = type_of(g, i);
        if (type == TYPES) refuse_element(g, "token_type", i, "unknown type", "must be between 1 and 6");
        if (!text || !*text || strlen(text) != json_string_length(token))
            refuse_element(g, "tokens", i, "not a text", "must be a nonempty string without NUL");
        else if (json_object_get(g->vocab, text))
            refuse_element(g, "tokens", i, text, "the token occurs twice");
        if (g->e->code) return;
        if (type != TYPE_UNUSED) json_object_set_new(g->vocab, text, json_integer((json_int_t)i));
        if (type == TYPE_CONTROL || type == TYPE_USER || type == TYPE_UNKNOWN)
            json_array_append_new(
                added, json_pack("{s:I,s:s,s:b,s:b,s:b,s:b,s:b}", "id", (json_int_t)i, "content", text,
                                 "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special",
                                 type != TYPE_USER));
    }
}

/* ---- merges of SentencePiece ---- */

struct score_merge {
    double score;
    size_t id, left; /* the merged token; bytes of its left part */
};

static int by_score(const void *x, const void *y) {
    const struct score_merge *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    return a->left < b->left ? -1 : a->left > b->left;
}

/* Of two adjacent tokens, those are joined first whose joined token has the highest score: merges in the order of
 * these scores. */
static json_t *merges_of_scores(struct gguf_meta *g, const json_t *scores) {
    struct score_merge *merge = NULL;
    size_t n = 0, room = 0;
    json_t *list = json_array();
    for (size_t i = 0; !g->e->code && i < g->count; i++) {
        const char *text = token_text(g, i);
        size_t size = strlen(text);
        double score = json_number_value(json_array_get(scores, i));
        if (type_of(g, i) != TYPE_NORMAL) continue;
        if (size > UNIGRAM_TOKEN) refuse_element(g, "tokens", i, "too long", "must have at most 512 bytes");
        for (size_t left = 1; left < size; left++) {
            if (((unsigned char)text[left] & 0xC0) == 0x80 || !json_object_getn(g->vocab, text, left) ||
                !json_object_get(g->vocab, text + left))
                continue;
            GROW(merge, room, n + 1);
            merge[n++] = (struct score_merge){ score, i, left };
        }
    }
    if (n > VOCAB_IDS) refuse_meta(g, "tokens", "too many", "the tokens have more than 4,194,304 merges");
    if (n) qsort(merge, n, sizeof *merge, by_score);
    for (size_t i = 0; !g->e->code && i < n; i++) {
        const char *text = token_text(g, merge[i].id);
        json_array_append_new(list, json_pack("[s%,s]", text, merge[i].left, text + merge[i].left));
    }
    free(merge);
    return list;
}

/* ---- parts of tokenizer.json ---- */

static json_t *sequence(const char *key, json_t *parts) {
    return json_pack("{s:s,s:o}", "type", "Sequence", key, parts);
}

static json_t *byte_level(bool regex) {
    return json_pack("{s:s,s:b,s:b,s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                     "use_regex", regex);
}

static json_t *replaced(const char *from, const char *to) {
    return json_pack("{s:s,s:{s:s},s:s}", "type", "Replace", "pattern", "String", from, "content", to);
}

static json_t *meta_pieces(const struct gguf_meta *g) {
    if (!g->pre) return json_null();
    json_t *steps = json_array();
    if (g->pre->digits)
        json_array_append_new(steps, json_pack("{s:s,s:b}", "type", "Digits", "individual_digits", 1));
    if (g->pre->regex != REGEX_GPT2)
        json_array_append_new(steps, json_pack("{s:s,s:{s:s},s:s,s:b}", "type", "Split", "pattern", "Regex",
                                               regex_text(g->pre->regex), "behavior", "Isolated", "invert",
                                               0));
    json_array_append_new(steps, byte_level(g->pre->regex == REGEX_GPT2));
    return sequence("pretokenizers", steps);
}

static json_t *meta_normalizer(struct gguf_meta *g) {
    if (g->pre) return g->pre->compose ? json_pack("{s:s}", "type", "NFC") : json_null();
    json_t *steps = json_array();
    if (meta_bool(g, "add_space_prefix", true))
        json_array_append_new(steps, json_pack("{s:s,s:s}", "type", "Prepend", "prepend", "\u2581"));
    json_array_append_new(steps, replaced(" ", "\u2581"));
    return sequence("normalizers", steps);
}

static json_t *meta_decoder(const struct gguf_meta *g) {
    if (g->pre) return byte_level(true);
    return sequence("decoders",
                    json_pack("[o,{s:s},{s:s},{s:s,s:s,s:i,s:i}]", replaced("\u2581", " "), "type",
                              "ByteFallback", "type", "Fuse", "type", "Strip", "content", " ", "start", 1,
                              "stop", 0));
}

/* Adds a special token to a template. */
static void add_end(json_t *list, const char *token, int type) {
    if (!token) return;
    json_array_append_new(list, json_pack("{s:{s:s,s:i}}", "SpecialToken", "id", token, "type_id", type));
}

/* BOS A EOS, and BOS A EOS BOS B EOS. */
static json_t *meta_template(struct gguf_meta *g) {
    const char *bos = meta_token(g, "bos_token_id"), *eos = meta_token(g, "eos_token_id");
    bool begins = meta_bool(g, "add_bos_token", !g->pre || g->pre->bos),
         ends = meta_bool(g, "add_eos_token", false);
    if (begins && !bos) refuse_meta(g, "bos_token_id", "missing", "required because texts begin with this token");
    if (ends && !eos) refuse_meta(g, "eos_token_id", "missing", "required because texts end with this token");
    if (!begins) bos = NULL;
    if (!ends) eos = NULL;
    if (g->e->code || (!bos && !eos)) return json_null();
    json_t *single = json_array(), *pair = json_array(), *tokens = json_object();
    for (int text = 0; text < 2; text++) {
        json_t *list = json_array();
        add_end(list, bos, text);
        json_array_append_new(list, json_pack("{s:{s:s,s:i}}", "Sequence", "id", text ? "B" : "A", "type_id",
                                              text));
        add_end(list, eos, text);
        if (!text) json_array_extend(single, list);
        json_array_extend(pair, list);
        json_decref(list);
    }
    const char *const end[] = { bos, eos };
    for (size_t i = 0; i < COUNT_OF(end); i++)
        if (end[i])
            json_object_set_new(tokens, end[i],
                                json_pack("{s:s,s:[O],s:[s]}", "id", end[i], "ids",
                                          json_object_get(g->vocab, end[i]), "tokens", end[i]));
    return json_pack("{s:s,s:o,s:o,s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                     "special_tokens", tokens);
}

/* ---- the whole ---- */

static void meta_kind(struct gguf_meta *g) {
    const char *model = json_string_value(json_object_get(g->meta, "model")),
               *pre = json_string_value(json_object_get(g->meta, "pre"));
    if (model && !strcmp(model, "llama")) return;
    if (!model || strcmp(model, "gpt2"))
        return refuse_meta(g, "model", model ? model : "missing",
                           "not supported; supported: gpt2 (byte-level BPE) and llama (SentencePiece)");
    for (size_t i = 0; pre && i < COUNT_OF(pre_rules); i++)
        if (!strcmp(pre, pre_rules[i].name)) g->pre = &pre_rules[i];
    if (!g->pre)
        refuse_meta(g, "pre", pre ? pre : "missing",
                    "not supported; supported: gpt-2, smollm, qwen2 and llama-bpe");
}

static json_t *meta_merges(struct gguf_meta *g) {
    const json_t *scores = g->pre ? NULL : meta_list(g, "scores", true),
                 *merges = json_object_get(g->meta, "merges");
    if (g->e->code) return json_array();
    if (!g->pre) return merges_of_scores(g, scores);
    if (!json_is_array(merges)) refuse_meta(g, "merges", "missing", "required for byte-level BPE");
    return json_is_array(merges) ? json_incref((json_t *)merges) : json_array();
}

json_t *tokenizer_from_gguf(const char *file, const json_t *meta, json_t **settings, struct err *e) {
    struct gguf_meta g = { .file = file, .meta = meta, .vocab = json_object(), .e = e };
    json_t *added = json_array();
    e->code = 0;
    meta_kind(&g);
    g.tokens = meta_list(&g, "tokens", true);
    g.count = json_array_size(g.tokens);
    g.types = meta_list(&g, "token_type", false);
    if (!e->code) meta_vocabulary(&g, added);
    json_t *merges = meta_merges(&g), *template = meta_template(&g), *normalizer = meta_normalizer(&g);
    const char *unknown = g.pre ? NULL : meta_token(&g, "unknown_token_id");
    json_t *model = json_pack("{s:s,s:n,s:s?,s:n,s:n,s:b,s:b,s:b,s:o,s:o}", "type", "BPE", "dropout", "unk_token",
                              unknown, "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", !g.pre,
                              "byte_fallback", !g.pre, "ignore_merges", g.pre && g.pre->ignore_merges,
                              "vocab", g.vocab, "merges", merges);
    json_t *root = json_pack("{s:s,s:n,s:n,s:o,s:o,s:o,s:o,s:o,s:o}", "version", "1.0", "truncation", "padding",
                             "added_tokens", added, "normalizer", normalizer, "pre_tokenizer",
                             meta_pieces(&g), "post_processor", template, "decoder", meta_decoder(&g),
                             "model", model);
    BUG_IF(!root);
    *settings = json_pack("{s:s,s:s*,s:s*,s:s*,s:s*}", "tokenizer_class", "PreTrainedTokenizerFast", "bos_token",
                          meta_token(&g, "bos_token_id"), "eos_token", meta_token(&g, "eos_token_id"),
                          "unk_token", meta_token(&g, "unknown_token_id"), "pad_token",
                          meta_token(&g, "padding_token_id"));
    if (!e->code) return root;
    json_decref(*settings);
    *settings = NULL;
    json_decref(root);
    return NULL;
}
