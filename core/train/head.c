#include "core/train/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/run.h"

enum { NAMED = 8 }; /* classes that a line lists */

char **head_labels(const struct model *m) {
    char **label = xcalloc((size_t)m->head_rows + 1, sizeof *label);
    for (int i = 0; i < m->head_rows; i++)
        label[i] = i < m->arch.labels ? xstrdup(m->arch.label[i]) : xprintf("LABEL_%d", i);
    return label;
}

const char *head_other(const struct arch *a, int outputs) {
    if (a->problem == PROBLEM_LABELS)
        return "gives each label a probability of its own (\"problem_type\" is \"multi_label_classification\")";
    if (a->problem == PROBLEM_SCORES && outputs > 1)
        return "gives several scores (\"problem_type\" is \"regression\" with more than one output)";
    return NULL;
}

static void free_labels(char **label, int n) {
    for (int i = 0; i < n; i++) free(label[i]);
    free(label);
}

static void head_add_names(struct buf *b, char *const *name, int n) {
    for (int i = 0; i < n && i < NAMED; i++) buf_printf(b, "%s\"%.60s\"", i ? ", " : "", name[i]);
    if (n > NAMED) buf_printf(b, " and %d more", n - NAMED);
}

/* Each class has a row of its own. */
static bool one_to_one(const int32_t *to, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (to[i] == to[k]) return false;
    return true;
}

/* Whether id2label gives names, not the numbers that transformers writes where nobody gave any. */
static bool head_is_named(char *const *label, int n) {
    char number[32];
    for (int i = 0; i < n; i++) {
        snprintf(number, sizeof number, "LABEL_%d", i);
        if (strcmp(label[i], number)) return true;
    }
    return false;
}

static void say_new(const struct task *t, char *const *label, int labels, struct buf *report) {
    struct buf theirs = BUF_INIT, ours = BUF_INIT;
    head_add_names(&theirs, label, labels);
    head_add_names(&ours, t->class_name, t->classes);
    if (t->kind == DATA_CLASSES)
        text_line(report, "head: newly made: the folder's classes are %s, this task's %s", buf_text(&theirs),
                  buf_text(&ours));
    else
        text_line(report, "head: newly made: the folder's has %d outputs, scores need 1", labels);
    buf_release(&theirs);
    buf_release(&ours);
}

static void say_taken(const struct task *t, char *const *label, bool named, enum label_match how, const int *row,
                      struct buf *report) {
    bool moved = false;
    struct buf list = BUF_INIT;
    for (int i = 0; i < t->classes; i++) {
        moved = moved || row[i] != i;
        if (i < NAMED)
            buf_printf(&list, "%s\"%.60s\" is its row %d, \"%.60s\"", i ? ", " : "", t->class_name[i], row[i],
                       label[row[i]]);
    }
    if (!named)
        text_line(report, "head: the folder's, which names no classes: taken in this task's order: %s", buf_text(&list));
    else if (how == LABELS_BY_NUMBER)
        text_line(report, "head: the folder's; the classes are numbers and are taken as its rows': %s", buf_text(&list));
    else if (moved || how == LABELS_BY_FOLDED)
        text_line(report, "head: the folder's, its rows by name: %s", buf_text(&list));
    buf_release(&list);
}

bool head_rows(const struct model *m, const struct task *t, int *row, struct buf *report) {
    int outputs = run_outputs(t);
    if (!m->head_w || outputs < 1) return false;
    const char *other = head_other(&m->arch, m->head_rows);
    if (other) {
        text_line(report, "head: newly made: the folder's %s", other);
        return false;
    }
    char **label = head_labels(m);
    bool taken = m->head_rows == outputs;
    if (t->kind == DATA_CLASSES && taken) {
        int32_t *to = xcalloc((size_t)outputs, sizeof *to);
        bool named = head_is_named(label, m->head_rows);
        enum label_match how = labels_match((const char *const *)label, m->head_rows, true,
                                            (const char *const *)t->class_name, (size_t)outputs, to);
        taken = !named || (how != LABELS_OTHER && one_to_one(to, outputs));
        for (int i = 0; taken && i < outputs; i++) row[i] = named ? to[i] : i;
        if (taken) say_taken(t, label, named, how, row, report);
        free(to);
    } else if (taken) {
        row[0] = 0;
    }
    if (!taken) say_new(t, label, m->head_rows, report);
    free_labels(label, m->head_rows);
    return taken;
}
