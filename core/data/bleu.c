#include "core/data/bleu.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"

/* ---- words ---- */
static void replace(struct buf *b, const char *from, const char *to) {
    size_t n = strlen(from), i = 0;
    struct buf out = BUF_INIT;
    while (i < b->size) {
        if (b->size - i >= n && !memcmp(b->data + i, from, n)) {
            buf_puts(&out, to);
            i += n;
        } else {
            buf_putc(&out, b->data[i++]);
        }
    }
    buf_release(b);
    *b = out;
}

static bool bleu_digit(char c) { return c >= '0' && c <= '9'; }
static bool point(char c) { return c == '.' || c == ','; }
/* ASCII punctuation that is always a token: all but apostrophe, comma, hyphen and period. */
static bool alone(char c) {
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* The 13a rules for pairs of characters; each consumes both, so that the second cannot start the next pair.
 * Bytes suffice, as all patterns are ASCII. */
enum rule { POINT_AFTER_OTHER, POINT_BEFORE_OTHER, HYPHEN_AFTER_DIGIT };

static void bleu_apply(struct buf *b, enum rule rule) {
    struct buf out = BUF_INIT;
    size_t i = 0;
    for (; i + 1 < b->size; i++) {
        char c = b->data[i], d = b->data[i + 1];
        bool here = rule == POINT_AFTER_OTHER    ? !bleu_digit(c) && point(d)
                    : rule == POINT_BEFORE_OTHER ? point(c) && !bleu_digit(d)
                                                 : bleu_digit(c) && d == '-';
        if (here && rule == POINT_BEFORE_OTHER) buf_putc(&out, ' ');
        buf_putc(&out, c);
        if (!here) continue;
        buf_putc(&out, ' ');
        buf_putc(&out, d);
        if (rule != POINT_BEFORE_OTHER) buf_putc(&out, ' ');
        i++;
    }
    if (i < b->size) buf_putc(&out, b->data[i]);
    buf_release(b);
    *b = out;
}

static void part_punctuation(struct buf *b) {
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < b->size; i++) {
        bool apart = alone(b->data[i]);
        if (apart) buf_putc(&out, ' ');
        buf_putc(&out, b->data[i]);
        if (apart) buf_putc(&out, ' ');
    }
    buf_release(b);
    *b = out;
}

static void bleu_split(const struct buf *b, struct words *w) {
    size_t from = 0, at = 0;
    while (at < b->size) {
        uint32_t cp;
        size_t used = utf8_decode(b->data + at, b->size - at, &cp);
        if (unicode_is_python_space(cp)) {
            if (at > from) words_add(w, b->data + from, at - from);
            from = at + used;
        }
        at += used;
    }
    if (at > from) words_add(w, b->data + from, at - from);
}

/* Appends the words of a text by the 13a rules. */
static void bleu_words(const char *s, size_t n, struct words *w) {
    static const char *const change[][2] = {
        { "<skipped>", "" }, { "-\n", "" },    { "\n", " " },   { "&quot;", "\"" },
        { "&amp;", "&" },    { "&lt;", "<" }, { "&gt;", ">" },
    };
    struct buf b = BUF_INIT;
    buf_add(&b, s, unicode_rstrip(s, n));
    for (size_t i = 0; i < COUNT_OF(change); i++) replace(&b, change[i][0], change[i][1]);
    /* a blank at both ends, so that every character has neighbors */
    struct buf line = BUF_INIT;
    buf_putc(&line, ' ');
    if (b.size) buf_add(&line, b.data, b.size);
    buf_putc(&line, ' ');
    part_punctuation(&line);
    bleu_apply(&line, POINT_AFTER_OTHER);
    bleu_apply(&line, POINT_BEFORE_OTHER);
    bleu_apply(&line, HYPHEN_AFTER_DIGIT);
    bleu_split(&line, w);
    buf_release(&line);
    buf_release(&b);
}

/* ---- score ---- */
void bleu_add(struct bleu *b, const char *reference, size_t reference_size, const char *text, size_t size) {
    struct words g = { 0 }, t = { 0 };
    bleu_words(reference, reference_size, &g);
    bleu_words(text, size, &t);
    int32_t *x = xcalloc(g.n + 1, sizeof *x), *y = xcalloc(t.n + 1, sizeof *y);
    words_number(&g, &t, x, y);
    for (int k = 1; k <= BLEU_ORDER; k++) {
        b->correct[k - 1] += ngrams_common(x, g.n, y, t.n, k);
        b->total[k - 1] += ngrams_of(t.n, k);
    }
    b->length += t.n;
    b->reference_length += g.n;
    words_release(&g);
    words_release(&t);
    free(x);
    free(y);
}

double bleu_value(const struct bleu *b) {
    double logs = 0, missed = 1;
    if (!b->correct[0] || !b->total[BLEU_ORDER - 1]) return 0;
    for (int k = 0; k < BLEU_ORDER; k++) {
        /* the i-th order without a match counts as 1/2^i of one */
        double right = b->correct[k] ? (double)b->correct[k] : 1 / (missed *= 2);
        logs += log(100 * right / (double)b->total[k]);
    }
    double brevity = 1;
    if (b->length < b->reference_length)
        brevity = exp(1 - (double)b->reference_length / (double)b->length);
    return brevity * exp(logs / BLEU_ORDER);
}
