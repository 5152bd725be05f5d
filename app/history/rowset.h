/* A set of examples: the row of each in its file, its task, its class and its texts.
 *
 * petri embed stores it next to the vectors, Map shows it, and both sides of a comparison must have the
 * same one.  Owned by the caller. */
#ifndef APP_HISTORY_ROWSET_H
#define APP_HISTORY_ROWSET_H

#include "core/base/buf.h"
#include "core/data/dataset.h"

enum { ROWSET_TASKS = 64, ROWSET_TEXT = 400 };

struct rowset {
    int n;
    int tasks;
    char *task[ROWSET_TASKS];
    int classes;
    char **label_name;      /* one per class: name in the task */
    char **class_name;      /* one per class; "task: label" with several tasks */
    int32_t *class_task;    /* one per class */
    int32_t *of_task, *label; /* n; label -1: none */
    int64_t *row;           /* n: row in its file, from 1 */
    char **a, **b;          /* n; b NULL without a second text */
    char sha256[65];        /* over rows, texts and token counts; "" when unknown */
};

/* Collects the examples of encoded splits, one per task, in order. */
void rowset_of(struct rowset *r, const struct dataset *const *d, const char *const *task, int tasks);
void rowset_release(struct rowset *r);

/* Writes the set as JSON, an object per example with its texts cut at ROWSET_TEXT bytes; predicted (n,
 * class indices, -1: none) may be NULL. */
void rowset_items(const struct rowset *r, const int32_t *predicted, struct buf *out);
/* Parses that JSON: *predicted (n, or NULL when no example has one) is the caller's.  `task`: for examples
 * that name none.  ERR_DATABASE unless it has n examples. */
int rowset_read(struct rowset *r, int32_t **predicted, const char *items, int n, const char *task,
                struct err *e);

/* Returns the class of a task by the name of its label, or -1. */
int rowset_class(const struct rowset *r, int task, const char *label);
/* Returns whether both sets have the same examples: ERR_USAGE names the first whose row or texts differ. */
int rowset_same(const struct rowset *a, const struct rowset *b, struct err *e);
/* Returns the text of an example, the second after a bar; caller frees. */
char *rowset_text(const struct rowset *r, int i);

#endif
