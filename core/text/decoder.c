#include "core/text/decoder.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/bytes.h"

void pieces_end(struct pieces *p) {
    GROW(p->end, p->room, p->n + 1);
    p->end[p->n++] = p->text.size;
}

void pieces_release(struct pieces *p) {
    buf_release(&p->text);
    free(p->end);
    memset(p, 0, sizeof *p);
}

static void pieces_clear(struct pieces *p) {
    buf_clear(&p->text);
    p->n = 0;
}

/* ---- steps on one piece ---- */

static void replace_all(const char *s, size_t n, const char *what, const char *with,
                        struct buf *out) {
    size_t size = strlen(what);
    const char *end = s + n, *hit;
    while ((hit = memmem(s, (size_t)(end - s), what, size))) {
        buf_add(out, s, (size_t)(hit - s));
        buf_puts(out, with);
        s = hit + size;
    }
    buf_add(out, s, (size_t)(end - s));
}

/* Removes blanks before punctuation and contractions, like the clean-up of the reference. */
static void clean_up(struct buf *text, size_t from) {
    static const char *const pair[][2] = {
        { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" }, { " n't", "n't" },
        { " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    if (!memchr(text->data + from, ' ', text->size - from)) return;
    struct buf next = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(pair); i++) {
        buf_clear(&next);
        replace_all(text->data + from, text->size - from, pair[i][0], pair[i][1], &next);
        text->size = from;
        buf_add(text, buf_text(&next), next.size);
    }
    buf_release(&next);
}

static void wordpiece(const struct decoder_step *d, size_t i, const char *s, size_t n,
                      struct buf *out) {
    size_t from = out->size;
    if (i) {
        bool inside = n >= d->size && !memcmp(s, d->text, d->size);
        if (!inside) buf_putc(out, ' ');
        else s += d->size, n -= d->size;
    }
    buf_add(out, s, n);
    if (d->on) clean_up(out, from);
}

static void decoder_metaspace(const struct decoder_step *d, size_t i, const char *s, size_t n,
                              struct buf *out) {
    const char *end = s + n, *hit;
    while ((hit = memmem(s, (size_t)(end - s), d->text, d->size))) {
        buf_add(out, s, (size_t)(hit - s));
        if (i || !d->on) buf_putc(out, ' ');
        s = hit + d->size;
    }
    buf_add(out, s, (size_t)(end - s));
}

static void decoder_strip(const struct decoder_step *d, const char *s, size_t n, struct buf *out) {
    for (size_t i = 0; i < d->start && n >= d->size && !memcmp(s, d->text, d->size); i++) {
        s += d->size;
        n -= d->size;
    }
    for (size_t i = 0; i < d->stop && n >= d->size && !memcmp(s + n - d->size, d->text, d->size);
         i++)
        n -= d->size;
    buf_add(out, s, n);
}

/* ---- steps on all pieces ---- */

/* Converts signs to bytes; a piece with any other character is unchanged.  The result is one piece, with
 * U+FFFD for invalid UTF-8. */
static void text_decoder_byte_level(const struct pieces *in, struct pieces *out) {
    struct buf raw = BUF_INIT;
    size_t from = 0;
    for (size_t i = 0; i < in->n; from = in->end[i++]) {
        const char *s = in->text.data + from;
        size_t n = in->end[i] - from, before = raw.size;
        if (n && !bytes_from_signs(s, n, &raw)) {
            raw.size = before;
            buf_add(&raw, s, n);
        }
    }
    bytes_to_utf8(buf_text(&raw), raw.size, &out->text);
    pieces_end(out);
    buf_release(&raw);
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int decoder_byte_of(const char *s, size_t n) {
    if (n != 6 || memcmp(s, "<0x", 3) || s[5] != '>' || hex(s[3]) < 0 || hex(s[4]) < 0) return -1;
    return 16 * hex(s[3]) + hex(s[4]);
}

/* A run of bytes becomes one piece if it is UTF-8, otherwise one U+FFFD per byte. */
static void flush_bytes(struct buf *run, struct pieces *out) {
    if (!run->size) return;
    if (utf8_valid(run->data, run->size)) {
        buf_add(&out->text, run->data, run->size);
        pieces_end(out);
    } else {
        for (size_t i = 0; i < run->size; i++) {
            buf_puts(&out->text, "\uFFFD");
            pieces_end(out);
        }
    }
    buf_clear(run);
}

static void byte_fallback(const struct pieces *in, struct pieces *out) {
    struct buf run = BUF_INIT;
    size_t from = 0;
    for (size_t i = 0; i < in->n; from = in->end[i++]) {
        const char *s = buf_text(&in->text) + from;
        int byte = decoder_byte_of(s, in->end[i] - from);
        if (byte >= 0) {
            buf_putc(&run, (char)byte);
            continue;
        }
        flush_bytes(&run, out);
        buf_add(&out->text, s, in->end[i] - from);
        pieces_end(out);
    }
    flush_bytes(&run, out);
    buf_release(&run);
}

static void text_decoder_step(const struct decoder_step *d, const struct pieces *in, struct pieces *out) {
    if (d->kind == DECODER_BYTE_LEVEL) {
        text_decoder_byte_level(in, out);
        return;
    }
    if (d->kind == DECODER_BYTE_FALLBACK) {
        byte_fallback(in, out);
        return;
    }
    size_t from = 0;
    for (size_t i = 0; i < in->n; from = in->end[i++]) {
        const char *s = buf_text(&in->text) + from;
        size_t n = in->end[i] - from;
        switch (d->kind) {
        case DECODER_WORDPIECE: wordpiece(d, i, s, n, &out->text); break;
        case DECODER_METASPACE: decoder_metaspace(d, i, s, n, &out->text); break;
        case DECODER_REPLACE:
            pattern_replace(&d->pattern, s, n, d->text, d->size, &out->text);
            break;
        case DECODER_STRIP: decoder_strip(d, s, n, &out->text); break;
        case DECODER_SUFFIX:
            replace_all(s, n, d->text, i + 1 == in->n ? "" : " ", &out->text);
            break;
        default: buf_add(&out->text, s, n); break;
        }
        if (d->kind != DECODER_FUSE) pieces_end(out);
    }
    if (d->kind == DECODER_FUSE) pieces_end(out);
}

void decoder_run(const struct decoder *d, struct pieces *in, struct buf *out) {
    if (!d->given) {
        for (size_t i = 0, from = 0; i < in->n; from = in->end[i++]) {
            if (i) buf_putc(out, ' ');
            buf_add(out, buf_text(&in->text) + from, in->end[i] - from);
        }
        return;
    }
    struct pieces other = { 0 }, *now = in, *next = &other;
    for (size_t i = 0; i < d->count; i++) {
        pieces_clear(next);
        text_decoder_step(&d->step[i], now, next);
        struct pieces *swap = now;
        now = next;
        next = swap;
    }
    buf_add(out, buf_text(&now->text), now->text.size);
    pieces_release(&other);
}

/* ---- reading ---- */

static struct decoder_step *decoder_add(struct decoder *d, enum decoder_kind kind, const char *text) {
    struct decoder_step *s = &d->step[d->count++];
    *s = (struct decoder_step){ .kind = kind, .text = xstrdup(text), .size = strlen(text) };
    d->given = true;
    return s;
}

void decoder_wordpiece(struct decoder *d, const char *prefix) {
    decoder_add(d, DECODER_WORDPIECE, prefix)->on = true;
}

void decoder_byte_level(struct decoder *d) { decoder_add(d, DECODER_BYTE_LEVEL, ""); }

void decoder_release(struct decoder *d) {
    for (size_t i = 0; i < d->count; i++) {
        free(d->step[i].text);
        pattern_release(&d->step[i].pattern);
    }
    memset(d, 0, sizeof *d);
}

static int decoder_text_of(const char *path, const char *what, const json_t *part, const char *key,
                           const char **text, struct err *e) {
    e->code = 0;
    json_get_string(part, path, key, text, e);
    if (e->code) return err_prefix(e, "decoder %s", what);
    if (!*text || strlen(*text) > 512)
        return err_set(e, ERR_INPUT, "%s: decoder %s: \"%s\" must be a string of at most 512 bytes", path,
                       what, key);
    return 0;
}

static int decoder_read_metaspace(struct decoder *d, const char *path, const json_t *part, struct err *e) {
    const char *sign = "\u2581", *scheme = "always";
    bool prefix = true;
    e->code = 0;
    json_get_string(part, path, "replacement", &sign, e);
    json_get_bool(part, path, "add_prefix_space", &prefix, e);
    json_get_string(part, path, "prepend_scheme", &scheme, e);
    if (e->code) return err_prefix(e, "decoder Metaspace");
    if (!utf8_is_one(sign))
        return err_set(e, ERR_INPUT,
                       "%s: decoder Metaspace: \"replacement\" must be one character",
                       path);
    decoder_add(d, DECODER_METASPACE, sign)->on = prefix && strcmp(scheme, "never") != 0;
    return 0;
}

static int read_strip(struct decoder *d, const char *path, const json_t *part, struct err *e) {
    const char *sign = NULL;
    json_int_t start = 0, stop = 0;
    if (decoder_text_of(path, "Strip", part, "content", &sign, e)) return e->code;
    json_get_int(part, path, "start", &start, e);
    json_get_int(part, path, "stop", &stop, e);
    if (e->code) return err_prefix(e, "decoder Strip");
    if (!utf8_is_one(sign) || start < 0 || stop < 0 || start > 1000 || stop > 1000)
        return err_set(e, ERR_INPUT,
                       "%s: decoder Strip: \"content\" must be one character, \"start\" and \"stop\" "
                       "between 0 and 1000", path);
    struct decoder_step *s = decoder_add(d, DECODER_STRIP, sign);
    s->start = (size_t)start;
    s->stop = (size_t)stop;
    return 0;
}

static int decoder_read_step(struct decoder *d, const char *path, const json_t *part, struct err *e) {
    const char *type = json_string_value(json_object_get(part, "type")), *text = NULL;
    bool clean = true;
    if (!type) type = "\"type\" is missing";
    if (d->count == DECODER_STEPS)
        return err_set(e, ERR_INPUT, "%s: decoder: more than %d steps", path, DECODER_STEPS);
    if (!strcmp(type, "WordPiece")) {
        text = "##";
        if (decoder_text_of(path, type, part, "prefix", &text, e)) return e->code;
        json_get_bool(part, path, "cleanup", &clean, e);
        if (e->code) return err_prefix(e, "decoder WordPiece");
        decoder_add(d, DECODER_WORDPIECE, text)->on = clean;
    } else if (!strcmp(type, "ByteLevel")) {
        decoder_byte_level(d);
    } else if (!strcmp(type, "Metaspace")) {
        return decoder_read_metaspace(d, path, part, e);
    } else if (!strcmp(type, "Strip")) {
        return read_strip(d, path, part, e);
    } else if (!strcmp(type, "Fuse")) {
        decoder_add(d, DECODER_FUSE, "");
    } else if (!strcmp(type, "ByteFallback")) {
        decoder_add(d, DECODER_BYTE_FALLBACK, "");
    } else if (!strcmp(type, "BPEDecoder")) {
        text = "</w>";
        if (decoder_text_of(path, type, part, "suffix", &text, e)) return e->code;
        if (!*text) return err_set(e, ERR_INPUT, "%s: decoder BPEDecoder: \"suffix\" is empty", path);
        decoder_add(d, DECODER_SUFFIX, text);
    } else if (!strcmp(type, "Replace")) {
        struct pattern p;
        if (decoder_text_of(path, type, part, "content", &text, e) ||
            pattern_read(&p, path, "decoder Replace", json_object_get(part, "pattern"), e))
            return e->code;
        decoder_add(d, DECODER_REPLACE, text)->pattern = p;
    } else {
        return err_set(e, ERR_INPUT,
                       "%s: unsupported decoder: %s; supported: WordPiece, ByteLevel, Metaspace, "
                       "BPEDecoder, Replace, Strip, Fuse, ByteFallback and Sequence",
                       path, type);
    }
    return 0;
}

static int decoder_read_chain(struct decoder *d, const char *path, const json_t *part, struct err *e) {
    if (!part || json_is_null(part)) return 0;
    const char *type = json_string_value(json_object_get(part, "type"));
    if (!type || strcmp(type, "Sequence")) return decoder_read_step(d, path, part, e);
    const json_t *list = json_object_get(part, "decoders");
    if (!json_is_array(list))
        return err_set(e, ERR_INPUT, "%s: decoder Sequence: \"decoders\" is missing", path);
    d->given = true;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (decoder_read_chain(d, path, json_array_get(list, i), e)) return e->code;
    return 0;
}

int decoder_read(struct decoder *d, const char *path, const json_t *part, struct err *e) {
    size_t growth = 1;
    if (decoder_read_chain(d, path, part, e)) return e->code;
    for (size_t i = 0; i < d->count && growth <= DECODER_GROWTH; i++)
        if (d->step[i].kind == DECODER_REPLACE)
            growth *= pattern_growth(&d->step[i].pattern, d->step[i].size);
    if (growth <= DECODER_GROWTH) return 0;
    return err_set(e, ERR_INPUT,
                   "%s: decoder: the replacements can make a text more than %d times as long", path,
                   DECODER_GROWTH);
}
