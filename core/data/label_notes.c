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

void labels_warn(struct dataset *d) {
    warn_alike(d, false, "differ only in case or blanks");
    warn_alike(d, true, "are the same number");
}
