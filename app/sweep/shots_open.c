/* Creating and resuming a few-shot run: model, data, the run from which its draws are initialized, its
 * record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/backbone.h"
#include "app/history/moved.h"
#include "app/history/opened.h"
#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/history/task_results.h"
#include "app/sweep/shots_private.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/use/retrieve.h"

static const double usual_epochs = 100;
/* A draw is an ordinary run of one task, also for methods that are usually trained on episodes. */
static const char of_a_draw[] = "single";

static struct shots *shots_alloc(struct store *s, struct shots_hook hook) {
    struct shots *x = xcalloc(1, sizeof *x);
    x->store = s;
    x->hook = hook;
    pthread_mutex_init(&x->lock, NULL);
    return x;
}

void shots_free(struct shots *x) {
    struct err ignored = ERR_INIT;
    if (!x) return;
    if (x->id && !x->joined) store_disown(x->store, x->id, &ignored);
    fewshot_results_release(&x->results);
    predictor_free(x->from);
    fewshot_meta_free(x->meta);
    job_starts_release(&x->starts);
    for (int i = 0; i < x->tasks; i++) shots__task_release(&x->of[i]);
    free(x->of);
    if (x->model) model_release(x->model);
    config_release(&x->c);
    buf_release(&x->left_out);
    sweep_plan_release(&x->plan);
    pthread_mutex_destroy(&x->lock);
    free(x->folder), free(x->taken), free(x->failure);
    free(x);
}

void shots__say(const struct shots *x, struct buf *lines) {
    char *at = lines->data;
    for (char *end; lines->size && (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        if (x->hook.say) x->hook.say(x->hook.self, at);
    }
    buf_release(lines);
}

void shots__key_name(const char *task, char out[PLAN_TASK]) {
    snprintf(out, PLAN_TASK, "%s", task);
    for (char *s = out; *s; s++)
        if ((unsigned char)*s <= ' ' || strchr("/.,=:\"'", *s)) *s = '-';
}

/* ---- config ---- */

/* Reads the config of the run from which draws are initialized into *c. */
static int open_parent(struct shots *x, const char *given, struct run_config *c, struct err *e) {
    struct buf said = BUF_INIT;
    if (record_config(x->store, x->parent, c, e)) return e->code;
    char *path = opened_checkpoint(x->store, x->parent, NULL, NULL, e);
    x->model = path ? backbone_open(c, &(struct backbone_hint){ .given = given }, &said, e) : NULL;
    if (x->model && config_is_meta(c)) x->meta = fewshot_meta_open(path, x->model, e);
    else if (x->model) x->from = predictor_open_all(path, x->model, e);
    free(path);
    shots__say(x, &said);
    if (x->from || x->meta) return 0;
    config_release(c);
    return e->code;
}

static void shots_open_set_regime(struct shots *x) {
    struct regime r = regime_default(REGIME_FEWSHOT);
    r.ks = x->how.ks;
    memcpy(r.k, x->how.k, sizeof x->how.k);
    r.draws = x->how.draws;
    r.from = x->parent;
    char *text = regime_text(&r);
    config_put(&x->c, "regime", text);
    free(text);
}

/* The config of that run or, with another method, the request's on the model of that run. */
static int begin_config(struct shots *x, const struct shots_request *r, struct err *e) {
    struct run_config parent;
    if (!x->parent) {
        config_copy(&x->c, r->base);
        x->model = model_share(x->c.model, e);
        return x->model ? 0 : e->code;
    }
    if (open_parent(x, r->model, &parent, e)) return e->code;
    if (!r->method_said) {
        x->c = parent;
        method_forget_runs(&x->c.method); /* they are initialized from the run */
        config_put(&x->c, "teachers", NULL);
        return 0;
    }
    config_copy(&x->c, r->base);
    config_take_source(&x->c, &parent);
    x->c.max_len = parent.max_len;
    x->c.max_target = parent.max_target;
    config_release(&parent);
    x->how.other = true;
    return 0;
}

static void set_options(struct shots *x, const struct shots_request *r) {
    struct run_config *c = &x->c;
    fewshot_config(c);
    if (r->steps > 0) c->steps = r->steps;
    else c->steps = 0;
    c->epochs = r->steps > 0 ? 0 : usual_epochs;
    if (r->batch > 0) c->batch = (int)r->batch;
    if (r->lr > 0) c->lr = r->lr;
    if (r->eval_rows >= 0) c->eval_rows = (int)r->eval_rows;
    if (r->seed >= 0) c->seed = (uint64_t)r->seed;
    if (c->accumulate > c->batch || r->how.per_class) c->accumulate = 1;
    if (c->warmup >= 1) c->warmup = 0; /* refers to the steps of a longer run */
    if (config_is_meta(c)) xreplace(&c->metric, NULL); /* the metric of episodes does not apply to tasks */
    config_put(c, "regime", of_a_draw);
    xreplace(&c->episodes, NULL);
}

/* Returns whether the run's inner loop adapts. */
static bool by_rule(const struct shots *x) { return x->meta && !x->how.other; }

/* Reads the data of a task and completes its config. */
static int shots_open_complete_task(struct shots *x, int i, struct err *e) {
    struct shots_task *t = &x->of[i];
    const char *name = config_task_name(&x->c, i);
    config_of_task(&x->c, i, &t->c);
    if (shots__open_task(x, t, e)) return e->code;
    struct task *task = &t->task;
    const struct run_tasks one = { 1, &task };
    char *called = x->how.files ? xstrdup(*name ? name : t->c.task) : NULL; /* not a draw's file */
    config_settle(&t->c,
                  t->c.form == FORM_TEXT || (t->c.form == FORM_AUTO && arch_generates(&x->model->arch)));
    int rc = config_complete(&t->c, x->model, &one, e);
    if (!rc && !by_rule(x)) rc = run_check(&t->c, x->model, &one, e);
    if (called) xreplace(&t->c.task, called);
    free(called);
    if (rc) return rc;
    shots__key_name(*name ? name : t->c.task, t->name);
    config_put_task(&x->c, i, &t->c);
    return 0;
}

/* Copies the settings common to all tasks to the run's config. */
static void complete_all(struct shots *x) {
    struct run_config *c = &x->c;
    struct buf name = BUF_INIT;
    bool same = true;
    if (x->tasks == 1) {
        config_release(c);
        config_copy(c, &x->of[0].c);
        return;
    }
    for (int i = 0; i < x->tasks; i++) {
        same = same && !strcmp(x->of[i].c.metric, x->of[0].c.metric);
        buf_printf(&name, "%s%s", i ? "+" : "", x->of[i].name);
    }
    const struct run_config *first = &x->of[0].c;
    struct run_config all;
    config_copy(&all, first);
    config_take_data(&all, c); /* the tasks */
    xreplace(&all.task, buf_text(&name));
    xreplace(&all.metric, same ? first->metric : "average");
    buf_release(&name);
    config_release(c);
    *c = all;
}

static int check_common(struct shots *x, const struct plan *p, struct err *e) {
    if (!x->how.other) return 0;
    const struct plan *from = x->meta ? fewshot_meta_plan(x->meta) : predictor_plan(x->from);
    real *values = xcalloc(p->trained + 1, sizeof *values);
    size_t taken = plan_carry_common(p, values, from,
                                     x->meta ? fewshot_meta_params(x->meta) : predictor_params(x->from), 0);
    free(values);
    if (taken) return 0;
    return err_set(
        e, ERR_USAGE,
        "--from %lld: the methods have no module in common; use a method that shares a module with the run",
        (long long)x->parent);
}

static void add_known(const struct shots *x, struct buf *b) {
    const struct plan *from = x->from ? predictor_plan(x->from) : NULL;
    json_open(b, "known", '[');
    for (int i = 0; from && i < from->tasks && from->tasks > 1; i++)
        json_member_string(b, NULL, from->task[i]);
    buf_putc(b, ']');
}

struct plan *shots__plan(struct shots *x, struct shots_task *t, struct err *e) {
    struct task *one = &t->task;
    const struct run_tasks first = { 1, &one };
    struct plan *p = run_plan_for(&t->c, &first, &x->model->arch, e);
    if (p && x->how.parts) plan_train_only(p, x->how.parts);
    return p;
}

static int shots_open_check_plan(struct shots *x, struct err *e) {
    if (by_rule(x)) return 0;
    struct plan *p = shots__plan(x, x->of, e);
    int rc = p ? check_common(x, p, e) : e->code;
    job_starts_of(&x->of[0].c.method, &x->starts);
    if (!rc && (x->starts.count || !x->parent)) rc = job_starts_open(&x->starts, x->store, x->model, p, e);
    plan_free(p);
    return rc;
}

static int shots_open_create_row(struct shots *x, const struct shots_request *r, struct err *e) {
    struct buf more = BUF_INIT;
    struct task *task[RUN_TASKS];
    for (int i = 0; i < x->tasks; i++) task[i] = &x->of[i].task;
    const struct run_tasks all = { x->tasks, task };
    struct history_row row = { .tasks = &all,
                               .steps = (int64_t)x->tasks * x->how.ks * x->how.draws,
                               .parent = x->parent,
                               .sweep = x->plan.id,
                               .note = r->note,
                               .name = r->name,
                               .cell = r->cell };
    struct plan *own = by_rule(x) ? NULL : shots__plan(x, x->of, e);
    if (!own && !by_rule(x)) return e->code;
    buf_puts(&more, "\"fewshot\":{");
    fewshot_members(&x->how, &more);
    json_member_bool(&more, "table", x->table);
    if (x->with) json_member_int(&more, "with", x->with);
    add_known(x, &more);
    buf_printf(&more, ",\"left_out\":[%s]}", buf_text(&x->left_out));
    if (x->starts.count) buf_putc(&more, ',');
    if (x->starts.count && job_starts_say(&x->starts, x->store, &more, e)) {
        buf_release(&more);
        plan_free(own);
        return e->code;
    }
    char *split = xprintf("%s/k%d", x->tasks > 1 ? ALL_TASKS_SPLIT : x->of[0].name, x->how.k[x->how.ks - 1]);
    row.more = buf_text(&more);
    row.split = split;
    int rc = run_row_create(x->store, &x->c, own ? own : fewshot_meta_plan(x->meta), &row, &x->id, e);
    buf_release(&more);
    free(split);
    plan_free(own);
    return rc;
}

static int find_rows(struct shots *x, const struct shots_request *r, struct err *e) {
    if (r->tasks) return shots__find_tasks(x, r->tasks, e);
    config_take_data(&x->c, r->rows);
    x->of = xcalloc(1, sizeof *x->of);
    x->tasks = 1;
    return 0;
}

static int check_task(struct shots *x, int i, struct err *e) {
    const struct fewshot_work w = shots__work(x, &x->of[i]);
    return fewshot_check(&w, e);
}

/* Rejects options that do not apply to an inner loop. */
static int check_rule(const struct shots *x, const struct shots_request *r, struct err *e) {
    if (!by_rule(x)) return 0;
    const char *idle = r->lr > 0 ? "lr" : r->tune_said ? "tune" : r->start_said ? "start" : NULL;
    if (idle)
        return err_set(e, ERR_USAGE,
                       "--%s: not available: run %lld was trained on episodes, and its inner loop sets it",
                       idle, (long long)x->parent);
    const char *unkept = fewshot_meta_unkept(x->meta);
    if (r->how.keep && unkept)
        return err_set(e, ERR_USAGE, "--keep: the tensors of samples cannot be stored: %s", unkept);
    struct buf said = BUF_INIT;
    if (unkept) text_line(&said, "the tensors of samples are not stored: %s", unkept);
    shots__say(x, &said);
    if (r->steps > FEWSHOT_META_STEPS)
        return err_set(e, ERR_USAGE, "--steps %lld: must be at most %d for a run that was trained on "
                                     "episodes",
                       (long long)r->steps, FEWSHOT_META_STEPS);
    return 0;
}

/* A draw trains a single classifier: networks that generate heads from episodes must be trained before. */
static int check_head(const struct shots *x, struct err *e) {
    if (by_rule(x) || !x->c.method.generated.on) return 0;
    return err_set(
        e, ERR_USAGE,
        "--method: a generated head must be meta-trained first; run petri train --regime meta with this "
        "method, then petri fewshot --from RUN, or omit + generated-head");
}

static int shots_open_make(struct shots *x, const struct shots_request *r, struct err *e) {
    if (begin_config(x, r, e) || check_rule(x, r, e) || check_head(x, e)) return e->code;
    if (x->from && !r->start_said)
        x->how.start = retrieve_has_prototypes(x->from) ? FEWSHOT_VOTE : FEWSHOT_LOWEST;
    set_options(x, r);
    if (find_rows(x, r, e)) return e->code;
    for (int i = 0; i < x->tasks; i++)
        if (shots_open_complete_task(x, i, e) || check_task(x, i, e))
            return x->tasks > 1 ? err_prefix(e, "task %s", config_task_name(&x->c, i)) : e->code;
    complete_all(x);
    shots_open_set_regime(x);
    return shots_open_check_plan(x, e);
}

static void add_axis(struct sweep_spec *s, const char *key, int values) {
    struct sweep_axis *a = &s->axis[s->axes++];
    *a = (struct sweep_axis){ .key = xstrdup(key), .values = values,
                              .value = xcalloc((size_t)values + 1, sizeof *a->value) };
    s->option[s->options].name = xstrdup(key);
    s->option[s->options++].text = xprintf("{%s}", key);
}

/* The set of its draws, in the history. */
static int make_set(struct shots *x, struct err *e) {
    struct sweep_spec s;
    struct buf b = BUF_INIT;
    struct plan *p = by_rule(x) ? NULL : shots__plan(x, x->of, e);
    char *method = method_text(&x->c.method), *regime = config_regime_text(&x->c);
    sweep_init(&s);
    add_axis(&s, "task", x->tasks);
    add_axis(&s, "k", x->how.ks);
    for (int i = 0; i < x->tasks; i++) s.axis[0].value[i] = xstrdup(x->of[i].name);
    for (int i = 0; i < x->how.ks; i++) s.axis[1].value[i] = xprintf("%d", x->how.k[i]);
    s.seeds = x->how.draws;
    for (int i = 0; i < s.seeds; i++) s.seed[i] = (uint64_t)i;
    buf_printf(&b, "%s on %s: %s", method, x->c.task, regime);
    s.note = buf_take(&b);
    int rc = sweep_plan_of_draws(&x->plan, &s, p ? (int64_t)p->trained_method : 0, e);
    if (!rc) rc = sweep_plan_store(&x->plan, x->store, e);
    plan_free(p);
    free(method), free(regime);
    return rc;
}

int shots_prepare(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out,
                  struct err *e) {
    struct shots *x = shots_alloc(s, hook);
    *out = NULL;
    x->parent = r->parent;
    x->how = r->how;
    x->table = r->tasks != NULL;
    int rc = shots_open_make(x, r, e);
    if (rc) {
        shots_free(x);
        return rc;
    }
    *out = x;
    return 0;
}

int shots_begin(struct shots *x, const struct shots_request *r, int64_t with, struct err *e) {
    x->with = with;
    int rc = make_set(x, e);
    if (!rc) rc = shots_open_create_row(x, r, e);
    if (rc) return rc;
    x->folder = store_run_folder(x->store, x->id);
    rc = job_starts_keep(&x->starts, &x->of[0].c, x->folder, e);
    if (rc)
        store_change(x->store,
                     &(struct store_change){ .run = x->id, .state = STORE_FAILED, .reason = e->text });
    return rc;
}

int shots_new(struct store *s, const struct shots_request *r, struct shots_hook hook, struct shots **out,
              struct err *e) {
    int rc = shots_prepare(s, r, hook, out, e);
    if (!rc) rc = shots_begin(*out, r, 0, e);
    if (!rc) return 0;
    shots_free(*out);
    *out = NULL;
    return rc;
}

/* ---- resuming ---- */

int shots__read_how(const struct store_run *run, struct fewshot *how, json_t **all, struct err *e) {
    char *name = xprintf("run %lld", (long long)run->id);
    *all = json_parse(name, run->config, strlen(run->config), e);
    free(name);
    if (!*all) return e->code;
    const json_t *o = json_object_get(*all, "fewshot");
    int rc = o ? fewshot_from_json(o, how, e)
               : err_set(e, ERR_INPUT, "run %lld: its config has no \"fewshot\"",
                         (long long)run->id);
    if (!rc) return 0;
    json_decref(*all);
    return rc;
}

static int shots_open_same_file(const char *was, const char *now, const char *path, struct err *e) {
    if (!was || !now || !strcmp(was, now)) return 0;
    return err_set(e, ERR_INPUT, "%s: changed since the run was started; restore the file to resume",
                   path);
}

static int shots_open_check_rows(const struct shots_task *t, struct err *e) {
    const struct dataset *dev = t->task.devs ? &t->task.dev[0] : NULL;
    int rc = shots_open_same_file(t->c.train_sha256, t->task.train.sha256, t->task.train.path, e);
    if (!rc && dev && !(t->c.split > 0))
        rc = shots_open_same_file(t->c.dev_sha256, dev->sha256, dev->path, e);
    return rc;
}

static int recall_tasks(struct shots *x, struct err *e) {
    x->tasks = config_task_count(&x->c);
    x->of = xcalloc((size_t)x->tasks, sizeof *x->of);
    for (int i = 0; i < x->tasks; i++) {
        struct shots_task *t = &x->of[i];
        config_of_task(&x->c, i, &t->c);
        config_put(&t->c, "regime", of_a_draw);
        if (shots__open_task(x, t, e) || shots_open_check_rows(t, e)) return e->code;
        const char *name = config_task_name(&x->c, i);
        shots__key_name(*name ? name : t->c.task, t->name);
    }
    return 0;
}

static int shots_open_recall(struct shots *x, const struct store_run *run, const char *model, struct err *e) {
    struct run_config parent;
    struct buf said = BUF_INIT;
    json_t *all;
    if (shots__read_how(run, &x->how, &all, e)) return e->code;
    x->table = json_is_true(json_object_get(json_object_get(all, "fewshot"), "table"));
    json_decref(all);
    if (record_config_of(run, &x->c, e)) return e->code;
    x->parent = config_regime(&x->c).from;
    moved_rows(&x->c, store_path(x->store), &said);
    if (x->parent && open_parent(x, model, &parent, e)) {
        buf_release(&said);
        return e->code;
    }
    if (x->parent) config_release(&parent);
    else x->model = backbone_open(&x->c, &(struct backbone_hint){ .given = model }, &said, e);
    shots__say(x, &said);
    if (!x->model || run_check_model(&x->c, x->model, "the run was started", e)) return e->code;
    return recall_tasks(x, e);
}

/* Takes ownership of the run, or trains draws of one that another process owns. */
static int take_over(struct shots *x, const struct store_run *run, struct err *e) {
    x->joined = store_state_is_live(run->state) && !by_rule(x);
    int rc = sweep_plan_open(&x->plan, x->store, run->sweep, e);
    return rc || x->joined ? rc : store_adopt_run(x->store, run->id, e);
}

int shots_resume(struct store *s, int64_t run, const char *model, struct shots_hook hook, struct shots **out,
                 struct err *e) {
    struct shots *x = shots_alloc(s, hook);
    struct store_run stored;
    *out = NULL;
    int rc = store_run(s, run, &stored, e);
    bool finished = !rc && stored.state == STORE_FINISHED;
    if (!rc && !finished && run_row_is_draw(&stored)) {
        x->only = run;
        run = stored.parent;
        store_run_release(&stored);
        rc = store_run(s, run, &stored, e);
    }
    if (!rc) {
        rc = finished ? err_set(e, ERR_USAGE, "run %lld is finished and cannot be resumed",
                                (long long)run)
                      : shots_open_recall(x, &stored, model, e);
        if (!rc) rc = take_over(x, &stored, e);
        store_run_release(&stored);
    }
    if (rc) {
        shots_free(x);
        return rc;
    }
    x->id = run;
    x->folder = store_run_folder(x->store, x->id);
    *out = x;
    return 0;
}
