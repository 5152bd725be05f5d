#include "app/session/background.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/history/export_hf.h"
#include "app/history/moved.h"
#include "app/history/run_table.h"
#include "app/session/background_private.h"
#include "app/session/compared.h"
#include "app/session/learning.h"
#include "app/session/kept.h"
#include "app/session/own_data.h"
#include "app/session/row_extras.h"
#include "app/session/start_effect.h"
#include "app/session/session.h"
#include "app/session/swept.h"
#include "app/why/why.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/model/model.h"
#include "core/train/complete.h"

struct order {
    struct order *next;
    struct background_order what;
};

struct background {
    struct store *store;
    struct jobs *jobs;
    void (*wake)(void *);
    void *self;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    pthread_t thread;
    bool leaving;
    struct order *orders;
    int64_t taken;
    struct background_answer *answers;
    struct result_cache tasks;
    struct row_extras extras; /* the thread's own */
    struct background_machine machine; /* once it was measured; the thread's own */
    struct sweeping *sweeping; /* the screen's; touched by this thread alone */
    const struct session_verbs *verbs;
    struct learning *learning; /* likewise */
};

static void order_free(struct order *o) {
    free(o->what.run);
    free((char *)o->what.text);
    if (o->what.progress) lesson_progress_release(o->what.progress);
    free(o->what.progress);
    if (o->what.config) config_release((struct run_config *)o->what.config);
    free((void *)o->what.config);
    free(o);
}

static void background_say(struct background_answer *a, enum say how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void background_say(struct background_answer *a, enum say how, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(a->message, sizeof a->message, format, args);
    va_end(args);
    a->say = how;
}

/* ---- orders ---- */

static int stored_config(struct store *s, int64_t id, struct run_config *c, enum store_state *state,
                         struct err *e) {
    struct store_run run;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    if (state) *state = run.state;
    rc = config_from_json(run.config, strlen(run.config), c, e);
    store_run_release(&run);
    if (!rc) moved_rows(c, store_path(s), NULL);
    return rc;
}

static int background_take_config(struct background *d, const struct background_order *o,
                                  struct background_answer *a, struct err *e) {
    a->config = xcalloc(1, sizeof *a->config);
    int rc = stored_config(d->store, o->run[0], a->config, NULL, e);
    if (rc) {
        free(a->config);
        a->config = NULL;
    } else {
        config_reuse(a->config);
        background_say(a, SAY_INFO, "run #%lld is in Compose: change an axis and press Enter",
                       (long long)o->run[0]);
    }
    return rc;
}

/* Goes on with a run, or, where `anew` allows it, trains the config of one that is over for good
 * once more. */
static int background_go_on(struct background *d, int64_t id, bool anew, struct background_answer *a,
                            struct err *e) {
    struct job_request r = { 0 };
    enum store_state state;
    int rc = stored_config(d->store, id, &r.config, &state, e);
    if (rc) return rc;
    if (store_state_is_live(state)) {
        rc = err_set(e, ERR_USAGE, "run #%lld is still at work", (long long)id);
    } else if (state == STORE_STOPPED || state == STORE_INTERRUPTED) {
        jobs_resume_later(d->jobs, id);
        background_say(a, SAY_INFO, "run #%lld goes on", (long long)id);
    } else if (!anew) {
        rc = err_set(e, ERR_USAGE, "run #%lld is %s: nothing is left to resume; R trains its config once more",
                     (long long)id, store_state_name(state));
    } else {
        config_reuse(&r.config);
        r.parent = id;
        jobs_start_later(d->jobs, &r);
        background_say(a, SAY_INFO, "the same config as run #%lld is trained once more", (long long)id);
    }
    config_release(&r.config);
    return rc;
}

/* The largest seed of runs that differ in nothing else from it. */
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
    if (config_from_json(cells[0].text, cells[0].size, &c, &ignored)) return 0;
    uint64_t seed = c.seed;
    c.seed = 0;
    config_key(&c, key);
    config_release(&c);
    if (!strcmp(key, s->key) && seed > s->most) s->most = seed;
    return 0;
}

static int background_reseed(struct background *d, const struct background_order *o, struct background_answer *a,
                             struct err *e) {
    struct job_request r = { .parent = o->run[0] };
    int rc = stored_config(d->store, o->run[0], &r.config, NULL, e);
    if (rc) return rc;
    struct seed_search found = { .most = r.config.seed };
    r.config.seed = 0;
    config_key(&r.config, found.key);
    char *sql = xprintf("SELECT config FROM run WHERE trashed IS NULL AND method = (SELECT method FROM run WHERE id = %lld)",
                        (long long)o->run[0]);
    rc = store_sql(d->store, sql, (struct store_rows){ .self = &found, .row = seed_row }, e);
    free(sql);
    if (!rc) {
        config_reuse(&r.config);
        r.config.seed = found.most + 1;
        jobs_start_later(d->jobs, &r);
        background_say(a, SAY_INFO, "run #%lld is trained again with seed %llu", (long long)o->run[0],
                       (unsigned long long)r.config.seed);
    }
    config_release(&r.config);
    return rc;
}

/* All that were marked; one that cannot go on does not keep the others. */
static int background_again(struct background *d, const struct background_order *o,
                            struct background_answer *a, struct err *e) {
    int rc = 0, begun = 0;
    for (int i = 0; i < o->runs; i++) {
        struct err why = ERR_INIT;
        int one = background_go_on(d, o->run[i], o->kind == BACKGROUND_AGAIN, a, &why);
        begun += !one;
        if (!one || rc) continue;
        rc = one;
        *e = why;
    }
    if (!rc && begun > 1) background_say(a, SAY_INFO, "%d runs go on or are trained once more", begun);
    if (rc && begun) err_prefix(e, "%d of %d go on", begun, o->runs);
    return rc;
}

/* The owner looks every quarter of a second and ends at a step with a checkpoint. */
static int background_stop(struct background *d, const struct background_order *o,
                           struct background_answer *a, struct err *e) {
    int rc = store_request(d->store, o->run[0], STORE_STOP, e);
    if (!rc)
        background_say(a, SAY_INFO, "run #%lld trains in another process, which is asked to stop it with a checkpoint",
                       (long long)o->run[0]);
    return rc;
}

static int background_move(struct background *d, const struct background_order *o,
                           struct background_answer *a, struct err *e) {
    bool trash = o->kind == BACKGROUND_TRASH;
    int rc = (trash ? store_trash : store_restore)(d->store, o->run, (size_t)o->runs, e);
    if (rc) return rc;
    a->run = xcalloc((size_t)o->runs, sizeof *a->run);
    memcpy(a->run, o->run, (size_t)o->runs * sizeof *a->run);
    a->moved = o->runs;
    char what[48];
    if (o->runs == 1) snprintf(what, sizeof what, "run #%lld", (long long)o->run[0]);
    else snprintf(what, sizeof what, "%d runs", o->runs);
    background_say(a, SAY_GOOD, trash ? "%s in the trash; %s brings back" : "%s restored; %s puts back", what, o->text);
    return 0;
}

/* Pins, tags, notes. */
static int background_keep(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    size_t n = (size_t)o->runs;
    const char *said = "";
    int rc;
    if (o->kind == BACKGROUND_PIN) rc = kept_pin(d->store, o->run, n, &said, e);
    else if (o->kind == BACKGROUND_TAGS) rc = kept_tag(d->store, o->run, n, o->text, e);
    else rc = store_note(d->store, o->run[0], o->text, e);
    if (rc) return rc;
    if (o->kind == BACKGROUND_TAGS) said = n > 1 ? "tags added" : "tags kept";
    else if (o->kind == BACKGROUND_NOTE) said = *o->text ? "note kept" : "without a note";
    if (n == 1) background_say(a, SAY_GOOD, "#%lld %s", (long long)o->run[0], said);
    else background_say(a, SAY_GOOD, "%d runs %s", o->runs, said);
    return 0;
}

static int background_purge(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    struct purge_sum sum;
    char what[128];
    bool count = o->kind == BACKGROUND_PURGE_COUNT;
    size_t n = (size_t)o->runs;
    int rc = count ? purge_count(d->store, o->run, n, &sum, e) : purge_runs(d->store, o->run, n, o->typed, &sum, e);
    if (rc) return rc;
    kept_sum_words(n, &sum, what);
    background_say(a, count ? SAY_WARNING : SAY_GOOD, count ? "%s" : "%s deleted", what);
    a->moved = o->runs;
    return 0;
}

/* A run's model as a new folder. */
static int background_export_folder(struct background *d, int64_t run, const struct outfile_guard *g, const char *path, struct err *e) {
    double worst;
    int rc = outfile_check_folder(g, path, e);
    return rc ? rc : export_hf(d->store, run, NULL, NULL, path, false, jobs_crew(d->jobs), &worst, NULL, e);
}

/* Points, or runs as a table, into a new file. */
static int background_export_text(struct background *d, const struct background_order *o, enum store_format form,
                       const struct outfile_guard *g, const char *path, struct err *e) {
    struct outfile_sink f = { .e = e };
    const struct store_sink sink = { &f, outfile_sink_add };
    int rc = outfile_open(&f.file, g, path, e);
    if (rc) return rc;
    rc = o->kind == BACKGROUND_TABLE ? run_table_write(d->store, o->run, (size_t)o->runs, form, sink, e)
                                     : store_export(d->store, STORE_EXPORT_POINTS, form, o->run, (size_t)o->runs, sink, e);
    return outfile_end(&f.file, rc, e);
}

static int export(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    bool table = o->kind == BACKGROUND_TABLE, folder = !table && !strcmp(o->text, "hf");
    enum store_format form = STORE_CSV;
    for (int i = STORE_CSV; i <= STORE_MARKDOWN && table; i++)
        if (text_ends(o->text, run_table_end((enum store_format)i))) form = (enum store_format)i;
    if (!table) run_table_form(o->text, &form);
    const char *end = folder ? "" : form == STORE_JSON && !table ? ".jsonl" : run_table_end(form);
    char *stem = table ? xstrndup(o->text, strlen(o->text) - strlen(end))
                       : xprintf("petri-run%lld-%s", (long long)o->run[0], folder ? "hf" : "points");
    char *path = outfile_new_name(stem, end);
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(d->store), false);
    int rc = folder ? background_export_folder(d, o->run[0], &g, path, e) : background_export_text(d, o, form, &g, path, e);
    outfile_guard_release(&g);
    free(stem);
    if (!rc) background_say(a, SAY_GOOD, "written: %s", path);
    free(path);
    return rc;
}

/* How long its rows are, by some of them, evenly over the file; of several tasks by the first. */
static void background_tokens(struct source_facts *s, const struct run_config *c, const struct tokenizer *words, const struct task *t) {
    enum { LOOKED = 200 };
    const struct dataset *d = &t->train;
    size_t every = d->rows / LOOKED + 1, rows = 0, tokens = 0, targets = 0;
    if (s->tokens > 0) return;
    for (size_t i = 0; i < d->rows; i += every, rows++) {
        const struct dataset_row *r = &d->row[i];
        struct encoded x;
        struct err ignored = ERR_INIT;
        if (tokenizer_encode(words, r->a, r->a_size, d->pair ? r->b : NULL, r->b_size, (size_t)c->max_len, &x, &ignored)) return;
        tokens += x.n;
        encoded_release(&x);
        if (!r->target_text || tokenizer_encode(words, r->target_text, r->target_size, NULL, 0, (size_t)c->max_target, &x,
                                                &ignored)) continue;
        targets += x.n;
        encoded_release(&x);
    }
    if (!rows) return;
    s->tokens = (double)tokens / (double)rows;
    s->targets = (double)targets / (double)rows;
    if (s->arch.decoder_layers && !s->targets) s->targets = 3; /* a class as text: a digit and the end */
}

/* Rows, classes and name of one of the config's tasks. */
static int background_add_rows(struct source_facts *s, const struct run_config *c, int i, const struct tokenizer *words, struct err *e) {
    struct run_config one;
    struct task t;
    config_of_task(c, i, &one);
    struct task_source rows = config_source(&one, NULL);
    rows.dev_rows = 0; /* as many as there are */
    int rc = task_open(&t, &rows, e);
    if (!rc) {
        char *before = s->task;
        s->task = before ? xprintf("%s+%s", before, config_task_name(c, i))
                         : xstrdup(c->tasks ? config_task_name(c, i) : t.name);
        free(before);
        s->outputs[i] = t.kind == DATA_REGRESSION ? 1 : t.classes;
        s->classes = s->outputs[0];
        s->texts = s->texts || t.gold == DATA_TEXT;
        s->train_rows += t.train.rows;
        s->dev_rows += t.devs ? t.dev[0].rows : 0;
        if (words) background_tokens(s, &one, words, &t);
        task_release(&t);
    }
    config_release(&one);
    return rc && c->tasks ? err_prefix(e, "task %s", config_task_name(c, i)) : rc;
}

/* A model's tokenizer, or NULL: nothing fails for want of it here. */
static struct tokenizer *folder_words(const char *model) {
    struct err ignored = ERR_INIT;
    char *folder = model ? model_find(model, &ignored) : NULL;
    struct tokenizer *words = folder ? tokenizer_read(folder, NULL, &ignored) : NULL;
    free(folder);
    return words;
}

static int source(const struct background_order *o, struct background_answer *a, struct err *e) {
    struct source_facts *s = xcalloc(1, sizeof *s);
    a->source = s;
    const struct run_config *c = o->config;
    const char *model = c->model_folder ? c->model_folder : c->model;
    config_copy(&s->config, c);
    char *folder = model_find(model, e);
    int rc = folder ? arch_read(folder, &s->arch, NULL, e) : e->code;
    s->ok = !rc;
    s->model = folder ? file_base_name(folder) : xcopy(model);
    free(folder);
    struct err why = ERR_INIT;
    int task_rc = 0;
    s->taken = o->taken;
    struct tokenizer *words = folder_words(s->ok ? model : NULL);
    for (int i = 0; i < config_task_count(c) && !task_rc; i++) task_rc = background_add_rows(s, c, i, words, &why);
    tokenizer_free(words);
    if (task_rc) {
        free(s->task);
        s->task = xcopy(c->task ? c->task : c->tasks_given);
        s->train_rows = s->dev_rows = 0;
        if (!rc) *e = why;
    }
    return rc ? rc : task_rc;
}

static void background_measure(void *gflops) { *(double *)gflops = blas_rate(256, 768, 768, 0.1); }

/* Sweeps that this process works on. */
static int sweep_order(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    int rc = 0;
    char *said = NULL;
    if (o->kind == BACKGROUND_SWEEP_NEW) rc = sweeping_begin(d->sweeping, o->text, &a->sweep, e);
    else if (o->kind == BACKGROUND_SWEEP_GO) rc = sweeping_go(d->sweeping, o->run[0], NULL, e);
    else if (o->kind == BACKGROUND_SWEEP_EXTEND) rc = sweeping_go(d->sweeping, o->run[0], o->text, e);
    else if (o->kind == BACKGROUND_SWEEP_STOP) rc = sweeping_stop(d->sweeping, o->run[0], e);
    if (!rc && o->kind == BACKGROUND_SWEEP_NEW)
        background_say(a, SAY_GOOD, "sweep %lld is kept, and begun: R goes on, K stops", (long long)a->sweep);
    else if (!rc && o->kind == BACKGROUND_SWEEP_STOP)
        background_say(a, SAY_INFO, "all who work on sweep %lld are asked to stop; each run keeps a checkpoint", (long long)o->run[0]);
    else if (!rc && o->kind != BACKGROUND_SWEEP_STEP) background_say(a, SAY_INFO, "sweep %lld goes on", (long long)o->run[0]);
    struct err step = ERR_INIT;
    int rc2 = sweeping_step(d->sweeping, &a->working, &said, rc ? &step : e);
    if (!rc && !rc2 && said) background_say(a, SAY_ERROR, "%s", said);
    free(said);
    return rc ? rc : rc2;
}

/* How a run that is over looks, where it looks wrong. */
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
    if (why.count > 1) snprintf(more, sizeof more, " (its page, Enter on 3, says %d more)", why.count - 1);
    if (why.count) background_say(a, SAY_WARNING, "run #%lld: %.600s%s", (long long)id, why.of[0].text, more);
    why_release(&why);
    return 0;
}

static int train_line(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    struct line_meaning m;
    int runs, rc = d->verbs->mean(o->text, store_path(d->store), &m, e);
    if (rc) return rc;
    rc = d->verbs->train(&m, d->jobs, &runs, e);
    line_meaning_release(&m);
    if (!rc) background_say(a, SAY_INFO, "preparing %d %s: reading model and rows", runs, runs == 1 ? "run" : "runs");
    return rc;
}

static int background_start(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    struct start_effect x;
    char words[240];
    a->method = xstrdup(o->text);
    int rc = start_effect(o->config, jobs_crew(d->jobs), &x, e);
    if (rc) return err_prefix(e, "what the method does at step 0");
    start_effect_words(&x, words);
    a->start = xstrdup(words);
    background_say(a, SAY_INFO, "%s", words);
    return 0;
}

static int serve(struct background *d, const struct background_order *o, struct background_answer *a, struct err *e) {
    struct store_run run;
    int rc;
    switch (o->kind) {
    case BACKGROUND_RUNS:
        rc = background__runs(d->store, o->trash, o->text, o->by_task ? &d->tasks : NULL, &a->runs, e);
        if (!rc && (o->disk || o->curve))
            row_extras_fill(&d->extras, d->store, &a->runs->stored, a->runs->row, o->disk, o->curve, &a->runs->curves);
        return rc;
    case BACKGROUND_PAGE: return background__page(d->store, o->run[0], &d->machine, &a->detail, e);
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
    case BACKGROUND_OTHERS: return other_runs_read(d->store, o->run[0], &a->others, e);
    case BACKGROUND_BESIDE: return beside_read(d->store, o->run, o->runs, &a->beside, e);
    case BACKGROUND_WHY: return background_why(d, o->run[0], a, e);
    case BACKGROUND_COMPARE: return compared_page_read(d->store, o->run, o->runs, o->text, o->trash, &a->compared, e);
    case BACKGROUND_SWEEPS: return swept_page_read(d->store, o->run[0], d->sweeping, &a->swept, e);
    case BACKGROUND_SWEEP_NEW:
    case BACKGROUND_SWEEP_GO:
    case BACKGROUND_SWEEP_STOP:
    case BACKGROUND_SWEEP_EXTEND:
    case BACKGROUND_SWEEP_STEP: return sweep_order(d, o, a, e);
    case BACKGROUND_LESSONS: return learning_list(d->learning, &a->shelf, e);
    case BACKGROUND_LESSON:
        return learning_open(d->learning, o->text, o->config ? o->config->model : NULL, o->config ? o->config->task : NULL, &a->lesson, e);
    case BACKGROUND_LESSON_STEP: return learning_step(d->learning, o->step, o->train, o->progress, &a->news, e);
    case BACKGROUND_CLONE: return background_take_config(d, o, a, e);
    case BACKGROUND_AGAIN:
    case BACKGROUND_RESUME: return background_again(d, o, a, e);
    case BACKGROUND_RESEED: return background_reseed(d, o, a, e);
    case BACKGROUND_STOP: return background_stop(d, o, a, e);
    case BACKGROUND_TRASH:
    case BACKGROUND_RESTORE: return background_move(d, o, a, e);
    case BACKGROUND_PIN:
    case BACKGROUND_TAGS:
    case BACKGROUND_NOTE: return background_keep(d, o, a, e);
    case BACKGROUND_PURGE_COUNT:
    case BACKGROUND_PURGE: return background_purge(d, o, a, e);
    case BACKGROUND_TABLE:
    case BACKGROUND_EXPORT: return export(d, o, a, e);
    case BACKGROUND_SOURCE: return source(o, a, e);
    case BACKGROUND_FOLDER: a->folder = own_folder_list(o->text); return 0;
    case BACKGROUND_LOOK:
        a->look = own_look_at(o->text, o->config);
        if (a->look->view.folder && a->look->view.failed) a->folder = own_folder_list(o->text);
        return 0;
    case BACKGROUND_START: return background_start(d, o, a, e);
    case BACKGROUND_IMPORT: a->read = own_read_rows(o->config, o->run[0]); return 0;
    case BACKGROUND_LINE: return train_line(d, o, a, e);
    case BACKGROUND_MACHINE:
        crew_call(jobs_crew(d->jobs), background_measure, &a->gflops);
        d->machine = (struct background_machine){ a->gflops, crew_width(jobs_crew(d->jobs)) };
        a->workers = d->machine.workers;
        return 0;
    }
    BUG("order %d", o->kind);
}

static void *background_work(void *self) {
    struct background *d = self;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!d->orders && !d->leaving) pthread_cond_wait(&d->asked, &d->lock);
        if (d->leaving) break;
        struct order *o = d->orders;
        d->orders = o->next;
        pthread_mutex_unlock(&d->lock);
        struct background_answer *a = xcalloc(1, sizeof *a);
        a->kind = o->what.kind;
        struct err e = ERR_INIT;
        if (serve(d, &o->what, a, &e)) background_say(a, SAY_ERROR, "%s", e.text);
        order_free(o);
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
    clock_cond_init(&d->asked);
    if (pthread_create(&d->thread, NULL, background_work, d)) BUG("no background thread");
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
    if (o->progress) mine->what.progress = lesson_progress_clone(o->progress);
    if (o->config) {
        struct run_config *c = xcalloc(1, sizeof *c);
        config_copy(c, o->config);
        mine->what.config = c;
    }
    pthread_mutex_lock(&d->lock);
    struct order **end = &d->orders;
    bool waiting = false; /* the same list asked for twice is fetched once */
    for (; *end; end = &(*end)->next)
        if (o->kind == BACKGROUND_RUNS && (*end)->what.kind == BACKGROUND_RUNS && (*end)->what.trash == o->trash &&
            (*end)->what.by_task == o->by_task && (*end)->what.disk == o->disk &&
            (*end)->what.curve == o->curve && !strcmp((*end)->what.text, o->text))
            waiting = true;
    if (!waiting) {
        *end = mine;
        d->taken++;
    }
    pthread_cond_signal(&d->asked);
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

void source_facts_free(struct source_facts *s) {
    if (!s) return;
    if (s->ok) arch_release(&s->arch);
    config_release(&s->config);
    free(s->model);
    free(s->task);
    free(s);
}

void background_answer_free(struct background_answer *a) {
    history_rows_free(a->runs);
    run_page_free(a->detail);
    other_runs_free(a->others);
    beside_free(a->beside);
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
    free(a);
}

void background_free(struct background *d) {
    pthread_mutex_lock(&d->lock);
    d->leaving = true;
    pthread_cond_signal(&d->asked);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    while (d->orders) {
        struct order *o = d->orders;
        d->orders = o->next;
        order_free(o);
    }
    struct background_answer *a;
    while ((a = background_take(d))) background_answer_free(a);
    result_cache_release(&d->tasks);
    row_extras_release(&d->extras);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->asked);
    free(d);
}
