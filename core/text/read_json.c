#include <jansson.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

/* BERT's settings in tokenizer_config.json take precedence, as in the reference. */
static int bert_settings(struct tokenizer *t, const char *path, const json_t *root,
                         const struct reading *r, struct err *e) {
    if (!t->normalizer.count || t->normalizer.step[0].kind != NORMALIZER_BERT) return 0;
    struct bert_normalizer *z = &t->normalizer.step[0].bert, was = *z;
    bool stripped;
    e->code = 0;
    json_get_bool(r->settings, r->settings_path, "do_lower_case", &z->lowercase, e);
    json_get_bool(r->settings, r->settings_path, "tokenize_chinese_chars", &z->ideographs, e);
    const json_t *own = json_object_get(json_object_get(root, "normalizer"), "strip_accents");
    if (!json_is_boolean(own)) z->strip_accents = z->lowercase;
    if (json_get_bool(r->settings, r->settings_path, "strip_accents", &stripped, e))
        z->strip_accents = stripped;
    if (e->code) return e->code;
    if (was.lowercase != z->lowercase)
        text_line(r->report, "lowercase: %s has %s, %s has %s; %s is used", path,
                  was.lowercase ? "true" : "false", r->settings_path,
                  z->lowercase ? "true" : "false", r->settings_path);
    if (was.ideographs != z->ideographs || (was.strip_accents != z->strip_accents &&
                                            was.lowercase == z->lowercase))
        text_line(r->report, "%s and %s disagree on accents or Chinese characters; %s is used", path,
                  r->settings_path, r->settings_path);
    return 0;
}

/* The same holds for add_prefix_space of byte-level tokenizers without a split of another kind before it. */
static int prefix_setting(struct tokenizer *t, const char *path, const struct reading *r,
                          struct err *e) {
    bool prefix;
    e->code = 0;
    if (!json_get_bool(r->settings, r->settings_path, "add_prefix_space", &prefix, e))
        return e->code;
    struct cut *c = &t->pretokenizer.step[0];
    if (!t->pretokenizer.count || c->kind != CUT_BYTE_LEVEL || (c->prepend == PREPEND_ALWAYS) == prefix)
        return 0;
    c->prepend = prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    text_line(r->report, "add_prefix_space: %s has %s, %s has %s; %s is used", path,
              prefix ? "false" : "true", r->settings_path, prefix ? "true" : "false", r->settings_path);
    return 0;
}

/* add_bos_token and add_eos_token replace the templates of decoder-only models, so that a token is never
 * added twice. */
static int ends_setting(struct tokenizer *t, const char *path, const struct reading *r, struct err *e) {
    bool bos = false, eos = false;
    e->code = 0;
    bool set = json_get_bool(r->settings, r->settings_path, "add_bos_token", &bos, e);
    set = json_get_bool(r->settings, r->settings_path, "add_eos_token", &eos, e) || set;
    if (e->code || !set || t->kind != MODEL_BPE) return e->code;
    int tokens = t->single.tokens;
    tokenizer_end_templates(t, bos ? tokenizer_named(t, r->settings, "bos_token") : -1,
                            eos ? tokenizer_named(t, r->settings, "eos_token") : -1);
    if (t->single.tokens != tokens)
        text_line(r->report, "special tokens added to a text: %s has %d, %s has %d; %s is used", path, tokens,
                  r->settings_path, t->single.tokens, r->settings_path);
    return 0;
}

static int read_pretokenizer(struct tokenizer *t, const char *path, const json_t *root, struct err *e) {
    if (pretokenizer_read(&t->pretokenizer, path, json_object_get(root, "pre_tokenizer"), e)) return e->code;
    if (t->kind == MODEL_WORDPIECE && !t->pretokenizer.count)
        return err_set(e, ERR_INPUT, "%s: pre_tokenizer is missing; WordPiece needs one (BertPreTokenizer)",
                       path);
    return 0;
}

int tokenizer_read_root(struct tokenizer *t, const char *path, const json_t *root, const struct reading *r,
                        struct err *e) {
    if (!json_is_object(root)) return err_set(e, ERR_INPUT, "%s: must be a JSON object", path);
    if (tokenizer_read_model(t, path, root, r->report, e) ||
        normalizer_read(&t->normalizer, path, json_object_get(root, "normalizer"), e) ||
        read_pretokenizer(t, path, root, e) ||
        (r->settings && (bert_settings(t, path, root, r, e) || prefix_setting(t, path, r, e))) ||
        tokenizer_read_added(t, path, root, r->report, e) ||
        tokenizer_read_templates(t, path, json_object_get(root, "post_processor"), r->report, e) ||
        (r->settings && ends_setting(t, path, r, e)) ||
        decoder_read(&t->decoder, path, json_object_get(root, "decoder"), e))
        return e->code;
    if (!t->single.tokens) text_line(r->report, "%s: no special tokens are added to a text", path);
    static const char *const baked[] = { "truncation", "padding" };
    for (size_t i = 0; i < COUNT_OF(baked); i++) {
        const json_t *v = json_object_get(root, baked[i]);
        if (v && !json_is_null(v))
            text_line(r->report, "%s: \"%s\" is ignored", path, baked[i]);
    }
    return 0;
}

int tokenizer_read_json(struct tokenizer *t, const char *path, const struct reading *r,
                        struct err *e) {
    json_t *root = json_read(path, TOKENIZER_FILE, e);
    if (!root) return e->code;
    int rc = tokenizer_read_root(t, path, root, r, e);
    json_decref(root);
    return rc;
}
