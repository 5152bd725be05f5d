/* Scheduler of training runs: the workers of a crew, each with an arena and a tape, process units of all runs
 * in turn. A run may be limited to fewer workers. The crew is shared with all other computations of the
 * process (core/base/crew.h). */
#ifndef CORE_TRAIN_RUN_POOL_H
#define CORE_TRAIN_RUN_POOL_H

#include "core/base/crew.h"
#include "core/train/run/run.h"

struct pool;

/* Creates a pool with a crew of `workers` workers (crew_new).  Where the address space is limited, the caller
 * has reserved their buffers (blas_reserve). */
struct pool *pool_new(int workers);
/* Waits for the units in progress and frees the crew. Runs are not freed and do not continue: stop those
 * first whose state matters. */
void pool_free(struct pool *p);
/* Returns the crew, for other work; work that is waited for precedes the runs. */
struct crew *pool_crew(struct pool *p);
/* Appends a run to the queue (workers: its maximum number of workers; 0: all). At most `pool_width` runs
 * train concurrently, the others are queued; a paused run makes room for the next. `r` must live until it has
 * finished or the pool is freed. */
void pool_add(struct pool *p, struct run *r, int workers);
/* Sets a function that is called on a worker's thread after a run has finished and left the pool. */
void pool_tell(struct pool *p, void (*tell)(void *self), void *self);
/* Wakes the workers, after run_unpause or run_stop. */
void pool_wake(struct pool *p);
/* Waits until the run has ended (finished, stopped or failed), or `seconds` have passed (< 0: no limit).
 * Returns whether it has ended. */
bool pool_wait(struct pool *p, struct run *r, double seconds);
int pool_width(const struct pool *p); /* number of workers */

/* The resources of a worker, for core/train only. */
struct worker {
    int index;
    struct arena *arena;
    struct tape *tape;
    real *grads;       /* private gradient buffer, sized for the largest run */
    size_t grads_room; /* reals */
};
void worker_init(struct worker *w, int index);
void worker_release(struct worker *w);

#endif
