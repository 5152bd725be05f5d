#include "core/train/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/method/functions.h"
#include "core/method/masked.h"
#include "core/model/facts.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/meta/episodes.h"
#include "core/train/meta/meta_run.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/distil.h"
#include "core/train/run/head.h"
#include "core/train/run/share.h"
#include "core/train/run/start.h"
#include "core/train/run/state.h"

/* ---- making and freeing ---- */

static real *setup_block(size_t n) {
    real *p = mem_try(n ? n : 1, sizeof *p);
    if (p) memset(p, 0, (n ? n : 1) * sizeof *p);
    return p;
}

static void init_split(struct run *r, struct run_split *s, int task, int dev,
                       const struct generate_options *how) {
    struct task *t = r->of[task].task;
    struct dataset *d = dev == SPLIT_TEST ? &t->test : &t->dev[dev];
    s->task = task;
    s->dev = dev;
    if (r->masking) masked_scoring_init(&s->masked, r->masking, d);
    else if (r->text) text_scoring_init(&s->text, r->m, d, true, how);
    else scoring_init(&s->scoring, d, r->plan->outputs[task]);
    s->text.task = s->scoring.task = task;
}

static int init_task(struct run *r, int task, struct err *e) {
    struct generate_options how;
    const struct task *t = r->of[task].task;
    if (r->text && t->devs) {
        int rc = text_options(r->m, t, r->c.beams, r->c.max_target, &how, e);
        if (rc) return rc;
        samples_init(r, task, &how);
    }
    for (int i = 0; i < t->devs; i++) init_split(r, &r->split[r->splits++], task, i, &how);
    if (t->has_test) init_split(r, &r->test[r->tests++], task, SPLIT_TEST, &how);
    return 0;
}

static int init_scoring(struct run *r, struct err *e) {
    r->split = xcalloc((size_t)r->tasks * TASK_DEVS, sizeof *r->split);
    r->test = xcalloc((size_t)r->tasks, sizeof *r->test);
    for (int i = 0; i < r->tasks; i++)
        if (init_task(r, i, e)) return e->code;
    return 0;
}

/* Over episodes rows are taken by these. */
static void set_stand_in(struct run *r) {
    const struct sampling how = { SAMPLING_PROPORTIONAL, 1 };
    r->tasks = 1;
    r->of = xcalloc(1, sizeof *r->of);
    r->first = xcalloc(2, sizeof *r->first);
    r->of[0] =
        (struct run_task){ .name = "", .task = meta_stand_in(r), .weight = 1, .metric = METRIC_ACCURACY };
    r->sampler = sampler_new(&how, r->c.seed, 1, (const size_t[]){ 1 }, 1);
}

/* The tasks, their rows' numbers, and the order that steps take them in. */
static int setup_set_tasks(struct run *r, const struct run_tasks *tasks, struct err *e) {
    const struct sampling how = config_sampling(&r->c);
    size_t rows[RUN_TASKS];
    if (r->meta) {
        set_stand_in(r);
        return 0;
    }
    r->tasks = tasks->count;
    r->of = xcalloc((size_t)tasks->count, sizeof *r->of);
    r->first = xcalloc((size_t)tasks->count + 1, sizeof *r->first);
    for (int i = 0; i < tasks->count; i++) {
        const struct run_config *c = config_rows_of(&r->c, i);
        r->of[i] = (struct run_task){ .name = config_task_name(&r->c, i), .task = tasks->task[i],
                                      .weight = r->c.tasks ? c->task_weight : 1,
                                      .metric = (enum metric_id)metric_find(c->metric) };
        rows[i] = tasks->task[i]->train.rows;
        r->first[i + 1] = r->first[i] + (uint32_t)rows[i];
    }
    r->sampler = sampler_new(&how, r->c.seed, tasks->count, rows, r->c.batch);
    r->text = tasks->task[0]->kind == DATA_TEXT;
    if (tasks->task[0]->kind == DATA_MASKED && !(r->masking = masking_new(r->m, r->c.whole_words, e)))
        return e->code;
    return 0;
}

static struct plan *setup_plan_of(const struct run_config *c, const struct method *m,
                                  const struct run_tasks *tasks, const struct arch *a, struct err *e) {
    const char *name[RUN_TASKS];
    int outputs[RUN_TASKS];
    const struct regime regime = config_regime(c);
    const struct plan_meta meta = regime_plan(&regime);
    for (int i = 0; i < tasks->count && !meta.on; i++) {
        name[i] = config_task_name(c, i);
        outputs[i] = run_outputs(tasks->task[i]);
    }
    if (meta.on) { /* an episode's classes are its own */
        name[0] = "";
        outputs[0] = 0;
    }
    const struct plan_tasks all = { meta.on ? 1 : tasks->count, name, outputs, &meta };
    struct plan *p = plan_new_tasks(m, a, &all, e);
    if (!p || !plan_fits(p, e)) return p;
    plan_free(p);
    return NULL;
}

struct plan *run_plan_for(const struct run_config *c, const struct run_tasks *tasks, const struct arch *a,
                          struct err *e) {
    return setup_plan_of(c, &c->method, tasks, a, e);
}

struct plan *run_plan_for_stage(const struct run_config *c, const struct stages *s, int k,
                                const struct run_tasks *tasks, const struct arch *a, struct err *e) {
    struct plan *p = setup_plan_of(c, &s->stage[k].method, tasks, a, e);
    if (!p) err_prefix(e, "stage %d", k + 1);
    return p;
}

int setup_values(struct run *r, struct err *e) {
    size_t trained = r->plan->trained, made = r->plan->made_size;
    bool adam = r->c.optimizer == OPTIMIZER_ADAMW, momentum = r->c.momentum > 0;
    r->params = setup_block(trained);
    r->made = setup_block(made);
    r->sum = setup_block(trained + made);
    if (adam || momentum) r->adam_m = setup_block(trained);
    if (adam) r->adam_v = setup_block(trained);
    if (r->plan->made) r->prologue_grad = setup_block(trained);
    bool budget = r->plan->method.budget.on;
    if (budget) r->budget_mean = setup_block(trained);
    if (budget) r->budget_spread = setup_block(trained);
    if (!r->params || !r->made || !r->sum || ((adam || momentum) && !r->adam_m) || (adam && !r->adam_v) ||
        (budget && (!r->budget_mean || !r->budget_spread)) || (r->plan->made && !r->prologue_grad))
        return err_set(e, ERR_SYSTEM,
                       "no memory for %zu trained values, their gradients and the optimizer",
                       trained);
    footprint_values(r);
    r->group = xcalloc((size_t)r->plan->tensors, sizeof *r->group);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        bool still = t->fixed || t->frozen;
        r->group[i] = (struct optim_group){ t->offset, t->count,
                                            still ? 0 : masked_rate(r->plan, t, r->span_of.lr),
                                            t->decays && !still ? 1 : 0 };
    }
    if (r->plan->made) {
        r->prologue_arena = arena_new();
        r->prologue = tape_new(r->prologue_arena);
        r->made_node = xcalloc((size_t)r->plan->made, sizeof *r->made_node);
        r->made_seed = xcalloc((size_t)r->plan->made, sizeof *r->made_seed);
    }
    return 0;
}

void setup_release_values(struct run *r) {
    for (int i = 0; i < CREW_MOST; i++)
        if (r->attach[i]) attach_free(r->attach[i]);
    memset(r->attach, 0, sizeof r->attach);
    if (r->prologue) tape_free(r->prologue);
    if (r->prologue_arena) arena_free(r->prologue_arena);
    r->prologue = NULL;
    r->prologue_arena = NULL;
    free(r->group);
    free(r->made_node);
    free(r->made_seed);
    free(r->params);
    free(r->made);
    free(r->sum);
    free(r->budget_mean);
    free(r->budget_spread);
    free(r->adam_m);
    free(r->adam_v);
    free(r->prologue_grad);
    r->group = NULL;
    r->made_node = NULL;
    r->made_seed = NULL;
    r->params = r->made = r->sum = r->budget_mean = r->budget_spread = r->adam_m = r->adam_v =
        r->prologue_grad = NULL;
}

struct setup_call {
    struct run *r;
    struct err *e;
    int rc;
};

static void setup_allocate(void *self) {
    struct setup_call *x = self;
    struct run *r = x->r;
    if ((x->rc = setup_values(r, x->e))) return;
    size_t batch = (size_t)r->c.batch, parts = (size_t)r->c.accumulate * (size_t)r->c.shards;
    if (r->meta && (size_t)meta_parts(r) > parts) parts = (size_t)meta_parts(r);
    r->row = xmalloc(batch * sizeof *r->row);
    r->tokens = xmalloc(batch * sizeof *r->tokens);
    r->cut.row = xmalloc(batch * sizeof *r->cut.row);
    r->cut.scratch = xmalloc(batch * sizeof *r->cut.scratch);
    r->cut.start = xmalloc((parts + 1) * sizeof *r->cut.start);
    r->part = xcalloc(parts, sizeof *r->part);
    r->part_losses = xcalloc(parts * (size_t)r->tasks, sizeof *r->part_losses);
    join_init(r);
    watch_init(r);
    if (r->masking) r->drawn = xcalloc((size_t)r->c.max_len, sizeof *r->drawn);
    if (!(x->rc = init_scoring(r, x->e))) share_init(r);
}

/* What the batch and the examples decide of a run's memory. */
static int setup_memory(struct run *r, struct err *e) {
    struct setup_call x = { r, e, 0 };
    size_t lacks = mem_guard(setup_allocate, &x);
    return lacks
               ? err_set(
                     e, ERR_SYSTEM,
                     "out of memory: a block of %zu bytes could not be allocated; use a smaller --batch, or "
                     "fewer evaluation examples (--eval-rows)",
                     lacks)
               : x.rc;
}

/* What a run over episodes cannot be made of is known before it begins. */
static int check_meta(const struct run_config *c, const struct model *m, const struct run_tasks *tasks,
                      struct err *e) {
    const struct regime r = config_regime(c);
    struct episodes *s = episodes_open(c, &r, m, tasks, e);
    episodes_free(s);
    return s ? 0 : e->code;
}

/* Every stage's method on this model, and that it trains something. */
static int check_stages(const struct run_config *c, const struct model *m, const struct run_tasks *tasks,
                        struct err *e) {
    const struct stages *s = config_stages(c);
    int rc = 0;
    for (int k = 0; s && !rc && k < s->count; k++) {
        struct plan *p = run_plan_for_stage(c, s, k, tasks, &m->arch, e);
        rc = p ? config_check_plan(p, e) : e->code;
        if (!rc) rc = stage_narrow(s, k, p, e);
        plan_free(p);
    }
    return rc;
}

int run_check(const struct run_config *c, const struct model *m, const struct run_tasks *tasks,
              struct err *e) {
    struct generate_options how;
    int rc = config_check(c, tasks, e);
    if (!rc) rc = check_stages(c, m, tasks, e);
    struct plan *p = rc ? NULL : run_plan_for(c, tasks, &m->arch, e);
    if (!rc) rc = p ? config_check_plan(p, e) : e->code;
    if (!rc && p->meta.on) rc = check_meta(c, m, tasks, e);
    for (int i = 0; i < tasks->count && !rc; i++) {
        const struct task *t = tasks->task[i];
        if (t->kind == DATA_TEXT && t->devs) rc = text_options(m, t, c->beams, c->max_target, &how, e);
    }
    plan_free(p);
    return rc;
}

/* Everything but the values of the parameters, with the stage of that number in hand.  c is taken over, also
 * on failure. */
static struct run *setup_build(int64_t id, struct run_config *c, int stage, struct model *m,
                               const struct run_tasks *tasks,
                               const char *folder, struct event_sink sink, struct err *e) {
    struct run *r = xcalloc(1, sizeof *r);
    r->id = id;
    r->c = *c;
    r->m = m;
    r->folder = folder ? xstrdup(folder) : NULL;
    r->sink = sink;
    r->evaluated = -1;
    r->bad_chunk = -1;
    r->saved_at = -3; /* the first evaluation is saved */
    r->state = RUN_QUEUED;
    r->phase = PHASE_BEGIN;
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->turn);
    r->stages = config_stages(&r->c);
    stage_span_take(r, r->stages && stage < r->stages->count ? stage : 0);
    r->plan = r->stages ? run_plan_for_stage(&r->c, r->stages, r->stage, tasks, &m->arch, e)
                        : run_plan_for(&r->c, tasks, &m->arch, e);
    if (!r->plan || config_check_plan(r->plan, e) ||
        (r->stages && stage_narrow(r->stages, r->stage, r->plan, e)) ||
        (r->plan->meta.on && meta_begin(r, tasks, e)) || setup_set_tasks(r, tasks, e) || setup_memory(r, e) ||
        (folder && file_make_folder(folder, e))) {
        run_free(r);
        return NULL;
    }
    if (folder) file_sweep_aside(folder);
    return r;
}

static void release_split(struct run_split *s) {
    scoring_release(&s->scoring);
    text_scoring_release(&s->text);
    masked_scoring_release(&s->masked);
}

void run_free(struct run *r) {
    if (!r) return;
    setup_release_values(r);
    for (int i = 0; i < r->splits; i++) release_split(&r->split[i]);
    for (int i = 0; i < r->tests; i++) release_split(&r->test[i]);
    free(r->split);
    join_release(r);
    free(r->test);
    test_release(r);
    watch_release(r);
    share_release(r);
    moved_free(r->moved);
    samples_release(r);
    meta_release(r);
    if (r->plan) plan_free(r->plan);
    distil_free(r->distil);
    masking_free(r->masking);
    free(r->drawn);
    sampler_free(r->sampler);
    free(r->of);
    free(r->first);
    free(r->row);
    free(r->tokens);
    free(r->part_losses);
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

static int setup_changed(const char *path, const char *since, struct err *e) {
    return err_set(e, ERR_INPUT, "%s: changed since %s; resume with the file as it was", path, since);
}

static bool setup_same(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

int run_check_model(const struct run_config *was, const struct model *m, const char *since, struct err *e) {
    if (setup_same(was->model_sha256, m->sha256))
        return was->model_facts ? facts_check(m, was->model_facts, since, e) : 0;
    char *path = file_join(m->folder, "model.safetensors");
    setup_changed(file_exists(path) ? path : m->folder, since, e);
    free(path);
    return e->code;
}

/* Whether model and files are those that the run was begun with.  `was`: its config; `c`: of now, resolved;
 * `since`: where it goes on. */
static int setup_check_files(const struct run_config *was, const char *since, const struct run_config *c,
                             const struct model *m, struct err *e) {
    if (run_check_model(was, m, since, e)) return e->code;
    if (!setup_same(was->episodes_sha256, c->episodes_sha256))
        return setup_changed(c->episodes ? c->episodes : was->episodes, since, e);
    for (int i = 0; i < config_task_count(was) && i < config_task_count(c); i++) {
        const struct run_config *before = config_rows_of(was, i), *now = config_rows_of(c, i);
        if (!setup_same(before->train_sha256, now->train_sha256))
            return setup_changed(now->train_file, since, e);
        if (!setup_same(before->dev_sha256, now->dev_sha256))
            return setup_changed(now->dev_file ? now->dev_file : before->dev_file, since, e);
        if (before->second_dev_sha256 && !setup_same(before->second_dev_sha256, now->second_dev_sha256))
            return err_set(e, ERR_INPUT,
                           "%s: its second dev file changed since %s; resume with the file as it was",
                           now->task_folder ? now->task_folder : now->task, since);
    }
    return 0;
}

/* `c`: what is asked for now, resolved; the checkpoint's config is what was begun. */
static int setup_check_resumable(const struct checkpoint *k, const struct run_config *c,
                                 const struct model *m, struct err *e) {
    const struct run_config *was = &k->config;
    if (k->finished)
        return err_set(e, ERR_USAGE,
                       "%s: the run is finished (%lld steps); there is nothing to resume", k->path,
                       (long long)k->step);
    char since[48];
    snprintf(since, sizeof since, "step %lld of this run", (long long)k->step);
    if (setup_check_files(was, since, c, m, e)) return e->code;
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

void setup_init_values(struct run *r) {
    int *row[RUN_TASKS];
    const int *rows[RUN_TASKS];
    for (int i = 0; i < r->tasks; i++) {
        row[i] = xcalloc((size_t)r->plan->outputs[i] + 1, sizeof **row);
        rows[i] = !r->meta && head_rows(r->m, r->of[i].task, row[i], NULL) ? row[i] : NULL;
    }
    const char *const *label[RUN_TASKS];
    int labels[RUN_TASKS];
    for (int i = 0; i < r->tasks; i++) {
        label[i] = (const char *const *)r->of[i].task->class_name;
        labels[i] = r->of[i].task->classes;
    }
    const struct plan_words words = { r->c.prompt_text, labels, label };
    plan_init_head(r->plan, r->m, rows, &words, r->c.seed, r->params);
    for (int i = 0; i < r->tasks; i++) free(row[i]);
}

static int setup_teachers(struct run *r, const struct run_tasks *tasks, struct err *e) {
    if (r->c.teachers) r->distil = distil_open(&r->c, r->plan, tasks, r->m, r->folder, e);
    return r->c.teachers && !r->distil ? e->code : 0;
}

/* `again`: c is the config of a run that has been begun before.  copies: the folder that has those of runs it
 * begins with. */
static struct run *setup_begin(int64_t id, const struct run_config *c, bool again, struct model *m,
                               const struct run_tasks *tasks, const char *folder, const char *copies,
                               struct event_sink sink, struct err *e) {
    struct err own = ERR_INIT;
    struct run_config copy;
    if (!e) e = &own;
    config_copy(&copy, c);
    if (config_complete(&copy, m, tasks, e) ||
        (again ? setup_check_files(c, "this run was begun", &copy, m, e) : config_check(&copy, tasks, e))) {
        config_release(&copy);
        return NULL;
    }
    struct run *r = setup_build(id, &copy, 0, m, tasks, folder, sink, e);
    if (!r) return NULL;
    setup_init_values(r);
    if (!start_take(r, copies, e) && !setup_teachers(r, tasks, e)) {
        r->moved = moved_new(r);
        return r;
    }
    run_free(r);
    return NULL;
}

struct run *run_begin(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e) {
    return setup_begin(id, c, false, m, tasks, folder, folder, sink, e);
}

struct run *run_new(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                    const char *folder, struct event_sink sink, struct err *e) {
    const struct run_tasks one = { 1, &task };
    return run_begin(id, c, m, &one, folder, sink, e);
}

static int start_at(struct run *r, const struct run_start *s, struct err *e) {
    if (s->from && s->other) plan_carry_common(r->plan, r->params, s->from, s->values, s->task);
    else if (s->from) plan_carry(r->plan, r->params, s->from, s->values, s->task);
    if (s->parts && !plan_train_only(r->plan, s->parts))
        return err_set(e, ERR_USAGE, "nothing would train: the method has no values in the parts to tune");
    for (int i = 0; i < r->plan->tensors; i++)
        if (r->plan->tensor[i].frozen) r->group[i].lr_factor = r->group[i].weight_decay_factor = 0;
    r->stop_loss = s->stop_loss;
    r->zero = s->zero;
    return 0;
}

struct run *run_begin_at(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                         const char *folder, struct event_sink sink, const struct run_start *start,
                         struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    const struct run_tasks one = { 1, &task };
    struct run *r = setup_begin(id, c, false, m, &one, folder, start->copies ? start->copies : folder, sink,
                                e);
    if (r) moved_free(r->moved), r->moved = NULL; /* one draw of many */
    if (!r || !start_at(r, start, e)) return r;
    run_free(r);
    return NULL;
}

bool run_has_checkpoint(const char *folder) {
    char *path = checkpoint_path(folder, true);
    bool there = file_exists(path);
    free(path);
    return there;
}

bool run_drop_end(const char *folder) {
    struct checkpoint k;
    struct err unreadable = ERR_INIT; /* told when the run is made of it */
    char *path = checkpoint_path(folder, true);
    bool ended = false;
    if (run_has_checkpoint(folder) && !checkpoint_open(&k, path, &unreadable)) {
        ended = k.finished;
        checkpoint_close(&k);
    }
    if (ended) unlink(path);
    free(path);
    return ended;
}

/* The state that a run goes on from. */
static void setup_take_up(struct run *r, const struct checkpoint *k) {
    r->step = k->step;
    r->before = k->seconds;
    r->saved_at += k->seconds;
    r->loss = k->loss;
    r->best = k->best;
    for (int i = 0; i < r->tasks; i++) r->of[i].best = run_is_single(r) ? k->best : k->task[i].best;
    r->worse = k->worse;
    r->evaluated = k->evaluated;
    r->early = r->c.early_stop > 0 && r->worse >= r->c.early_stop;
}

struct run *run_go_on(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e) {
    struct err own = ERR_INIT;
    struct checkpoint k;
    struct run_config copy;
    struct run *r = NULL;
    if (!e) e = &own;
    bool begun = c && (config_rows_of(c, 0)->train_sha256 || c->episodes_sha256);
    if (begun && !run_has_checkpoint(folder))
        return setup_begin(id, c, true, m, tasks, folder, folder, sink, e);
    char *path = checkpoint_path(folder, true);
    int rc = checkpoint_open(&k, path, e);
    free(path);
    if (rc) return NULL;
    config_copy(&copy, c ? c : &k.config);
    if (config_complete(&copy, m, tasks, e) || setup_check_resumable(&k, &copy, m, e)) {
        config_release(&copy);
    } else {
        r = setup_build(id, &copy, k.stage, m, tasks, folder, sink, e);
    }
    if (r && (checkpoint_read(&k, r->plan, true, r->params, r->made, r->adam_m, r->adam_v, e) ||
              checkpoint_read_budget(&k, r->plan, r->budget_mean, r->budget_spread, e) ||
              setup_teachers(r, tasks, e))) {
        run_free(r);
        r = NULL;
    }
    if (r) setup_take_up(r, &k);
    if (r) r->moved = moved_new(r);
    checkpoint_close(&k);
    return r;
}
