#include "core/base/clock.h"
#include "core/train/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/facts.h"
#include "core/train/checkpoint.h"
#include "core/train/complete.h"
#include "core/train/head.h"
#include "core/train/state.h"

/* ---- making and freeing ---- */

static real *block(size_t n) {
    real *p = mem_try(n ? n : 1, sizeof *p);
    if (p) memset(p, 0, (n ? n : 1) * sizeof *p);
    return p;
}

static int init_scoring(struct run *r, struct err *e) {
    struct generate_options how;
    if (r->text && r->task->devs) {
        int rc = text_options(r->m, r->task, r->c.beams, r->c.max_target, &how, e);
        if (rc) return rc;
        samples_init(r, &how);
    }
    for (int i = 0; i < r->task->devs; i++) {
        if (r->text) text_scoring_init(&r->text_scoring[i], r->m, &r->task->dev[i], true, &how);
        else scoring_init(&r->scoring[i], &r->task->dev[i], r->plan->classes);
    }
    return 0;
}

static int allocate(struct run *r, struct err *e) {
    size_t trained = r->plan->trained, made = r->plan->made_size;
    bool adam = r->c.optimiser == OPTIMISER_ADAMW, momentum = r->c.momentum > 0;
    r->params = block(trained);
    r->made = block(made);
    r->sum = block(trained + made);
    if (adam || momentum) r->adam_m = block(trained);
    if (adam) r->adam_v = block(trained);
    if (r->plan->made) r->prologue_grad = block(trained);
    if (!r->params || !r->made || !r->sum || ((adam || momentum) && !r->adam_m) ||
        (adam && !r->adam_v) || (r->plan->made && !r->prologue_grad))
        return err_set(e, ERR_SYSTEM,
                       "no memory for %zu trained values, their gradients and the optimiser",
                       trained);
    r->group = xcalloc((size_t)r->plan->tensors, sizeof *r->group);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        r->group[i] = (struct optim_group){ t->offset, t->count, 1, t->decays ? 1 : 0 };
    }
    size_t batch =
        (size_t)r->c.batch < r->task->train.rows ? (size_t)r->c.batch : r->task->train.rows;
    size_t parts = (size_t)r->c.accumulate * (size_t)r->c.shards;
    r->order = xmalloc(r->task->train.rows * sizeof *r->order);
    r->cut.row = xmalloc(batch * sizeof *r->cut.row);
    r->cut.scratch = xmalloc(batch * sizeof *r->cut.scratch);
    r->cut.start = xmalloc((parts + 1) * sizeof *r->cut.start);
    r->part = xcalloc(parts, sizeof *r->part);
    if (r->plan->made) {
        r->prologue_arena = arena_new();
        r->prologue = tape_new(r->prologue_arena);
        r->made_node = xcalloc((size_t)r->plan->made, sizeof *r->made_node);
        r->made_seed = xcalloc((size_t)r->plan->made, sizeof *r->made_seed);
    }
    watch_init(r);
    return init_scoring(r, e);
}

static int check_plan(const struct plan *p, struct err *e) {
    if (p->trained) return 0;
    return err_set(e, ERR_USAGE, "V41: nothing is trained: a model that writes text has no head of its own, so add "
                                 "a module, as lora");
}

int run_check(const struct run_config *c, const struct model *m, const struct task *task, struct err *e) {
    struct generate_options how;
    int rc = config_check(c, task, e);
    struct plan *p = rc ? NULL : plan_new(&c->method, &m->arch, run_outputs(task), e);
    if (!rc) rc = p ? check_plan(p, e) : e->code;
    if (!rc && task->kind == DATA_TEXT && task->devs) rc = text_options(m, task, c->beams, c->max_target, &how, e);
    plan_free(p);
    return rc;
}

/* Everything but the values of the parameters.  c is taken over, also on failure. */
static struct run *build(int64_t id, struct run_config *c, struct model *m, struct task *task,
                         const char *folder, struct event_sink sink, struct err *e) {
    struct run *r = xcalloc(1, sizeof *r);
    r->id = id;
    r->c = *c;
    r->m = m;
    r->task = task;
    r->folder = folder ? xstrdup(folder) : NULL;
    r->sink = sink;
    r->metric = (enum metric_id)metric_find(c->metric);
    r->text = task->kind == DATA_TEXT;
    r->order_epoch = -1;
    r->evaluated = -1;
    r->bad_chunk = -1;
    r->saved_at = -3; /* the first evaluation is saved */
    r->state = RUN_QUEUED;
    r->phase = PHASE_BEGIN;
    r->per_epoch = ((int64_t)task->train.rows + r->c.batch - 1) / r->c.batch;
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->turn);
    r->plan = plan_new(&r->c.method, &m->arch, run_outputs(task), e);
    if (!r->plan || check_plan(r->plan, e) || allocate(r, e) || (folder && file_make_folder(folder, e))) {
        run_free(r);
        return NULL;
    }
    if (folder) file_sweep_aside(folder);
    return r;
}

void run_free(struct run *r) {
    if (!r) return;
    for (int i = 0; i < RUN_WORKERS; i++)
        if (r->attach[i]) attach_free(r->attach[i]);
    for (int i = 0; i < TASK_DEVS; i++) {
        scoring_release(&r->scoring[i]);
        text_scoring_release(&r->text_scoring[i]);
    }
    watch_release(r);
    samples_release(r);
    if (r->prologue) tape_free(r->prologue);
    if (r->prologue_arena) arena_free(r->prologue_arena);
    if (r->plan) plan_free(r->plan);
    free(r->group);
    free(r->made_node);
    free(r->made_seed);
    free(r->params);
    free(r->made);
    free(r->sum);
    free(r->adam_m);
    free(r->adam_v);
    free(r->prologue_grad);
    free(r->order);
    free(r->cut.row);
    free(r->cut.scratch);
    free(r->cut.start);
    free(r->part);
    free(r->folder);
    config_release(&r->c);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->turn);
    free(r);
}

/* ---- resuming ---- */

/* step < 0: since its beginning. */
static int changed(const char *path, int64_t step, struct err *e) {
    char when[40] = "this run was begun";
    if (step >= 0) snprintf(when, sizeof when, "step %lld of this run", (long long)step);
    return err_set(e, ERR_INPUT, "%s: changed since %s; resume with the file as it was", path, when);
}

static bool same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

/* Whether model and files are those that the run was begun with.  `was`: its config; `c`: of now, resolved;
 * `step`: where it goes on, < 0: at its beginning. */
static int check_files(const struct run_config *was, int64_t step, const struct run_config *c,
                       const struct model *m, struct err *e) {
    if (!same(was->model_sha256, m->sha256)) {
        char *path = file_join(m->folder, "model.safetensors");
        changed(file_exists(path) ? path : m->folder, step, e);
        free(path);
        return e->code;
    }
    char *since = step < 0 ? xstrdup("this run was begun") : xprintf("step %lld of this run", (long long)step);
    int rc = was->model_facts ? facts_check(m, was->model_facts, since, e) : 0;
    free(since);
    if (rc) return rc;
    if (!same(was->train_sha256, c->train_sha256)) return changed(c->train_file, step, e);
    if (!same(was->dev_sha256, c->dev_sha256))
        return changed(c->dev_file ? c->dev_file : was->dev_file, step, e);
    return 0;
}

/* `c`: what is asked for now, resolved; the checkpoint's config is what was begun. */
static int check_resumable(const struct checkpoint *k, const struct run_config *c,
                           const struct model *m, struct err *e) {
    const struct run_config *was = &k->config;
    if (k->finished)
        return err_set(e, ERR_USAGE,
                       "%s: the run is finished (%lld steps); there is nothing to resume", k->path,
                       (long long)k->step);
    if (check_files(was, k->step, c, m, e)) return e->code;
    const char *option = config_difference(was, c);
    if (!option) return 0;
    char *before = config_get(was, option), *now = config_get(c, option);
    err_set(e, ERR_USAGE,
            "--%s: the run was begun with %s, not %s; resume it as it was begun, or "
            "train a new one",
            option, before, now);
    free(before);
    free(now);
    return e->code;
}

/* `again`: c is the config of a run that has been begun before. */
static struct run *begin(int64_t id, const struct run_config *c, bool again, struct model *m, struct task *task,
                         const char *folder, struct event_sink sink, struct err *e) {
    struct err own = ERR_INIT;
    struct run_config copy;
    if (!e) e = &own;
    config_copy(&copy, c);
    if (config_complete(&copy, m, task, e) ||
        (again ? check_files(c, -1, &copy, m, e) : config_check(&copy, task, e))) {
        config_release(&copy);
        return NULL;
    }
    struct run *r = build(id, &copy, m, task, folder, sink, e);
    if (!r) return NULL;
    int *row = xcalloc((size_t)r->plan->classes + 1, sizeof *row);
    const int *const rows[] = { head_rows(m, task, row, NULL) ? row : NULL };
    BUG_IF(r->plan->tasks != 1);
    plan_init_head(r->plan, m, rows, r->c.seed, r->params);
    free(row);
    return r;
}

struct run *run_new(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                    const char *folder, struct event_sink sink, struct err *e) {
    return begin(id, c, false, m, task, folder, sink, e);
}

bool run_has_checkpoint(const char *folder) {
    char *path = checkpoint_path(folder, true);
    bool there = file_exists(path);
    free(path);
    return there;
}

struct run *run_resume_from(int64_t id, const struct run_config *c, struct model *m,
                            struct task *task, const char *folder, struct event_sink sink,
                            struct err *e) {
    struct err own = ERR_INIT;
    struct checkpoint k;
    struct run_config copy;
    struct run *r = NULL;
    if (!e) e = &own;
    if (c && c->train_sha256 && !run_has_checkpoint(folder)) return begin(id, c, true, m, task, folder, sink, e);
    char *path = checkpoint_path(folder, true);
    int rc = checkpoint_open(&k, path, e);
    free(path);
    if (rc) return NULL;
    config_copy(&copy, c ? c : &k.config);
    if (config_complete(&copy, m, task, e) || check_resumable(&k, &copy, m, e)) {
        config_release(&copy);
    } else {
        r = build(id, &copy, m, task, folder, sink, e);
    }
    if (r && checkpoint_read(&k, r->plan, true, r->params, r->made, r->adam_m, r->adam_v, e)) {
        run_free(r);
        r = NULL;
    }
    if (r) {
        r->step = k.step;
        r->before = k.seconds;
        r->saved_at += k.seconds;
        r->loss = k.loss;
        r->best = k.best;
        r->worse = k.worse;
        r->evaluated = k.evaluated;
        r->early = r->c.early_stop > 0 && r->worse >= r->c.early_stop;
    }
    checkpoint_close(&k);
    return r;
}
