#include "core/train/fewshot/fewshot_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/data/sample.h"
#include "core/method/carry.h"
#include "core/train/config/complete.h"
#include "core/train/use/retrieve.h"

void fewshot_config(struct run_config *c) {
    struct method m;
    carry_method(&c->method, &m);
    c->method = m;
    config_put(c, "teachers", NULL);
    c->eval_every = 0;
    c->early_stop = c->samples = c->sample_every = c->embed_every = 0;
    c->keep = KEEP_BEST;
}

/* ---- initialization ---- */

static int nearest(const double *near, int n, int sign) {
    int best = 0;
    for (int t = 1; t < n; t++)
        if (sign * near[t] > sign * near[best]) best = t;
    return best;
}

/* Mean cosine similarities and votes of the support set. */
static int vote(const struct fewshot_work *w, const struct dataset *shots, struct fewshot_result *x,
                struct err *e) {
    int tasks = x->known;
    double *cosine = xmalloc(shots->examples * (size_t)tasks * sizeof *cosine);
    int rc = retrieve_cosines(w->from, shots, cosine, e);
    x->votes = xcalloc((size_t)tasks, sizeof *x->votes);
    for (size_t i = 0; i < shots->examples && !rc; i++) {
        const double *of = cosine + i * (size_t)tasks;
        x->votes[nearest(of, tasks, 1)]++;
        for (int t = 0; t < tasks; t++) x->near[t] += of[t] / (double)shots->examples;
    }
    free(cosine);
    return rc;
}

static int known_task(const struct fewshot_work *w, const char *name) {
    const struct plan *p = predictor_plan(w->from);
    int t = p->tasks - 1;
    while (t >= 0 && strcmp(p->task[t], name)) t--;
    return t;
}

/* Returns the known task from which a draw is initialized, or CARRY_MEAN. */
static int choose(const struct fewshot_work *w, const struct task *shots, struct fewshot_result *x, int *task,
                  struct err *e) {
    const struct plan *p = predictor_plan(w->from);
    enum fewshot_start how = w->how->start;
    int rc = 0;
    bool look = how == FEWSHOT_VOTE || how == FEWSHOT_WORST || how == FEWSHOT_LOWEST;
    *task = how == FEWSHOT_MEAN ? CARRY_MEAN : how == FEWSHOT_NAMED ? known_task(w, w->how->named) : 0;
    if (look && p->tasks > 1) {
        x->known = p->tasks;
        x->near = xcalloc((size_t)p->tasks, sizeof *x->near);
        if (how == FEWSHOT_LOWEST) rc = retrieve_losses(w->from, shots, x->near, e);
        else rc = vote(w, &shots->train, x, e);
        *task = nearest(x->near, p->tasks, how == FEWSHOT_VOTE ? 1 : -1);
    } else if (how == FEWSHOT_RANDOM) {
        *task = (int)rng_below(rng_key(w->c->seed, RNG_DRAW, (uint64_t)x->draw, rng_site("start")),
                               (uint64_t)x->k, (uint64_t)p->tasks);
    }
    if (p->tasks > 1)
        snprintf(x->start, sizeof x->start, "%s", *task == CARRY_MEAN ? "mean" : p->task[*task]);
    return rc;
}

/* ---- one draw ---- */

static int draw_rows(const struct fewshot_work *w, int k, int draw, struct task *out, struct err *e) {
    const struct dataset *d = &w->task->train;
    int groups = d->classes ? d->classes : 1;
    int *pick = xmalloc((size_t)k * (size_t)groups * sizeof *pick);
    int n = fewshot_draw(d, k, w->c->seed, draw, pick, e);
    if (n > 0) {
        *out = *w->task;
        dataset_view(&out->train, d, pick, n);
    }
    free(pick);
    return n > 0 ? 0 : n;
}

static int open_rows(const struct fewshot_work *w, struct fewshot_draw *x, struct err *e) {
    int k = x->result.k, draw = x->result.draw;
    if (!w->rows) return draw_rows(w, k, draw, &x->task, e);
    if (w->rows(w->self, k, draw, &x->own, x->result.left_out, e)) return e->code;
    if (*x->result.left_out) return 0;
    x->task = *w->task;
    x->task.train = x->own.train;
    return 0;
}

int fewshot_open(const struct fewshot_work *w, int k, int draw, struct fewshot_draw *x, struct err *e) {
    *x = (struct fewshot_draw){ .result = { .k = k, .draw = draw } };
    snprintf(x->result.task, sizeof x->result.task, "%s", w->task_name);
    if (open_rows(w, x, e)) return e->code;
    if (*x->result.left_out) return 0;
    config_copy(&x->c, w->c);
    if (w->how->per_class) x->c.batch = w->task->classes ? w->how->per_class * w->task->classes : 16;
    if (x->c.epochs > 0) x->c.steps = epoch_steps(x->c.epochs, x->task.train.examples, x->c.batch);
    x->c.seed += (uint64_t)draw;
    x->c.eval_every = 1000000000; /* only after the last step */
    return w->from ? choose(w, &x->task, &x->result, &x->start, e) : 0;
}

struct run *fewshot_begin(const struct fewshot_work *w, struct fewshot_draw *x, int64_t run,
                          const char *folder, struct event_sink sink, struct err *e) {
    struct run_start start = { .task = x->start,
                               .parts = w->how->parts,
                               .stop_loss = fewshot_stop_loss(w->how, x->result.k),
                               .zero = w->how->zero,
                               .other = w->how->other,
                               .copies = w->copies };
    if (w->from) {
        start.from = predictor_plan(w->from);
        start.values = predictor_params(w->from);
    }
    if (w->meta) { /* another method, initialized from the common parameters */
        start.from = fewshot_meta_plan(w->meta);
        start.values = fewshot_meta_params(w->meta);
    }
    return run_begin_at(run, &x->c, w->m, &x->task, folder, sink, &start, e);
}

void fewshot_close(struct fewshot_draw *x) {
    if (x->own.name) task_release(&x->own);
    else if (x->task.name) dataset_view_release(&x->task.train);
    config_release(&x->c);
    free(x->result.near);
    free(x->result.votes);
    *x = (struct fewshot_draw){ 0 };
}

/* ---- checks before the first draw ---- */

static int check_start(const struct fewshot_work *w, struct err *e) {
    const struct fewshot *f = w->how;
    if (!w->from) return 0;
    if ((f->start == FEWSHOT_VOTE || f->start == FEWSHOT_WORST) && !retrieve_has_prototypes(w->from))
        return err_set(e, ERR_USAGE,
                       "--prototype %s: requires a run whose method learns task prototypes "
                       "(a retriever with a prototype loss); use --start lowest, mean or the name of a task",
                       fewshot_start_name(f->start));
    if (f->start != FEWSHOT_NAMED || known_task(w, f->named) >= 0) return 0;
    const struct plan *p = predictor_plan(w->from);
    struct buf list = BUF_INIT;
    for (int i = 0; i < p->tasks; i++) buf_printf(&list, "%s%s", i ? ", " : "", p->task[i]);
    err_set(e, ERR_USAGE, "--start %s: unknown task; the run has %s", f->named, buf_text(&list));
    buf_release(&list);
    return e->code;
}

static int check_parts(const struct fewshot_work *w, struct err *e) {
    struct plan *p = run_plan_for(w->c, &(struct run_tasks){ 1, &w->task }, &w->m->arch, e);
    if (!p) return e->code;
    unsigned has = plan_parts(p), asked = w->how->parts ? w->how->parts : has;
    struct buf list = BUF_INIT;
    for (int i = 0, n = 0; i < PLAN_PARTS; i++)
        if (has & 1u << i) buf_printf(&list, "%s%s", n++ ? ", " : "", plan_part_name(i));
    int rc = plan_train_only(p, asked)
                 ? 0
                 : err_set(
                       e, ERR_USAGE,
                       "--tune: no trainable parameters selected; use one or more of %s",
                       buf_text(&list));
    buf_release(&list);
    plan_free(p);
    return rc;
}

static bool has_labels(const struct dataset *d) {
    for (size_t i = 0; i < d->examples; i++)
        if (d->example[i].label >= 0) return true;
    return false;
}

bool fewshot_by_rule(const struct fewshot_work *w) { return w->meta && !w->how->other; }

int fewshot_check(const struct fewshot_work *w, struct err *e) {
    bool by_rule = fewshot_by_rule(w);
    if (!w->task->devs)
        return err_set(e, ERR_USAGE,
                       "%s: the task has no validation set, which is required to evaluate the adapted model",
                       w->task->name);
    if (by_rule && w->task->kind != DATA_CLASSES)
        return err_set(
            e, ERR_USAGE,
            "%s: the task has %s; a run trained on episodes can be adapted only to tasks with classes",
            w->task->name, task_kind_name(w->task->label_kind));
    if (by_rule && !has_labels(&w->task->dev[0]))
        return err_set(e, ERR_INPUT,
                       "%s: no labeled examples, which are required to evaluate the adapted model",
                       w->task->dev[0].path);
    if (!by_rule && (check_start(w, e) || check_parts(w, e))) return e->code;
    for (int i = 0; i < w->how->ks && !w->rows; i++) {
        struct task shots;
        if (draw_rows(w, w->how->k[i], 0, &shots, e)) return e->code;
        dataset_view_release(&shots.train);
    }
    return 0;
}
