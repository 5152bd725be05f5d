/* Embeddings saved during training, for the same validation examples, so that their map can be animated. They
 * are computed as in an evaluation, without side effects. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/sample.h"
#include "core/train/run/state.h"

static void open_part(struct run *r, struct watch_part *p, int task, int most) {
    struct watch *w = &r->watch;
    const struct dataset *d = &r->of[task].task->dev[0];
    int *pick = xmalloc((d->examples + 1) * sizeof *pick), last = r->m->arch.encoder_layers;
    int n = dataset_pick(d, most, r->c.seed, pick);
    p->name = r->of[task].name;
    p->first = w->examples;
    w->examples += (size_t)n;
    dataset_view(&p->data, d, pick, n);
    free(pick);
    scoring_init(&p->scoring, &p->data, r->plan->outputs[task]);
    p->layer = xcalloc((size_t)last + 1, sizeof *p->layer);
    p->scoring.task = task;
    p->scoring.layer = p->layer;
    p->scoring.mean = true;
}

void watch_init(struct run *r) {
    struct watch *w = &r->watch;
    size_t rows[RUN_TASKS], share[RUN_TASKS];
    w->step = -1;
    if (!r->c.embed_every) return;
    for (int t = 0; t < r->tasks; t++) rows[t] = r->of[t].task->devs ? r->of[t].task->dev[0].examples : 0;
    sample_shares(rows, r->tasks, (size_t)r->c.embed_rows, share);
    w->part = xcalloc((size_t)r->tasks, sizeof *w->part);
    for (int t = 0; t < r->tasks; t++)
        if (rows[t]) open_part(r, &w->part[w->parts++], t, (int)share[t]);
    size_t width = (size_t)r->m->arch.width, retrieved = (size_t)attach_retrieved_width(r->plan, &r->m->arch);
    w->vector = xcalloc(w->examples * width, sizeof *w->vector);
    w->retrieved = retrieved ? xcalloc(w->examples * retrieved, sizeof *w->retrieved) : NULL;
    for (int i = 0; i < w->parts; i++) {
        struct watch_part *p = &w->part[i];
        p->layer[r->m->arch.encoder_layers] = w->vector + p->first * width;
        p->scoring.retrieved = w->retrieved ? w->retrieved + p->first * retrieved : NULL;
    }
    w->prediction = xcalloc(w->examples, sizeof *w->prediction);
}

void watch_release(struct run *r) {
    struct watch *w = &r->watch;
    for (int i = 0; i < w->parts; i++) {
        dataset_view_release(&w->part[i].data);
        scoring_release(&w->part[i].scoring);
        free(w->part[i].layer);
    }
    free(w->part);
    free(w->vector);
    free(w->retrieved);
    free(w->prediction);
    *w = (struct watch){ .step = -1 };
}

bool watch_due(const struct run *r) {
    if (!r->c.embed_every || r->watch.step == r->step) return false;
    return r->step % r->c.embed_every == 0 || run_is_done(r);
}

int watch_chunks(const struct run *r) {
    int n = 0;
    for (int i = 0; r->watch.now && i < r->watch.parts; i++) n += r->watch.part[i].scoring.chunks;
    return n;
}

/* Returns the part of a chunk, and sets *index to its number there. */
static struct watch_part *part_of(const struct run *r, int *index) {
    struct watch_part *p = r->watch.part;
    for (; *index >= p->scoring.chunks; p++) *index -= p->scoring.chunks;
    return p;
}

int64_t watch_examples(const struct run *r, int index) {
    const struct scoring *s = &part_of(r, &index)->scoring;
    return (int64_t)s->first[index + 1] - s->first[index];
}

void watch_chunk(struct run *r, int index, struct worker *w) {
    uint64_t ignored; /* NaN or infinite logits come from NaN or infinite vectors */
    struct scoring *s = &part_of(r, &index)->scoring;
    scoring_chunk(s, index, w->tape, w->arena, run_attach(r, w), r->m, r->values.params, r->values.generated,
                  &ignored);
}

/* Fails the run, naming the row, where its vectors are NaN or infinite. */
static bool watch_all_finite(struct run *r, const real *v, size_t width, const char *whose) {
    const struct watch *w = &r->watch;
    for (size_t i = 0; i < w->examples * width; i++) {
        if (isfinite(v[i])) continue;
        const struct watch_part *p = w->part;
        while (i / width >= p->first + p->data.examples) p++;
        return run_fails(r, "step %lld: NaN or infinite %svector for %s%svalidation example %llu",
                         (long long)r->step, whose, p->name, *p->name ? " " : "",
                         (unsigned long long)p->data.example[i / width - p->first].id + 1);
    }
    return true;
}

/* Writes the predicted classes; returns false where no task has classes. */
static bool predict(struct run *r) {
    struct watch *w = &r->watch;
    bool any = false;
    for (int i = 0; i < w->parts; i++) {
        const struct watch_part *p = &w->part[i];
        const struct scoring *s = &p->scoring;
        bool classes = p->data.kind == DATA_CLASSES;
        for (size_t k = 0; k < p->data.examples; k++)
            w->prediction[p->first + k] = classes ? argmax(s->logits + k * (size_t)s->outputs, s->outputs)
                                                  : -1;
        any |= classes;
    }
    return any;
}

bool watch_finish(struct run *r) {
    struct watch *w = &r->watch;
    const struct dataset *of[RUN_TASKS];
    const char *name[RUN_TASKS];
    int width = r->m->arch.width, retrieved = w->retrieved ? attach_retrieved_width(r->plan, &r->m->arch) : 0;
    if (!watch_all_finite(r, w->vector, (size_t)width, "")) return false;
    if (w->retrieved && !watch_all_finite(r, w->retrieved, (size_t)retrieved, "retriever ")) return false;
    for (int i = 0; i < w->parts; i++) {
        of[i] = &w->part[i].data;
        name[i] = w->part[i].name;
    }
    const struct event_embedding set = {
        .tasks = w->parts,
        .of = of,
        .task = name,
        .examples = w->examples,
        .vector = w->vector,
        .columns = width,
        .layer = r->m->arch.encoder_layers,
        .retrieved = w->retrieved,
        .retrieved_columns = retrieved,
        .seed = r->c.seed,
        .prediction = predict(r) ? w->prediction : NULL,
    };
    const struct run_task *first = &r->of[w->part[0].scoring.task];
    run_send(r,
             (struct event){ .kind = EVENT_EMBEDDING, .split = first->task->dev_name[0], .embedding = &set });
    w->step = r->step;
    return true;
}
