#include "core/method/packing.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

struct packing {
    const struct model *m;
    const real *params, *generated;
    int count;
    int *tensor;             /* those that are packed, numbered as in packing_of */
    struct packed **of;      /* tensors + generated; made on first use */
    pthread_mutex_t lock;
    pthread_cond_t all;
    int next, done;          /* under the lock: of `tensor` */
    size_t failed;           /* under the lock: a block that could not be allocated, in bytes; 0: none */
};

/* Returns the model's tensor that tensor i replaces, or -1. */
static int replaced_by(const struct plan *p, int i) {
    if (i >= p->tensors) return p->generated_tensor[i - p->tensors].tensor;
    return p->tensor[i].kind == PLAN_MODEL ? p->tensor[i].tensor : -1;
}

/* Returns 0, or the size of the block that could not be allocated. */
static size_t pack_tensor(const struct plan *p, int i) {
    const struct packing *k = p->packing;
    const struct tensor_info *t = &k->m->tensor[replaced_by(p, i)];
    const real *w = i < p->tensors ? k->params + p->tensor[i].offset
                                   : k->generated + p->generated_tensor[i - p->tensors].offset;
    size_t failed = 0;
    if (!k->of[i]) k->of[i] = packed_trained_new(t->rows, t->cols, &failed);
    if (k->of[i]) packed_fill(k->of[i], w);
    return failed;
}

static struct packing *packing_new(const struct plan *p, const struct model *m) {
    int all = p->tensors + p->generated;
    struct packing *k = xcalloc(1, sizeof *k);
    k->m = m;
    k->tensor = xcalloc((size_t)all + 1, sizeof *k->tensor);
    k->of = xcalloc((size_t)all + 1, sizeof *k->of);
    pthread_mutex_init(&k->lock, NULL);
    clock_cond_init(&k->all);
    for (int i = 0; i < all; i++) {
        int tensor = replaced_by(p, i);
        if (tensor < 0 || !arch_is_map(&m->arch, m->tensor[tensor].role)) continue;
        k->tensor[k->count++] = i;
    }
    return k;
}

void packing_free(struct packing *k) {
    if (!k) return;
    for (int i = 0; i < k->count; i++) packed_free(k->of[k->tensor[i]]);
    pthread_mutex_destroy(&k->lock);
    pthread_cond_destroy(&k->all);
    free(k->tensor);
    free(k->of);
    free(k);
}

void packing_set(struct plan *p, const struct model *m, const real *params, const real *generated) {
    if (p->precision != PRECISION_BF16) return;
    if (!p->packing) p->packing = packing_new(p, m);
    p->packing->params = params;
    p->packing->generated = generated;
    packing_changed(p);
}

void packing_changed(const struct plan *p) {
    struct packing *k = p->packing;
    if (!k) return;
    pthread_mutex_lock(&k->lock);
    k->next = k->done = 0;
    k->failed = 0;
    pthread_mutex_unlock(&k->lock);
}

size_t packing_bytes(const struct plan *p) {
    size_t bytes = 0;
    for (int i = 0; p->packing && i < p->packing->count; i++)
        if (p->packing->of[p->packing->tensor[i]])
            bytes += packed_bytes(p->packing->of[p->packing->tensor[i]]);
    return bytes;
}

bool packing_ready(const struct plan *p, const real *params, const real *generated) {
    struct packing *k = p->packing;
    if (!k || p->precision != PRECISION_BF16) return false;
    if (k->params != params || k->generated != generated) return false;
    pthread_mutex_lock(&k->lock);
    while (k->next < k->count) {
        int i = k->tensor[k->next++];
        pthread_mutex_unlock(&k->lock);
        size_t failed = pack_tensor(p, i);
        pthread_mutex_lock(&k->lock);
        if (failed) k->failed = failed;
        if (++k->done == k->count) pthread_cond_broadcast(&k->all);
    }
    while (k->done < k->count) pthread_cond_wait(&k->all, &k->lock);
    size_t failed = k->failed;
    pthread_mutex_unlock(&k->lock);
    if (failed) mem_lack(failed);
    return true;
}

const struct packed *packing_of(const struct plan *p, int i) { return p->packing->of[i]; }
