#include "core/analysis/states.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/train/batch.h"
#include "core/train/pool.h"
#include "core/train/predictor.h"

enum { BATCH_ROWS = 16 };

void states_release(struct states *s) {
    free(s->value);
    free(s->logits);
    *s = (struct states){ 0 };
}

const real *states_layer(const struct states *s, int layer) {
    BUG_IF(layer < 0 || layer >= s->layers);
    return s->value + (size_t)layer * (size_t)s->rows * (size_t)s->width;
}

/* A batch on its way through the layers. */
struct pass {
    struct states *s;
    struct tape *tape;
    const struct batch *batch;
    int first; /* the batch's first row in the states */
    enum pooling pool;
};

static void keep_layer(void *self, int layer, node output) {
    struct pass *p = self;
    const struct states *s = p->s;
    const real *v = tape_value(p->tape, output);
    size_t d = (size_t)s->width;
    for (int r = 0; r < p->batch->rows; r++) {
        size_t begin = (size_t)p->batch->start[r], end = (size_t)p->batch->start[r + 1];
        real *to = s->value + ((size_t)layer * (size_t)s->rows + (size_t)(p->first + r)) * d;
        if (p->pool == POOL_CLS) {
            memcpy(to, v + begin * d, d * sizeof *to);
            continue;
        }
        for (size_t i = 0; i < d; i++) {
            double sum = 0;
            for (size_t t = begin; t < end; t++) sum += (double)v[t * d + i];
            to[i] = (real)(sum / (double)(end - begin));
        }
    }
}

static int make(struct states *s, const struct model *m, int n, int outputs, struct err *e) {
    *s = (struct states){ .rows = n, .layers = m->arch.encoder_layers + 1, .width = m->arch.width,
                          .outputs = outputs };
    size_t size;
    bool fits = mem_mul((size_t)s->layers * (size_t)s->width, (size_t)n, &size);
    s->value = fits ? mem_try(size, sizeof *s->value) : NULL;
    s->logits = outputs ? mem_try((size_t)n * (size_t)outputs, sizeof *s->logits) : NULL;
    if (s->value && (s->logits || !outputs)) return 0;
    states_release(s);
    return err_set(e, ERR_SYSTEM, "no memory for the vectors of %d rows", n);
}

/* The first row with a number that is not finite, or -1. */
static int bad_row(const struct states *s) {
    size_t all = (size_t)s->layers * (size_t)s->rows * (size_t)s->width;
    for (size_t i = 0; i < all; i++)
        if (!isfinite((double)s->value[i])) return (int)(i / (size_t)s->width % (size_t)s->rows);
    return -1;
}

static int run(struct states *s, const struct model *m, const struct predictor *p, const struct dataset *d,
               const uint32_t *row, int n, enum pooling pool, struct err *e) {
    int rc = make(s, m, n, p ? p->plan->classes : 0, e);
    if (rc) return rc;
    struct worker w;
    worker_init(&w, 0);
    struct attach *a = p ? attach_new(p->plan, m) : NULL;
    for (int first = 0; first < n; first += BATCH_ROWS) {
        int count = n - first < BATCH_ROWS ? n - first : BATCH_ROWS;
        struct batch b;
        struct forward f;
        tape_reset(w.tape, false, 0, 0);
        batch_pack(&b, w.arena, d, row + first, count, 0);
        forward_init(&f, w.tape, m, &b, p ? attach_begin(a, w.tape, p->params, p->made, NULL) : NULL);
        struct pass pass = { s, w.tape, &b, first, pool };
        f.layer_done = keep_layer;
        f.layer_self = &pass;
        node encoded = forward_encode(&f);
        if (!p) continue;
        const real *v = tape_value(w.tape, attach_head(a, &f, encoded, 0));
        for (int i = 0; i < count * s->outputs; i++) s->logits[first * s->outputs + i] = (double)v[i];
    }
    if (a) attach_free(a);
    worker_release(&w);
    int bad = bad_row(s);
    if (bad < 0) return 0;
    rc = err_set(e, ERR_FAILED, "%s, line %zu: a vector of this row is not finite", d->path,
                 d->row[row[bad]].line);
    states_release(s);
    return rc;
}

int states_of_model(struct states *s, const struct model *m, const struct dataset *d,
                    const uint32_t *row, int n, enum pooling pool, struct err *e) {
    return run(s, m, NULL, d, row, n, pool, e);
}

int states_of_run(struct states *s, const struct predictor *p, const struct dataset *d,
                  const uint32_t *row, int n, enum pooling pool, struct err *e) {
    return run(s, p->m, p, d, row, n, pool, e);
}
