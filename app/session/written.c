/* Files of what is on the screen: a picture or text of it, its table.  Each is new, and named after what is
 * in it. */
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/history/run_table.h"
#include "app/session/session_private.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "views/render.h"

enum { STEM_ROOM = 80 }; /* of what a screen says is on it */

/* "petri-map-run3-run5", "petri-heatmap-run3-class-centroids-cosine", "petri-runs-task-reviews": screen, what
 * of, which. */
static char *written_stem(const struct session *s) {
    const struct map_view *v = &s->ui.map;
    const struct screen *shown = screen_at(s->ui.screen);
    struct buf b = BUF_INIT, of = BUF_INIT;
    buf_printf(&b, "petri-%s", shown->name);
    for (int i = 0; i < v->subjects && shown->inside; i++)
        buf_printf(&b, "-%s%lld", v->sets ? "set" : "run", (long long)v->subject[i]);
    char *base = file_base_name(s->ui.compose.config.model), *model = outfile_slug(base);
    if (!v->subjects && *model && shown->inside) buf_printf(&b, "-%s", model);
    if (shown->pictured) shown->pictured(&s->ui, &of);
    char *what = outfile_slug(buf_text(&of));
    size_t n = strnlen(what, STEM_ROOM);
    while (n && what[n - 1] == '-') n--;
    if (n) buf_printf(&b, "-%.*s", (int)n, what);
    free(what);
    free(model);
    free(base);
    buf_release(&of);
    return buf_take(&b);
}

/* In a new file, whose name is told. */
static void put(struct session *s, const char *end, const struct buf *bytes) {
    struct err e = ERR_INIT;
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(s->store), false);
    char *stem = written_stem(s), *path = outfile_new_name(stem, end);
    int rc = outfile_write(&g, path, bytes->data ? bytes->data : "", bytes->size, &e);
    if (rc) ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    else ui_say(&s->ui, SAY_GOOD, "written: %s", path);
    outfile_guard_release(&g);
    free(stem);
    free(path);
}

/* Another program makes it, which takes its time. */
static void ask_png(struct session *s, const char *svg) {
    char *stem = written_stem(s);
    background_ask(s->background,
                   &(struct background_order){ .kind = BACKGROUND_PNG, .text = svg, .name = stem });
    free(stem);
}

void session__picture(struct session *s, const char *word) {
    enum render_form form;
    struct buf drawn = BUF_INIT;
    if (!render_form_named(word, &form)) return;
    render_ui(&s->ui, form, &drawn);
    if (form == RENDER_PNG) ask_png(s, buf_text(&drawn));
    else put(s, render_end(form), &drawn);
    buf_release(&drawn);
}

/* Cells or groups, as the command line gives them. */
static void comparison_as(const struct side_by_side *c, enum store_format form, struct buf *out) {
    const struct compared_options usual = { .cost = COST_TRAINED };
    if (form == STORE_CSV) comparison_csv(c, out);
    else if (form == STORE_JSON) comparison_json(c, &usual, out);
    else comparison_markdown(c, &usual, out);
}

/* The history may be long: the background writes. */
static void ask_runs_table(struct session *s, enum store_format form) {
    const struct runs_view *v = &s->ui.runs;
    char *stem = written_stem(s), *name = xprintf("%s%s", stem, run_table_end(form));
    int64_t *run = xcalloc((size_t)v->shown + 1, sizeof *run);
    for (int i = 0; i < v->shown; i++) run[i] = v->row[v->order[i]].id;
    background_ask(s->background, &(struct background_order){
                                      .kind = BACKGROUND_TABLE, .run = run, .runs = v->shown, .text = name });
    free(run);
    free(name);
    free(stem);
}

void session__table(struct session *s, const char *word) {
    enum store_format form;
    struct buf text = BUF_INIT;
    if (!run_table_form(word, &form)) return;
    if (s->ui.screen == SCREEN_RUNS) ask_runs_table(s, form);
    else if (s->ui.screen == SCREEN_COMPARE && s->compared)
        comparison_as(&s->compared->groups.of, form, &text);
    else if (s->ui.screen == SCREEN_SWEEP && s->swept) comparison_as(&s->swept->cells, form, &text);
    if (text.size) put(s, run_table_end(form), &text);
    buf_release(&text);
}
