/* Runs: which runs are listed: the typed filter with its history, and a set of runs opened from a group or
 * another screen (runs.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/runs.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static int by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int by_seed(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

bool runs_are_listed(const struct runs_view *v, const struct run_row *r) {
    if (*v->filter && r->unfit) return false;
    return !v->only.runs || bsearch(&r->id, v->only.run, (size_t)v->only.runs, sizeof r->id, by_id);
}

/* Counts the distinct seeds of the listed runs. */
void runs_count_seeds(struct runs_view *v) {
    uint64_t *seed = xmalloc(((size_t)v->shown + 1) * sizeof *seed);
    for (int i = 0; i < v->shown; i++) seed[i] = v->row[v->order[i]].seed;
    qsort(seed, (size_t)v->shown, sizeof *seed, by_seed);
    v->only.seeds = 0;
    for (int i = 0; i < v->shown; i++) v->only.seeds += !i || seed[i] != seed[i - 1];
    free(seed);
}

void runs_only_words(const struct runs_view *v, struct buf *out) {
    bool seeds = v->only.seeds == v->shown && v->shown > 1;
    buf_printf(out, "%s, %d %s%s   ", v->only.what, v->shown, seeds ? "seed" : "run",
               v->shown == 1 ? "" : "s");
}

char *runs_filter_text(const struct runs_view *v) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < v->only.runs; i++)
        buf_printf(&b, "%s%lld", i ? "," : "id=", (long long)v->only.run[i]);
    if (*v->filter) buf_printf(&b, "%s%s", b.size ? " " : "", v->filter);
    return b.size ? buf_take(&b) : xstrdup("");
}

void runs_set_filter(struct runs_view *v, const char *text, struct effect *out) {
    snprintf(v->filter, sizeof v->filter, "%.127s", text);
    *v->filter_error = 0;
    out->kind = EFFECT_FILTER;
    runs_changed(v);
}

void runs_list_all(struct runs_view *v, struct effect *out) {
    v->only.runs = 0;
    runs_set_filter(v, "", out);
}

void runs_show_only(struct ui *ui, const int64_t *run, int runs, const char *what, struct effect *out) {
    struct runs_view *v = &ui->runs;
    v->only.run = xrealloc(v->only.run, (size_t)runs + 1, sizeof *run);
    memcpy(v->only.run, run, (size_t)runs * sizeof *run);
    qsort(v->only.run, (size_t)runs, sizeof *run, by_id);
    v->only.runs = runs;
    snprintf(v->only.what, sizeof v->only.what, "%.*s", (int)sizeof v->only.what - 1, what);
    v->trash = v->grouped = false;
    v->marks = 0;
    v->cursor = v->top = 0;
    v->cursor_id = runs ? run[0] : 0;
    runs_set_filter(v, "", out);
    ui_show(ui, SCREEN_RUNS);
}

/* ---- the prompt ---- */

/* Appends a filter to the history, which has each once, the newest last. */
static void remember(struct runs_view *v, const char *filter) {
    int at = 0;
    while (at < v->pasts && strcmp(v->past[at], filter)) at++;
    if (!*filter) return;
    if (at == RUNS_PAST) at = 0; /* the oldest is dropped */
    if (at < v->pasts) memmove(v->past[at], v->past[at + 1], (size_t)(v->pasts - 1 - at) * sizeof *v->past);
    else v->pasts++;
    snprintf(v->past[v->pasts - 1], sizeof *v->past, "%s", filter);
}

void runs_filter_open(struct ui *ui) {
    struct runs_view *v = &ui->runs;
    remember(v, v->filter);
    snprintf(v->before, sizeof v->before, "%s", v->filter);
    v->past_at = v->pasts;
    prompt_open(&ui->prompt, v->pasts ? "filter (\u2191 earlier)" : "filter", "", false);
    ui->use = USE_FILTER;
}

bool runs_filter_press(struct ui *ui, const struct press *p, struct effect *out) {
    struct runs_view *v = &ui->runs;
    int to = v->past_at + (p->code == PRESS_UP ? -1 : 1);
    if (p->code != PRESS_UP && p->code != PRESS_DOWN) return false;
    if (to < 0 || to > v->pasts) return true;
    v->past_at = to;
    prompt_set(&ui->prompt, to < v->pasts ? v->past[to] : "");
    runs_set_filter(v, to < v->pasts ? v->past[to] : v->before, out);
    return true;
}

void runs_filter_done(struct ui *ui, bool canceled, struct effect *out) {
    struct runs_view *v = &ui->runs;
    if (canceled) runs_set_filter(v, v->before, out);
    else if (*v->filter_error) ui_say(ui, SAY_ERROR, "filter: %s", v->filter_error);
    else remember(v, v->filter);
}

/* ---- the value under the cursor ---- */

/* Appends a value as a filter reads it: in the quotes that it does not contain, in pieces where it contains
 * both. */
static void add_quoted(struct buf *b, const char *text) {
    if (!strpbrk(text, " '\"")) buf_puts(b, text);
    else
        while (*text) {
            char quote = strchr(text, '"') && (*text == '"' || !strchr(text, '\'')) ? '\'' : '"',
                 stop[] = { quote, '\0' };
            size_t n = strcspn(text, stop);
            buf_printf(b, "%c%.*s%c", quote, (int)n, text, quote);
            text += n;
        }
}

void runs_filter_cell(struct ui *ui, struct effect *out) {
    struct runs_view *v = &ui->runs;
    const struct run_row *row = runs_at_cursor(v);
    const char *task = runs_column_at(v, v->column).task; /* runs that were trained on it */
    char text[256];
    if (!row || (!task && !runs_cell_value(row, v->column, text))) return;
    struct buf word = BUF_INIT;
    buf_printf(&word, "%s%s%s%s", v->filter, *v->filter ? " " : "",
               task ? "task" : runs_column_name[v->column], task ? "~" : "=");
    add_quoted(&word, task ? task : text);
    if (word.size < sizeof v->filter) {
        memcpy(v->filter, buf_text(&word), word.size + 1);
        out->kind = EFFECT_FILTER;
    } else
        ui_say(ui, SAY_WARNING, "filter too long: at most %zu bytes", sizeof v->filter - 1);
    buf_release(&word);
}
