#include "views/learn.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/learn_parts.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* ---- steps ---- */

bool learn_is_silent(const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    const struct lesson_result *r = &v->progress->of[step];
    bool failed = r->state == LESSON_FAILED || (s->kind == LESSON_CHECK && r->state == LESSON_DONE && !r->ok);
    return (s->kind == LESSON_LET || s->kind == LESSON_CHECK) && !s->paragraphs && !failed;
}

struct phrase learn_place(const struct learn_view *v, int step) {
    int before = 0, all = 0;
    for (int i = 0; i < v->lesson->steps; i++) {
        bool seen = !learn_is_silent(v, i);
        all += seen;
        before += seen && i <= step;
    }
    return phrase("%d of %d", before, all);
}

const struct lesson_step *learn_step(const struct learn_view *v) {
    return v->lesson ? &v->lesson->step[v->progress->at] : NULL;
}

bool learn_passed(const struct learn_view *v) {
    for (int i = 0; i <= v->progress->at; i++)
        if (!lesson_passed(v->lesson, v->progress, i)) return false;
    return true;
}

int learn_next_step(const struct learn_view *v, int by) {
    int at = v->progress->at + by;
    while (at >= 0 && at < v->lesson->steps && learn_is_silent(v, at)) at += by;
    return at >= 0 && at < v->lesson->steps ? at : -1;
}

/* Collects the runs of a step: those that it trains or shows. */
static int runs_of_step(struct learn_view *v) {
    const struct lesson_step *s = learn_step(v);
    int n = 0;
    if (!s) return 0;
    for (int k = 0; k < (s->kind == LESSON_RUN ? 1 : s->shows); k++) {
        const struct lesson_result *r =
            &v->progress->of[s->kind == LESSON_RUN ? v->progress->at : s->show[k]];
        for (int i = 0; i < r->runs; i++) v->run[n++] = r->run[i];
    }
    return n;
}

static void do_step(struct ui *ui, struct effect *out) {
    out->kind = EFFECT_LESSON_STEP;
    out->by = ui->learn.progress->at;
}

static void learn_go_to(struct ui *ui, int step, struct effect *out) {
    struct lesson_progress *p = ui->learn.progress;
    p->at = step;
    if (step > p->furthest) p->furthest = step;
    ui->learn.up = 0;
    runs_of_step(&ui->learn);
    do_step(ui, out);
}

static void go_on(struct ui *ui, struct effect *out) {
    struct learn_view *v = &ui->learn;
    int next = learn_next_step(v, 1);
    if (!learn_passed(v)) {
        bool ask = v->lesson->step[v->progress->at].kind == LESSON_ASK;
        ui_say(ui, SAY_INFO, "%s", ask ? "answer the question first: press the letter of a choice"
                                      : "still computing this step");
        return;
    }
    if (next < 0) {
        v->progress->whole = true;
        do_step(ui, out);
        ui_say(ui, SAY_GOOD, "end of the lesson: Esc lists the lessons, R restarts this one");
        return;
    }
    learn_go_to(ui, next, out);
}

/* ---- the screen of a step ---- */

static void show_screen(struct ui *ui, struct effect *out) {
    struct learn_view *v = &ui->learn;
    const char *name = v->lesson->step[v->progress->at].head;
    int runs = runs_of_step(v);
    enum screen_id to = screen_by_name(name);
    const struct screen *s = screen_at(to);
    out->run = v->run;
    out->runs = runs > 0;
    if (s->inside) s->show(ui, out);
    else if (s->taught) s->taught(ui, v->run, runs, out);
    else ui_show(ui, to);
}

/* Enter: shows the screen of the step, trains its run, or continues. */
static void learn_enter(struct ui *ui, struct effect *out) {
    struct learn_view *v = &ui->learn;
    const struct lesson_step *s = &v->lesson->step[v->progress->at];
    struct lesson_result *r = &v->progress->of[v->progress->at];
    if (s->kind == LESSON_SHOW) {
        show_screen(ui, out);
    } else if (s->kind == LESSON_RUN && (r->state == LESSON_OPEN || r->state == LESSON_FAILED)) {
        r->state = LESSON_BUSY;
        out->keep = true;
        do_step(ui, out);
    } else {
        go_on(ui, out);
    }
}

/* ---- the list ---- */

static void open_lesson(struct ui *ui, struct effect *out) {
    struct learn_view *v = &ui->learn;
    if (v->cursor >= v->rows || *v->opening) return;
    snprintf(v->opening, sizeof v->opening, "%s", v->row[v->cursor].name);
    snprintf(out->text, sizeof out->text, "%s", v->row[v->cursor].name);
    out->kind = EFFECT_LESSON;
}

static bool learn_list_request(struct ui *ui, enum request r, struct effect *out) {
    struct learn_view *v = &ui->learn;
    int rows = ui_body(ui).h - 1;
    if (r == REQ_OPEN) open_lesson(ui, out);
    else if (!ui_walk(r, rows, v->rows - 1, &v->cursor)) return false;
    else ui_in_sight(&v->top, v->cursor, rows - learn_about_rows(ui));
    return true;
}

/* Scrolls a lesson from its end, notes from their top. */
static bool learn_scroll(struct ui *ui, enum request r) {
    struct learn_view *v = &ui->learn;
    struct rect body = ui_body(ui);
    int down, right, last = learn_rows(ui, body.w) - body.h;
    if (!ui_step(r, body.h - 1, &down, &right) || !down) return false;
    v->up = ui_into(v->notes ? v->up + down : v->up - down, last);
    return true;
}

static bool learn_request(struct ui *ui, enum request r, struct effect *out) {
    struct learn_view *v = &ui->learn;
    if (v->notes) return learn_scroll(ui, r) || true; /* notes are read-only */
    if (!v->lesson) return learn_list_request(ui, r, out);
    int back = learn_next_step(v, -1);
    switch (r) {
    case REQ_OPEN: learn_enter(ui, out); return true;
    case REQ_RIGHT: go_on(ui, out); return true;
    case REQ_LEFT:
        if (back >= 0) learn_go_to(ui, back, out);
        return true;
    case REQ_MORE: v->large = true; return true;
    case REQ_LESS: v->large = false; return true;
    case REQ_RUN:
        lesson_progress_restart(v->progress);
        v->up = 0;
        out->kind = EFFECT_LESSON_STEP;
        out->by = -1;
        return true;
    case REQ_BACK: /* the place is stored */
        v->up = 0;
        out->kind = EFFECT_LESSON_CLOSE;
        return true;
    default: return learn_scroll(ui, r);
    }
}

bool learn_press(struct ui *ui, const struct press *p, struct effect *out) {
    struct learn_view *v = &ui->learn;
    const struct lesson_step *s = learn_step(v);
    if (ui->screen != SCREEN_LEARN || v->notes || !s || s->kind != LESSON_ASK) return false;
    if (p->alt || p->code < 'a' || p->code >= 'a' + (uint32_t)s->choices) return false;
    lesson_choose(v->lesson, v->progress, v->progress->at, (char)p->code);
    do_step(ui, out);
    return true;
}

/* Shows the list or the open lesson; when returning from the screen of a step, the next step. */
static void learn_show(struct ui *ui, struct effect *out) {
    struct learn_view *v = &ui->learn;
    const struct lesson_step *s = learn_step(v);
    bool seen = v->beside && s && s->kind == LESSON_SHOW;
    ui_show(ui, SCREEN_LEARN);
    if (seen) go_on(ui, out);
    else if (!v->lesson && !v->notes) out->kind = EFFECT_LESSONS;
}

static void learn_shown(struct ui *ui, enum screen_id from) {
    (void)from;
    ui->learn.up = 0;
}

static void learn_changed(struct ui *ui) {
    struct learn_view *v = &ui->learn;
    v->cursor = ui_into(v->cursor, v->rows - 1);
    if (!v->lesson || v->notes) return;
    while (v->progress->at + 1 < v->lesson->steps && learn_is_silent(v, v->progress->at))
        v->progress->at++; /* at the start of a lesson */
    runs_of_step(v);
}

static int64_t learn_run(const struct ui *ui) {
    const struct learn_view *v = &ui->learn;
    return v->lesson ? v->run[0] : 0;
}

/* Returns the runs of the step as marked runs, which screens 4, 6 and 7 use. */
static int learn_marked(const struct ui *ui, const int64_t **run) {
    const struct learn_view *v = &ui->learn;
    const struct lesson_step *s = learn_step(v);
    int n = 0;
    for (int k = 0; s && k < s->shows; k++) n += v->progress->of[s->show[k]].runs;
    *run = v->run;
    return n;
}

static const char *learn_hint(const struct ui *ui, const struct key_entry *k) {
    const struct learn_view *v = &ui->learn;
    const struct lesson_step *s = learn_step(v);
    if (v->notes) return k->request == REQ_DOWN && s ? "scroll" : k->everywhere ? k->hint : NULL;
    switch (k->request) {
    case REQ_OPEN:
        if (!s) return v->rows ? "start" : NULL;
        if (s->kind == LESSON_SHOW) return "show";
        if (s->kind == LESSON_RUN && v->progress->of[v->progress->at].state == LESSON_OPEN) return "train";
        return "next";
    case REQ_LEFT: return s ? "step" : NULL;
    case REQ_DOWN: return s ? "scroll" : "lesson";
    case REQ_RUN: return s ? "restart" : NULL;
    case REQ_MORE: return s ? (v->large ? NULL : "large") : NULL;
    default: return k->hint;
    }
}

static const enum request learn_keys[] = { REQ_OPEN,  REQ_LEFT, REQ_RIGHT,     REQ_DOWN,    REQ_UP,
                                           REQ_FIRST, REQ_LAST, REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_RUN,
                                           REQ_MORE,  REQ_LESS, REQ_NONE };

const struct screen screen_learn = {
    .tip = { REQ_OPEN, "Enter starts a lesson; 8 returns to it from any screen" },
    .name = "learn",
    .unrendered = true,
    .listed = ":runs tag=lesson lists it", /* lists hide it */
    .about =
        "Interactive lessons that train real runs. Enter continues, a letter answers a question, h goes back "
        "a step. A step that opens a screen is shown next to it; 8 returns to the lesson. Esc closes the "
        "lesson; "
        "opening it again continues at the same step. + and - switch between one step at a time and the "
        "whole "
        "text. Runs of lessons are hidden in lists; petri purge --lessons deletes them.",
    .keys = learn_keys,
    .tab = "8 Learn",
    .to = REQ_TO_LEARN,
    .show = learn_show,
    .shown = learn_shown,
    .changed = learn_changed,
    .request = learn_request,
    .run = learn_run,
    .marked = learn_marked,
    .draw = learn_draw,
    .readout = learn_readout,
    .hint = learn_hint,
};
