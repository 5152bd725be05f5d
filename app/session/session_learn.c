/* Lessons on the screen: requests of Learn, and the answers of the background. */
#include <stdio.h>
#include <stdlib.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"

enum { LOOK_AGAIN_MS = 300, AHEAD = 6 /* steps */ };

/* ---- a step ---- */

struct step_asked {
    struct lesson_progress *progress; /* owned by the screen */
    struct learn_news *news;
};

static int work_on(struct background_work *w) {
    struct step_asked *x = w->made;
    return learning_step(w->room->learning, w->count, w->flag, x->progress, &x->news, &w->e);
}

static void drop_step(struct background_work *w) {
    struct step_asked *x = w->made;
    lesson_progress_release(x->progress);
    free(x->progress);
    learn_news_free(x->news);
    free(x);
}

static void take_news(struct session *s, struct background_work *w);

/* Requests the work of the open lesson up to a step; its position and answers are sent along to be saved. */
static void ask_step(struct session *s, int step, bool train) {
    static const struct work_kind kind = { LANE_LESSONS, work_on, take_news, .drop = drop_step };
    if (!s->lesson.page) return;
    struct background_work *w = work_new(&kind, NULL, 0, NULL);
    struct step_asked *x = w->made = xcalloc(1, sizeof *x);
    w->count = step;
    w->flag = train;
    x->progress = lesson_progress_clone(&s->lesson.page->progress);
    s->lesson.asked = true;
    background_do(s->background, w);
}

static void take_news(struct session *s, struct background_work *w) {
    struct session_lesson *l = &s->lesson;
    const struct learn_news *news = ((struct step_asked *)w->made)->news;
    l->asked = false;
    if (!news || !l->page) return;
    learn_news_take(news, &l->page->progress);
    l->busy = news->busy >= 0;
    int at = l->page->progress.at, last = l->page->lesson.steps - 1;
    if (l->busy || l->ahead == at) return;
    l->ahead = at; /* the next steps are computed while this one is read */
    ask_step(s, at + AHEAD < last ? at + AHEAD : last, false);
}

/* ---- the list ---- */

static int read_shelf(struct background_work *w) {
    struct learn_shelf *shelf = NULL;
    int rc = learning_list(w->room->learning, &shelf, &w->e);
    w->made = shelf;
    return rc;
}

static void take_shelf(struct session *s, struct background_work *w) {
    struct learn_view *v = &s->ui.learn;
    struct learn_shelf *shelf = w->made;
    v->listed = true;
    if (!shelf) return;
    v->row = shelf->row;
    v->rows = shelf->rows;
    w->made = s->lesson.shelf;
    s->lesson.shelf = shelf;
}

static void drop_shelf(struct background_work *w) { learn_shelf_free(w->made); }

static const struct work_kind shelf_work = {
    LANE_LESSONS, read_shelf, take_shelf, .drop = drop_shelf, .alone = true
};

/* ---- opening a lesson, or following another process ---- */

/* Shows a lesson instead of the previous one; returns false if there is none. */
static bool show(struct session *s, struct background_work *w) {
    struct learn_page *page = w->made;
    if (!page) return false;
    s->ui.learn.lesson = &page->lesson;
    s->ui.learn.progress = &page->progress;
    w->made = s->lesson.page;
    s->lesson.page = page;
    return true;
}

static void drop_page(struct background_work *w) { learn_page_free(w->made); }

static int open_lesson(struct background_work *w) {
    struct learn_page *page = NULL;
    int rc = learning_open(w->room->learning, w->text, w->config.model, w->config.task, &page, &w->e);
    w->made = page;
    return rc;
}

static void take_lesson(struct session *s, struct background_work *w) {
    struct learn_view *v = &s->ui.learn;
    *v->opening = '\0';
    snprintf(v->failed, sizeof v->failed, "%.399s", w->made ? "" : w->message);
    if (!show(s, w)) return;
    s->lesson.ahead = -1;
    ui_show(&s->ui, SCREEN_LEARN);
    ui_changed(&s->ui); /* the step can be shown now */
    ask_step(s, s->lesson.page->progress.at, false);
}

static int follow(struct background_work *w) {
    struct learn_page *page = NULL;
    int rc = learning_follow(w->room->learning, &page, &w->e);
    w->made = page;
    return rc;
}

static void take_followed(struct session *s, struct background_work *w) {
    s->lesson.asked = false;
    s->ui.learn.listed = true;
    if (show(s, w)) s->ui.learn.up = 0;
}

static void ask_followed(struct session *s) {
    static const struct work_kind kind = {
        LANE_LESSONS, follow, take_followed, .drop = drop_page, .alone = true
    };
    s->lesson.asked = true;
    session__ask(s, &kind, NULL, 0, NULL);
}

void session__follow_lesson(struct session *s) {
    s->ui.learn.notes = true;
    ui_show(&s->ui, SCREEN_LEARN);
    ask_followed(s);
}

void session__look_at_lesson(struct session *s, int64_t now, int *wait) {
    struct session_lesson *l = &s->lesson;
    bool follows = s->ui.learn.notes;
    if (!l->busy && !follows) return;
    if (*wait < 0 || *wait > LOOK_AGAIN_MS) *wait = LOOK_AGAIN_MS;
    if (l->asked || now - l->looked < LOOK_AGAIN_MS) return;
    l->looked = now;
    if (follows) ask_followed(s);
    else ask_step(s, l->page->progress.at, false);
}

/* ---- actions ---- */

static void do_open(struct session *s, const struct effect *x) {
    static const struct work_kind kind = { LANE_LESSONS, open_lesson, take_lesson, .drop = drop_page };
    struct background_work *w = work_new(&kind, NULL, 0, x->text);
    config_copy(&w->config, &s->ui.compose.config);
    background_do(s->background, w);
}

static void do_close(struct session *s) {
    struct session_lesson *l = &s->lesson;
    if (!l->page) return;
    ask_step(s, l->page->progress.at, false); /* saves it */
    s->ui.learn.lesson = NULL;
    s->ui.learn.progress = NULL;
    learn_page_free(l->page);
    l->page = NULL;
    l->busy = false;
    session__ask(s, &shelf_work, NULL, 0, NULL);
}

static void do_step(struct session *s, const struct effect *x) {
    if (!x->keep || !s->read_only) {
        ask_step(s, x->by, x->keep);
        return;
    }
    s->lesson.page->progress.of[x->by].state = LESSON_OPEN;
    ui_say(&s->ui, SAY_INFO,
           "read-only: nothing can be trained (start petri without watch or --readonly)");
}

static void line_list(const struct session *s, struct buf *b, const struct effect *x) {
    (void)x;
    line_verb(s, b, "learn --list");
}

static void line_open(const struct session *s, struct buf *b, const struct effect *x) {
    line_verb(s, b, "learn");
    line_word(b, x->text);
}

const struct action lesson_actions[] = {
    { EFFECT_LESSONS, .work = &shelf_work, .line = line_list },
    { EFFECT_LESSON, do_open, .line = line_open },
    { EFFECT_LESSON_CLOSE, .plain = do_close },
    { EFFECT_LESSON_STEP, .act = do_step },
    { .kind = EFFECT_NONE },
};

void session__lesson_release(struct session *s) {
    learn_shelf_free(s->lesson.shelf);
    learn_page_free(s->lesson.page);
    learning_free(s->room.learning);
}
