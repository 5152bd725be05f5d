#include "app/jobs/shots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/files/paths.h"
#include "app/history/backbone.h"
#include "app/history/moved.h"
#include "app/history/opened.h"
#include "app/history/run_row.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/train/complete.h"
#include "core/train/fewshot_run.h"
#include "core/train/regime.h"
#include "core/train/retrieve.h"

struct shots {
    struct store *store;
    struct shots_hook hook;
    int64_t id, parent;
    struct run_config c;      /* of the new task */
    struct fewshot how;
    struct model *model;
    struct predictor *from;
    bool opened;              /* the task is */
    struct task task;
    char name[PLAN_TASK];     /* of the task in keys */
    char *folder;
    struct fewshot_results results;
    double seconds;           /* trained, of all draws */
    char weights[65];         /* of the first draw; "": not trained here */
    int64_t asked;            /* when other processes' requests were last looked at */
    bool stopped;
};

int64_t shots_id(const struct shots *x) { return x->id; }

void shots_free(struct shots *x) {
    struct err ignored = ERR_INIT;
    if (!x) return;
    if (x->id) store_disown(x->store, x->id, &ignored);
    fewshot_results_release(&x->results);
    predictor_free(x->from);
    if (x->opened) task_release(&x->task);
    if (x->model) model_release(x->model);
    config_release(&x->c);
    free(x->folder);
    free(x);
}

static void say_lines(const struct shots *x, struct buf *said) {
    char *at = said->data;
    for (char *end; said->size && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        if (x->hook.say) x->hook.say(x->hook.self, at);
    }
    buf_release(said);
}

/* ---- what it is made of ---- */

/* A task's name as keys can hold it. */
static void key_name(const char *task, char out[PLAN_TASK]) {
    snprintf(out, PLAN_TASK, "%s", task);
    for (char *s = out; *s; s++)
        if ((unsigned char)*s <= ' ' || strchr("/.,=:\"'", *s)) *s = '-';
}

/* The run that draws begin from: its config into *c. */
static int open_parent(struct shots *x, const char *given, struct run_config *c, struct err *e) {
    struct store_run run;
    struct buf said = BUF_INIT;
    if (store_run(x->store, x->parent, &run, e)) return e->code;
    int rc = config_from_json(run.config, strlen(run.config), c, e);
    store_run_release(&run);
    if (rc) return rc;
    char *path = opened_checkpoint(x->store, x->parent, NULL, NULL, e);
    x->model = path ? backbone_open(c, &(struct backbone_hint){ .given = given }, &said, e) : NULL;
    x->from = x->model ? predictor_open_all(path, x->model, e) : NULL;
    free(path);
    say_lines(x, &said);
    if (x->from) return 0;
    config_release(c);
    return e->code;
}

static int open_rows(struct shots *x, struct err *e) {
    const struct task_source s = config_source(&x->c, paths_assets());
    if (!x->model->tokenizer)
        return err_set(e, ERR_INPUT, "%s: has no tokenizer (tokenizer.json or vocab.txt), so no text can be read",
                       x->model->folder);
    if (task_open(&x->task, &s, e)) return e->code;
    x->opened = true;
    if (run_prepare_task(&x->c, x->model, &x->task, e)) return e->code;
    return 0;
}

static struct fewshot_work work_of(struct shots *x) {
    return (struct fewshot_work){ .run = x->id, .how = &x->how, .task_name = x->name, .c = &x->c, .m = x->model,
                                  .task = &x->task, .from = x->from, .folder = x->folder, .self = x };
}

static void set_regime(struct shots *x) {
    struct regime r = regime_usual(REGIME_FEWSHOT);
    r.ks = x->how.ks;
    memcpy(r.k, x->how.k, sizeof x->how.k);
    r.draws = x->how.draws;
    r.from = x->parent;
    free(x->c.regime);
    x->c.regime = regime_text(&r);
}

/* The parent's config with the new rows and what was asked for. */
static int make_config(struct shots *x, const struct shots_request *r, struct err *e) {
    struct run_config *c = &x->c;
    fewshot_config(c);
    config_take_rows(c, r->rows);
    c->steps = r->steps;
    c->epochs = 0;
    if (r->batch > 0) c->batch = (int)r->batch;
    if (r->lr > 0) c->lr = r->lr;
    if (r->eval_rows >= 0) c->eval_rows = (int)r->eval_rows;
    if (r->seed >= 0) c->seed = (uint64_t)r->seed;
    if (c->accumulate > c->batch) c->accumulate = 1;
    if (c->warmup >= 1) c->warmup = 0; /* steps of a longer run */
    set_regime(x);
    if (open_rows(x, e)) return e->code;
    struct task *task = &x->task;
    const struct run_tasks one = { 1, &task };
    config_settle(c, c->form == FORM_TEXT);
    if (config_complete(c, x->model, &one, e) || run_check(c, x->model, &one, e)) return e->code;
    key_name(c->task, x->name);
    return 0;
}

static int create_row(struct shots *x, const struct shots_request *r, struct err *e) {
    struct buf more = BUF_INIT;
    struct task *task = &x->task;
    const struct run_tasks one = { 1, &task };
    struct history_row row = { .tasks = &one, .steps = (int64_t)x->how.ks * x->how.draws, .parent = x->parent,
                               .note = r->note };
    struct plan *p = run_plan_for(&x->c, &one, &x->model->arch, e);
    if (!p) return e->code;
    if (x->how.parts) plan_train_only(p, x->how.parts);
    buf_puts(&more, "\"fewshot\":{");
    fewshot_members(&x->how, &more);
    json_add_key(&more, "known");
    buf_putc(&more, '[');
    const struct plan *from = predictor_plan(x->from);
    for (int i = 0; i < from->tasks && from->tasks > 1; i++) json_member_string(&more, NULL, from->task[i]);
    buf_puts(&more, "]}");
    char *split = xprintf("%s/k%d", x->name, x->how.k[x->how.ks - 1]);
    row.more = buf_text(&more);
    row.split = split;
    int rc = run_row_create(x->store, &x->c, p, &row, &x->id, e);
    buf_release(&more);
    free(split);
    plan_free(p);
    return rc;
}

int shots_new(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out, struct err *e) {
    struct shots *x = xcalloc(1, sizeof *x);
    *out = NULL;
    x->store = s;
    x->hook = hook;
    x->parent = r->parent;
    x->how = r->how;
    int rc = open_parent(x, r->model, &x->c, e);
    if (!rc && !r->start_said) x->how.start = retrieve_has_prototypes(x->from) ? FEWSHOT_VOTE : FEWSHOT_LOWEST;
    if (!rc) rc = make_config(x, r, e);
    if (!rc) {
        const struct fewshot_work w = work_of(x);
        rc = fewshot_check(&w, e);
    }
    if (!rc) rc = create_row(x, r, e);
    if (!rc) {
        x->folder = store_run_folder(s, x->id);
        *out = x;
        return 0;
    }
    shots_free(x);
    return rc;
}

/* ---- again ---- */

bool shots_is(const struct store_run *run) { return !strncmp(run->regime, "fewshot", 7); }

/* What a stored run's config says; *known (may be NULL): the list of names, borrowed of *all. */
static int read_how(const struct store_run *run, struct fewshot *how, json_t **all, struct err *e) {
    char *name = xprintf("run %lld", (long long)run->id);
    *all = json_parse(name, run->config, strlen(run->config), e);
    free(name);
    if (!*all) return e->code;
    const json_t *o = json_object_get(*all, "fewshot");
    int rc = o ? fewshot_from_json(o, how, e)
               : err_set(e, ERR_INPUT, "run %lld: its config does not say how its draws are made", (long long)run->id);
    if (!rc) return 0;
    json_decref(*all);
    return rc;
}

static int same_file(const char *was, const char *now, const char *path, struct err *e) {
    if (!was || !now || !strcmp(was, now)) return 0;
    return err_set(e, ERR_INPUT, "%s: changed since this run was begun; resume with the file as it was", path);
}

static int check_rows(const struct shots *x, struct err *e) {
    const struct dataset *dev = x->task.devs ? &x->task.dev[0] : NULL;
    int rc = same_file(x->c.train_sha256, x->task.train.sha256, x->task.train.path, e);
    if (!rc && dev && !(x->c.split > 0)) rc = same_file(x->c.dev_sha256, dev->sha256, dev->path, e);
    return rc;
}

static int recall(struct shots *x, const struct store_run *run, const char *model, struct err *e) {
    struct regime regime = regime_usual(REGIME_SINGLE);
    struct run_config parent;
    struct buf said = BUF_INIT;
    json_t *all;
    if (run->state == STORE_FINISHED)
        return err_set(e, ERR_USAGE, "run %lld is finished: nothing is left to train", (long long)run->id);
    if (read_how(run, &x->how, &all, e)) return e->code;
    json_decref(all);
    if (config_from_json(run->config, strlen(run->config), &x->c, e) || config_regime(&x->c, &regime, e)) return e->code;
    x->parent = regime.from;
    moved_rows(&x->c, store_path(x->store), &said);
    say_lines(x, &said);
    if (open_parent(x, model, &parent, e)) return e->code;
    config_release(&parent);
    if (open_rows(x, e) || check_rows(x, e)) return e->code;
    key_name(x->c.task, x->name);
    return 0;
}

int shots_resume(struct store *s, int64_t run, const char *model, struct shots_hook hook, struct shots **out, struct err *e) {
    struct shots *x = xcalloc(1, sizeof *x);
    struct store_run stored;
    *out = NULL;
    x->store = s;
    x->hook = hook;
    int rc = store_run(s, run, &stored, e);
    if (!rc) {
        rc = recall(x, &stored, model, e);
        if (!rc) rc = store_adopt_run(s, run, NULL, e);
        store_run_release(&stored);
    }
    if (rc) {
        shots_free(x);
        return rc;
    }
    x->id = run;
    x->folder = store_run_folder(s, run);
    *out = x;
    return 0;
}

/* ---- what is stored ---- */

static void keep_file(void *self, const struct fewshot_file *f) {
    struct shots *x = self;
    struct stat st;
    char *kind = f->first ? xstrdup("best") : xprintf("draw.k%d.d%d", f->k, f->draw);
    store_artifact(x->store, &(struct store_artifact){ .run = x->id, .step = f->step, .kind = kind, .path = f->path,
                                                       .sha256 = f->sha256,
                                                       .bytes = !stat(f->path, &st) ? (int64_t)st.st_size : 0 });
    free(kind);
    if (f->first) snprintf(x->weights, sizeof x->weights, "%s", f->sha256);
}

static void keep_scores(struct shots *x, const struct fewshot_result *of, const struct fewshot_scores *s, int64_t step) {
    struct store_metric metric[EVENT_METRICS];
    char *split = xprintf("%s/k%d/d%d", of->task, of->k, of->draw);
    for (int i = 0; i < s->count; i++) {
        const struct fewshot_metric *m = &s->metric[i];
        int id = metric_find(m->name);
        metric[i] = (struct store_metric){ m->name, m->value, *m->undefined ? m->undefined : NULL,
                                           id >= 0 ? metric_direction((enum metric_id)id) : 0 };
    }
    struct store_evaluation v = { .run = x->id, .step = step, .split = split, .rows = of->rows, .constant = s->constant,
                                  .none_valid = s->none_valid, .seconds = x->seconds, .count = s->count, .metric = metric };
    if (s->count) store_evaluation(x->store, &v);
    free(split);
}

/* The mean of a k whose draws are all done. */
static void keep_mean(struct shots *x, const struct fewshot_result *last) {
    struct store_metric metric[3];
    int n = 0, done = 0;
    for (int d = 0; d < x->how.draws; d++) done += fewshot_find(&x->results, last->task, last->k, d) != NULL;
    struct fewshot_summary s = fewshot_sum_up(&x->results, last->task, last->k, x->c.metric, false);
    if (done < x->how.draws) return;
    char *split = xprintf("%s/k%d", last->task, last->k), *rows = xprintf("%d draws, %s", s.n, last->rows);
    metric[n++] = (struct store_metric){ x->c.metric, s.n ? s.mean : 0, s.n ? NULL : "no draw has a value",
                                         metric_direction((enum metric_id)metric_find(x->c.metric)) };
    if (s.n > 1) metric[n++] = (struct store_metric){ "sd", s.sd, NULL, 0 };
    if (!isnan(s.majority)) metric[n++] = (struct store_metric){ "majority", s.majority, NULL, 0 };
    struct store_evaluation v = { .run = x->id, .step = x->how.draws, .split = split, .rows = rows, .best = true,
                                  .seconds = x->seconds, .count = n, .metric = metric };
    store_evaluation(x->store, &v);
    free(split);
    free(rows);
}

static void keep_result(struct shots *x, const struct fewshot_result *of) {
    keep_scores(x, of, &of->zero, 0);
    keep_scores(x, of, &of->scores, of->steps);
    keep_mean(x, of);
    store_step(x->store, &(struct store_step){ .run = x->id, .step = x->results.count, .seconds = x->seconds });
}

static void draw_done(void *self, const struct fewshot_result *of) {
    struct shots *x = self;
    x->seconds += of->seconds;
    keep_result(x, of);
    if (x->hook.done) x->hook.done(x->hook.self, x->id, of, x->c.metric);
}

static bool wants_stop(void *self) {
    struct shots *x = self;
    struct store_request request[16];
    struct err e = ERR_INIT;
    int64_t now = clock_ms();
    x->stopped = x->stopped || (x->hook.stop && x->hook.stop(x->hook.self));
    if (x->stopped || now - x->asked < 250) return x->stopped;
    x->asked = now;
    int n = store_requests(x->store, request, COUNT_OF(request), &e);
    for (int i = 0; i < n; i++) x->stopped = x->stopped || (request[i].run == x->id && request[i].what == STORE_STOP);
    return x->stopped;
}

/* ---- training ---- */

static void change(struct shots *x, enum store_state state, const char *reason) {
    store_change(x->store, &(struct store_change){ .run = x->id, .step = x->results.count, .state = state,
                                                   .seconds = x->seconds, .reason = reason,
                                                   .weights_sha256 = *x->weights ? x->weights : NULL });
}

/* What the record has and the database perhaps not: a process was killed between the two. */
static int take_up(struct shots *x, struct err *e) {
    char *path = fewshot_record_path(x->folder);
    int rc = fewshot_record_read(path, &x->results, e);
    free(path);
    for (int i = 0; i < x->results.count; i++) x->seconds += x->results.of[i].seconds;
    for (int i = 0; i < x->results.count; i++) keep_result(x, &x->results.of[i]);
    return rc;
}

int shots_train(struct shots *x, int workers, struct err *e) {
    struct pool *pool = pool_new(workers);
    struct fewshot_work w = work_of(x);
    w.pool = pool;
    w.file = keep_file;
    w.done = draw_done;
    w.stop = wants_stop;
    change(x, STORE_RUNNING, NULL);
    int rc = take_up(x, e);
    if (!rc) rc = fewshot_run(&w, &x->results, e);
    pool_free(pool);
    change(x, !rc ? STORE_FINISHED : rc == ERR_INTERRUPTED ? STORE_STOPPED : STORE_FAILED,
           rc && rc != ERR_INTERRUPTED ? e->text : NULL);
    if (rc == ERR_INTERRUPTED)
        err_set(e, rc, "stopped with %d of %d draws; `petri resume %lld` goes on from there", x->results.count,
                x->how.ks * x->how.draws, (long long)x->id);
    struct err flushing = ERR_INIT;
    if (store_flush(x->store, &flushing) && !rc) {
        *e = flushing;
        rc = flushing.code;
    }
    return rc;
}

/* ---- looking at one ---- */

int shots_results(struct store *s, const struct store_run *run, struct shots_results *out, struct err *e) {
    json_t *all;
    char task[PLAN_TASK];
    *out = (struct shots_results){ 0 };
    if (read_how(run, &out->how, &all, e)) return e->code;
    const json_t *known = json_object_get(json_object_get(all, "fewshot"), "known"), *item;
    size_t i;
    out->known_name = xcalloc(json_array_size(known) + 1, sizeof *out->known_name);
    json_array_foreach(known, i, item) {
        out->known_name[out->known++] = xstrdup(json_is_string(item) ? json_string_value(item) : "");
    }
    json_decref(all);
    key_name(run->task, task);
    out->task = xstrdup(task);
    out->metric = xstrdup(run->metric);
    char *folder = store_run_folder(s, run->id), *path = fewshot_record_path(folder);
    int rc = fewshot_record_read(path, &out->results, e);
    free(folder);
    free(path);
    /* a vote is told by names: a record of other tasks has none */
    for (int r = 0; r < out->results.count; r++)
        if (out->results.of[r].known > out->known) out->results.of[r].known = 0;
    if (rc) shots_results_release(out);
    return rc;
}

void shots_results_release(struct shots_results *r) {
    for (int i = 0; i < r->known; i++) free(r->known_name[i]);
    free(r->known_name);
    fewshot_results_release(&r->results);
    free(r->task);
    free(r->metric);
    *r = (struct shots_results){ 0 };
}

void shots_results_list(const struct shots_results *r, struct buf *b) {
    fewshot_results_json(&r->results, &r->how, r->task, r->metric, (const char *const *)r->known_name, b);
}
