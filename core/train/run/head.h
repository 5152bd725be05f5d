/* The classification head of a model's folder, matched with the classes of a task. */
#ifndef CORE_TRAIN_RUN_HEAD_H
#define CORE_TRAIN_RUN_HEAD_H

#include <stdbool.h>

#include "core/data/task.h"
#include "core/model/model.h"

/* Returns the names of the m->head_rows outputs of the head: those of id2label, or LABEL_0, LABEL_1, … where
 * the config has none. Caller frees each and the list. */
char **head_labels(const struct model *m);

/* Returns why a head with `outputs` outputs is not supported: its "problem_type" is neither classes nor a
 * single score. NULL: it is supported. */
const char *head_other(const struct arch *a, int outputs);

/* Writes to row[i] the row of a head with these n classes (0: one score) for output i of the task, by
 * labels_match, without duplicates. Appends a note to `note` where names are not equal. Returns false for a
 * head with other classes. */
bool head_match(char *const *label, int n, const struct task *t, int *row, struct buf *note);
/* Does the same for the head of the folder. Returns false where a new head is needed: the folder has none, or
 * one with other classes or of another kind. Appends the reason to `report` (may be NULL). */
bool head_rows(const struct model *m, const struct task *t, int *row, struct buf *report);

#endif
