/* Runs: which columns are shown, and in which order (runs.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/runs.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { METHOD_LEAST = 12 }; /* of method and task together */

/* The last ones give way. */
void runs_place_picked(struct runs_view *v) {
    for (int i = 0; i < v->picks; i++) v->visible[v->picked[i]] = true;
    for (int i = v->picks - 1; i > 0 && runs_rest(v) < METHOD_LEAST; i--)
        if (v->picked[i] != COL_METHOD && v->picked[i] != COL_TASK) v->visible[v->picked[i]] = false;
}

void runs_order_columns(struct runs_view *v) {
    v->places = 0;
    for (int i = 0; i < (v->picks ? v->picks : COL_COUNT); i++) {
        int at = v->picks ? v->picked[i] : i;
        if (v->visible[at]) v->place[v->places++] = at;
    }
    for (int i = 0; i < v->tasks; i++) v->place[v->places++] = COL_COUNT + i;
}

void runs_ask_columns(struct ui *ui) {
    const struct runs_view *v = &ui->runs;
    struct buf shown = BUF_INIT, label = BUF_INIT;
    const int *of = v->picks ? v->picked : v->place;
    int n = v->picks ? v->picks : v->places - v->tasks;
    bool has[COL_COUNT] = { false }, any = false;
    for (int i = 0; i < n; i++) {
        buf_printf(&shown, "%s%s", i ? " " : "", runs_column_name[of[i]]);
        has[of[i]] = true;
    }
    buf_puts(&label, "columns");
    for (int i = 0; i < COL_COUNT; i++) {
        if (has[i]) continue;
        buf_printf(&label, "%s%s", any ? " " : " (also ", runs_column_name[i]);
        any = true;
    }
    buf_puts(&label, any ? ") " : " ");
    prompt_open(&ui->prompt, buf_text(&label), buf_text(&shown), false);
    ui->use = USE_COLUMNS;
    buf_release(&shown);
    buf_release(&label);
}

/* The columns of a line, each once, into `picked`; *unknown: the first word that is none, the caller's, or
 * NULL. */
static int runs_columns_read(const char *text, int picked[COL_COUNT], char **unknown) {
    bool has[COL_COUNT] = { false };
    char *copy = xstrdup(text), *rest = copy, *word;
    int n = 0;
    *unknown = NULL;
    while ((word = strsep(&rest, " ,"))) {
        int at = 0;
        if (!*word) continue;
        while (at < COL_COUNT && strcmp(word, runs_column_name[at])) at++;
        if (at == COL_COUNT) {
            if (!*unknown) *unknown = xstrdup(word);
        } else if (!has[at]) {
            has[at] = true;
            picked[n++] = at;
        }
    }
    free(copy);
    return n;
}

static void runs_columns_take(struct runs_view *v, const int *picked, int n) {
    memcpy(v->picked, picked, (size_t)n * sizeof *picked);
    v->picks = n;
    runs_changed(v);
}

void runs_columns_typed(struct ui *ui, const char *text, struct effect *out) {
    int picked[COL_COUNT];
    char *unknown;
    int n = runs_columns_read(text, picked, &unknown);
    if (unknown) {
        const char *near = text_nearest(unknown, runs_column_name, COL_COUNT);
        ui_say(ui, SAY_ERROR, "unknown column \"%.30s\"%s%s", unknown, near ? "; did you mean " : "",
               near ? near : "");
        free(unknown);
        return;
    }
    if (!n) ui_say(ui, SAY_INFO, "columns chosen automatically");
    runs_columns_take(&ui->runs, picked, n);
    out->kind = EFFECT_COLUMNS;
    for (int i = 0; i < n; i++) {
        size_t at = strlen(out->text);
        snprintf(out->text + at, sizeof out->text - at, "%s%s", i ? " " : "", runs_column_name[picked[i]]);
    }
}

void runs_columns_kept(struct ui *ui, const char *names) {
    int picked[COL_COUNT];
    char *unknown;
    int n = runs_columns_read(names, picked, &unknown);
    free(unknown);
    runs_columns_take(&ui->runs, picked, n);
}
