#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

/* Adds a token with the given id, its id in the vocabulary, or the next free one (id -1).  Refused when the
 * id belongs to another token. */
static int tokenizer_add(struct tokenizer *t, const char *file, const struct added_token *token,
                  int64_t id, struct buf *report, struct err *e) {
    int32_t known = vocab_find(&t->vocab, token->text, token->size);
    if (known >= 0) {
        if (id >= 0 && id != known)
            text_line(report, "added token %s: the vocabulary has id %d, not %lld; %d is used",
                      token->text, known, (long long)id, known);
    } else {
        if (id < 0) id = (int64_t)t->vocab.ids;
        if (vocab_add(&t->vocab, file, token->text, token->size, id, e)) return e->code;
        known = (int32_t)id;
        t->vocab.token[known].added = true;
        text_line(report, "added token %s: added to the vocabulary with id %d", token->text, known);
    }
    if (token->special) t->vocab.token[known].special = true;
    struct added_token own = *token;
    own.id = known;
    struct buf text = BUF_INIT;
    if (own.normalized) normalizer_run(&t->normalizer, token->text, token->size, NULL, &text);
    else buf_add(&text, token->text, token->size);
    t->vocab.token[known].respelled =
        text.size != token->size || memcmp(buf_text(&text), token->text, text.size) != 0;
    own.size = text.size;
    own.text = xstrndup(buf_text(&text), text.size);
    buf_release(&text);
    if (!own.size) {
        free(own.text);
        return 0;
    }
    added_add(own.normalized ? &t->normalized : &t->raw, &own);
    return 0;
}

/* Reads the flags and the text of an added token. */
static int flags(struct added_token *token, const char *path, const json_t *item,
                 const char **content, struct err *e) {
    e->code = 0;
    json_get_string(item, path, "content", content, e);
    json_get_bool(item, path, "special", &token->special, e);
    token->normalized = !token->special;
    json_get_bool(item, path, "normalized", &token->normalized, e);
    json_get_bool(item, path, "single_word", &token->single_word, e);
    json_get_bool(item, path, "lstrip", &token->lstrip, e);
    json_get_bool(item, path, "rstrip", &token->rstrip, e);
    if (!*content) return e->code;
    token->text = (char *)*content;
    token->size = strlen(*content);
    return e->code;
}

int tokenizer_read_added(struct tokenizer *t, const char *path, const json_t *root,
                         struct buf *report, struct err *e) {
    const json_t *list = json_object_get(root, "added_tokens");
    if (!list || json_is_null(list)) return 0;
    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "%s: \"added_tokens\" must be an array", path);
    if (json_array_size(list) > TOKENIZER_ADDED)
        return err_set(e, ERR_INPUT, "%s: more than %d added tokens", path, TOKENIZER_ADDED);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *content = NULL;
        json_int_t id = -1;
        struct added_token token = { .normalized = true };
        if (!json_is_object(item))
            return err_set(e, ERR_INPUT, "%s: added token %zu: must be an object", path, i);
        flags(&token, path, item, &content, e);
        json_get_int(item, path, "id", &id, e);
        if (e->code) return err_prefix(e, "added token %zu", i);
        if (!content || token.size > TOKENIZER_ADDED_SIZE)
            return err_set(e, ERR_INPUT, "%s: added token %zu: \"content\" must be a string of 1 to %d bytes",
                           path, i, TOKENIZER_ADDED_SIZE);
        if (id < 0 || id >= VOCAB_IDS)
            return err_set(e, ERR_INPUT, "%s: added token %zu: id %lld is not between 0 and %d",
                           path, i, (long long)id, VOCAB_IDS - 1);
        if (*content && tokenizer_add(t, path, &token, id, report, e)) return e->code;
    }
    return 0;
}

/* ---- tokenizer_config.json ---- */

int tokenizer_special(struct tokenizer *t, const char *path, const struct reading *r,
                      const char *key, const char **text, bool lstrip, struct err *e) {
    const json_t *v = json_object_get(r->settings, key);
    struct added_token token = { .special = true, .lstrip = lstrip };
    e->code = 0;
    if (json_is_object(v)) {
        json_get_string(v, r->settings_path, "content", text, e);
        json_get_bool(v, r->settings_path, "single_word", &token.single_word, e);
        json_get_bool(v, r->settings_path, "lstrip", &token.lstrip, e);
        json_get_bool(v, r->settings_path, "rstrip", &token.rstrip, e);
    } else if (r->settings) {
        json_get_string(r->settings, r->settings_path, key, text, e);
    }
    if (e->code) return e->code;
    token.text = (char *)*text;
    token.size = strlen(*text);
    if (vocab_find(&t->vocab, token.text, token.size) < 0) {
        text_line(r->report, "%s: special token %s is not in the vocabulary", path, key);
        return 0;
    }
    return tokenizer_add(t, path, &token, -1, r->report, e);
}

int32_t tokenizer_named(const struct tokenizer *t, const json_t *settings, const char *key) {
    const json_t *v = json_object_get(settings, key);
    const char *text = json_string_value(json_is_object(v) ? json_object_get(v, "content") : v);
    return text ? vocab_find(&t->vocab, text, strlen(text)) : -1;
}

/* {"id": {"content": …, flags}}. */
int tokenizer_added_decoder(struct tokenizer *t, const struct reading *r, struct err *e) {
    json_t *map = json_object_get(r->settings, "added_tokens_decoder"), *v;
    const char *key;
    json_object_foreach(map, key, v) {
        const char *content = NULL;
        struct added_token token = { .normalized = true };
        int64_t id;
        if (flags(&token, r->settings_path, v, &content, e)) return e->code;
        if (!text_to_int(key, &id) || id < 0 || id >= VOCAB_IDS || !content || !*content ||
            token.size > TOKENIZER_ADDED_SIZE)
            return err_set(e, ERR_INPUT,
                           "%s: \"added_tokens_decoder\" must have ids from 0 to %d, each with a \"content\"",
                           r->settings_path, VOCAB_IDS - 1);
        if (tokenizer_add(t, r->settings_path, &token, id, r->report, e)) return e->code;
    }
    return 0;
}
