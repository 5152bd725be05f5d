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

/* The task of a row, and its number in the task's train split. */
static int task_of(const struct run *r, uint32_t row, uint32_t *own) {
    int t = 0;
    while (row >= r->first[t + 1]) t++;
    *own = row - r->first[t];
    return t;
}

/* Takes the step's rows, and counts what each task's loss is a mean over. */
static void take_rows(struct run *r) {
    r->rows = sampler_step(r->sampler, r->step, r->row);
    for (int t = 0; t < r->tasks; t++) {
        r->of[t].rows = 0;
        r->of[t].targets = (struct target_count){ 0 };
    }
    for (int i = 0; i < r->rows; i++) {
        uint32_t row;
        struct run_task *of = &r->of[task_of(r, r->row[i], &row)];
        const struct dataset *d = &of->task->train;
        size_t tokens = d->start[row + 1] - d->start[row];
        of->rows++;
        if (r->text) {
            tokens += target_length(d, row);
            target_count_row(&of->targets, d, row);
        }
        r->tokens[i] = (uint32_t)tokens;
    }
}

void step_prepare(struct run *r) {
    r->step_began = clock_seconds();
    take_rows(r);
    order_cut(&r->cut, r->row, r->tokens, r->rows, r->c.accumulate, r->c.shards);
    order_by_task(&r->cut, r->tasks, r->first);
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

/* What a row weighs: the loss is the mean over rows of each task's own loss, times its weight.  A sum stays a
 * sum. */
static struct batch_row row_of(const struct run *r, uint32_t number) {
    uint32_t row;
    int t = task_of(r, number, &row);
    const struct run_task *of = &r->of[t];
    struct batch_row x = { .data = &of->task->train, .row = row, .task = t };
    if (!r->text) {
        x.weight = (real)(of->weight / r->rows);
        return x;
    }
    double share = r->c.loss_mean == MEAN_SUM ? 1 : (double)of->rows / r->rows;
    x.token_weight =
        (real)(of->weight * share * target_weight(r->c.loss_mean, &of->targets, target_length(x.data, row)));
    return x;
}

static void pack(struct run *r, int index, struct worker *w, struct batch *b) {
    const uint32_t *rows = r->cut.row + r->cut.start[index];
    int n = r->cut.start[index + 1] - r->cut.start[index];
    struct batch_row *all = arena_keep(w->arena, (size_t)n * sizeof *all);
    for (int i = 0; i < n; i++) all[i] = row_of(r, rows[i]);
    batch_pack_rows(b, w->arena, &r->m->arch, all, n);
    if (r->text) batch_pack_targets(b, w->arena, &r->m->arch, all, n);
}

/* The losses of texts, summed over rows of a task. */
static void text_losses(struct part *part, const struct batch *b, const double *token_loss) {
    for (int k = 0; k < b->ranges && part->by_task; k++) {
        const struct task_range *x = &b->range[k];
        for (int i = b->target_start[x->first]; i < b->target_start[x->end]; i++)
            part->by_task[x->task] += token_loss[i];
    }
}

/* The weighted losses of the part's rows, 1×1 each: of every task that is in it, or of all texts. */
static int losses_of(struct run *r, struct attach *a, struct forward *f, const struct batch *b, struct arena *memory,
                     struct part *part, node *loss) {
    struct tape *t = f->tape;
    node encoded = forward_encode(f);
    if (r->text) {
        node decoded = forward_decode(f, encoded);
        double *each = part->by_task ? arena_keep(memory, (size_t)b->target_tokens * sizeof *each) : NULL;
        f->token_loss = each;
        tape_site(t, "loss");
        loss[0] = forward_lm_loss(f, decoded, r->c.smoothing);
        text_losses(part, b, each);
        return 1;
    }
    node pooled = attach_pool(a, f, encoded);
    for (int k = 0; k < b->ranges; k++) {
        struct task_range x = b->range[k];
        node out = attach_head(a, f, pooled, x, dropout_of(r, r->m->arch.classifier_dropout));
        tape_site(t, "loss");
        loss[k] = r->of[x.task].task->kind == DATA_REGRESSION
                      ? op_squared_error(t, out, b->target + x.first, b->weight + x.first)
                      : op_cross_entropy(t, out, b->label + x.first, b->weight + x.first);
        if (part->by_task) part->by_task[x.task] += (double)*tape_value(t, loss[k]);
    }
    return b->ranges;
}

void step_part(struct run *r, int index, struct worker *w) {
    struct part *part = &r->part[index];
    struct batch b;
    struct forward f;
    double *by_task = run_is_single(r) ? NULL : r->part_losses + (size_t)index * (size_t)r->tasks;
    *part = (struct part){ .by_task = by_task };
    for (int t = 0; t < r->tasks && by_task; t++) by_task[t] = 0;
    real *grads = grads_of(r, index, w);
    if (!grads) {
        part->no_memory = true;
        return;
    }
    struct attach *a = run_attach(r, w);
    tape_reset(w->tape, true, r->c.seed, (uint64_t)r->step);
    pack(r, index, w, &b);
    forward_init(&f, w->tape, r->m, &b, attach_begin(a, w->tape, r->params, r->made, grads));
    f.dropout = dropout_of(r, r->m->arch.dropout);
    f.attention_dropout = dropout_of(r, r->m->arch.attention_dropout);
    if (f.activation_dropout > 0) f.activation_dropout = dropout_of(r, f.activation_dropout);
    node loss[RUN_TASKS];
    const real *seed[RUN_TASKS] = { NULL };
    int losses = losses_of(r, a, &f, &b, w->arena, part, loss);
    for (int k = 0; k < losses; k++) part->loss += (double)*tape_value(w->tape, loss[k]);
    part->tokens = b.tokens + b.target_tokens;
    /* Looked at before backward, which reuses the memory of values. */
    if (!isfinite(part->loss)) part->op = tape_first_bad(w->tape, part->site);
    tape_backward(w->tape, losses, loss, seed);
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
                 r->text                                    ? "vocabulary_loss"
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
        double sum = 0, share = r->text && r->c.loss_mean == MEAN_SUM ? 1 : (double)of->rows / r->rows;
        for (int i = 0; i < r->cut.parts; i++) sum += r->part[i].by_task[t];
        if (of->rows) term[n++] = (struct event_term){ of->name, "loss", sum / (of->weight * share) };
    }
    return n;
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
    struct event_term term[RUN_TASKS];
    struct event point = { .kind = EVENT_POINT, .loss = loss, .lr = lr, .grad_norm = norm, .tokens = tokens,
                           .term = term };
    point.terms = task_losses(r, term);
    run_send(r, point);
    return good || diverged(r, loss, norm);
}
