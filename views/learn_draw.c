/* Draws the list of lessons, the steps of a lesson, and a step next to another screen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/learn_parts.h"
#include "views/sheet.h"
#include "views/ui_parts.h"
#include "views/zone.h"

enum {
    LARGE_W = 64,
    TEXT_W = 110 /* longer lines are hard to read */,
    BESIDE_W = 46,
    BESIDE_LEAST = 130,
    BELOW_H = 8
};

/* ---- a step ---- */

struct phrase learn_step_title(const struct lesson_step *s) {
    const char *head = s->head ? s->head : "";
    switch (s->kind) {
    case LESSON_TEXT: return phrase("%s", head);
    case LESSON_ASK: return phrase("Question");
    case LESSON_ANSWER: return phrase("Answer");
    case LESSON_RUN: return phrase("Run: %s", s->name);
    case LESSON_SHOW: return phrase("Screen: %s", head);
    case LESSON_CHANGE: return phrase("%s", *head ? head : "Exercise");
    case LESSON_MAP: return phrase("Map");
    case LESSON_CODE: return phrase("Source code: %s", head);
    default: return phrase("Measured");
    }
}

/* Draws the paragraphs of a step, with an empty row between them. */
static void draw_body(struct sheet *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    for (int i = 0; i < s->paragraphs; i++) {
        const struct lesson_paragraph *one = &s->paragraph[i];
        bool apart = i && !(one->verbatim && s->paragraph[i - 1].verbatim);
        char *text = lesson_fill(v->lesson, v->progress, step, one->text, one->verbatim);
        if (apart) p->rows++;
        if (one->verbatim) sheet_line(p, PANE_EDGE + 1, INK_ACCENT, text);
        else sheet_text(p, PANE_EDGE, INK_TEXT, text);
        free(text);
    }
}

static void draw_choices(struct sheet *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    char chosen = v->progress->of[step].chosen;
    p->rows++;
    for (int i = 0; i < s->choices; i++) {
        char letter[8];
        char *text = lesson_fill(v->lesson, v->progress, step, s->choice[i].text, false);
        bool here = s->choice[i].letter == chosen;
        snprintf(letter, sizeof letter, "%c", s->choice[i].letter);
        if (p->c) {
            int y = sheet_y(p);
            if (here) canvas_text(p->c, p->r.x + 1, y, p->dim ? INK_DIM : INK_ACCENT, "\u25B8");
            canvas_text(p->c, p->r.x + 3, y, p->dim ? INK_DIM : INK_KEY, letter);
            if (step == v->progress->at)
                zone_add(p->c, (struct zone){ .at = { p->r.x, y, p->r.w, 1 }, .key = (uint32_t)*letter });
        }
        sheet_text(p, 5, here ? INK_ACCENT : INK_TEXT, text);
        free(text);
    }
}

/* Draws the given and the correct answer, and how often each choice was given. */
static void draw_answered(struct sheet *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step], *ask = &v->lesson->step[s->of];
    const struct lesson_result *r = &v->progress->of[s->of];
    struct phrase line;
    char right = lesson_right(v->lesson, v->progress, step);
    int all = 0;
    for (int i = 0; i < ask->choices; i++) all += r->given[i];
    if (!r->chosen) line = phrase("correct: %c", right);
    else if (r->chosen == right) line = phrase("\u2713 %c is correct", right);
    else line = phrase("correct: %c; your answer: %c", right, r->chosen);
    if (all > 1) phrase_add(&line, "   %d answers so far:", all);
    for (int i = 0; all > 1 && i < ask->choices; i++)
        phrase_add(&line, " %c %d", 'a' + i, r->given[i]);
    sheet_text(p, PANE_EDGE, r->chosen == right ? INK_GOOD : INK_WARN, line.text);
    char *text = lesson_fill(v->lesson, v->progress, s->of, ask->choice[right - 'a'].text, false);
    sheet_text(p, PANE_EDGE + 2, INK_ACCENT, text);
    free(text);
    p->rows++;
}

/* Draws the progress of a run. */
static void learn_draw_run(struct sheet *p, const struct ui *ui, int step) {
    const struct learn_view *v = &ui->learn;
    const struct lesson_result *r = &v->progress->of[step];
    char *text = lesson_command(v->lesson, v->progress, step);
    sheet_text(p, PANE_EDGE, INK_DIM, text);
    free(text);
    if (r->state == LESSON_OPEN) sheet_line(p, PANE_EDGE, INK_WARN, "press Enter to train");
    if (r->state == LESSON_FAILED) sheet_text(p, PANE_EDGE, INK_BAD, r->why ? r->why : "failed");
    if (r->state == LESSON_BUSY && !r->runs)
        sheet_line(p, PANE_EDGE, INK_ACCENT, "loading model and data \u2026");
    for (int i = 0; i < r->runs && r->state != LESSON_OPEN; i++) {
        struct phrase line;
        const struct job_row *job = NULL;
        for (int k = 0; k < ui->train.jobs; k++)
            if (ui->train.job[k].id == r->run[i]) job = &ui->train.job[k];
        if (job && r->state == LESSON_BUSY) {
            line = phrase("%s #%lld  step %lld of %lld", state_sign(job->state),
                             (long long)r->run[i], (long long)job->step, (long long)job->steps);
            if (job->to_score)
                phrase_add(&line, "  evaluating %lld/%lld", (long long)job->scored,
                          (long long)job->to_score);
            else if (job->step)
                phrase_add(&line, "  loss %s", show_value(job->loss).text);
        } else
            line = phrase("%s #%lld", r->state == LESSON_DONE ? "\u2713" : "\u2026",
                     (long long)r->run[i]);
        sheet_line(p, PANE_EDGE, r->state == LESSON_DONE ? INK_GOOD : INK_ACCENT, line.text);
        if (p->c && job && r->state == LESSON_BUSY && job->steps > 0 && p->r.w > 66)
            canvas_bar(p->c, p->r.x + 50, sheet_y(p) - 1, p->r.w - 52,
                       (double)job->step / (double)job->steps);
    }
    if (r->note && r->state == LESSON_DONE) sheet_text(p, PANE_EDGE, INK_WARN, r->note);
}

/* Draws a computed value; a failed check is not dimmed, even above the current step. */
static void draw_measured(struct sheet *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    const struct lesson_result *r = &v->progress->of[step];
    char text[160];
    bool past = p->dim;
    if (r->state == LESSON_FAILED || !r->ok) p->dim = false;
    if (r->state == LESSON_FAILED) {
        sheet_text(p, PANE_EDGE, INK_BAD, r->why ? r->why : "failed");
    } else if (r->state != LESSON_DONE) {
        sheet_line(p, PANE_EDGE, INK_ACCENT, "computing \u2026");
    } else if (s->kind == LESSON_CHECK) {
        lesson_check_text(r, text);
        sheet_line(p, PANE_EDGE, r->ok ? INK_GOOD : INK_BAD,
                   phrase("%s %s", r->ok ? "\u2713" : "\u2717", text).text);
        if (!r->ok)
            sheet_text(p, PANE_EDGE, INK_BAD,
                       "The text of this lesson may not apply to this model and task.");
    }
    p->dim = past;
}

static void draw_maps(struct sheet *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    int rows = learn_map_rows(s);
    p->rows++;
    if (p->c && p->r.w > 12)
        learn_draw_map(p->c, (struct rect){ p->r.x + 1, sheet_y(p), p->r.w - 2, rows }, s,
                       v->progress->of[step].map);
    p->rows += rows;
}

static void draw_step(struct sheet *p, const struct ui *ui, int step, bool rule) {
    const struct learn_view *v = &ui->learn;
    const struct lesson_step *s = &v->lesson->step[step];
    if (rule) sheet_rule(p, learn_step_title(s).text, p->dim ? NULL : learn_place(v, step).text);
    if (s->kind == LESSON_CHECK || s->kind == LESSON_LET) draw_measured(p, v, step);
    if ((s->kind == LESSON_ANSWER || s->kind == LESSON_MAP) && !lesson_passed(v->lesson, v->progress, step))
        draw_measured(p, v, step);
    if (lesson_computes(s) && v->progress->of[step].state != LESSON_DONE) return;
    if (s->kind == LESSON_ANSWER) draw_answered(p, v, step);
    draw_body(p, v, step);
    if (s->kind == LESSON_MAP) draw_maps(p, v, step);
    if (s->kind == LESSON_ASK) draw_choices(p, v, step);
    if (s->kind == LESSON_RUN) {
        if (s->paragraphs) p->rows++;
        learn_draw_run(p, ui, step);
    }
}

/* Returns the first step shown with the current one: failed checks without text just before it. */
static int first_beside(const struct learn_view *v) {
    int at = v->progress->at;
    while (at > 0 && v->lesson->step[at - 1].value && !v->lesson->step[at - 1].paragraphs) at--;
    return at;
}

/* Draws all steps up to the current one; large: only the current one. */
static void draw_steps(struct sheet *p, const struct ui *ui) {
    const struct learn_view *v = &ui->learn;
    int at = v->progress->at;
    for (int i = v->large ? first_beside(v) : 0; i <= at; i++) {
        if (learn_is_silent(v, i)) continue;
        p->dim = i < at;
        draw_step(p, ui, i, true);
        if (i < at) p->rows++;
    }
}

int learn_rows(const struct ui *ui, int w) {
    if (ui->learn.notes) return learn_draw_notes(ui, NULL, (struct rect){ 0, 0, w, 0 });
    if (ui->learn.large && w > LARGE_W) w = LARGE_W;
    if (w > TEXT_W) w = TEXT_W;
    struct sheet p = { .r = { .w = w }, .glyphs = ui->glyphs };
    draw_steps(&p, ui);
    return p.rows;
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
    int needs = 8; /* columns of what a lesson needs, as far as a wide window has them */
    for (int i = 0; i < v->rows && r.w >= 100; i++) {
        int w = canvas_width(c, v->row[i].needs);
        needs = w > 24 ? 24 : w > needs ? w : needs;
    }
    canvas_title(c, r, "Lessons", wide ? phrase("reading  runtime (est.)%*s", needs + 3, "").text : NULL);
    if (!v->rows) {
        canvas_wrap(c, rect_in(r, PANE_EDGE, 1), INK_DIM,
                    *v->failed  ? v->failed
                    : v->listed ? "no lessons in assets/lessons"
                                : "loading lessons \u2026");
        return;
    }
    int about = learn_about_rows(ui), shown = r.h - 1 - about;
    for (int i = 0; i < shown && v->top + i < v->rows; i++) {
        const struct learn_row *row = &v->row[v->top + i];
        bool here = v->top + i == v->cursor;
        int y = r.y + 1 + i, title = wide ? r.w - 27 - needs : r.w - 4, x = r.x + r.w - needs;
        zone_row(c, r, y, v->top + i - v->cursor);
        canvas_cursor(c, r.x + 1, y, here);
        canvas_fit(c, r.x + 3, y, title, here ? INK_CURSOR : INK_TEXT, row->title);
        if (!wide) continue;
        canvas_printf(c, x - 23, y, INK_DIM, "%2d min", row->minutes);
        int workers = ui->compose.workers;
        double gflops = ui->compose.speed.gflops,
               seconds = row->own_model ? estimate_here(row->seconds, workers, gflops)
                                        : estimate_scaled(row->seconds, ui->compose.arch, workers, gflops);
        if (seconds > 0) canvas_printf(c, x - 16, y, INK_DIM, "%4.0f s", ceil(seconds));
        canvas_fit(c, x - 9, y, 7, strcmp(row->done, "done") ? INK_WARN : INK_GOOD, row->done);
        canvas_fit(c, x - 1, y, needs, INK_DIM, row->needs);
    }
    if (about) {
        int y = r.y + r.h - about;
        canvas_wrap(c, (struct rect){ r.x + 3, y + 1, r.w - 4, about - 1 }, INK_DIM, v->row[v->cursor].about);
    }
}

void learn_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct learn_view *v = &ui->learn;
    canvas_push_clip(c, r);
    if (v->lesson && v->large && r.w > LARGE_W) { /* for presenting: a narrow column in the middle */
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
        struct sheet p = { c, r, skip < 0 ? 0 : skip, .glyphs = ui->glyphs };
        if (v->large && rows < r.h) p.r.y += (r.h - rows) / 3;
        draw_steps(&p, ui);
    }
    canvas_pop_clip(c);
}

void learn_readout(const struct ui *ui, struct buf *out) {
    const struct learn_view *v = &ui->learn;
    const struct lesson_step *s = learn_step(v);
    if (v->notes) {
        buf_puts(out, s ? v->lesson->title : "start a lesson in another terminal with petri learn NAME");
        return;
    }
    if (!s) {
        if (*v->opening)
            buf_printf(out, "opening %s \u2026", v->opening); /* after the step that is still computing */
        else if (*v->failed) buf_puts(out, v->failed);
        else if (v->cursor < v->rows)
            buf_printf(out, "petri learn %s   on %s, %s", v->row[v->cursor].name,
                       ui->compose.model ? ui->compose.model : "the default model",
                       *v->row[v->cursor].needs ? v->row[v->cursor].needs
                       : ui->compose.task       ? ui->compose.task
                                                : "the default task");
        return;
    }
    buf_printf(out, "%s: ", v->lesson->title);
    if (s->kind == LESSON_ASK && !v->progress->of[v->progress->at].chosen)
        buf_printf(out, "press a\u2013%c to answer", 'a' + s->choices - 1);
    else if (s->kind == LESSON_SHOW)
        buf_printf(out, "press Enter to show %s next to this step, 8 to return", s->head);
    else if (s->kind == LESSON_RUN && v->progress->of[v->progress->at].state == LESSON_BUSY)
        buf_puts(out, "training; press 2 for its curves");
    else if (s->kind == LESSON_RUN && v->progress->of[v->progress->at].state != LESSON_DONE)
        buf_puts(out, "press Enter to train");
    else if (!learn_passed(v)) buf_puts(out, "computing \u2026");
    else if (v->progress->at + 1 == v->lesson->steps) buf_puts(out, "end of the lesson");
    else buf_puts(out, "press Enter to continue");
}

/* ---- next to another screen ---- */

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
    struct phrase place = learn_place(v, v->progress->at);
    phrase_add(&place, " \u00B7 8 continues");
    if (r.h > LAYOUT_PAGE_H) { /* at the side: a line between */
        for (int y = 0; y < r.h; y++) canvas_text(c, r.x, r.y + y, INK_DIM, "\u2502");
        r.x += 2;
        r.w -= 2;
    }
    canvas_push_clip(c, r);
    canvas_title(c, r, v->lesson->title, place.text);
    struct sheet p = { c, rect_down(r, 1), .glyphs = ui->glyphs };
    draw_step(&p, ui, v->progress->at, false);
    if (p.rows > r.h - 1) {
        canvas_fill(c, (struct rect){ r.x, r.y + r.h - 1, r.w, 1 }, INK_TEXT, ' ');
        canvas_text(c, r.x + 1, r.y + r.h - 1, INK_DIM, "\u2026 8 shows the rest");
    }
    canvas_pop_clip(c);
}
