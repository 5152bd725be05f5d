#include "core/train/predict.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/train/batch.h"
#include "core/train/pool.h"
#include "core/train/predictor.h"
#include "core/train/score.h"

enum { THREADS = 64 };

struct work {
    const struct model *m;
    const struct predictor *p; /* NULL: the model as it is */
    struct scoring s;          /* its chunks alone are used */
    real *const *layer;
    bool mean;
    atomic_int next;
};

/* What is collected of one chunk. */
struct chunk {
    const struct work *w;
    struct forward f;
    const uint32_t *row; /* of each sequence */
};

static void collect(void *self, int layer, node output) {
    const struct chunk *c = self;
    if (c->w->layer[layer]) pool_rows(&c->f, output, c->row, c->w->mean, c->w->layer[layer]);
}

static void embed_chunk(struct work *w, int index, struct worker *k, struct attach *a) {
    struct chunk c = { .w = w, .row = w->s.order + w->s.first[index] };
    struct batch b;
    tape_reset(k->tape, false, 0, 0);
    batch_pack(&b, k->arena, w->s.data, c.row, (int)(w->s.first[index + 1] - w->s.first[index]), 0);
    forward_init(&c.f, k->tape, w->m, &b, a ? attach_begin(a, k->tape, w->p->params, w->p->made, NULL) : NULL);
    c.f.layer_done = collect;
    c.f.layer_self = &c;
    forward_encode(&c.f);
}

static void *run(void *argument) {
    struct work *w = argument;
    struct worker k;
    worker_init(&k, 0);
    struct attach *a = w->p ? attach_new(w->p->plan, w->p->m) : NULL;
    for (int chunk; (chunk = atomic_fetch_add(&w->next, 1)) < w->s.chunks;) embed_chunk(w, chunk, &k, a);
    if (a) attach_free(a);
    worker_release(&k);
    return NULL;
}

static int check(const struct work *w, struct err *e) {
    size_t d = (size_t)w->m->arch.width;
    for (size_t r = 0; r < w->s.data->rows; r++)
        for (int l = 0; l <= w->m->arch.encoder_layers; l++)
            for (size_t j = 0; w->layer[l] && j < d; j++)
                if (!isfinite(w->layer[l][r * d + j]))
                    return err_set(e, ERR_FAILED, "%s: row %llu: its vector at layer %d is not finite",
                                   w->s.data->path ? w->s.data->path : "text",
                                   (unsigned long long)w->s.data->row[r].id + 1, l);
    return 0;
}

static int embed(struct work *w, const struct dataset *d, int workers, struct err *e) {
    pthread_t thread[THREADS];
    int started = 0;
    BUG_IF(!d->max_len);
    scoring_init(&w->s, d, 1);
    atomic_init(&w->next, 0);
    if (workers > THREADS) workers = THREADS;
    if (workers > w->s.chunks) workers = w->s.chunks;
    while (started < workers - 1 && !pthread_create(&thread[started], NULL, run, w)) started++;
    run(w);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
    int rc = check(w, e);
    scoring_release(&w->s);
    return rc;
}

int predictor_embed(struct predictor *p, const struct dataset *d, bool mean, int workers, real *const *layer,
                    struct err *e) {
    struct work w = { .m = p->m, .p = p, .layer = layer, .mean = mean };
    return embed(&w, d, workers, e);
}

int model_embed(const struct model *m, const struct dataset *d, bool mean, int workers, real *const *layer,
                struct err *e) {
    struct work w = { .m = m, .layer = layer, .mean = mean };
    return embed(&w, d, workers, e);
}
