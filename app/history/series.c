#include "app/history/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/task_results.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/report_read.h"
#include "core/train/complete.h"
#include "core/train/regime.h"
#include "core/train/stages.h"

/* Of one task: what its view points to. */
struct task_arrays {
    double *step, *loss;
    size_t room;
    double *eval_step, *eval_value;
    size_t eval_room;
    char *name, *metric, *rows;
};

/* Of a part of the loss. */
struct term_arrays {
    double *step, *loss;
    size_t room;
    char *name;
};

struct run_series *series_new(int64_t run) {
    struct run_series *s = xcalloc(1, sizeof *s);
    s->view = (struct series){ .run = run, .majority = NAN, .best = NAN };
    return s;
}

static void free_task(struct task_arrays *t) {
    free(t->step);
    free(t->loss);
    free(t->eval_step);
    free(t->eval_value);
    free(t->name);
    free(t->metric);
    free(t->rows);
}

void series_free(struct run_series *s) {
    if (!s) return;
    for (size_t i = 0; i < s->view.samples; i++) {
        free((char *)s->sample[i].source);
        free((char *)s->sample[i].target);
        free((char *)s->sample[i].generated);
    }
    for (int i = 0; i < s->view.tasks; i++) free_task(&s->of[i]);
    free(s->of);
    free((struct series_task *)s->view.task);
    for (int i = 0; i < s->view.terms; i++) {
        free(s->part[i].step);
        free(s->part[i].loss);
        free(s->part[i].name);
    }
    free(s->part);
    free((struct series_term *)s->view.term);
    free(s->step);
    free(s->loss);
    free(s->lr);
    free(s->norm);
    free(s->tokens);
    free(s->seconds);
    free(s->eval_step);
    free(s->eval_value);
    free(s->eval_loss);
    free(s->sample);
    free(s->metric);
    free(s->rows);
    free(s);
}

/* Makes room for one more in arrays that share a capacity. */
static void series_grow(double **array[], size_t arrays, size_t *room, size_t count) {
    if (count < *room) return;
    *room = *room ? 2 * *room : 64;
    for (size_t i = 0; i < arrays; i++) *array[i] = xrealloc(*array[i], *room, sizeof **array[i]);
}

void series_point(struct run_series *s, const struct series_step *x) {
    struct series *v = &s->view;
    size_t n = v->count;
    if (n && (double)x->step <= s->step[n - 1]) return;
    series_grow((double **[]){ &s->step, &s->loss, &s->lr, &s->norm, &s->tokens, &s->seconds }, 6, &s->room, n);
    s->step[n] = (double)x->step;
    s->loss[n] = x->loss;
    s->lr[n] = x->lr;
    s->norm[n] = x->norm;
    s->tokens[n] = x->tokens + (n ? s->tokens[n - 1] : 0);
    s->seconds[n] = x->seconds;
    v->count++;
    v->step = s->step;
    v->loss = s->loss;
    v->lr = s->lr;
    v->grad_norm = s->norm;
    v->tokens = s->tokens;
    v->seconds = s->seconds;
}

double series_epoch(const struct run_config *c, size_t rows) {
    if (!rows || c->batch < 1 || config_is_meta(c) || config_is_staged(c)) return 0;
    return (double)epoch_steps(1, rows, c->batch);
}

void series_evaluation(struct run_series *s, const struct series_evaluation *x) {
    struct series *v = &s->view;
    if (v->evals && (double)x->step <= s->eval_step[v->evals - 1]) return;
    series_grow((double **[]){ &s->eval_step, &s->eval_value, &s->eval_loss }, 3, &s->eval_room, v->evals);
    s->eval_step[v->evals] = (double)x->step;
    s->eval_value[v->evals] = x->value;
    s->eval_loss[v->evals++] = x->loss;
    v->eval_step = s->eval_step;
    v->eval_value = s->eval_value;
    if (!s->metric && x->metric) v->metric = s->metric = xstrdup(x->metric);
    if (!s->rows && x->rows) v->eval_rows = s->rows = xstrdup(x->rows);
    if (!isnan(x->majority)) v->majority = x->majority;
    if (!x->best) return;
    v->best = x->value;
    v->best_step = x->step;
}

void series_stages(struct run_series *s, const struct run_config *c) {
    struct stages *all = config_stages(c);
    s->view.marks = 0;
    for (int k = 1; all && k < all->count && s->view.marks < SERIES_MARKS; k++)
        s->view.mark[s->view.marks++] = (double)stages_first(all, k);
    stages_free(all);
}

/* ---- several tasks ---- */

/* One more point of a curve; false: it is not after the last one. */
static bool add_point(double **step, double **value, size_t *room, size_t *count, int64_t at, double x) {
    if (*count && (double)at <= (*step)[*count - 1]) return false;
    series_grow((double **[]){ step, value }, 2, room, *count);
    (*step)[*count] = (double)at;
    (*value)[(*count)++] = x;
    return true;
}

int series_task_find(const struct run_series *s, const char *name) {
    for (int i = 0; i < s->view.tasks; i++)
        if (!strcmp(s->of[i].name, name)) return i;
    return -1;
}

void series_task(struct run_series *s, const char *name, const char *metric, double share) {
    struct series *v = &s->view;
    int at = series_task_find(s, name);
    if (at >= 0) {
        struct series_task *t = (struct series_task *)&v->task[at];
        if (isnan(t->share)) t->share = share;
        return;
    }
    size_t n = (size_t)v->tasks + 1;
    s->of = xrealloc(s->of, n, sizeof *s->of);
    v->task = xrealloc((struct series_task *)v->task, n, sizeof *v->task);
    struct task_arrays *mine = &s->of[v->tasks];
    *mine = (struct task_arrays){ .name = xstrdup(name), .metric = metric ? xstrdup(metric) : NULL };
    ((struct series_task *)v->task)[v->tasks++] = (struct series_task){
        .name = mine->name, .metric = mine->metric, .majority = NAN, .best = NAN, .share = share };
}

void series_task_point(struct run_series *s, int at, int64_t step, double loss) {
    struct series_task *v = (struct series_task *)&s->view.task[at];
    struct task_arrays *t = &s->of[at];
    if (!add_point(&t->step, &t->loss, &t->room, &v->count, step, loss)) return;
    v->step = t->step;
    v->loss = t->loss;
}

void series_task_evaluation(struct run_series *s, int at, const struct series_evaluation *x) {
    struct series_task *v = (struct series_task *)&s->view.task[at];
    struct task_arrays *t = &s->of[at];
    if (!add_point(&t->eval_step, &t->eval_value, &t->eval_room, &v->evals, x->step, x->value)) return;
    v->eval_step = t->eval_step;
    v->eval_value = t->eval_value;
    if (!t->rows && x->rows) v->rows = t->rows = xstrdup(x->rows);
    if (!isnan(x->majority)) v->majority = x->majority;
    if (!x->best) return;
    v->best = x->value;
    v->best_step = x->step;
}

static int term_find(const struct run_series *s, const char *name) {
    for (int i = 0; i < s->view.terms; i++)
        if (!strcmp(s->part[i].name, name)) return i;
    return -1;
}

/* Its place, made where there is none. */
static int term_at(struct run_series *s, const char *name) {
    struct series *v = &s->view;
    int at = term_find(s, name);
    if (at >= 0) return at;
    size_t n = (size_t)v->terms + 1;
    s->part = xrealloc(s->part, n, sizeof *s->part);
    v->term = xrealloc((struct series_term *)v->term, n, sizeof *v->term);
    s->part[v->terms] = (struct term_arrays){ .name = xstrdup(name) };
    ((struct series_term *)v->term)[v->terms] = (struct series_term){ .name = s->part[v->terms].name };
    return v->terms++;
}

void series_term_point(struct run_series *s, const char *name, int64_t step, double loss) {
    int at = term_at(s, name);
    struct series_term *v = (struct series_term *)&s->view.term[at];
    struct term_arrays *t = &s->part[at];
    if (!add_point(&t->step, &t->loss, &t->room, &v->count, step, loss)) return;
    v->step = t->step;
    v->loss = t->loss;
}

/* How many of the steps are not after `last`: those that come are few, and at the end. */
static size_t series_known(const double *step, size_t count, const double *last) {
    while (last && count && step[count - 1] > *last) count--;
    return last ? count : 0;
}

void series_take_tasks(struct run_series *s, const struct run_series *from) {
    for (int i = 0; i < from->view.tasks; i++) {
        const struct series_task *x = &from->view.task[i];
        series_task(s, x->name, x->metric, x->share);
        int at = series_task_find(s, x->name);
        const struct series_task *v = &s->view.task[at];
        for (size_t k = series_known(x->step, x->count,
                                     v->count ? &v->step[v->count - 1] : NULL); k < x->count; k++)
            series_task_point(s, at, (int64_t)x->step[k], x->loss[k]);
        for (size_t k = series_known(x->eval_step, x->evals,
                                     v->evals ? &v->eval_step[v->evals - 1] : NULL); k < x->evals; k++)
            series_task_evaluation(s, at, &(struct series_evaluation){
                (int64_t)x->eval_step[k], NULL, x->rows, x->eval_value[k], NAN, x->majority,
                !isnan(x->best) && x->best_step == (int64_t)x->eval_step[k] });
    }
    for (int i = 0; i < from->view.terms; i++) {
        const struct series_term *x = &from->view.term[i];
        int at = term_at(s, x->name);
        const struct series_term *v = &s->view.term[at];
        for (size_t k = series_known(x->step, x->count,
                                     v->count ? &v->step[v->count - 1] : NULL); k < x->count; k++)
            series_term_point(s, x->name, (int64_t)x->step[k], x->loss[k]);
    }
    if (!from->view.marks) return;
    s->view.marks = from->view.marks;
    memcpy(s->view.mark, from->view.mark, sizeof s->view.mark);
}

void series_sample(struct run_series *s, const struct train_sample *x, bool more) {
    struct series *v = &s->view;
    if (!more) s->taking = !v->samples || x->step > s->sample[v->samples - 1].step;
    if (!s->taking) return;
    GROW(s->sample, s->sample_room, v->samples + 1);
    s->sample[v->samples++] = (struct train_sample){
        x->step, xstrdup(x->source), x->target ? xstrdup(x->target) : NULL, xstrdup(x->generated), x->valid,
    };
    v->sample = s->sample;
}

/* ---- from the store ---- */

/* The value of `p` at `step`, which only goes up; NaN where there is none. */
static double series_at(const struct store_points *p, size_t *k, int64_t step) {
    while (*k < p->count && p->step[*k] < step) ++*k;
    return *k < p->count && p->step[*k] == step ? p->value[*k] : NAN;
}

static int read_points(struct run_series *s, struct store *store, struct err *e) {
    static const char *const name[] = { "loss", "lr", "grad_norm", "tokens", "seconds" };
    struct store_points p[COUNT_OF(name)] = { 0 };
    size_t at[COUNT_OF(name)] = { 0 };
    int64_t from = s->view.count ? (int64_t)s->step[s->view.count - 1] + 1 : 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(name); i++) rc = store_points(store, s->view.run, name[i], from, &p[i], e);
    for (size_t i = 0; !rc && i < p[0].count; i++) {
        int64_t step = p[0].step[i];
        series_point(s, &(struct series_step){ step, p[0].value[i], series_at(&p[1], &at[1], step), series_at(&p[2], &at[2], step),
                                               series_at(&p[3], &at[3], step), series_at(&p[4], &at[4], step) });
    }
    for (size_t i = 0; i < COUNT_OF(name); i++) store_points_release(&p[i]);
    return rc;
}

/* Training rows of the run's tasks, as their reports have them, each task's first; 0: one is not known. */
static size_t series_train_rows(const struct store_run *run, const struct run_config *c) {
    size_t all = 0;
    for (int i = 0; i < config_task_count(c); i++) {
        char *start = c->tasks ? xprintf("task %s\n", c->of[i].task_name) : xstrdup("");
        struct report_facts f = { 0 };
        int at = 0;
        while (at < run->reports && !text_starts(run->report[at], start)) at++;
        if (at < run->reports) report_read(run->report[at], &f);
        size_t rows = f.rows;
        report_facts_release(&f);
        free(start);
        if (!rows) return 0;
        all += rows;
    }
    return all;
}

static void read_epoch(struct run_series *s, const struct store_run *run) {
    struct run_config c;
    struct err ignored = ERR_INIT; /* a config that cannot be read tells no passes */
    if (s->view.epoch > 0 || !run->config || config_from_json(run->config, strlen(run->config), &c, &ignored)) return;
    s->view.epoch = series_epoch(&c, series_train_rows(run, &c));
    config_release(&c);
}

/* Of the split that decides: what it is called, "dev.accuracy", and its loss and majority; a step's rows stand
 * together. */
static void take_evaluations(struct run_series *s, const char *decides, const struct store_evals *v) {
    const char *dot = strrchr(decides, '.');
    char *majority = store_name_beside(decides, "majority"), *loss = store_name_beside(decides, "loss");
    for (size_t i = 0; i < v->count;) {
        struct series_evaluation x = { .step = v->row[i].step, .metric = dot ? dot + 1 : NULL, .value = NAN,
                                       .loss = NAN, .majority = NAN };
        bool there = false;
        for (; i < v->count && v->row[i].step == x.step; i++) {
            const struct store_eval_row *r = &v->row[i];
            if (!strcmp(r->name, majority)) x.majority = r->value.v;
            if (!strcmp(r->name, loss)) x.loss = r->value.v;
            if (strcmp(r->name, decides)) continue;
            there = true;
            x.value = r->value.v;
            x.best = r->best;
            x.rows = r->rows;
        }
        if (there) series_evaluation(s, &x);
    }
    free(majority);
    free(loss);
}

static void take_task_evaluations(struct run_series *s, int at, const struct store_evals *v) {
    const char *task = s->of[at].name, *decides = s->of[at].metric;
    for (size_t i = 0; i < v->count;) {
        struct series_evaluation x = { .step = v->row[i].step, .value = NAN, .loss = NAN, .majority = NAN };
        bool there = false;
        for (; i < v->count && v->row[i].step == x.step; i++) {
            const struct store_eval_row *r = &v->row[i];
            const char *metric = store_name_metric(r->name, task);
            if (!metric) continue;
            if (!strcmp(metric, "majority") && isnan(x.majority)) x.majority = r->value.v;
            if (there || !decides || strcmp(metric, decides)) continue;
            there = true;
            x.value = r->value.v;
            x.best = r->best;
            x.rows = r->rows;
        }
        if (there) series_task_evaluation(s, at, &x);
    }
}

static int series_read_tasks(struct run_series *s, struct store *store, const struct store_run *run,
                             const struct store_evals *v, struct err *e) {
    struct run_config c;
    int rc = config_from_json(run->config, strlen(run->config), &c, e);
    for (int i = 0; !rc && i < c.tasks; i++) {
        struct store_points p = { 0 };
        const char *name = c.of[i].task_name;
        series_task(s, name, c.of[i].metric, NAN);
        int at = series_task_find(s, name);
        take_task_evaluations(s, at, v);
        size_t n = s->view.task[at].count;
        int64_t from = n ? (int64_t)s->of[at].step[n - 1] + 1 : 0;
        char *key = xprintf("%s/loss", name);
        rc = store_points(store, s->view.run, key, from, &p, e);
        for (size_t k = 0; k < p.count && !rc; k++) series_task_point(s, at, p.step[k], p.value[k]);
        store_points_release(&p);
        free(key);
    }
    config_release(&c);
    return rc;
}

static int series_read_terms(struct run_series *s, struct store *store, struct err *e) {
    static const char *const name[] = { "loss.task", "loss.instance", "loss.prototype" };
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(name); i++) {
        struct store_points p = { 0 };
        int at = term_find(s, name[i]);
        size_t n = at < 0 ? 0 : s->view.term[at].count;
        int64_t from = n ? (int64_t)s->part[at].step[n - 1] + 1 : 0;
        rc = store_points(store, s->view.run, name[i], from, &p, e);
        for (size_t k = 0; k < p.count && !rc; k++) series_term_point(s, name[i], p.step[k], p.value[k]);
        store_points_release(&p);
    }
    return rc;
}

static int read_samples(struct run_series *s, struct store *store, struct err *e) {
    struct store_samples v;
    int rc = store_samples(store, s->view.run, &v, e);
    if (rc) return rc;
    for (size_t i = 0; i < v.count; i++) {
        const struct store_sample *x = &v.sample[i];
        series_sample(s, &(struct train_sample){ x->step, x->source, x->target, x->generated, x->valid },
                      i && x->step == v.sample[i - 1].step);
    }
    store_samples_release(&v);
    return 0;
}

/* Of a run in stages: its marks, and results of each stage under the name that they have in the last one. */
static int read_stages(struct run_series *s, const struct store_run *run, struct store_evals *v, struct err *e) {
    struct run_config c;
    if (!run->regime || !text_starts(run->regime, "stages(")) return 0;
    int rc = config_from_json(run->config, strlen(run->config), &c, e);
    if (rc) return rc;
    series_stages(s, &c);
    config_release(&c);
    for (size_t i = 0; i < v->count; i++) {
        char *name = v->row[i].name, *slash = text_starts(name, SERIES_STAGE) ? strchr(name, '/') : NULL;
        if (slash) memmove(name, slash + 1, strlen(slash));
    }
    return 0;
}

int series_read(struct run_series *s, struct store *store, const struct store_run *run, struct err *e) {
    struct store_evals v = { 0 };
    int rc = read_points(s, store, e);
    read_epoch(s, run);
    if (!rc) rc = store_evaluations(store, s->view.run, &v, e);
    if (!rc) rc = read_stages(s, run, &v, e);
    if (!rc) take_evaluations(s, run->decides, &v);
    if (!rc && task_results_several(run)) rc = series_read_tasks(s, store, run, &v, e);
    if (!rc && task_results_several(run)) rc = series_read_terms(s, store, e);
    if (!rc) rc = read_samples(s, store, e);
    store_evals_release(&v);
    return rc;
}
