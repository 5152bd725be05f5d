/* Rows, pages and series of the history in the shapes that the screens take. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/desk_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static char *local_time(int64_t ms) {
    if (!ms) return xstrdup("");
    time_t seconds = (time_t)(ms / 1000);
    struct tm when;
    char text[32];
    localtime_r(&seconds, &when);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &when);
    return xstrdup(text);
}

static double number_or_nan(const struct store_value *v) {
    return v->measured && !v->undefined ? v->v : NAN;
}

static struct run_row row_of(const struct store_run *r, const char *started) {
    bool over = r->state == STORE_STOPPED || r->state == STORE_INTERRUPTED;
    return (struct run_row){
        .id = r->id, .state = (enum run_state)r->state, .step = r->step, .steps = r->steps,
        .method = r->method, .task = r->task, .model = r->model,
        .metric = r->best.measured ? r->metric : NULL, .smaller_better = r->direction < 0,
        .best = number_or_nan(&r->best), .best_step = r->best.step, .majority = NAN,
        .final_loss = number_or_nan(&r->loss), .trained = r->trained, .seconds = r->seconds,
        .seed = r->seed, .started = started, .reason = r->reason, .constant = r->constant,
        .resumable = over, .rows = r->rows, .lr = r->lr,
    };
}

/* Both lists are by falling id. */
static void mark_unfit(struct desk_runs *d, const struct store_runs *fit) {
    size_t k = 0;
    for (int i = 0; i < d->rows; i++) {
        while (k < fit->count && fit->run[k].id > d->row[i].id) k++;
        d->row[i].unfit = k == fit->count || fit->run[k].id != d->row[i].id;
    }
}

/* A filter that cannot be read lets all pass, and is told. */
static int apply_filter(struct store *s, struct desk_runs *d, struct err *e) {
    struct store_runs fit;
    struct err why = ERR_INIT;
    if (!*d->filter) return 0;
    int rc = store_list(s, &(struct store_list){ .trash = d->trash, .filter = d->filter }, &fit, &why);
    if (!rc) {
        mark_unfit(d, &fit);
        store_runs_release(&fit);
    } else if (rc == ERR_USAGE) {
        memcpy(d->error, why.text, strlen(why.text) + 1);
        rc = 0;
    } else {
        *e = why;
    }
    return rc;
}

int desk__runs(struct store *s, bool trash, const char *filter, struct desk_runs **out, struct err *e) {
    struct desk_runs *d = xcalloc(1, sizeof *d);
    int rc = store_list(s, &(struct store_list){ .trash = trash }, &d->stored, e);
    if (rc) {
        free(d);
        return rc;
    }
    d->trash = trash;
    d->filter = xstrdup(filter ? filter : "");
    d->rows = (int)d->stored.count;
    d->row = xcalloc(d->stored.count, sizeof *d->row);
    d->started = xcalloc(d->stored.count, sizeof *d->started);
    for (int i = 0; i < d->rows; i++) {
        d->started[i] = local_time(d->stored.run[i].created);
        d->row[i] = row_of(&d->stored.run[i], d->started[i]);
    }
    rc = apply_filter(s, d, e);
    if (rc) desk_runs_free(d);
    else *out = d;
    return rc;
}

void desk_runs_free(struct desk_runs *r) {
    if (!r) return;
    for (int i = 0; i < r->rows; i++) free(r->started[i]);
    free(r->started);
    free(r->row);
    free(r->filter);
    store_runs_release(&r->stored);
    free(r);
}

/* The values of one name at the steps of `at` (both ascending); NaN where there is none. */
static void align(double *out, const double *at, size_t n, const struct store_points *p) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k < p->count && (double)p->step[k] < at[i]) k++;
        out[i] = k < p->count && (double)p->step[k] == at[i] ? p->value[k] : NAN;
    }
}

static int fill_points(struct store *s, int64_t run, struct desk_series *d, struct err *e) {
    static const char *const name[] = { "loss", "lr", "grad_norm" };
    struct store_points p;
    int rc = store_points(s, run, name[0], 0, &p, e);
    if (rc) return rc;
    size_t n = d->series.count = p.count;
    d->block = xcalloc(4 * n, sizeof *d->block);
    for (size_t i = 0; i < n; i++) {
        d->block[i] = (double)p.step[i];
        d->block[n + i] = p.value[i];
    }
    store_points_release(&p);
    for (size_t k = 1; k < COUNT_OF(name); k++) {
        if ((rc = store_points(s, run, name[k], 0, &p, e))) return rc;
        align(d->block + (k + 1) * n, d->block, n, &p);
        store_points_release(&p);
    }
    d->series.step = d->block;
    d->series.loss = d->block + n;
    d->series.lr = d->block + 2 * n;
    d->series.grad_norm = d->block + 3 * n;
    return 0;
}

/* Of the split that decides: what it is called, "dev.accuracy", and its majority. */
static int fill_evaluations(struct store *s, const struct store_run *run, struct desk_series *d,
                            struct err *e) {
    struct store_evals v;
    int rc = store_evaluations(s, run->id, &v, e);
    if (rc) return rc;
    char *majority = store_name_beside(run->decides, "majority");
    d->eval_block = xcalloc(2 * v.count, sizeof *d->eval_block);
    d->series.majority = d->series.best = NAN;
    size_t n = 0;
    for (size_t i = 0; i < v.count; i++) {
        const struct store_eval_row *r = &v.row[i];
        if (!strcmp(r->name, majority)) d->series.majority = number_or_nan(&r->value);
        if (strcmp(r->name, run->decides)) continue;
        d->eval_block[n] = (double)r->step;
        d->eval_block[v.count + n++] = number_or_nan(&r->value);
        if (r->best) {
            d->series.best = number_or_nan(&r->value);
            d->series.best_step = r->step;
        }
        if (!d->rows) d->rows = xstrdup(r->rows ? r->rows : "");
    }
    d->series.evals = n;
    d->series.eval_step = d->eval_block;
    d->series.eval_value = d->eval_block + v.count;
    d->metric = xstrdup(run->metric);
    d->series.metric = n ? d->metric : NULL;
    d->series.eval_rows = d->rows;
    free(majority);
    store_evals_release(&v);
    return 0;
}

static int fill_samples(struct store *s, int64_t run, struct desk_series *d, struct err *e) {
    int rc = store_samples(s, run, &d->stored, e);
    if (rc) return rc;
    d->sample = xcalloc(d->stored.count, sizeof *d->sample);
    for (size_t i = 0; i < d->stored.count; i++) {
        const struct store_sample *x = &d->stored.sample[i];
        d->sample[i] = (struct train_sample){ x->step, x->source, x->target, x->generated, x->valid };
    }
    d->series.samples = d->stored.count;
    d->series.sample = d->sample;
    return 0;
}

int desk__series(struct store *s, const struct store_run *run, struct desk_series **out,
                 struct err *e) {
    struct desk_series *d = xcalloc(1, sizeof *d);
    d->series.run = run->id;
    int rc = fill_points(s, run->id, d, e);
    if (!rc) rc = fill_evaluations(s, run, d, e);
    if (!rc) rc = fill_samples(s, run->id, d, e);
    if (rc) {
        desk_series_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

static void series_release(struct desk_series *d) {
    free(d->block);
    free(d->eval_block);
    free(d->metric);
    free(d->rows);
    free(d->sample);
    store_samples_release(&d->stored);
}

void desk_series_free(struct desk_series *s) {
    if (!s) return;
    series_release(s);
    free(s);
}

/* ---- the detail page ---- */

static char *keep(struct desk_detail *d, char *text) {
    d->text = xrealloc(d->text, (size_t)d->texts + 1, sizeof *d->text);
    return d->text[d->texts++] = text;
}

static void pair(struct desk_detail *d, int *n, const char *key, char *value) {
    d->pair[(*n)++] = (struct detail_pair){ key, keep(d, value) };
}

static char *thousands(int64_t v) {
    char text[32];
    text_thousands(v, text);
    return xstrdup(text);
}

/* Everything frozen with the run, then its counts, then its files. */
static void fill_pairs(struct desk_detail *d, const struct store_run *r, const struct run_config *c,
                       const struct store_files *files) {
    d->pair = xcalloc(64 + files->count, sizeof *d->pair);
    int n = 0;
    pair(d, &n, "method", xstrdup(r->method));
    pair(d, &n, "modules", xstrdup(r->canonical ? r->canonical : ""));
    pair(d, &n, "model", xstrdup(r->model_folder ? r->model_folder : r->model));
    pair(d, &n, "train", xstrdup(r->train_file ? r->train_file : ""));
    pair(d, &n, "dev", xstrdup(r->dev_file ? r->dev_file : ""));
    for (int i = 0; i < config_option_count() && n < 40; i++) {
        struct config_option o = config_option_at(i);
        bool shown = !strcmp(o.name, "method") || !strcmp(o.name, "model"); /* above */
        char *value = shown ? NULL : config_get(c, o.name);
        if (value) pair(d, &n, o.name, value);
    }
    pair(d, &n, "version", xstrdup(r->version ? r->version : ""));
    pair(d, &n, "kernel", xstrdup(r->kernel ? r->kernel : ""));
    pair(d, &n, "weights", xstrdup(r->weights_sha256 ? r->weights_sha256 : ""));
    d->view.config = d->pair;
    d->view.configs = n;
    int counts = n;
    pair(d, &n, "trained, without head", thousands(r->trained));
    pair(d, &n, "kept after training", thousands(r->kept));
    pair(d, &n, "head", thousands(r->head));
    pair(d, &n, "model", thousands(r->model_values));
    d->view.count = d->pair + counts;
    d->view.counts = n - counts;
    int artifacts = n;
    for (size_t i = 0; i < files->count; i++) {
        char *what = keep(d, xprintf("%s, step %lld", files->file[i].kind, (long long)files->file[i].step));
        pair(d, &n, what, xstrdup(files->file[i].path));
    }
    d->view.artifact = d->pair + artifacts;
    d->view.artifacts = n - artifacts;
}

static void fill_detail_evals(struct store *s, struct desk_detail *d) {
    struct store_evals v;
    struct err ignored = ERR_INIT;
    const struct series *from = &d->series.series;
    d->eval = xcalloc(from->evals, sizeof *d->eval);
    for (size_t i = 0; i < from->evals; i++)
        d->eval[i] = (struct detail_eval){ .step = (int64_t)from->eval_step[i], .loss = NAN,
                                           .value = from->eval_value[i],
                                           .best = from->best_step == (int64_t)from->eval_step[i] };
    d->view.eval = d->eval;
    d->view.evals = (int)from->evals;
    if (store_evaluations(s, d->stored.id, &v, &ignored)) return;
    char *loss = store_name_beside(d->stored.decides, "loss");
    for (size_t i = 0; i < v.count; i++) {
        if (strcmp(v.row[i].name, loss)) continue;
        for (size_t k = 0; k < from->evals; k++)
            if (d->eval[k].step == v.row[i].step) d->eval[k].loss = number_or_nan(&v.row[i].value);
    }
    free(loss);
    store_evals_release(&v);
}

int desk__detail(struct store *s, int64_t run, struct desk_detail **out, struct err *e) {
    struct desk_detail *d = xcalloc(1, sizeof *d);
    struct store_files files = { 0 };
    struct run_config c;
    int rc = store_run(s, run, &d->stored, e);
    if (rc) {
        free(d);
        return rc;
    }
    rc = config_from_json(d->stored.config, strlen(d->stored.config), &c, e);
    struct desk_series *series = NULL;
    if (!rc) rc = desk__series(s, &d->stored, &series, e);
    if (!rc) {
        d->series = *series;
        free(series);
        rc = store_artifacts(s, run, &files, e);
    }
    if (!rc) {
        char *started = local_time(d->stored.created);
        memcpy(d->started, started, strlen(started) + 1);
        free(started);
        d->view.run = row_of(&d->stored, d->started);
        d->view.run.majority = d->series.series.majority;
        fill_pairs(d, &d->stored, &c, &files);
        fill_detail_evals(s, d);
        d->view.series = d->series.series;
        store_files_release(&files);
    }
    config_release(&c);
    if (rc) {
        desk_detail_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

void desk_detail_free(struct desk_detail *d) {
    if (!d) return;
    for (int i = 0; i < d->texts; i++) free(d->text[i]);
    free(d->text);
    free(d->pair);
    free(d->eval);
    series_release(&d->series);
    store_run_release(&d->stored);
    free(d);
}
