/* The lessons' list, a lesson's steps one below another, and a step beside another screen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/learn_parts.h"
#include "views/ui_parts.h"
#include "views/zone.h"

enum {
    LARGE_W = 64,
    TEXT_W = 110 /* longer lines are hard to read */,
    BESIDE_W = 46,
    BESIDE_LEAST = 130,
    BELOW_H = 8
};

/* Drawing, or with c NULL only measuring; rows before `skip` are above the rectangle. */
struct learn_pen {
    const struct ui *ui;
    struct canvas *c;
    struct canvas measure;
    struct rect r;
    int skip, row;
    bool past; /* a step that was passed: dim */
};

static struct learn_pen pen_of(const struct ui *ui, struct canvas *c, struct rect r, int skip) {
    return (struct learn_pen){ .ui = ui, .c = c, .measure = { .glyphs = ui->glyphs }, .r = r, .skip = skip };
}

static enum ink pen_ink(const struct learn_pen *p, enum ink ink) { return p->past ? INK_DIM : ink; }

/* A paragraph, indented. */
static void pen_text(struct learn_pen *p, int indent, enum ink ink, const char *text) {
    int w = p->r.w - 2 - indent, rows = canvas_wrap_rows(&p->measure, w, text);
    if (p->c)
        canvas_wrap(p->c, (struct rect){ p->r.x + 1 + indent, p->r.y + p->row - p->skip, w, rows },
                    pen_ink(p, ink), text);
    p->row += rows;
}

static void pen_line(struct learn_pen *p, int indent, enum ink ink, const char *text) {
    if (p->c)
        canvas_fit(p->c, p->r.x + 1 + indent, p->r.y + p->row - p->skip, p->r.w - 2 - indent, pen_ink(p, ink),
                   text);
    p->row++;
}

static void pen_rule(struct learn_pen *p, const char *title, const char *right) {
    if (p->c) canvas_rule(p->c, p->r.x, p->r.y + p->row - p->skip, p->r.w, title, right);
    p->row++;
}

/* ---- a step ---- */

void learn_step_title(const struct lesson_step *s, char out[160]) {
    const char *head = s->head ? s->head : "";
    switch (s->kind) {
    case LESSON_TEXT: snprintf(out, 160, "%s", head); break;
    case LESSON_ASK: snprintf(out, 160, "Question"); break;
    case LESSON_ANSWER: snprintf(out, 160, "Answer"); break;
    case LESSON_RUN: snprintf(out, 160, "Run: %s", s->name); break;
    case LESSON_SHOW: snprintf(out, 160, "Look: %s", head); break;
    case LESSON_CHANGE: snprintf(out, 160, "%s", *head ? head : "To change"); break;
    case LESSON_MAP: snprintf(out, 160, "Map"); break;
    case LESSON_CODE: snprintf(out, 160, "In the code: %s", head); break;
    default: snprintf(out, 160, "Measured"); break;
    }
}

/* "large" has a free row between paragraphs, else only where the text parts them. */
static void draw_body(struct learn_pen *p, int step) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_step *s = &v->lesson->step[step];
    for (int i = 0; i < s->paragraphs; i++) {
        const struct lesson_paragraph *one = &s->paragraph[i];
        bool apart = i && !(one->kept && s->paragraph[i - 1].kept);
        char *text = lesson_fill(v->lesson, v->progress, step, one->text, one->kept);
        if (apart) p->row++;
        if (one->kept) pen_line(p, 1, INK_ACCENT, text);
        else pen_text(p, 0, INK_TEXT, text);
        free(text);
    }
}

static void draw_choices(struct learn_pen *p, int step) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_step *s = &v->lesson->step[step];
    char chosen = v->progress->of[step].chosen;
    p->row++;
    for (int i = 0; i < s->choices; i++) {
        char letter[8];
        char *text = lesson_fill(v->lesson, v->progress, step, s->choice[i].text, false);
        bool here = s->choice[i].letter == chosen;
        snprintf(letter, sizeof letter, "%c", s->choice[i].letter);
        if (p->c) {
            int y = p->r.y + p->row - p->skip;
            if (here) canvas_text(p->c, p->r.x + 1, y, pen_ink(p, INK_ACCENT), "\u25B8");
            canvas_text(p->c, p->r.x + 3, y, pen_ink(p, INK_KEY), letter);
            if (step == v->progress->at)
                zone_add(p->c, (struct zone){ .at = { p->r.x, y, p->r.w, 1 }, .key = (uint32_t)*letter });
        }
        pen_text(p, 4, here ? INK_ACCENT : INK_TEXT, text);
        free(text);
    }
}

/* What was chosen beside what is right, and what the answers before were. */
static void draw_answered(struct learn_pen *p, int step) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_step *s = &v->lesson->step[step], *ask = &v->lesson->step[s->of];
    const struct lesson_result *r = &v->progress->of[s->of];
    char line[400], right = lesson_right(v->lesson, v->progress, step);
    int all = 0, n = 0;
    for (int i = 0; i < ask->choices; i++) all += r->given[i];
    if (!r->chosen) n = snprintf(line, sizeof line, "%c is right", right);
    else if (r->chosen == right) n = snprintf(line, sizeof line, "\u2713 %c, as you said", right);
    else n = snprintf(line, sizeof line, "%c is right; you said %c", right, r->chosen);
    if (all > 1) n = text_more(line, sizeof line, n, "   of %d answers here so far:", all);
    for (int i = 0; all > 1 && i < ask->choices; i++)
        n = text_more(line, sizeof line, n, " %c %d", 'a' + i, r->given[i]);
    pen_text(p, 0, r->chosen == right ? INK_GOOD : INK_WARN, line);
    char *text = lesson_fill(v->lesson, v->progress, s->of, ask->choice[right - 'a'].text, false);
    pen_text(p, 2, INK_ACCENT, text);
    free(text);
    p->row++;
}

/* Where a run is. */
static void learn_draw_run(struct learn_pen *p, int step) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_result *r = &v->progress->of[step];
    char *text = lesson_command(v->lesson, v->progress, step);
    pen_text(p, 0, INK_DIM, text);
    free(text);
    if (r->state == LESSON_OPEN) pen_line(p, 0, INK_WARN, "Enter trains it");
    if (r->state == LESSON_FAILED) pen_text(p, 0, INK_BAD, r->why ? r->why : "it failed");
    if (r->state == LESSON_BUSY && !r->runs) pen_line(p, 0, INK_ACCENT, "reading model and rows \u2026");
    for (int i = 0; i < r->runs && r->state != LESSON_OPEN; i++) {
        char line[160];
        const struct job_row *job = NULL;
        for (int k = 0; k < p->ui->train.jobs; k++)
            if (p->ui->train.job[k].id == r->run[i]) job = &p->ui->train.job[k];
        if (job && r->state == LESSON_BUSY) {
            int n = snprintf(line, sizeof line, "%s #%lld  step %lld of %lld", state_sign(job->state),
                             (long long)r->run[i], (long long)job->step, (long long)job->steps);
            if (job->to_score)
                text_more(line, sizeof line, (size_t)n, "  evaluating %lld/%lld", (long long)job->scored,
                          (long long)job->to_score);
            else if (job->step)
                text_more(line, sizeof line, (size_t)n, "  loss %s", show_value(job->loss).text);
        } else
            snprintf(line, sizeof line, "%s #%lld", r->state == LESSON_DONE ? "\u2713" : "\u2026",
                     (long long)r->run[i]);
        pen_line(p, 0, r->state == LESSON_DONE ? INK_GOOD : INK_ACCENT, line);
        if (p->c && job && r->state == LESSON_BUSY && job->steps > 0 && p->r.w > 66)
            canvas_bar(p->c, p->r.x + 50, p->r.y + p->row - 1 - p->skip, p->r.w - 52,
                       (double)job->step / (double)job->steps);
    }
    if (r->note && r->state == LESSON_DONE) pen_text(p, 0, INK_WARN, r->note);
}

/* A computed value; a check that fails is as loud above the step that is read as in it. */
static void draw_measured(struct learn_pen *p, int step) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_step *s = &v->lesson->step[step];
    const struct lesson_result *r = &v->progress->of[step];
    char text[160], line[200];
    bool past = p->past;
    if (r->state == LESSON_FAILED || !r->ok) p->past = false;
    if (r->state == LESSON_FAILED) {
        pen_text(p, 0, INK_BAD, r->why ? r->why : "it failed");
    } else if (r->state != LESSON_DONE) {
        pen_line(p, 0, INK_ACCENT, "computing \u2026");
    } else if (s->kind == LESSON_CHECK) {
        lesson_check_text(r, text);
        snprintf(line, sizeof line, "%s %s", r->ok ? "\u2713" : "\u2717", text);
        pen_line(p, 0, r->ok ? INK_GOOD : INK_BAD, line);
        if (!r->ok) pen_text(p, 0, INK_BAD, "The text of this lesson may not hold for this model and task.");
    }
    p->past = past;
}

static void draw_maps(struct learn_pen *p, int step) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_step *s = &v->lesson->step[step];
    int rows = learn_map_rows(s);
    p->row++;
    if (p->c && p->r.w > 12)
        learn_draw_map(p->c, (struct rect){ p->r.x + 1, p->r.y + p->row - p->skip, p->r.w - 2, rows }, s,
                       v->progress->of[step].map);
    p->row += rows;
}

static void draw_step(struct learn_pen *p, int step, bool rule) {
    const struct learn_view *v = &p->ui->learn;
    const struct lesson_step *s = &v->lesson->step[step];
    char title[160], place[32];
    learn_step_title(s, title);
    learn_place(v, step, place);
    if (rule) pen_rule(p, *title ? title : NULL, p->past ? NULL : place);
    if (s->kind == LESSON_CHECK || s->kind == LESSON_LET) draw_measured(p, step);
    if ((s->kind == LESSON_ANSWER || s->kind == LESSON_MAP) && !lesson_passed(v->lesson, v->progress, step))
        draw_measured(p, step);
    if (lesson_computes(s) && v->progress->of[step].state != LESSON_DONE) return;
    if (s->kind == LESSON_ANSWER) draw_answered(p, step);
    draw_body(p, step);
    if (s->kind == LESSON_MAP) draw_maps(p, step);
    if (s->kind == LESSON_ASK) draw_choices(p, step);
    if (s->kind == LESSON_RUN) {
        if (s->paragraphs) p->row++;
        learn_draw_run(p, step);
    }
}

/* The first step that belongs to the one that is shown: checks without text that failed just before it. */
static int first_beside(const struct learn_view *v) {
    int at = v->progress->at;
    while (at > 0 && v->lesson->step[at - 1].value && !v->lesson->step[at - 1].paragraphs) at--;
    return at;
}

/* Everything up to the step that is shown; large: that alone. */
static void draw_steps(struct learn_pen *p) {
    const struct learn_view *v = &p->ui->learn;
    int at = v->progress->at;
    for (int i = v->large ? first_beside(v) : 0; i <= at; i++) {
        if (learn_is_silent(v, i)) continue;
        p->past = i < at;
        draw_step(p, i, true);
        if (i < at) p->row++;
    }
}

int learn_rows(const struct ui *ui, int w) {
    if (ui->learn.notes) return learn_draw_notes(ui, NULL, (struct rect){ 0, 0, w, 0 });
    if (ui->learn.large && w > LARGE_W) w = LARGE_W;
    if (w > TEXT_W) w = TEXT_W;
    struct learn_pen p = pen_of(ui, NULL, (struct rect){ 0, 0, w, 0 }, 0);
    draw_steps(&p);
    return p.row;
}

/* ---- the list ---- */

int learn_about_rows(const struct ui *ui) {
    const struct learn_view *v = &ui->learn;
    struct canvas measure = { .glyphs = ui->glyphs };
    struct layout_frame f;
    layout_frame(ui->w, ui->h, &f);
    if (f.body.w > TEXT_W) f.body.w = TEXT_W;
    const char *about = v->cursor < v->rows ? v->row[v->cursor].about : NULL;
    return about && f.body.h > 6 ? 1 + canvas_wrap_rows(&measure, f.body.w - 4, about) : 0;
}

static void learn_draw_list(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct learn_view *v = &ui->learn;
    bool wide = r.w >= 72;
    canvas_title(c, r, "Lessons", wide ? "reading  computing here         " : NULL);
    if (!v->rows) {
        canvas_wrap(c, (struct rect){ r.x + 2, r.y + 1, r.w - 4, r.h - 1 }, INK_DIM,
                    *v->failed  ? v->failed
                    : v->listed ? "no lesson lies in assets/lessons"
                                : "looking for lessons \u2026");
        return;
    }
    int about = learn_about_rows(ui), shown = r.h - 1 - about;
    for (int i = 0; i < shown && v->top + i < v->rows; i++) {
        const struct learn_row *row = &v->row[v->top + i];
        bool here = v->top + i == v->cursor;
        int y = r.y + 1 + i, title = wide ? r.w - 33 : r.w - 4;
        zone_row(c, r, y, v->top + i - v->cursor);
        canvas_cursor(c, r.x + 1, y, here);
        canvas_fit(c, r.x + 3, y, title, here ? INK_CURSOR : INK_TEXT, row->title);
        if (!wide) continue;
        canvas_printf(c, r.x + r.w - 29, y, INK_DIM, "%2d min", row->minutes);
        double seconds = estimate_scaled(row->seconds, ui->compose.arch, ui->compose.workers,
                                         ui->compose.gflops);
        if (seconds > 0) canvas_printf(c, r.x + r.w - 22, y, INK_DIM, "%4.0f s", ceil(seconds));
        canvas_fit(c, r.x + r.w - 15, y, 5, strcmp(row->done, "done") ? INK_WARN : INK_GOOD, row->done);
        canvas_fit(c, r.x + r.w - 9, y, 8, INK_DIM, row->needs);
    }
    if (about) {
        int y = r.y + r.h - about;
        canvas_wrap(c, (struct rect){ r.x + 3, y + 1, r.w - 4, about - 1 }, INK_DIM, v->row[v->cursor].about);
    }
}

void learn_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct learn_view *v = &ui->learn;
    canvas_push_clip(c, r);
    if (v->lesson && v->large && r.w > LARGE_W) { /* before a class: a narrow column in the middle */
        r.x += (r.w - LARGE_W) / 2;
        r.w = LARGE_W;
    }
    if (r.w > TEXT_W) r.w = TEXT_W;
    if (v->notes) {
        learn_draw_notes(ui, c, r);
    } else if (!v->lesson) {
        learn_draw_list(ui, c, r);
    } else {
        int rows = learn_rows(ui, r.w), skip = rows > r.h ? rows - r.h - v->up : 0;
        struct learn_pen p = pen_of(ui, c, r, skip < 0 ? 0 : skip);
        if (v->large && rows < r.h) p.r.y += (r.h - rows) / 3;
        draw_steps(&p);
    }
    canvas_pop_clip(c);
}

void learn_readout(const struct ui *ui, struct buf *out) {
    const struct learn_view *v = &ui->learn;
    const struct lesson_step *s = learn_step(v);
    if (v->notes) {
        buf_puts(out, s ? v->lesson->title : "petri learn NAME in another terminal begins a lesson");
        return;
    }
    if (!s) {
        if (*v->opening)
            buf_printf(out, "opening %s \u2026", v->opening); /* behind a step that is computed still */
        else if (*v->failed) buf_puts(out, v->failed);
        else if (v->cursor < v->rows)
            buf_printf(out, "petri learn %s   on %s, %s", v->row[v->cursor].name,
                       ui->compose.model ? ui->compose.model : "the usual model",
                       *v->row[v->cursor].needs ? v->row[v->cursor].needs
                       : ui->compose.task       ? ui->compose.task
                                                : "its usual task");
        return;
    }
    buf_printf(out, "%s: ", v->lesson->title);
    if (s->kind == LESSON_ASK && !v->progress->of[v->progress->at].chosen)
        buf_printf(out, "a\u2013%c answers", 'a' + s->choices - 1);
    else if (s->kind == LESSON_SHOW)
        buf_printf(out, "Enter shows %s with this beside it; 8 comes back", s->head);
    else if (s->kind == LESSON_RUN && v->progress->of[v->progress->at].state == LESSON_BUSY)
        buf_puts(out, "it trains; 2 shows its curves, with this beside them");
    else if (s->kind == LESSON_RUN && v->progress->of[v->progress->at].state != LESSON_DONE)
        buf_puts(out, "Enter trains it");
    else if (!learn_passed(v)) buf_puts(out, "computing \u2026");
    else if (v->progress->at + 1 == v->lesson->steps) buf_puts(out, "the end");
    else buf_puts(out, "Enter goes on");
}

/* ---- beside another screen ---- */

bool learn_share(int w, int h, struct rect *screen, struct rect *step) {
    if (w >= BESIDE_LEAST && h >= LAYOUT_PAGE_H) {
        *screen = (struct rect){ 0, 0, w - BESIDE_W, h };
        *step = (struct rect){ w - BESIDE_W, 0, BESIDE_W, h };
        return true;
    }
    int rows = h - LAYOUT_PAGE_H;
    if (w < LAYOUT_PAGE_W || rows < 3) return false;
    if (rows > BELOW_H) rows = rows / 2 > BELOW_H ? rows / 2 : BELOW_H;
    *screen = (struct rect){ 0, 0, w, h - rows };
    *step = (struct rect){ 0, h - rows, w, rows };
    return true;
}

void learn_draw_beside(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct learn_view *v = &ui->learn;
    char place[64];
    learn_place(v, v->progress->at, place);
    text_more(place, sizeof place, strlen(place), " \u00B7 8 goes on");
    if (r.h > LAYOUT_PAGE_H) { /* at the side: a line between */
        for (int y = 0; y < r.h; y++) canvas_text(c, r.x, r.y + y, INK_DIM, "\u2502");
        r.x += 2;
        r.w -= 2;
    }
    canvas_push_clip(c, r);
    canvas_title(c, r, v->lesson->title, place);
    struct rect body = rect_down(r, 1);
    struct learn_pen p = pen_of(ui, c, body, 0);
    draw_step(&p, v->progress->at, false);
    if (p.row > body.h) {
        canvas_fill(c, (struct rect){ r.x, r.y + r.h - 1, r.w, 1 }, INK_TEXT, ' ');
        canvas_text(c, r.x + 1, r.y + r.h - 1, INK_DIM, "\u2026 8 has the rest");
    }
    canvas_pop_clip(c);
}
