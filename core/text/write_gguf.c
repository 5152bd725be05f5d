/* A tokenizer as the metadata of a GGUF file: the opposite of read_gguf.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/text/parts.h"
#include "core/text/tokenizer.h"

/* Text whose ids differ between the kinds of tokenizers, for the comparison of what was written. */
static const char write_gguf_probe[] =
    "Hello  world\n\n  I'm I'M don't 12345 6 \u00BD x\u00B2  e\u0301 \u00E9\t(foo)[bar];\r\n\u65E5\u672C\u8A9E \u0416 "
    "\U0001F600 <|im_start|> </s>   ";

static void set(json_t *meta, const char *key, json_t *value) { json_object_set_new(meta, key, value); }

/* ---- tokens ---- */

static int type_of(const struct tokenizer *t, int32_t id) {
    enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };
    const struct vocab_token *x = (size_t)id < t->vocab.ids ? &t->vocab.token[id] : NULL;
    if (!x || !x->used) return UNUSED;
    if (x->special) return id == t->bpe.unknown ? UNKNOWN : CONTROL;
    for (size_t i = 0; i < t->raw.count; i++)
        if (t->raw.token[i].id == id) return USER;
    for (size_t i = 0; i < t->normalized.count; i++)
        if (t->normalized.token[i].id == id) return USER;
    for (int i = 0; i < 256 && t->bpe.byte_fallback; i++)
        if (t->bpe.byte[i] == id) return BYTE;
    return NORMAL;
}

/* Rows without a token are named and marked as unused. */
static void add_tokens(json_t *meta, const struct tokenizer *t, int rows) {
    json_t *tokens = json_array(), *types = json_array();
    for (int32_t i = 0; i < rows; i++) {
        const char *text = vocab_text(&t->vocab, i);
        char *pad = text ? NULL : xprintf("[PAD%d]", i);
        json_array_append_new(tokens, json_string(text ? text : pad));
        json_array_append_new(types, json_integer(type_of(t, i)));
        free(pad);
    }
    set(meta, "tokens", tokens);
    set(meta, "token_type", types);
}

static int by_rank(const void *a, const void *b) {
    const struct bpe_merge *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Returns the merges in their order, t->bpe.count of them; caller frees. */
static struct bpe_merge *merges_of(const struct tokenizer *t, size_t *n) {
    struct bpe_merge *list = xcalloc(t->bpe.count + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; i < t->bpe.places; i++)
        if (t->bpe.merge[i].left >= 0) list[(*n)++] = t->bpe.merge[i];
    qsort(list, *n, sizeof *list, by_rank);
    return list;
}

static void add_merges(json_t *meta, const struct tokenizer *t) {
    size_t n;
    struct bpe_merge *list = merges_of(t, &n);
    json_t *out = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_sprintf("%s %s", vocab_text(&t->vocab, list[i].left),
                                                vocab_text(&t->vocab, list[i].right)));
    set(meta, "merges", out);
    free(list);
}

/* SentencePiece: the score of a token is the negative rank of its first merge. */
static void add_scores(json_t *meta, const struct tokenizer *t, int rows) {
    size_t n;
    struct bpe_merge *list = merges_of(t, &n);
    double *score = xcalloc((size_t)rows + 1, sizeof *score);
    for (size_t i = n; i-- > 0;)
        if (list[i].whole < rows) score[list[i].whole] = -(double)(i + 1);
    json_t *out = json_array();
    for (int i = 0; i < rows; i++) json_array_append_new(out, json_real(score[i]));
    set(meta, "scores", out);
    free(score);
    free(list);
}

static void add_ends(json_t *meta, const struct tokenizer *t) {
    const struct template *s = &t->single;
    bool bos = s->pieces && s->piece[0].text < 0, eos = s->pieces > 1 && s->piece[s->pieces - 1].text < 0;
    int32_t first = bos ? s->piece[0].id : t->bos, last = eos ? s->piece[s->pieces - 1].id : t->eos;
    if (first >= 0) set(meta, "bos_token_id", json_integer(first));
    if (last >= 0) set(meta, "eos_token_id", json_integer(last));
    if (t->bpe.unknown >= 0) set(meta, "unknown_token_id", json_integer(t->bpe.unknown));
    set(meta, "add_bos_token", json_boolean(bos));
    set(meta, "add_eos_token", json_boolean(eos));
}

/* ---- the kind ---- */

static struct tokenizer *made_of(const json_t *meta) {
    struct err ignored = ERR_INIT;
    json_t *settings = NULL, *root = tokenizer_from_gguf("", meta, &settings, &ignored);
    struct tokenizer *t = root ? tokenizer_make("", root, settings, NULL, &ignored) : NULL;
    json_decref(root);
    json_decref(settings);
    return t;
}

static bool same_steps(const struct tokenizer *a, const struct tokenizer *b) {
    bool same = a->pretokenizer.count == b->pretokenizer.count &&
                a->normalizer.count == b->normalizer.count && a->bpe.ignore_merges == b->bpe.ignore_merges;
    for (size_t i = 0; same && i < a->pretokenizer.count; i++) {
        const struct cut *x = &a->pretokenizer.step[i], *y = &b->pretokenizer.step[i];
        same = x->kind == y->kind && x->split == y->split && x->regex == y->regex && x->prepend == y->prepend;
    }
    for (size_t i = 0; same && i < a->normalizer.count; i++) {
        const struct normalizer_step *x = &a->normalizer.step[i], *y = &b->normalizer.step[i];
        same = x->kind == y->kind && x->compose == y->compose && x->compatible == y->compatible;
    }
    return same;
}

/* Returns the name of the kind of a byte-level tokenizer, or NULL. */
static const char *pre_of(const struct tokenizer *t) {
    const char *name;
    for (int i = 0; (name = tokenizer_gguf_pre(i)); i++) {
        json_t *meta = json_pack("{s:s,s:s,s:[s],s:[],s:i}", "model", "gpt2", "pre", name, "tokens", "a",
                                 "merges", "bos_token_id", 0);
        struct tokenizer *small = made_of(meta);
        bool same = small && same_steps(small, t);
        tokenizer_free(small);
        json_decref(meta);
        if (same) return name;
    }
    return NULL;
}

static bool same_text(const struct tokenizer *a, const struct tokenizer *b) {
    struct encoded x, y;
    struct err ignored = ERR_INIT;
    size_t n = strlen(write_gguf_probe);
    if (tokenizer_encode(a, write_gguf_probe, n, NULL, 0, 1 << 16, &x, &ignored)) return false;
    if (tokenizer_encode(b, write_gguf_probe, n, NULL, 0, 1 << 16, &y, &ignored)) {
        encoded_release(&x);
        return false;
    }
    bool same = x.n == y.n && !memcmp(x.ids, y.ids, x.n * sizeof *x.ids);
    encoded_release(&x);
    encoded_release(&y);
    return same;
}

/* Returns whether a reader of the metadata encodes as t does. */
static bool is_right(const json_t *meta, const struct tokenizer *t) {
    struct tokenizer *made = made_of(meta);
    bool same = made && same_text(made, t);
    tokenizer_free(made);
    return same;
}

json_t *tokenizer_to_gguf(const struct tokenizer *t, int rows, struct err *e) {
    const bool pieces = t->kind == MODEL_BPE && t->bpe.byte_fallback;
    const char *pre = t->kind == MODEL_BPE && !pieces ? pre_of(t) : NULL;
    json_t *meta = json_object();
    bool right = false;
    if (t->kind == MODEL_BPE && (pre || pieces) && (int32_t)t->vocab.ids <= rows) {
        set(meta, "model", json_string(pieces ? "llama" : "gpt2"));
        add_tokens(meta, t, rows);
        add_ends(meta, t);
        if (pieces) add_scores(meta, t, rows);
        else add_merges(meta, t);
        if (pre) set(meta, "pre", json_string(pre));
        for (int prefix = 1; prefix >= 0 && !right; prefix--) {
            if (pieces) set(meta, "add_space_prefix", json_boolean(prefix));
            right = is_right(meta, t);
        }
    }
    if (right) return meta;
    json_decref(meta);
    err_set(e, ERR_USAGE, "the tokenizer of this model cannot be represented in a GGUF file");
    return NULL;
}
