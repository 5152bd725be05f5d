#include "app/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct run_series *series_new(int64_t run) {
    struct run_series *s = xcalloc(1, sizeof *s);
    s->view = (struct series){ .run = run, .majority = NAN, .best = NAN };
    return s;
}

void series_free(struct run_series *s) {
    if (!s) return;
    for (size_t i = 0; i < s->view.samples; i++) {
        free((char *)s->sample[i].source);
        free((char *)s->sample[i].target);
        free((char *)s->sample[i].generated);
    }
    free(s->step);
    free(s->loss);
    free(s->lr);
    free(s->norm);
    free(s->eval_step);
    free(s->eval_value);
    free(s->eval_loss);
    free(s->sample);
    free(s->metric);
    free(s->rows);
    free(s);
}

/* Makes room for one more in arrays that share a capacity. */
static void grow(double **array[], size_t arrays, size_t *room, size_t count) {
    if (count < *room) return;
    *room = *room ? 2 * *room : 64;
    for (size_t i = 0; i < arrays; i++) *array[i] = xrealloc(*array[i], *room, sizeof **array[i]);
}

void series_point(struct run_series *s, int64_t step, double loss, double lr, double norm) {
    struct series *v = &s->view;
    if (v->count && (double)step <= s->step[v->count - 1]) return;
    grow((double **[]){ &s->step, &s->loss, &s->lr, &s->norm }, 4, &s->room, v->count);
    s->step[v->count] = (double)step;
    s->loss[v->count] = loss;
    s->lr[v->count] = lr;
    s->norm[v->count++] = norm;
    v->step = s->step;
    v->loss = s->loss;
    v->lr = s->lr;
    v->grad_norm = s->norm;
}

void series_evaluation(struct run_series *s, const struct series_evaluation *x) {
    struct series *v = &s->view;
    if (v->evals && (double)x->step <= s->eval_step[v->evals - 1]) return;
    grow((double **[]){ &s->eval_step, &s->eval_value, &s->eval_loss }, 3, &s->eval_room, v->evals);
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
static double at(const struct store_points *p, size_t *k, int64_t step) {
    while (*k < p->count && p->step[*k] < step) ++*k;
    return *k < p->count && p->step[*k] == step ? p->value[*k] : NAN;
}

static int read_points(struct run_series *s, struct store *store, struct err *e) {
    static const char *const name[] = { "loss", "lr", "grad_norm" };
    struct store_points p[COUNT_OF(name)] = { 0 };
    int64_t from = s->view.count ? (int64_t)s->step[s->view.count - 1] + 1 : 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(name); i++) rc = store_points(store, s->view.run, name[i], from, &p[i], e);
    size_t lr = 0, norm = 0;
    for (size_t i = 0; !rc && i < p[0].count; i++) {
        int64_t step = p[0].step[i];
        double rate = at(&p[1], &lr, step), length = at(&p[2], &norm, step);
        series_point(s, step, p[0].value[i], rate, length);
    }
    for (size_t i = 0; i < COUNT_OF(name); i++) store_points_release(&p[i]);
    return rc;
}

static double number_or_nan(const struct store_value *v) { return v->measured && !v->undefined ? v->v : NAN; }

/* Of the split that decides: what it is called, "dev.accuracy", and its loss and majority; a step's rows stand
 * together. */
static int read_evaluations(struct run_series *s, struct store *store, const char *decides, struct err *e) {
    struct store_evals v;
    int rc = store_evaluations(store, s->view.run, &v, e);
    if (rc) return rc;
    const char *dot = strrchr(decides, '.');
    char *majority = store_name_beside(decides, "majority"), *loss = store_name_beside(decides, "loss");
    for (size_t i = 0; i < v.count;) {
        struct series_evaluation x = { .step = v.row[i].step, .metric = dot ? dot + 1 : NULL, .value = NAN,
                                       .loss = NAN, .majority = NAN };
        bool there = false;
        for (; i < v.count && v.row[i].step == x.step; i++) {
            const struct store_eval_row *r = &v.row[i];
            if (!strcmp(r->name, majority)) x.majority = number_or_nan(&r->value);
            if (!strcmp(r->name, loss)) x.loss = number_or_nan(&r->value);
            if (strcmp(r->name, decides)) continue;
            there = true;
            x.value = number_or_nan(&r->value);
            x.best = r->best;
            x.rows = r->rows;
        }
        if (there) series_evaluation(s, &x);
    }
    free(majority);
    free(loss);
    store_evals_release(&v);
    return 0;
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

int series_read(struct run_series *s, struct store *store, const char *decides, struct err *e) {
    int rc = read_points(s, store, e);
    if (!rc) rc = read_evaluations(s, store, decides, e);
    if (!rc) rc = read_samples(s, store, e);
    return rc;
}
