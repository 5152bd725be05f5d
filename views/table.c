#include "views/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

void table_cell(struct table *t, enum ink ink, const char *format, ...) {
    const struct table_column *k = t->next++;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    BUG_IF(n < 0);
    if (k->w > 0) (k->right ? canvas_right : canvas_fit)(t->c, t->x, t->y, k->w, ink, text);
    if (k->w > 0) t->x += k->w + k->gap;
    free(text);
}

void table_heads(struct table t, size_t columns) {
    for (size_t i = 0; i < columns; i++) table_cell(&t, INK_DIM, "%s", t.next->head);
}
