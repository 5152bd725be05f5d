#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

enum { VOCAB_FILE = 64 << 20 };

/* One token a line, its id the line's number from 0. */
static int read_lines(struct tokenizer *t, const char *path, struct err *e) {
    struct buf text;
    if (file_read(path, VOCAB_FILE, &text, e)) return e->code;
    const char *s = buf_text(&text);
    size_t at = 0;
    int64_t id = 0;
    int rc = 0;
    while (!rc && at < text.size) {
        const char *end = memchr(s + at, '\n', text.size - at);
        size_t n = end ? (size_t)(end - (s + at)) : text.size - at, whole = n;
        if (n && s[at + n - 1] == '\r') n--;
        if (!utf8_valid(s + at, n) || memchr(s + at, '\0', n))
            rc = err_set(e, ERR_INPUT, "%s: line %lld is not UTF-8 text", path, (long long)id + 1);
        else if (n) rc = vocab_add(&t->vocab, path, s + at, n, id, e);
        at += whole + 1;
        id++;
    }
    buf_release(&text);
    if (!rc && !t->vocab.count) rc = err_set(e, ERR_INPUT, "%s: holds no token", path);
    return rc;
}

/* A special token's text and flags: a string, or an object with "content". */
static int special(struct tokenizer *t, const char *path, const char *settings_path,
                   const json_t *settings, const char *key, const char **text, struct buf *report,
                   struct err *e) {
    const json_t *v = json_object_get(settings, key);
    struct added_token token = {.special = true};
    e->code = 0;
    if (json_is_object(v)) {
        json_get_string(v, settings_path, "content", text, e);
        json_get_bool(v, settings_path, "single_word", &token.single_word, e);
        json_get_bool(v, settings_path, "lstrip", &token.lstrip, e);
        json_get_bool(v, settings_path, "rstrip", &token.rstrip, e);
    } else if (settings) {
        json_get_string(settings, settings_path, key, text, e);
    }
    if (e->code) return e->code;
    token.text = (char *)*text;
    token.size = strlen(*text);
    if (vocab_find(&t->vocab, token.text, token.size) < 0) {
        text_line(report, "%s has no %s", path, key);
        return 0;
    }
    return tokenizer_add(t, path, &token, -1, report, e);
}

/* "added_tokens_decoder": {"id": {"content": …, flags}}. */
static int added_decoder(struct tokenizer *t, const char *settings_path, const json_t *settings,
                         struct buf *report, struct err *e) {
    json_t *map = json_object_get(settings, "added_tokens_decoder"), *v;
    const char *key;
    json_object_foreach(map, key, v) {
        const char *content = NULL;
        struct added_token token = {.normalized = true};
        int64_t id;
        e->code = 0;
        json_get_string(v, settings_path, "content", &content, e);
        json_get_bool(v, settings_path, "special", &token.special, e);
        token.normalized = !token.special;
        json_get_bool(v, settings_path, "normalized", &token.normalized, e);
        json_get_bool(v, settings_path, "single_word", &token.single_word, e);
        json_get_bool(v, settings_path, "lstrip", &token.lstrip, e);
        json_get_bool(v, settings_path, "rstrip", &token.rstrip, e);
        if (e->code) return e->code;
        if (!text_to_int(key, &id) || id < 0 || id >= VOCAB_IDS || !content || !*content ||
            strlen(content) > 512)
            return err_set(e, ERR_INPUT,
                           "%s: \"added_tokens_decoder\" needs ids from 0 to %d and a "
                           "\"content\" each",
                           settings_path, VOCAB_IDS - 1);
        token.text = (char *)content;
        token.size = strlen(content);
        if (tokenizer_add(t, settings_path, &token, id, report, e)) return e->code;
    }
    return 0;
}

int tokenizer_read_vocab(struct tokenizer *t, const char *path, const char *settings_path,
                         const void *settings, struct buf *report, struct err *e) {
    static const char *const key[] = {"unk_token", "sep_token", "pad_token", "cls_token",
                                      "mask_token"};
    const char *text[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    struct normalizer *z = &t->normalizer;
    *z = (struct normalizer){true, true, true, true, true};
    e->code = 0;
    if (settings) {
        json_get_bool(settings, settings_path, "do_lower_case", &z->lowercase, e);
        json_get_bool(settings, settings_path, "tokenize_chinese_chars", &z->ideographs, e);
        z->strip_accents = z->lowercase;
        json_get_bool(settings, settings_path, "strip_accents", &z->strip_accents, e);
        if (e->code) return e->code;
    } else {
        text_line(report, "no tokenizer_config.json: text is lower-cased, as for uncased models");
    }
    if (read_lines(t, path, e)) return e->code;
    for (size_t i = 0; i < COUNT_OF(key); i++)
        if (special(t, path, settings_path, settings, key[i], &text[i], report, e)) return e->code;
    if (added_decoder(t, settings_path, settings, report, e)) return e->code;
    t->model.prefix = xstrdup("##");
    t->model.prefix_size = 2;
    t->model.most_chars = 100;
    t->model.unknown = vocab_find(&t->vocab, text[0], strlen(text[0]));
    if (t->model.unknown < 0)
        return err_set(e, ERR_INPUT, "%s: the unknown token \"%s\" is not in the vocabulary", path,
                       text[0]);
    decoder_wordpiece(&t->decoder, "##");
    return tokenizer_bert_templates(t, path, text[3], text[1], e);
}
