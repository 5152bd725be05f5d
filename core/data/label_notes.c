/* What is said about the classes of a split beside their names (labels.c). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"

/* ---- names that people would take for one ---- */
struct folded {
    char *text;
    const char *name;
};

static int by_folded(const void *a, const void *b) {
    return strcmp(((const struct folded *)a)->text, ((const struct folded *)b)->text);
}

char *label_fold(const char *s, bool as_number) {
    char text[32];
    double v;
    if (as_number && text_to_double(s, &v)) {
        text_from_double(v, text);
        return xstrdup(text);
    }
    while (isspace((unsigned char)*s)) s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1])) n--;
    char *out = xstrndup(s, n);
    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p += 32;
    return out;
}

static void warn_alike(struct dataset *d, bool as_number, const char *why) {
    size_t n = (size_t)d->classes;
    struct folded *f = xcalloc(n + 1, sizeof *f);
    for (size_t i = 0; i < n; i++)
        f[i] = (struct folded){label_fold(d->class_name[i], as_number), d->class_name[i]};
    qsort(f, n, sizeof *f, by_folded);
    for (size_t i = 0, j; i < n; i = j) {
        struct buf b = BUF_INIT;
        for (j = i; j < n && !strcmp(f[i].text, f[j].text); j++)
            buf_printf(&b, "%s\"%.60s\"", j > i ? ", " : "", f[j].name);
        double v;
        if (j > i + 1 && (!as_number || text_to_double(f[i].text, &v)))
            text_line(&d->report.notes, "warning: the labels %.500s %s, and are different classes",
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

/* Whether `name` is two or more others of the n sorted names with c between them. */
static bool is_joined(const char *name, char c, char **sorted, size_t n) {
    char *copy = xstrdup(name), *rest = copy, *part, between[2] = {c, '\0'};
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
                      "warning: %zu labels are others put together, as \"%.60s\": a row has one class here, so each "
                      "combination is a class of its own",
                      joined, d->class_name[first]);
    }
    free(sorted);
}

void labels_warn_rare(struct dataset *d) {
    size_t once = 0;
    for (int c = 0; c < d->classes; c++) once += d->class_rows[c] == 1;
    if (once >= 5 && 4 * once >= (size_t)d->classes)
        text_line(&d->report.notes, "warning: %zu of %d classes have one row each", once, d->classes);
}

void labels_warn(struct dataset *d) {
    warn_alike(d, false, "differ only in case or blanks");
    warn_alike(d, true, "are the same number");
    warn_joined(d);
}
