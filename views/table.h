/* Rows of columns: each is described once, for its head and for what is below it. */
#ifndef VIEWS_TABLE_H
#define VIEWS_TABLE_H

#include "views/canvas.h"

struct table_column {
    const char *head;
    int w, gap; /* w 0: not shown; gap: blanks behind it */
    bool right; /* aligned */
};

/* Where the next cell is drawn: of the column `next`. */
struct table {
    struct canvas *c;
    const struct table_column *next;
    int x, y;
};

/* Draws the next cell as printf writes it; "" passes over it. */
void table_cell(struct table *t, enum ink ink, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Draws the heads of so many columns. */
void table_heads(struct table t, size_t columns);

#endif
