/* A labeled task in text-to-text form: the source lists its fields by name, the target is the class index.
 *
 * The form is that of the T5 multi-task protocol: "<task> <field>: <text> <field>: <text>", such as "mrpc
 * sentence1: … sentence2: …", with a digit string as target for any class name; a score is formatted with one
 * decimal.  Generated answers are parsed; an answer that is not a class (a number) is invalid, counted, and
 * wrong.  text_parse is pure; a task is modified only by task_as_text, before it is encoded or shared. */
#ifndef CORE_DATA_TEXT_FORM_H
#define CORE_DATA_TEXT_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/data/metrics.h"
#include "core/data/task.h"

struct text_form {
    bool prefix; /* prepend the task name (it identifies the task to the model) */
    bool fifths; /* scores are first rounded to the nearest fifth, as in T5 */
};

/* Converts a task of classes or scores to DATA_TEXT: a becomes the source, including b, and target_text is
 * set for labeled examples.  Labels, classes, positive class and metric are unchanged, so that answers can be
 * scored; t->gold is the kind of labels.  Reported in the task's report.  ERR_USAGE for a task of texts.  Not
 * after task_encode. */
int task_as_text(struct task *t, const struct text_form *f, struct err *e);

struct parsed {
    int32_t label; /* -1: invalid, or the task is of scores */
    double score;  /* -1 if invalid, as in the protocol; 0 in a task of classes */
    bool valid;
};

/* Parses an answer in a task with classes or scores.  Blanks around it are ignored.  A class must be its
 * index in decimal digits, a score a finite number. */
struct parsed text_parse(const struct task *t, const char *text, size_t n);

/* Scores the texts generated for the d->rows examples of a split of the task (DATA_TEXT): parsed as classes
 * or scores if the labels are such, an invalid score being -1, otherwise as texts.  The loss is undefined.
 * Released with metrics_release. */
void text_metrics(struct metrics *m, const struct task *t, const struct dataset *d,
                  const struct metric_text *written);

#endif
