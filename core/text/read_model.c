#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

enum { WORD_CHARS = 100000, AFFIX_SIZE = 64 };

int tokenizer_read_ids(struct tokenizer *t, const char *path, const char *where,
                       const json_t *vocab, struct err *e) {
    json_t *ids = (json_t *)vocab, *id;
    const char *token;
    if (!json_is_object(vocab) || !json_object_size(vocab))
        return err_set(e, ERR_INPUT, "%s: %s with tokens and their ids", path, where);
    if (json_object_size(vocab) > VOCAB_IDS)
        return err_set(e, ERR_INPUT, "%s: more than %d tokens", path, VOCAB_IDS);
    json_object_foreach(ids, token, id) {
        if (!json_is_integer(id)) {
            char *shown = text_visible(token, strlen(token));
            err_set(e, ERR_INPUT, "%s: the id of token \"%.80s\" is not an integer", path,
                    shown);
            free(shown);
            return e->code;
        }
        if (vocab_add(&t->vocab, path, token, strlen(token), json_integer_value(id), e))
            return e->code;
    }
    return 0;
}

static int read_vocabulary(struct tokenizer *t, const char *path, const json_t *model,
                           struct err *e) {
    return tokenizer_read_ids(t, path, "\"model\" must have a \"vocab\" object",
                              json_object_get(model, "vocab"), e);
}

/* A short text before or after tokens; "" when absent. */
static int read_affix(const char *path, const json_t *model, const char *key, const char **text,
                      struct err *e) {
    e->code = 0;
    json_get_string(model, path, key, text, e);
    if (e->code) return e->code;
    if (strlen(*text) > AFFIX_SIZE)
        return err_set(e, ERR_INPUT, "%s: \"%s\" is longer than %d bytes", path, key, AFFIX_SIZE);
    return 0;
}

/* ---- WordPiece ---- */

static int read_wordpiece(struct tokenizer *t, const char *path, const json_t *model,
                          struct err *e) {
    const char *prefix = "##", *unknown = "[UNK]";
    json_int_t most = 100;
    if (read_affix(path, model, "continuing_subword_prefix", &prefix, e)) return e->code;
    json_get_string(model, path, "unk_token", &unknown, e);
    json_get_int(model, path, "max_input_chars_per_word", &most, e);
    if (e->code) return e->code;
    if (most < 1 || most > WORD_CHARS)
        return err_set(e, ERR_INPUT, "%s: \"max_input_chars_per_word\": %lld is not between 1 and %d",
                       path, (long long)most, WORD_CHARS);
    if (read_vocabulary(t, path, model, e)) return e->code;
    t->wordpiece.prefix = xstrdup(prefix);
    t->wordpiece.prefix_size = strlen(prefix);
    t->wordpiece.most_chars = (size_t)most;
    t->wordpiece.unknown = vocab_find(&t->vocab, unknown, strlen(unknown));
    if (t->wordpiece.unknown < 0)
        return err_set(e, ERR_INPUT, "%s: the unknown token \"%s\" is not in the vocabulary", path,
                       unknown);
    return 0;
}

/* ---- byte-pair encoding ---- */

/* "a b" or ["a", "b"]. */
static int read_merge(struct tokenizer *t, const char *path, size_t i, const json_t *item,
                      struct err *e) {
    const char *left, *right;
    size_t left_size, right_size;
    char *where = xprintf("%s: merge %zu", path, i);
    int rc;
    if (json_is_string(item)) {
        left = json_string_value(item);
        const char *blank = strchr(left, ' ');
        right = blank ? blank + 1 : "";
        left_size = blank ? (size_t)(blank - left) : 0;
        right_size = strlen(right);
    } else {
        const json_t *l = json_array_get(item, 0), *r = json_array_get(item, 1);
        bool pair = json_array_size(item) == 2 && json_is_string(l) && json_is_string(r);
        left = pair ? json_string_value(l) : "";
        right = pair ? json_string_value(r) : "";
        left_size = strlen(left);
        right_size = strlen(right);
    }
    if (!left_size || !right_size || (json_is_string(item) && strchr(right, ' '))) {
        char *text = json_dumps(item, JSON_ENCODE_ANY | JSON_COMPACT);
        rc = err_set(e, ERR_INPUT, "%s: %.80s: expected \"a b\" or [\"a\", \"b\"]", where,
                     text ? text : "?");
        free(text);
    } else {
        rc = bpe_add(&t->bpe, &t->vocab, where, left, left_size, right, right_size, e);
    }
    free(where);
    return rc;
}

/* Reads the keys of "model" other than vocabulary and merges, after the vocabulary. */
static int read_bpe_settings(struct tokenizer *t, const char *path, const json_t *model,
                             struct buf *report, struct err *e) {
    struct bpe *b = &t->bpe;
    const char *unknown = NULL, *prefix = "", *suffix = "";
    double dropout = 0;
    if (read_affix(path, model, "continuing_subword_prefix", &prefix, e) ||
        read_affix(path, model, "end_of_word_suffix", &suffix, e))
        return e->code;
    json_get_string(model, path, "unk_token", &unknown, e);
    json_get_bool(model, path, "fuse_unk", &b->fuse_unknown, e);
    json_get_bool(model, path, "byte_fallback", &b->byte_fallback, e);
    json_get_bool(model, path, "ignore_merges", &b->ignore_merges, e);
    json_get_double(model, path, "dropout", &dropout, e);
    if (e->code) return e->code;
    if (dropout) text_line(report, "%s: BPE \"dropout\" is ignored", path);
    free(b->prefix);
    free(b->suffix);
    b->prefix = xstrdup(prefix);
    b->suffix = xstrdup(suffix);
    if (unknown) b->unknown = vocab_find(&t->vocab, unknown, strlen(unknown));
    if (unknown && *unknown && b->unknown < 0)
        return err_set(e, ERR_INPUT, "%s: the unknown token \"%s\" is not in the vocabulary", path,
                       unknown);
    return 0;
}

static int read_bpe(struct tokenizer *t, const char *path, const json_t *model,
                    struct buf *report, struct err *e) {
    const json_t *merges = json_object_get(model, "merges");
    if (read_vocabulary(t, path, model, e)) return e->code;
    if (!json_is_array(merges) || json_array_size(merges) > VOCAB_IDS)
        return err_set(e, ERR_INPUT,
                       "%s: BPE \"model\": \"merges\" must be an array of at most %d pairs", path,
                       VOCAB_IDS);
    t->kind = MODEL_BPE;
    bpe_init(&t->bpe, json_array_size(merges));
    t->bpe.point = t->vocab.point;
    if (read_bpe_settings(t, path, model, report, e)) return e->code;
    for (size_t i = 0; i < json_array_size(merges); i++)
        if (read_merge(t, path, i, json_array_get(merges, i), e)) return e->code;
    bpe_ready(&t->bpe, &t->vocab);
    return 0;
}

/* ---- Unigram ---- */

/* [["token", score], …]: the id is the index. */
static int read_model_read_scores(struct tokenizer *t, const char *path, const json_t *list, double *score,
                                  struct err *e) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i), *text = json_array_get(item, 0),
                     *value = json_array_get(item, 1);
        if (json_array_size(item) != 2 || !json_is_string(text) || !json_is_number(value))
            return err_set(e, ERR_INPUT, "%s: token %zu of \"vocab\": must be [\"text\", score]",
                           path, i);
        size_t n = json_string_length(text);
        if (n > UNIGRAM_TOKEN)
            return err_set(e, ERR_INPUT, "%s: token %zu of \"vocab\": %zu bytes, more than the limit of %d",
                           path, i, n, UNIGRAM_TOKEN);
        if (vocab_add(&t->vocab, path, json_string_value(text), n, (int64_t)i, e)) return e->code;
        score[i] = json_number_value(value);
    }
    return 0;
}

static int read_unigram(struct tokenizer *t, const char *path, const json_t *model,
                        struct err *e) {
    const json_t *list = json_object_get(model, "vocab");
    size_t n = json_array_size(list);
    json_int_t unknown = -1;
    e->code = 0;
    if (!n || n > VOCAB_IDS)
        return err_set(e, ERR_INPUT,
                       "%s: Unigram \"model\": \"vocab\" must be an array of 1 to %d tokens", path,
                       VOCAB_IDS);
    json_get_int(model, path, "unk_id", &unknown, e);
    json_get_bool(model, path, "byte_fallback", &t->unigram.byte_fallback, e);
    if (e->code) return e->code;
    if (unknown < 0 || unknown >= (json_int_t)n)
        return err_set(e, ERR_INPUT, "%s: \"unk_id\" must be between 0 and %zu, not %lld", path, n - 1,
                       (long long)unknown);
    t->kind = MODEL_UNIGRAM;
    t->unigram.unknown = (int32_t)unknown;
    double *score = xcalloc(n, sizeof *score);
    if (read_model_read_scores(t, path, list, score, e)) {
        free(score);
        return e->code;
    }
    return unigram_ready(&t->unigram, &t->vocab, path, score, e);
}

int tokenizer_read_model(struct tokenizer *t, const char *path, const json_t *root,
                         struct buf *report, struct err *e) {
    const json_t *model = json_object_get(root, "model");
    if (!json_is_object(model)) return err_set(e, ERR_INPUT, "%s: \"model\" is missing", path);
    const json_t *type = json_object_get(model, "type");
    const char *name = json_string_value(type);
    if (!type) /* old files omit it; each kind has a distinctive key */
        name = json_object_get(model, "merges")                        ? "BPE"
               : json_object_get(model, "unk_id")                      ? "Unigram"
               : json_object_get(model, "continuing_subword_prefix") ? "WordPiece"
                                                                       : NULL;
    if (name && !strcmp(name, "WordPiece")) return read_wordpiece(t, path, model, e);
    if (name && !strcmp(name, "BPE")) return read_bpe(t, path, model, report, e);
    if (name && !strcmp(name, "Unigram")) return read_unigram(t, path, model, e);
    return err_set(e, ERR_INPUT,
                   "%s: unsupported tokenizer model: %s; supported: WordPiece, BPE and Unigram", path,
                   name ? name : "\"type\" is missing");
}
