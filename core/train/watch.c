/* Vectors kept while a run trains: the same dev rows again and again, so that their map can be
 * played.  They go through the model as an evaluation's rows do and leave nothing behind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/sample.h"
#include "core/train/state.h"

void watch_init(struct run *r) {
    struct watch *w = &r->watch;
    w->step = -1;
    if (!r->c.embed_every) return;
    const struct dataset *d = &r->of[0].task->dev[0];
    int *pick = xmalloc((d->rows + 1) * sizeof *pick), last = r->m->arch.encoder_layers;
    int n = dataset_pick(d, r->c.embed_rows, r->c.seed, pick);
    dataset_view(&w->rows, d, pick, n);
    free(pick);
    scoring_init(&w->scoring, &w->rows, r->plan->classes);
    w->vector = xcalloc((size_t)n * (size_t)r->m->arch.width, sizeof *w->vector);
    w->layer = xcalloc((size_t)last + 1, sizeof *w->layer);
    w->layer[last] = w->vector;
    w->scoring.layer = w->layer;
    w->scoring.mean = true;
    w->prediction = xcalloc((size_t)n, sizeof *w->prediction);
}

void watch_release(struct run *r) {
    struct watch *w = &r->watch;
    dataset_view_release(&w->rows);
    free(w->vector);
    free(w->layer);
    free(w->prediction);
    scoring_release(&w->scoring);
    *w = (struct watch){ .step = -1 };
}

bool watch_due(const struct run *r) {
    if (!r->c.embed_every || r->watch.step == r->step) return false;
    return r->step % r->c.embed_every == 0 || r->step >= r->c.steps || r->early;
}

void watch_chunk(struct run *r, int index, struct worker *w) {
    uint64_t ignored; /* a logit that is not finite comes of a vector that is not */
    scoring_chunk(&r->watch.scoring, index, w->tape, w->arena, run_attach(r, w), r->m, r->params,
                  r->made, &ignored);
}

bool watch_finish(struct run *r) {
    struct watch *w = &r->watch;
    size_t n = w->rows.rows, width = (size_t)r->m->arch.width;
    int outputs = w->scoring.outputs;
    for (size_t i = 0; i < n * width; i++) {
        if (isfinite(w->vector[i])) continue;
        snprintf(r->failure, sizeof r->failure,
                 "step %lld: the vector of dev row %llu is not finite", (long long)r->step,
                 (unsigned long long)w->rows.row[i / width].id + 1);
        return false;
    }
    for (size_t i = 0; i < n && outputs; i++)
        w->prediction[i] = argmax(w->scoring.logits + i * (size_t)outputs, outputs);
    const struct event_embedding set = {
        .rows = &w->rows, .vector = w->vector, .columns = (int)width,
        .layer = r->m->arch.encoder_layers, .seed = r->c.seed,
        .prediction = r->text || r->of[0].task->kind == DATA_REGRESSION ? NULL : w->prediction,
    };
    run_send(r, (struct event){
                    .kind = EVENT_EMBEDDING, .split = r->of[0].task->dev_name[0], .embedding = &set });
    w->step = r->step;
    return true;
}
