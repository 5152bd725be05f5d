#include "app/session/learning.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct learning {
    struct store *store;
    struct jobs *jobs;
    bool open;
    struct buf followed; /* state of the saved progress at the last check */
    char *model, *task;
    struct lesson lesson;
    struct lesson_progress progress;
    struct lesson_play play;
};

struct learning *learning_new(struct store *s, struct jobs *j) {
    struct learning *l = xcalloc(1, sizeof *l);
    l->store = s;
    l->jobs = j;
    return l;
}

static void learning_close(struct learning *l) {
    if (!l->open) return;
    lesson_play_release(&l->play);
    lesson_progress_release(&l->progress);
    lesson_release(&l->lesson);
    free(l->model);
    free(l->task);
    l->model = l->task = NULL;
    l->open = false;
}

void learning_free(struct learning *l) {
    if (!l) return;
    learning_close(l);
    buf_release(&l->followed);
    free(l);
}

/* ---- the list ---- */

static const char *how_far(const struct learning *l, const struct lesson *lesson) {
    struct lesson_progress p;
    struct err ignored = ERR_INIT;
    lesson_progress_init(&p, lesson);
    lesson_progress_load(&p, lesson, store_path(l->store), &ignored);
    const char *done = p.whole ? "done" : p.furthest ? "started" : "";
    lesson_progress_release(&p);
    return done;
}

int learning_list(struct learning *l, struct learn_shelf **out, struct err *e) {
    struct learn_shelf *s = xcalloc(1, sizeof *s);
    s->rows = lesson_list(&s->lesson, e);
    s->row = xcalloc((size_t)s->rows + 1, sizeof *s->row);
    s->needs = xcalloc((size_t)s->rows + 1, sizeof *s->needs);
    for (int i = 0; i < s->rows; i++) {
        const struct lesson *x = &s->lesson[i];
        s->needs[i] = xprintf("%s%s%s", x->model ? x->model : "", x->model && x->task ? ", " : "",
                              x->task ? x->task : "");
        s->row[i] = (struct learn_row){ .name = x->name,
                                        .title = x->title,
                                        .about = x->about,
                                        .needs = s->needs[i],
                                        .done = how_far(l, x),
                                        .minutes = x->minutes,
                                        .seconds = x->seconds,
                                        .own_model = x->model != NULL };
    }
    *out = s;
    return e->code; /* an invalid lesson; the others are listed */
}

void learn_shelf_free(struct learn_shelf *s) {
    if (!s) return;
    for (int i = 0; i < s->rows; i++) free(s->needs[i]);
    free(s->needs);
    free(s->row);
    lesson_list_free(s->lesson, s->rows);
    free(s);
}

/* ---- the open lesson ---- */

/* Runs that were purged in the meantime are removed from the lesson's results. */
static void forget_lost_runs(const struct learning *l, const struct lesson *lesson,
                             struct lesson_progress *p) {
    for (int i = 0; i < lesson->steps; i++) {
        bool lost = false;
        for (int k = 0; k < p->of[i].runs; k++) {
            struct store_run run;
            struct err ignored = ERR_INIT;
            if (store_run(l->store, p->of[i].run[k], &run, &ignored)) lost = true;
            else store_run_release(&run);
        }
        if (!lost) continue;
        lesson_progress_back(p, i);
        return;
    }
}

int learning_open(struct learning *l, const char *name, const char *model, const char *task,
                  struct learn_page **out, struct err *e) {
    struct learn_page *page = xcalloc(1, sizeof *page);
    char *path = lesson_file(name, e);
    int rc = path ? lesson_read(&page->lesson, path, e) : e->code;
    if (!rc) {
        struct err ignored = ERR_INIT;
        lesson_progress_init(&page->progress, &page->lesson);
        lesson_play_on(&page->lesson, &page->progress, page->lesson.model ? NULL : model,
                       page->lesson.task ? NULL : task);
        lesson_progress_load(&page->progress, &page->lesson, store_path(l->store), &ignored);
        forget_lost_runs(l, &page->lesson, &page->progress);
        learning_close(l);
        rc = lesson_read(&l->lesson, path, e);
    }
    if (!rc) {
        l->open = true;
        lesson_progress_init(&l->progress, &l->lesson);
        lesson_progress_on(&l->progress, page->progress.model, page->progress.task);
        lesson_progress_copy(&l->progress, &page->progress);
        l->model = l->lesson.model ? NULL : xcopy(model);
        l->task = l->lesson.task ? NULL : xcopy(task);
        l->play = (struct lesson_play){ .lesson = &l->lesson,
                                        .progress = &l->progress,
                                        .store = l->store,
                                        .jobs = l->jobs,
                                        .model = l->model,
                                        .task = l->task };
        *out = page;
    } else {
        learn_page_free(page);
    }
    free(path);
    return rc;
}

void learn_page_free(struct learn_page *p) {
    if (!p) return;
    lesson_progress_release(&p->progress);
    lesson_release(&p->lesson);
    free(p);
}

int learning_follow(struct learning *l, struct learn_page **out, struct err *e) {
    const char *database = store_path(l->store);
    char *path = NULL;
    struct learn_page *page = NULL;
    if (!lesson_progress_changed(database, &l->followed)) return 0;
    int rc = lesson_progress_last(database, &path, e);
    if (!rc && path) {
        page = xcalloc(1, sizeof *page);
        rc = lesson_read(&page->lesson, path, e);
    }
    if (!rc && page) {
        lesson_progress_init(&page->progress, &page->lesson);
        rc = lesson_progress_load(&page->progress, &page->lesson, database, e);
    }
    free(path);
    if (rc) learn_page_free(page);
    else *out = page;
    return rc;
}

/* ---- steps ---- */

/* Computes values in order, up to the first failure or missing run. */
static void do_values(struct learning *l, int step) {
    struct err ignored = ERR_INIT;
    for (int i = 0; i <= step; i++) {
        struct lesson_result *r = &l->progress.of[i];
        const struct lesson_step *s = &l->lesson.step[i];
        if (s->kind == LESSON_RUN && r->state != LESSON_DONE && i < step) return;
        if (!lesson_computes(s) || r->state == LESSON_DONE) continue;
        if (lesson_measure(&l->play, i, &ignored)) return;
    }
}

/* Checks the current run; with `train`, starts the step's own run. */
static int learning_do_run(struct learning *l, int step, bool train) {
    struct err ignored = ERR_INIT;
    int busy = -1;
    if (train && step >= 0 && l->lesson.step[step].kind == LESSON_RUN &&
        l->progress.of[step].state != LESSON_BUSY)
        lesson_begin(&l->play, step, &ignored);
    for (int i = 0; i < l->lesson.steps; i++)
        if (l->progress.of[i].state == LESSON_BUSY && !lesson_over(&l->play, i, 0)) busy = i;
    return busy;
}

int learning_step(struct learning *l, int step, bool train, const struct lesson_progress *screen,
                  struct learn_news **out, struct err *e) {
    if (!l->open || screen->steps != l->lesson.steps) return 0;
    if (step < 0) {
        lesson_progress_restart(&l->progress);
        lesson_play_release(&l->play);
    }
    bool moved = l->progress.at != screen->at;
    lesson_progress_place(&l->progress, screen);
    if (moved && !store_is_readonly(l->store)) {
        struct err later =
            ERR_INIT; /* the notes on another terminal advance before anything is computed; reported below */
        lesson_progress_store(&l->progress, &l->lesson, store_path(l->store), &later);
    }
    int busy = learning_do_run(l, step, train);
    do_values(l, step < 0 ? 0 : step);
    struct learn_news *n = *out = xcalloc(1, sizeof *n);
    struct lesson_progress copy;
    lesson_progress_init(&copy, &l->lesson);
    lesson_progress_copy(&copy, &l->progress);
    *n = (struct learn_news){ copy.steps, busy, copy.of };
    return store_is_readonly(l->store)
               ? 0
               : lesson_progress_store(&l->progress, &l->lesson, store_path(l->store), e);
}

void learn_news_free(struct learn_news *n) {
    if (!n) return;
    struct lesson_progress p = { .steps = n->steps, .of = n->of };
    lesson_progress_release(&p);
    free(n);
}

void learn_news_take(const struct learn_news *n, struct lesson_progress *p) {
    struct lesson_progress from = { .steps = n->steps, .of = n->of };
    if (n->steps == p->steps) lesson_progress_results(p, &from);
}
