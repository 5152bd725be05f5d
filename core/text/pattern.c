#include "core/text/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/unicode.h"

enum { PATTERN_SIZE = 512, PATTERN_LEAST = 1000 };

static int pattern_refuse(const char *path, const char *what, const char *found, struct err *e) {
    char *shown = text_visible(found, strlen(found) > 80 ? 80 : strlen(found));
    err_set(e, ERR_INPUT,
            "%s: %s: unsupported regular expression \"%s\"; supported: plain text and one character "
            "(or \\s) followed by + or {n,}", path, what, shown);
    free(shown);
    return e->code;
}

/* Parses "+" or "{n,}": returns the minimum, 0 for anything else. */
static size_t repetition(const char *s) {
    if (!strcmp(s, "+")) return 1;
    char *end;
    if (s[0] != '{' || s[1] < '1' || s[1] > '9') return 0;
    unsigned long n = strtoul(s + 1, &end, 10);
    return n <= PATTERN_LEAST && !strcmp(end, ",}") ? n : 0;
}

int pattern_read(struct pattern *p, const char *path, const char *what, const json_t *value,
                 struct err *e) {
    const char *text = json_string_value(json_object_get(value, "String"));
    const char *regex = json_string_value(json_object_get(value, "Regex"));
    memset(p, 0, sizeof *p);
    const char *found = text ? text : regex;
    if (!found || !*found || strlen(found) > PATTERN_SIZE)
        return err_set(e, ERR_INPUT, "%s: %s: \"pattern\" must be a \"String\" or \"Regex\" of 1 to %d bytes",
                       path, what, PATTERN_SIZE);
    size_t size = strlen(found);
    if (!text && strpbrk(found, "\\^$.|?*+()[]{}")) {
        uint32_t cp;
        p->blanks = !strncmp(found, "\\s", 2);
        size = p->blanks ? 2 : utf8_decode(found, size, &cp);
        p->least = repetition(found + size);
        if (!p->least || (!p->blanks && strchr("\\^$.|?*+()[]{}", found[0])))
            return pattern_refuse(path, what, found, e);
        if (p->blanks) size = 0;
    }
    p->text = xstrndup(found, size);
    p->size = size;
    return 0;
}

size_t pattern_growth(const struct pattern *p, size_t size) {
    size_t least = (p->least ? p->least : 1) * (p->size ? p->size : 1);
    return size > least ? (size + least - 1) / least : 1;
}

void pattern_release(struct pattern *p) {
    free(p->text);
    memset(p, 0, sizeof *p);
}

/* Returns the bytes of one unit of the run at s; 0 if s does not start with it. */
static size_t pattern_unit(const struct pattern *p, const char *s, size_t n) {
    if (!p->blanks) return n >= p->size && !memcmp(s, p->text, p->size) ? p->size : 0;
    uint32_t cp;
    size_t used = n ? utf8_decode(s, n, &cp) : 0;
    return used && unicode_is_space(cp) ? used : 0;
}

bool pattern_next(const struct pattern *p, const char *s, size_t n, size_t at, size_t *from,
                  size_t *to) {
    while (at < n) {
        if (!p->blanks) {
            const char *hit = memmem(s + at, n - at, p->text, p->size);
            if (!hit) return false;
            at = (size_t)(hit - s);
        }
        size_t end = at, used, count = 0;
        while ((used = pattern_unit(p, s + end, n - end))) {
            end += used;
            count++;
            if (!p->least) break;
        }
        if (count && count >= p->least) {
            *from = at;
            *to = end;
            return true;
        }
        at = count ? end : at + 1;
    }
    return false;
}

void pattern_replace(const struct pattern *p, const char *s, size_t n, const char *with,
                     size_t size, struct buf *out) {
    size_t at = 0, from, to;
    while (pattern_next(p, s, n, at, &from, &to)) {
        buf_add(out, s + at, from - at);
        buf_add(out, with, size);
        at = to;
    }
    buf_add(out, s + at, n - at);
}
