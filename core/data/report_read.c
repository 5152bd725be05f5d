#include "core/data/report_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

/* "class 0: name, 12 rows"; the name may hold commas. */
static void read_class(const char *line, struct report_facts *f) {
    int number, at = 0;
    size_t rows;
    const char *comma = strrchr(line, ',');
    if (sscanf(line, "class %d: %n", &number, &at) < 1 || !at || !comma || comma < line + at ||
        number != f->classes || sscanf(comma, ", %zu row", &rows) != 1)
        return;
    f->class_rows = xrealloc(f->class_rows, (size_t)f->classes + 1, sizeof *f->class_rows);
    f->class_name = xrealloc(f->class_name, (size_t)f->classes + 1, sizeof *f->class_name);
    f->class_rows[f->classes] = rows;
    f->class_name[f->classes++] = xstrndup(line + at, (size_t)(comma - line - at));
}

/* "32 rows also in train.tsv, 4 more but for case and blanks (lines …)": the split's name may hold anything,
 * so that the second number is the one before the last such words. */
static void read_across(const char *line, struct report_facts *f) {
    size_t same;
    static const char tail[] = " more but for case and blanks";
    const char *end = strstr(line, tail), *next;
    if (sscanf(line, "warning: %zu row", &same) != 1 || !strstr(line, " also in ") || !end) return;
    while ((next = strstr(end + 1, tail))) end = next;
    const char *number = end;
    while (number > line && number[-1] >= '0' && number[-1] <= '9') number--;
    f->across_same = same;
    f->across_near = strtoull(number, NULL, 10);
}

/* "… cannot write ({ }): no generated …" */
static void read_signs(const char *line, struct report_facts *f) {
    static const char before[] = " cannot write (", after[] = "): no generated ";
    const char *at = strstr(line, before), *end = strstr(line, after);
    if (!at || !end) return;
    at += strlen(before);
    free(f->signs);
    f->signs = xstrndup(at, (size_t)(end - at));
}

static void report_read_line(const char *line, struct report_facts *f) {
    size_t a, b;
    double percent;
    char word[16];
    const char *sha = strstr(line, " (sha256 ");
    if (sha && !*f->path) {
        free(f->path);
        f->path = xstrndup(line, (size_t)(sha - line));
    } else if (sscanf(line, "%zu row%*[s] from %zu line", &a, &b) == 2 ||
               sscanf(line, "%zu row from %zu line", &a, &b) == 2) {
        f->rows = f->split_rows = a;
    } else if (sscanf(line, "split: %zu of %zu examples", &a, &b) == 2) {
        f->rows = f->split_rows = a;
    } else if (sscanf(line, "a fixed draw (seed 0) of %zu of the %zu rows", &a, &b) == 2) {
        f->rows = a;
        f->split_rows = b;
    } else if (sscanf(line, "%zu row%15s", &a, word) == 2 && strstr(line, " without a gold label")) {
        f->unlabelled = a;
    } else if (text_starts(line, "class ")) {
        read_class(line, f);
    } else if (sscanf(line, "%zu row%*[s] repeat an earlier one, %zu more", &a, &b) == 2 ||
               sscanf(line, "%zu row repeat an earlier one, %zu more", &a, &b) == 2) {
        f->same = a;
        f->near = b;
    } else if (strstr(line, " of the repeats have another ") && sscanf(line, "warning: %zu of", &a) == 1) {
        f->same_other_label = a;
    } else if (strstr(line, " also in ")) {
        read_across(line, f);
    } else if (sscanf(line, "%zu tokens, %lf %% unknown", &a, &percent) == 2) {
        f->tokens = a;
        f->unknown = percent;
    } else if (sscanf(line, "%zu row%*[s] cut to %zu tokens", &a, &b) == 2 ||
               sscanf(line, "%zu row cut to %zu tokens", &a, &b) == 2) {
        f->cut_rows = a;
        f->max_len = b;
    } else if (strstr(line, " a whole text was cut away") && sscanf(line, "warning: in %zu row", &a) == 1) {
        f->vanished = a;
    } else if (sscanf(line, "warning: %zu of %zu targets have characters", &a, &b) == 2) {
        f->unwritten = a;
        read_signs(line, f);
    } else if (strstr(line, " cut to ") &&
               (sscanf(line, "warning: %zu target%*[s] cut to %zu tokens", &a, &b) == 2 ||
                sscanf(line, "warning: %zu target cut to %zu tokens", &a, &b) == 2)) {
        f->cut_targets = a;
        f->max_target = b;
    }
}

/* A report without a line "split:" (an older petri's) has a part of its file's rows where the classes have
 * fewer. */
static void parts_by_class(struct report_facts *f) {
    size_t labelled = 0;
    for (int i = 0; i < f->classes; i++) labelled += f->class_rows[i];
    if (labelled && labelled + f->unlabelled < f->rows) f->rows = f->split_rows = labelled;
}

void report_read(const char *text, struct report_facts *out) {
    *out = (struct report_facts){ .path = xstrdup("") };
    for (const char *end; *text; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        char *line = xstrndup(text, (size_t)(end - text));
        report_read_line(line, out);
        free(line);
    }
    parts_by_class(out);
}

void report_facts_release(struct report_facts *f) {
    for (int i = 0; i < f->classes; i++) free(f->class_name[i]);
    free(f->class_name);
    free(f->class_rows);
    free(f->signs);
    free(f->path);
    *f = (struct report_facts){ 0 };
}
