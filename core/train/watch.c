/* Vectors kept while a run trains: the same dev rows again and again, so that their map can be
 * played.  They go through the model as an evaluation's rows do and leave nothing behind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/vectors.h"
#include "core/train/state.h"

/* Rows `pick` of `from`, with their ids. */
static void view_of(struct dataset *view, const struct dataset *from, const int *pick, int n) {
    size_t tokens = 0;
    *view = *from;
    for (int i = 0; i < n; i++) tokens += from->start[pick[i] + 1] - from->start[pick[i]];
    view->rows = (size_t)n;
    view->row = xmalloc((size_t)n * sizeof *view->row);
    view->start = xmalloc(((size_t)n + 1) * sizeof *view->start);
    view->ids = xmalloc(tokens * sizeof *view->ids);
    view->types = xmalloc(tokens * sizeof *view->types);
    view->start[0] = 0;
    for (int i = 0; i < n; i++) {
        size_t at = view->start[i], first = from->start[pick[i]];
        size_t count = from->start[pick[i] + 1] - first;
        view->row[i] = from->row[pick[i]];
        memcpy(view->ids + at, from->ids + first, count * sizeof *view->ids);
        memcpy(view->types + at, from->types + first, count * sizeof *view->types);
        view->start[i + 1] = at + count;
    }
}

void watch_init(struct run *r) {
    struct watch *w = &r->watch;
    w->step = -1;
    if (!r->c.embed_every) return;
    const struct dataset *d = &r->task->dev[0];
    int32_t *label = xmalloc((d->rows + 1) * sizeof *label);
    int *pick = xmalloc((d->rows + 1) * sizeof *pick);
    for (size_t i = 0; i < d->rows; i++) label[i] = d->row[i].gold ? d->row[i].label : -1;
    int n = sample_evenly(label, (int)d->rows, d->classes, r->c.embed_rows, r->c.seed, pick);
    view_of(&w->rows, d, pick, n);
    free(label);
    free(pick);
    scoring_init(&w->scoring, &w->rows, r->plan->classes);
    w->scoring.vector = xcalloc((size_t)n * (size_t)r->m->arch.width, sizeof *w->scoring.vector);
    w->prediction = xcalloc((size_t)n, sizeof *w->prediction);
}

void watch_release(struct run *r) {
    struct watch *w = &r->watch;
    free(w->rows.row);
    free(w->rows.start);
    free(w->rows.ids);
    free(w->rows.types);
    free(w->scoring.vector);
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
        if (isfinite(w->scoring.vector[i])) continue;
        snprintf(r->failure, sizeof r->failure,
                 "step %lld: the vector of dev row %llu is not finite", (long long)r->step,
                 (unsigned long long)w->rows.row[i / width].id + 1);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        w->prediction[i] = argmax(w->scoring.logits + i * (size_t)outputs, outputs);
    const struct event_embedding set = {
        .rows = &w->rows, .vector = w->scoring.vector, .columns = (int)width,
        .layer = r->m->arch.encoder_layers, .seed = r->c.seed,
        .prediction = r->task->kind == DATA_REGRESSION ? NULL : w->prediction,
    };
    run_send(r, (struct event){
                    .kind = EVENT_EMBEDDING, .split = r->task->dev_name[0], .embedding = &set });
    w->step = r->step;
    return true;
}
