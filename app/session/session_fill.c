/* Filling the screens: from jobs of this process, and from the background's answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/train/config/option.h"
#include "views/data_parts.h"

static int state_rank(enum run_state state) {
    return state == RUN_RUNNING || state == RUN_PAUSED ? 0 : state == RUN_QUEUED ? 1 : 2;
}

/* Running first, then queued as they wait, then those that ended, newest first among these. */
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
    for (size_t i = 0; i < s->view_count; i++) job_view_release(&s->view[i]);
    free(s->view);
    s->view = NULL;
    s->view_count = s->shown_count = 0;
}

/* The focused run's series grow by what has come since the last frame.  What came before this process took
 * the run up is read once from the store; those of a run that another process trains, whenever its history
 * has grown. */
static void fill_series(struct session *s) {
    int64_t focus = s->ui.train.focus;
    if (!s->series || s->series->view.run != focus) {
        series_free(s->series);
        s->series = series_new(focus);
        s->stored = SERIES_HERE;
    }
    bool before = focus != 0,
         elsewhere = focus != 0; /* a run that is not of this process is in the store alone */
    for (size_t i = 0; i < s->view_count; i++) {
        if (s->view[i].id != focus) continue;
        before = s->view[i].resumed;
        elsewhere = false;
    }
    const struct job_row *row = elsewhere ? other_runs_find(s->others, focus) : NULL;
    bool grown = row && (row->step != s->read_step || row->state != s->read_state);
    if (before && (s->stored == SERIES_HERE || (s->stored == SERIES_READ && grown))) {
        s->stored = SERIES_ASKED;
        s->read_step = row ? row->step : -1;
        if (row) s->read_state = row->state;
        background_ask(s->background,
                       &(struct background_order){ .kind = BACKGROUND_SERIES, .run = &focus, .runs = 1 });
    }
    if (s->stored != SERIES_ASKED) jobs_series(s->jobs, focus, s->series);
    s->ui.train.series = s->series->view;
}

static void take_series(struct session *s, struct background_answer *a) {
    if (s->stored != SERIES_ASKED || (a->series && a->series->view.run != s->series->view.run)) return;
    if (a->series) {
        series_free(s->series);
        s->series = a->series;
        a->series = NULL;
    }
    s->stored = SERIES_READ;
    fill_series(s);
}

static void started(struct session *s, const struct job_row *j) {
    s->last_id = j->id;
    s->ui.train.focus = j->id;
    const char *where = s->ui.screen == SCREEN_LEARN
                            ? ":runs tag=lesson lists it" /* no list shows it unasked */
                            : "3 lists all runs";
    ui_say(&s->ui, SAY_INFO, "run #%lld is made, and is kept: %s", (long long)j->id, where);
    session__ask_runs(s);
}

/* Whether the open lesson trains the run, or one that it does not know by number yet. */
static bool is_of_lesson(const struct session *s, int64_t run) {
    const struct lesson_progress *p = s->lesson ? &s->lesson->progress : NULL;
    for (int i = 0; p && i < p->steps; i++) {
        if (p->of[i].state == LESSON_BUSY && !p->of[i].runs) return true;
        for (int k = 0; k < p->of[i].runs; k++)
            if (p->of[i].run[k] == run) return true;
    }
    return false;
}

/* Says how a run ended, once, when its row turns from live to over. */
static void ended(struct session *s, const struct job_row *j, enum run_state before) {
    if (j->elsewhere) {
        if (before <= RUN_PAUSED && state_rank(j->state) == 2)
            ui_say(&s->ui, SAY_INFO, "run #%lld is %s", (long long)j->id, run_state_name(j->state));
        return;
    }
    bool was_live = before == RUN_RUNNING || before == RUN_QUEUED || before == RUN_PAUSED;
    if (!was_live || state_rank(j->state) < 2) return;
    long long id = (long long)j->id;
    bool lesson = is_of_lesson(s, j->id); /* which asks first what came of it */
    const struct background_order why = { .kind = BACKGROUND_WHY, .run = (int64_t[]){ j->id }, .runs = 1 };
    if (!lesson) background_ask(s->background, &why);
    if (j->state == RUN_FAILED)
        ui_say(&s->ui, SAY_ERROR, "run #%lld failed: %s", id, j->reason ? j->reason : "");
    else if (j->state == RUN_STOPPED)
        ui_say(&s->ui, SAY_INFO, "run #%lld stopped at step %lld; R goes on", id, (long long)j->step);
    else if (isnan(j->best) || lesson)
        ui_say(&s->ui, SAY_GOOD, "run #%lld finished", id);
    else
        ui_say(&s->ui, SAY_GOOD, "run #%lld finished, best %.3f; C takes it to Compose to change an axis", id,
               j->best);
}

static void tell_changes(struct session *s, const struct job_row *before, size_t n) {
    for (size_t i = 0; i < s->shown_count; i++)
        for (size_t k = 0; k < n; k++)
            if (before[k].id == s->shown[i].id) ended(s, &s->shown[i], before[k].state);
}

/* Below this process's own. */
static void fill_others(struct session *s) {
    for (int i = 0; s->others && i < s->others->rows; i++) {
        const struct job_row *row = &s->others->row[i];
        bool ours = false;
        for (size_t k = 0; k < s->view_count; k++) ours = ours || s->view[k].id == row->id;
        if (!ours) s->shown[s->shown_count++] = *row;
    }
}

void session__fill_jobs(struct session *s) {
    struct job_row *before = s->shown;
    size_t count = s->shown_count;
    s->shown = NULL;
    clear_jobs(s);
    int64_t *ids;
    size_t n = jobs_ids(s->jobs, &ids);
    s->view = xcalloc(n, sizeof *s->view);
    s->shown = xcalloc(n + OTHERS_MOST + OTHERS_ASKED, sizeof *s->shown);
    for (size_t i = 0; i < n; i++) s->view_count += jobs_view(s->jobs, ids[i], &s->view[s->view_count]);
    free(ids);
    s->shown_count = s->view_count;
    qsort(s->view, s->view_count, sizeof *s->view, by_rank);
    int running = 0, queued = 0;
    const struct job_row *newest = NULL;
    for (size_t i = 0; i < s->shown_count; i++) {
        const struct job_row *job = &s->shown[i];
        s->shown[i] = job_of(&s->view[i]);
        s->shown[i].name = other_runs_name(s->others, job->id);
        running += state_rank(job->state) == 0;
        queued += state_rank(job->state) == 1;
        if (job->id > s->last_id && (!newest || job->id > newest->id)) newest = job;
    }
    if (newest) started(s, newest);
    fill_others(s);
    tell_changes(s, before, count);
    free(before);
    s->ui.train.job = s->shown;
    s->ui.train.jobs = (int)s->shown_count;
    s->ui.running = running;
    s->ui.queued = queued;
    fill_series(s);
    int live = jobs_live(s->jobs);
    if (live != s->live_before) session__ask_runs(s);
    s->live_before = live;
    char *message = jobs_message(s->jobs);
    if (*message) ui_say(&s->ui, SAY_WARNING, "%s", message);
    free(message);
    ui_changed(&s->ui);
}

void session__ask_runs(struct session *s) {
    const struct runs_view *v = &s->ui.runs;
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_RUNS,
                                                              .trash = v->trash,
                                                              .by_task = v->by_task,
                                                              .disk = v->visible[COL_DISK],
                                                              .curve = v->visible[COL_CURVE],
                                                              .text = v->filter });
}

void session__ask_others(struct session *s, bool poll) {
    /* what is watched, what is in focus, and what runs of this process are called, from the first on */
    int64_t asked[OTHERS_ASKED + 1] = { s->watched, s->ui.train.focus, 0 }, *first = &asked[OTHERS_ASKED];
    for (size_t i = 0; i < s->view_count; i++) {
        if (s->view[i].id == s->ui.train.focus) asked[1] = 0;
        if (!*first || s->view[i].id < *first) *first = s->view[i].id;
    }
    int64_t version = poll && s->others && !other_runs_living(s->others) ? s->others->version : 0;
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_OTHERS,
                                                              .run = asked,
                                                              .runs = OTHERS_ASKED + 1,
                                                              .version = version });
}

void session__ask_beside(struct session *s) {
    if (s->overlay_asked) return;
    s->overlay_asked = true;
    background_ask(s->background, &(struct background_order){
                                      .kind = BACKGROUND_BESIDE, .run = s->overlay, .runs = s->overlays });
}

void session__ask_sweeps(struct session *s) {
    background_ask(s->background, &(struct background_order){
                                      .kind = BACKGROUND_SWEEPS, .run = &s->ui.sweep.open, .runs = 1 });
}

void session__ask_source(struct session *s, const struct run_config *c) {
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_SOURCE, .config = c });
}

void session__ask_facts(struct session *s) {
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_SOURCE, .taken = true,
                                                              .config = &s->ui.compose.config });
}

static void take_runs(struct session *s, struct background_answer *a) {
    struct runs_view *v = &s->ui.runs;
    if (a->runs->trash != v->trash || strcmp(a->runs->filter, v->filter) ||
        (v->by_task && !a->runs->results)) return; /* asked anew since */
    bool news = strcmp(v->filter_error, a->runs->error) != 0;
    memcpy(v->filter_error, a->runs->error, sizeof v->filter_error);
    if (news && *v->filter_error && !s->ui.prompt.open)
        ui_say(&s->ui, SAY_ERROR, "filter: %s", v->filter_error);
    history_rows_free(s->runs);
    s->runs = a->runs;
    a->runs = NULL;
    s->ui.runs.row = s->runs->row;
    s->ui.runs.rows = s->runs->rows;
    if (!s->runs->trash) s->ui.total_runs = s->runs->rows;
}

static void take_source(struct session *s, struct background_answer *a) {
    struct source_facts *new = a->source;
    struct compose_view *v = &s->ui.compose;
    a->source = NULL;
    bool unread = !new->ok && s->source && s->source->ok;
    if (!new->taken)
        unread = unread || !new->rows ||
                 (!new->ok && !option_same(&new->config, &v->config, option_find("model")));
    if (unread) { /* keep what works; what was asked for and cannot be read changes nothing */
        source_facts_free(new);
        return;
    }
    source_facts_free(s->source);
    s->source = new;
    v->arch = new->ok ? &new->arch : NULL;
    v->model = new->model;
    v->task = new->task;
    memcpy(v->outputs, new->outputs, sizeof v->outputs);
    v->classes = new->classes;
    v->texts = new->texts;
    memcpy(v->rows, new->of, sizeof v->rows);
    snprintf(v->unread, sizeof v->unread, "%.239s", new->rows || !new->ok ? "" : a->message);
    if (!new->taken) compose_take_source(v, &new->config);
    v->stale_rows = v->new_rows = false;
    v->train_rows = new->train_rows;
    v->dev_rows = new->dev_rows;
    v->row_tokens = new->tokens;
    v->row_targets = new->targets;
    compose_changed(v);
    s->ui.first.model = new->model;
    s->ui.first.task = new->task;
    s->ui.first.model_ready = new->ok;
    s->ui.first.task_ready = new->train_rows > 0;
    s->ui.first.fetch = new->ok && new->train_rows ? NULL : paths_fetch();
    free(s->stand_in);
    s->ui.first.stand_in = s->stand_in = paths_stand_in(new->model, new->task);
    session__estimate_first(s);
}

/* A clone: its model and rows are shown once they are read, and nothing else's meanwhile. */
static void session_fill_take_config(struct session *s, const struct run_config *c) {
    struct compose_view *v = &s->ui.compose;
    v->arch = NULL;
    v->model = v->task = NULL;
    v->classes = 0;
    v->texts = false;
    v->train_rows = v->dev_rows = 0;
    *v->unread = 0;
    s->ui.first.model = s->ui.first.task = s->ui.first.stand_in = NULL;
    s->ui.first.model_ready = s->ui.first.task_ready = false;
    source_facts_free(s->source);
    s->source = NULL;
    compose_take_config(v, c, "another run's options");
    ui_show(&s->ui, SCREEN_COMPOSE);
    session__ask_facts(s);
}

/* A key that was typed before the list showed the move before: the runs are there already. */
static bool is_same_again(const struct session *s, const struct background_answer *a) {
    const struct move *m = s->done ? &s->moves[s->done - 1] : NULL;
    if (a->name) return !strcmp(a->was, a->name);
    return m && !m->name && m->trash == (a->kind == BACKGROUND_TRASH) && m->runs == a->moved &&
           !memcmp(m->run, a->run, (size_t)m->runs * sizeof *m->run);
}

static void record_move(struct session *s, struct background_answer *a) {
    if (s->undoing) {
        s->done -= s->undoing;
        s->undoing = 0;
        return;
    }
    if (is_same_again(s, a)) return;
    for (int i = s->done; i < s->undone; i++) move_free(&s->moves[i]);
    if (s->done == MOVES) {
        move_free(&s->moves[0]);
        memmove(s->moves, s->moves + 1, (MOVES - 1) * sizeof *s->moves);
        s->done--;
    }
    s->moves[s->done++] = (struct move){ a->kind == BACKGROUND_TRASH, a->run, a->moved, a->was, a->name };
    s->undone = s->done;
    a->run = NULL;
    a->was = a->name = NULL;
}

static void take_sweeps(struct session *s, struct background_answer *a) {
    struct sweep_view *v = &s->ui.sweep;
    snprintf(v->failed, sizeof v->failed, "%s", a->swept ? "" : a->message);
    if (!a->swept) return;
    v->item = a->swept->item;
    v->items = a->swept->items;
    v->page = a->swept->page;
    swept_page_free(s->swept);
    s->swept = a->swept;
    a->swept = NULL;
}

/* What is begun or over shows at once. */
static void take_sweep_work(struct session *s, struct background_answer *a) {
    bool news = s->sweeps != a->working || a->kind != BACKGROUND_SWEEP_STEP;
    struct sweep_view *v = &s->ui.sweep;
    if (a->kind == BACKGROUND_SWEEP_STEP) s->stepping = false;
    s->sweeps = a->working;
    if (a->sweep) {
        sweep_open(v, a->sweep);
        ui_show(&s->ui, SCREEN_SWEEP);
    }
    if (news) session__ask_sweeps(s);
}

/* The newest living run comes into focus by itself until another is chosen. */
static void take_others(struct session *s, struct background_answer *a) {
    struct train_view *v = &s->ui.train;
    struct other_runs *before = s->others;
    const struct job_row *newest = a->others->rows ? &a->others->row[0] : NULL;
    s->others = a->others;
    a->others = NULL;
    if (other_runs_differ(before, s->others)) s->news++;
    if (s->beside && s->beside->live) session__ask_beside(s);
    if (s->following && newest && newest->state <= RUN_PAUSED && v->focus != newest->id) {
        v->focus = s->watched = newest->id; /* it stays when it is over */
        ui_say(&s->ui, SAY_INFO, "watching run #%lld", (long long)newest->id);
    }
    if (s->following && !newest && !v->focus)
        ui_say(&s->ui, SAY_INFO, "no run is living: waiting for one to begin (q leaves)");
    session__fill_jobs(s);
    other_runs_free(before);
}

/* Own data: a folder's list, what was chosen, how it reads; each in place of the one before. */
static void take_own(struct session *s, struct background_answer *a) {
    struct data_view *v = &s->ui.data;
    if (a->folder) {
        own_folder_free(s->folder);
        s->folder = a->folder;
        v->here = s->folder->view;
        a->folder = NULL;
        if (a->look) data_listed(&s->ui);
    } else if (a->look) {
        own_look_free(s->look);
        s->look = a->look;
        v->look = s->look->view;
        a->look = NULL;
        data_looked(v, &s->ui.compose.config);
        v->asked++;
        session__ask_import(s);
    }
    if (a->read && a->read->view.asked == v->asked) {
        own_read_free(s->read);
        s->read = a->read;
        v->read = s->read->view;
        v->report_top = 0;
        a->read = NULL;
    }
}

void session__ask_import(struct session *s) {
    struct data_view *v = &s->ui.data;
    if (v->look.failed) return;
    background_ask(s->background,
                   &(struct background_order){
                       .kind = BACKGROUND_IMPORT, .config = &v->config, .run = &v->asked, .runs = 1 });
}

/* What is answered to an earlier question is dropped. */
static void take_beside(struct session *s, struct background_answer *a) {
    bool asked = s->overlay_asked;
    s->overlay_asked = false;
    if (!asked || !a->beside || !s->overlays || (a->beside->rows && a->beside->row[0].id != s->overlay[0]))
        return;
    beside_free(s->beside);
    s->beside = a->beside;
    a->beside = NULL;
    s->ui.train.beside = s->beside->row;
    s->ui.train.besides = s->beside->rows;
    ui_changed(&s->ui);
}

static void take_answer(struct session *s, struct background_answer *a) {
    take_own(s, a);
    if (a->kind == BACKGROUND_OTHERS) s->looking = false;
    else if (a->runs || a->detail || a->swept || a->compared || a->series) s->filled[s->ui.screen].ms = a->ms;
    if (a->message[0]) ui_say(&s->ui, a->say, "%s", a->message);
    if (a->kind == BACKGROUND_RUNS && a->runs) take_runs(s, a);
    if (a->kind == BACKGROUND_SOURCE && a->source) take_source(s, a);
    if (a->kind == BACKGROUND_COMPARE) {
        struct compare_view *v = &s->ui.compare;
        v->busy = false;
        snprintf(v->failed, sizeof v->failed, "%s", a->compared ? "" : a->message);
        v->data = a->compared ? a->compared->data : (struct compare_data){ 0 };
        compared_page_free(s->compared);
        s->compared = a->compared;
        a->compared = NULL;
    }
    if (a->kind == BACKGROUND_SWEEPS) take_sweeps(s, a);
    if (a->kind >= BACKGROUND_LESSONS && a->kind <= BACKGROUND_LESSON_FOLLOW) session__take_lessons(s, a);
    if (a->kind >= BACKGROUND_SWEEP_NEW && a->kind <= BACKGROUND_SWEEP_STEP) take_sweep_work(s, a);
    if (a->kind == BACKGROUND_MACHINE) {
        s->ui.first.gflops = s->ui.compose.gflops = a->gflops;
        s->ui.compose.workers = a->workers;
        compose_changed(&s->ui.compose);
        session__estimate_first(s);
    }
    if (a->start) compose_start(&s->ui.compose, a->method, a->start);
    if (a->kind == BACKGROUND_CLONE && a->config) session_fill_take_config(s, a->config);
    if (a->kind == BACKGROUND_OTHERS && a->others) take_others(s, a);
    if (a->kind >= BACKGROUND_PIN && a->kind <= BACKGROUND_NOTE) session__ask_runs(s);
    if (a->kind == BACKGROUND_SAVED)
        runs_saved(&s->ui, (const char *const *)a->saved.filter, (int)a->saved.count);
    if (a->kind == BACKGROUND_COLUMNS && a->columns && *a->columns) {
        runs_columns_kept(&s->ui, a->columns);
        session__ask_runs(s);
    }
    if (a->kind == BACKGROUND_PURGE) session__ask_runs(s);
    if (a->kind == BACKGROUND_RESEED && a->moved)
        session__show_line(s, session__line_reseeded(s, a->run[0], a->seed));
    if (a->kind == BACKGROUND_PURGE_COUNT && a->moved) runs_purge_ask(&s->ui, a->moved, a->message);
    if (a->kind == BACKGROUND_BESIDE) take_beside(s, a);
    if (a->kind == BACKGROUND_SERIES) take_series(s, a);
    if (a->kind == BACKGROUND_PAGE && a->detail) {
        int top = s->ui.detail.run.id == a->detail->view.run.id ? s->ui.detail.top : 0;
        run_page_free(s->detail);
        s->detail = a->detail;
        a->detail = NULL;
        s->ui.detail = s->detail->view;
        s->ui.detail.top = top;
    }
    if (a->kind == BACKGROUND_TRASH || a->kind == BACKGROUND_RESTORE || a->kind == BACKGROUND_NAME) {
        if (a->moved) record_move(s, a);
        else s->undoing = 0;
        s->ui.offers_undo = a->moved != 0;
        session__moved(s);
        session__ask_runs(s);
        if (a->kind == BACKGROUND_NAME) session__ask_others(s, false);
    }
}

/* New pictures of Map and Heatmap take the place of the old ones. */
static void take_pictures(struct session *s) {
    struct insight_map *map = insight_take_map(s->insight);
    struct insight_heat *heat = insight_take_heat(s->insight);
    if (map) {
        s->ui.map.data = map->data;
        insight_map_free(s->map);
        s->map = map;
    }
    if (heat) {
        s->ui.heatmap.data = heat->data;
        insight_heat_free(s->heat);
        s->heat = heat;
    }
    if (map || heat) ui_changed(&s->ui);
}

void session__answers(struct session *s) {
    take_pictures(s);
    struct background_answer *a;
    while ((a = background_take(s->background))) {
        take_answer(s, a);
        background_answer_free(a);
        ui_changed(&s->ui);
    }
}
