#include "core/text/normalizer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"

/* ---- steps ---- */

static void lowercase(const char *s, size_t n, struct buf *out) {
    while (n) {
        uint32_t cp, lower[2];
        size_t used = utf8_decode(s, n, &cp), parts = unicode_lower(cp, lower);
        for (size_t i = 0; i < parts; i++) utf8_add(out, lower[i]);
        s += used;
        n -= used;
    }
}

static void strip_accents(const char *s, size_t n, struct buf *out) {
    while (n) {
        uint32_t cp;
        size_t used = utf8_decode(s, n, &cp);
        if (!unicode_is_any_mark(cp)) buf_add(out, s, used);
        s += used;
        n -= used;
    }
}

static void normalizer_strip(const struct normalizer_step *z, const char *s, size_t n, struct buf *out) {
    uint32_t cp;
    size_t used;
    while (z->left && n && (used = utf8_decode(s, n, &cp)) && unicode_is_space(cp)) {
        s += used;
        n -= used;
    }
    while (z->right && n) {
        size_t at = n - 1;
        while (at && n - at < 4 && ((unsigned char)s[at] & 0xC0) == 0x80) at--;
        if (utf8_decode(s + at, n - at, &cp) != n - at || !unicode_is_space(cp)) break;
        n = at;
    }
    buf_add(out, s, n);
}

static void text_normalizer_step(const struct normalizer_step *z, const char *s, size_t n, struct buf *out) {
    switch (z->kind) {
    case NORMALIZER_BERT: bert_normalize(&z->bert, s, n, out); break;
    case NORMALIZER_FORM: normalizer_form(z->compatible, z->compose, s, n, out); break;
    case NORMALIZER_LOWERCASE: lowercase(s, n, out); break;
    case NORMALIZER_STRIP_ACCENTS: strip_accents(s, n, out); break;
    case NORMALIZER_STRIP: normalizer_strip(z, s, n, out); break;
    case NORMALIZER_REPLACE: pattern_replace(&z->pattern, s, n, z->text, z->size, out); break;
    case NORMALIZER_CHARSMAP: charsmap_run(&z->map, s, n, out); break;
    case NORMALIZER_PREPEND:
        if (n) buf_add(out, z->text, z->size);
        buf_add(out, s, n);
        break;
    }
}

/* Returns whether the step removes the first character of s.  (The map does not count: the reference keeps
 * the position of characters dropped at the start.) */
static bool drops_first(const struct normalizer_step *z, const char *s, size_t n) {
    if (!n || z->kind == NORMALIZER_PREPEND || z->kind == NORMALIZER_CHARSMAP ||
        z->kind == NORMALIZER_FORM || z->kind == NORMALIZER_LOWERCASE)
        return false;
    size_t from, to;
    if (z->kind == NORMALIZER_REPLACE)
        return !z->size && pattern_next(&z->pattern, s, n, 0, &from, &to) && !from;
    uint32_t cp;
    struct buf out = BUF_INIT;
    text_normalizer_step(z, s, utf8_decode(s, n, &cp), &out);
    bool gone = !out.size;
    buf_release(&out);
    return gone;
}

void normalizer_run(const struct normalizer *z, const char *s, size_t n, enum text_place *place,
                    struct buf *out) {
    struct buf between[2] = { BUF_INIT, BUF_INIT };
    if (!z->count) buf_add(out, s, n);
    for (size_t i = 0; i < z->count; i++) {
        struct buf *to = i + 1 == z->count ? out : &between[i & 1];
        if (to != out) buf_clear(to);
        bool continued = place && *place == TEXT_CONTINUED && z->step[i].kind == NORMALIZER_PREPEND;
        if (place && *place == TEXT_START && drops_first(&z->step[i], s, n)) *place = TEXT_LATER;
        if (continued) buf_add(to, s, n);
        else text_normalizer_step(&z->step[i], s, n, to);
        s = buf_text(to);
        n = to->size;
    }
    buf_release(&between[0]);
    buf_release(&between[1]);
}

/* ---- reading ---- */

static int normalizer_read_bert(struct normalizer_step *s, const char *path, const json_t *part,
                                struct err *e) {
    struct bert_normalizer *z = &s->bert;
    *z = (struct bert_normalizer){ true, true, true, true };
    e->code = 0;
    json_get_bool(part, path, "clean_text", &z->clean, e);
    json_get_bool(part, path, "handle_chinese_chars", &z->ideographs, e);
    json_get_bool(part, path, "lowercase", &z->lowercase, e);
    z->strip_accents = z->lowercase;
    json_get_bool(part, path, "strip_accents", &z->strip_accents, e);
    return e->code;
}

static int read_text(struct normalizer_step *s, const char *path, const char *type,
                     const json_t *part, const char *key, struct err *e) {
    const char *text = NULL;
    e->code = 0;
    json_get_string(part, path, key, &text, e);
    if (e->code) return err_prefix(e, "normalizer %s", type);
    if (!text || strlen(text) > 512)
        return err_set(e, ERR_INPUT, "%s: normalizer %s: \"%s\" must be a string of at most 512 bytes",
                       path, type, key);
    s->text = xstrdup(text);
    s->size = strlen(text);
    return 0;
}

/* A step without parameters. */
static bool plain_step(struct normalizer_step *s, const char *type) {
    static const struct {
        const char *name;
        enum normalizer_kind kind;
        bool compatible, compose;
    } known[] = {
        { "NFC", NORMALIZER_FORM, false, true },     { "NFD", NORMALIZER_FORM, false, false },
        { "NFKC", NORMALIZER_FORM, true, true },     { "NFKD", NORMALIZER_FORM, true, false },
        { "Lowercase", NORMALIZER_LOWERCASE, 0, 0 }, { "StripAccents", NORMALIZER_STRIP_ACCENTS, 0, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(type, known[i].name)) continue;
        s->kind = known[i].kind;
        s->compatible = known[i].compatible;
        s->compose = known[i].compose;
        return true;
    }
    return false;
}

static int normalizer_read_step(struct normalizer_step *s, const char *path, const char *type,
                                const json_t *part, struct err *e) {
    if (plain_step(s, type)) return 0;
    if (!strcmp(type, "BertNormalizer")) {
        s->kind = NORMALIZER_BERT;
        return normalizer_read_bert(s, path, part, e);
    }
    if (!strcmp(type, "Strip")) {
        s->kind = NORMALIZER_STRIP;
        s->left = s->right = true;
        e->code = 0;
        json_get_bool(part, path, "strip_left", &s->left, e);
        json_get_bool(part, path, "strip_right", &s->right, e);
        return e->code;
    }
    if (!strcmp(type, "Prepend")) {
        s->kind = NORMALIZER_PREPEND;
        return read_text(s, path, type, part, "prepend", e);
    }
    if (!strcmp(type, "Replace")) {
        s->kind = NORMALIZER_REPLACE;
        if (read_text(s, path, type, part, "content", e)) return e->code;
        return pattern_read(&s->pattern, path, "normalizer Replace",
                            json_object_get(part, "pattern"), e);
    }
    if (!strcmp(type, "Precompiled")) {
        s->kind = NORMALIZER_CHARSMAP;
        return charsmap_read(&s->map, path, json_object_get(part, "precompiled_charsmap"), e);
    }
    return err_set(e, ERR_INPUT,
                   "%s: unsupported normalizer: %s; supported: BertNormalizer, NFC, NFD, NFKC, NFKD, "
                   "Lowercase, StripAccents, Strip, Prepend, Replace, Precompiled and Sequence", path, type);
}

static int normalizer_read_chain(struct normalizer *z, const char *path, const json_t *part, struct err *e) {
    if (!part || json_is_null(part)) return 0;
    const char *type = json_string_value(json_object_get(part, "type"));
    if (!type) type = "\"type\" is missing";
    if (!strcmp(type, "Sequence")) {
        const json_t *list = json_object_get(part, "normalizers");
        if (!json_is_array(list))
            return err_set(e, ERR_INPUT, "%s: normalizer Sequence: \"normalizers\" is missing", path);
        for (size_t i = 0; i < json_array_size(list); i++)
            if (normalizer_read_chain(z, path, json_array_get(list, i), e)) return e->code;
        return 0;
    }
    if (z->count == NORMALIZER_STEPS)
        return err_set(e, ERR_INPUT, "%s: normalizer: more than %d steps", path,
                       NORMALIZER_STEPS);
    return normalizer_read_step(&z->step[z->count++], path, type, part, e);
}

/* Steps that expand each other's output could exhaust the memory. */
static int check_growth(const struct normalizer *z, const char *path, struct err *e) {
    size_t growth = 1;
    for (size_t i = 0; i < z->count && growth <= NORMALIZER_GROWTH; i++) {
        const struct normalizer_step *s = &z->step[i];
        if (s->kind == NORMALIZER_REPLACE) growth *= pattern_growth(&s->pattern, s->size);
        if (s->kind == NORMALIZER_CHARSMAP && s->map.longest) growth *= s->map.longest;
    }
    if (growth <= NORMALIZER_GROWTH) return 0;
    return err_set(e, ERR_INPUT,
                   "%s: normalizer: the replacements can make a text more than %d times as long",
                   path, NORMALIZER_GROWTH);
}

int normalizer_read(struct normalizer *z, const char *path, const json_t *part, struct err *e) {
    return normalizer_read_chain(z, path, part, e) ? e->code : check_growth(z, path, e);
}

void normalizer_release(struct normalizer *z) {
    for (size_t i = 0; i < z->count; i++) {
        free(z->step[i].text);
        pattern_release(&z->step[i].pattern);
        charsmap_release(&z->step[i].map);
    }
    memset(z, 0, sizeof *z);
}
