/* Peak memory of a run. */
#include "core/base/mem.h"
#include "core/engine/arena.h"
#include "core/train/config/regime.h"
#include "core/method/packing.h"
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

static size_t footprint_tasks(const struct run *r) {
    size_t bytes = 0;
    for (int i = 0; i < r->tasks; i++) bytes += task_bytes(r->of[i].task);
    return bytes;
}

/* What the run needs alone: other runs may share model and examples, and the program's own memory is not part
 * of it. */
size_t run_peak_bytes(struct run *r) {
    bool parts = r->c.shards * r->c.accumulate > 1; /* a single part writes to the sum */
    size_t grads = parts ? (r->plan->trained + r->plan->generated_size) * sizeof(real) : 0;
    size_t bytes = r->memory.values;
    int workers = 0;
    run_lock(r);
    for (int i = 0; i < CREW_MOST; i++) {
        bytes += r->memory.activations[i];
        workers += r->memory.activations[i] > 0;
    }
    if (r->join.store_activations) bytes += r->join.peak * (size_t)r->join.parts;
    run_unlock(r);
    bytes += packing_bytes(r->plan);
    if (r->values.prologue_arena) bytes += arena_peak(r->values.prologue_arena);
    if (r->plan->meta.on) {
        const struct regime regime = config_regime(&r->c);
        grads += (size_t)regime_blocks(&regime) * r->plan->trained * sizeof(real);
    }
    return bytes + grads * (size_t)workers + model_bytes(r->m) + footprint_tasks(r);
}
