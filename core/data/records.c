#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

static void records_add_field(struct records *r, char *s, char *end) {
    GROW(r->field, r->room, r->fields + 1);
    r->field[r->fields++] = (struct field){ s, (size_t)(end - s) };
}

/* End of the physical line at s: its '\n' or the end of the file. */
static char *line_end(const struct records *r, char *s) {
    char *end = memchr(s, '\n', (size_t)(r->end - s));
    return end ? end : r->end;
}

static void pass_line(struct records *r, char *end) {
    r->at = end < r->end ? end + 1 : r->end;
    r->line++;
}

/* The line without its end; a CR before the LF belongs to the end. */
static char *text_end(char *s, char *end) { return end > s && end[-1] == '\r' ? end - 1 : end; }

static void split_plain(struct records *r, char *s, char *end) {
    for (;;) {
        char *stop = memchr(s, r->separator, (size_t)(end - s));
        if (!stop) break;
        *stop = '\0';
        records_add_field(r, s, stop);
        s = stop + 1;
    }
    *end = '\0';
    records_add_field(r, s, end);
}

/* Returns the quote that closes the field opened by the quote at s, or NULL. */
static char *records_closing(const struct records *r, char *s) {
    for (char *in = s + 1;;) {
        char *quote = memchr(in, '"', (size_t)(r->end - in));
        if (!quote || quote + 1 == r->end || quote[1] != '"') return quote;
        in = quote + 2;
    }
}

/* Returns the byte after the field at s: a separator, a CR or LF that ends the record, the end of the file,
 * or an unexpected byte; *quote: its closing quote, or NULL.  NULL when a quote is never closed. */
static char *field_end(const struct records *r, char *s, char **quote) {
    *quote = NULL;
    if (s < r->end && *s == '"') {
        *quote = records_closing(r, s);
        return *quote ? *quote + 1 : NULL;
    }
    char *end = line_end(r, s), *stop = memchr(s, r->separator, (size_t)(end - s));
    return stop ? stop : text_end(s, end);
}

static bool ends_record(const struct records *r, const char *at) {
    return at >= r->end || *at == '\n' || (*at == '\r' && (at + 1 >= r->end || at[1] == '\n'));
}

static size_t lines_between(const char *s, const char *end) {
    size_t n = 0;
    while ((s = memchr(s, '\n', (size_t)(end - s)))) {
        s++;
        n++;
    }
    return n;
}

/* Text after the closing quote of the field opened at `open`.  If that quote opens a field of a later line,
 * the first was never closed: only its line is bad, and the following lines are read normally. */
static void bad_quote(struct records *r, char *open, char *quote, char *at) {
    size_t further = lines_between(open, at);
    bool unclosed = further && (quote[-1] == '\n' || quote[-1] == r->separator);
    struct buf b = BUF_INIT;
    r->bad = r->line + 1 + lines_between(r->at, open);
    r->line = r->bad - 1 + (unclosed ? 0 : further);
    if (unclosed) buf_puts(&b, "unclosed quote at the start of a field");
    else if (!delimiter_option(*at)) buf_puts(&b, "text after a closing quote");
    else
        buf_printf(&b,
                   "text after a closing quote; the delimiter may be different: try %s",
                   delimiter_option(*at));
    if (further && !unclosed)
        buf_printf(&b, " (the quoted field extends to line %zu)", r->line + 1);
    snprintf(r->why, sizeof r->why, "%s", buf_text(&b));
    buf_release(&b);
    pass_line(r, line_end(r, unclosed ? open : at));
}

/* Undoubles the quotes of the field between open and quote, in place. */
static void add_quoted(struct records *r, char *open, char *quote) {
    char *out = open;
    for (char *in = open + 1; in < quote; in++) {
        *out++ = *in;
        in += *in == '"';
    }
    records_add_field(r, open, out);
}

/* Returns the end of the record, or NULL with the error in *kind and r, or in *e.  Changes nothing. */
static char *csv_end(struct records *r, enum record_kind *kind, struct err *e) {
    for (char *s = r->at;;) {
        char *quote, *next = field_end(r, s, &quote);
        if (!next) {
            err_set(e, ERR_INPUT, "%s: line %zu: unclosed quote at the start of a field", r->path,
                    r->line + 1 + lines_between(r->at, s));
            return NULL;
        }
        if (ends_record(r, next)) return next;
        if (*next != r->separator) {
            *kind = RECORD_BAD;
            bad_quote(r, s, quote, next);
            return NULL;
        }
        s = next + 1;
    }
}

static int csv_record(struct records *r, enum record_kind *kind, struct err *e) {
    char *end = csv_end(r, kind, e);
    if (!end) return *kind == RECORD_BAD ? 0 : e->code;
    char *s = r->at, *stop = line_end(r, end);
    r->line += lines_between(s, end);
    for (;;) {
        char *quote, *next = field_end(r, s, &quote);
        if (quote) add_quoted(r, s, quote);
        else records_add_field(r, s, next);
        struct field *f = &r->field[r->fields - 1];
        f->s[f->n] = '\0'; /* of a quoted field at most up to the closing quote */
        if (next >= end) break;
        s = next + 1;
    }
    pass_line(r, stop);
    return 0;
}

int records_start(struct records *r, const char *delimiter, struct buf *notes, struct err *e) {
    char declared;
    char *next;
    if (delimiter && delimiter_parse(delimiter, &r->separator, e)) return e->code;
    if (delimiter_declared(r->at, r->end, &declared, &next)) {
        if (!delimiter) r->separator = declared;
        text_line(notes, "line 1 sets the delimiter \"%c\"", declared);
        r->at = next;
        r->line = 1;
    }
    r->quotes = r->separator != '\t';
    return 0;
}

int records_next(struct records *r, enum record_kind *kind, struct err *e) {
    r->fields = 0;
    r->first = r->line + 1;
    if (r->at >= r->end) {
        *kind = RECORD_END;
        return 0;
    }
    char *s = r->at, *end = line_end(r, s), *stop = text_end(s, end);
    if (end - s > DATASET_LINE)
        return err_set(e, ERR_INPUT, "%s: line %zu is longer than %d bytes", r->path, r->first,
                       DATASET_LINE);
    *kind = RECORD_FIELDS;
    if (stop == s) {
        *kind = RECORD_BLANK;
        pass_line(r, end);
        return 0;
    }
    if (r->quotes) return csv_record(r, kind, e);
    pass_line(r, end);
    split_plain(r, s, stop);
    return 0;
}

void records_release(struct records *r) {
    free(r->field);
    r->field = NULL;
}
