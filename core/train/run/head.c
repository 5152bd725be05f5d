#include "core/train/run/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/run/run.h"

enum { NAMED = 8 }; /* maximum number of classes listed in a message */

char **head_labels(const struct model *m) {
    char **label = xcalloc((size_t)m->head_rows + 1, sizeof *label);
    for (int i = 0; i < m->head_rows; i++)
        label[i] = i < m->arch.labels ? xstrdup(m->arch.label[i]) : xprintf("LABEL_%d", i);
    return label;
}

const char *head_other(const struct arch *a, int outputs) {
    if (a->problem == PROBLEM_LABELS)
        return "is multi-label (\"problem_type\" is \"multi_label_classification\")";
    if (a->problem == PROBLEM_SCORES && outputs > 1)
        return "predicts several scores (\"problem_type\" is \"regression\" with more than one output)";
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

/* Returns whether no two classes share an output. */
static bool one_to_one(const int32_t *to, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (to[i] == to[k]) return false;
    return true;
}

static void say_new(const struct task *t, char *const *label, int labels, struct buf *report) {
    struct buf theirs = BUF_INIT, ours = BUF_INIT;
    head_add_names(&theirs, label, labels);
    head_add_names(&ours, t->class_name, t->classes);
    if (t->kind == DATA_CLASSES)
        text_line(
            report,
            "head: newly initialized: the classification head of the checkpoint has the classes %s; the task "
            "has %s",
            buf_text(&theirs), buf_text(&ours));
    else
        text_line(
            report,
            "head: newly initialized: the classification head of the checkpoint has %d outputs; regression "
            "needs 1",
            labels);
    buf_release(&theirs);
    buf_release(&ours);
}

/* Describes a mapping of classes to outputs other than by equal names; returns false if there is nothing to
 * report. */
static bool say_rows(const struct task *t, char *const *label, enum label_match how, const int *row,
                     struct buf *note) {
    static const char *const way[] = {
        [LABELS_BY_NAME] = ", matched by name",
        [LABELS_BY_FOLDED] = ", matched by name",
        [LABELS_BY_NUMBER] = "; numeric classes are matched to output indices",
        [LABELS_BY_ORDER] = ", which has no class names; matched in the order of the task's classes"
    };
    bool moved = how != LABELS_BY_NAME;
    struct buf list = BUF_INIT;
    for (int i = 0; i < t->classes; i++) {
        moved = moved || row[i] != i;
        if (i < NAMED)
            buf_printf(&list, "%s\"%.60s\" is output %d, \"%.60s\"", i ? ", " : "", t->class_name[i], row[i],
                       label[row[i]]);
    }
    if (moved) buf_printf(note, "%s: %s", way[how], buf_text(&list));
    buf_release(&list);
    return moved;
}

bool head_match(char *const *label, int n, const struct task *t, int *row, struct buf *note) {
    int outputs = run_outputs(t);
    row[0] = 0;
    if (t->kind != DATA_CLASSES) return !n && outputs == 1;
    if (n != outputs) return false;
    int32_t *to = xcalloc((size_t)outputs + 1, sizeof *to);
    enum label_match how = labels_match((const char *const *)label, n, true,
                                        (const char *const *)t->class_name, (size_t)outputs, to);
    bool taken = how != LABELS_OTHER && one_to_one(to, outputs);
    for (int i = 0; taken && i < outputs; i++) row[i] = to[i];
    if (taken && note) say_rows(t, label, how, row, note);
    free(to);
    return taken;
}

bool head_rows(const struct model *m, const struct task *t, int *row, struct buf *report) {
    struct buf note = BUF_INIT;
    if (!m->head_w || run_outputs(t) < 1) return false;
    const char *other = head_other(&m->arch, m->head_rows);
    if (other) {
        text_line(report, "head: newly initialized: the classification head of the checkpoint %s", other);
        return false;
    }
    char **label = head_labels(m);
    bool taken = head_match(label, m->head_rows == 1 ? 0 : m->head_rows, t, row, &note);
    if (note.size) text_line(report, "head: from the checkpoint%s", buf_text(&note));
    if (!taken) say_new(t, label, m->head_rows, report);
    buf_release(&note);
    free_labels(label, m->head_rows);
    return taken;
}
