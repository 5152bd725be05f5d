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
#include "core/train/run/checkpoint.h"
#include "core/train/run/distil.h"
#include "core/train/run/objective.h"
#include "core/train/run/share.h"
#include "core/train/run/start.h"

/* ---- the tasks' examples ---- */

static const struct objective *objective_of(const struct arch *a, enum data_kind kind) {
#define OBJECTIVE_ROW(name) &objective_##name,
    static const struct objective *const row[] = { OBJECTIVES(OBJECTIVE_ROW) };
#undef OBJECTIVE_ROW
    for (size_t i = 0; i < COUNT_OF(row); i++)
        if (row[i]->fits(a, kind)) return row[i];
    BUG("no objective for data of kind %d", (int)kind);
}

/* Sets up the tasks, the numbering and order of their examples, and the objective. */
static int examples_begin(struct run *r, const struct run_tasks *tasks, struct err *e) {
    const struct sampling how = config_sampling(&r->c);
    const enum data_kind kind = tasks->task[0]->kind;
    const struct objective *o = r->objective.row = objective_of(&r->m->arch, kind);
    size_t rows[RUN_TASKS];
    r->tasks = tasks->count;
    r->of = xcalloc((size_t)tasks->count, sizeof *r->of);
    r->order.first = xcalloc((size_t)tasks->count + 1, sizeof *r->order.first);
    for (int i = 0; i < tasks->count; i++) {
        const struct run_config *c = config_data_of(&r->c, i);
        r->of[i] = (struct run_task){ .name = config_task_name(&r->c, i), .task = tasks->task[i],
                                      .weight = r->c.tasks ? c->task_weight : 1,
                                      .metric = (enum metric_id)metric_find(c->metric) };
        rows[i] = tasks->task[i]->train.examples;
        r->order.first[i + 1] = r->order.first[i] + (uint32_t)rows[i];
    }
    r->order.sampler = sampler_new(&how, r->c.seed, tasks->count, rows, r->c.batch);
    return o->begin ? o->begin(r, e) : 0;
}

static void examples_release(struct run *r) {
    if (r->objective.row->release) r->objective.row->release(r);
    sampler_free(r->order.sampler);
    free(r->order.first);
    free(r->of);
}

const struct example_source source_examples = {
    .begin = examples_begin,
    .release = examples_release,
    .parts = examples_parts,
    .prepare = examples_prepare,
    .part = examples_part,
    .every = examples_every,
    .units = examples_units,
    .unit_examples = examples_unit_examples,
    .unit = examples_unit,
    .report = examples_report,
};

/* ---- creating and freeing ---- */

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
    if (meta.on) { /* classes differ between episodes */
        name[0] = "";
        outputs[0] = 0;
    }
    const struct plan_tasks all = { meta.on ? 1 : tasks->count, name, outputs, &meta };
    struct plan *p = plan_new_tasks(m, a, &all, e);
    if (p) p->precision = c->precision;
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

struct setup_call {
    struct run *r;
    struct err *e;
    int rc;
};

static void setup_allocate(void *self) {
    struct setup_call *x = self;
    struct run *r = x->r;
    if ((x->rc = run_values_init(r, x->e))) return;
    step_init(r);
    join_init(r);
    watch_init(r);
    if (!(x->rc = evaluation_init(r, x->e))) share_init(r);
}

/* Allocates the memory that depends on batch size and examples. */
static int setup_memory(struct run *r, struct err *e) {
    struct setup_call x = { r, e, 0 };
    size_t lacks = mem_guard(setup_allocate, &x);
    return lacks ? err_memory(e, lacks, "use a smaller --batch, or fewer evaluation examples (--eval-rows)")
                 : x.rc;
}

/* Refuses a run over episodes that the data do not support, before it starts. */
static int check_meta(const struct run_config *c, const struct model *m, const struct run_tasks *tasks,
                      struct err *e) {
    const struct regime r = config_regime(c);
    struct episodes *s = episodes_open(c, &r, m, tasks, e);
    episodes_free(s);
    return s ? 0 : e->code;
}

/* Checks that the method of every stage fits the model and has trainable parameters. */
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
        const char *given = config_data_of(c, i)->metric;
        enum metric_id metric = given ? (enum metric_id)metric_find(given) : t->metric;
        if (t->kind == DATA_TEXT && t->devs && text_generates(m, metric))
            rc = text_options(m, t, c->beams, c->max_target, &how, e);
    }
    plan_free(p);
    return rc;
}

static int setup_begin_source(struct run *r, const struct run_tasks *tasks, struct err *e) {
    r->objective.source = r->plan->meta.on ? &source_episodes : &source_examples;
    return r->objective.source->begin(r, tasks, e);
}

/* Creates everything except the values of parameters, at the given stage. Takes ownership of c, also on
 * failure. */
static struct run *setup_build(int64_t id, struct run_config *c, int stage, struct model *m,
                               const struct run_tasks *tasks,
                               const char *folder, struct event_sink sink, struct err *e) {
    struct run *r = xcalloc(1, sizeof *r);
    r->id = id;
    r->c = *c;
    r->m = m;
    r->folder = folder ? xstrdup(folder) : NULL;
    r->sink = sink;
    r->evaluation.evaluated = -1;
    r->evaluation.bad_chunk = -1;
    r->clock.saved_at = -3; /* the first evaluation saves a checkpoint */
    r->control.state = RUN_QUEUED;
    r->control.phase = PHASE_BEGIN;
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->control.turn);
    r->stages.of = config_stages(&r->c);
    stage_span_take(r, r->stages.of && stage < r->stages.of->count ? stage : 0);
    r->plan = r->stages.of ? run_plan_for_stage(&r->c, r->stages.of, r->stages.now, tasks, &m->arch, e)
                        : run_plan_for(&r->c, tasks, &m->arch, e);
    if (!r->plan || config_check_plan(r->plan, e) ||
        (r->stages.of && stage_narrow(r->stages.of, r->stages.now, r->plan, e)) ||
        setup_begin_source(r, tasks, e) || setup_memory(r, e) ||
        (folder && file_make_folder(folder, e))) {
        run_free(r);
        return NULL;
    }
    if (folder) file_sweep_temporary(folder);
    return r;
}

void run_free(struct run *r) {
    if (!r) return;
    run_values_release(r);
    evaluation_release(r);
    test_release(r);
    join_release(r);
    watch_release(r);
    share_release(r);
    moved_free(r->moved);
    samples_release(r);
    step_release(r);
    distil_free(r->objective.distil);
    if (r->objective.source) r->objective.source->release(r);
    plan_free(r->plan);
    free(r->folder);
    config_release(&r->c);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->control.turn);
    free(r);
}

/* ---- resuming ---- */

static int setup_changed(const char *path, const char *since, struct err *e) {
    return err_set(e, ERR_INPUT, "%s: changed since %s; restore the file to resume", path, since);
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

/* Checks that model and files are those with which the run was started. `was`: its config; `c`: the current
 * one, completed; `since`: where it resumes. */
static int setup_check_files(const struct run_config *was, const char *since, const struct run_config *c,
                             const struct model *m, struct err *e) {
    if (run_check_model(was, m, since, e)) return e->code;
    if (!setup_same(was->episodes_sha256, c->episodes_sha256))
        return setup_changed(c->episodes ? c->episodes : was->episodes, since, e);
    for (int i = 0; i < config_task_count(was) && i < config_task_count(c); i++) {
        const struct run_config *before = config_data_of(was, i), *now = config_data_of(c, i);
        if (!setup_same(before->train_sha256, now->train_sha256))
            return setup_changed(now->train_file, since, e);
        if (!setup_same(before->dev_sha256, now->dev_sha256))
            return setup_changed(now->dev_file ? now->dev_file : before->dev_file, since, e);
        if (before->second_dev_sha256 && !setup_same(before->second_dev_sha256, now->second_dev_sha256))
            return err_set(e, ERR_INPUT,
                           "%s: the second validation file has changed since %s; restore it to resume",
                           now->task_folder ? now->task_folder : now->task, since);
    }
    return 0;
}

/* Checks a requested config `c`, completed, against that of the checkpoint. */
static int setup_check_resumable(const struct checkpoint *k, const struct run_config *c,
                                 const struct model *m, struct err *e) {
    const struct run_config *was = &k->config;
    if (k->finished)
        return err_set(e, ERR_USAGE,
                       "%s: the run has finished (%lld step%s) and cannot be resumed", k->path,
                       (long long)k->step, k->step == 1 ? "" : "s");
    char since[48];
    snprintf(since, sizeof since, "step %lld of this run", (long long)k->step);
    if (setup_check_files(was, since, c, m, e)) return e->code;
    const char *option = config_difference(was, c);
    if (!option) return 0;
    char *before = config_get(was, option), *now = config_get(c, option);
    err_set(e, ERR_USAGE,
            "--%s: the run was started with %s, not %s; omit the option, or train a new run",
            option, before, now);
    free(before);
    free(now);
    return e->code;
}

static int setup_teachers(struct run *r, const struct run_tasks *tasks, struct err *e) {
    if (r->c.teachers) r->objective.distil = distil_open(&r->c, r->plan, tasks, r->m, r->folder, e);
    return r->c.teachers && !r->objective.distil ? e->code : 0;
}

/* `again`: c is the config of a run that was started before. copies: folder with copies of the runs from
 * which it is initialized. */
static struct run *setup_begin(int64_t id, const struct run_config *c, bool again, struct model *m,
                               const struct run_tasks *tasks, const char *folder, const char *copies,
                               struct event_sink sink, struct err *e) {
    struct err own = ERR_INIT;
    struct run_config copy;
    if (!e) e = &own;
    config_copy(&copy, c);
    if (config_complete(&copy, m, tasks, e) ||
        (again ? setup_check_files(c, "the run was started", &copy, m, e) : config_check(&copy, tasks, e))) {
        config_release(&copy);
        return NULL;
    }
    struct run *r = setup_build(id, &copy, 0, m, tasks, folder, sink, e);
    if (!r) return NULL;
    run_values_start(r);
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
    if (s->from && s->other) plan_carry_common(r->plan, r->values.params, s->from, s->values, s->task);
    else if (s->from) plan_carry(r->plan, r->values.params, s->from, s->values, s->task);
    if (s->parts && !plan_train_only(r->plan, s->parts))
        return err_set(e, ERR_USAGE,
                       "no trainable parameters: the method has none in the selected parts (--tune)");
    for (int i = 0; i < r->plan->tensors; i++)
        if (r->plan->tensor[i].frozen)
            r->values.group[i].lr_factor = r->values.group[i].weight_decay_factor = 0;
    r->batch.stop_loss = s->stop_loss;
    r->evaluation.zero = s->zero;
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
    if (r) moved_free(r->moved), r->moved = NULL; /* one of many support sets */
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
    struct err unreadable = ERR_INIT; /* reported when the run is created */
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

/* Restores the state from a checkpoint. */
static int setup_take_up(struct run *r, const struct checkpoint *k, struct err *e) {
    struct run_evaluation *x = &r->evaluation;
    struct run_values *v = &r->values;
    r->step = k->step;
    r->clock.before = k->seconds;
    r->clock.saved_at += k->seconds;
    r->control.loss = k->loss;
    x->best = k->best;
    for (int i = 0; i < r->tasks; i++) r->of[i].best = run_is_single(r) ? k->best : k->task[i].best;
    x->worse = k->worse;
    x->evaluated = k->evaluated;
    x->early = r->c.early_stop > 0 && x->worse >= r->c.early_stop;
    int rc = checkpoint_read(k, r->plan, true, v->params, v->generated, v->adam_m, v->adam_v, e);
    return rc ? rc : checkpoint_read_budget(k, r->plan, v->budget_mean, v->budget_spread, e);
}

struct run *run_go_on(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e) {
    struct err own = ERR_INIT;
    struct checkpoint k;
    struct run_config copy;
    struct run *r = NULL;
    if (!e) e = &own;
    bool started = c && (config_data_of(c, 0)->train_sha256 || c->episodes_sha256);
    if (started && !run_has_checkpoint(folder))
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
    if (r && (setup_take_up(r, &k, e) || setup_teachers(r, tasks, e))) {
        run_free(r);
        r = NULL;
    }
    if (r) r->moved = moved_new(r);
    checkpoint_close(&k);
    return r;
}
