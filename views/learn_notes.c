/* Draws the notes to the current step of a lesson that another petri shows: for the presenter, on a terminal
 * that the class does not see. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "views/learn_parts.h"
#include "views/sheet.h"
#include "views/ui_parts.h"

/* Draws the correct choice, and how often each choice was given. */
static void notes_question(struct sheet *p, const struct learn_view *v, int ask) {
    const struct lesson_step *s = &v->lesson->step[ask];
    struct buf b = BUF_INIT;
    int all = 0;
    for (int i = ask + 1; i < v->lesson->steps; i++) {
        const struct lesson_step *answer = &v->lesson->step[i];
        char right = answer->kind == LESSON_ANSWER && answer->of == ask
                         ? lesson_right(v->lesson, v->progress, i)
                         : 0;
        if (right) buf_printf(&b, "Correct: %c.", right);
    }
    for (int i = 0; i < s->choices; i++) all += v->progress->of[ask].given[i];
    if (all) buf_printf(&b, " %d %s so far:", all, all == 1 ? "answer" : "answers");
    for (int i = 0; all && i < s->choices; i++)
        buf_printf(&b, " %c %d", s->choice[i].letter, v->progress->of[ask].given[i]);
    sheet_text(p, PANE_EDGE, INK_ACCENT, buf_text(&b));
    buf_release(&b);
    p->rows++;
}

static void notes_of(struct sheet *p, const struct learn_view *v, int step) {
    const struct lesson_step *s = &v->lesson->step[step];
    if (s->kind == LESSON_ASK) notes_question(p, v, step);
    for (int i = 0; i < s->notes; i++) {
        char *text = lesson_fill(v->lesson, v->progress, step, s->note[i].text, false);
        if (i) p->rows++;
        sheet_text(p, PANE_EDGE, INK_TEXT, text);
        free(text);
    }
    if (!s->notes) sheet_text(p, PANE_EDGE, INK_DIM, "no notes for this step");
}

int learn_draw_notes(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct learn_view *v = &ui->learn;
    struct sheet p = { c, r, v->up, .glyphs = ui->glyphs };
    const struct lesson_step *s = learn_step(v);
    if (!s) {
        sheet_rule(&p, "Notes", NULL);
        sheet_text(&p, PANE_EDGE, INK_DIM,
                   *v->failed  ? v->failed
                   : v->listed ? "no lesson was started with this database"
                               : "loading the lesson \u2026");
        return p.rows;
    }
    struct phrase title = learn_step_title(s);
    sheet_rule(&p, *title.text ? title.text : v->lesson->title, learn_place(v, v->progress->at).text);
    notes_of(&p, v, v->progress->at);
    int next = learn_next_step(v, 1);
    p.rows++;
    if (next >= 0) title = learn_step_title(&v->lesson->step[next]);
    sheet_rule(&p, "Next", NULL);
    sheet_text(&p, PANE_EDGE, INK_DIM, next < 0 ? "end of the lesson" : *title.text ? title.text : "Text");
    return p.rows;
}
