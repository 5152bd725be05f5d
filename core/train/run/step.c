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
#include "core/train/config/complete.h"
#include "core/train/meta/meta_run.h"
#include "core/train/run/state.h"

/* ---- before the parts ---- */

/* Makes weights on the run's own tape and copies them to r->made, where parts read them. */
static void run_prologue(struct run *r, bool training) {
    const struct plan *p = r->plan;
    if (!p->made) return;
    tape_reset(r->prologue, training, r->c.seed, (uint64_t)r->step);
    attach_prologue(p, r->m, r->prologue, r->params, training ? r->prologue_grad : NULL, r->made_node);
    for (int i = 0; i < p->made; i++)
        memcpy(r->made + p->made_tensor[i].offset, tape_value(r->prologue, r->made_node[i]),
               p->made_tensor[i].count * sizeof *r->made);
}

void step_make(struct run *r) { run_prologue(r, false); }

int run_task_of(const struct run *r, uint32_t row, uint32_t *own) {
    int t = order_task(r->tasks, r->first, row);
    *own = row - r->first[t];
    return t;
}

double run_task_share(const struct run *r, const struct run_task *of) {
    return r->text && r->c.loss_mean == MEAN_SUM ? 1 : (double)of->rows / r->rows;
}

uint64_t step_masks(const struct run *r) { return (uint64_t)r->step + 1; }

/* Takes the step's rows, and counts what each task's loss is a mean over. */
static void step_take_rows(struct run *r) {
    struct masked *drawn = r->drawn;
    r->masks = 0;
    r->rows = sampler_step(r->sampler, r->step, r->row);
    for (int t = 0; t < r->tasks; t++) {
        r->of[t].rows = 0;
        r->of[t].targets = (struct target_count){ 0 };
    }
    for (int i = 0; i < r->rows; i++) {
        uint32_t row;
        struct run_task *of = &r->of[run_task_of(r, r->row[i], &row)];
        const struct dataset *d = &of->task->train;
        size_t tokens = d->start[row + 1] - d->start[row];
        of->rows++;
        if (r->text) {
            tokens += target_length(d, row);
            target_count_row(&of->targets, d, row);
        }
        if (drawn)
            r->masks += (double)masking_draw(r->masking,
                                             masking_key(r->c.seed, step_masks(r), d->row[row].id),
                                             d->ids + d->start[row], tokens, drawn);
        r->tokens[i] = (uint32_t)tokens;
    }
}

void step_prepare(struct run *r) {
    r->step_began = clock_seconds();
    if (r->meta) {
        meta_prepare(r);
        return;
    }
    step_take_rows(r);
    order_cut(&r->cut, r->row, r->tokens, r->rows, r->c.accumulate, r->c.shards);
    order_by_task(&r->cut, r->tasks, r->first);
    run_prologue(r, true);
    join_prepare(r);
}

/* ---- after the parts ---- */

/* The shards' gradients of the made values go on into what made them. */
static void prologue_backward(struct run *r) {
    const struct plan *p = r->plan;
    if (!p->made) return;
    memset(r->prologue_grad, 0, p->trained * sizeof *r->prologue_grad);
    for (int i = 0; i < p->made; i++)
        r->made_seed[i] = r->sum + p->trained + p->made_tensor[i].offset;
    tape_backward(r->prologue, p->made, r->made_node, r->made_seed);
    kernel_add_to(p->trained, 1, r->prologue_grad, r->sum);
}

/* The rate that the step in hand is made with. */
static double step_rate(const struct run *r) {
    static const enum rate_shape shape[] = {
        [SCHEDULE_LINEAR] = RATE_LINEAR,
        [SCHEDULE_COSINE] = RATE_COSINE,
        [SCHEDULE_CONSTANT] = RATE_CONSTANT,
    };
    const struct stage_span *s = &r->span_of;
    int64_t warmup = config_warmup_steps(&r->c, s->steps);
    return s->lr * rate_factor(shape[r->c.schedule], (uint64_t)(r->step - s->first), (uint64_t)warmup,
                               (uint64_t)s->steps);
}

static void update(struct run *r, double lr) {
    size_t groups = (size_t)r->plan->tensors;
    if (r->c.optimizer == OPTIMIZER_ADAMW) {
        const struct adamw o = { r->c.beta1, r->c.beta2, r->c.epsilon, r->c.weight_decay };
        optim_adamw(&o, lr, (uint64_t)(r->step - r->span_of.first) + 1, groups, r->group, r->params, r->sum,
                    r->adam_m, r->adam_v);
    } else {
        const struct sgd o = { r->c.momentum, r->c.weight_decay };
        optim_sgd(&o, lr, groups, r->group, r->params, r->sum, r->adam_m);
    }
}

/* No scale of targets explains a loss beyond this: parameters have run away, though sums may
 * stay finite for long (saturated layers pass no gradient). */
static const double loss_most = 1e25;

/* Says why a step is no step, and returns false. */
static bool diverged(struct run *r, double loss, double norm) {
    const char *kind = isnan(loss) || (isfinite(loss) && isnan(norm)) ? "not a number" : "infinite";
    if (!isfinite(loss)) {
        for (int i = 0; i < r->cut.parts; i++) {
            const struct part *part = &r->part[i];
            if (isfinite(part->loss)) continue;
            snprintf(r->failure, sizeof r->failure,
                     "step %lld: the loss is %s; the first op to make such a number is %s%s%s%s",
                     (long long)r->step, kind, part->op ? part->op : "not known",
                     part->site[0] ? " (" : "", part->site, part->site[0] ? ")" : "");
            return false;
        }
        snprintf(r->failure, sizeof r->failure, "step %lld: the loss is %s: the sum over its parts",
                 (long long)r->step, kind);
        return false;
    }
    if (isfinite(norm)) {
        snprintf(r->failure, sizeof r->failure,
                 "step %lld: the loss is %.4g: the run has diverged (every value is still finite; "
                 "the op is %s)",
                 (long long)r->step, loss,
                 r->text || r->masking                      ? "vocabulary_loss"
                 : r->of[0].task->kind == DATA_REGRESSION ? "squared_error"
                                                            : "cross_entropy");
        return false;
    }
    snprintf(r->failure, sizeof r->failure,
             "step %lld: the gradient is %s though the loss is finite: in the backward pass",
             (long long)r->step, kind);
    return false;
}

/* Each task's own loss in this step, where it has rows in it. */
static int task_losses(const struct run *r, struct event_term *term) {
    int n = 0;
    for (int t = 0; t < r->tasks && !run_is_single(r); t++) {
        const struct run_task *of = &r->of[t];
        double sum = 0;
        for (int i = 0; i < r->cut.parts; i++) sum += r->part[i].by_task[t];
        if (of->rows)
            term[n++] = (struct event_term){ of->name, "loss", sum / (of->weight * run_task_share(r, of)) };
    }
    return n;
}

/* Whether a pass over the rows has just ended with a mean loss below the one to stop at. */
static void watch_loss(struct run *r, double loss) {
    r->pass_loss += loss * r->rows;
    r->pass_rows += r->rows;
    if ((r->step + 1) % sampler_epoch(r->sampler)) return;
    r->low = r->pass_loss < r->stop_loss * (double)r->pass_rows;
    r->pass_loss = 0;
    r->pass_rows = 0;
}

/* ---- what is added to the tasks' loss ---- */

enum { LOSS_PARTS = 2 };

/* A loss besides that of the examples, of one component or two. */
struct added_loss {
    const char *part[LOSS_PARTS]; /* names of the components */
    bool (*on)(const struct run *r, int part); /* whether the run has the component */
    /* Adds its gradient to r->sum where the shards have not, writes the components, without weights, and the
     * metric unless the updated parameters have it, and returns what it adds to the step's loss. */
    double (*add)(struct run *r, double part[LOSS_PARTS], double *metric);
    const char *metric; /* a count of the step, no component of the loss; NULL: none */
    double (*updated)(const struct run *r); /* the metric of the updated parameters; NULL: add writes it */
};

static bool has_teachers(const struct run *r, int part) { return part < LOSS_PARTS && r->distil; }
static double add_taught(struct run *r, double part[LOSS_PARTS], double *metric) {
    (void)metric;
    part[0] = part[1] = 0;
    for (int i = 0; i < r->cut.parts; i++) {
        part[0] += r->part[i].taught.logits;
        part[1] += r->part[i].taught.hidden;
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
        kernel_add_to(j->prototypes->count, 1, j->prototype_grad, r->sum + j->prototypes->offset);
    part[0] = j->instance;
    part[1] = j->prototype;
    return r->plan->method.retriever.weight * (j->instance + j->prototype);
}

static bool has_budget(const struct run *r, int part) { return !part && r->plan->method.budget.on; }
static double ranks_left(const struct run *r) { return budget_left(r->plan, r->params); }
static double add_orthogonality(struct run *r, double part[LOSS_PARTS], double *metric) {
    (void)metric;
    *part = budget_orthogonality(r->plan, r->params, r->sum);
    return r->plan->method.budget.orthogonal * *part;
}

static bool has_identity(const struct run *r, int part) {
    return !part && fusion_has_identity(&r->plan->method);
}
static double add_identity(struct run *r, double part[LOSS_PARTS], double *metric) {
    (void)metric;
    *part = fusion_identity(r->plan, r->params, r->sum);
    return r->plan->method.fusion.weight * *part;
}

static bool has_gates(const struct run *r, int part) { return !part && masked_has_gates(&r->plan->method); }
static double add_gates(struct run *r, double part[LOSS_PARTS], double *metric) {
    *part = masked_expected(r->plan, r->params, r->sum, metric);
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

bool step_finish(struct run *r) {
    double examples = 0, tokens = 0;
    for (int i = 0; i < r->cut.parts; i++) {
        examples += r->part[i].loss;
        tokens += r->part[i].tokens;
    }
    prologue_backward(r);
    struct added_values value[ADDED] = { 0 };
    double loss = add_losses(r, examples, value);
    double norm = optim_clip(r->plan->trained, r->sum, r->c.clip), lr = step_rate(r);
    bool good = isfinite(loss) && isfinite(norm) && fabs(loss) < loss_most;
    if (good && r->moved) moved_step(r->moved, r);
    if (good) update(r, lr);
    if (good && r->plan->method.budget.on)
        budget_step(r->plan, r->step + 1 - r->span_of.first, r->span_of.steps, r->params, r->sum,
                    r->budget_mean, r->budget_spread);
    if (r->stop_loss > 0) watch_loss(r, loss);
    if (good && r->meta) meta_clamp(r);
    double took = clock_seconds() - r->step_began;
    pthread_mutex_lock(&r->lock);
    r->step++;
    r->loss = loss;
    r->rate_steps = 0.9 * r->rate_steps + 1;
    r->rate_tokens = 0.9 * r->rate_tokens + tokens;
    r->rate_seconds = 0.9 * r->rate_seconds + took;
    pthread_mutex_unlock(&r->lock);
    struct event_term term[STEP_TERMS];
    struct event point = { .kind = EVENT_POINT, .loss = loss, .lr = lr, .grad_norm = norm, .tokens = tokens,
                           .term = term };
    point.terms = added_terms(r, examples, value, term, task_losses(r, term));
    run_send(r, point);
    return good || diverged(r, loss, norm);
}
