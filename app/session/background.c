#include "app/session/background.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/background_private.h"
#include "app/session/compared.h"
#include "app/session/learning.h"
#include "app/session/own_data.h"
#include "app/session/row_extras.h"
#include "app/session/run_keys.h"
#include "app/session/start_effect.h"
#include "app/session/session.h"
#include "app/session/swept.h"
#include "app/why/why.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

struct order {
    struct order *next;
    struct background_order what;
};

/* Orders that are done one after the other.  A lesson's step trains and measures for seconds, and so long may
 * a model or a file take, so these have threads of their own and the screens' lists and pages do not wait for
 * them. */
enum { LANE_SCREENS, LANE_FILES, LANE_LESSONS, LANES };
struct background_lane {
    struct background *of;
    pthread_cond_t asked;
    pthread_t thread;
    struct order *orders;
};

struct background {
    struct store *store;
    struct jobs *jobs;
    void (*wake)(void *);
    void *self;
    pthread_mutex_t lock;
    bool leaving;
    struct background_lane lane[LANES];
    int64_t taken;
    struct background_answer *answers;
    struct result_cache tasks;
    struct run_keys keys;     /* of the screens' lane, as is what follows */
    struct row_extras extras; /* the screens' lane's own, as what follows */
    struct sweeping *sweeping; /* borrowed */
    const struct session_verbs *verbs;
    struct learning *learning; /* borrowed; touched by the lessons' lane alone */
};

static void order_free(struct order *o) {
    free(o->what.run);
    free((char *)o->what.text);
    free((char *)o->what.name);
    if (o->what.progress) lesson_progress_release(o->what.progress);
    free(o->what.progress);
    if (o->what.config) config_release((struct run_config *)o->what.config);
    free((void *)o->what.config);
    free(o);
}

void background__say(struct background_answer *a, enum say how, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(a->message, sizeof a->message, format, args);
    va_end(args);
    a->say = how;
}

/* Sweeps that this process works on. */
static int sweep_order(struct background *d, const struct background_order *o, struct background_answer *a,
                       struct err *e) {
    int rc = 0;
    char *said = NULL;
    if (o->kind == BACKGROUND_SWEEP_NEW) rc = sweeping_begin(d->sweeping, o->text, &a->sweep, e);
    else if (o->kind == BACKGROUND_SWEEP_GO) rc = sweeping_go(d->sweeping, o->run[0], NULL, e);
    else if (o->kind == BACKGROUND_SWEEP_EXTEND) rc = sweeping_go(d->sweeping, o->run[0], o->text, e);
    else if (o->kind == BACKGROUND_SWEEP_STOP) rc = sweeping_stop(d->sweeping, o->run[0], e);
    if (!rc && o->kind == BACKGROUND_SWEEP_NEW)
        background__say(a, SAY_GOOD, "sweep %lld is kept, and begun: R goes on, K stops",
                        (long long)a->sweep);
    else if (!rc && o->kind == BACKGROUND_SWEEP_STOP)
        background__say(a, SAY_INFO,
                        "all who work on sweep %lld are asked to stop; each run keeps a checkpoint",
                        (long long)o->run[0]);
    else if (!rc && o->kind != BACKGROUND_SWEEP_STEP)
        background__say(a, SAY_INFO, "sweep %lld goes on", (long long)o->run[0]);
    struct err step = ERR_INIT;
    int rc2 = sweeping_step(d->sweeping, &a->working, &said, rc ? &step : e);
    if (!rc && !rc2 && said) background__say(a, SAY_ERROR, "%s", said);
    free(said);
    return rc ? rc : rc2;
}

/* How a run that is over looks, where it looks wrong.  What was asked for is no news: its page says it. */
static int background_why(struct background *d, int64_t id, struct background_answer *a, struct err *e) {
    struct store_run run;
    struct why why;
    int rc = store_flush(d->store, e);
    if (!rc) rc = store_run(d->store, id, &run, e);
    if (rc) return rc;
    rc = why_of_run(d->store, &run, &why, e);
    store_run_release(&run);
    if (rc) return rc;
    char more[48] = "";
    const struct why_finding *first = NULL;
    for (int i = 0; i < why.count && !first; i++)
        if (!why.of[i].asked) first = &why.of[i];
    if (why.count > 1) snprintf(more, sizeof more, " (its page, Enter on 3, says %d more)", why.count - 1);
    if (first) background__say(a, SAY_WARNING, "run #%lld: %.600s%s", (long long)id, first->text, more);
    why_release(&why);
    return 0;
}

static int train_line(struct background *d, const struct background_order *o, struct background_answer *a,
                      struct err *e) {
    struct line_meaning m;
    int runs, rc = d->verbs->mean(o->text, store_path(d->store), &m, e);
    if (rc) return rc;
    rc = d->verbs->train(&m, o->config, d->jobs, &runs, e);
    line_meaning_release(&m);
    if (!rc)
        background__say(a, SAY_INFO, "preparing %d %s: reading model and rows", runs,
                        runs == 1 ? "run" : "runs");
    return rc;
}

static int background_start(struct background *d, const struct background_order *o,
                            struct background_answer *a, struct err *e) {
    struct start_effect x;
    char words[240];
    a->method = xstrdup(o->text);
    int rc = start_effect(o->config, jobs_crew(d->jobs), &x, e);
    if (rc) return err_prefix(e, "what the method does at step 0");
    start_effect_words(&x, words);
    a->start = xstrdup(words);
    background__say(a, SAY_INFO, "%s", words);
    return 0;
}

static int serve(struct background *d, const struct background_order *o, struct background_answer *a,
                 struct err *e) {
    struct store_run run;
    int rc;
    switch (o->kind) {
    case BACKGROUND_RUNS:
        rc = background__runs(d->store, o->trash, o->text, o->by_task ? &d->tasks : NULL, &a->runs, e);
        if (!rc) rc = run_keys_fill(&d->keys, d->store, &a->runs->stored, a->runs->row, &a->runs->keys, e);
        if (!rc && (o->disk || o->curve))
            row_extras_fill(&d->extras, d->store, &a->runs->stored, a->runs->row, o->disk, o->curve,
                            &a->runs->curves);
        return rc;
    case BACKGROUND_PAGE: return background__page(d->store, o->run[0], &a->detail, e);
    case BACKGROUND_SERIES:
        rc = store_run(d->store, o->run[0], &run, e);
        if (rc) return rc;
        a->series = series_new(o->run[0]);
        rc = series_read(a->series, d->store, &run, e);
        if (rc) {
            series_free(a->series);
            a->series = NULL;
        }
        store_run_release(&run);
        return rc;
    case BACKGROUND_COLUMNS: return store_columns(d->store, &a->columns, e);
    case BACKGROUND_KEEP_COLUMNS: return store_keep_columns(d->store, o->text, e);
    case BACKGROUND_SAVED: return store_filters(d->store, &a->saved, e);
    case BACKGROUND_OTHERS:
        if (o->version && o->version == store_version(d->store)) return 0;
        return other_runs_read(d->store, o->run, o->run[OTHERS_ASKED], &a->others, e);
    case BACKGROUND_BESIDE: return beside_read(d->store, o->run, o->runs, &a->beside, e);
    case BACKGROUND_WHY: return background_why(d, o->run[0], a, e);
    case BACKGROUND_COMPARE:
        return compared_page_read(d->store, o->run, o->runs, o->text, o->trash, &a->compared, e);
    case BACKGROUND_SWEEPS: return swept_page_read(d->store, o->run[0], d->sweeping, &a->swept, e);
    case BACKGROUND_SWEEP_NEW:
    case BACKGROUND_SWEEP_GO:
    case BACKGROUND_SWEEP_STOP:
    case BACKGROUND_SWEEP_EXTEND:
    case BACKGROUND_SWEEP_STEP: return sweep_order(d, o, a, e);
    case BACKGROUND_LESSONS: return learning_list(d->learning, &a->shelf, e);
    case BACKGROUND_LESSON:
        return learning_open(d->learning, o->text, o->config ? o->config->model : NULL,
                             o->config ? o->config->task : NULL, &a->lesson, e);
    case BACKGROUND_LESSON_FOLLOW: return learning_follow(d->learning, &a->lesson, e);
    case BACKGROUND_LESSON_STEP:
        return learning_step(d->learning, o->step, o->train, o->progress, &a->news, e);
    case BACKGROUND_CLONE:
    case BACKGROUND_AGAIN:
    case BACKGROUND_RESUME:
    case BACKGROUND_RESEED:
    case BACKGROUND_STOP:
    case BACKGROUND_TRASH:
    case BACKGROUND_RESTORE:
    case BACKGROUND_SAVE:
    case BACKGROUND_PIN:
    case BACKGROUND_TAGS:
    case BACKGROUND_NOTE:
    case BACKGROUND_NAME:
    case BACKGROUND_PURGE_COUNT:
    case BACKGROUND_PURGE:
    case BACKGROUND_TABLE:
    case BACKGROUND_PNG:
    case BACKGROUND_EXPORT: return background__act(&(struct background_place){ d->store, d->jobs }, o, a, e);
    case BACKGROUND_SOURCE: return background__source(o, a, e);
    case BACKGROUND_FOLDER: a->folder = own_folder_list(o->text); return 0;
    case BACKGROUND_LOOK:
        a->look = own_look_at(o->text, o->config);
        if (a->look->view.folder && a->look->view.failed) a->folder = own_folder_list(o->text);
        return 0;
    case BACKGROUND_START: return background_start(d, o, a, e);
    case BACKGROUND_IMPORT: a->read = own_read_rows(o->config, o->run[0]); return 0;
    case BACKGROUND_LINE: return train_line(d, o, a, e);
    case BACKGROUND_MACHINE:
        a->gflops = jobs_rate(d->jobs, true);
        a->workers = crew_width(jobs_crew(d->jobs));
        return 0;
    }
    BUG("order %d", o->kind);
}

static int lane_of(enum background_kind k) {
    switch (k) {
    case BACKGROUND_LESSONS:
    case BACKGROUND_LESSON:
    case BACKGROUND_LESSON_STEP:
    case BACKGROUND_LESSON_FOLLOW: return LANE_LESSONS;
    case BACKGROUND_SOURCE:
    case BACKGROUND_FOLDER:
    case BACKGROUND_LOOK:
    case BACKGROUND_IMPORT:
    case BACKGROUND_LINE:
    case BACKGROUND_START:
    case BACKGROUND_MACHINE:
    case BACKGROUND_EXPORT:
    case BACKGROUND_TABLE:
    case BACKGROUND_PNG: return LANE_FILES;
    default: return LANE_SCREENS;
    }
}

/* The same list or page asked for twice is fetched once. */
static bool asks_the_same(const struct background_order *a, const struct background_order *b) {
    if (a->kind != b->kind) return false;
    if (a->kind == BACKGROUND_RUNS)
        return a->trash == b->trash && a->by_task == b->by_task && a->disk == b->disk &&
               a->curve == b->curve && !strcmp(a->text, b->text);
    bool again = a->kind == BACKGROUND_PAGE || a->kind == BACKGROUND_SWEEPS;
    return again && a->run[0] == b->run[0];
}

static void *background_work(void *self) {
    struct background_lane *l = self;
    struct background *d = l->of;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!l->orders && !d->leaving) pthread_cond_wait(&l->asked, &d->lock);
        if (d->leaving) break;
        struct order *o = l->orders;
        l->orders = o->next;
        pthread_mutex_unlock(&d->lock);
        struct background_answer *a = xcalloc(1, sizeof *a);
        a->kind = o->what.kind;
        struct err e = ERR_INIT;
        int64_t from = clock_ms();
        if (serve(d, &o->what, a, &e)) background__say(a, SAY_ERROR, "%s", e.text);
        order_free(o);
        a->ms = clock_ms() - from;
        pthread_mutex_lock(&d->lock);
        struct background_answer **end = &d->answers;
        while (*end) end = &(*end)->next;
        *end = a;
        pthread_mutex_unlock(&d->lock);
        d->wake(d->self);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

struct background *background_new(struct store *s, struct jobs *j, void (*wake)(void *), void *self) {
    struct background *d = xcalloc(1, sizeof *d);
    d->store = s;
    d->jobs = j;
    d->wake = wake;
    d->self = self;
    pthread_mutex_init(&d->lock, NULL);
    for (int i = 0; i < LANES; i++) {
        d->lane[i].of = d;
        clock_cond_init(&d->lane[i].asked);
        if (pthread_create(&d->lane[i].thread, NULL, background_work, &d->lane[i]))
            BUG("no background thread");
    }
    return d;
}

void background_work_on(struct background *d, struct sweeping *w) { d->sweeping = w; }
void background_verbs(struct background *d, const struct session_verbs *verbs) { d->verbs = verbs; }
void background_teach(struct background *d, struct learning *l) { d->learning = l; }

void background_ask(struct background *d, const struct background_order *o) {
    struct order *mine = xcalloc(1, sizeof *mine);
    mine->what = *o;
    mine->what.run = xcalloc((size_t)o->runs, sizeof *o->run);
    if (o->runs) memcpy(mine->what.run, o->run, (size_t)o->runs * sizeof *o->run);
    mine->what.text = xcopy(o->text);
    mine->what.name = xcopy(o->name);
    if (o->progress) mine->what.progress = lesson_progress_clone(o->progress);
    if (o->config) {
        struct run_config *c = xcalloc(1, sizeof *c);
        config_copy(c, o->config);
        mine->what.config = c;
    }
    struct background_lane *l = &d->lane[lane_of(o->kind)];
    pthread_mutex_lock(&d->lock);
    struct order **end = &l->orders;
    bool waiting = false;
    for (; *end; end = &(*end)->next) waiting = waiting || asks_the_same(o, &(*end)->what);
    if (!waiting) {
        *end = mine;
        d->taken++;
    }
    pthread_cond_signal(&l->asked);
    pthread_mutex_unlock(&d->lock);
    if (waiting) order_free(mine);
}

int64_t background_orders(struct background *d) {
    pthread_mutex_lock(&d->lock);
    int64_t n = d->taken;
    pthread_mutex_unlock(&d->lock);
    return n;
}

struct background_answer *background_take(struct background *d) {
    pthread_mutex_lock(&d->lock);
    struct background_answer *a = d->answers;
    if (a) d->answers = a->next;
    pthread_mutex_unlock(&d->lock);
    return a;
}

void background_answer_free(struct background_answer *a) {
    history_rows_free(a->runs);
    run_page_free(a->detail);
    other_runs_free(a->others);
    beside_free(a->beside);
    store_filters_release(&a->saved);
    free(a->columns);
    series_free(a->series);
    compared_page_free(a->compared);
    swept_page_free(a->swept);
    learn_shelf_free(a->shelf);
    learn_page_free(a->lesson);
    learn_news_free(a->news);
    source_facts_free(a->source);
    free(a->method), free(a->start);
    own_folder_free(a->folder);
    own_look_free(a->look);
    own_read_free(a->read);
    if (a->config) config_release(a->config);
    free(a->config);
    free(a->run);
    free(a->was);
    free(a->name);
    free(a);
}

static void lane_end(struct background_lane *l) {
    pthread_join(l->thread, NULL);
    while (l->orders) {
        struct order *o = l->orders;
        l->orders = o->next;
        order_free(o);
    }
    pthread_cond_destroy(&l->asked);
}

void background_free(struct background *d) {
    pthread_mutex_lock(&d->lock);
    d->leaving = true;
    for (int i = 0; i < LANES; i++) pthread_cond_signal(&d->lane[i].asked);
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; i < LANES; i++) lane_end(&d->lane[i]);
    struct background_answer *a;
    while ((a = background_take(d))) background_answer_free(a);
    result_cache_release(&d->tasks);
    row_extras_release(&d->extras);
    run_keys_release(&d->keys);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
