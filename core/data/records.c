#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/import.h"

static void add_field(struct records *r, char *s, char *end) {
    GROW(r->field, r->room, r->fields + 1);
    r->field[r->fields++] = (struct field){s, (size_t)(end - s)};
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
        add_field(r, s, stop);
        s = stop + 1;
    }
    *end = '\0';
    add_field(r, s, end);
}

/* A quoted field that begins at s (the quote): undoubles quotes in place.  Sets *next to
 * the byte after the closing quote; false when it is never closed. */
static bool quoted(struct records *r, char *s, char **next) {
    char *out = s, *in = s + 1;
    for (;;) {
        char *quote = memchr(in, '"', (size_t)(r->end - in));
        if (!quote) return false;
        for (char *p = in; p < quote; p++) r->line += *p == '\n';
        memmove(out, in, (size_t)(quote - in));
        out += quote - in;
        in = quote + 1;
        if (in == r->end || *in != '"') break;
        *out++ = '"';
        in++;
    }
    add_field(r, s, out);
    *next = in;
    *out = '\0'; /* at most the closing quote's place */
    return true;
}

static int csv_record(struct records *r, enum record_kind *kind, struct err *e) {
    char *s = r->at;
    for (;;) {
        char *next;
        if (s < r->end && *s == '"') {
            size_t opened = r->line + 1;
            if (!quoted(r, s, &next))
                return err_set(e, ERR_INPUT,
                               "%s: line %zu: a quote that opens a field is never closed", r->path,
                               opened);
        } else {
            char *end = line_end(r, s), *stop = memchr(s, r->separator, (size_t)(end - s));
            next = stop ? stop : text_end(s, end);
            add_field(r, s, next);
        }
        char after = next < r->end ? *next : '\n';
        bool last = after == '\n' || (after == '\r' && (next + 1 >= r->end || next[1] == '\n'));
        if (!last && after != r->separator) {
            *kind = RECORD_BAD;
            r->why = "text after a closing quote";
            pass_line(r, line_end(r, next));
            return 0;
        }
        struct field *f = &r->field[r->fields - 1];
        f->s[f->n] = '\0';
        if (last) {
            /* the end of the file may have become a NUL, which is what stands there */
            char *end = next < r->end && after == '\r' ? next + 1 : next;
            pass_line(r, end);
            return 0;
        }
        s = next + 1;
    }
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
