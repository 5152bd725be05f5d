/* Remarks on the classes of a split besides their names (labels.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

/* ---- nearly equal names ---- */
struct folded {
    char *text;
    const char *name;
};

static int by_folded(const void *a, const void *b) {
    return strcmp(((const struct folded *)a)->text, ((const struct folded *)b)->text);
}

/* Invisible characters of a label: format characters, controls, and those that the Unicode standard allows
 * fonts to omit. */
static bool is_invisible(uint32_t cp) {
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CC ||
           utf8proc_get_property((utf8proc_int32_t)cp)->ignorable;
}

static bool is_whitespace(uint32_t cp) {
    return cp == ' ' || (cp >= 9 && cp <= 13) ||
           utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_ZS;
}

void label_trim(const char *s, size_t *begin, size_t *end) {
    size_t n = strlen(s), used;
    bool inside = false;
    *begin = *end = 0;
    for (size_t at = 0; at < n; at += used) {
        uint32_t cp;
        used = utf8_decode(s + at, n - at, &cp);
        if (is_whitespace(cp) || is_invisible(cp)) continue;
        if (!inside) *begin = at;
        inside = true;
        *end = at + used;
    }
}

void label_spell(const char *s, struct buf *out) {
    utf8proc_uint8_t *composed = utf8proc_NFC((const utf8proc_uint8_t *)s);
    bool other_form = composed && strcmp((char *)composed, s) != 0;
    size_t n = strlen(s), used;
    free(composed);
    for (size_t at = 0; at < n; at += used) {
        uint32_t cp;
        used = utf8_decode(s + at, n - at, &cp);
        bool combines = other_form && utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_MN;
        if (cp != ' ' && (is_whitespace(cp) || is_invisible(cp) || combines))
            buf_printf(out, "<U+%04X>", (unsigned)cp);
        else buf_add(out, s + at, used);
    }
}

/* Lower case, every run of whitespace one space, none at the ends, nothing invisible. */
static char *fold_text(const char *s) {
    struct buf out = BUF_INIT;
    size_t n = strlen(s), used;
    bool gap = false;
    for (size_t at = 0; at < n; at += used) {
        uint32_t cp;
        used = utf8_decode(s + at, n - at, &cp);
        if (is_whitespace(cp)) gap = out.size > 0;
        if (is_whitespace(cp) || is_invisible(cp)) continue;
        if (gap) buf_putc(&out, ' ');
        gap = false;
        utf8_add(&out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
    }
    return buf_take(&out);
}

char *label_fold(const char *s, bool as_number) {
    char text[32];
    double v;
    if (as_number && text_to_double(s, &v) &&
        fabs(v) < 1LL << 53) { /* above it, different digits may be the same double */
        text_from_double(v, text);
        return xstrdup(text);
    }
    utf8proc_uint8_t *composed = utf8proc_NFC((const utf8proc_uint8_t *)s); /* NULL: not UTF-8 */
    char *out = fold_text(composed ? (char *)composed : s);
    free(composed);
    return out;
}

static void warn_alike(struct dataset *d, bool as_number, const char *why) {
    size_t n = (size_t)d->classes;
    struct folded *f = xcalloc(n + 1, sizeof *f);
    for (size_t i = 0; i < n; i++)
        f[i] = (struct folded){ label_fold(d->class_name[i], as_number), d->class_name[i] };
    qsort(f, n, sizeof *f, by_folded);
    for (size_t i = 0, j; i < n; i = j) {
        struct buf b = BUF_INIT;
        for (j = i; j < n && !strcmp(f[i].text, f[j].text); j++) {
            buf_puts(&b, j > i ? ", \"" : "\"");
            label_spell(f[j].name, &b);
            buf_putc(&b, '"');
        }
        double v;
        if (j > i + 1 && (!as_number || text_to_double(f[i].text, &v)))
            text_line(&d->report.notes, "warning: the labels %.500s %s, but are separate classes",
                        buf_text(&b), why);
        buf_release(&b);
    }
    for (size_t i = 0; i < n; i++) free(f[i].text);
    free(f);
}

/* ---- several labels in one cell ---- */
static int label_notes_by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns whether `name` consists of two or more other names of the n sorted ones, separated by c. */
static bool is_joined(const char *name, char c, char **sorted, size_t n) {
    char *copy = xstrdup(name), *rest = copy, *part, between[2] = { c, '\0' };
    int parts = 0;
    bool all = true;
    while (all && (part = strsep(&rest, between))) {
        part += strspn(part, " ");
        all = *part && bsearch(&part, sorted, n, sizeof *sorted, label_notes_by_name);
        parts++;
    }
    free(copy);
    return all && parts > 1;
}

static void warn_joined(struct dataset *d) {
    static const char marks[] = ",;|";
    size_t n = (size_t)d->classes;
    char **sorted = xmalloc((n + 1) * sizeof *sorted);
    memcpy(sorted, d->class_name, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, label_notes_by_name);
    for (const char *c = marks; *c; c++) {
        size_t joined = 0, first = 0;
        for (size_t i = 0; i < n; i++) {
            if (!strchr(d->class_name[i], *c) || !is_joined(d->class_name[i], *c, sorted, n)) continue;
            if (!joined++) first = i;
        }
        if (joined)
            text_line(&d->report.notes,
                      "warning: %zu label%s of others, such as \"%.60s\"; multi-label "
                      "classification is not supported, so each combination is a separate class",
                      joined, joined == 1 ? " is a combination" : "s are combinations", d->class_name[first]);
    }
    free(sorted);
}

void labels_warn_rare(struct dataset *d) {
    size_t once = 0;
    for (int c = 0; c < d->classes; c++) once += d->class_examples[c] == 1;
    if (once >= 5 && 4 * once >= (size_t)d->classes)
        text_line(&d->report.notes, "warning: %zu of %d classes have only one example each", once,
                  d->classes);
}

/* Names with whitespace or invisible characters at their ends. */
static void warn_blanks(struct dataset *d) {
    struct buf b = BUF_INIT;
    int found = 0;
    for (int c = 0; c < d->classes; c++) {
        size_t begin, end;
        label_trim(d->class_name[c], &begin, &end);
        if (end - begin == strlen(d->class_name[c]) || found++ >= 4) continue;
        buf_puts(&b, found > 1 ? ", \"" : "\"");
        label_spell(d->class_name[c], &b);
        buf_putc(&b, '"');
    }
    if (found)
        text_line(&d->report.notes,
                  "warning: %d label%s or end%s with whitespace or invisible characters: %.400s%s", found,
                  found == 1 ? " begins" : "s begin", found == 1 ? "s" : "", buf_text(&b),
                  found > 4 ? ", …" : "");
    buf_release(&b);
}

void labels_warn(struct dataset *d) {
    warn_blanks(d);
    warn_alike(d, false, "differ only in case, whitespace, invisible characters or Unicode form");
    warn_alike(d, true, "are the same number");
    warn_joined(d);
}
