#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

enum { TOKENIZER_FILE = 64 << 20, ADDED_TOKENS = 1 << 16, ADDED_SIZE = 512, WORD_CHARS = 100000 };

static const char *type_of(const json_t *part) {
    const char *type = json_string_value(json_object_get(part, "type"));
    return type ? type : "nameless";
}

int tokenizer_add(struct tokenizer *t, const char *file, const struct added_token *token,
                  int64_t id, struct buf *report, struct err *e) {
    int32_t known = vocab_find(&t->vocab, token->text, token->size);
    if (known >= 0) {
        if (id >= 0 && id != known)
            text_line(report, "added token %s: id %d of the vocabulary holds, not %lld",
                      token->text, known, (long long)id);
    } else {
        if (id < 0) id = (int64_t)t->vocab.ids;
        if (vocab_add(&t->vocab, file, token->text, token->size, id, e)) return e->code;
        known = (int32_t)id;
        t->vocab.token[known].added = true;
        text_line(report, "added token %s has id %d", token->text, known);
    }
    if (token->special) t->vocab.token[known].special = true;
    struct added_token own = *token;
    own.id = known;
    struct buf text = BUF_INIT;
    if (own.normalized) normalizer_run(&t->normalizer, token->text, token->size, &text);
    else buf_add(&text, token->text, token->size);
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

static int read_vocabulary(struct tokenizer *t, const char *path, const json_t *model,
                           struct err *e) {
    json_t *vocab = json_object_get(model, "vocab"), *id;
    const char *token;
    if (!json_is_object(vocab) || !json_object_size(vocab))
        return err_set(e, ERR_INPUT, "%s: \"model\" must have a \"vocab\" object with tokens",
                       path);
    if (json_object_size(vocab) > VOCAB_IDS)
        return err_set(e, ERR_INPUT, "%s: more than %d tokens", path, VOCAB_IDS);
    json_object_foreach(vocab, token, id) {
        if (!json_is_integer(id)) {
            char *shown = text_visible(token, strlen(token));
            err_set(e, ERR_INPUT, "%s: the id of token \"%.80s\" is not a whole number", path,
                    shown);
            free(shown);
            return e->code;
        }
        if (vocab_add(&t->vocab, path, token, strlen(token), json_integer_value(id), e))
            return e->code;
    }
    return 0;
}

static int read_model(struct tokenizer *t, const char *path, const json_t *root, struct err *e) {
    const json_t *model = json_object_get(root, "model");
    if (!json_is_object(model)) return err_set(e, ERR_INPUT, "%s: no \"model\" object", path);
    const json_t *type = json_object_get(model, "type");
    const char *name = json_string_value(type);
    /* old files leave the type out; only WordPiece has this key */
    if (!type && json_object_get(model, "continuing_subword_prefix")) name = "WordPiece";
    if (!name || strcmp(name, "WordPiece"))
        return err_set(e, ERR_INPUT, "%s: the tokenizer model is %s; petri reads WordPiece", path,
                       name ? name : "nameless");
    const char *prefix = "##", *unknown = "[UNK]";
    json_int_t most = 100;
    e->code = 0;
    json_get_string(model, path, "continuing_subword_prefix", &prefix, e);
    json_get_string(model, path, "unk_token", &unknown, e);
    json_get_int(model, path, "max_input_chars_per_word", &most, e);
    if (e->code) return e->code;
    if (most < 1 || most > WORD_CHARS)
        return err_set(e, ERR_INPUT, "%s: \"max_input_chars_per_word\" is %lld; 1 to %d would do",
                       path, (long long)most, WORD_CHARS);
    if (strlen(prefix) > 64)
        return err_set(e, ERR_INPUT, "%s: \"continuing_subword_prefix\" is longer than 64 bytes",
                       path);
    if (read_vocabulary(t, path, model, e)) return e->code;
    t->model.prefix = xstrdup(prefix);
    t->model.prefix_size = strlen(prefix);
    t->model.most_chars = (size_t)most;
    t->model.unknown = vocab_find(&t->vocab, unknown, strlen(unknown));
    if (t->model.unknown < 0)
        return err_set(e, ERR_INPUT, "%s: the unknown token \"%s\" is not in the vocabulary", path,
                       unknown);
    return 0;
}

static int read_normalizer(struct tokenizer *t, const char *path, const json_t *root,
                           struct err *e) {
    const json_t *part = json_object_get(root, "normalizer");
    struct normalizer *z = &t->normalizer;
    if (!part || json_is_null(part)) return 0;
    if (strcmp(type_of(part), "BertNormalizer"))
        return err_set(e, ERR_INPUT, "%s: the normalizer is %s; petri reads BertNormalizer", path,
                       type_of(part));
    *z = (struct normalizer){true, true, true, true, true};
    e->code = 0;
    json_get_bool(part, path, "clean_text", &z->clean, e);
    json_get_bool(part, path, "handle_chinese_chars", &z->ideographs, e);
    json_get_bool(part, path, "lowercase", &z->lowercase, e);
    z->strip_accents = z->lowercase;
    json_get_bool(part, path, "strip_accents", &z->strip_accents, e);
    return e->code;
}

/* tokenizer_config.json has the last word, as in the reference. */
static int apply_settings(struct tokenizer *t, const char *settings_path, const json_t *settings,
                          const char *path, const json_t *root, struct buf *report, struct err *e) {
    struct normalizer *z = &t->normalizer, was = *z;
    if (!settings || !z->on) return 0;
    bool stripped;
    e->code = 0;
    json_get_bool(settings, settings_path, "do_lower_case", &z->lowercase, e);
    json_get_bool(settings, settings_path, "tokenize_chinese_chars", &z->ideographs, e);
    const json_t *own = json_object_get(json_object_get(root, "normalizer"), "strip_accents");
    if (!json_is_boolean(own)) z->strip_accents = z->lowercase;
    if (json_get_bool(settings, settings_path, "strip_accents", &stripped, e))
        z->strip_accents = stripped;
    if (e->code) return e->code;
    if (was.lowercase != z->lowercase)
        text_line(report, "%s says lowercase %s, %s says %s: %s wins", path,
            was.lowercase ? "true" : "false", settings_path, z->lowercase ? "true" : "false",
            settings_path);
    if (was.ideographs != z->ideographs || (was.strip_accents != z->strip_accents &&
                                            was.lowercase == z->lowercase))
        text_line(report, "%s and %s differ on accents or Chinese characters: %s wins", path,
                  settings_path, settings_path);
    return 0;
}

static int read_added(struct tokenizer *t, const char *path, const json_t *root,
                      struct buf *report, struct err *e) {
    const json_t *list = json_object_get(root, "added_tokens");
    if (!list || json_is_null(list)) return 0;
    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "%s: \"added_tokens\" must be an array", path);
    if (json_array_size(list) > ADDED_TOKENS)
        return err_set(e, ERR_INPUT, "%s: more than %d added tokens", path, ADDED_TOKENS);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *content = NULL;
        json_int_t id = -1;
        struct added_token token = {.normalized = true};
        e->code = 0;
        if (!json_is_object(item))
            return err_set(e, ERR_INPUT, "%s: added token %zu is not an object", path, i);
        json_get_string(item, path, "content", &content, e);
        json_get_int(item, path, "id", &id, e);
        json_get_bool(item, path, "special", &token.special, e);
        token.normalized = !token.special;
        json_get_bool(item, path, "normalized", &token.normalized, e);
        json_get_bool(item, path, "single_word", &token.single_word, e);
        json_get_bool(item, path, "lstrip", &token.lstrip, e);
        json_get_bool(item, path, "rstrip", &token.rstrip, e);
        if (e->code) return err_prefix(e, "added token %zu", i);
        if (!content || strlen(content) > ADDED_SIZE)
            return err_set(e, ERR_INPUT, "%s: added token %zu needs a \"content\" of 1 to %d bytes",
                           path, i, ADDED_SIZE);
        if (id < 0 || id >= VOCAB_IDS)
            return err_set(e, ERR_INPUT, "%s: added token %zu has id %lld; ids go from 0 to %d",
                           path, i, (long long)id, VOCAB_IDS - 1);
        if (!*content) continue;
        token.text = (char *)content;
        token.size = strlen(content);
        if (tokenizer_add(t, path, &token, id, report, e)) return e->code;
    }
    return 0;
}

static bool add_piece(struct template *f, int text, int32_t id, json_int_t type) {
    if (f->pieces == TEMPLATE_PIECES || type < 0 || type > 255) return false;
    f->piece[f->pieces++] = (struct template_piece){text, id, (uint8_t)type};
    f->tokens += text < 0;
    return true;
}

/* One {"SpecialToken":{…}} or {"Sequence":{…}}. */
static int read_piece(struct tokenizer *t, struct template *f, const char *path, const json_t *item,
                      const json_t *specials, struct err *e) {
    const json_t *special = json_object_get(item, "SpecialToken");
    const json_t *text = json_object_get(item, "Sequence");
    const json_t *part = special ? special : text;
    const char *name = json_string_value(json_object_get(part, "id"));
    json_int_t type = json_integer_value(json_object_get(part, "type_id"));
    if (!name) return err_set(e, ERR_INPUT, "%s: a piece of the template has no name", path);
    bool fits = true;
    if (text) {
        if (strcmp(name, "A") && strcmp(name, "B"))
            return err_set(e, ERR_INPUT, "%s: the template names a text \"%s\"; A and B are known",
                           path, name);
        fits = add_piece(f, name[0] == 'B', -1, type);
    } else {
        const json_t *ids = json_object_get(json_object_get(specials, name), "ids");
        if (!json_array_size(ids))
            return err_set(e, ERR_INPUT, "%s: the template's token \"%s\" has no ids", path, name);
        for (size_t i = 0; fits && i < json_array_size(ids); i++) {
            const json_t *id = json_array_get(ids, i);
            json_int_t v = json_is_integer(id) ? json_integer_value(id) : -1;
            if (v < 0 || v >= (json_int_t)t->vocab.ids || !vocab_text(&t->vocab, (int32_t)v))
                return err_set(e, ERR_INPUT,
                               "%s: the template's token \"%s\" has an id that no token "
                               "has",
                               path, name);
            fits = add_piece(f, -1, (int32_t)v, type);
        }
    }
    return fits ? 0 : err_set(e, ERR_INPUT, "%s: the template has more than %d pieces or a type id "
                              "above 255", path, TEMPLATE_PIECES);
}

static int read_form(struct tokenizer *t, struct template *f, const char *path, const json_t *part,
                     const char *key, struct err *e) {
    const json_t *list = json_object_get(part, key);
    int seen[2] = {0, 0};
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read_piece(t, f, path, json_array_get(list, i), json_object_get(part, "special_tokens"),
                       e))
            return e->code;
    for (int i = 0; i < f->pieces; i++)
        if (f->piece[i].text >= 0) seen[f->piece[i].text]++;
    if (seen[0] != 1 || seen[1] != !strcmp(key, "pair"))
        return err_set(e, ERR_INPUT, "%s: the template \"%s\" must hold each text once", path, key);
    return 0;
}

int tokenizer_bert_templates(struct tokenizer *t, const char *file, const char *cls,
                             const char *sep, struct err *e) {
    int32_t c = vocab_find(&t->vocab, cls, strlen(cls)),
            s = vocab_find(&t->vocab, sep, strlen(sep));
    if (c < 0 || s < 0)
        return err_set(e, ERR_INPUT, "%s: the special token \"%s\" is not in the vocabulary", file,
                       c < 0 ? cls : sep);
    t->single = (struct template){3, 2, {{-1, c, 0}, {0, -1, 0}, {-1, s, 0}}};
    t->pair = (struct template){5, 3, {{-1, c, 0}, {0, -1, 0}, {-1, s, 0}, {1, -1, 1}, {-1, s, 1}}};
    return 0;
}

static int read_templates(struct tokenizer *t, const char *path, const json_t *root,
                          struct buf *report, struct err *e) {
    const json_t *part = json_object_get(root, "post_processor");
    if (!part || json_is_null(part)) {
        text_line(report, "%s has no post_processor: [CLS] and [SEP] are set as BERT does", path);
        return tokenizer_bert_templates(t, path, "[CLS]", "[SEP]", e);
    }
    if (!strcmp(type_of(part), "BertProcessing")) {
        const char *cls = json_string_value(json_array_get(json_object_get(part, "cls"), 0));
        const char *sep = json_string_value(json_array_get(json_object_get(part, "sep"), 0));
        if (!cls || !sep)
            return err_set(e, ERR_INPUT, "%s: BertProcessing needs \"cls\" and \"sep\"", path);
        return tokenizer_bert_templates(t, path, cls, sep, e);
    }
    if (strcmp(type_of(part), "TemplateProcessing"))
        return err_set(e, ERR_INPUT,
                       "%s: the post_processor is %s; petri reads TemplateProcessing and "
                       "BertProcessing",
                       path, type_of(part));
    if (read_form(t, &t->single, path, part, "single", e)) return e->code;
    return read_form(t, &t->pair, path, part, "pair", e);
}

static int read_root(struct tokenizer *t, const char *path, const json_t *root,
                     const char *settings_path, const json_t *settings, struct buf *report,
                     struct err *e) {
    if (!json_is_object(root)) return err_set(e, ERR_INPUT, "%s: must be a JSON object", path);
    if (read_model(t, path, root, e) || read_normalizer(t, path, root, e) ||
        apply_settings(t, settings_path, settings, path, root, report, e))
        return e->code;
    const json_t *cut = json_object_get(root, "pre_tokenizer");
    if (strcmp(type_of(cut), "BertPreTokenizer"))
        return err_set(e, ERR_INPUT, "%s: the pre_tokenizer is %s; petri reads BertPreTokenizer",
                       path, type_of(cut));
    if (read_added(t, path, root, report, e) || read_templates(t, path, root, report, e) ||
        decoder_read(&t->decoder, path, json_object_get(root, "decoder"), e))
        return e->code;
    static const char *const baked[] = {"truncation", "padding"};
    for (size_t i = 0; i < COUNT_OF(baked); i++) {
        const json_t *v = json_object_get(root, baked[i]);
        if (v && !json_is_null(v)) text_line(report, "%s: its own %s is not used", path, baked[i]);
    }
    return 0;
}

int tokenizer_read_json(struct tokenizer *t, const char *path, const char *settings_path,
                        const void *settings, struct buf *report, struct err *e) {
    json_t *root = json_read(path, TOKENIZER_FILE, e);
    if (!root) return e->code;
    int rc = read_root(t, path, root, settings_path, settings, report, e);
    json_decref(root);
    return rc;
}
