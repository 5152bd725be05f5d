/* Peak memory of a run. */
#include "core/base/mem.h"
#include "core/engine/arena.h"
#include "core/train/run/run.h"
#include "core/train/run/state.h"

void footprint_begin(struct worker *w) { arena_peak_restart(w->arena); }

void footprint_end(struct run *r, const struct worker *w) {
    size_t peak = arena_peak(w->arena);
    run_lock(r);
    if (peak > r->memory.activations[w->index]) r->memory.activations[w->index] = peak;
    run_unlock(r);
}

void footprint_values(struct run *r) {
    struct run_values *v = &r->values;
    size_t trained = 0, generated = 2; /* generated weights, gradients */
    const real *const blocks[] = { v->params,      v->sum,           v->adam_m,       v->adam_v,
                                   v->budget_mean, v->budget_spread, v->prologue_grad };
    for (size_t i = 0; i < COUNT_OF(blocks); i++) trained += blocks[i] != NULL;
    size_t bytes = (trained * r->plan->trained + generated * r->plan->generated_size) * sizeof(real);
    if (bytes > r->memory.values) r->memory.values = bytes;
}

static size_t footprint_model(const struct model *m) {
    size_t values = 0;
    for (int i = 0; i < m->tensors; i++)
        if (m->weight[i]) values += (size_t)m->tensor[i].rows * (size_t)m->tensor[i].cols;
    return values * sizeof(real);
}

static size_t footprint_split(const struct dataset *d) {
    size_t bytes = d->examples * sizeof *d->example;
    for (size_t i = 0; d->example && i < d->examples; i++)
        bytes += d->example[i].a_size + d->example[i].b_size + d->example[i].target_size;
    if (d->start) bytes += d->start[d->examples] * (sizeof *d->ids + sizeof *d->types);
    if (d->target_start) bytes += d->target_start[d->examples] * sizeof *d->target_ids;
    return bytes;
}

static size_t footprint_tasks(const struct run *r) {
    size_t bytes = 0;
    for (int i = 0; i < r->tasks; i++) {
        struct dataset *split[TASK_SPLITS];
        const char *name[TASK_SPLITS];
        int n = task_splits(r->of[i].task, split, name);
        for (int k = 0; k < n; k++) bytes += footprint_split(split[k]);
    }
    return bytes;
}

size_t run_peak_bytes(struct run *r) {
    size_t grads = (r->plan->trained + r->plan->generated_size) * sizeof(real), bytes = r->memory.values;
    int workers = 0;
    run_lock(r);
    for (int i = 0; i < CREW_MOST; i++) {
        bytes += r->memory.activations[i];
        workers += r->memory.activations[i] > 0;
    }
    if (r->join.store_activations) bytes += r->join.peak * (size_t)r->join.parts;
    run_unlock(r);
    if (r->values.prologue_arena) bytes += arena_peak(r->values.prologue_arena);
    return bytes + grads * (size_t)workers + footprint_model(r->m) + footprint_tasks(r);
}
