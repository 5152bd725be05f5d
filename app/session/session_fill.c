/* The active runs on Train: those of this process, those of other processes, several overlaid. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "app/why/why.h"
#include "core/base/mem.h"
#include "core/base/room.h"

static int state_rank(enum run_state state) {
    return state == RUN_RUNNING || state == RUN_PAUSED ? 0 : state == RUN_QUEUED ? 1 : 2;
}

/* Sorts running jobs first, then queued ones in their order, then ended ones, newest first. */
static int by_rank(const void *a, const void *b) {
    const struct job_view *x = a, *y = b;
    int of = state_rank(x->progress.state), d = of - state_rank(y->progress.state);
    if (!d && of == 1) d = x->place - y->place;
    if (d) return d;
    int newer = (x->id < y->id) - (x->id > y->id);
    return of == 2 ? newer : -newer;
}

static struct job_row job_of(const struct job_view *v) {
    const struct run_progress *p = &v->progress;
    return (struct job_row){
        .id = v->id,
        .state = p->state,
        .method = v->method,
        .task = v->task,
        .seed = v->seed,
        .step = p->step,
        .steps = p->steps,
        .tokens_per_s = p->tokens_per_second,
        .seconds_left = p->seconds_left,
        .best = v->best,
        .loss = p->loss,
        .reason = v->reason,
        .constant = v->constant,
        .none_valid = v->none_valid,
        .place = v->place,
        .scored = p->scored,
        .to_score = p->to_score,
    };
}

static void clear_jobs(struct session *s) {
    for (size_t i = 0; i < s->train.view_count; i++) job_view_release(&s->train.view[i]);
    free(s->train.view);
    s->train.view = NULL;
    s->train.view_count = s->train.shown_count = 0;
}

/* ---- background reads for Train ---- */

static int read_series(struct background_work *w) {
    struct store_run run;
    int rc = store_run(w->store, w->run[0], &run, &w->e);
    if (rc) return rc;
    struct run_series *series = series_new(w->run[0]);
    rc = series_read(series, w->store, &run, &w->e);
    if (rc) series_free(series);
    else w->made = series;
    store_run_release(&run);
    return rc;
}

static void fill_series(struct session *s);

static void take_series(struct session *s, struct background_work *w) {
    struct run_series *series = w->made;
    struct session_train *t = &s->train;
    if (t->stored != SERIES_ASKED || (series && series->view.run != t->series->view.run)) return;
    if (series) {
        w->made = t->series;
        t->series = series;
    }
    t->stored = SERIES_READ;
    fill_series(s);
}

static void drop_series(struct background_work *w) { series_free(w->made); }

static const struct work_kind series_work = {
    LANE_SCREENS, read_series, take_series, .drop = drop_series, .fills = true
};

/* Reports the first diagnostic of a run that has ended.  Those that follow from the request are only on its
 * page. */
static int read_why(struct background_work *w) {
    struct store_run run;
    struct why why;
    long long id = (long long)w->run[0];
    int rc = store_flush(w->store, &w->e);
    if (!rc) rc = store_run(w->store, id, &run, &w->e);
    if (rc) return rc;
    rc = why_of_run(w->store, &run, &why, &w->e);
    store_run_release(&run);
    if (rc) return rc;
    char more[48] = "";
    const struct why_finding *first = NULL;
    for (int i = 0; i < why.count && !first; i++)
        if (!why.of[i].asked) first = &why.of[i];
    if (why.count > 1) snprintf(more, sizeof more, " (%d more on its page)", why.count - 1);
    if (first) work_say(w, SAY_WARNING, "run #%lld: %.600s%s", id, first->text, more);
    why_release(&why);
    return 0;
}

static const struct work_kind why_work = { LANE_SCREENS, .work = read_why };

/* The runs to overlay, at their current state. */
static int read_beside(struct background_work *w) {
    struct overlay_runs *b = NULL;
    int rc = overlay_read(w->store, w->run, w->runs, &b, &w->e);
    w->made = b;
    return rc;
}

/* Answers to an earlier request are dropped. */
static void take_beside(struct session *s, struct background_work *w) {
    struct session_train *t = &s->train;
    struct overlay_runs *b = w->made;
    bool asked = t->overlay_asked;
    t->overlay_asked = false;
    if (!asked || !b || !t->overlays || (b->rows && b->row[0].id != t->overlay[0])) return;
    w->made = t->overlaid;
    t->overlaid = b;
    s->ui.train.beside = b->row;
    s->ui.train.besides = b->rows;
}

static void drop_beside(struct background_work *w) { overlay_free(w->made); }

static void ask_beside(struct session *s) {
    static const struct work_kind kind = {
        LANE_SCREENS, read_beside, take_beside, .drop = drop_beside, .alone = true
    };
    if (s->train.overlay_asked) return;
    s->train.overlay_asked = true;
    session__ask(s, &kind, s->train.overlay, s->train.overlays, NULL);
}

/* Reads runs of other processes, and runs 0 and 1 (0: none); names from run 2 on.  Nothing is read while
 * the database has version `number` (store_version). */
static int read_others(struct background_work *w) {
    struct other_runs *o = NULL;
    if (w->number && w->number == store_version(w->store)) return 0;
    int rc = other_runs_read(w->store, w->run, w->run[OTHERS_ASKED], &o, &w->e);
    w->made = o;
    return rc;
}

/* Focuses the newest active run until the user chooses another. */
static void take_others(struct session *s, struct background_work *w) {
    struct session_train *t = &s->train;
    struct train_view *v = &s->ui.train;
    struct other_runs *o = w->made;
    t->poll.looking = false;
    if (!o) return;
    const struct job_row *newest = o->rows ? &o->row[0] : NULL;
    if (other_runs_differ(t->others, o)) t->poll.news++;
    w->made = t->others;
    t->others = o;
    if (t->overlaid && t->overlaid->live) ask_beside(s);
    if (t->following && newest && newest->state <= RUN_PAUSED && v->focus != newest->id) {
        v->focus = t->watched = newest->id; /* it stays in focus when it ends */
        ui_say(&s->ui, SAY_INFO, "watching run #%lld", (long long)newest->id);
    }
    if (t->following && !newest && !v->focus)
        ui_say(&s->ui, SAY_INFO, "no active run; waiting for one to start (press q to exit)");
    session__fill_jobs(s);
}

static void drop_others(struct background_work *w) { other_runs_free(w->made); }

static const struct work_kind others_work = { LANE_SCREENS, read_others, take_others, .drop = drop_others };

void session__ask_others(struct session *s, bool poll) {
    /* the watched run, the run in focus, and names of this process's runs, from the first one on */
    const struct session_train *t = &s->train;
    int64_t asked[OTHERS_ASKED + 1] = { t->watched, s->ui.train.focus, 0 }, *first = &asked[OTHERS_ASKED];
    for (size_t i = 0; i < t->view_count; i++) {
        if (t->view[i].id == s->ui.train.focus) asked[1] = 0;
        if (!*first || t->view[i].id < *first) *first = t->view[i].id;
    }
    struct background_work *w = work_new(&others_work, asked, OTHERS_ASKED + 1, NULL);
    if (poll && t->others && !other_runs_living(t->others)) w->number = t->others->version;
    background_do(s->background, w);
}

/* The only place that polls the database for changes by any process: runs of other processes on every
 * screen, and the current screen when something is new.  Reading takes at most a quarter of the time. */
void session__follow_history(struct session *s, int64_t now, int *wait) {
    enum { POLL_MS = 500 };
    const struct screen *shown = screen_at(s->ui.screen);
    struct effect anew = { .kind = EFFECT_NONE };
    int64_t left = s->train.poll.looked + POLL_MS + 3 * s->filled[s->ui.screen].ms - now;
    if (!s->train.poll.looking && left <= 0) {
        s->train.poll.looking = true;
        s->train.poll.looked = now;
        session__ask_others(s, true);
    }
    if (!s->train.poll.looking && (*wait < 0 || left < *wait)) *wait = (int)left;
    if (!shown->refresh || s->filled[s->ui.screen].news == s->train.poll.news) return;
    s->filled[s->ui.screen].news = s->train.poll.news;
    if (shown->refresh(&s->ui, &anew)) session__do(s, &anew);
}

/* ---- the job list ---- */

/* Appends the points since the last frame to the focused run's series.  Earlier points of a resumed run are
 * read once from the store; those of a run of another process whenever the database has changed. */
static void fill_series(struct session *s) {
    int64_t focus = s->ui.train.focus;
    if (!s->train.series || s->train.series->view.run != focus) {
        series_free(s->train.series);
        s->train.series = series_new(focus);
        s->train.stored = SERIES_HERE;
    }
    bool before = focus != 0,
         elsewhere = focus != 0; /* runs of other processes are only in the store */
    for (size_t i = 0; i < s->train.view_count; i++) {
        if (s->train.view[i].id != focus) continue;
        before = s->train.view[i].resumed;
        elsewhere = false;
    }
    const struct job_row *row = elsewhere ? other_runs_find(s->train.others, focus) : NULL;
    bool grown = row && (row->step != s->train.read_step || row->state != s->train.read_state);
    if (before && (s->train.stored == SERIES_HERE || (s->train.stored == SERIES_READ && grown))) {
        s->train.stored = SERIES_ASKED;
        s->train.read_step = row ? row->step : -1;
        if (row) s->train.read_state = row->state;
        session__ask(s, &series_work, &focus, 1, NULL);
    }
    if (s->train.stored != SERIES_ASKED) jobs_series(s->jobs, focus, s->train.series);
    s->ui.train.series = s->train.series->view;
}

static void started(struct session *s, const struct job_row *j) {
    s->train.last_id = j->id;
    s->ui.train.focus = j->id;
    const char *where = screen_at(s->ui.screen)->listed;
    ui_say(&s->ui, SAY_INFO, "run #%lld started (%s)", (long long)j->id,
           where ? where : "3: all runs");
    session__ask_runs(s);
}

/* Returns whether the open lesson trains the run, including one whose id it does not know yet. */
static bool is_of_lesson(const struct session *s, int64_t run) {
    const struct lesson_progress *p = s->lesson.page ? &s->lesson.page->progress : NULL;
    for (int i = 0; p && i < p->steps; i++) {
        if (p->of[i].state == LESSON_BUSY && !p->of[i].runs) return true;
        for (int k = 0; k < p->of[i].runs; k++)
            if (p->of[i].run[k] == run) return true;
    }
    return false;
}

/* Reports the end of a run once, when its row changes from active to ended. */
static void ended(struct session *s, const struct job_row *j, enum run_state before) {
    if (j->elsewhere) {
        if (before <= RUN_PAUSED && state_rank(j->state) == 2)
            ui_say(&s->ui, SAY_INFO, "run #%lld is %s", (long long)j->id, run_state_name(j->state));
        return;
    }
    bool was_live = before == RUN_RUNNING || before == RUN_QUEUED || before == RUN_PAUSED;
    if (!was_live || state_rank(j->state) < 2) return;
    long long id = (long long)j->id;
    bool lesson = is_of_lesson(s, j->id); /* which asks for a prediction first */
    if (!lesson) session__ask(s, &why_work, &j->id, 1, NULL);
    if (j->state == RUN_FAILED)
        ui_say(&s->ui, SAY_ERROR, "run #%lld failed: %s", id, j->reason ? j->reason : "");
    else if (j->state == RUN_STOPPED)
        ui_say(&s->ui, SAY_INFO, "run #%lld stopped at step %lld; press R to resume it", id,
               (long long)j->step);
    else if (isnan(j->best) || lesson)
        ui_say(&s->ui, SAY_GOOD, "run #%lld finished", id);
    else
        ui_say(&s->ui, SAY_GOOD, "run #%lld finished, best %.3f; press C to copy it to Compose",
               id, j->best);
}

static void tell_changes(struct session *s, const struct job_row *before, size_t n) {
    for (size_t i = 0; i < s->train.shown_count; i++)
        for (size_t k = 0; k < n; k++)
            if (before[k].id == s->train.shown[i].id) ended(s, &s->train.shown[i], before[k].state);
}

/* Appends the runs of other processes to the list, below those of this process. */
static void fill_others(struct session *s) {
    for (int i = 0; s->train.others && i < s->train.others->rows; i++) {
        const struct job_row *row = &s->train.others->row[i];
        bool ours = false;
        for (size_t k = 0; k < s->train.view_count; k++) ours = ours || s->train.view[k].id == row->id;
        if (!ours) s->train.shown[s->train.shown_count++] = *row;
    }
}

void session__fill_jobs(struct session *s) {
    struct job_row *before = s->train.shown;
    size_t count = s->train.shown_count;
    s->train.shown = NULL;
    clear_jobs(s);
    int64_t *ids;
    size_t n = jobs_ids(s->jobs, &ids);
    s->train.view = xcalloc(n, sizeof *s->train.view);
    s->train.shown = xcalloc(n + OTHERS_MOST + OTHERS_ASKED, sizeof *s->train.shown);
    for (size_t i = 0; i < n; i++)
        s->train.view_count += jobs_view(s->jobs, ids[i], &s->train.view[s->train.view_count]);
    free(ids);
    s->train.shown_count = s->train.view_count;
    qsort(s->train.view, s->train.view_count, sizeof *s->train.view, by_rank);
    int running = 0, queued = 0;
    const struct job_row *newest = NULL;
    for (size_t i = 0; i < s->train.shown_count; i++) {
        const struct job_row *job = &s->train.shown[i];
        s->train.shown[i] = job_of(&s->train.view[i]);
        s->train.shown[i].name = other_runs_name(s->train.others, job->id);
        running += state_rank(job->state) == 0;
        queued += state_rank(job->state) == 1;
        if (job->id > s->train.last_id && (!newest || job->id > newest->id)) newest = job;
    }
    if (newest) started(s, newest);
    fill_others(s);
    tell_changes(s, before, count);
    free(before);
    s->ui.train.job = s->train.shown;
    s->ui.train.jobs = (int)s->train.shown_count;
    s->ui.running = running;
    s->ui.compose.available = room_left("", false).bytes;
    s->ui.queued = queued;
    fill_series(s);
    int live = jobs_live(s->jobs);
    if (live != s->train.live_before) session__ask_runs(s);
    s->train.live_before = live;
    char *message = jobs_message(s->jobs);
    if (*message) ui_say(&s->ui, SAY_WARNING, "%s", message);
    free(message);
    ui_changed(&s->ui);
}

/* ---- actions ---- */

static void do_pause(struct session *s, const struct effect *x) {
    struct err e = ERR_INIT;
    int64_t id = x->run[0];
    const struct job_row *j = NULL;
    for (int i = 0; i < s->ui.train.jobs; i++)
        if (s->ui.train.job[i].id == id) j = &s->ui.train.job[i];
    bool paused = j && j->state == RUN_PAUSED;
    int rc = paused ? jobs_unpause(s->jobs, id, &e) : jobs_pause(s->jobs, id, &e);
    session__say_error(s, rc, &e);
    if (rc) return;
    ui_say(&s->ui, SAY_INFO, "run #%lld %s", (long long)id, paused ? "continues" : "pauses after this step");
}

/* Returns whether the run trains in this process. */
static bool is_ours(const struct session_train *t, int64_t id) {
    for (size_t i = 0; i < t->view_count; i++)
        if (t->shown[i].id == id && t->shown[i].state <= RUN_PAUSED) return true;
    return false;
}

/* The owner checks every quarter of a second and stops at a step with a checkpoint. */
static int ask_owner(struct background_work *w) {
    int rc = store_request(w->store, w->run[0], STORE_STOP, &w->e);
    if (!rc)
        work_say(w, SAY_INFO,
                 "run #%lld is training in another process; asked it to stop with a checkpoint",
                 (long long)w->run[0]);
    return rc;
}

static void do_stop(struct session *s, const struct effect *x) {
    static const struct work_kind elsewhere = { LANE_SCREENS, .work = ask_owner };
    struct err e = ERR_INIT;
    int64_t id = x->run[0];
    if (!is_ours(&s->train, id)) {
        session__ask(s, &elsewhere, &id, 1, NULL);
        return;
    }
    int rc = jobs_stop(s->jobs, id, &e);
    session__say_error(s, rc, &e);
    if (rc) return;
    if (!x->keep) s->train.discard = id;
    ui_say(&s->ui, SAY_INFO, "run #%lld stops %s", (long long)id,
           x->keep ? "with a checkpoint; press R to resume it" : "and moves to the trash");
}

static void line_stop(const struct session *s, struct buf *b, const struct effect *x) {
    if (x->keep) return;
    line_verb(s, b, "trash");
    line_runs(b, x->run, x->runs);
}

void session__discard(struct session *s) {
    int64_t *run = &s->train.discard;
    if (!*run || !jobs_wait(s->jobs, *run, 0)) return;
    session__move(s, true, run, 1);
    *run = 0;
}

static void do_queue(struct session *s, const struct effect *x) { jobs_move(s->jobs, x->run[0], x->by); }

static void do_focus(struct session *s) {
    s->train.following = false;
    session__fill_jobs(s);
}

static void do_watch(struct session *s, const struct effect *x) {
    s->train.following = false;
    s->train.watched = s->ui.train.focus = x->run[0];
    session__ask_others(s, false);
}

/* With none, only the run in focus is shown. */
static void do_beside(struct session *s, const struct effect *x) {
    struct session_train *t = &s->train;
    t->overlays = x->runs;
    memcpy(t->overlay, x->run, (size_t)x->runs * sizeof *x->run);
    t->overlay_asked = false;
    s->ui.train.beside = NULL;
    s->ui.train.besides = 0;
    overlay_free(t->overlaid);
    t->overlaid = NULL;
    if (x->runs) do_watch(s, x);
    if (x->runs) ask_beside(s);
    ui_changed(&s->ui);
}

const struct action train_actions[] = {
    { EFFECT_PAUSE, do_pause, .changes = true },
    { EFFECT_STOP, do_stop, .changes = true, .verb = "stop", .line = line_stop },
    { EFFECT_QUEUE, do_queue, .changes = true },
    { EFFECT_FOCUS, .plain = do_focus },
    { EFFECT_WATCH, do_watch, .verb = "watch" },
    { EFFECT_BESIDE, do_beside, .verb = "plot" },
    { .kind = EFFECT_NONE },
};

void session__train_release(struct session *s) {
    clear_jobs(s);
    free(s->train.shown);
    series_free(s->train.series);
    other_runs_free(s->train.others);
    overlay_free(s->train.overlaid);
}
