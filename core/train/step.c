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
#include "core/train/complete.h"
#include "core/train/meta_run.h"
#include "core/train/state.h"

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
            r->masks += (double)masking_draw(r->masking, masking_key(r->c.seed, step_masks(r), d->row[row].id), d->ids + d->start[row],
                                             tokens, drawn);
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
    return s->lr * rate_factor(shape[r->c.schedule], (uint64_t)(r->step - s->first), (uint64_t)warmup, (uint64_t)s->steps);
}

static void update(struct run *r, double lr) {
    size_t groups = (size_t)r->plan->tensors;
    if (r->c.optimiser == OPTIMISER_ADAMW) {
        const struct adamw o = { r->c.beta1, r->c.beta2, r->c.epsilon, r->c.weight_decay };
        optim_adamw(&o, lr, (uint64_t)(r->step - r->span_of.first) + 1, groups, r->group, r->params, r->sum, r->adam_m,
                    r->adam_v);
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
        if (of->rows) term[n++] = (struct event_term){ of->name, "loss", sum / (of->weight * run_task_share(r, of)) };
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

bool step_finish(struct run *r) {
    double loss = 0, tokens = 0;
    for (int i = 0; i < r->cut.parts; i++) {
        loss += r->part[i].loss;
        tokens += r->part[i].tokens;
    }
    struct distil_terms taught = { 0 };
    for (int i = 0; i < r->cut.parts && r->distil; i++) {
        taught.logits += r->part[i].taught.logits;
        taught.hidden += r->part[i].taught.hidden;
    }
    double task_loss = loss;
    loss += r->distil ? r->c.distil_logits * taught.logits + r->c.distil_hidden * taught.hidden : 0;
    const struct join *j = &r->join;
    if (j->on) loss += r->plan->method.retriever.weight * (j->instance + j->prototype);
    if (j->prototypes) kernel_add_to(j->prototypes->count, 1, j->prototype_grad, r->sum + j->prototypes->offset);
    prologue_backward(r);
    const struct budget *budget = &r->plan->method.budget;
    double orthogonality = budget->on ? budget_orthogonality(r->plan, r->params, r->sum) : 0;
    loss += budget->on ? budget->orthogonal * orthogonality : 0;
    bool fused = fusion_has_identity(&r->plan->method);
    double identity = fused ? fusion_identity(r->plan, r->params, r->sum) : 0;
    loss += fused ? r->plan->method.fusion.weight * identity : 0;
    bool gated = masked_has_gates(&r->plan->method);
    double open = 0, expected = gated ? masked_expected(r->plan, r->params, r->sum, &open) : 0;
    loss += gated ? r->plan->method.pruning.weight * expected : 0;
    double norm = optim_clip(r->plan->trained, r->sum, r->c.clip), lr = step_rate(r);
    bool good = isfinite(loss) && isfinite(norm) && fabs(loss) < loss_most;
    if (good && r->moved) moved_step(r->moved, r);
    if (good) update(r, lr);
    if (good && budget->on)
        budget_step(r->plan, r->step + 1 - r->span_of.first, r->span_of.steps, r->params, r->sum, r->budget_mean, r->budget_spread);
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
    enum { COMPONENTS = 10 }; /* of the loss and besides it, all those below */
    struct event_term term[RUN_TASKS + COMPONENTS];
    struct event point = { .kind = EVENT_POINT, .loss = loss, .lr = lr, .grad_norm = norm, .tokens = tokens,
                           .term = term };
    point.terms = task_losses(r, term);
    if (j->on || budget->on || fused || gated || r->distil) term[point.terms++] = (struct event_term){ NULL, "loss.task", task_loss };
    if (j->on) {
        if (r->plan->method.retriever.instance != INSTANCE_NONE)
            term[point.terms++] = (struct event_term){ NULL, "loss.instance", j->instance };
        if (j->prototypes) term[point.terms++] = (struct event_term){ NULL, "loss.prototype", j->prototype };
    }
    if (budget->on) {
        term[point.terms++] = (struct event_term){ NULL, "loss.orthogonality", orthogonality };
        term[point.terms++] = (struct event_term){ NULL, "ranks", budget_left(r->plan, r->params) };
    }
    if (r->distil) {
        term[point.terms++] = (struct event_term){ NULL, "loss.logits", taught.logits };
        term[point.terms++] = (struct event_term){ NULL, "loss.hidden", taught.hidden };
    }
    if (fused) term[point.terms++] = (struct event_term){ NULL, "loss.identity", identity };
    if (gated) {
        term[point.terms++] = (struct event_term){ NULL, "loss.gates", expected };
        term[point.terms++] = (struct event_term){ NULL, "gates", open };
    }
    BUG_IF(point.terms > (int)COUNT_OF(term));
    run_send(r, point);
    return good || diverged(r, loss, norm);
}
