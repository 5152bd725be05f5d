#include "core/train/meta/meta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/optim.h"
#include "core/method/slots.h"
#include "core/train/run/batch.h"

/* The passes of an episode are numbered, which determines their dropout masks. */
enum { PASSES = 4096, PASS_LABELS = 0, PASS_STEP = 1, PASS_QUERY = 2048 };
enum { AT, SLOPE, TOTAL, ALONG, OTHER }; /* blocks of struct meta_room */
static const double relative_epsilon = sizeof(real) == 8 ? 1e-5 : 1e-3;

/* Parameters that the inner loop adapts, or their gradients: the whole block, and the label vectors. */
struct spot {
    real *params, *label;
};

/* The current episode. */
struct work {
    const struct meta *x;
    const struct meta_bench *on;
    const struct episode *e;
    uint64_t pass; /* number of its first pass */
    size_t labels; /* size of the label vectors */
    double tokens;
};

/* ---- memory ---- */

void meta_room_release(struct meta_room *r) {
    for (size_t i = 0; i < COUNT_OF(r->block); i++) {
        free(r->block[i]);
        free(r->label[i]);
    }
    free(r->step);
    free(r->prediction);
    free(r->clip);
    free(r->rate);
    *r = (struct meta_room){ 0 };
}

/* Returns the size of a stored step: adapted parameters and their gradients. */
static size_t step_values(const struct work *w) { return 2 * (w->x->plan->trained + w->labels); }

static bool meta_make_room(const struct work *w, bool second) {
    struct meta_room *r = w->on->room;
    const struct plan *p = w->x->plan;
    size_t steps = second ? (size_t)w->x->regime.inner * step_values(w) : 0;
    for (size_t i = 0; i < COUNT_OF(r->block); i++) {
        if (!r->block[i] && (i < ALONG || second)) r->block[i] = mem_try(p->trained, sizeof **r->block);
        if (!r->block[i] && (i < ALONG || second)) return false;
        GROW(r->label[i], r->labels[i], w->labels);
    }
    if (steps > r->step_room) {
        free(r->step);
        r->step = mem_try(steps, sizeof *r->step);
        r->step_room = r->step ? steps : 0;
        if (!r->step) return false;
    }
    GROW(r->clip, r->clip_room, (size_t)w->x->regime.inner);
    GROW(r->rate, r->rate_room, (size_t)p->rates + 1);
    return true;
}

static struct spot spot(const struct work *w, int block) {
    return (struct spot){ w->on->room->block[block], w->on->room->label[block] };
}

/* ---- adapted parameters ---- */

/* Iterates over the adapted tensors. */
#define EACH_INNER(w, t)                                                                                     \
    for (const struct plan_tensor *t = (w)->x->plan->tensor;                                                 \
         t < (w)->x->plan->tensor + (w)->x->plan->tensors; t++)                                              \
        if (t->inner)

static double rate_at(const struct work *w, const real *params, int rate) {
    const struct plan *p = w->x->plan;
    return p->rate_tensor < 0 ? w->x->regime.inner_lr
                              : (double)params[p->tensor[p->rate_tensor].offset + (size_t)rate];
}

/* Reads the learning rates from the parameters at the start of the episode. */
static void take_rates(const struct work *w, const real *params) {
    for (int i = 0; i < w->x->plan->rates; i++) w->on->room->rate[i] = rate_at(w, params, i);
}

static double rate_of(const struct work *w, int rate) { return w->on->room->rate[rate]; }
static double label_rate(const struct work *w) { return rate_of(w, w->x->plan->label_rate); }

/* to += s·from, for adapted parameters. */
static void add_inner(const struct work *w, struct spot to, double s, struct spot from) {
    EACH_INNER(w, t) kernel_add_to(t->count, (real)s, from.params + t->offset, to.params + t->offset);
    kernel_add_to(w->labels, (real)s, from.label, to.label);
}

static void copy_inner(const struct work *w, struct spot to, struct spot from) {
    EACH_INNER(w, t) memcpy(to.params + t->offset, from.params + t->offset, t->count * sizeof *to.params);
    memcpy(to.label, from.label, w->labels * sizeof *to.label);
}

static void clear_inner(const struct work *w, struct spot of) {
    EACH_INNER(w, t) memset(of.params + t->offset, 0, t->count * sizeof *of.params);
    memset(of.label, 0, w->labels * sizeof *of.label);
}

static double norm_inner(const struct work *w, struct spot of) {
    double sum = kernel_dot(w->labels, of.label, of.label);
    EACH_INNER(w, t) sum += kernel_dot(t->count, of.params + t->offset, of.params + t->offset);
    return sqrt(sum);
}

/* ---- passes ---- */

/* Packs the examples first … end-1 of the episode with its labels, in the given order (may be NULL).
 * Unlabeled examples have weight 0. */
static void meta_pack(const struct work *w, struct batch *b, int first, int end, const int *order,
                      double weight) {
    int n = end - first;
    struct batch_example *rows = arena_keep(w->on->arena, (size_t)n * sizeof *rows);
    for (int i = 0; i < n; i++) {
        const struct episode_example *r = &w->e->example[order ? order[i] : first + i];
        rows[i] = (struct batch_example){ .data = r->data,
                                      .index = r->index,
                                      .weight = r->label < 0 ? 0 : (real)(weight / n) };
    }
    batch_pack_examples(b, w->on->arena, &w->x->model->arch, rows, n);
    for (int i = 0; i < n; i++) {
        int32_t label = w->e->example[order ? order[i] : first + i].label;
        b->label[i] = label < 0 ? 0 : label;
    }
    b->ranges = 0;
}

/* Runs the encoder; returns the input of the head. */
static node meta_encode(struct work *w, struct forward *f, struct batch *b, const real *params, real *grads) {
    const struct meta *x = w->x;
    if (x->recompute) tape_recompute(w->on->tape);
    forward_init(f, w->on->tape, x->model, b, attach_begin(w->on->attach, w->on->tape, params, NULL, grads));
    f->dropout = x->dropout;
    f->attention_dropout = x->attention_dropout;
    f->activation_dropout = x->activation_dropout;
    w->tokens += b->tokens;
    return attach_pool(w->on->attach, f, forward_encode(f));
}

/* The examples of the first batch, in the order of their classes. */
struct class_rows {
    struct tape_rows rows;
    int *order;
};

static void sort_classes(const struct work *w, struct class_rows *c) {
    int n = w->e->start[1], classes = w->e->classes, at = 0;
    int *start = arena_keep(w->on->arena, ((size_t)classes + 1) * sizeof *start);
    c->order = arena_keep(w->on->arena, (size_t)n * sizeof *c->order);
    for (int k = 0; k < classes; k++) {
        start[k] = at;
        for (int i = 0; i < n; i++)
            if (w->e->example[i].label == k) c->order[at++] = i;
        BUG_IF(at == start[k]);
    }
    start[classes] = at;
    c->rows = (struct tape_rows){ classes, start, NULL };
}

/* Computes the label vectors; with `seed`, their gradient, also adds the gradient of all parameters to
 * grads. */
static void labels_pass(struct work *w, const real *params, real *label, const real *seed, real *grads) {
    struct tape *t = w->on->tape;
    struct batch b;
    struct forward f;
    struct class_rows c;
    node value[2];
    size_t vectors = (size_t)w->e->classes * (size_t)(w->x->plan->label_width - 1);
    attach_inner(w->on->attach, false);
    tape_reset(t, true, w->x->seed, w->pass + PASS_LABELS);
    sort_classes(w, &c);
    meta_pack(w, &b, 0, w->e->start[1], c.order, 1);
    node pooled = meta_encode(w, &f, &b, params, grads);
    attach_labels(w->on->attach, &f, pooled, &c.rows, w->x->classifier_dropout, &value[0], &value[1]);
    if (!seed) {
        memcpy(label, tape_value(t, value[0]), vectors * sizeof *label);
        memcpy(label + vectors, tape_value(t, value[1]), (size_t)w->e->classes * sizeof *label);
        return;
    }
    tape_backward(t, 2, value, (const real *const[]){ seed, seed + vectors });
    attach_end(w->on->attach, grads);
}

static void answers(const real *logits, const struct batch *b, int classes, int32_t *given) {
    for (int i = 0; i < b->examples; i++) {
        const real *z = logits + (size_t)i * (size_t)classes;
        given[i] = 0;
        for (int k = 1; k < classes; k++)
            if (z[k] > z[given[i]]) given[i] = k;
    }
}

/* Returns weight · loss of a batch, and computes its gradients (params NULL: none). batch == number of
 * batches: the query. given (may be NULL): predictions. */
static double loss_pass(struct work *w, int batch, uint64_t pass, double weight, struct spot at,
                        struct spot slope, bool training, int32_t *given) {
    struct tape *t = w->on->tape;
    struct batch b;
    struct forward f;
    int classes = w->e->classes, width = w->x->plan->label_width - 1;
    size_t vectors = (size_t)classes * (size_t)width;
    tape_reset(t, training, w->x->seed, w->pass + pass);
    meta_pack(w, &b, w->e->start[batch], w->e->start[batch + 1], NULL, weight);
    node pooled = meta_encode(w, &f, &b, at.params, slope.params);
    node vector = slope.params ? tape_trained(t, classes, width, at.label, slope.label)
                               : tape_frozen(t, classes, width, at.label);
    node bias = slope.params ? tape_trained(t, 1, classes, at.label + vectors, slope.label + vectors)
                             : tape_frozen(t, 1, classes, at.label + vectors);
    node features = attach_features(w->on->attach, &f, pooled, w->x->classifier_dropout);
    node logits = op_linear(t, features, vector, bias);
    tape_site(t, "loss");
    node loss = op_cross_entropy(t, logits, b.label, b.weight);
    double value = (double)*tape_value(t, loss);
    if (given) answers(tape_value(t, logits), &b, classes, given);
    if (slope.params) tape_backward(t, 1, &loss, (const real *const[]){ NULL });
    return value;
}

/* Computes the gradient of a support batch: of adapted parameters, or of all. */
static double support_slope(struct work *w, int step, struct spot at, struct spot slope, bool all) {
    int batch = step + (w->x->regime.labels == META_LABELS_APART);
    attach_inner(w->on->attach, !all);
    double loss = loss_pass(w, batch, PASS_STEP + (uint64_t)step, 1, at, slope, true, NULL);
    if (all) attach_end(w->on->attach, slope.params);
    return loss;
}

static double query_slope(struct work *w, int step, double weight, struct spot at, struct spot slope) {
    attach_inner(w->on->attach, false);
    double loss = loss_pass(w, w->e->batches, PASS_QUERY + (uint64_t)step, weight, at, slope, true, NULL);
    if (slope.params) attach_end(w->on->attach, slope.params);
    return loss;
}

/* Returns the factor of gradient clipping. */
static double clip_of(const struct work *w, struct spot slope) {
    double most = w->x->regime.clip;
    if (!(most > 0)) return 1;
    double norm = norm_inner(w, slope);
    return norm > most ? most / (norm + 1e-6) : 1;
}

/* One SGD step: at −= α ⊙ c·slope. */
static void descend(const struct work *w, struct spot at, double c, struct spot slope) {
    EACH_INNER(w, t)
    kernel_add_to(t->count, (real)(-c * rate_of(w, t->rate)), slope.params + t->offset,
                  at.params + t->offset);
    kernel_add_to(w->labels, (real)(-c * label_rate(w)), slope.label, at.label);
}

/* ---- outer gradients ---- */

/* Returns the weight of the query loss after a step. */
static double loss_weight(const struct regime *r, int step) {
    double sum = 0;
    if (!r->every) return step == r->inner;
    if (step % r->every && step != r->inner) return 0;
    for (int s = 0; s <= r->inner; s++)
        if (s % r->every == 0 || s == r->inner) sum += ldexp(1, s - r->inner);
    return ldexp(1, step - r->inner) / sum;
}

/* Adds the gradient of the learning rates: −s⟨steps, slope⟩ per rate. */
static void add_rates(const struct work *w, double s, struct spot steps, struct spot slope, real *grads) {
    const struct plan *p = w->x->plan;
    if (p->rate_tensor < 0) return;
    real *rate = grads + p->tensor[p->rate_tensor].offset;
    EACH_INNER(w, t)
        rate[t->rate] -= (real)(s * kernel_dot(t->count, steps.params + t->offset, slope.params + t->offset));
    rate[p->label_rate] -= (real)(s * kernel_dot(w->labels, steps.label, slope.label));
}

/* grads += s·from, for tensors trained by the outer loop: including adapted ones, or only the others. */
static void add_outer(const struct work *w, double s, const real *from, bool adapted, real *grads) {
    const struct plan *p = w->x->plan;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->outer && i != p->rate_tensor && (adapted || !t->inner))
            kernel_add_to(t->count, (real)s, from + t->offset, grads + t->offset);
    }
}

static void train_meta_begin(struct work *w, const real *params) {
    take_rates(w, params);
    memcpy(spot(w, AT).params, params, w->x->plan->trained * sizeof *params);
    labels_pass(w, params, spot(w, AT).label, NULL, NULL);
}

/* First order: gradients with respect to φ_j are used as those with respect to φ_0. TOTAL: the sum of the
 * gradients of steps; OTHER.label: that of the label vectors. */
static double first_order(struct work *w, double weight, real *grads) {
    const struct regime *r = &w->x->regime;
    struct spot at = spot(w, AT), slope = spot(w, SLOPE), total = spot(w, TOTAL);
    real *labels = w->on->room->label[OTHER];
    double objective = 0;
    clear_inner(w, total);
    memset(labels, 0, w->labels * sizeof *labels);
    for (int s = 0; s <= r->inner; s++) {
        double share = weight * loss_weight(r, s);
        if (share > 0) {
            objective += query_slope(w, s, share, at, slope);
            add_outer(w, 1, slope.params, true, grads);
            add_rates(w, 1, total, slope, grads);
            kernel_add_to(w->labels, 1, slope.label, labels);
        }
        if (s == r->inner) break;
        support_slope(w, s, at, slope, false);
        double c = clip_of(w, slope);
        descend(w, at, c, slope);
        add_inner(w, total, c, slope);
    }
    return objective;
}

/* A stored step: its parameters and gradients. */
static struct spot meta_stored(const struct work *w, int step, bool slope) {
    size_t half = w->x->plan->trained + w->labels;
    real *from = w->on->room->step + (size_t)step * step_values(w) + (slope ? half : 0);
    return (struct spot){ from, from + w->x->plan->trained };
}

/* slope := H·along at `from`, for all parameters: the derivative of the step's gradient along `along`.
 * Overwrites AT. */
static void curvature(struct work *w, int step, struct spot from, struct spot along, struct spot slope,
                      struct spot other) {
    struct spot at = spot(w, AT);
    double length = norm_inner(w, along), epsilon = relative_epsilon * (1 + norm_inner(w, from)) / length;
    copy_inner(w, at, from);
    add_inner(w, at, epsilon, along);
    support_slope(w, step, at, slope, true);
    copy_inner(w, at, from);
    add_inner(w, at, -epsilon, along);
    support_slope(w, step, at, other, true);
    copy_inner(w, at, from);
    size_t n = w->x->plan->trained;
    kernel_add_to(n, -1, other.params, slope.params);
    kernel_scale(n, (real)(0.5 / epsilon), slope.params, slope.params);
    kernel_add_to(w->labels, -1, other.label, slope.label);
    kernel_scale(w->labels, (real)(0.5 / epsilon), slope.label, slope.label);
}

/* Backpropagates through a step: `v`, the gradient with respect to its result, becomes that with respect to
 * its start. */
static void step_back(struct work *w, int step, struct spot v, real *grads) {
    struct spot along = spot(w, ALONG), slope = spot(w, SLOPE), g = meta_stored(w, step, true);
    double c = w->on->room->clip[step];
    add_rates(w, c, g, v, grads);
    clear_inner(w, along);
    EACH_INNER(w, t)
    kernel_add_to(t->count, (real)(c * rate_of(w, t->rate)), v.params + t->offset, along.params + t->offset);
    kernel_add_to(w->labels, (real)(c * label_rate(w)), v.label, along.label);
    if (w->x->flat || !(norm_inner(w, along) > 0)) return;
    curvature(w, step, meta_stored(w, step, false), along, slope, spot(w, OTHER));
    add_inner(w, v, -1, slope);
    add_outer(w, -1, slope.params, false, grads);
}

/* Adds the gradient of the query loss after `step` steps to v and grads. */
static double add_query(struct work *w, int step, double share, struct spot v, real *grads) {
    struct spot at = spot(w, AT), slope = spot(w, SLOPE);
    if (!(share > 0)) return 0;
    double loss = query_slope(w, step, share, at, slope);
    add_inner(w, v, 1, slope);
    add_outer(w, 1, slope.params, false, grads);
    return loss;
}

/* Second order: the adjoint recursion.  TOTAL: v. */
static double second_order(struct work *w, double weight, real *grads) {
    const struct regime *r = &w->x->regime;
    struct spot at = spot(w, AT), v = spot(w, TOTAL);
    for (int s = 0; s < r->inner; s++) {
        struct spot slope = meta_stored(w, s, true);
        copy_inner(w, meta_stored(w, s, false), at);
        support_slope(w, s, at, slope, false);
        descend(w, at, w->on->room->clip[s] = clip_of(w, slope), slope);
    }
    clear_inner(w, v);
    double objective = add_query(w, r->inner, weight * loss_weight(r, r->inner), v, grads);
    for (int s = r->inner - 1; s >= 0; s--) {
        step_back(w, s, v, grads);
        copy_inner(w, at, meta_stored(w, s, false));
        objective += add_query(w, s, weight * loss_weight(r, s), v, grads);
    }
    EACH_INNER(w, t)
        if (t->outer) kernel_add_to(t->count, 1, v.params + t->offset, grads + t->offset);
    memcpy(w->on->room->label[OTHER], v.label, w->labels * sizeof *v.label);
    return objective;
}

static struct work meta_work_of(const struct meta *x, const struct meta_bench *on, const struct episode *e,
                                uint64_t number) {
    BUG_IF(x->plan->generated || !x->plan->label_width);
    return (struct work){ .x = x, .on = on, .e = e, .pass = number * PASSES,
                          .labels = (size_t)e->classes * (size_t)x->plan->label_width };
}

bool meta_episode(const struct meta *x, const struct meta_bench *on, const real *params,
                  const struct episode *e, uint64_t number, double weight, real *grads, double *objective,
                  double *tokens) {
    struct work w = meta_work_of(x, on, e, number);
    bool second = x->regime.order == META_FD;
    if (!meta_make_room(&w, second)) return false;
    memset(grads, 0, x->plan->trained * sizeof *grads);
    train_meta_begin(&w, params);
    *objective = second ? second_order(&w, weight, grads) : first_order(&w, weight, grads);
    real *slope = spot(&w, SLOPE).params;
    labels_pass(&w, params, NULL, on->room->label[OTHER], slope);
    add_outer(&w, 1, slope, true, grads);
    *tokens = w.tokens;
    return true;
}

double meta_objective(const struct meta *x, const struct meta_bench *on, const real *params,
                      const struct episode *e, uint64_t number) {
    struct work w = meta_work_of(x, on, e, number);
    struct spot at, slope, none = { NULL, NULL };
    double sum = 0;
    if (!meta_make_room(&w, false)) return NAN;
    at = spot(&w, AT);
    slope = spot(&w, SLOPE);
    train_meta_begin(&w, params);
    for (int s = 0; s <= x->regime.inner; s++) {
        double share = loss_weight(&x->regime, s);
        if (share > 0) sum += query_slope(&w, s, share, at, none);
        if (s == x->regime.inner) break;
        support_slope(&w, s, at, slope, false);
        descend(&w, at, clip_of(&w, slope), slope);
    }
    return sum;
}

/* Evaluates the query without dropout. */
static void train_meta_score(struct work *w, struct spot at, double *right, double *loss) {
    const struct episode_example *row = w->e->example + w->e->start[w->e->batches];
    int n = w->e->start[w->e->batches + 1] - w->e->start[w->e->batches], count = 0;
    struct meta_room *m = w->on->room;
    GROW(m->prediction, m->prediction_room, n); /* not on the arena, which each pass resets */
    const int32_t *given = m->prediction;
    *loss = loss_pass(w, w->e->batches, PASS_QUERY, 1, at, (struct spot){ NULL, NULL }, false, m->prediction);
    for (int i = 0; i < n; i++) count += given[i] == row[i].label;
    *right = (double)count / n;
}

/* Returns the loss of a batch (number of batches: the query) without dropout. */
static double quiet_loss(struct work *w, int batch, struct spot at) {
    return loss_pass(w, batch, PASS_QUERY, 1, at, (struct spot){ NULL, NULL }, false, NULL);
}

bool meta_evaluate(const struct meta *x, const struct meta_bench *on, const real *params,
                   const struct episode *e, uint64_t number, struct meta_score *out,
                   const struct meta_trace *trace) {
    struct work w = meta_work_of(x, on, e, number);
    if (!meta_make_room(&w, false)) return false;
    struct spot at = spot(&w, AT), slope = spot(&w, SLOPE);
    train_meta_begin(&w, params);
    train_meta_score(&w, at, &out->before, &out->loss_before);
    for (int s = 0; s < x->regime.inner; s++) {
        int batch = s + (x->regime.labels == META_LABELS_APART);
        if (trace) trace->query[s] = quiet_loss(&w, e->batches, at);
        if (trace) trace->before[s] = quiet_loss(&w, batch, at);
        support_slope(&w, s, at, slope, false);
        descend(&w, at, clip_of(&w, slope), slope);
        if (trace) trace->after[s] = quiet_loss(&w, batch, at);
    }
    if (trace) trace->query[x->regime.inner] = quiet_loss(&w, e->batches, at);
    train_meta_score(&w, at, &out->after, &out->loss_after);
    return true;
}

/* ---- adaptation to a task ---- */

/* Computes predictions for all batches of an episode, and the mean loss of labeled examples. */
static double train_meta_tell(struct work *w, struct spot at, int32_t *given) {
    double sum = 0;
    int labeled = 0;
    for (int i = 0; i < w->e->start[w->e->batches + 1]; i++) labeled += w->e->example[i].label >= 0;
    for (int b = 0; b <= w->e->batches; b++) {
        int n = w->e->start[b + 1] - w->e->start[b];
        sum += n *
               loss_pass(w, b, PASS_QUERY, 1, at, (struct spot){ NULL, NULL }, false, given + w->e->start[b]);
    }
    return sum / labeled;
}

bool meta_adapt(const struct meta *x, const struct meta_bench *on, const real *params,
                const struct episode *shots, const struct episode *scored, const struct meta_passes *passes,
                struct meta_adapted *out) {
    struct work w = meta_work_of(x, on, shots, 0), query = meta_work_of(x, on, scored, 0);
    int steps = shots->batches - 1;
    double sum = 0;
    BUG_IF(x->regime.labels != META_LABELS_APART || x->regime.inner != steps || steps >= PASS_QUERY);
    if (!meta_make_room(&w, false)) return false;
    struct spot at = spot(&w, AT), slope = spot(&w, SLOPE);
    train_meta_begin(&w, params);
    if (out->before) out->loss_before = train_meta_tell(&query, at, out->before);
    for (int s = 0; s < steps; s++) {
        int rows = shots->start[s + 2] - shots->start[s + 1];
        out->loss = support_slope(&w, s, at, slope, false);
        descend(&w, at,
                clip_of(&w, slope) *
                    lr_schedule_factor(LR_LINEAR, (uint64_t)s, ((uint64_t)steps + 9) / 10, (uint64_t)steps),
                slope);
        out->steps = s + 1;
        sum += out->loss * rows;
        if ((s + 1) % passes->batches) continue;
        int first = shots->start[s + 2 - passes->batches];
        if (sum / (shots->start[s + 2] - first) < passes->stop_loss) break;
        sum = 0;
    }
    out->loss_after = train_meta_tell(&query, at, out->after);
    out->params = at.params;
    out->label = at.label;
    return true;
}
