/* Lessons on the screen: what Learn asks for, and what the background answers. */
#include <stdio.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"

enum { LOOK_AGAIN_MS = 300, AHEAD = 6 /* steps */ };

/* What the open lesson needs up to a step; its place and answers go with it, to be kept. */
static void ask_step(struct session *s, int step, bool train) {
    if (!s->lesson) return;
    s->lesson_asked = true;
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_LESSON_STEP,
                                                              .step = step,
                                                              .train = train,
                                                              .progress = &s->lesson->progress });
}

static void ask_lessons(struct session *s) {
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_LESSONS });
}

static void close_lesson(struct session *s) {
    ask_step(s, s->lesson->progress.at, false); /* keeps it */
    s->ui.learn.lesson = NULL;
    s->ui.learn.progress = NULL;
    learn_page_free(s->lesson);
    s->lesson = NULL;
    s->lesson_busy = false;
    ask_lessons(s);
}

void session__lesson(struct session *s, const struct effect *x) {
    if (x->kind == EFFECT_LESSON) {
        const struct run_config *c = &s->ui.compose.config;
        background_ask(s->background,
                       &(struct background_order){ .kind = BACKGROUND_LESSON, .text = x->text, .config = c });
    } else if (x->kind == EFFECT_LESSON_CLOSE) {
        if (s->lesson) close_lesson(s);
    } else if (x->kind == EFFECT_LESSON_STEP && x->keep && s->look_only) {
        s->lesson->progress.of[x->by].state = LESSON_OPEN;
        ui_say(&s->ui, SAY_INFO,
               "this petri only looks: nothing is trained here (petri without watch and --readonly does)");
    } else if (x->kind == EFFECT_LESSON_STEP) {
        ask_step(s, x->by, x->keep);
    } else {
        ask_lessons(s);
    }
}

static void take_shelf(struct session *s, struct background_answer *a) {
    struct learn_view *v = &s->ui.learn;
    v->listed = true;
    if (!a->shelf) return;
    v->row = a->shelf->row;
    v->rows = a->shelf->rows;
    learn_shelf_free(s->shelf);
    s->shelf = a->shelf;
    a->shelf = NULL;
}

static void take_lesson(struct session *s, struct background_answer *a) {
    struct learn_view *v = &s->ui.learn;
    *v->opening = '\0';
    snprintf(v->failed, sizeof v->failed, "%.399s", a->lesson ? "" : a->message);
    if (!a->lesson) return;
    v->lesson = &a->lesson->lesson;
    v->progress = &a->lesson->progress;
    learn_page_free(s->lesson);
    s->lesson = a->lesson;
    a->lesson = NULL;
    s->lesson_ahead = -1;
    ui_show(&s->ui, SCREEN_LEARN);
    ui_changed(&s->ui); /* the place is one that can be read */
    ask_step(s, s->lesson->progress.at, false);
}

/* The lesson that another petri leads has gone on, or is another one. */
static void take_followed(struct session *s, struct background_answer *a) {
    struct learn_view *v = &s->ui.learn;
    s->lesson_asked = false;
    v->listed = true;
    if (!a->lesson) return;
    v->lesson = &a->lesson->lesson;
    v->progress = &a->lesson->progress;
    v->up = 0;
    learn_page_free(s->lesson);
    s->lesson = a->lesson;
    a->lesson = NULL;
}

static void ask_followed(struct session *s) {
    s->lesson_asked = true;
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_LESSON_FOLLOW });
}

void session__follow_lesson(struct session *s) {
    s->ui.learn.notes = true;
    ui_show(&s->ui, SCREEN_LEARN);
    ask_followed(s);
}

void session__take_lessons(struct session *s, struct background_answer *a) {
    if (a->kind == BACKGROUND_LESSON_FOLLOW) take_followed(s, a);
    if (a->kind == BACKGROUND_LESSONS) take_shelf(s, a);
    if (a->kind == BACKGROUND_LESSON) take_lesson(s, a);
    if (a->kind != BACKGROUND_LESSON_STEP) return;
    s->lesson_asked = false;
    if (!a->news || !s->lesson) return;
    learn_news_take(a->news, &s->lesson->progress);
    s->lesson_busy = a->news->busy >= 0;
    int at = s->lesson->progress.at, last = s->lesson->lesson.steps - 1;
    if (s->lesson_busy || s->lesson_ahead == at) return;
    s->lesson_ahead = at; /* while this is read, what comes next is computed */
    ask_step(s, at + AHEAD < last ? at + AHEAD : last, false);
}

void session__look_at_lesson(struct session *s, int64_t now, int *wait) {
    bool follows = s->ui.learn.notes;
    if (!s->lesson_busy && !follows) return;
    if (*wait < 0 || *wait > LOOK_AGAIN_MS) *wait = LOOK_AGAIN_MS;
    if (s->lesson_asked || now - s->lesson_looked < LOOK_AGAIN_MS) return;
    s->lesson_looked = now;
    if (follows) ask_followed(s);
    else ask_step(s, s->lesson->progress.at, false);
}
