#include "app/history/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/report_read.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/config/sampling.h"
#include "core/train/config/stages.h"
#include "core/train/run/event.h"

/* The arrays that the view of a task points to. */
struct task_arrays {
    double *step, *loss;
    size_t room;
    double *eval_step, *eval_value;
    size_t eval_room;
    char *name, *metric, *rows;
};

/* The arrays of a loss component. */
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
    free(s->decides);
    free(s->rows);
    free(s);
}

/* Makes room for one more element in arrays that share a capacity. */
static void series_grow(double **array[], size_t arrays, size_t *room, size_t count) {
    if (count < *room) return;
    *room = *room ? 2 * *room : 64;
    for (size_t i = 0; i < arrays; i++) *array[i] = xrealloc(*array[i], *room, sizeof **array[i]);
}

void series_point(struct run_series *s, const struct series_step *x) {
    struct series *v = &s->view;
    size_t n = v->count;
    if (n && (double)x->step <= s->step[n - 1]) return;
    series_grow((double **[]){ &s->step, &s->loss, &s->lr, &s->norm, &s->tokens, &s->seconds }, 6, &s->room,
                n);
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

/* An evaluation as charts take it; NaN: undefined or missing. */
struct evaluation {
    int64_t step;
    const char *rows;
    double value, loss, majority;
    bool best;
};

static void take_evaluation(struct run_series *s, const struct evaluation *x) {
    struct series *v = &s->view;
    if (v->evals && (double)x->step <= s->eval_step[v->evals - 1]) return;
    series_grow((double **[]){ &s->eval_step, &s->eval_value, &s->eval_loss }, 3, &s->eval_room, v->evals);
    s->eval_step[v->evals] = (double)x->step;
    s->eval_value[v->evals] = x->value;
    s->eval_loss[v->evals++] = x->loss;
    v->eval_step = s->eval_step;
    v->eval_value = s->eval_value;
    if (!s->rows && x->rows) v->eval_rows = s->rows = xstrdup(x->rows);
    if (!isnan(x->majority)) v->majority = x->majority;
    const char *dot = s->decides ? strrchr(s->decides, '.') : NULL;
    v->metric = dot ? dot + 1 : NULL;
    if (!x->best) return;
    v->best = x->value;
    v->best_step = x->step;
}

/* ---- multi-task runs ---- */

/* Appends a point to a curve; returns false unless it is after the last one. */
static bool add_point(double **step, double **value, size_t *room, size_t *count, int64_t at, double x) {
    if (*count && (double)at <= (*step)[*count - 1]) return false;
    series_grow((double **[]){ step, value }, 2, room, *count);
    (*step)[*count] = (double)at;
    (*value)[(*count)++] = x;
    return true;
}

static int task_find(const struct run_series *s, const char *name) {
    for (int i = 0; i < s->view.tasks; i++)
        if (!strcmp(s->of[i].name, name)) return i;
    return -1;
}

static void add_task(struct run_series *s, const char *name, const char *metric, double share) {
    struct series *v = &s->view;
    int at = task_find(s, name);
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

static void task_point(struct run_series *s, int at, int64_t step, double loss) {
    struct series_task *v = (struct series_task *)&s->view.task[at];
    struct task_arrays *t = &s->of[at];
    if (!add_point(&t->step, &t->loss, &t->room, &v->count, step, loss)) return;
    v->step = t->step;
    v->loss = t->loss;
}

static void task_evaluation(struct run_series *s, int at, const struct evaluation *x) {
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

/* The examples' own loss is the first component, the others follow by name: the same order live and
 * stored. */
static int term_order(const char *a, const char *b) {
    bool first = !strcmp(a, LOSS_OF_TASKS), second = !strcmp(b, LOSS_OF_TASKS);
    return first || second ? second - first : strcmp(a, b);
}

/* Returns its index; adds it if it is missing. */
static int term_at(struct run_series *s, const char *name) {
    struct series *v = &s->view;
    int at = 0;
    while (at < v->terms && term_order(s->part[at].name, name) < 0) at++;
    if (at < v->terms && !strcmp(s->part[at].name, name)) return at;
    size_t n = (size_t)v->terms + 1, after = (size_t)(v->terms - at);
    struct series_term *term = xrealloc((struct series_term *)v->term, n, sizeof *term);
    s->part = xrealloc(s->part, n, sizeof *s->part);
    memmove(&s->part[at + 1], &s->part[at], after * sizeof *s->part);
    memmove(&term[at + 1], &term[at], after * sizeof *term);
    s->part[at] = (struct term_arrays){ .name = xstrdup(name) };
    term[at] = (struct series_term){ .name = s->part[at].name };
    v->term = term;
    v->terms++;
    return at;
}

static void term_point(struct run_series *s, const char *name, int64_t step, double loss) {
    int at = term_at(s, name);
    struct series_term *v = (struct series_term *)&s->view.term[at];
    struct term_arrays *t = &s->part[at];
    if (!add_point(&t->step, &t->loss, &t->room, &v->count, step, loss)) return;
    v->step = t->step;
    v->loss = t->loss;
}

/* Returns the task whose loss has this name, "TASK/loss", or -1. */
static int task_of_loss(const struct run_series *s, const char *name) {
    const char *slash = strrchr(name, '/');
    if (!slash || strcmp(slash, "/loss")) return -1;
    for (int i = 0; i < s->view.tasks; i++)
        if (text_starts(name, s->of[i].name) && strlen(s->of[i].name) == (size_t)(slash - name)) return i;
    return -1;
}

static bool is_component(const char *name) { return text_starts(name, LOSS_COMPONENT) && !strchr(name, '/'); }

void series_value(struct run_series *s, const char *name, int64_t step, double value) {
    int at = task_of_loss(s, name);
    if (at >= 0) task_point(s, at, step, value);
    else if (is_component(name)) term_point(s, name, step, value);
}

/* ---- evaluations ---- */

/* Returns the name without the prefix of an earlier stage: "dev.accuracy" for "stage1/dev.accuracy". */
static const char *name_of(const struct run_series *s, const struct store_eval_row *r) {
    const char *slash = s->staged && text_starts(r->name, SERIES_STAGE) ? strchr(r->name, '/') : NULL;
    return slash ? slash + 1 : r->name;
}

/* Finds the values of the run that accompany its primary metric, "dev.accuracy". */
static bool whole_evaluation(const struct run_series *s, const struct store_eval_row *r, const char *majority,
                             const char *loss, struct evaluation *x) {
    const char *name = name_of(s, r);
    if (!strcmp(name, majority)) x->majority = r->value.v;
    if (!strcmp(name, loss)) x->loss = r->value.v;
    if (strcmp(name, s->decides)) return false;
    x->value = r->value.v;
    x->best = r->best;
    x->rows = r->rows;
    return true;
}

static void whole_evaluations(struct run_series *s, const struct store_evals *v) {
    char *majority = store_name_other(s->decides, "majority"), *loss = store_name_other(s->decides, "loss");
    for (size_t i = 0; i < v->count;) {
        struct evaluation x = { .step = v->row[i].step, .value = NAN, .loss = NAN, .majority = NAN };
        bool there = false;
        for (; i < v->count && v->row[i].step == x.step; i++)
            there |= whole_evaluation(s, &v->row[i], majority, loss, &x);
        if (there) take_evaluation(s, &x);
    }
    free(majority);
    free(loss);
}

/* The same for a task: the first split of a step counts. */
static void task_evaluations(struct run_series *s, int at, const struct store_evals *v) {
    const char *task = s->of[at].name, *decides = s->of[at].metric;
    for (size_t i = 0; i < v->count;) {
        struct evaluation x = { .step = v->row[i].step, .value = NAN, .loss = NAN, .majority = NAN };
        bool there = false;
        for (; i < v->count && v->row[i].step == x.step; i++) {
            const struct store_eval_row *r = &v->row[i];
            const char *metric = store_name_metric(name_of(s, r), task);
            if (!metric) continue;
            if (!strcmp(metric, "majority") && isnan(x.majority)) x.majority = r->value.v;
            if (there || !decides || strcmp(metric, decides)) continue;
            there = true;
            x.value = r->value.v;
            x.best = r->best;
            x.rows = r->rows;
        }
        if (there) task_evaluation(s, at, &x);
    }
}

void series_evaluations(struct run_series *s, const struct store_evals *v) {
    if (s->decides) whole_evaluations(s, v);
    for (int i = 0; i < s->view.tasks; i++) task_evaluations(s, i, v);
}

/* ---- merging series ---- */

/* Returns how many of the steps are not after `last`; searches from the end, where new steps are. */
static size_t series_known(const double *step, size_t count, const double *last) {
    while (last && count && step[count - 1] > *last) count--;
    return last ? count : 0;
}

/* Returns the first step of `from` after the last one in `mine`. */
static size_t series_new_from(const double *mine, size_t count, const double *from, size_t n) {
    return series_known(from, n, count ? &mine[count - 1] : NULL);
}

static void take_task(struct run_series *s, const struct series_task *x) {
    add_task(s, x->name, x->metric, x->share);
    int at = task_find(s, x->name);
    const struct series_task *v = &s->view.task[at];
    for (size_t k = series_new_from(v->step, v->count, x->step, x->count); k < x->count; k++)
        task_point(s, at, (int64_t)x->step[k], x->loss[k]);
    for (size_t k = series_new_from(v->eval_step, v->evals, x->eval_step, x->evals); k < x->evals; k++) {
        int64_t step = (int64_t)x->eval_step[k];
        bool best = !isnan(x->best) && x->best_step == step;
        task_evaluation(s, at,
                        &(struct evaluation){ step, x->rows, x->eval_value[k], NAN, x->majority, best });
    }
}

static void take_points(struct run_series *s, const struct run_series *from) {
    const struct series *x = &from->view, *v = &s->view;
    for (size_t k = series_new_from(s->step, v->count, x->step, x->count); k < x->count; k++)
        series_point(s, &(struct series_step){ (int64_t)x->step[k], x->loss[k], x->lr[k], x->grad_norm[k],
                                               x->tokens[k] - (k ? x->tokens[k - 1] : 0), x->seconds[k] });
    for (size_t k = series_new_from(s->eval_step, v->evals, x->eval_step, x->evals); k < x->evals; k++) {
        int64_t step = (int64_t)x->eval_step[k];
        bool best = !isnan(x->best) && x->best_step == step;
        take_evaluation(s, &(struct evaluation){ step, x->eval_rows, x->eval_value[k], from->eval_loss[k],
                                                 x->majority, best });
    }
}

/* Returns the number of samples from a step on. */
static size_t samples_from(const struct series *v, int64_t step) {
    size_t n = 0;
    while (n < v->samples && v->sample[v->samples - n - 1].step >= step) n++;
    return n;
}

void series_take(struct run_series *s, const struct run_series *from) {
    const struct series *x = &from->view;
    if (!s->decides && from->decides) s->decides = xstrdup(from->decides);
    s->staged |= from->staged;
    if (x->epoch > 0) s->view.epoch = x->epoch;
    if (x->marks) memcpy(s->view.mark, x->mark, sizeof x->mark);
    if (x->marks) s->view.marks = x->marks;
    take_points(s, from);
    for (int i = 0; i < x->tasks; i++) take_task(s, &x->task[i]);
    for (int i = 0; i < x->terms; i++) {
        const struct series_term *t = &x->term[i];
        int at = term_at(s, t->name);
        const struct series_term *v = &s->view.term[at];
        for (size_t k = series_new_from(v->step, v->count, t->step, t->count); k < t->count; k++)
            term_point(s, t->name, (int64_t)t->step[k], t->loss[k]);
    }
    for (size_t k = x->samples ? samples_from(&s->view, x->sample[0].step) : 0; k < x->samples; k++)
        series_sample(s, &x->sample[k]);
}

void series_sample(struct run_series *s, const struct train_sample *x) {
    struct series *v = &s->view;
    GROW(s->sample, s->sample_room, v->samples + 1);
    s->sample[v->samples++] = (struct train_sample){
        x->step, xstrdup(x->source), x->target ? xstrdup(x->target) : NULL, xstrdup(x->generated), x->valid,
    };
    v->sample = s->sample;
}

/* ---- reading the database ---- */

/* Returns the value of `p` at `step`, which must not decrease between calls; NaN if there is none. */
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
    for (size_t i = 0; !rc && i < COUNT_OF(name); i++)
        rc = store_points(store, s->view.run, name[i], from, &p[i], e);
    for (size_t i = 0; !rc && i < p[0].count; i++) {
        int64_t step = p[0].step[i];
        series_point(s, &(struct series_step){ step, p[0].value[i], series_at(&p[1], &at[1], step),
                                               series_at(&p[2], &at[2], step), series_at(&p[3], &at[3], step),
                                               series_at(&p[4], &at[4], step) });
    }
    for (size_t i = 0; i < COUNT_OF(name); i++) store_points_release(&p[i]);
    return rc;
}

/* Reads the number of training examples of each task from the import reports; returns false if one is
 * unknown. */
static bool train_rows(const struct store_run *run, const struct run_config *c, size_t rows[RUN_TASKS]) {
    bool known = true;
    for (int i = 0; i < config_task_count(c); i++) {
        char *start = c->tasks ? xprintf("task %s\n", c->of[i].task_name) : xstrdup("");
        struct report_facts f = { 0 };
        int at = 0;
        while (at < run->reports && !text_starts(run->report[at], start)) at++;
        if (at < run->reports) report_read(run->report[at], &f);
        rows[i] = f.examples;
        known = known && f.examples;
        report_facts_release(&f);
        free(start);
    }
    return known;
}

/* Returns the number of steps per epoch, or 0 if unknown. */
static double epoch_of(const struct run_config *c, const size_t *rows) {
    size_t all = 0;
    if (c->batch < 1 || config_is_meta(c) || config_is_staged(c)) return 0;
    for (int i = 0; i < config_task_count(c); i++) all += rows[i];
    return (double)epoch_steps(1, all, c->batch);
}

static void add_tasks(struct run_series *s, const struct run_config *c, const size_t *rows) {
    const struct sampling how = config_sampling(c);
    double expected[RUN_TASKS];
    if (rows) sampling_expected(&how, c->tasks, rows, c->batch, expected);
    for (int i = 0; i < c->tasks; i++)
        add_task(s, c->of[i].task_name, c->of[i].metric, rows ? expected[i] / c->batch : NAN);
}

static void add_stages(struct run_series *s, const struct run_config *c) {
    const struct stages *all = config_stages(c);
    s->staged = all != NULL;
    s->view.marks = 0;
    for (int k = 1; all && k < all->count && s->view.marks < SERIES_MARKS; k++)
        s->view.mark[s->view.marks++] = (double)stages_first(all, k);
}

void series_begin(struct run_series *s, const struct store_run *run) {
    struct run_config c;
    struct err ignored = ERR_INIT;
    size_t rows[RUN_TASKS];
    if (!s->decides) s->decides = xstrdup(run->decides);
    if (record_config_of(run, &c, &ignored)) return;
    bool known = train_rows(run, &c, rows);
    if (known) s->view.epoch = epoch_of(&c, rows);
    if (c.tasks) add_tasks(s, &c, known ? rows : NULL);
    add_stages(s, &c);
    config_release(&c);
}

/* Reads the additional values of steps. */
static int read_values(struct run_series *s, struct store *store, const struct store_run *run,
                       struct err *e) {
    int rc = 0;
    for (size_t i = 0; !rc && i < run->value_count; i++) {
        const char *name = run->value[i].name;
        int task = task_of_loss(s, name), at = task < 0 && is_component(name) ? term_at(s, name) : task;
        if (at < 0) continue;
        const double *step = task < 0 ? s->part[at].step : s->of[at].step;
        size_t n = task < 0 ? s->view.term[at].count : s->view.task[at].count;
        struct store_points p = { 0 };
        rc = store_points(store, s->view.run, name, n ? (int64_t)step[n - 1] + 1 : 0, &p, e);
        for (size_t k = 0; k < p.count && !rc; k++) series_value(s, name, p.step[k], p.value[k]);
        store_points_release(&p);
    }
    return rc;
}

static int read_samples(struct run_series *s, struct store *store, struct err *e) {
    struct store_samples v;
    int rc = store_samples(store, s->view.run, &v, e);
    if (rc) return rc;
    for (size_t i = v.count ? samples_from(&s->view, v.sample[0].step) : 0; i < v.count; i++) {
        const struct store_sample *x = &v.sample[i];
        series_sample(s, &(struct train_sample){ x->step, x->source, x->target, x->generated, x->valid });
    }
    store_samples_release(&v);
    return 0;
}

int series_read(struct run_series *s, struct store *store, const struct store_run *run, struct err *e) {
    struct store_evals v = { 0 };
    series_begin(s, run);
    int rc = read_points(s, store, e);
    if (!rc) rc = store_evaluations(store, s->view.run, &v, e);
    if (!rc) series_evaluations(s, &v);
    if (!rc) rc = read_values(s, store, run, e);
    if (!rc) rc = read_samples(s, store, e);
    store_evals_release(&v);
    return rc;
}
