/* Forward and backward pass of a part of a step, on one worker. With a contrastive (whole-batch) loss all
 * parts run forward first; the join computes the loss on their vectors, and its gradients seed the backward
 * passes. Until then the activations of a part are stored, or recomputed with the same result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/train/run/contrast.h"
#include "core/train/run/objective.h"

/* Returns the gradient buffer of a part; the first part writes directly to the sum. */
static real *grads_of(struct run *r, int index, struct worker *w) {
    size_t n = r->plan->trained + r->plan->generated_size;
    if (!index) return r->values.sum;
    if (w->grads_room < n) {
        free(w->grads);
        w->grads = mem_try(n, sizeof *w->grads);
        w->grads_room = w->grads ? n : 0;
        if (!w->grads) mem_lack(n * sizeof *w->grads);
    }
    return w->grads;
}

/* The loss is the mean over examples of each task's loss, times its weight. */
static struct batch_example part_row_of(const struct run *r, uint32_t number) {
    uint32_t row;
    int t = run_task_of(r, number, &row);
    const struct run_task *of = &r->of[t];
    struct batch_example x = { .data = &of->task->train, .frozen = of->frozen, .index = row, .task = t };
    r->objective.row->weigh(r, of, &x);
    return x;
}

static const struct batch_example *part_pack(const struct run *r, int index, struct arena *memory,
                                         struct batch *b) {
    const uint32_t *rows = r->batch.cut.row + r->batch.cut.start[index];
    int n = r->batch.cut.start[index + 1] - r->batch.cut.start[index];
    struct batch_example *all = arena_keep(memory, (size_t)n * sizeof *all);
    for (int i = 0; i < n; i++) all[i] = part_row_of(r, rows[i]);
    batch_pack_examples(b, memory, &r->m->arch, all, n);
    if (r->objective.row->pack) r->objective.row->pack(r, memory, b, all, n);
    return all;
}

/* ---- one pass ---- */

static void begin_pass(struct run *r, int index, const struct bench *on, struct pass *p) {
    attach_table_rows(on->attach);
    tape_reset(on->tape, true, r->c.seed, (uint64_t)r->step);
    if (r->c.recompute) tape_recompute(on->tape);
    p->row = part_pack(r, index, on->memory, &p->batch);
    forward_init(&p->forward, on->tape, r->m, &p->batch,
                 attach_begin(on->attach, on->tape, r->values.params, r->values.generated, on->grads));
    p->forward.dropout = run_dropout(&r->c, r->m->arch.dropout);
    p->forward.attention_dropout = run_dropout(&r->c, r->m->arch.attention_dropout);
    if (p->forward.activation_dropout > 0)
        p->forward.activation_dropout = run_dropout(&r->c, p->forward.activation_dropout);
    p->values = 0;
}

/* Copies the vectors of the part's examples to those of the step. */
static size_t first_vector(const struct run *r, int index) {
    return (size_t)r->batch.cut.start[index] * (size_t)r->join.width;
}

static void tell_vectors(struct run *r, int index, const struct pass *p, node vectors) {
    const struct batch *b = &p->batch;
    int *task = r->join.task + r->batch.cut.start[index];
    memcpy(r->join.vector + first_vector(r, index), tape_value(p->forward.tape, vectors),
           (size_t)b->examples * (size_t)r->join.width * sizeof *r->join.vector);
    for (int k = 0; k < b->ranges; k++)
        for (int i = b->range[k].first; i < b->range[k].end; i++) task[i] = b->range[k].task;
}

/* Runs forward to the losses; with a join the gradients of the vectors are added as seeds. */
static void run_pass(struct run *r, int index, const struct bench *on, struct pass *p) {
    struct part *part = &r->batch.part[index];
    begin_pass(r, index, on, p);
    node encoded = forward_encode(&p->forward);
    if (r->join.on) {
        p->value[p->values] = attach_retrieve(on->attach, &p->forward, encoded);
        p->seed[p->values++] = r->join.grad + first_vector(r, index);
    }
    int losses = r->objective.row->losses(r, on, p, encoded, part, p->value + p->values);
    for (int k = 0; k < losses; k++) p->seed[p->values++] = NULL;
    part->tokens = p->batch.tokens + (p->batch.target_in ? p->batch.target_tokens : 0);
    /* Read before the backward pass, which reuses the memory of values. */
    if (!isfinite(part->loss + part->taught.logits + part->taught.hidden))
        part->op = tape_first_bad(on->tape, part->site);
}

static void run_back(const struct bench *on, const struct pass *p) {
    tape_backward(on->tape, p->values, p->value, p->seed);
    attach_end(on->attach, on->grads);
}

static void clear_part(struct run *r, int index) {
    double *by_task = run_is_single(r) ? NULL : r->batch.losses + (size_t)index * (size_t)r->tasks;
    r->batch.part[index] = (struct part){ .by_task = by_task };
    for (int t = 0; t < r->tasks && by_task; t++) by_task[t] = 0;
}

/* ---- the join ---- */

void join_init(struct run *r) {
    struct join *j = &r->join;
    size_t batch = (size_t)r->c.batch;
    j->on = config_has_join(&r->c);
    if (!j->on) return;
    j->width = attach_retrieved_width(r->plan, &r->m->arch);
    j->vector = xcalloc(batch * (size_t)j->width, sizeof *j->vector);
    j->grad = xcalloc(batch * (size_t)j->width, sizeof *j->grad);
    j->task = xcalloc(batch, sizeof *j->task);
    if (r->plan->method.retriever.prototype != PROTOTYPE_NONE) {
        j->prototypes = plan_prototypes(r->plan);
        j->spare = xcalloc(batch * (size_t)j->width, sizeof *j->spare);
        j->prototype_grad = xcalloc(j->prototypes->count, sizeof *j->prototype_grad);
    }
    j->parts = r->c.accumulate * r->c.shards;
    j->stored = xcalloc((size_t)j->parts, sizeof *j->stored);
}

static void join_free_stored(struct join *j) {
    for (int i = 0; i < j->parts; i++) {
        struct stored_pass *h = &j->stored[i];
        if (!h->tape) continue;
        tape_free(h->tape);
        arena_free(h->memory);
        attach_free(h->attach);
        *h = (struct stored_pass){ 0 };
    }
}

void join_release(struct run *r) {
    struct join *j = &r->join;
    join_free_stored(j);
    free(j->stored);
    free(j->vector);
    free(j->grad);
    free(j->spare);
    free(j->prototype_grad);
    free(j->task);
}

void join_prepare(struct run *r) {
    struct join *j = &r->join;
    double bytes = (double)j->peak * r->batch.cut.parts, most = (double)r->c.join_memory * 1048576;
    if (!j->on) return;
    j->store_activations = r->c.join == JOIN_HELD || (r->c.join == JOIN_AUTO && j->peak && bytes <= most);
    if (!j->store_activations) join_free_stored(j);
}

static struct bench stored_bench(struct run *r, int index) {
    struct stored_pass *h = &r->join.stored[index];
    if (!h->tape) {
        struct mem_guard *guard = mem_guard_pause(); /* many small allocations */
        h->memory = arena_new();
        h->tape = tape_new(h->memory);
        h->attach = attach_new(r->plan, r->m);
        mem_guard_resume(guard);
    }
    /* the gradient buffer is set before the backward pass */
    return (struct bench){ h->tape, h->memory, h->attach, r->values.sum, NULL };
}

void step_forward(struct run *r, int index, struct worker *w) {
    clear_part(r, index);
    if (r->join.store_activations) {
        struct bench on = stored_bench(r, index);
        struct pass *p = &r->join.stored[index].pass;
        run_pass(r, index, &on, p);
        tell_vectors(r, index, p, p->value[0]);
        return;
    }
    struct pass p;
    const struct bench on = { w->tape, w->arena, run_attach(r, w), NULL, w };
    begin_pass(r, index, &on, &p);
    attach_vectors_only(on.attach);
    node vectors = attach_retrieve(on.attach, &p.forward, forward_encode(&p.forward));
    tell_vectors(r, index, &p, vectors);
}

int step_join(struct run *r) {
    struct join *j = &r->join;
    const struct retriever *of = &r->plan->method.retriever;
    const int rows = r->batch.examples;
    size_t values = (size_t)rows * (size_t)j->width;
    j->anchors = 1;
    if (of->instance == INSTANCE_NONE) memset(j->grad, 0, values * sizeof *j->grad);
    else
        j->instance = contrast_instances(of->instance, of->temperature, of->weight, rows, j->width,
                                         j->vector, j->task, j->grad, &j->anchors);
    if (j->prototypes) {
        j->prototype = contrast_prototypes(of->prototype, of->temperature, of->weight, rows, j->width,
                                           j->vector, j->task, r->tasks,
                                           r->values.params + j->prototypes->offset, j->spare,
                                           j->prototype_grad);
        kernel_add_to(values, 1, j->spare, j->grad);
    }
    if (!j->anchors && !j->reported)
        run_say(r, "a batch contains no two examples of the same task, so the instance loss is 0; use a "
                   "larger --batch");
    j->reported |= !j->anchors;
    return r->batch.cut.parts;
}

/* ---- a part ---- */

static void note_peak(struct run *r, const struct arena *memory) {
    size_t peak = arena_peak(memory);
    run_lock(r);
    if (peak > r->join.peak) r->join.peak = peak;
    run_unlock(r);
}

/* Runs the backward pass of a part with stored activations. */
static void held_part(struct run *r, int index, real *grads) {
    struct bench on = stored_bench(r, index);
    tape_move_grads(on.tape, r->values.sum, r->plan->trained + r->plan->generated_size, grads);
    on.grads = grads;
    run_back(&on, &r->join.stored[index].pass);
    note_peak(r, on.memory);
}

void examples_part(struct run *r, int index, struct worker *w, real *grads) {
    if (r->join.store_activations) {
        held_part(r, index, grads);
        return;
    }
    struct pass p;
    const struct bench on = { w->tape, w->arena, run_attach(r, w), grads, w };
    clear_part(r, index);
    run_pass(r, index, &on, &p);
    run_back(&on, &p);
    if (r->join.on) note_peak(r, on.memory);
}

const struct tape *step_tape(const struct run *r, int index, const struct worker *w) {
    return r->join.store_activations ? r->join.stored[index].tape : w->tape;
}

void step_part(struct run *r, int index, struct worker *w) {
    r->objective.source->part(r, index, w, grads_of(r, index, w));
}
