/* The notes to the step of a lesson that another petri leads: for who presents it, on a terminal that the
 * class does not see. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "views/learn_parts.h"
#include "views/ui_parts.h"

struct notes_pen {
    struct canvas *c; /* NULL: only measuring */
    struct canvas measure;
    struct rect r;
    int row, skip;
};

static void notes_text(struct notes_pen *p, enum ink ink, const char *text) {
    struct rect r = { p->r.x + 1, p->r.y + p->row - p->skip, p->r.w - 2, 0 };
    r.h = canvas_wrap_rows(&p->measure, r.w, text);
    if (p->c) canvas_wrap(p->c, r, ink, text);
    p->row += r.h;
}

static void notes_rule(struct notes_pen *p, const char *title, const char *right) {
    if (p->c) canvas_rule(p->c, p->r.x, p->r.y + p->row - p->skip, p->r.w, title, right);
    p->row++;
}

/* Which choice is right, and what was answered here so far. */
static void notes_question(struct notes_pen *p, const struct learn_view *v, int ask) {
    const struct lesson_step *s = &v->lesson->step[ask];
    struct buf b = BUF_INIT;
    int all = 0;
    for (int i = ask + 1; i < v->lesson->steps; i++) {
        const struct lesson_step *answer = &v->lesson->step[i];
        char right = answer->kind == LESSON_ANSWER && answer->of == ask
                         ? lesson_right(v->lesson, v->progress, i)
                         : 0;
        if (right) buf_printf(&b, "%c is right.", right);
    }
    for (int i = 0; i < s->choices; i++) all += v->progress->of[ask].given[i];
    if (all) buf_printf(&b, " Of %d %s so far:", all, all == 1 ? "answer" : "answers");
    for (int i = 0; all && i < s->choices; i++)
        buf_printf(&b, " %c %d", s->choice[i].letter, v->progress->of[ask].given[i]);
    notes_text(p, INK_ACCENT, buf_text(&b));
    buf_release(&b);
    p->row++;
}

static void notes_of(struct notes_pen *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    if (s->kind == LESSON_ASK) notes_question(p, v, step);
    for (int i = 0; i < s->notes; i++) {
        char *text = lesson_fill(v->lesson, v->progress, step, s->note[i].text, false);
        if (i) p->row++;
        notes_text(p, INK_TEXT, text);
        free(text);
    }
    if (!s->notes) notes_text(p, INK_DIM, "no note to this step");
}

int learn_draw_notes(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct learn_view *v = &ui->learn;
    struct notes_pen p = { .c = c, .measure = { .glyphs = ui->glyphs }, .r = r, .skip = v->up };
    const struct lesson_step *s = learn_step(v);
    char title[160], place[32];
    if (!s) {
        notes_rule(&p, "Notes", NULL);
        notes_text(&p, INK_DIM,
                   *v->failed  ? v->failed
                   : v->listed ? "no lesson was begun in this history"
                               : "looking for a lesson \u2026");
        return p.row;
    }
    learn_step_title(s, title);
    learn_place(v, v->progress->at, place);
    notes_rule(&p, *title ? title : v->lesson->title, place);
    notes_of(&p, v, v->progress->at);
    int next = learn_next_step(v, 1);
    p.row++;
    if (next >= 0) learn_step_title(&v->lesson->step[next], title);
    notes_rule(&p, "Next", NULL);
    notes_text(&p, INK_DIM, next < 0 ? "the end" : *title ? title : "Text");
    return p.row;
}
