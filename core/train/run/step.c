#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/method/budget.h"
#include "core/method/fusion.h"
#include "core/method/masked.h"
#include "core/method/packing.h"
#include "core/train/config/complete.h"
#include "core/train/run/objective.h"

/* ---- the batch ---- */

void step_init(struct run *r) {
    struct run_batch *b = &r->batch;
    size_t rows = (size_t)r->c.batch, parts = (size_t)r->objective.source->parts(r);
    b->example = xmalloc(rows * sizeof *b->example);
    b->tokens = xmalloc(rows * sizeof *b->tokens);
    b->cut.row = xmalloc(rows * sizeof *b->cut.row);
    b->cut.scratch = xmalloc(rows * sizeof *b->cut.scratch);
    b->cut.start = xmalloc((parts + 1) * sizeof *b->cut.start);
    b->part = xcalloc(parts, sizeof *b->part);
    b->losses = xcalloc(parts * (size_t)r->tasks, sizeof *b->losses);
}

void step_release(struct run *r) {
    struct run_batch *b = &r->batch;
    free(b->example);
    free(b->tokens);
    free(b->cut.row);
    free(b->cut.scratch);
    free(b->cut.start);
    free(b->part);
    free(b->losses);
    free(b->added);
}

/* ---- before the parts ---- */

/* Computes generated weights on the run's tape and copies them to r->values.generated, where parts read
 * them. */
static void run_prologue(struct run *r, bool training) {
    struct run_values *v = &r->values;
    const struct plan *p = r->plan;
    if (!p->generated) return;
    tape_reset(v->prologue, training, r->c.seed, (uint64_t)r->step);
    attach_prologue(p, r->m, v->prologue, v->params, training ? v->prologue_grad : NULL, v->generated_node);
    for (int i = 0; i < p->generated; i++)
        memcpy(v->generated + p->generated_tensor[i].offset, tape_value(v->prologue, v->generated_node[i]),
               p->generated_tensor[i].count * sizeof *v->generated);
    packing_changed(p);
}

void step_make(struct run *r) { run_prologue(r, false); }

int run_task_of(const struct run *r, uint32_t row, uint32_t *own) {
    int t = order_task(r->tasks, r->order.first, row);
    *own = row - r->order.first[t];
    return t;
}

double run_task_share(const struct run *r, const struct run_task *of) {
    return r->c.loss_mean == MEAN_SUM ? 1 : (double)of->examples / r->batch.examples;
}

uint64_t step_masks(const struct run *r) { return (uint64_t)r->step + 1; }

/* Selects the examples of the step, and counts those of each task for its mean loss. */
static void step_take_rows(struct run *r) {
    struct run_batch *b = &r->batch;
    size_t (*take)(struct run *, struct run_task *, uint32_t, size_t) = r->objective.row->take;
    r->objective.masks = 0;
    b->examples = sampler_step(r->order.sampler, r->step, b->example);
    for (int t = 0; t < r->tasks; t++) {
        r->of[t].examples = 0;
        r->of[t].targets = (struct target_count){ 0 };
    }
    for (int i = 0; i < b->examples; i++) {
        uint32_t row;
        struct run_task *of = &r->of[run_task_of(r, b->example[i], &row)];
        const size_t *start = of->task->train.start + row, tokens = start[1] - start[0];
        of->examples++;
        b->tokens[i] = (uint32_t)(take ? take(r, of, row, tokens) : tokens);
    }
}

int examples_parts(const struct run *r) { return r->c.accumulate * r->c.shards; }

void examples_prepare(struct run *r) {
    struct run_batch *b = &r->batch;
    step_take_rows(r);
    order_cut(&b->cut, b->example, b->tokens, b->examples, r->c.accumulate, r->c.shards);
    order_by_task(&b->cut, r->tasks, r->order.first);
    run_prologue(r, true);
    table_clear(r);
    join_prepare(r);
}

int step_prepare(struct run *r) {
    r->batch.began = clock_seconds();
    r->objective.source->prepare(r);
    return r->batch.cut.parts;
}

/* ---- after the parts ---- */

/* Backpropagates the gradients of generated weights through the prologue. */
static void prologue_backward(struct run *r) {
    struct run_values *v = &r->values;
    const struct plan *p = r->plan;
    if (!p->generated) return;
    memset(v->prologue_grad, 0, p->trained * sizeof *v->prologue_grad);
    for (int i = 0; i < p->generated; i++)
        v->generated_seed[i] = v->sum + p->trained + p->generated_tensor[i].offset;
    tape_backward(v->prologue, p->generated, v->generated_node, v->generated_seed);
    kernel_add_to(p->trained, 1, v->prologue_grad, v->sum);
}

/* Returns the learning rate of the current step. */
static double step_rate(const struct run *r) {
    static const enum lr_schedule shape[] = {
        [SCHEDULE_LINEAR] = LR_LINEAR,
        [SCHEDULE_COSINE] = LR_COSINE,
        [SCHEDULE_CONSTANT] = LR_CONSTANT,
    };
    const struct stage_span *s = &r->stages.span;
    int64_t warmup = config_warmup_steps(&r->c, s->steps);
    return s->lr * lr_schedule_factor(shape[r->c.schedule], (uint64_t)(r->step - s->first), (uint64_t)warmup,
                               (uint64_t)s->steps);
}

/* Returns the number of the current step in its stage, from 1. */
static int64_t step_number(const struct run *r) { return r->step + 1 - r->stages.span.first; }

static void update_group(struct run *r, const struct optim_group *g) {
    struct run_values *v = &r->values;
    const struct run_batch *b = &r->batch;
    if (!g->count) return;
    if (r->c.optimizer == OPTIMIZER_ADAMW) {
        const struct adamw o = { r->c.beta1, r->c.beta2, r->c.epsilon, r->c.weight_decay };
        optim_adamw(&o, b->lr, (uint64_t)step_number(r), 1, g, v->params, v->sum, v->adam_m, v->adam_v);
    } else {
        const struct sgd o = { r->c.momentum, r->c.weight_decay };
        optim_sgd(&o, b->lr, 1, g, v->params, v->sum, v->adam_m);
    }
}

/* Parameters of a slice. */
enum { SLICE = 1 << 16 };

static int update_slices(const struct run *r) {
    return r->batch.good ? (int)((r->plan->trained + SLICE - 1) / SLICE) : 0;
}

void step_update(struct run *r, int index, struct worker *w) {
    struct run_values *v = &r->values;
    size_t first = (size_t)index * SLICE, end = first + SLICE;
    (void)w;
    if (end > r->plan->trained) end = r->plan->trained;
    if (r->batch.clip < 1) kernel_scale(end - first, (real)r->batch.clip, v->sum + first, v->sum + first);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct optim_group g = optim_slice(&v->group[i], first, end);
        update_group(r, &g);
    }
}

/* A larger loss means divergence at any scale of targets, though sums may remain finite for long (saturated
 * layers have no gradient). */
static const double loss_most = 1e25;

/* Reports why a step diverged, and returns false. */
static bool diverged(struct run *r, double loss, double norm) {
    const char *kind = isnan(loss) || (isfinite(loss) && isnan(norm)) ? "NaN" : "infinite";
    const char *op = r->objective.row->loss_op;
    long long step = r->step;
    for (int i = 0; i < r->batch.cut.parts && !isfinite(loss); i++) {
        const struct part *part = &r->batch.part[i];
        if (!isfinite(part->loss))
            return run_fails(r, "step %lld: the loss is %s; first produced by op %s%s%s%s", step,
                             kind, part->op ? part->op : "unknown", part->site[0] ? " (" : "", part->site,
                             part->site[0] ? ")" : "");
    }
    if (!isfinite(loss)) return run_fails(r, "step %lld: the loss is %s: overflow of the sum over shards",
                                          step, kind);
    if (!isfinite(norm))
        return run_fails(r, "step %lld: the gradient is %s and the loss is finite: overflow in the backward "
                            "pass", step,
                         kind);
    return run_fails(
        r,
        "step %lld: the loss is %.4g: the run has diverged (all values are still finite; computed by op %s)",
        step, loss,
        op                                       ? op
        : r->of[0].task->kind == DATA_REGRESSION ? "squared_error"
                                                 : "cross_entropy");
}

/* Appends the loss of each task with examples in this step. */
static int task_losses(const struct run *r, struct event_term *term) {
    int n = 0;
    for (int t = 0; t < r->tasks && !run_is_single(r); t++) {
        const struct run_task *of = &r->of[t];
        double sum = 0;
        for (int i = 0; i < r->batch.cut.parts; i++) sum += r->batch.part[i].by_task[t];
        if (of->examples)
            term[n++] = (struct event_term){ of->name, "loss", sum / (of->weight * run_task_share(r, of)) };
    }
    return n;
}

/* Returns whether an epoch has just ended with a mean loss below stop_loss. */
static void watch_loss(struct run *r, double loss) {
    struct run_batch *b = &r->batch;
    b->epoch_loss += loss * b->examples;
    b->epoch_examples += b->examples;
    if ((r->step + 1) % sampler_epoch(r->order.sampler)) return;
    b->low = b->epoch_loss < b->stop_loss * (double)b->epoch_examples;
    b->epoch_loss = 0;
    b->epoch_examples = 0;
}

/* ---- loss components ---- */

enum { LOSS_PARTS = 2 };

/* An additional loss with one or two components. */
struct added_loss {
    const char *part[LOSS_PARTS]; /* names of the components */
    bool (*on)(const struct run *r, int part); /* whether the run has each component */
    /* Adds its gradient to r->values.sum where the shards have not, writes the components, without weights,
     * and the metric unless the updated parameters have it, and returns what it adds to the step's loss. */
    double (*add)(struct run *r, double part[LOSS_PARTS], double *metric);
    const char *metric; /* name of a metric of the step; NULL: none */
    double (*updated)(const struct run *r); /* the metric of the updated parameters; NULL: add writes it */
};

static bool has_teachers(const struct run *r, int part) { return part < LOSS_PARTS && r->objective.distil; }
static double add_taught(struct run *r, double part[LOSS_PARTS], double *metric) {
    (void)metric;
    part[0] = part[1] = 0;
    for (int i = 0; i < r->batch.cut.parts; i++) {
        part[0] += r->batch.part[i].taught.logits;
        part[1] += r->batch.part[i].taught.hidden;
    }
    return r->c.distil_logits * part[0] + r->c.distil_hidden * part[1];
}

static bool has_joined(const struct run *r, int part) {
    return r->join.on &&
           (part ? r->join.prototypes != NULL : r->plan->method.retriever.instance != INSTANCE_NONE);
}
static double add_joined(struct run *r, double part[LOSS_PARTS], double *metric) {
    const struct join *j = &r->join;
    (void)metric;
    if (j->prototypes)
        kernel_add_to(j->prototypes->count, 1, j->prototype_grad, r->values.sum + j->prototypes->offset);
    part[0] = j->instance;
    part[1] = j->prototype;
    return r->plan->method.retriever.weight * (j->instance + j->prototype);
}

static bool has_budget(const struct run *r, int part) { return !part && r->plan->method.budget.on; }
static double ranks_left(const struct run *r) { return budget_left(r->plan, r->values.params); }
static double add_orthogonality(struct run *r, double part[LOSS_PARTS], double *metric) {
    (void)metric;
    *part = budget_orthogonality(r->plan, r->values.params, r->values.sum);
    return r->plan->method.budget.orthogonal * *part;
}

static bool has_identity(const struct run *r, int part) {
    return !part && fusion_has_identity(&r->plan->method);
}
static double add_identity(struct run *r, double part[LOSS_PARTS], double *metric) {
    (void)metric;
    *part = fusion_identity(r->plan, r->values.params, r->values.sum);
    return r->plan->method.fusion.weight * *part;
}

static bool has_gates(const struct run *r, int part) { return !part && masked_has_gates(&r->plan->method); }
static double add_gates(struct run *r, double part[LOSS_PARTS], double *metric) {
    *part = masked_expected(r->plan, r->values.params, r->values.sum, metric);
    return r->plan->method.pruning.weight * *part;
}

/* In the order in which they are added. */
static const struct added_loss added[] = {
    { { LOSS_COMPONENT "logits", LOSS_COMPONENT "hidden" }, has_teachers, add_taught, NULL, NULL },
    { { LOSS_COMPONENT "instance", LOSS_COMPONENT "prototype" }, has_joined, add_joined, NULL, NULL },
    { { LOSS_COMPONENT "orthogonality" }, has_budget, add_orthogonality, "ranks", ranks_left },
    { { LOSS_COMPONENT "identity" }, has_identity, add_identity, NULL, NULL },
    { { LOSS_COMPONENT "gates" }, has_gates, add_gates, "gates", NULL },
};
enum { ADDED = COUNT_OF(added), STEP_TERMS = RUN_TASKS + 1 + ADDED * (LOSS_PARTS + 1) };

struct added_values { double part[LOSS_PARTS], metric; };

static struct added_values *added_values_new(void) { return xcalloc(ADDED, sizeof(struct added_values)); }

static bool is_added(const struct run *r, int i) { return added[i].on(r, 0) || added[i].on(r, 1); }

/* Returns `loss`, that of the examples, with all that is added to it. */
static double add_losses(struct run *r, double loss, struct added_values value[ADDED]) {
    for (int i = 0; i < ADDED; i++)
        if (is_added(r, i)) loss += added[i].add(r, value[i].part, &value[i].metric);
    return loss;
}

/* Appends to term[n] and returns the new count: if anything is added, the examples' loss, the components, and
 * the metrics of the step. */
static int added_terms(const struct run *r, double examples, const struct added_values value[ADDED],
                       struct event_term *term, int n) {
    int first = n++;
    for (int i = 0; i < ADDED; i++) {
        const struct added_loss *x = &added[i];
        for (int k = 0; k < LOSS_PARTS; k++)
            if (x->on(r, k)) term[n++] = (struct event_term){ NULL, x->part[k], value[i].part[k] };
        if (x->metric && is_added(r, i))
            term[n++] = (struct event_term){ NULL, x->metric, x->updated ? x->updated(r) : value[i].metric };
    }
    if (n == first + 1) return first;
    term[first] = (struct event_term){ NULL, LOSS_OF_TASKS, examples };
    return n;
}

int step_sum(struct run *r) {
    struct run_batch *b = &r->batch;
    b->loss_of_examples = 0;
    for (int i = 0; i < b->cut.parts; i++) b->loss_of_examples += b->part[i].loss;
    prologue_backward(r);
    if (!b->added) b->added = added_values_new();
    b->loss = add_losses(r, b->loss_of_examples, b->added);
    b->norm = optim_norm(r->plan->trained, r->values.sum);
    b->clip = optim_clip_factor(b->norm, r->c.clip);
    b->lr = step_rate(r);
    b->good = isfinite(b->loss) && isfinite(b->norm) && fabs(b->loss) < loss_most;
    if (b->good && r->moved) moved_step(r->moved, r);
    return 1 + update_slices(r);
}

int step_finish(struct run *r) {
    struct run_clock *t = &r->clock;
    struct run_values *v = &r->values;
    const struct run_batch *b = &r->batch;
    double loss = b->loss, tokens = 0;
    bool good = b->good;
    for (int i = 0; i < b->cut.parts; i++) tokens += b->part[i].tokens;
    if (good && r->plan->method.budget.on)
        budget_step(r->plan, step_number(r), r->stages.span.steps, v->params, v->sum, v->budget_mean,
                    v->budget_spread);
    if (b->stop_loss > 0) watch_loss(r, loss);
    if (good && r->objective.source->updated) r->objective.source->updated(r);
    packing_changed(r->plan);
    double took = clock_seconds() - r->batch.began;
    run_lock(r);
    r->step++;
    r->control.loss = loss;
    t->rate_steps = 0.9 * t->rate_steps + 1;
    t->rate_tokens = 0.9 * t->rate_tokens + tokens;
    t->rate_seconds = 0.9 * t->rate_seconds + took;
    run_unlock(r);
    struct event_term term[STEP_TERMS];
    struct event point = { .kind = EVENT_POINT, .loss = loss, .lr = b->lr, .grad_norm = b->norm,
                           .tokens = tokens, .term = term };
    point.terms = added_terms(r, b->loss_of_examples, b->added, term, task_losses(r, term));
    run_send(r, point);
    return good || diverged(r, loss, b->norm);
}
