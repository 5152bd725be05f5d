/* A labelled task as text to text: the source names its fields, the target is the class number.
 *
 * The form is that of the T5 multi-task protocol: "<task> <field>: <text> <field>: <text>", as in
 * "mrpc sentence1: … sentence2: …", and a digit string as target, whatever the class is called; a
 * score is written with one decimal.  What the model writes is parsed back; an answer that is no
 * class (no number) is invalid, counted, and wrong.  text_parse is pure; the task is changed by
 * task_as_text alone, before it is encoded or shared. */
#ifndef CORE_DATA_TEXT_FORM_H
#define CORE_DATA_TEXT_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/data/metrics.h"
#include "core/data/task.h"

struct text_form {
    bool prefix; /* the task's name stands before the fields (it tells a model the task) */
    bool fifths; /* scores are first rounded to the nearest fifth, as T5 itself does */
};

/* Turns a task of classes or scores into DATA_TEXT: every row's a becomes the source and b goes
 * into it, target_text is set where the row has a gold label.  Labels, classes, positive class
 * and metric stay, so that answers can be scored; t->gold says what they are.  Says in the
 * task's report what became of it.  ERR_USAGE when the task is of texts already.  Not after
 * task_encode. */
int task_as_text(struct task *t, const struct text_form *f, struct err *e);

struct parsed {
    int32_t label; /* -1: invalid, or the task is of scores */
    double score;  /* -1 when invalid, as the protocol counts it; 0 in a task of classes */
    bool valid;
};

/* What an answer says in a task whose gold labels are classes or scores.  Blanks around it do
 * not count.  A class must be its number in decimal digits, a score a finite number. */
struct parsed text_parse(const struct task *t, const char *text, size_t n);

/* Scores what was written for the d->rows rows of a split of the task (DATA_TEXT): parsed back
 * and as classes or scores where the gold labels are such, an invalid score being -1, else as
 * texts.  The loss stays undefined: texts alone have none.  metrics_release frees. */
void text_metrics(struct metrics *m, const struct task *t, const struct dataset *d,
                  const struct metric_text *written);

#endif
