/* Export of the screen's contents: a picture or text, its table, a run's points or model.  Each is a new
 * file, named after its contents. */
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/files/png.h"
#include "app/history/export_hf.h"
#include "app/history/run_table.h"
#include "app/session/session_private.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/render.h"

enum { STEM_ROOM = 80 }; /* of the screen's description of its contents */

/* Returns "petri-map-run3-run5", "petri-heatmap-run3-class-centroids-cosine", "petri-runs-task-reviews":
 * the screen, its subject, its part. */
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

/* Writes a new file; returns its name (caller frees), or NULL. */
static char *write_new(struct store *s, const char *stem, const char *end, const struct buf *bytes,
                       struct err *e) {
    struct outfile_guard g;
    char *path = outfile_new_name(stem, end);
    outfile_guard_init(&g, store_path(s), false);
    int rc = outfile_write(&g, path, bytes->data ? bytes->data : "", bytes->size, e);
    outfile_guard_release(&g);
    if (!rc) return path;
    free(path);
    return NULL;
}

void session__put(struct session *s, const char *end, const struct buf *bytes) {
    struct err e = ERR_INIT;
    char *stem = written_stem(s), *path = write_new(s->store, stem, end, bytes, &e);
    session__say_error(s, e.code, &e);
    if (path) ui_say(&s->ui, SAY_GOOD, "wrote %s", path);
    free(stem);
    free(path);
}

void session__copy(struct session *s, const char *why, const char *text) {
    enum { SELECTED = 400 }; /* bytes that can be selected on the message line */
    const char *colon = why ? "; " : "";
    const struct buf bytes = { .data = (char *)(uintptr_t)text, .size = strlen(text) };
    struct err e = ERR_INIT;
    int lines = 0;
    for (const char *at = strchr(text, '\n'); at; at = strchr(at + 1, '\n')) lines++;
    why = why ? why : "";
    if (term_copy(text)) {
        if (lines > 1) ui_say(&s->ui, SAY_INFO, "copied: %d lines", lines);
        else ui_say(&s->ui, SAY_INFO, "%s%scopied: %s", why, colon, text);
    } else if (bytes.size <= SELECTED && !lines) {
        ui_say(&s->ui, SAY_INFO, "%s%sselect to copy: %s", why, colon, text);
    } else {
        char *path = write_new(s->store, "petri-copy", ".txt", &bytes, &e);
        session__say_error(s, e.code, &e);
        if (path) ui_say(&s->ui, SAY_INFO, "%s%sno clipboard in this terminal; wrote %s", why, colon, path);
        free(path);
    }
}

/* ---- pictures ---- */

/* Converted from SVG by another program, which takes time, into a file with the same stem. */
static int write_png(struct background_work *w) {
    const struct buf svg = { .data = w->text, .size = strlen(w->text) };
    struct buf png = BUF_INIT;
    int rc = png_of_svg(&svg, &png, &w->e);
    char *path = rc ? NULL : write_new(w->store, w->made, ".png", &png, &w->e);
    if (path) work_say(w, SAY_GOOD, "wrote %s", path);
    free(path);
    buf_release(&png);
    return w->e.code;
}

/* Copies the text, or writes it to a new file. */
static void copy_or_put(struct session *s, bool copy, const char *end, const struct buf *text) {
    if (copy) session__copy(s, NULL, buf_text(text));
    else session__put(s, end, text);
}

static void do_picture(struct session *s, const struct effect *x) {
    static const struct work_kind png = { LANE_FILES, write_png, .drop = work_drop };
    enum render_form form;
    struct buf drawn = BUF_INIT;
    if (!render_form_named(x->text, &form)) return;
    render_ui(&s->ui, form, &drawn);
    if (form == RENDER_PNG) {
        struct background_work *w = work_new(&png, NULL, 0, buf_text(&drawn));
        w->made = written_stem(s);
        background_do(s->background, w);
    } else {
        copy_or_put(s, x->keep, render_end(form), &drawn);
    }
    buf_release(&drawn);
}

static void line_picture(const struct session *s, struct buf *b, const struct effect *x) {
    const struct ui *ui = &s->ui;
    const struct screen *shown = screen_at(ui->screen);
    int64_t run = shown->run ? shown->run(ui) : 0;
    enum render_form form;
    if (shown->unrendered || !render_form_named(x->text, &form)) return;
    line_verb(s, b, "render --screen ");
    buf_printf(b, "%s --size %dx%d", shown->name, ui->w, ui->h);
    if (shown->rendered) shown->rendered(ui, b);
    else if (run > 0) buf_printf(b, " --run %lld", (long long)run);
    if (ui->glyphs == GLYPHS_ASCII) buf_puts(b, " --ascii");
    if (!x->keep) buf_printf(b, " --out %s%s", shown->name, render_end(form));
}

/* ---- tables and runs ---- */

/* Writes cells or groups, as the command line prints them. */
static void comparison_as(const struct side_by_side *c, enum store_format form, struct buf *out) {
    const struct compared_options usual = { .cost = COST_TRAINED };
    if (form == STORE_CSV) comparison_csv(c, out);
    else if (form == STORE_JSON) comparison_json(c, &usual, out);
    else comparison_markdown(c, &usual, out);
}

/* Writes runs as a table, or the points of one, into a new file. */
static int write_text(struct background_work *w, const char *stem, bool table, enum store_format form) {
    const char *end = form == STORE_JSON && !table ? ".jsonl" : run_table_end(form);
    char *path = outfile_new_name(stem, end);
    struct outfile_guard g;
    struct outfile_sink f = { .e = &w->e };
    const struct store_sink sink = { &f, outfile_sink_add };
    outfile_guard_init(&g, store_path(w->store), false);
    int rc = outfile_open(&f.file, &g, path, &w->e);
    if (!rc) {
        rc = table ? run_table_write(w->store, w->run, (size_t)w->runs, form, sink, &w->e)
                   : store_export(w->store, STORE_EXPORT_POINTS, form, w->run, (size_t)w->runs, sink, &w->e);
        rc = outfile_end(&f.file, rc, &w->e);
    }
    outfile_guard_release(&g);
    if (!rc) work_say(w, SAY_GOOD, "wrote %s", path);
    free(path);
    return rc;
}

/* Exports a run's model as a new folder. */
static int write_folder(struct background_work *w, const char *stem) {
    double worst;
    struct outfile_guard g;
    char *path = outfile_new_name(stem, "");
    outfile_guard_init(&g, store_path(w->store), false);
    int rc = outfile_check_folder(&g, path, &w->e);
    if (!rc)
        rc = export_hf(w->store, w->run[0], NULL, NULL, path, false, jobs_crew(w->room->jobs), &worst, NULL,
                       &w->e);
    outfile_guard_release(&g);
    if (!rc) work_say(w, SAY_GOOD, "wrote %s", path);
    free(path);
    return rc;
}

/* Exports run 0's points in the format named by text, "csv", "json", "markdown"; or its model, "hf". */
static int write_run(struct background_work *w) {
    enum store_format form = STORE_CSV;
    bool folder = !strcmp(w->text, "hf");
    char *stem = xprintf("petri-run%lld-%s", (long long)w->run[0], folder ? "hf" : "points");
    run_table_form(w->text, &form);
    int rc = folder ? write_folder(w, stem) : write_text(w, stem, false, form);
    free(stem);
    return rc;
}

static const struct work_kind export_work = { LANE_FILES, .work = write_run };

static void line_run(const struct session *s, struct buf *b, const struct effect *x) {
    (void)s;
    text_shell_option(b, "to", x->text);
    if (!strcmp(x->text, "hf")) buf_printf(b, " petri-run%lld-hf", (long long)x->run[0]);
}

static int add_text(void *self, const char *bytes, size_t n) {
    buf_add(self, bytes, n);
    return 0;
}

/* Writes the runs to a new file, or (`flag`) to `made` for copying. */
static int write_table(struct background_work *w) {
    enum store_format form = (enum store_format)w->number;
    struct buf text = BUF_INIT;
    if (!w->flag) return write_text(w, w->text, true, form);
    const struct store_sink sink = { &text, add_text };
    int rc = run_table_write(w->store, w->run, (size_t)w->runs, form, sink, &w->e);
    w->made = buf_take(&text);
    return rc;
}

static void copy_table(struct session *s, struct background_work *w) {
    if (w->flag && !w->failed) session__copy(s, NULL, w->made);
}

/* Large databases take time: the background writes the file. */
static void ask_runs_table(struct session *s, enum store_format form, bool copy) {
    static const struct work_kind kind = { LANE_FILES, write_table, copy_table, .drop = work_drop };
    const struct runs_view *v = &s->ui.runs;
    char *stem = written_stem(s);
    struct background_work *w = work_new(&kind, NULL, 0, stem);
    w->number = form;
    w->flag = copy;
    w->run = xrealloc(w->run, (size_t)v->shown + 1, sizeof *w->run);
    for (int i = 0; i < v->shown; i++) w->run[w->runs++] = v->row[v->order[i]].id;
    background_do(s->background, w);
    free(stem);
}

static void do_table(struct session *s, const struct effect *x) {
    const struct session_sweep *of = &s->sweep;
    enum store_format form;
    struct buf text = BUF_INIT;
    if (!run_table_form(x->text, &form)) return;
    switch (screen_at(s->ui.screen)->table_of) {
    case TABLE_NONE: break;
    case TABLE_RUNS: ask_runs_table(s, form, x->keep); break;
    case TABLE_GROUPS:
        if (of->compared) comparison_as(&of->compared->groups.of, form, &text);
        break;
    case TABLE_CELLS:
        if (of->swept) comparison_as(&of->swept->cells, form, &text);
        break;
    }
    if (text.size) copy_or_put(s, x->keep, run_table_end(form), &text);
    buf_release(&text);
}

static void line_table(const struct session *s, struct buf *b, const struct effect *x) {
    if (line_printed(s, b, screen_at(s->ui.screen))) buf_printf(b, " --%s", x->text);
}

const struct action written_actions[] = {
    { EFFECT_PICTURE, do_picture, .line = line_picture },
    { EFFECT_TABLE, do_table, .line = line_table },
    { EFFECT_EXPORT, .work = &export_work, .verb = "export", .line = line_run },
    { .kind = EFFECT_NONE },
};
