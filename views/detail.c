#include "views/detail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "views/sheet.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Short ones side by side; a value that is longer than its column has rows of its own below, where
 * it is read to its end. */
static void pairs(struct sheet *p, const struct detail_pair *pair, int n, int in_row) {
    int w = (p->r.w - PANE_EDGE) / in_row, key = 8, count = 0;
    for (int i = 0; i < n; i++)
        if (text_width(pair[i].key) > key) key = text_width(pair[i].key);
    if (key > w * 2 / 3) key = w * 2 / 3;
    int room = w - key - 3;
    for (int i = 0; i < n; i++) count += text_width(pair[i].value) <= room;
    int rows = (count + in_row - 1) / in_row, at_short = 0;
    for (int i = 0; i < n && p->c; i++) {
        if (text_width(pair[i].value) > room) continue;
        int x = p->r.x + PANE_EDGE + at_short / rows * w, y = sheet_y(p) + at_short % rows;
        canvas_fit(p->c, x, y, key, INK_DIM, pair[i].key);
        canvas_fit(p->c, x + key + 1, y, room, INK_TEXT, pair[i].value);
        at_short++;
    }
    p->rows += rows;
    for (int i = 0; i < n; i++) {
        if (text_width(pair[i].value) <= room) continue;
        if (p->c) canvas_fit(p->c, p->r.x + PANE_EDGE, sheet_y(p), key, INK_DIM, pair[i].key);
        sheet_text(p, PANE_EDGE + key + 1, INK_TEXT, pair[i].value);
    }
}

static void warnings(struct sheet *p, const struct detail_view *v) {
    char text[RUN_FLAG + 8], flag[RUN_FLAG];
    run_flag(&v->run, flag);
    for (int i = -1; i < v->warnings; i++) {
        if (i < 0 && !*flag) continue;
        snprintf(text, sizeof text, "\u2691 %.*s", RUN_FLAG, i < 0 ? flag : v->warning[i]);
        sheet_text(p, PANE_EDGE, INK_WARN, text);
    }
}

/* Draws the loss of each evaluation, and the primary metric if that is another one. */
static void evaluations(struct sheet *p, const struct detail_view *v) {
    const char *metric = v->run.metric ? v->run.metric : "dev";
    bool both = strcmp(metric, "loss") != 0;
    sheet_rule(p, "evaluations", v->series.eval_rows);
    if (p->c) {
        canvas_text(p->c, p->r.x + PANE_EDGE, sheet_y(p), INK_DIM, "    step      loss");
        if (both) canvas_right(p->c, p->r.x + PANE_EDGE + 19, sheet_y(p), 12, INK_DIM, metric);
    }
    p->rows++;
    for (int i = 0; i < v->evals; i++, p->rows++) {
        const struct detail_eval *e = &v->eval[i];
        if (!p->c) continue;
        enum ink ink = e->best ? INK_TITLE : INK_TEXT;
        int used = canvas_printf(p->c, p->r.x + PANE_EDGE, sheet_y(p), ink, "%8lld  %8s", (long long)e->step,
                                 show_value(e->loss).text);
        if (both)
            used += canvas_printf(p->c, p->r.x + PANE_EDGE + used, sheet_y(p), ink, "  %12s",
                                  show_value(e->value).text);
        if (e->best) canvas_text(p->c, p->r.x + PANE_EDGE + 2 + used, sheet_y(p), INK_METRIC, "best");
    }
}

/* What each of several tasks came to. */
static void tasks(struct sheet *p, const struct detail_view *v) {
    const struct run_row *r = &v->run;
    int name = 4;
    sheet_rule(p, "tasks", "at the stored checkpoint");
    for (int i = 0; i < r->task_results; i++) {
        int w = text_width(r->task_result[i].name);
        name = w > name ? w : name;
    }
    if (name > p->r.w / 3) name = p->r.w / 3;
    if (p->c) {
        canvas_text(p->c, p->r.x + PANE_EDGE, sheet_y(p), INK_DIM, "task");
        canvas_text(p->c, p->r.x + PANE_EDGE + name + 1, sheet_y(p), INK_DIM,
                    "metric             value      step  majority  examples");
    }
    p->rows++;
    for (int i = 0; i < r->task_results; i++, p->rows++) {
        const struct task_row *t = &r->task_result[i];
        if (!p->c) continue;
        canvas_fit(p->c, p->r.x + PANE_EDGE, sheet_y(p), name, INK_TEXT, t->name);
        canvas_printf(p->c, p->r.x + PANE_EDGE + name + 1, sheet_y(p), INK_TEXT,
                      "%-15.15s %8s  %8lld  %8s  %8s", t->metric,
                      t->undefined ? "undef." : show_value(t->value).text, (long long)t->step,
                      isnan(t->majority) ? "-" : show_value(t->majority).text,
                      t->rows ? show_count(t->rows).text : "-");
    }
}

/* "accuracy 0.714 (majority 0.536), loss 0.612 · test 28 (best checkpoint, step 40)", a line a task. */
static void tests(struct sheet *p, const struct detail_view *v) {
    sheet_rule(p, "test", "evaluated once, at the end; not used for selection");
    for (int i = 0; i < v->tests; i++) {
        const struct detail_test *t = &v->test[i];
        struct buf b = BUF_INIT;
        buf_printf(&b, "%s%s%s %s", t->task ? t->task : "", t->task ? " " : "", t->metric,
                   t->undefined ? "undefined" : show_value(t->value).text);
        if (t->undefined) buf_printf(&b, " (%s)", t->undefined);
        if (isfinite(t->majority)) buf_printf(&b, " (majority %s)", show_value(t->majority).text);
        if (isfinite(t->loss)) buf_printf(&b, ", loss %s", show_value(t->loss).text);
        if (t->rows) buf_printf(&b, " \u00B7 %s", t->rows);
        sheet_text(p, PANE_EDGE, INK_TEXT, buf_text(&b));
        buf_release(&b);
    }
}

static bool is_hidden(const struct detail_view *v, const struct detail_setting *s) {
    return s->usual && !s->leads && !v->whole;
}

/* A heading, then "name value" of each setting of the group, as many as fit in a row; *x: where the next one
 * begins, PANE_EDGE: none yet. */
static void setting(struct sheet *p, const struct detail_setting *s, bool heads, int *x) {
    enum { HEAD = 18, GAP = 3 };
    const char *head = option_group_name(s->group);
    int name = text_width(s->name) + 1, value = text_width(s->value), left = PANE_EDGE + HEAD;
    if (heads || *x + name + value > p->r.w - PANE_EDGE) {
        p->rows += *x > PANE_EDGE;
        *x = left;
    }
    if (heads && p->c) canvas_text(p->c, p->r.x + PANE_EDGE, sheet_y(p), INK_KEY, head);
    if (heads && text_width(head) + 1 > HEAD) *x = PANE_EDGE + text_width(head) + 2;
    enum ink ink = s->usual ? INK_DIM : INK_TITLE;
    if (p->c) canvas_text(p->c, p->r.x + *x, sheet_y(p), INK_DIM, s->name);
    if (*x + name + value < p->r.w) {
        if (p->c) canvas_text(p->c, p->r.x + *x + name, sheet_y(p), ink, s->value);
    } else { /* over several rows, of which the next setting begins after the last */
        sheet_text(p, *x + name, ink, s->value);
        p->rows--;
        *x = p->r.w;
    }
    *x += name + value + GAP;
}

/* The settings by group, as in Compose.  Those at their default are dim, and only the leading ones among them
 * are shown, unless all are. */
static void settings(struct sheet *p, const struct detail_view *v) {
    int hidden = 0, x = PANE_EDGE;
    enum option_group last = OPTION_GROUPS;
    for (int i = 0; i < v->settings; i++) hidden += is_hidden(v, &v->setting[i]);
    sheet_rule(p, "settings",
               v->whole ? "O hides defaults" : hidden ? phrase("O shows %d defaults", hidden).text : NULL);
    for (int i = 0; i < v->settings; i++) {
        const struct detail_setting *s = &v->setting[i];
        if (is_hidden(v, s)) continue;
        setting(p, s, s->group != last, &x);
        last = s->group;
    }
    p->rows++;
}

static void detail_head(struct sheet *p, const struct detail_view *v) {
    const struct run_row *r = &v->run;
    sheet_rule(
        p,
        phrase("#%lld  %.60s%s%.200s", (long long)r->id, r->name ? r->name : "", r->name ? " \u00B7 " : "",
               r->method)
            .text,
        phrase("%s %s  %s", state_sign(r->state), run_state_name(r->state), show_seconds(r->seconds).text)
            .text);
    struct phrase line = phrase("%.60s on %.60s, seed %llu: %s trainable parameters", r->task,
                                r->model ? r->model : "?", (unsigned long long)r->seed,
                                show_count(r->trained).text);
    if (r->metric && isfinite(r->best))
        phrase_add(&line, ", %s %s at step %lld", r->metric, show_value(r->best).text,
                      (long long)r->best_step);
    if (r->metric && isfinite(r->majority))
        phrase_add(&line, " (majority %s)", show_value(r->majority).text);
    sheet_text(p, PANE_EDGE, INK_TEXT, line.text);
    if (r->tags) sheet_text(p, PANE_EDGE, INK_DIM, phrase("tags: %.280s", r->tags).text);
    if (r->note) sheet_text(p, PANE_EDGE, INK_TEXT, r->note);
}

static void curve(struct sheet *p, const struct detail_view *v) {
    const struct series *s = &v->series;
    if (!s->count || s->run != v->run.id) return;
    int rows = p->r.h >= 40 ? 14 : 8;
    sheet_rule(p, "loss", NULL);
    struct plot_data d = { s->step, s->loss, s->count };
    struct plot_look look = { .smooth = 3, .raw = true, .mark = s->mark, .marks = s->marks };
    struct rect chart = { p->r.x, sheet_y(p), p->r.w, rows };
    if (p->c && chart.y + rows > p->r.y && chart.y < p->r.y + p->r.h)
        plot_curve(p->c, chart, &d, &look, -1, true);
    p->rows += rows;
}

/* What it came to on few rows; and inside of an episode. */
static void few_shots(struct sheet *p, const struct detail_view *v) {
    if (!v->few.lines) return;
    int rows = few_rows(&v->few, p->r.h);
    sheet_rule(p, "few-shot", "mean over tasks, by number of examples per class");
    if (p->c) few_draw(p->c, (struct rect){ p->r.x, sheet_y(p), p->r.w, rows }, &v->few, p->r.h);
    p->rows += rows;
}

static void episode(struct sheet *p, const struct detail_view *v) {
    int rows = episode_rows(&v->episode, p->r.h);
    if (!rows) return;
    sheet_rule(p, "inner loop",
               phrase("first held-out episode, step %lld", (long long)v->episode.step).text);
    if (p->c) episode_draw(p->c, (struct rect){ p->r.x, sheet_y(p), p->r.w, rows }, &v->episode, p->r.h);
    p->rows += rows;
}

/* *scores (may be NULL): the row where the predictions begin. */
static int detail_lay(const struct ui *ui, struct canvas *c, struct rect r, int *scores) {
    const struct detail_view *v = &ui->detail;
    struct sheet p = { c, r, v->top, .glyphs = ui->glyphs, .apart = r.h >= SHEET_ROOM };
    int in_row = r.w >= 150 ? 3 : r.w >= 70 ? 2 : 1;
    detail_head(&p, v);
    warnings(&p, v);
    if (v->run.task_results) tasks(&p, v);
    if (v->settings) settings(&p, v);
    curve(&p, v);
    few_shots(&p, v);
    episode(&p, v);
    if (v->counts) {
        sheet_rule(&p, "counts", NULL);
        pairs(&p, v->count, v->counts, in_row);
    }
    if (v->tests) tests(&p, v);
    if (v->evals) evaluations(&p, v);
    if (scores) *scores = p.rows;
    if (v->run.state > RUN_PAUSED) detail_put_scores(&p, v);
    if (v->lines_read) sheet_rule(&p, "import report", NULL);
    for (int i = 0; i < v->lines_read; i++)
        sheet_text(&p, PANE_EDGE, text_starts(v->line_read[i], "warning") ? INK_WARN : INK_TEXT,
                   v->line_read[i]);
    if (v->records) {
        sheet_rule(&p, "record", "fixed at step 0");
        pairs(&p, v->record, v->records, in_row);
    }
    if (v->artifacts) {
        sheet_rule(&p, "files", "! opens a shell in their folder");
        pairs(&p, v->artifact, v->artifacts, 1);
    }
    return p.rows;
}

static void detail_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    if (!ui->detail.run.id) {
        canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "loading the run\u2026");
        return;
    }
    canvas_push_clip(c, r);
    detail_lay(ui, c, r, NULL);
    canvas_pop_clip(c);
}

void detail_scored(struct ui *ui) {
    struct detail_view *v = &ui->detail;
    int at = 0, rows = detail_lay(ui, NULL, ui_body(ui), &at), last = rows - ui_body(ui).h;
    v->scoring = false;
    if (v->scores && v->scores->run == v->run.id) v->top = ui_into(at, last > 0 ? last : 0);
}

/* The best checkpoint on the validation set: of several tasks the first, then the next ones. */
static void ask_scores(struct ui *ui, struct effect *out) {
    struct detail_view *v = &ui->detail;
    if (v->scoring || v->run.state <= RUN_PAUSED || v->few.lines) {
        ui_say(ui, SAY_INFO,
               v->scoring       ? "still evaluating"
               : v->few.lines ? "a few-shot run has no checkpoint: open one of its samples"
                              : "the run has no final checkpoint yet");
        return;
    }
    int next = 0;
    for (int i = 0; v->scores && v->scores->run == v->run.id && i < v->run.task_results; i++)
        if (!strcmp(v->run.task_result[i].name, v->scores->task)) next = (i + 1) % v->run.task_results;
    v->scoring = true;
    out->kind = EFFECT_SCORES;
    out->by = next;
}

static bool detail_request(struct ui *ui, enum request r, struct effect *out) {
    struct detail_view *v = &ui->detail;
    const struct run_row *run = &v->run;
    if (run->id && ui_scroll(ui, r, detail_lay(ui, NULL, ui_body(ui), NULL), &v->top)) return true;
    out->run = &run->id;
    out->runs = 1;
    switch (r) {
    case REQ_UNDO: out->kind = EFFECT_UNDO; return true;
    case REQ_REDO: out->kind = EFFECT_REDO; return true;
    case REQ_SWITCH: v->whole = !v->whole; return true;
    default: break;
    }
    if (!run->id) return false;
    switch (r) {
    case REQ_DESCRIBE: ask_scores(ui, out); return true;
    case REQ_RUN: runs_again(ui, run, out); return true;
    case REQ_TRASH: out->kind = ui->runs.trash ? EFFECT_RESTORE : EFFECT_TRASH; return true;
    default: return ui_run_request(ui, r, run->state, out);
    }
}

/* The next rows of a pane, as many as the text takes. */
static void next(struct sheet *s, enum ink ink, const char *text) {
    struct rect rest = { s->r.x + PANE_EDGE, sheet_y(s), s->r.w - PANE_EDGE - 1, s->r.h - s->rows };
    s->rows += canvas_wrap(s->c, rest, ink, text);
}

int runs_summary(struct canvas *c, struct rect r, const struct run_row *row) {
    struct sheet s = { .c = c, .r = r };
    char flag[RUN_FLAG];
    sheet_rule(&s, phrase("#%lld", (long long)row->id).text, run_state_name(row->state));
    next(&s, INK_TITLE, row->method);
    next(&s, INK_TEXT, phrase("%.100s on %.100s", row->task, row->model ? row->model : "?").text);
    s.rows++;
    next(&s, INK_TEXT, phrase("%s %s @ %lld", row->metric ? row->metric : "best", show_value(row->best).text,
                             (long long)row->best_step)
                           .text);
    if (row->metric && row->rows)
        next(&s, INK_DIM, phrase("on %s validation examples", show_count(row->rows).text).text);
    if (!isnan(row->lr)) next(&s, INK_DIM, phrase("learning rate %g", row->lr).text);
    next(&s, INK_DIM, phrase("majority baseline %s", show_value(row->majority).text).text);
    next(&s, INK_DIM, phrase("final loss %s", show_value(row->final_loss).text).text);
    next(&s, INK_TEXT, phrase("%s trainable parameters", show_count(row->trained).text).text);
    next(&s, INK_DIM, phrase("step %lld of %lld", (long long)row->step, (long long)row->steps).text);
    if (row->started) next(&s, INK_DIM, phrase("started %s", row->started).text);
    if (row->disk >= 0) next(&s, INK_DIM, phrase("%s bytes on disk", show_count(row->disk).text).text);
    if (row->name) next(&s, INK_TEXT, phrase("name: %s", row->name).text);
    if (row->tags) next(&s, INK_TEXT, phrase("tags: %.280s", row->tags).text);
    if (row->note) next(&s, INK_TEXT, row->note);
    run_flag(row, flag);
    if (!*flag) return s.rows;
    char said[RUN_FLAG + 8];
    snprintf(said, sizeof said, "\u2691 %s", flag);
    s.rows++;
    next(&s, INK_WARN, said);
    return s.rows;
}

static void detail_back(struct ui *ui) { ui_show(ui, ui->before); }

static void detail_taught(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    (void)run;
    if (runs) out->kind = EFFECT_OPEN_RUN;
    ui_show(ui, SCREEN_DETAIL);
}

static int64_t detail_run(const struct ui *ui) { return ui->detail.run.id; }

static void detail_pictured(const struct ui *ui, struct buf *out) {
    const struct run_row *r = &ui->detail.run;
    if (r->id) buf_printf(out, "run%lld %s %s", (long long)r->id, r->method, r->task);
}

/* The page of a run that trains, or is taken up again. */
static bool detail_refresh(struct ui *ui, struct effect *out) {
    const struct run_row *r = &ui->detail.run;
    if (!r->id || (r->state > RUN_PAUSED && !train_goes(&ui->train, r->id))) return false;
    out->kind = EFFECT_OPEN_RUN;
    out->run = &r->id;
    out->runs = 1;
    return true;
}

static const char *detail_hint(const struct ui *ui, const struct key_entry *k) {
    const struct run_row *r = &ui->detail.run;
    switch (k->request) {
    case REQ_STOP: return r->state <= RUN_PAUSED ? k->hint : NULL;
    case REQ_DESCRIBE: return r->state <= RUN_PAUSED ? NULL : "evaluate";
    case REQ_SWITCH: return ui->detail.whole ? "hide defaults" : "all settings";
    case REQ_DOWN: return NULL;
    case REQ_RUN: return runs_again_hint(ui, r, k->hint);
    case REQ_TRASH: return ui->runs.trash ? "restore" : k->hint;
    default: return k->hint;
    }
}

static const enum request detail_keys[] = {
    REQ_STOP, REQ_DOWN,  REQ_UP,  REQ_FIRST, REQ_LAST,  REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_UNDO,
    REQ_REDO, REQ_CLONE, REQ_RUN, REQ_TRASH, REQ_WATCH, REQ_SHELL,     REQ_SWITCH,
    REQ_DESCRIBE, REQ_NONE
};

const struct screen screen_detail = {
    .needs_run = true,
    .name = "detail",
    .about = "The page of a run: its result, settings, curve, evaluations, predictions and files.",
    .keys = detail_keys,
    .under = &screen_runs,
    .taught = detail_taught,
    .back = detail_back,
    .request = detail_request,
    .run = detail_run,
    .refresh = detail_refresh,
    .draw = detail_draw,
    .hint = detail_hint,
    .pictured = detail_pictured,
};
