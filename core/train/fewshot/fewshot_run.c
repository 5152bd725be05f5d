#include "core/train/fewshot/fewshot_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/data/sample.h"
#include "core/method/carry.h"
#include "core/train/config/complete.h"
#include "core/train/use/retrieve.h"

/* A draw in hand. */
struct draw {
    struct run *run; /* NULL: a free place */
    struct task task; /* the new one with the shots for train rows */
    struct task own;  /* what they were read as, where they are no view of the task's */
    struct fewshot_result result;
    char failure[512];
    char *path, *sha256; /* of its checkpoint */
    int64_t saved;
};

void fewshot_config(struct run_config *c) {
    struct method m;
    carry_method(&c->method, &m);
    c->method = m;
    config_put(c, "teachers", NULL);
    c->eval_every = 0;
    c->early_stop = c->samples = c->sample_every = c->embed_every = 0;
    c->keep = KEEP_BEST;
}

/* ---- what a run tells ---- */

static void fewshot_run_keep_scores(struct fewshot_scores *s, const struct event *e) {
    *s = (struct fewshot_scores){ .constant = e->constant, .none_valid = e->none_valid };
    for (int i = 0; i < e->metrics; i++) {
        struct fewshot_metric *m = &s->metric[s->count++];
        snprintf(m->name, sizeof m->name, "%s", e->metric[i].name);
        m->value = e->metric[i].value;
        if (e->metric[i].undefined) snprintf(m->undefined, sizeof m->undefined, "%s", e->metric[i].undefined);
    }
}

static void fewshot_run_on_event(void *self, const struct event *e) {
    struct draw *x = self;
    switch (e->kind) {
    case EVENT_POINT: x->result.loss = e->loss; break;
    case EVENT_EVALUATION:
        if (!e->decides) break;
        fewshot_run_keep_scores(e->step ? &x->result.scores : &x->result.zero, e);
        snprintf(x->result.rows, sizeof x->result.rows, "%s", e->rows);
        break;
    case EVENT_CHECKPOINT:
        xreplace(&x->path, e->path);
        xreplace(&x->sha256, e->sha256);
        x->saved = e->step;
        break;
    case EVENT_STATE:
        if (e->text && *e->text) snprintf(x->failure, sizeof x->failure, "%s", e->text);
        break;
    case EVENT_SAMPLE: case EVENT_MESSAGE: case EVENT_EMBEDDING: case EVENT_SAVING: break;
    }
    x->result.steps = e->step;
    x->result.seconds = e->seconds;
}

/* ---- where a draw begins ---- */

static int fewshot_run_nearest(const double *near, int n, int sign) {
    int best = 0;
    for (int t = 1; t < n; t++)
        if (sign * near[t] > sign * near[best]) best = t;
    return best;
}

/* Mean cosines and votes of the shots. */
static int vote(const struct fewshot_work *w, const struct dataset *shots, struct fewshot_result *x,
                struct err *e) {
    int tasks = x->known;
    double *cosine = xmalloc(shots->rows * (size_t)tasks * sizeof *cosine);
    int rc = retrieve_cosines(w->from, shots, cosine, e);
    x->votes = xcalloc((size_t)tasks, sizeof *x->votes);
    for (size_t i = 0; i < shots->rows && !rc; i++) {
        const double *of = cosine + i * (size_t)tasks;
        x->votes[fewshot_run_nearest(of, tasks, 1)]++;
        for (int t = 0; t < tasks; t++) x->near[t] += of[t] / (double)shots->rows;
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

/* The known task that a draw begins from, or CARRY_MEAN. */
static int fewshot_run_choose(const struct fewshot_work *w, const struct task *shots,
                              struct fewshot_result *x, int *task, struct err *e) {
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
        *task = fewshot_run_nearest(x->near, p->tasks, how == FEWSHOT_VOTE ? 1 : -1);
    } else if (how == FEWSHOT_RANDOM) {
        *task = (int)rng_below(rng_key(w->c->seed, RNG_DRAW, (uint64_t)x->draw, rng_site("start")),
                               (uint64_t)x->k, (uint64_t)p->tasks);
    }
    if (p->tasks > 1)
        snprintf(x->start, sizeof x->start, "%s", *task == CARRY_MEAN ? "mean" : p->task[*task]);
    return rc;
}

/* ---- one draw ---- */

static int fewshot_run_draw_rows(const struct fewshot_work *w, int k, int draw, struct task *out,
                                 struct err *e) {
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

/* A draw with its shots, or with result.left_out. */
static int open_draw(const struct fewshot_work *w, int k, int draw, struct draw *x, struct err *e) {
    *x = (struct draw){ .result = { .k = k, .draw = draw } };
    snprintf(x->result.task, sizeof x->result.task, "%s", w->task_name);
    if (!w->rows) return fewshot_run_draw_rows(w, k, draw, &x->task, e);
    if (w->rows(w->self, k, draw, &x->own, x->result.left_out, e)) return e->code;
    if (*x->result.left_out) return 0;
    x->task = *w->task;
    x->task.train = x->own.train;
    return 0;
}

/* Of the first k the first draw that was not left out: those before it were begun before. */
static bool is_first(const struct fewshot_work *w, const struct fewshot_results *r, int k, int draw) {
    for (int d = 0; d < draw; d++) {
        const struct fewshot_result *x = fewshot_find(r, w->task_name, k, d);
        if (!x || !*x->left_out) return false;
    }
    return k == w->how->k[0];
}

/* Where a draw's tensors go; NULL: they are not kept.  Caller frees. */
static char *fewshot_run_folder_of(const struct fewshot_work *w, const struct fewshot_results *r, int k,
                                   int draw) {
    if (is_first(w, r, k, draw)) return xstrdup(w->folder);
    if (!w->how->keep) return NULL;
    char *name = xprintf("k%d.d%d", k, draw), *folder = file_join(w->folder, name);
    free(name);
    return folder;
}

static void fewshot_run_let_go(struct draw *x) {
    run_free(x->run);
    if (x->own.name) task_release(&x->own);
    else if (x->task.name) dataset_view_release(&x->task.train);
    free(x->result.near);
    free(x->result.votes);
    free(x->path);
    free(x->sha256);
    *x = (struct draw){ 0 };
}

static int fewshot_run_begin(const struct fewshot_work *w, const struct fewshot_results *r, int k, int draw,
                             struct draw *x, struct err *e) {
    struct run_config c;
    struct run_start start = { .parts = w->how->parts,
                               .stop_loss = fewshot_stop_loss(w->how, k),
                               .zero = w->how->zero,
                               .other = w->how->other,
                               .copies = w->copies };
    if (open_draw(w, k, draw, x, e)) return e->code;
    if (*x->result.left_out) return 0;
    if (w->from) {
        if (fewshot_run_choose(w, &x->task, &x->result, &start.task, e)) return e->code;
        start.from = predictor_plan(w->from);
        start.values = predictor_params(w->from);
    }
    if (w->meta) { /* another method, which begins with what both have */
        start.from = fewshot_meta_plan(w->meta);
        start.values = fewshot_meta_params(w->meta);
    }
    config_copy(&c, w->c);
    if (c.epochs > 0) c.steps = 0; /* as many as these rows make */
    c.seed += (uint64_t)draw;
    if (w->how->per_class) c.batch = w->task->classes ? w->how->per_class * w->task->classes : 16;
    c.eval_every = 1000000000; /* after the last step alone */
    char *folder = fewshot_run_folder_of(w, r, k, draw);
    x->run = run_begin_at(w->run, &c, w->m, &x->task, folder,
                          (struct event_sink){ x, fewshot_run_on_event }, &start, e);
    free(folder);
    config_release(&c);
    return x->run ? 0 : e->code;
}

/* What a draw came to goes into the record. */
static int fewshot_run_keep(const struct fewshot_work *w, struct draw *x, struct fewshot_results *r,
                            struct err *e) {
    int k = x->result.k, draw = x->result.draw, rc = fewshot_record_add(w->record, r, &x->result, e);
    if (!rc && w->done) w->done(w->self, fewshot_find(r, w->task_name, k, draw));
    return rc;
}

static void tell_file(const struct fewshot_work *w, const struct fewshot_results *r,
                      const struct fewshot_result *x, const char *path, const char *sha256, int64_t step) {
    const struct fewshot_file f = { x->k, x->draw, is_first(w, r, x->k, x->draw), path, sha256, step };
    if (w->file) w->file(w->self, &f);
}

/* A run that the pool has left. */
static int harvest(const struct fewshot_work *w, struct draw *x, struct fewshot_results *r, struct err *e) {
    struct run_progress at;
    run_progress(x->run, &at);
    if (at.state != RUN_FINISHED)
        return err_set(e, at.state == RUN_STOPPED ? ERR_INTERRUPTED : ERR_FAILED, "%s k=%d draw %d: %s",
                       w->task_name, x->result.k, x->result.draw, *x->failure ? x->failure : "stopped");
    if (x->path) tell_file(w, r, &x->result, x->path, x->sha256, x->saved);
    return fewshot_run_keep(w, x, r, e);
}

/* ---- all of them ---- */

/* What is in hand. */
struct hand {
    const struct fewshot_work *w;
    struct fewshot_results *r;
    int next;                      /* of k, then draw */
    struct draw live[CREW_MOST];
    int rc;
    struct err *e;
};

/* The next draw that the record lacks; false: there is none. */
static bool next_draw(struct hand *h, int *k, int *draw) {
    const struct fewshot *f = h->w->how;
    for (; h->next < f->ks * f->draws; h->next++) {
        *k = f->k[h->next / f->draws];
        *draw = h->next % f->draws;
        if (!fewshot_find(h->r, h->w->task_name, *k, *draw)) return true;
    }
    return false;
}

static void fewshot_run_fill(struct hand *h) {
    int k, draw;
    for (int i = 0; i < pool_width(h->w->pool) && !h->rc; i++) {
        struct draw *x = &h->live[i];
        while (!x->run && !h->rc && next_draw(h, &k, &draw)) {
            h->next++;
            h->rc = fewshot_run_begin(h->w, h->r, k, draw, x, h->e);
            if (!h->rc && x->run) pool_add(h->w->pool, x->run, 0);
            else if (!h->rc) h->rc = fewshot_run_keep(h->w, x, h->r, h->e); /* left out */
            if (!x->run) fewshot_run_let_go(x);
        }
    }
}

/* Puts away what is over; returns how many are left. */
static int fewshot_run_collect(struct hand *h) {
    int left = 0;
    for (int i = 0; i < CREW_MOST; i++) {
        struct draw *x = &h->live[i];
        struct err own = ERR_INIT;
        if (!x->run) continue;
        if (!pool_wait(h->w->pool, x->run, 0)) {
            struct run_progress at;
            run_progress(x->run, &at);
            if (h->rc || at.state == RUN_PAUSED) run_stop(x->run); /* paused by itself: the disk is full */
            left++;
            continue;
        }
        int rc = harvest(h->w, x, h->r, &own);
        if (rc && !h->rc) {
            h->rc = rc;
            *h->e = own;
        }
        fewshot_run_let_go(x);
    }
    pool_wake(h->w->pool);
    return left;
}

static void wait_for_one(struct hand *h) {
    for (int i = 0; i < CREW_MOST; i++)
        if (h->live[i].run) {
            pool_wait(h->w->pool, h->live[i].run, 0.02);
            return;
        }
}

/* ---- by an inner rule ---- */

/* As many draws as there are workers, from the next one on; returns how many. */
static int take_some(struct hand *h) {
    int n = 0, k, draw;
    while (n < pool_width(h->w->pool) && !h->rc && next_draw(h, &k, &draw)) {
        struct draw *x = &h->live[n];
        h->next++;
        h->rc = open_draw(h->w, k, draw, x, h->e);
        if (!h->rc && *x->result.left_out) h->rc = fewshot_run_keep(h->w, x, h->r, h->e);
        if (x->task.name) n++;
        else fewshot_run_let_go(x);
    }
    return n;
}

static int run_by_rule(struct hand *h) {
    const struct fewshot_work *w = h->w;
    struct fewshot_meta_draw draw[CREW_MOST];
    for (int n; (n = take_some(h)) > 0;) {
        for (int i = 0; i < n; i++) {
            struct fewshot_result *x = &h->live[i].result;
            char *folder = h->rc || fewshot_meta_unkept(w->meta)
                               ? NULL
                               : fewshot_run_folder_of(w, h->r, x->k, x->draw);
            draw[i] = (struct fewshot_meta_draw){ .task = &h->live[i].task, .result = x, .folder = folder };
        }
        if (!h->rc) fewshot_meta_draws(w->meta, w->c, w->how, draw, n, pool_crew(w->pool));
        for (int i = 0; i < n; i++) {
            if (!h->rc && *draw[i].failure)
                h->rc = err_set(h->e, ERR_FAILED, "%s k=%d draw %d: %s", w->task_name, draw[i].result->k,
                                draw[i].result->draw, draw[i].failure);
            if (!h->rc && draw[i].path)
                tell_file(w, h->r, draw[i].result, draw[i].path, draw[i].sha256, draw[i].result->steps);
            if (!h->rc) h->rc = fewshot_run_keep(w, &h->live[i], h->r, h->e);
            free((char *)(uintptr_t)draw[i].folder);
            free(draw[i].path);
            fewshot_run_let_go(&h->live[i]);
        }
        if (!h->rc && w->stop && w->stop(w->self)) h->rc = err_set(h->e, ERR_INTERRUPTED, "stopped");
    }
    return h->rc;
}

int fewshot_run(const struct fewshot_work *w, struct fewshot_results *r, struct err *e) {
    struct hand h = { .w = w, .r = r, .e = e };
    if (w->meta && !w->how->other) return run_by_rule(&h);
    do {
        if (!h.rc && w->stop && w->stop(w->self)) h.rc = err_set(e, ERR_INTERRUPTED, "stopped");
        if (!h.rc) fewshot_run_fill(&h);
        wait_for_one(&h);
    } while (fewshot_run_collect(&h) || (!h.rc && h.next < w->how->ks * w->how->draws));
    return h.rc;
}

/* ---- before the first ---- */

static int fewshot_run_check_start(const struct fewshot_work *w, struct err *e) {
    const struct fewshot *f = w->how;
    if (!w->from) return 0;
    if ((f->start == FEWSHOT_VOTE || f->start == FEWSHOT_WORST) && !retrieve_has_prototypes(w->from))
        return err_set(e, ERR_USAGE,
                       "--prototype %s: the run's method has no prototypes that rows could be compared with "
                       "(a retriever with a prototype loss); --start lowest, mean or a task's name",
                       fewshot_start_name(f->start));
    if (f->start != FEWSHOT_NAMED || known_task(w, f->named) >= 0) return 0;
    const struct plan *p = predictor_plan(w->from);
    struct buf list = BUF_INIT;
    for (int i = 0; i < p->tasks; i++) buf_printf(&list, "%s%s", i ? ", " : "", p->task[i]);
    err_set(e, ERR_USAGE, "\"%s\" is no task of the run; it has %s", f->named, buf_text(&list));
    buf_release(&list);
    return e->code;
}

static int fewshot_run_check_parts(const struct fewshot_work *w, struct err *e) {
    struct plan *p = run_plan_for(w->c, &(struct run_tasks){ 1, &w->task }, &w->m->arch, e);
    if (!p) return e->code;
    unsigned has = plan_parts(p), asked = w->how->parts ? w->how->parts : has;
    struct buf list = BUF_INIT;
    for (int i = 0, n = 0; i < PLAN_PARTS; i++)
        if (has & 1u << i) buf_printf(&list, "%s%s", n++ ? ", " : "", plan_part_name(i));
    int rc = plan_train_only(p, asked)
                 ? 0
                 : err_set(e, ERR_USAGE, "--tune: nothing would train: of this method a new task has %s",
                           buf_text(&list));
    buf_release(&list);
    plan_free(p);
    return rc;
}

static bool has_labels(const struct dataset *d) {
    for (size_t i = 0; i < d->rows; i++)
        if (d->row[i].label >= 0) return true;
    return false;
}

int fewshot_check(const struct fewshot_work *w, struct err *e) {
    bool by_rule = w->meta && !w->how->other;
    if (!w->task->devs)
        return err_set(e, ERR_USAGE, "%s: has no dev rows to score the draws on", w->task->name);
    if (by_rule && w->task->kind != DATA_CLASSES)
        return err_set(e, ERR_USAGE, "%s: has %s; label vectors are of classes", w->task->name,
                       task_kind_name(w->task->gold));
    if (by_rule && !has_labels(&w->task->dev[0]))
        return err_set(e, ERR_INPUT, "%s: has no row with a label to score the draws on",
                       w->task->dev[0].path);
    if (!by_rule && (fewshot_run_check_start(w, e) || fewshot_run_check_parts(w, e))) return e->code;
    for (int i = 0; i < w->how->ks && !w->rows; i++) {
        struct task shots;
        if (fewshot_run_draw_rows(w, w->how->k[i], 0, &shots, e)) return e->code;
        dataset_view_release(&shots.train);
    }
    return 0;
}
