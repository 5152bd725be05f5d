/* Rows that are looked at: what each is called, of which task and class it is, and its texts.
 *
 * What petri embed keeps beside the vectors, what Map shows, and what two sides of a comparison
 * must share.  Owned by the caller. */
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
    char **label_name;      /* classes: as in the task */
    char **class_name;      /* the same; "task: label" where there are several tasks */
    int32_t *class_task;    /* classes */
    int32_t *of_task, *label; /* n; label -1: none */
    int64_t *row;           /* n: number in its file, from 1 */
    char **a, **b;          /* n; b NULL without a second text */
    char sha256[65];        /* over numbers, texts and token counts; "" when not known */
};

/* Rows of encoded splits, one a task, each below the other's. */
void rowset_of(struct rowset *r, const struct dataset *const *d, const char *const *task, int tasks);
void rowset_release(struct rowset *r);

/* As JSON, an object a row with its texts cut at ROWSET_TEXT bytes; predicted (n, classes, -1 none)
 * may be NULL. */
void rowset_items(const struct rowset *r, const int32_t *predicted, struct buf *out);
/* Back from it: *predicted (n, or NULL when no row has one) is the caller's.  `task`: of rows that
 * name none.  ERR_DATABASE when it is not of n rows. */
int rowset_read(struct rowset *r, int32_t **predicted, const char *items, int n, const char *task,
                struct err *e);

/* The class of a task by its label's name, or -1. */
int rowset_class(const struct rowset *r, int task, const char *label);
/* Whether both are the same rows: ERR_USAGE names the first whose number or texts differ. */
int rowset_same(const struct rowset *a, const struct rowset *b, struct err *e);
/* One text of a row, the second after a bar; caller frees. */
char *rowset_text(const struct rowset *r, int i);

#endif
