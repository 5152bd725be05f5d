#include "core/train/fewshot/fewshot_meta.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/method/carry.h"
#include "core/method/slots.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/meta/meta_run.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/order.h"
#include "core/train/run/pool.h"
#include "core/train/use/predict.h"

enum { LABEL_ROWS = 4, SCORED_AT_ONCE = 32 };

struct fewshot_meta {
    struct model *m;
    struct plan *plan;
    struct regime regime;
    real *params, *generated;
};

void fewshot_meta_free(struct fewshot_meta *x) {
    if (!x) return;
    plan_free(x->plan);
    free(x->params);
    free(x->generated);
    free(x);
}

const struct plan *fewshot_meta_plan(const struct fewshot_meta *x) { return x->plan; }
const real *fewshot_meta_params(const struct fewshot_meta *x) { return x->params; }

static int open_it(struct fewshot_meta *x, const struct checkpoint *k, struct err *e) {
    struct task none = { .kind = DATA_CLASSES }, *one = &none;
    if (checkpoint_is_of(k, x->m, e)) return e->code;
    x->regime = config_regime(&k->config);
    x->plan = run_plan_for(&k->config, &(struct run_tasks){ 1, &one }, &x->m->arch, e);
    if (!x->plan) return e->code;
    x->params = mem_try(x->plan->trained + 1, sizeof *x->params);
    x->generated = mem_try(x->plan->generated_size + 1, sizeof *x->generated);
    if (!x->params || !x->generated)
        return err_set(e, ERR_SYSTEM, "out of memory for %zu trainable parameters", x->plan->trained);
    memset(x->params, 0, x->plan->trained * sizeof *x->params);
    return checkpoint_read(k, x->plan, false, x->params, x->generated, NULL, NULL, e);
}

struct fewshot_meta *fewshot_meta_open(const char *checkpoint, struct model *m, struct err *e) {
    struct checkpoint k;
    if (checkpoint_open(&k, checkpoint, e)) return NULL;
    struct fewshot_meta *x = xcalloc(1, sizeof *x);
    x->m = m;
    int rc = open_it(x, &k, e);
    checkpoint_close(&k);
    if (!rc) return x;
    fewshot_meta_free(x);
    return NULL;
}

/* ---- examples ---- */

static void fewshot_meta_add_row(struct episode *x, int at, const struct dataset *d, uint32_t row) {
    x->example[at] = (struct episode_example){ d, row, d->example[row].label };
}

/* The first examples of each class for the label vectors, then the batches of the steps: shuffled epochs. */
static void lay_shots(struct episode *x, const struct dataset *d, int steps, int batch, uint64_t seed) {
    int n = (int)d->examples, at = 0, per_pass = (n + batch - 1) / batch;
    int *count = xcalloc((size_t)d->classes, sizeof *count);
    uint32_t *order = xmalloc((size_t)n * sizeof *order);
    *x = (struct episode){ .classes = d->classes, .batches = steps + 1 };
    x->start = xcalloc((size_t)steps + 3, sizeof *x->start);
    x->example = xcalloc((size_t)n + (size_t)steps * (size_t)batch, sizeof *x->example);
    for (int i = 0; i < n; i++)
        if (count[d->example[i].label]++ < LABEL_ROWS) fewshot_meta_add_row(x, at++, d, (uint32_t)i);
    for (int s = 0; s < steps; s++) {
        int from = s % per_pass * batch, to = from + batch < n ? from + batch : n;
        x->start[s + 1] = at;
        if (!from) order_epoch(seed, s / per_pass, order, (size_t)n);
        for (int i = from; i < to; i++) fewshot_meta_add_row(x, at++, d, order[i]);
    }
    x->start[steps + 1] = x->start[steps + 2] = at;
    free(order);
    free(count);
}

static void lay_scored(struct episode *x, const struct dataset *d) {
    int chunks = ((int)d->examples + SCORED_AT_ONCE - 1) / SCORED_AT_ONCE;
    *x = (struct episode){ .classes = d->classes, .batches = chunks - 1 };
    x->start = xcalloc((size_t)chunks + 1, sizeof *x->start);
    x->example = xcalloc(d->examples, sizeof *x->example);
    for (int i = 0; i < (int)d->examples; i++) fewshot_meta_add_row(x, i, d, (uint32_t)i);
    for (int i = 0; i <= chunks; i++) x->start[i] = i < chunks ? i * SCORED_AT_ONCE : (int)d->examples;
}

static void fewshot_meta_release(struct episode *x) {
    free(x->start);
    free(x->example);
}

/* ---- scores ---- */

static void fewshot_meta_add_metric(struct fewshot_scores *s, const char *name, struct metric_value v) {
    struct fewshot_metric *m = &s->metric[s->count++];
    snprintf(m->name, sizeof m->name, "%s", name);
    m->value = v.value;
    if (!v.defined) snprintf(m->undefined, sizeof m->undefined, "%s", v.why);
}

static void fewshot_meta_keep_scores(struct fewshot_scores *s, const struct task *t, const int32_t *given,
                                     double loss) {
    const struct dataset *d = &t->dev[0];
    int32_t *label = xmalloc((d->examples + 1) * sizeof *label);
    struct metrics m;
    for (size_t i = 0; i < d->examples; i++) label[i] = d->example[i].labeled ? d->example[i].label : -1;
    metrics_of_classes(&m, label, given, NULL, d->examples, d->classes, t->positive);
    m.value[METRIC_LOSS] = (struct metric_value){ loss, isfinite(loss), "NaN or infinite" };
    *s = (struct fewshot_scores){ .constant = m.constant };
    for (int id = 0; id < METRIC_COUNT; id++)
        if (metrics_have(&m, (enum metric_id)id, DATA_CLASSES))
            fewshot_meta_add_metric(s, metric_name((enum metric_id)id), m.value[id]);
    fewshot_meta_add_metric(s, "majority", m.majority);
    metrics_release(&m);
    free(label);
}

/* ---- the stored checkpoint ---- */

const char *fewshot_meta_unkept(const struct fewshot_meta *x) {
    if (!x->m->arch.pooler_absent) return NULL;
    return "the two-layer classifier uses a pooler trained by the run, and can be saved only if the model "
           "folder has a pooler";
}

/* The run's method with an ordinary head: the first map of the features, then one map that contains
 * everything linear after it. */
static struct method adapted_method(const struct fewshot_meta *x) {
    struct method m = x->plan->method;
    int hidden = m.generated.hidden;
    m.generated = (struct generated_head){ .on = false };
    m.classifier = (struct classifier){ .on = true, .layers = 2, .act = ACT_TANH, .pooler = x->m->arch.pooler,
                                        .hidden = hidden == x->m->arch.width ? 0 : hidden };
    return m;
}

static const real *head_values(const struct plan *p, const real *params, enum slot slot) {
    return params + plan_head(p, 0, slot)->offset;
}

/* Row c: Σ_k w_c[k] F_2[k], and the bias Σ_k w_c[k] a_2[k] + b_c. */
static void fold_labels(const struct fewshot_meta *x, const struct meta_adapted *out, int classes, real *w,
                        real *b) {
    const struct generated_head *g = &x->plan->method.generated;
    const real *f = head_values(x->plan, out->params, SLOT_FEATURE_W2),
               *a = head_values(x->plan, out->params, SLOT_FEATURE_B2);
    double *row = xmalloc((size_t)g->hidden * sizeof *row);
    for (int c = 0; c < classes; c++) {
        const real *label = out->label + (size_t)c * (size_t)g->width;
        double bias = (double)out->label[(size_t)classes * (size_t)g->width + (size_t)c];
        memset(row, 0, (size_t)g->hidden * sizeof *row);
        for (int k = 0; k < g->width; k++) {
            for (int j = 0; j < g->hidden; j++)
                row[j] += (double)label[k] * (double)f[(size_t)k * (size_t)g->hidden + (size_t)j];
            bias += (double)label[k] * (double)a[k];
        }
        for (int j = 0; j < g->hidden; j++) w[(size_t)c * (size_t)g->hidden + (size_t)j] = (real)row[j];
        b[c] = (real)bias;
    }
    free(row);
}

static void fewshot_meta_take_head(const struct fewshot_meta *x, const struct meta_adapted *out, int classes,
                                   struct predictor *p) {
    const struct plan *to = predictor_plan(p);
    const struct plan_tensor *w = plan_head(to, 0, SLOT_POOLER_W), *b = plan_head(to, 0, SLOT_POOLER_B);
    real *values = predictor_values(p);
    memcpy(values + w->offset, head_values(x->plan, out->params, SLOT_FEATURE_W1), w->count * sizeof *values);
    memcpy(values + b->offset, head_values(x->plan, out->params, SLOT_FEATURE_B1), b->count * sizeof *values);
    fold_labels(x, out, classes, values + plan_head(to, 0, SLOT_HEAD_W)->offset,
                values + plan_head(to, 0, SLOT_HEAD_B)->offset);
}

static int keep_adapted(const struct fewshot_meta *x, const struct run_config *of,
                        struct fewshot_meta_draw *d, const struct meta_adapted *out, struct err *e) {
    const struct task *t = d->task;
    struct run_config c;
    if (file_make_folder(d->folder, e)) return e->code;
    config_copy(&c, of);
    c.method = adapted_method(x);
    struct predictor *p = predictor_new(
        &(struct predictor_parts){ x->m, &c, DATA_CLASSES, t->train.classes, t->class_name }, e);
    int rc = p ? 0 : e->code;
    if (!rc) {
        plan_carry_common(predictor_plan(p), predictor_values(p), x->plan, out->params, 0);
        fewshot_meta_take_head(x, out, t->train.classes, p);
        d->path = checkpoint_path(d->folder, false);
        rc = predictor_save(p, &c, d->path, d->sha256, e);
    }
    predictor_free(p);
    config_release(&c);
    return rc;
}

/* ---- training ---- */

/* Resources of a worker, created with its first draw. */
struct adapting_seat {
    bool open;
    struct worker w;
    struct attach *attach;
    struct meta_room room;
};

struct adapting {
    const struct fewshot_meta *x;
    const struct run_config *c;
    const struct fewshot *how;
    struct fewshot_meta_draw *draw;
    struct adapting_seat seat[CREW_MOST];
};

static int steps_of(const struct run_config *c, const struct dataset *d, int batch) {
    int64_t steps = c->epochs > 0 ? epoch_steps(c->epochs, d->examples, batch) : c->steps;
    return (int)(steps < FEWSHOT_META_STEPS ? steps : FEWSHOT_META_STEPS);
}

static struct meta rule_of(const struct adapting *j, int draw, int steps) {
    struct meta x = meta_of(j->c, &j->x->regime, j->x->plan, j->x->m);
    x.seed += (uint64_t)draw;
    x.regime.labels = META_LABELS_APART;
    x.regime.inner = steps;
    if (!(x.regime.clip > 0)) x.regime.clip = 1;
    return x;
}

static void adapt(struct adapting *j, struct fewshot_meta_draw *x, const struct meta_bench *on) {
    const struct dataset *shots = &x->task->train, *scored = &x->task->dev[0];
    int batch = j->how->per_class ? j->how->per_class * shots->classes : j->c->batch,
        steps = steps_of(j->c, shots, batch);
    struct fewshot_result *r = x->result;
    struct episode support, query;
    double began = clock_seconds();
    const struct meta rule = rule_of(j, r->draw, steps);
    int32_t *before = j->how->zero ? xcalloc(scored->examples + 1, sizeof *before) : NULL;
    int32_t *after = xcalloc(scored->examples + 1, sizeof *after);
    struct meta_adapted out = { .before = before, .after = after };
    lay_shots(&support, shots, steps, batch, rule.seed);
    lay_scored(&query, scored);
    const struct meta_passes passes = { ((int)shots->examples + batch - 1) / batch,
                                        fewshot_stop_loss(j->how, r->k) };
    if (!meta_adapt(&rule, on, j->x->params, &support, &query, &passes, &out)) {
        snprintf(x->failure, sizeof x->failure, "out of memory");
    } else if (!isfinite(out.loss) || !isfinite(out.loss_after)) {
        snprintf(x->failure, sizeof x->failure, "step %d: the loss is NaN or infinite", out.steps);
    } else {
        r->steps = out.steps;
        r->loss = out.loss;
        r->seconds = clock_seconds() - began;
        snprintf(r->rows, sizeof r->rows, "%s %zu", x->task->dev_name[0], scored->examples);
        fewshot_meta_keep_scores(&r->scores, x->task, after, out.loss_after);
        if (j->how->zero) fewshot_meta_keep_scores(&r->zero, x->task, before, out.loss_before);
        struct err e = ERR_INIT;
        if (x->folder && keep_adapted(j->x, j->c, x, &out, &e))
            snprintf(x->failure, sizeof x->failure, "%s", e.text);
    }
    fewshot_meta_release(&support);
    fewshot_meta_release(&query);
    free(before);
    free(after);
}

struct adapt_call {
    struct adapting *j;
    struct fewshot_meta_draw *draw;
    struct meta_bench on;
};

static void adapt_draw(void *self) {
    struct adapt_call *x = self;
    adapt(x->j, x->draw, &x->on);
}

static void fewshot_meta_unit(void *self, int index, int worker) {
    struct adapting *j = self;
    struct adapting_seat *at = &j->seat[worker];
    if (!at->open) {
        at->open = true;
        worker_init(&at->w, worker);
        at->attach = attach_new(j->x->plan, j->x->m);
    }
    struct adapt_call x = { j, &j->draw[index], { at->w.tape, at->w.arena, at->attach, &at->room } };
    size_t lacks = mem_guard(adapt_draw, &x);
    if (!lacks) return;
    arena_drop(at->w.arena);
    struct err e;
    err_memory(&e, lacks, NULL);
    snprintf(x.draw->failure, sizeof x.draw->failure, "%.500s", e.text);
}

void fewshot_meta_draws(const struct fewshot_meta *x, const struct run_config *c, const struct fewshot *how,
                        struct fewshot_meta_draw *draws, int n, struct crew *crew) {
    struct adapting *j = xcalloc(1, sizeof *j);
    j->x = x;
    j->c = c;
    j->how = how;
    j->draw = draws;
    crew_do(crew, &(struct crew_work){ j, n, fewshot_meta_unit, NULL, NULL });
    for (int i = 0; i < CREW_MOST; i++) {
        if (!j->seat[i].open) continue;
        attach_free(j->seat[i].attach);
        worker_release(&j->seat[i].w);
        meta_room_release(&j->seat[i].room);
    }
    free(j);
}
