/* SuperGLUE examples with more than texts under keys: WSC and MultiRC. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"
#include "core/text/unicode.h"

/* ---- WSC ---- */
struct word_span {
    const char *s;
    json_int_t word; /* index of its first word */
};

/* Members are under "target", or next to the text in files written by the datasets library. */
static bool span_of(struct import *m, size_t line, const json_t *o, int number, struct word_span *out) {
    const json_t *from = json_object_get(o, "target");
    char text[16], index[16];
    snprintf(text, sizeof text, "span%d_text", number);
    snprintf(index, sizeof index, "span%d_index", number);
    if (!json_is_object(from)) from = o;
    const json_t *s = json_object_get(from, text), *i = json_object_get(from, index);
    if (!s || !i) report_skip(&m->d->report, line, "\"%s\" is missing", s ? index : text);
    else if (!json_is_string(s))
        report_skip(&m->d->report, line, "\"%s\" must be a string, not %s", text, json_kind(s));
    else if (!json_is_integer(i) || json_integer_value(i) < 0)
        report_skip(&m->d->report, line, "\"%s\" must be a non-negative integer (a word index)", index);
    else {
        *out = (struct word_span){ json_string_value(s), json_integer_value(i) };
        return true;
    }
    return false;
}

/* Returns the start of word `number`: words are separated by single white space.  n when there are not so
 * many. */
static size_t word_start(const char *s, size_t n, json_int_t number) {
    size_t at = 0;
    bool inside = false;
    while (at < n && number) {
        uint32_t cp;
        at += utf8_decode(s + at, n - at, &cp);
        bool blank = unicode_is_space(cp);
        if (blank && !inside) return n;
        if (blank) number--;
        inside = !blank;
    }
    return number ? n : at;
}

/* Puts `mark` around a span; false when it does not match its word. */
static bool superglue_mark(struct buf *text, const struct word_span *x, const char *sign) {
    size_t at = word_start(text->data, text->size, x->word), n = strlen(x->s);
    if (!n || text->size - at < n || memcmp(text->data + at, x->s, n)) return false;
    struct buf out = BUF_INIT;
    buf_add(&out, text->data, at);
    buf_printf(&out, "%s %s %s", sign, x->s, sign);
    buf_puts(&out, text->data + at + n);
    buf_release(text);
    *text = out;
    return true;
}

bool wsc_fields(struct import *m, size_t line, const json_t *o, const char *label,
                struct fields *f) {
    struct word_span one, two;
    struct field text;
    if (!json_text(m, line, o, "text", &text) || !span_of(m, line, o, 1, &one) ||
        !span_of(m, line, o, 2, &two) || !json_label(m, line, o, label, &f->label))
        return false;
    struct buf b = BUF_INIT;
    buf_add(&b, text.s, text.n);
    bool both = superglue_mark(&b, &one, "*");
    /* the marks of the first add two words before what follows it */
    if (one.word < two.word) two.word += both ? 2 : 0;
    both = superglue_mark(&b, &two, "#") && both;
    if (!both && !m->unmarked++) m->unmarked_first = line;
    f->a = (struct field){ memory_copy(m->d->memory, buf_text(&b), b.size), b.size };
    buf_release(&b);
    return true;
}

/* ---- MultiRC ---- */
/* Removes the markup of MultiRC texts: line breaks become blanks, bold is dropped. */
static bool plain_text(struct import *m, size_t line, const json_t *o, const char *key,
                       struct field *out) {
    static const char *const tag[] = { "<br>", "<b>", "</b>" };
    if (!json_text(m, line, o, key, out)) return false;
    size_t kept = 0;
    for (size_t i = 0; i < out->n;) {
        size_t t = 0;
        while (t < COUNT_OF(tag) && !text_starts(out->s + i, tag[t])) t++;
        if (t == 0) out->s[kept++] = ' ';
        if (t == COUNT_OF(tag)) out->s[kept++] = out->s[i];
        i += t < COUNT_OF(tag) ? strlen(tag[t]) : 1;
    }
    out->s[kept] = '\0';
    out->n = kept;
    return true;
}

static json_t *superglue_list_of(struct import *m, size_t line, const json_t *o, const char *key) {
    json_t *v = json_object_get(o, key);
    if (json_is_array(v) && json_array_size(v)) return v;
    if (!v) report_skip(&m->d->report, line, "\"%s\" is missing", key);
    else
        report_skip(&m->d->report, line, "\"%s\" must be a non-empty array, not %s", key, json_kind(v));
    return NULL;
}

static void answers_of(struct import *m, size_t line, const json_t *question, const char *label,
                       struct field paragraph) {
    struct fields f = { .c = paragraph };
    if (!plain_text(m, line, question, "question", &f.a)) return;
    const json_t *answers = superglue_list_of(m, line, question, "answers");
    for (size_t i = 0; i < json_array_size(answers); i++) {
        const json_t *answer = json_array_get(answers, i);
        f.label = (struct field){ NULL, 0 };
        if (plain_text(m, line, answer, "text", &f.b) && json_label(m, line, answer, label, &f.label))
            import_example(m, line, &f);
    }
}

void multirc_examples(struct import *m, size_t line, const json_t *o, const char *label) {
    struct import_report *r = &m->d->report;
    const json_t *passage = json_object_get(o, "passage");
    size_t before = m->d->examples + r->skipped;
    struct field paragraph;
    if (!passage) report_skip(r, line, "\"passage\" is missing");
    else if (!json_is_object(passage))
        report_skip(r, line, "\"passage\" must be an object, not %s", json_kind(passage));
    else if (plain_text(m, line, passage, "text", &paragraph)) {
        const json_t *questions = superglue_list_of(m, line, passage, "questions");
        for (size_t i = 0; i < json_array_size(questions); i++)
            answers_of(m, line, json_array_get(questions, i), label, paragraph);
    }
    /* each example or reason beyond the first of the line */
    r->spread += m->d->examples + r->skipped - before - 1;
}
