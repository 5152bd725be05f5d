#include "core/text/pretokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/text/bert.h"
#include "core/text/bytes.h"
#include "core/text/unicode.h"

void pretokenizer_work_release(struct pretokenizer_work *w) {
    for (size_t i = 0; i < PRETOKENIZER_STEPS; i++) {
        buf_release(&w->text[i]);
        buf_release(&w->signs[i]);
    }
}

/* ---- the chain ---- */

struct pretokenizer_run {
    const struct pretokenizer *pretokenizer;
    struct pretokenizer_work *work;
    void (*piece)(void *self, const char *s, size_t n);
    void *self;
};

static void pretokenizer_cut(const struct pretokenizer_run *r, size_t level, const char *s, size_t n,
                             enum text_place place);

static void at_blanks(const struct pretokenizer_run *r, size_t level, const char *s, size_t n,
                      enum text_place place) {
    size_t at = 0, from = 0;
    while (at <= n) {
        uint32_t cp = ' ';
        size_t used = at < n ? utf8_decode(s + at, n - at, &cp) : 1;
        if (unicode_is_space(cp)) {
            if (at > from) pretokenizer_cut(r, level + 1, s + from, at - from, from ? TEXT_LATER : place);
            from = at + used;
        }
        at += used;
    }
}

static void at_digits(const struct pretokenizer_run *r, size_t level, const char *s, size_t n,
                      enum text_place place) {
    bool each = r->pretokenizer->step[level].split, before = false;
    size_t from = 0, used;
    for (size_t at = 0; at < n; at += used) {
        uint32_t cp;
        used = utf8_decode(s + at, n - at, &cp);
        bool digit = unicode_is_numeric(cp);
        if (at && (digit != before || (digit && each))) {
            pretokenizer_cut(r, level + 1, s + from, at - from, from ? TEXT_LATER : place);
            from = at;
        }
        before = digit;
    }
    pretokenizer_cut(r, level + 1, s + from, n - from, from ? TEXT_LATER : place);
}

static void at_matches(const struct pretokenizer_run *r, size_t level, const char *s, size_t n,
                       enum text_place place) {
    enum regex x = r->pretokenizer->step[level].regex;
    for (size_t at = 0, end; at < n; at = end) {
        end = regex_next(x, s, n, at);
        pretokenizer_cut(r, level + 1, s + at, end - at, at ? TEXT_LATER : place);
    }
}

static void pretokenizer_byte_level_run(const struct pretokenizer_run *r, size_t level, const char *s,
                                        size_t n, enum text_place place) {
    const struct cut *c = &r->pretokenizer->step[level];
    struct buf *text = &r->work->text[level], *signs = &r->work->signs[level];
    if (c->prepend == PREPEND_ALWAYS && place != TEXT_CONTINUED && n && s[0] != ' ') {
        buf_clear(text);
        buf_putc(text, ' ');
        buf_add(text, s, n);
        s = text->data;
        n = text->size;
    }
    for (size_t at = 0, end; at < n; at = end) {
        end = c->split ? regex_next(REGEX_GPT2, s, n, at) : n;
        buf_clear(signs);
        bytes_to_signs(s + at, end - at, signs);
        pretokenizer_cut(r, level + 1, signs->data, signs->size, at ? TEXT_LATER : place);
    }
}

static void pretokenizer_metaspace(const struct pretokenizer_run *r, size_t level, const char *s, size_t n,
                                   enum text_place place) {
    const struct cut *c = &r->pretokenizer->step[level];
    struct buf *text = &r->work->text[level];
    bool signed_already = s[0] == ' ' || (n >= c->sign_size && !memcmp(s, c->sign, c->sign_size));
    buf_clear(text);
    if (!signed_already &&
        ((c->prepend == PREPEND_ALWAYS && place != TEXT_CONTINUED) ||
         (c->prepend == PREPEND_FIRST && place == TEXT_START)))
        buf_add(text, c->sign, c->sign_size);
    for (size_t i = 0; i < n; i++) {
        if (s[i] == ' ') buf_add(text, c->sign, c->sign_size);
        else buf_putc(text, s[i]);
    }
    s = text->data;
    n = text->size;
    for (size_t at = 0, end; at < n; at = end) {
        end = n;
        if (c->split && n - at > 1) {
            const char *next = memmem(s + at + 1, n - at - 1, c->sign, c->sign_size);
            if (next) end = (size_t)(next - s);
        }
        pretokenizer_cut(r, level + 1, s + at, end - at, at ? TEXT_LATER : place);
    }
}

static void pretokenizer_cut(const struct pretokenizer_run *r, size_t level, const char *s, size_t n,
                             enum text_place place) {
    if (!n) return;
    if (level == r->pretokenizer->count) {
        r->piece(r->self, s, n);
        return;
    }
    size_t at = 0, from, to;
    switch (r->pretokenizer->step[level].kind) {
    case CUT_BERT:
        while (bert_next_word(s, n, &at, &from, &to))
            pretokenizer_cut(r, level + 1, s + from, to - from, from ? TEXT_LATER : place);
        break;
    case CUT_BLANKS: at_blanks(r, level, s, n, place); break;
    case CUT_DIGITS: at_digits(r, level, s, n, place); break;
    case CUT_MATCHES: at_matches(r, level, s, n, place); break;
    case CUT_BYTE_LEVEL: pretokenizer_byte_level_run(r, level, s, n, place); break;
    case CUT_METASPACE: pretokenizer_metaspace(r, level, s, n, place); break;
    }
}

void pretokenizer_run(const struct pretokenizer *c, const char *s, size_t n, enum text_place place,
                      struct pretokenizer_work *w, void (*piece)(void *self, const char *s, size_t n),
                      void *self) {
    pretokenizer_cut(&(struct pretokenizer_run){ c, w, piece, self }, 0, s, n, place);
}

/* ---- reading ---- */

void pretokenizer_byte_level(struct pretokenizer *c, bool prefix_space) {
    c->step[c->count++] = (struct cut){ .kind = CUT_BYTE_LEVEL, .split = true,
                                       .prepend = prefix_space ? PREPEND_ALWAYS : PREPEND_NEVER };
}

void pretokenizer_qwen2(struct pretokenizer *c, bool prefix_space) {
    c->step[c->count++] = (struct cut){ .kind = CUT_MATCHES, .regex = REGEX_QWEN2 };
    pretokenizer_byte_level(c, prefix_space);
    c->step[c->count - 1].split = false;
}

static int read_byte_level(struct cut *c, const char *path, const json_t *part, struct err *e) {
    bool prefix = true, split = true;
    e->code = 0;
    json_get_bool(part, path, "add_prefix_space", &prefix, e);
    json_get_bool(part, path, "use_regex", &split, e);
    *c = (struct cut){ .kind = CUT_BYTE_LEVEL, .split = split,
                      .prepend = prefix ? PREPEND_ALWAYS : PREPEND_NEVER };
    return e->code ? err_prefix(e, "pre_tokenizer ByteLevel") : 0;
}

static int read_digits(struct cut *c, const char *path, const json_t *part, struct err *e) {
    *c = (struct cut){ .kind = CUT_DIGITS };
    e->code = 0;
    json_get_bool(part, path, "individual_digits", &c->split, e);
    return e->code ? err_prefix(e, "pre_tokenizer Digits") : 0;
}

/* All text matches the supported expressions, so "invert" would not change the pieces. */
static int read_split(struct cut *c, const char *path, const json_t *part, struct err *e) {
    const char *behavior = "\"behavior\" is missing";
    e->code = 0;
    json_get_string(part, path, "behavior", &behavior, e);
    if (e->code) return err_prefix(e, "pre_tokenizer Split");
    if (strcmp(behavior, "Isolated"))
        return err_set(e, ERR_INPUT,
                       "%s: pre_tokenizer Split: unsupported behavior: %.40s; supported: Isolated", path,
                       behavior);
    const json_t *pattern = json_object_get(part, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *text = regex ? regex : json_string_value(json_object_get(pattern, "String"));
    if (!text)
        return err_set(e, ERR_INPUT, "%s: pre_tokenizer Split: \"pattern\" must be a \"String\" or \"Regex\"",
                       path);
    *c = (struct cut){ .kind = CUT_MATCHES, .regex = regex ? regex_find(regex) : REGEX_NONE };
    if (c->regex != REGEX_NONE) return 0;
    char *shown = text_visible(text, strlen(text) > 240 ? 240 : strlen(text));
    err_set(e, ERR_INPUT,
            "%s: pre_tokenizer Split: unsupported %s \"%s\"; supported: the regular expressions of GPT-2, "
            "Qwen2 and Llama 3", path, regex ? "regular expression" : "text", shown);
    free(shown);
    return e->code;
}

static int pretokenizer_read_metaspace(struct cut *c, const char *path, const json_t *part, struct err *e) {
    const char *sign = "\u2581", *scheme = NULL;
    bool prefix = true, split = true;
    e->code = 0;
    json_get_string(part, path, "replacement", &sign, e);
    json_get_string(part, path, "prepend_scheme", &scheme, e);
    json_get_bool(part, path, "add_prefix_space", &prefix, e);
    json_get_bool(part, path, "split", &split, e);
    if (e->code) return err_prefix(e, "pre_tokenizer Metaspace");
    if (!utf8_is_one(sign))
        return err_set(e, ERR_INPUT,
                       "%s: pre_tokenizer Metaspace: \"replacement\" must be one character", path);
    if (scheme && strcmp(scheme, "always") && strcmp(scheme, "first") && strcmp(scheme, "never"))
        return err_set(e, ERR_INPUT,
                       "%s: pre_tokenizer Metaspace: unknown \"prepend_scheme\" \"%.20s\"; must be "
                       "always, first or never", path, scheme);
    /* older files have only add_prefix_space, newer ones only the scheme */
    *c = (struct cut){ .kind = CUT_METASPACE, .split = split, .sign_size = strlen(sign) };
    memcpy(c->sign, sign, c->sign_size);
    c->prepend = !prefix || (scheme && scheme[0] == 'n') ? PREPEND_NEVER
               : scheme && scheme[0] == 'f' ? PREPEND_FIRST : PREPEND_ALWAYS;
    return 0;
}

int pretokenizer_read(struct pretokenizer *c, const char *path, const json_t *part, struct err *e) {
    if (!part || json_is_null(part)) return 0;
    const char *type = json_string_value(json_object_get(part, "type"));
    if (!type) type = "\"type\" is missing";
    if (!strcmp(type, "Sequence")) {
        const json_t *list = json_object_get(part, "pretokenizers");
        if (!json_is_array(list))
            return err_set(e, ERR_INPUT, "%s: pre_tokenizer Sequence: \"pretokenizers\" is missing",
                           path);
        for (size_t i = 0; i < json_array_size(list); i++)
            if (pretokenizer_read(c, path, json_array_get(list, i), e)) return e->code;
        return 0;
    }
    if (c->count == PRETOKENIZER_STEPS)
        return err_set(e, ERR_INPUT, "%s: pre_tokenizer: more than %d steps", path,
                       PRETOKENIZER_STEPS);
    struct cut *step = &c->step[c->count++];
    if (!strcmp(type, "ByteLevel")) return read_byte_level(step, path, part, e);
    if (!strcmp(type, "Metaspace")) return pretokenizer_read_metaspace(step, path, part, e);
    if (!strcmp(type, "Digits")) return read_digits(step, path, part, e);
    if (!strcmp(type, "Split")) return read_split(step, path, part, e);
    bool bert = !strcmp(type, "BertPreTokenizer");
    if (!bert && strcmp(type, "WhitespaceSplit"))
        return err_set(e, ERR_INPUT,
                       "%s: unsupported pre_tokenizer: %s; supported: BertPreTokenizer, "
                       "WhitespaceSplit, Digits, Split, ByteLevel, Metaspace and Sequence", path, type);
    *step = (struct cut){ .kind = bert ? CUT_BERT : CUT_BLANKS };
    return 0;
}
