#include "core/train/run/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/train/run/state.h"

struct pool_entry {
    struct run *run;
    int limit;   /* maximum number of workers; 0: all */
    int in_hand; /* units in progress */
    bool started; /* is one of the runs that train */
    bool over;
};

/* The unit of a worker. */
struct taken {
    bool tell;           /* call the listener first */
    struct pool_entry *entry; /* NULL: none */
    struct unit unit;
    bool stale;          /* release the worker's memory after its unit: it is as large as a run that left */
};

struct pool {
    struct crew *crew;
    int width;
    struct worker *worker;
    struct taken taken[CREW_MOST];
    pthread_mutex_t lock;
    pthread_cond_t over;
    struct pool_entry **entry;
    size_t entries, room;
    size_t turn; /* start of the next search */
    bool freed;  /* a run stopped training during this search */
    bool left;   /* a finished run has not been reported to the listener */
    void (*tell)(void *self);
    void *self;
};

void worker_init(struct worker *w, int index) {
    *w = (struct worker){ .index = index, .arena = arena_new() };
    w->tape = tape_new(w->arena);
}

void worker_release(struct worker *w) {
    tape_free(w->tape);
    arena_free(w->arena);
    free(w->grads);
}

/* ---- scheduling; all under the lock ---- */

static int started_runs(const struct pool *p) {
    int n = 0;
    for (size_t i = 0; i < p->entries; i++) n += p->entry[i]->started && !p->entry[i]->over;
    return n;
}

/* Releases what a worker keeps from unit to unit; it must have none in progress. */
static void release_memory(struct pool *p, int worker) {
    struct worker *w = &p->worker[worker];
    arena_drop(w->arena);
    free(w->grads);
    w->grads = NULL;
    w->grads_room = 0;
    p->taken[worker].stale = false;
}

static void remove_over(struct pool *p) {
    size_t kept = 0;
    for (size_t i = 0; i < p->entries; i++) {
        struct pool_entry *x = p->entry[i];
        if (x->over && !x->in_hand) free(x);
        else p->entry[kept++] = x;
    }
    if (kept < p->entries) {
        p->left = p->tell != NULL;
        for (int i = 0; i < p->width; i++) {
            p->taken[i].stale = true;
            if (!p->taken[i].entry) release_memory(p, i);
        }
        pthread_cond_broadcast(&p->over);
    }
    p->entries = kept;
}

/* Requests a unit from a run. */
static bool take_from(struct pool *p, struct pool_entry *x, struct unit *u) {
    if (x->over || (x->limit && x->in_hand >= x->limit)) return false;
    if (!x->started && started_runs(p) >= p->width && !run_wants_stop(x->run)) return false;
    switch (run_take(x->run, u)) {
    case RUN_TOOK:
        x->started = true;
        x->in_hand++;
        return true;
    case RUN_IDLE:
        if (!x->started) return false;
        x->started = false;
        p->freed = true;
        return false;
    case RUN_OVER:
        x->over = true;
        p->freed = true;
        return false;
    case RUN_BUSY: break;
    }
    return false;
}

/* Round-robin: each search starts after the run of the last unit. */
static struct pool_entry *search(struct pool *p, struct unit *u) {
    struct pool_entry *found = NULL;
    for (size_t i = 0; i < p->entries && !found; i++) {
        size_t at = (p->turn + i) % p->entries;
        if (!take_from(p, p->entry[at], u)) continue;
        found = p->entry[at];
        p->turn = at + 1;
    }
    remove_over(p);
    return found;
}

/* A run that the search has passed may start in place of one that stopped training. */
static struct pool_entry *find_work(struct pool *p, struct unit *u) {
    struct pool_entry *found;
    do {
        p->freed = false;
        found = search(p, u);
    } while (!found && p->freed);
    return found;
}

/* ---- callbacks of the crew ---- */

static bool take_unit(void *self, int worker) {
    struct pool *p = self;
    struct taken *h = &p->taken[worker];
    pthread_mutex_lock(&p->lock);
    h->entry = find_work(p, &h->unit);
    h->tell = p->left;
    p->left = false;
    pthread_mutex_unlock(&p->lock);
    return h->entry || h->tell;
}

/* The listener may call the pool, so it is called without the lock. */
static void pool_work(void *self, int worker) {
    struct pool *p = self;
    struct taken *h = &p->taken[worker];
    if (h->tell) p->tell(p->self);
    if (!h->entry) return;
    run_work(&h->unit, &p->worker[worker]);
    pthread_mutex_lock(&p->lock);
    h->entry->in_hand--;
    h->entry = NULL;
    if (h->stale) release_memory(p, (int)(h - p->taken));
    pthread_mutex_unlock(&p->lock);
}

/* ---- public functions ---- */

struct pool *pool_new(int workers) {
    struct err e = ERR_INIT;
    struct pool *p = xcalloc(1, sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    clock_cond_init(&p->over);
    p->width = workers < 1 ? 1 : workers > CREW_MOST ? CREW_MOST : workers;
    p->worker = xcalloc((size_t)p->width, sizeof *p->worker);
    for (int i = 0; i < p->width; i++) worker_init(&p->worker[i], i);
    if (blas_reserve(p->width, &e)) BUG("%s", e.text);
    p->crew = crew_new(p->width, &(struct crew_source){ p, take_unit, pool_work });
    return p;
}

void pool_free(struct pool *p) {
    if (!p) return;
    crew_free(p->crew);
    for (int i = 0; i < p->width; i++) worker_release(&p->worker[i]);
    for (size_t i = 0; i < p->entries; i++) free(p->entry[i]);
    free(p->entry);
    free(p->worker);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->over);
    free(p);
}

struct crew *pool_crew(struct pool *p) { return p->crew; }

void pool_add(struct pool *p, struct run *r, int workers) {
    struct pool_entry *x = xcalloc(1, sizeof *x);
    *x = (struct pool_entry){ .run = r, .limit = workers };
    pthread_mutex_lock(&p->lock);
    GROW(p->entry, p->room, p->entries + 1);
    p->entry[p->entries++] = x;
    pthread_mutex_unlock(&p->lock);
    crew_wake(p->crew);
}

void pool_tell(struct pool *p, void (*tell)(void *self), void *self) {
    pthread_mutex_lock(&p->lock);
    p->tell = tell;
    p->self = self;
    pthread_mutex_unlock(&p->lock);
}

void pool_wake(struct pool *p) { crew_wake(p->crew); }

static bool pool_is_listed(const struct pool *p, const struct run *r) {
    for (size_t i = 0; i < p->entries; i++)
        if (p->entry[i]->run == r) return true;
    return false;
}

bool pool_wait(struct pool *p, struct run *r, double seconds) {
    struct timespec until = clock_after(seconds > 0 ? seconds : 0);
    pthread_mutex_lock(&p->lock);
    bool waiting = true;
    while (waiting && pool_is_listed(p, r)) {
        if (seconds < 0) pthread_cond_wait(&p->over, &p->lock);
        else waiting = !pthread_cond_timedwait(&p->over, &p->lock, &until);
    }
    bool over = !pool_is_listed(p, r);
    pthread_mutex_unlock(&p->lock);
    return over;
}

int pool_width(const struct pool *p) { return p->width; }
