#include "core/analysis/blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct round {
    void (*work)(void *self, int block);
    void *self;
    int count;
    atomic_int next;
};

static void *take(void *argument) {
    struct round *r = argument;
    for (int block; (block = atomic_fetch_add(&r->next, 1)) < r->count;) r->work(r->self, block);
    return NULL;
}

void blocks_run(int workers, int count, void (*work)(void *self, int block), void *self) {
    pthread_t thread[BLOCKS_WORKERS];
    struct round r = { .work = work, .self = self, .count = count };
    int started = 0;
    atomic_init(&r.next, 0);
    if (workers > BLOCKS_WORKERS) workers = BLOCKS_WORKERS;
    if (workers > count) workers = count;
    while (started < workers - 1 && !pthread_create(&thread[started], NULL, take, &r)) started++;
    take(&r);
    for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
}
