/* The quantities of core/lesson/quantities.h, each computed by the module that also computes it elsewhere. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/export_hf.h"
#include "app/insight/probe.h"
#include "app/jobs/typed.h"
#include "app/lesson/measure_private.h"
#include "core/analysis/tap_added.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/scratch.h"
#include "core/base/text.h"
#include "core/method/attach.h"
#include "core/model/load.h"
#include "core/train/config/complete.h"

enum { ROWS = 32, ROWS_SEED = 1, TOKENS = 64 };

/* An opened run, or a method at initialization, with some examples, and the results found in it. */
struct lesson_subject {
    int64_t run;  /* 0: a method at initialization */
    char *method; /* the text of that method */
    struct probe probe;
    bool has_added;
    struct tap_added added;
};

void lesson_play_release(struct lesson_play *p) {
    for (int i = 0; i < p->subjects; i++) {
        free(p->subject[i].method);
        probe_release(&p->subject[i].probe);
        tap_added_release(&p->subject[i].added);
    }
    free(p->subject);
    p->subject = NULL;
    p->subjects = p->room = 0;
    if (p->held) model_release(p->held);
    p->held = NULL;
}

/* ---- subjects ---- */

static const struct probe_draw lesson_draw = { .most = ROWS, .seed = ROWS_SEED };

static int open_started(struct lesson_play *p, const char *method, struct probe *probe, struct err *e) {
    struct run_config c;
    const struct typed_option o = { "method", method };
    struct probe_draw draw = lesson_draw;
    draw.max_len = TOKENS;
    int rc = lesson_config(p, &o, 1, 0, &c, e);
    if (!rc && config_task_count(&c) != 1)
        rc = err_set(e, ERR_USAGE, "a method at initialization can be measured on one task only");
    if (!rc) rc = probe_open_model(probe, c.model, e);
    if (!rc) {
        const struct task_source source = config_source(&c, NULL);
        rc = probe_rows(probe, &source, 1, &draw, e);
    }
    if (!rc) {
        const struct dataset *d = probe->task[0].d;
        const struct predictor_parts parts = { .m = probe->opened.model,
                                               .c = &c,
                                               .label_kind = d->kind,
                                               .labels = d->classes,
                                               .label = d->class_name };
        probe->opened.predictor = predictor_new(&parts, e);
        rc = probe->opened.predictor ? 0 : e->code;
    }
    config_release(&c);
    return rc;
}

static int open_trained(struct lesson_play *p, int64_t run, struct probe *probe, struct err *e) {
    int rc = probe_open_run(probe, p->store, run, NULL, &(struct backbone_hint){ 0 }, NULL, e);
    return rc ? rc : probe_rows(probe, NULL, 0, &lesson_draw, e);
}

int lesson_measure_runs_of(const struct lesson_play *p, const struct expression_argument *a,
                           const struct lesson_result **r, struct err *e) {
    *r = &p->progress->of[a->run];
    if ((*r)->state == LESSON_DONE && (*r)->runs) return 0;
    return err_set(e, ERR_USAGE, "\"%s\" has not been run yet", p->lesson->step[a->run].name);
}

static int subject_of(struct lesson_play *p, const struct expression_argument *a, struct lesson_subject **out,
                      struct err *e) {
    const struct lesson_result *r = NULL;
    if (a->takes == QUANTITY_RUN && lesson_measure_runs_of(p, a, &r, e)) return e->code;
    int64_t run = r ? r->run[0] : 0;
    for (int i = 0; i < p->subjects; i++) {
        *out = &p->subject[i];
        if (run ? run == (*out)->run : (*out)->method && !strcmp((*out)->method, a->text)) return 0;
    }
    struct probe probe = { 0 };
    int rc = run ? open_trained(p, run, &probe, e) : open_started(p, a->text, &probe, e);
    if (rc) {
        probe_release(&probe);
        return rc;
    }
    GROW(p->subject, p->room, p->subjects + 1);
    *out = &p->subject[p->subjects++];
    **out = (struct lesson_subject){ .run = run, .method = run ? NULL : xstrdup(a->text), .probe = probe };
    return 0;
}

int lesson_measure_probe(struct lesson_play *p, const struct expression_argument *a, const struct probe **out,
                         struct err *e) {
    struct lesson_subject *s;
    int rc = subject_of(p, a, &s, e);
    if (!rc) *out = &s->probe;
    return rc;
}

static int layer_of(double v, int layers, int *out, struct err *e) {
    if (v != floor(v) || v < 1 || v > layers)
        return err_set(e, ERR_USAGE, "layer %g does not exist: must be an integer between 1 and %d", v,
                       layers);
    *out = (int)v;
    return 0;
}

/* ---- inside a run ---- */

static int added_value(struct lesson_play *p, const struct expression_argument *a, double at, bool share,
                       double *out, struct err *e) {
    struct lesson_subject *s;
    int layer = 1, rc = subject_of(p, a, &s, e);
    if (!rc) rc = layer_of(at, s->probe.layers, &layer, e);
    if (!rc && !s->has_added)
        rc = tap_added(s->probe.opened.model, s->probe.opened.predictor, s->probe.task[0].d,
                       jobs_crew(p->jobs), &s->added, e);
    if (rc) return rc;
    s->has_added = true;
    const struct tap_added_layer *l = &s->added.layer[layer - 1];
    *out = !share ? l->largest : l->added > 0 ? sqrt(l->added / l->was) : 0;
    return 0;
}

/* Returns what merging adds to the first matrix that it changes in a layer: rows × cols, owned by the
 * caller; NULL with *e. */
static double *folded_change(struct lesson_play *p, const struct expression_argument *a, double at, int *rows,
                             int *cols, struct err *e) {
    struct lesson_subject *s;
    int layer = 1, rc = subject_of(p, a, &s, e);
    if (!rc) rc = layer_of(at, s->probe.layers, &layer, e);
    if (rc) return NULL;
    const struct model *m = s->probe.opened.model;
    const struct predictor *u = s->probe.opened.predictor;
    real **merged = xcalloc((size_t)m->tensors + 1, sizeof *merged);
    double *out = NULL;
    rc = attach_merge(predictor_plan(u), m, predictor_params(u), merged, e);
    for (int i = 0; !rc && i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        bool here = merged[i] && !out && !t->vector && t->stack == STACK_ENCODER && t->layer == layer - 1;
        size_t n = here ? (size_t)t->rows * (size_t)t->cols : 0;
        if (here) out = xmalloc(n * sizeof *out);
        const real *before = here ? model_weight(m, i) : NULL;
        for (size_t k = 0; k < n; k++) out[k] = (double)merged[i][k] - (double)before[k];
        if (here) *rows = t->rows, *cols = t->cols;
        free(merged[i]);
    }
    free(merged);
    if (!rc && !out) err_set(e, ERR_USAGE, "merging changes no matrix in layer %d", layer);
    return out;
}

static double lesson_measure_norm_of(const double *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += v[i] * v[i];
    return sqrt(sum);
}

/* Counts independent rows by Gram-Schmidt, longest remaining row first, down to `part` of the first;
 * overwrites v. */
static int rank_of(double *v, int rows, int cols, double part) {
    double first = 0;
    for (int rank = 0; rank < rows; rank++) {
        double longest = 0;
        int at = -1;
        for (int i = 0; i < rows; i++) {
            double n = lesson_measure_norm_of(v + (size_t)i * (size_t)cols, (size_t)cols);
            if (n > longest) longest = n, at = i;
        }
        if (!rank) first = longest;
        if (at < 0 || longest <= part * first) return rank;
        double *unit = xmalloc((size_t)cols * sizeof *unit);
        for (int k = 0; k < cols; k++) unit[k] = v[(size_t)at * (size_t)cols + (size_t)k] / longest;
        for (int i = 0; i < rows; i++) {
            double *row = v + (size_t)i * (size_t)cols, along = 0;
            for (int k = 0; k < cols; k++) along += row[k] * unit[k];
            for (int k = 0; k < cols; k++) row[k] -= along * unit[k];
        }
        free(unit);
    }
    return rows;
}

static int change_value(struct lesson_play *p, const struct expression_argument *a, double at, bool rank,
                        double *out, struct err *e) {
    static const double part = 1e-3;
    int rows = 0, cols = 0;
    double *v = folded_change(p, a, at, &rows, &cols, e);
    if (!v) return e->code;
    *out = rank ? rank_of(v, rows, cols, part) : lesson_measure_norm_of(v, (size_t)rows * (size_t)cols);
    free(v);
    return 0;
}

/* Finds the first pair NAME.W_d, NAME.W_u of a layer in the plan. */
static bool lesson_measure_find_pair(const struct plan *p, int layer, const struct plan_tensor **down,
                                     const struct plan_tensor **up) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *d = &p->tensor[i];
        size_t n = strlen(d->name);
        if (d->kind != PLAN_OWN || d->stack != STACK_ENCODER || d->layer != layer ||
            !text_ends(d->name, ".W_d"))
            continue;
        for (int k = 0; k < p->tensors; k++) {
            const struct plan_tensor *u = &p->tensor[k];
            if (strncmp(u->name, d->name, n - 3) || strcmp(u->name + n - 3, "W_u") || u->cols != d->rows)
                continue;
            *down = d;
            *up = u;
            return true;
        }
    }
    return false;
}

static int product_norm(struct lesson_play *p, const struct expression_argument *a, double at, double *out,
                        struct err *e) {
    struct lesson_subject *s;
    const struct plan_tensor *d, *u;
    int layer = 1, rc = subject_of(p, a, &s, e);
    if (!rc) rc = layer_of(at, s->probe.layers, &layer, e);
    if (rc) return rc;
    const struct predictor *of = s->probe.opened.predictor;
    if (!lesson_measure_find_pair(predictor_plan(of), layer - 1, &d, &u))
        return err_set(e, ERR_USAGE, "the method has no matrices W_d and W_u in layer %d", layer);
    const real *vd = predictor_params(of) + d->offset, *vu = predictor_params(of) + u->offset;
    double sum = 0;
    for (int i = 0; i < u->rows; i++)
        for (int k = 0; k < d->cols; k++) {
            double v = 0;
            for (int r = 0; r < d->rows; r++) v += (double)vu[i * u->cols + r] * (double)vd[r * d->cols + k];
            sum += v * v;
        }
    *out = sqrt(sum);
    return 0;
}

/* ---- merging ---- */

static int folded_gap(struct lesson_play *p, const struct expression_argument *a, double *out,
                      struct err *e) {
    const struct lesson_result *r;
    if (lesson_measure_runs_of(p, a, &r, e)) return e->code;
    struct scratch at;
    if (scratch_make(&at, "lesson", e)) return e->code;
    char *inside = file_join(at.folder, "folded");
    int rc = export_hf(p->store, r->run[0], NULL, NULL, inside, false, jobs_crew(p->jobs), out, NULL, e);
    scratch_drop(&at);
    free(inside);
    return rc;
}

/* ---- the model, and a method on it ---- */

/* Counts as in training on that number of tasks, each with two classes. */
static struct plan *plan_of_tasks(const struct method *m, const struct arch *a, double tasks, struct err *e) {
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h",
                                         "i", "j", "k", "l", "m", "n", "o", "p" };
    int outputs[COUNT_OF(names)], n = (int)tasks;
    if (tasks != n || n < 1 || n > (int)COUNT_OF(names)) {
        err_set(e, ERR_USAGE, "%g tasks: must be an integer between 1 and %d", tasks, (int)COUNT_OF(names));
        return NULL;
    }
    for (int i = 0; i < n; i++) outputs[i] = arch_generates(a) ? 0 : 2;
    return n > 1 ? plan_new_tasks(m, a, &(struct plan_tasks){ n, names, outputs, NULL }, e)
                 : plan_new(m, a, outputs[0], e);
}

static int count_values(struct lesson_play *p, const char *method, double tasks, bool model,
                        const struct arch **arch, struct model **m, double *out, struct err *e) {
    struct run_config c;
    const struct typed_option o = { "method", method };
    int rc = lesson_config(p, &o, 1, 0, &c, e);
    *m = rc ? NULL : model_share(c.model, e);
    if (!rc && !*m) rc = e->code;
    if (!rc) {
        *arch = &(*m)->arch;
        struct plan *plan = plan_of_tasks(&c.method, *arch, tasks, e);
        if (plan) *out = (double)(model ? plan->model : plan->trained_method);
        else rc = e->code;
        plan_free(plan);
    }
    config_release(&c);
    return rc;
}

static int model_value(struct lesson_play *p, enum quantity q, const char *method, double tasks, double *out,
                       struct err *e) {
    const struct arch *a = NULL;
    struct model *m = NULL;
    int rc = count_values(p, method, tasks, q == QUANTITY_VALUES, &a, &m, out, e);
    if (!rc && q == QUANTITY_WIDTH) *out = a->width;
    if (!rc && q == QUANTITY_LAYERS) *out = a->encoder_layers;
    if (!rc && q == QUANTITY_HEADS) *out = a->heads;
    if (!rc && q == QUANTITY_INNER) *out = a->inner;
    if (m && !p->held) p->held = m; /* reused for the next quantity */
    else if (m) model_release(m);
    return rc;
}

/* ---- the record of a run ---- */

static int loss_mean(struct lesson_play *p, int64_t run, double from, double to, double *out, struct err *e) {
    struct store_points points = { 0 };
    double sum = 0;
    size_t n = 0;
    int rc = store_points(p->store, run, "loss", 0, &points, e);
    for (size_t i = 0; i < points.count; i++)
        if ((double)points.step[i] >= from && (double)points.step[i] <= to) sum += points.value[i], n++;
    store_points_release(&points);
    if (!rc && !n)
        rc = err_set(e, ERR_USAGE, "run %lld has no steps from %g to %g", (long long)run, from, to);
    if (!rc) *out = sum / (double)n;
    return rc;
}

static int recorded_at(struct lesson_play *p, int64_t run, const char *name, double step, double *out,
                       struct err *e) {
    struct store_points points = { 0 };
    int rc = store_points(p->store, run, name, 0, &points, e);
    bool found = false;
    for (size_t i = 0; i < points.count; i++)
        if ((double)points.step[i] == step) *out = points.value[i], found = true;
    store_points_release(&points);
    if (rc || found) return rc;
    return err_set(e, ERR_USAGE, "run %lld: \"%s\" was not recorded at step %g", (long long)run, name, step);
}

static int recorded(const struct store_run *run, const char *name, double *out, struct err *e) {
    const char **names = xcalloc(run->value_count + 1, sizeof *names);
    size_t i = 0;
    for (size_t k = 0; k < run->value_count; k++) names[k] = run->value[k].name;
    while (i < run->value_count && strcmp(names[i], name) != 0) i++;
    int rc = 0;
    if (i == run->value_count) {
        const char *near = text_nearest(name, names, run->value_count);
        rc = err_set(e, ERR_USAGE, "run %lld: \"%s\" was not recorded%s%s%s", (long long)run->id, name,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    } else {
        *out = run->value[i].last.v;
    }
    free(names);
    return rc;
}

static int mean_of_best(struct lesson_play *p, const struct lesson_result *r, double *out, struct err *e) {
    *out = 0;
    for (int i = 0; i < r->runs; i++) {
        struct store_run run;
        int rc = store_run(p->store, r->run[i], &run, e);
        if (rc) return rc;
        *out += run.best.measured ? run.best.v / r->runs : NAN;
        store_run_release(&run);
    }
    return 0;
}

static int same_bits(struct lesson_play *p, int64_t one, const struct expression_argument *other, double *out,
                     struct err *e) {
    const struct lesson_result *r;
    struct store_run a, b;
    if (lesson_measure_runs_of(p, other, &r, e) || store_run(p->store, one, &a, e)) return e->code;
    int rc = store_run(p->store, r->run[0], &b, e);
    if (!rc) {
        *out = a.weights_sha256 && b.weights_sha256 && !strcmp(a.weights_sha256, b.weights_sha256);
        store_run_release(&b);
    }
    store_run_release(&a);
    return rc;
}

static int record_value(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        const double *number, int count, double *out, struct err *e) {
    const struct lesson_result *r;
    struct store_run run;
    if (lesson_measure_runs_of(p, a, &r, e)) return e->code;
    if (q == QUANTITY_BEST) return mean_of_best(p, r, out, e);
    if (q == QUANTITY_LOSS) return loss_mean(p, r->run[0], number[1], number[1], out, e);
    if (q == QUANTITY_LOSS_MEAN) return loss_mean(p, r->run[0], number[1], number[2], out, e);
    if (q == QUANTITY_SAME) return same_bits(p, r->run[0], &a[1], out, e);
    if (q == QUANTITY_RECORD && count > 2) return recorded_at(p, r->run[0], a[1].text, number[2], out, e);
    int rc = store_run(p->store, r->run[0], &run, e);
    if (rc) return rc;
    if (q == QUANTITY_RECORD) rc = recorded(&run, a[1].text, out, e);
    else *out = (double)(q == QUANTITY_TRAINED ? run.trained : run.step);
    store_run_release(&run);
    return rc;
}

int lesson_quantity(void *self, enum quantity q, const struct expression_argument *argument,
                    const double *number, int count, double *out, struct err *e) {
    struct lesson_play *p = self;
    switch (q) {
    case QUANTITY_WIDTH:
    case QUANTITY_LAYERS:
    case QUANTITY_HEADS:
    case QUANTITY_INNER:
    case QUANTITY_VALUES: return model_value(p, q, "head", 1, out, e);
    case QUANTITY_COUNT: return model_value(p, q, argument[0].text, count > 1 ? number[1] : 1, out, e);
    case QUANTITY_TRAINED:
    case QUANTITY_STEPS:
    case QUANTITY_BEST:
    case QUANTITY_LOSS:
    case QUANTITY_LOSS_MEAN:
    case QUANTITY_RECORD:
    case QUANTITY_SAME: return record_value(p, q, argument, number, count, out, e);
    case QUANTITY_WHY: return lesson_measure_why(p, argument, out, e);
    case QUANTITY_LOWEST:
    case QUANTITY_HIGHEST:
        return lesson_measure_seeds(p, q, argument, count > 1 ? number[1] : INFINITY, out, e);
    case QUANTITY_WINS:
    case QUANTITY_GAP:
    case QUANTITY_GAP_LOW:
    case QUANTITY_GAP_HIGH:
    case QUANTITY_GAP_WIDTH:
        return lesson_measure_seeds(p, q, argument, count > 2 ? number[2] : INFINITY, out, e);
    case QUANTITY_PURITY:
    case QUANTITY_SILHOUETTE:
    case QUANTITY_RETRIEVED_PURITY:
    case QUANTITY_RETRIEVED_SILHOUETTE:
    case QUANTITY_RETRIEVER_LAYER:
    case QUANTITY_OWN_PROTOTYPE:
    case QUANTITY_ALIKE: return lesson_measure_rows(p, q, argument, number[1], out, e);
    case QUANTITY_LAMBDA:
    case QUANTITY_LAMBDA_LEAST:
    case QUANTITY_LAMBDA_MOST:
    case QUANTITY_GATE_GAP: return lesson_measure_gate(p, q, argument, number, out, e);
    case QUANTITY_MAP_SIZE:
    case QUANTITY_MAP_GAP:
    case QUANTITY_MAP_KEPT:
    case QUANTITY_MAP_KL: return lesson_measure_map(p, q, argument, number, count, out, e);
    case QUANTITY_DELTA:
    case QUANTITY_DELTA_SHARE: return added_value(p, argument, number[1], q == QUANTITY_DELTA_SHARE, out, e);
    case QUANTITY_DW:
    case QUANTITY_RANK: return change_value(p, argument, number[1], q == QUANTITY_RANK, out, e);
    case QUANTITY_UV: return product_norm(p, argument, number[1], out, e);
    case QUANTITY_FOLDED: return folded_gap(p, argument, out, e);
    case QUANTITIES: break;
    }
    BUG("unknown quantity %d", (int)q);
}
