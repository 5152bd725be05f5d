/* The head that a model's folder brings, beside the classes of a task. */
#ifndef CORE_TRAIN_RUN_HEAD_H
#define CORE_TRAIN_RUN_HEAD_H

#include <stdbool.h>

#include "core/data/task.h"
#include "core/model/model.h"

/* The names of the folder's outputs, m->head_rows of them: id2label's, or LABEL_0, LABEL_1, … as where
 * a config gives none.  Caller frees each and the list. */
char **head_labels(const struct model *m);

/* Returns why a head of this model with `outputs` of them is neither trained nor evaluated, as its
 * "problem_type" is another than classes or one score; NULL: it is. */
const char *head_other(const struct arch *a, int outputs);

/* Which row of a head with these n classes (0: one score) is the task's output i, in row[i] (run_outputs of
 * them): by labels_match, each of its own.  Adds to `said` a line where the names alone do not tell.  False:
 * its classes are others. */
bool head_match(char *const *label, int n, const struct task *t, int *row, struct buf *said);
/* The same of the folder's head.  False: a new head is to be made, as there is none, its classes are others
 * or it is for another kind of problem.  Says which it is (report may be NULL). */
bool head_rows(const struct model *m, const struct task *t, int *row, struct buf *report);

#endif
