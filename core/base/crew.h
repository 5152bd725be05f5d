/* The compute threads of the process: a crew of W workers.  All computation is submitted to the crew as
 * numbered units, so that W threads work however much is requested concurrently, and no other thread
 * computes.
 *
 * Which worker runs a unit, and when, is not deterministic; the result of a unit must not depend on it, so
 * that any number of workers produces the same bits.
 *
 * There are two kinds of work: requests with a waiting caller (crew_do) and background work (crew_source:
 * training runs).  Requests have priority as soon as a worker is free; under constant load they get three
 * quarters of the workers' time and the source the rest, measured by the clock, not by count. */
#ifndef CORE_BASE_CREW_H
#define CORE_BASE_CREW_H

#include <stdbool.h>

enum { CREW_MOST = 64 };

struct crew;

/* Background work. */
struct crew_source {
    void *self;
    /* Returns whether worker `worker` has something to do; it then calls `work`.  Called by one worker at a
     * time; must neither compute nor call the crew. */
    bool (*take)(void *self, int worker);
    void (*work)(void *self, int worker);
};

/* Starts `workers` threads, clamped to 1 … CREW_MOST.  `source` (NULL: none) is copied and queried after each
 * finished unit and after crew_wake. */
struct crew *crew_new(int workers, const struct crew_source *source);
/* Finishes the units in progress and joins the threads; nobody may be waiting in crew_do.  NULL is
 * ignored. */
void crew_free(struct crew *c);
/* Reports that the source may have something to do. */
void crew_wake(struct crew *c);
/* Returns the number of workers, which are numbered from 0.  NULL: 1, the calling thread. */
int crew_width(const struct crew *c);

/* Work in rounds of units. */
struct crew_work {
    void *self;
    int units; /* of the first round */
    /* Computes unit `index`, from 0; units run in any order, each exactly once. */
    void (*unit)(void *self, int index, int worker);
    /* Called after the last unit of a round, by one thread: returns the number of units of the next round, 0
     * for none.  NULL: there is a single round. */
    int (*next)(void *self);
    /* Called occasionally on the waiting thread with the number of finished units; false cancels the units
     * that have not started.  NULL: never cancels. */
    bool (*watch)(void *self, int done);
};
/* Returns when all units are finished, or all started units after `watch` canceled the rest (false).  With c
 * NULL the calling thread runs the units in order as worker 0.  Within a unit of the same crew the work runs
 * immediately on that worker. */
bool crew_do(struct crew *c, const struct crew_work *w);
/* Runs one call as a unit. */
void crew_call(struct crew *c, void (*call)(void *self), void *self);

#endif
