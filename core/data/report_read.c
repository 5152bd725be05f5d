#include "core/data/report_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* "class 0: name, 12 examples"; the name may contain commas. */
static void read_class(const char *line, struct report_facts *f) {
    int number, at = 0;
    size_t rows;
    char word[16];
    const char *comma = strrchr(line, ',');
    if (sscanf(line, "class %d: %n", &number, &at) < 1 || !at || !comma || comma < line + at ||
        number != f->classes || sscanf(comma, ", %zu %15[a-z]", &rows, word) != 2 ||
        (!text_starts(word, "row") && !text_starts(word, "example")))
        return;
    f->class_examples = xrealloc(f->class_examples, (size_t)f->classes + 1, sizeof *f->class_examples);
    f->class_name = xrealloc(f->class_name, (size_t)f->classes + 1, sizeof *f->class_name);
    f->class_examples[f->classes] = rows;
    f->class_name[f->classes++] = xstrndup(line + at, (size_t)(comma - line - at));
}

/* "32 rows also in train.tsv, 4 more but for case and blanks (lines …)": the split's name may contain
 * anything, so the second number is the one before the last occurrence. */
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

/* Replaces the words of today by those of earlier versions, in which all lines are parsed; caller frees. */
static char *in_older_words(const char *line) {
    static const char *const words[][2] = {
        { " differ only in case or whitespace", " but for case and blanks" },
        { " truncation removed a whole text", " a whole text was cut" },
        { " truncated", " cut" },
        { " cannot encode (", " cannot write (" },
        { "random sample", "fixed draw" },
        { " examples", " rows" },
        { " example", " row" },
    };
    struct buf b = BUF_INIT;
    while (*line) {
        size_t i = 0;
        while (i < COUNT_OF(words) && !text_starts(line, words[i][0])) i++;
        if (i < COUNT_OF(words)) buf_puts(&b, words[i][1]);
        else buf_putc(&b, *line);
        line += i < COUNT_OF(words) ? strlen(words[i][0]) : 1;
    }
    return buf_take(&b);
}

/* `line` in older words; `original` as it is. */
static void report_read_line(const char *line, const char *original, struct report_facts *f) {
    size_t a, b;
    double percent;
    char word[16];
    const char *sha = strstr(original, " (sha256 ");
    if (sha && !*f->path) {
        free(f->path);
        f->path = xstrndup(original, (size_t)(sha - original));
    } else if (sscanf(line, "%zu row%*[s] from %zu line", &a, &b) == 2 ||
               sscanf(line, "%zu row from %zu line", &a, &b) == 2) {
        f->examples = f->split_examples = a;
    } else if (sscanf(line, "split: %zu of %zu rows", &a, &b) == 2) {
        f->examples = f->split_examples = a;
    } else if (sscanf(line, "a fixed draw (seed 0) of %zu of the %zu rows", &a, &b) == 2) {
        f->examples = a;
        f->split_examples = b;
    } else if (sscanf(line, "%zu row%15s", &a, word) == 2 && strstr(line, " without a ")) {
        f->unlabeled = a;
    } else if (text_starts(line, "class ")) {
        read_class(original, f);
    } else if (sscanf(line, "%zu row%*[s] repeat an earlier one, %zu more", &a, &b) == 2 ||
               sscanf(line, "%zu row repeat an earlier one, %zu more", &a, &b) == 2 ||
               sscanf(line, "%zu duplicate row%*[s], %zu more", &a, &b) == 2 ||
               sscanf(line, "%zu duplicate row, %zu more", &a, &b) == 2) {
        f->same = a;
        f->near = b;
    } else if ((strstr(line, " of the repeats have another ") || strstr(line, " with a different ")) &&
               sscanf(line, "warning: %zu ", &a) == 1) {
        f->same_other_label = a;
    } else if (strstr(line, " also in ")) {
        read_across(line, f);
    } else if (sscanf(line, "%zu tokens, %lf %% unknown", &a, &percent) == 2) {
        f->tokens = a;
        f->unknown = percent;
    } else if (sscanf(line, "%zu row%*[s] cut to %zu tokens", &a, &b) == 2 ||
               sscanf(line, "%zu row cut to %zu tokens", &a, &b) == 2) {
        f->cut_examples = a;
        f->max_len = b;
    } else if (strstr(line, " a whole text was cut") && sscanf(line, "warning: in %zu row", &a) == 1) {
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

/* An old report without a line "split:" covers a part of the file if the classes have fewer examples. */
static void parts_by_class(struct report_facts *f) {
    size_t labeled = 0;
    for (int i = 0; i < f->classes; i++) labeled += f->class_examples[i];
    if (labeled && labeled + f->unlabeled < f->examples) f->examples = f->split_examples = labeled;
}

void report_read(const char *text, struct report_facts *out) {
    *out = (struct report_facts){ .path = xstrdup("") };
    for (const char *end; *text; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        char *line = xstrndup(text, (size_t)(end - text));
        char *older = in_older_words(line);
        report_read_line(older, line, out);
        free(older);
        free(line);
    }
    parts_by_class(out);
}

void report_facts_release(struct report_facts *f) {
    for (int i = 0; i < f->classes; i++) free(f->class_name[i]);
    free(f->class_name);
    free(f->class_examples);
    free(f->signs);
    free(f->path);
    *f = (struct report_facts){ 0 };
}
