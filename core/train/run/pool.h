/* The runs that train: the workers of a crew, each with its arena and tape, take units of all runs in turn. A
 * run may be limited to fewer workers than the crew has.  The crew is the process's: whatever else computes
 * gives its work to it too (core/base/crew.h). */
#ifndef CORE_TRAIN_RUN_POOL_H
#define CORE_TRAIN_RUN_POOL_H

#include "core/base/crew.h"
#include "core/train/run/run.h"

struct pool;

/* Makes a crew of so many workers (crew_new). */
struct pool *pool_new(int workers);
/* Waits for the units in hand, and frees the crew.  Runs are not freed, and go no further:
 * stop those first whose state matters. */
void pool_free(struct pool *p);
/* For other work; what is waited for comes before the runs. */
struct crew *pool_crew(struct pool *p);
/* Adds a run (its limit of workers; 0: all); it starts when its turn comes.  The order of
 * adding is the queue's; at most `pool_width` runs train at once, the others are queued (a
 * paused run leaves its place to the next).  `r` must live until it is over, or the pool
 * is freed. */
void pool_add(struct pool *p, struct run *r, int workers);
/* Has `tell` called, on a worker's thread, after a run was over and left the pool. */
void pool_tell(struct pool *p, void (*tell)(void *self), void *self);
/* Wakes the workers after run_unpause and the like. */
void pool_wake(struct pool *p);
/* Waits until the run is over (finished, stopped or failed), or `seconds` passed (< 0: no
 * limit).  Returns whether it is over. */
bool pool_wait(struct pool *p, struct run *r, double seconds);
int pool_width(const struct pool *p); /* workers */

/* A worker's own things, for core/train only. */
struct worker {
    int index;
    struct arena *arena;
    struct tape *tape;
    real *grads;       /* the one private gradient buffer, grown to the largest run's */
    size_t grads_room; /* reals */
};
void worker_init(struct worker *w, int index);
void worker_release(struct worker *w);

#endif
