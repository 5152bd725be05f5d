/* Stored runs: list, open, resume, train again, tag, delete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/moved.h"
#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/session/session_private.h"
#include "app/session/tags.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "views/stored.h"

/* ---- the list ---- */

/* The flags in `number`. */
enum { ROWS_TRASH = 1, ROWS_BY_TASK = 2, ROWS_DISK = 4 /* the bytes of each run's files */, ROWS_CURVE = 8,
       ROWS_ALL = 16 };

static int read_rows(struct background_work *w) {
    bool disk = w->number & ROWS_DISK, curve = w->number & ROWS_CURVE;
    struct history_rows *r = NULL;
    int rc = history_rows_read(w->store, w->number & ROWS_TRASH, w->number & ROWS_ALL, w->text,
                               w->number & ROWS_BY_TASK ? &w->room->tasks : NULL, &r, &w->e);
    if (!rc) rc = run_keys_fill(&w->room->keys, w->store, &r->stored, r->row, &r->keys, &w->e);
    if (!rc && (disk || curve))
        row_extras_fill(&w->room->extras, w->store, &r->stored, r->row, disk, curve, &r->curves);
    w->made = r;
    return rc;
}

static void take_rows(struct session *s, struct background_work *w) {
    struct runs_view *v = &s->ui.runs;
    struct history_rows *r = w->made;
    bool all = v->only.runs > 0;
    if (!r || r->trash != v->trash || r->all != all || strcmp(r->filter, v->filter) ||
        (v->by_task && !r->results))
        return; /* requested again in the meantime */
    bool news = strcmp(v->filter_error, r->error) != 0;
    memcpy(v->filter_error, r->error, sizeof v->filter_error);
    if (news && *v->filter_error && !s->ui.prompt.open)
        ui_say(&s->ui, SAY_ERROR, "filter: %s", v->filter_error);
    w->made = s->runs.rows;
    s->runs.rows = r;
    v->row = r->row;
    v->rows = r->rows;
    if (!r->trash && !r->all) s->ui.total_runs = r->rows;
}

static void drop_rows(struct background_work *w) { history_rows_free(w->made); }

static const struct work_kind rows_work = {
    LANE_SCREENS, read_rows, take_rows, .drop = drop_rows, .once = true, .fills = true
};

void session__ask_runs(struct session *s) {
    const struct runs_view *v = &s->ui.runs;
    struct background_work *w = work_new(&rows_work, NULL, 0, v->filter);
    w->number = (v->trash ? ROWS_TRASH : 0) | (v->by_task ? ROWS_BY_TASK : 0) |
                (v->visible[COL_DISK] ? ROWS_DISK : 0) | (v->visible[COL_CURVE] ? ROWS_CURVE : 0) |
                (v->only.runs ? ROWS_ALL : 0);
    background_do(s->background, w);
}

/* Refreshes after a change of the listed runs. */
static void list_anew(struct session *s, struct background_work *w) {
    (void)w;
    session__ask_runs(s);
}

static void line_filter(const struct session *s, struct buf *b, const struct effect *x) {
    (void)x;
    line_printed(s, b, &screen_runs);
}

/* ---- a run's page ---- */

static int read_page(struct background_work *w) {
    struct run_page *p = NULL;
    int rc = run_page_read(w->store, w->run[0], &p, &w->e);
    w->made = p;
    return rc;
}

static void take_page(struct session *s, struct background_work *w) {
    struct detail_view *v = &s->ui.detail;
    struct run_page *p = w->made;
    if (!p) return;
    int top = v->run.id == p->view.run.id ? v->top : 0;
    bool whole = v->whole, scoring = v->scoring;
    w->made = s->runs.page;
    s->runs.page = p;
    *v = p->view;
    v->top = top;
    v->whole = whole;
    v->scoring = scoring;
    v->scores = s->runs.scores ? &s->runs.scores->view : NULL;
}

static void drop_page(struct background_work *w) { run_page_free(w->made); }

static const struct work_kind page_work = {
    LANE_SCREENS, read_page, take_page, .drop = drop_page, .once = true, .fills = true
};

static bool still_here(void *self, size_t examples) {
    const struct background_work *w = self;
    (void)examples;
    return !w->room->leaving;
}

static int compute_scores(struct background_work *w) {
    const struct embed_how how = { .crew = jobs_crew(w->room->jobs), .watch = still_here, .self = w };
    struct page_scores *p = NULL;
    int rc = page_scores_compute(w->store, w->run[0], (int)w->number, &how, &p, &w->e);
    w->made = p;
    return rc;
}

static void take_scores(struct session *s, struct background_work *w) {
    struct page_scores *p = w->made;
    if (p) {
        w->made = s->runs.scores;
        s->runs.scores = p;
        s->ui.detail.scores = &p->view;
    }
    detail_scored(&s->ui);
}

static void drop_scores(struct background_work *w) { page_scores_free(w->made); }

static void do_scores(struct session *s, const struct effect *x) {
    static const struct work_kind kind = { LANE_FILES, compute_scores, take_scores, .drop = drop_scores };
    struct background_work *w = work_new(&kind, x->run, x->runs, NULL);
    w->number = x->by;
    background_do(s->background, w);
}

static void line_scores(const struct session *s, struct buf *b, const struct effect *x) {
    const struct run_row *r = &s->ui.detail.run;
    if (x->by < r->task_results) text_shell_option(b, "task", r->task_result[x->by].name);
}

/* ---- saved columns and filters ---- */

static int read_columns(struct background_work *w) {
    char *columns = NULL;
    int rc = store_saved_text(w->store, "columns", &columns, &w->e);
    w->made = columns; /* "": none */
    return rc;
}

static void take_columns(struct session *s, struct background_work *w) {
    const char *columns = w->made;
    if (!columns || !*columns) return;
    runs_columns_kept(&s->ui, columns);
    session__ask_runs(s);
}

void session__ask_columns(struct session *s) {
    static const struct work_kind kind = {
        LANE_SCREENS, read_columns, take_columns, .drop = work_drop, .alone = true
    };
    session__ask(s, &kind, NULL, 0, NULL);
}

/* ---- filter, order and grouping of the last session ---- */

static int read_screens(struct background_work *w) {
    char *text = NULL;
    int rc = store_saved_text(w->store, "screens", &text, &w->e);
    w->made = text;
    return rc;
}

static void take_screens(struct session *s, struct background_work *w) {
    if (w->failed || s->runs.stored) return;
    stored_read(&s->ui, w->made);
    s->runs.stored = w->made;
    w->made = NULL;
    if (*s->runs.stored) session__ask_runs(s);
    if (*s->ui.runs.filter && !*s->ui.message)
        ui_say(&s->ui, SAY_INFO, "Runs has the filter of the last session: %s (press F there to clear it)",
               s->ui.runs.filter);
    ui_tip(&s->ui);
}

void session__ask_screens(struct session *s) {
    static const struct work_kind kind = {
        LANE_SCREENS, read_screens, take_screens, .drop = work_drop, .alone = true
    };
    session__ask(s, &kind, NULL, 0, NULL);
}

static int save_screens(struct background_work *w) {
    return store_save_text(w->store, "screens", w->text, &w->e);
}

void session__store_screens(struct session *s, bool leaving) {
    static const struct work_kind kind = { LANE_SCREENS, save_screens, .alone = true };
    struct buf now = BUF_INIT;
    struct err ignored = ERR_INIT;
    if (!s->runs.stored || s->read_only || (s->ui.prompt.open && !leaving)) return;
    stored_write(&s->ui, &now);
    if (strcmp(buf_text(&now), s->runs.stored)) {
        if (leaving) store_save_text(s->store, "screens", buf_text(&now), &ignored);
        else session__ask(s, &kind, NULL, 0, buf_text(&now));
        free(s->runs.stored);
        s->runs.stored = xstrdup(buf_text(&now));
    }
    buf_release(&now);
}

static int read_saved(struct background_work *w) {
    return store_filters(w->store, w->made = xcalloc(1, sizeof(struct store_filters)), &w->e);
}

static void take_saved(struct session *s, struct background_work *w) {
    const struct store_filters *f = w->made;
    runs_saved(&s->ui, (const char *const *)f->filter, (int)f->count);
}

static void drop_saved(struct background_work *w) {
    if (w->made) store_filters_release(w->made);
    free(w->made);
}

static const struct work_kind saved_work = {
    LANE_SCREENS, read_saved, take_saved, .drop = drop_saved, .alone = true
};

static int keep_columns(struct background_work *w) {
    return store_save_text(w->store, "columns", w->text, &w->e);
}

static void do_columns(struct session *s, const struct effect *x) {
    static const struct work_kind kind = { LANE_SCREENS, keep_columns, .alone = true };
    session__ask_runs(s); /* some columns require files or points */
    if (!store_is_readonly(s->store)) session__ask(s, &kind, NULL, 0, x->text);
}

static int save_filter(struct background_work *w) {
    bool save = w->kind->what;
    int rc = store_save_filter(w->store, w->text, save, &w->e);
    if (!rc) work_say(w, SAY_GOOD,
                      save ? "saved filter %s (press P to list saved filters)" : "removed filter %s",
                      w->text);
    return rc;
}

static void do_save(struct session *s, const struct effect *x) {
    static const struct work_kind save = { LANE_SCREENS, save_filter, .alone = true, .what = 1 },
                                  forget = { LANE_SCREENS, save_filter, .alone = true };
    session__ask(s, x->keep ? &save : &forget, NULL, 0, x->text);
}

/* ---- resuming a run, or training it again ---- */

int session__stored_config(struct store *s, int64_t id, struct run_config *c, enum store_state *state,
                           struct err *e) {
    struct run_record r;
    if (record_open(s, id, &r, e)) return e->code;
    if (state) *state = r.row.state;
    store_run_release(&r.row);
    *c = r.config;
    moved_rows(c, store_path(s), NULL);
    return 0;
}

/* Resumes a run, or, if `what` allows it, trains the config of a run that cannot be resumed again. */
static int go_on(struct background_work *w, int64_t id) {
    struct job_request r = { 0 };
    enum store_state state;
    int rc = session__stored_config(w->store, id, &r.config, &state, &w->e);
    if (rc) return rc;
    if (store_state_is_live(state)) {
        rc = err_set(&w->e, ERR_USAGE, "run #%lld is still training", (long long)id);
    } else if (state == STORE_STOPPED || state == STORE_INTERRUPTED) {
        jobs_resume_later(w->room->jobs, id);
        work_say(w, SAY_INFO, "resumed run #%lld", (long long)id);
    } else if (!w->kind->what) {
        rc = err_set(&w->e, ERR_USAGE,
                     "run #%lld is %s and cannot be resumed; press R to train its config again",
                     (long long)id, store_state_name(state));
    } else {
        config_reuse(&r.config);
        r.parent = id;
        jobs_start_later(w->room->jobs, &r);
        work_say(w, SAY_INFO, "training run #%lld again", (long long)id);
    }
    config_release(&r.config);
    return rc;
}

/* Returns the largest seed of runs that differ only in the seed. */
struct seed_search {
    char key[65];
    uint64_t most;
};
static int seed_row(void *self, int count, const struct store_cell *cells) {
    struct seed_search *s = self;
    struct run_config c;
    struct err ignored = ERR_INIT;
    char key[65];
    (void)count;
    if (record_config_text(cells[0].text, &c, &ignored)) return 0;
    uint64_t seed = c.seed;
    c.seed = 0;
    config_key(&c, key);
    config_release(&c);
    if (!strcmp(key, s->key) && seed > s->most) s->most = seed;
    return 0;
}

static int reseed(struct background_work *w) {
    struct job_request r = { .parent = w->run[0] };
    int rc = session__stored_config(w->store, w->run[0], &r.config, NULL, &w->e);
    if (rc) return rc;
    struct seed_search found = { .most = r.config.seed };
    r.config.seed = 0;
    config_key(&r.config, found.key);
    char *sql = xprintf(
        "SELECT config FROM run WHERE trashed IS NULL AND method = (SELECT method FROM run WHERE id = %lld)",
        (long long)w->run[0]);
    rc = store_sql(w->store, sql, (struct store_rows){ .self = &found, .row = seed_row }, &w->e);
    free(sql);
    if (!rc) {
        config_reuse(&r.config);
        r.config.seed = found.most + 1;
        w->number = (int64_t)r.config.seed;
        jobs_start_later(w->room->jobs, &r);
        work_say(w, SAY_INFO, "training with the config of run #%lld and seed %llu", (long long)w->run[0],
                 (unsigned long long)r.config.seed);
    }
    config_release(&r.config);
    return rc;
}

static void show_reseeded(struct session *s, struct background_work *w) {
    struct buf b = BUF_INIT;
    if (w->failed) return;
    line_verb(s, &b, "train --like");
    buf_printf(&b, " %lld --seed %llu", (long long)w->run[0], (unsigned long long)w->number);
    line_db(s, &b);
    session__show_line(s, buf_take(&b));
}

static const struct work_kind reseed_work = { LANE_SCREENS, reseed, .done = show_reseeded };

/* Processes all marked runs; one that fails does not stop the others. */
static int all_go_on(struct background_work *w) {
    int rc = 0, started = 0;
    struct err first = ERR_INIT;
    for (int i = 0; i < w->runs; i++) {
        if (!go_on(w, w->run[i])) started++;
        else if (!rc) rc = w->e.code, first = w->e;
    }
    if (rc) w->e = first;
    if (!rc && started > 1) work_say(w, SAY_INFO, "%d runs were resumed or started again", started);
    if (rc && started) err_prefix(&w->e, "%d of %d runs resumed", started, w->runs);
    return rc;
}

static const struct work_kind resume_work = { LANE_SCREENS, all_go_on, .what = 0 },
                              again_work = { LANE_SCREENS, all_go_on, .what = 1 };

static const struct run_row *listed(const struct session *s, int64_t run) {
    for (int k = 0; k < s->ui.runs.rows; k++)
        if (s->ui.runs.row[k].id == run) return &s->ui.runs.row[k];
    return NULL;
}

/* Stopped runs are resumed, others are trained again. */
static void line_again(const struct session *s, struct buf *b, const struct effect *x) {
    for (int i = 0; i < x->runs; i++) {
        const struct run_row *row = listed(s, x->run[i]);
        bool over = row && (row->state == RUN_FINISHED || !row->resumable);
        line_verb(s, b, over ? "train --like" : "resume");
        line_runs(b, &x->run[i], 1);
    }
}

/* ---- copies, and the folder ---- */

/* Returns the command that trains the run again, without the database; NULL and *e if there is none. */
static char *command_of(const struct run_record *r, struct err *e) {
    const char *what = r->row.imported                                        ? "imported or merged"
                       : run_row_is_fewshot(&r->row) || run_row_is_draw(&r->row) ? "few-shot"
                                                                              : NULL;
    if (!what) return config_command(&r->config);
    err_set(e, ERR_USAGE, "run #%lld: %s runs have no training command", (long long)r->row.id, what);
    return NULL;
}

/* The text of that name about the run. */
static int read_copy(struct background_work *w) {
    struct run_record r;
    int rc = record_open(w->store, w->run[0], &r, &w->e);
    if (rc) return rc;
    w->flag = !strcmp(w->text, "resume");
    w->made = w->flag                      ? xprintf("petri resume %lld", (long long)w->run[0])
              : !strcmp(w->text, "method") ? xstrdup(r.row.method)
              : !strcmp(w->text, "folder") ? store_run_folder(w->store, w->run[0])
                                           : command_of(&r, &w->e);
    record_release(&r);
    return w->e.code;
}

static void take_copy(struct session *s, struct background_work *w) {
    struct buf b = BUF_INIT;
    if (w->failed) return;
    buf_puts(&b, w->made);
    if (text_starts(w->made, "petri ")) line_db(s, &b);
    session__copy(s, w->flag ? "resume few-shot runs in a shell" : NULL, buf_text(&b));
    buf_release(&b);
}

static const struct work_kind copy_work = { LANE_SCREENS, read_copy, take_copy, .drop = work_drop };

struct shell_visit {
    int64_t run;
    char *folder;
    struct err e;
};

static void visit(void *self) {
    struct shell_visit *x = self;
    printf("Files of run #%lld. exit returns to petri; runs continue to train.\n", (long long)x->run);
    fflush(stdout);
    child_shell(x->folder, &x->e);
}

static void do_shell(struct session *s, const struct effect *x) {
    struct shell_visit v = { x->run[0], store_run_folder(s->store, x->run[0]), ERR_INIT };
    if (file_is_folder(v.folder)) term_outside(visit, &v);
    else err_set(&v.e, ERR_NOT_FOUND, "run #%lld has no files", (long long)v.run);
    session__say_error(s, v.e.code, &v.e);
    free(v.folder);
}

/* ---- pins, tags, notes ---- */

static int say_kept(struct background_work *w, int rc, const char *said) {
    if (rc) return rc;
    if (w->runs == 1) work_say(w, SAY_GOOD, "#%lld %s", (long long)w->run[0], said);
    else work_say(w, SAY_GOOD, "%d runs %s", w->runs, said);
    return 0;
}

static int pin(struct background_work *w) {
    const char *said = "";
    int rc = tags_pin(w->store, w->run, (size_t)w->runs, &said, &w->e);
    return say_kept(w, rc, said);
}

static int tag(struct background_work *w) {
    int rc = tags_set(w->store, w->run, (size_t)w->runs, w->text, &w->e);
    return say_kept(w, rc, w->runs > 1 ? "tags added" : "tags saved");
}

static int note(struct background_work *w) {
    int rc = store_note(w->store, w->run[0], w->text, &w->e);
    return say_kept(w, rc, *w->text ? "note saved" : "note removed");
}

static const struct work_kind pin_work = { LANE_SCREENS, pin, .done = list_anew },
                              tag_work = { LANE_SCREENS, tag, .done = list_anew },
                              note_work = { LANE_SCREENS, note, .done = list_anew };

static void line_pin(const struct session *s, struct buf *b, const struct effect *x) {
    bool all = true;
    for (int i = 0; i < x->runs; i++) {
        const struct run_row *row = listed(s, x->run[i]);
        all = all && row && row->pinned;
    }
    line_word(b, TAG_PINNED);
    if (all) buf_puts(b, " --remove");
}

/* The members of `tags` that are missing in `others`. */
static bool line_tags(struct buf *b, const char *tags, const char *others) {
    char *copy = xstrdup(tags ? tags : ""), *rest = copy, *one;
    bool any = false;
    while ((one = text_item(&rest))) {
        if (!*one || tags_have(others, one)) continue;
        line_word(b, one);
        any = true;
    }
    free(copy);
    return any;
}

/* For one run, the tags that were not typed again are removed. */
static void line_tagging(const struct session *s, struct buf *b, const struct effect *x) {
    const struct run_row *row = x->runs == 1 ? listed(s, x->run[0]) : NULL;
    for (int less = 0; less < (row ? 2 : 1); less++) {
        const char *had = row ? row->tags : NULL;
        struct buf tags = BUF_INIT;
        if (line_tags(&tags, less ? had : x->text, less ? x->text : had) && x->runs) {
            line_verb(s, b, "tag");
            line_runs(b, x->run, x->runs);
            buf_printf(b, "%s%s", buf_text(&tags), less ? " --remove" : "");
        }
        buf_release(&tags);
    }
}

/* ---- permanent deletion ---- */

static int count_purge(struct background_work *w) {
    struct purge_sum sum;
    char what[128];
    if (purge_count(w->store, w->run, (size_t)w->runs, &sum, &w->e)) return w->e.code;
    purge_sum_text((size_t)w->runs, &sum, what);
    work_say(w, SAY_WARNING, "%s", what);
    return 0;
}

static void ask_purge(struct session *s, struct background_work *w) {
    if (!w->failed) runs_purge_ask(&s->ui, w->runs, w->message);
}

static const struct work_kind purge_count_work = { LANE_SCREENS, count_purge, .done = ask_purge };

static int purge(struct background_work *w) {
    struct purge_sum sum;
    char what[128];
    if (purge_runs(w->store, w->run, (size_t)w->runs, w->number, &sum, &w->e)) return w->e.code;
    purge_sum_text((size_t)w->runs, &sum, what);
    work_say(w, SAY_GOOD, "deleted %s", what);
    return 0;
}

static void do_purge(struct session *s, const struct effect *x) {
    static const struct work_kind kind = { LANE_SCREENS, purge, .done = list_anew };
    struct background_work *w = work_new(&kind, x->run, x->runs, NULL);
    w->number = x->by;
    background_do(s->background, w);
}

const struct action runs_actions[] = {
    { EFFECT_FILTER, .plain = session__ask_runs, .line = line_filter },
    { EFFECT_TRASH_VIEW, .plain = session__ask_runs, .line = line_filter },
    { EFFECT_BY_TASK, .plain = session__ask_runs },
    { EFFECT_COLUMNS, .act = do_columns },
    { EFFECT_SAVED, .work = &saved_work },
    { EFFECT_SAVE, do_save, .changes = true },
    { EFFECT_OPEN_RUN, .work = &page_work, .verb = "show" },
    { EFFECT_SCORES, do_scores, .verb = "eval", .line = line_scores },
    { EFFECT_RESUME, .changes = true, .work = &resume_work, .verb = "resume" },
    { EFFECT_AGAIN, .changes = true, .work = &again_work, .line = line_again },
    { EFFECT_RESEED, .changes = true,
      .work = &reseed_work }, /* its line has the seed that is found: show_reseeded */
    { EFFECT_PIN, .changes = true, .work = &pin_work, .verb = "tag", .line = line_pin },
    { EFFECT_TAGS, .changes = true, .work = &tag_work, .line = line_tagging },
    { EFFECT_NOTE, .changes = true, .work = &note_work, .verb = "note", .line = line_text },
    { EFFECT_COPY_RUN, .work = &copy_work },
    { EFFECT_SHELL, do_shell, .changes = true },
    { EFFECT_PURGE_COUNT, .changes = true, .work = &purge_count_work },
    { EFFECT_PURGE, do_purge, .changes = true, .verb = "purge" },
    { .kind = EFFECT_NONE },
};

void session__runs_release(struct session *s) {
    history_rows_free(s->runs.rows);
    run_page_free(s->runs.page);
    page_scores_free(s->runs.scores);
    free(s->runs.stored);
}
