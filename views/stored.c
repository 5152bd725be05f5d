#include "views/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/ui_parts.h"

void stored_write(const struct ui *ui, struct buf *out) {
    const struct runs_view *v = &ui->runs;
    if (*v->filter) buf_printf(out, "filter %s\n", v->filter);
    if (v->sort < COL_COUNT && (v->sort != COL_ID || !v->reverse))
        buf_printf(out, "sort %s%s\n", v->reverse ? "-" : "", runs_column_name[v->sort]);
    if (v->by_task) buf_puts(out, "tasks on\n");
    if (v->grouped && v->group_by < COL_COUNT)
        buf_printf(out, "group %s\n", runs_column_name[v->group_by]);
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (ui->tipped >> i & 1) buf_printf(out, "used %s\n", screen_at((enum screen_id)i)->name);
}

/* Finds the column of that name; leaves *column where there is none. */
static bool stored_column(const char *name, int *column) {
    int found = runs_column_by_name(name, strlen(name));
    if (found < COL_COUNT) *column = found;
    return found < COL_COUNT;
}

static void stored_line(struct runs_view *v, const char *name, const char *value) {
    if (!strcmp(name, "filter")) {
        snprintf(v->filter, sizeof v->filter, "%.127s", value);
    } else if (!strcmp(name, "sort")) {
        bool down = *value == '-';
        if (stored_column(value + down, &v->sort)) v->reverse = down;
    } else if (!strcmp(name, "tasks")) {
        v->by_task = !strcmp(value, "on");
    } else if (!strcmp(name, "group")) {
        v->grouped = stored_column(value, &v->group_by);
    }
}

void stored_read(struct ui *ui, const char *text) {
    char *copy = xstrdup(text), *rest = copy, *line;
    while ((line = strsep(&rest, "\n"))) {
        char *value = strchr(line, ' ');
        if (!value) continue;
        *value++ = 0;
        enum screen_id used = strcmp(line, "used") ? SCREEN_COUNT : screen_by_name(value);
        if (used < SCREEN_COUNT) ui->tipped |= UINT32_C(1) << used;
        stored_line(&ui->runs, line, value);
    }
    free(copy);
    ui->tips = true;
    runs_changed(&ui->runs);
}
