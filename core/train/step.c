#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/train/batch.h"
#include "core/train/complete.h"
#include "core/train/state.h"
#include "core/train/target.h"

static double dropout_of(const struct run *r, double published) {
    return r->c.dropout < 0 ? published : r->c.dropout;
}

/* ---- before the parts ---- */

/* Makes weights on the run's own tape and copies them to r->made, where parts read them. */
static void run_prologue(struct run *r, bool training) {
    const struct plan *p = r->plan;
    if (!p->made) return;
    tape_reset(r->prologue, training, r->c.seed, (uint64_t)r->step);
    attach_prologue(p, r->prologue, r->params, training ? r->prologue_grad : NULL, r->made_node);
    for (int i = 0; i < p->made; i++)
        memcpy(r->made + p->made_tensor[i].offset, tape_value(r->prologue, r->made_node[i]),
               p->made_tensor[i].count * sizeof *r->made);
}

void step_make(struct run *r) { run_prologue(r, false); }

void step_prepare(struct run *r) {
    int64_t epoch = r->step / r->per_epoch, at = r->step % r->per_epoch * r->c.batch;
    int64_t left = (int64_t)r->task->train.rows - at;
    r->step_began = clock_seconds();
    if (epoch != r->order_epoch) {
        order_epoch(r->c.seed, epoch, r->order, r->task->train.rows);
        r->order_epoch = epoch;
    }
    r->rows = (int)(left < r->c.batch ? left : r->c.batch);
    const struct dataset *d = &r->task->train;
    order_cut(&r->cut, r->order + at, r->rows, r->c.accumulate, r->c.shards, d->start,
              r->text ? d->target_start : NULL);
    if (r->text) r->targets = target_count(d, r->order + at, r->rows);
    run_prologue(r, true);
}

/* ---- a part, on one worker ---- */

/* Where this part's gradients go: the first part's straight into the sum. */
static real *grads_of(struct run *r, int index, struct worker *w) {
    size_t n = r->plan->trained + r->plan->made_size;
    if (!index) return r->sum;
    if (w->grads_room < n) {
        free(w->grads);
        w->grads = mem_try(n, sizeof *w->grads);
        w->grads_room = w->grads ? n : 0;
    }
    return w->grads;
}

/* The weighted sum of the losses of the part's rows, 1×1. */
static node loss_of(struct run *r, struct attach *a, struct forward *f, const struct batch *b) {
    struct tape *t = f->tape;
    node encoded = forward_encode(f);
    if (r->text) {
        node decoded = forward_decode(f, encoded);
        tape_site(t, "loss");
        return forward_lm_loss(f, decoded, r->c.smoothing);
    }
    const struct task_range all = { 0, 0, b->rows };
    node out = attach_head(a, f, attach_pool(a, f, encoded), all, dropout_of(r, r->m->arch.classifier_dropout));
    tape_site(t, "loss");
    return r->task->kind == DATA_REGRESSION ? op_squared_error(t, out, b->target, b->weight)
                                            : op_cross_entropy(t, out, b->label, b->weight);
}

void step_part(struct run *r, int index, struct worker *w) {
    struct part *part = &r->part[index];
    struct batch b;
    struct forward f;
    *part = (struct part){ 0 };
    real *grads = grads_of(r, index, w);
    if (!grads) {
        part->no_memory = true;
        return;
    }
    struct attach *a = run_attach(r, w);
    tape_reset(w->tape, true, r->c.seed, (uint64_t)r->step);
    const uint32_t *rows = r->cut.row + r->cut.start[index];
    int n = r->cut.start[index + 1] - r->cut.start[index];
    batch_pack(&b, w->arena, &r->m->arch, &r->task->train, rows, n, (real)(1.0 / r->rows));
    if (r->text)
        target_pack(&b, w->arena, &r->m->arch, &r->task->train, rows, n, r->c.loss_mean, &r->targets);
    forward_init(&f, w->tape, r->m, &b, attach_begin(a, w->tape, r->params, r->made, grads));
    f.dropout = dropout_of(r, r->m->arch.dropout);
    f.attention_dropout = dropout_of(r, r->m->arch.attention_dropout);
    if (f.activation_dropout > 0) f.activation_dropout = dropout_of(r, f.activation_dropout);
    node loss = loss_of(r, a, &f, &b);
    part->loss = (double)*tape_value(w->tape, loss);
    part->tokens = b.tokens + b.target_tokens;
    /* Looked at before backward, which reuses the memory of values. */
    if (!isfinite(part->loss)) part->op = tape_first_bad(w->tape, part->site);
    const real *seed = NULL;
    tape_backward(w->tape, 1, &loss, &seed);
    attach_end(a, grads);
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
static double rate(const struct run *r) {
    static const enum rate_shape shape[] = {
        [SCHEDULE_LINEAR] = RATE_LINEAR,
        [SCHEDULE_COSINE] = RATE_COSINE,
        [SCHEDULE_CONSTANT] = RATE_CONSTANT,
    };
    int64_t warmup = config_warmup_steps(&r->c);
    return r->c.lr * rate_factor(shape[r->c.schedule], (uint64_t)r->step, (uint64_t)warmup,
                                 (uint64_t)r->c.steps);
}

static void update(struct run *r, double lr) {
    size_t groups = (size_t)r->plan->tensors;
    if (r->c.optimiser == OPTIMISER_ADAMW) {
        const struct adamw o = { r->c.beta1, r->c.beta2, r->c.epsilon, r->c.weight_decay };
        optim_adamw(&o, lr, (uint64_t)r->step + 1, groups, r->group, r->params, r->sum, r->adam_m,
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
                 r->text                            ? "vocabulary_loss"
                 : r->task->kind == DATA_REGRESSION ? "squared_error"
                                                    : "cross_entropy");
        return false;
    }
    snprintf(r->failure, sizeof r->failure,
             "step %lld: the gradient is %s though the loss is finite: in the backward pass",
             (long long)r->step, kind);
    return false;
}

bool step_finish(struct run *r) {
    double loss = 0, tokens = 0;
    for (int i = 0; i < r->cut.parts; i++) {
        loss += r->part[i].loss;
        tokens += r->part[i].tokens;
        if (r->part[i].no_memory) {
            snprintf(r->failure, sizeof r->failure,
                     "step %lld: no memory for the gradients of a worker", (long long)r->step + 1);
            return false;
        }
    }
    prologue_backward(r);
    double norm = optim_clip(r->plan->trained, r->sum, r->c.clip), lr = rate(r);
    bool good = isfinite(loss) && isfinite(norm) && fabs(loss) < loss_most;
    if (good) update(r, lr);
    double took = clock_seconds() - r->step_began;
    pthread_mutex_lock(&r->lock);
    r->step++;
    r->loss = loss;
    r->rate_steps = 0.9 * r->rate_steps + 1;
    r->rate_tokens = 0.9 * r->rate_tokens + tokens;
    r->rate_seconds = 0.9 * r->rate_seconds + took;
    pthread_mutex_unlock(&r->lock);
    run_send(
        r, (struct event){
               .kind = EVENT_POINT, .loss = loss, .lr = lr, .grad_norm = norm, .tokens = tokens });
    return good || diverged(r, loss, norm);
}
