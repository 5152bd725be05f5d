/* The threads of the process that compute: a crew of W workers.  Whatever computes gives its work to the crew
 * in numbered units, so that W threads are at work however much is asked for at once, and nothing else has a
 * thread for computing.
 *
 * Which worker takes a unit, and when, is chance; what a unit computes must not depend on it, so that any
 * number of workers gives the same bits.
 *
 * There are two kinds of work: what somebody waits for (crew_do), and what goes on by itself (crew_source:
 * runs that train).  What is waited for comes first, as soon as a worker is free; where it has units all the
 * time it gets three quarters of the workers' time and the source the rest, by the clock, not by count. */
#ifndef CORE_BASE_CREW_H
#define CORE_BASE_CREW_H

#include <stdbool.h>

enum { CREW_MOST = 64 };

struct crew;

/* Work that goes on by itself. */
struct crew_source {
    void *self;
    /* Whether worker `worker` has something to do; it then calls `work`.  Workers ask one at a time; not the
     * place to compute, nor to call the crew. */
    bool (*take)(void *self, int worker);
    void (*work)(void *self, int worker);
};

/* `workers` is taken into 1 … CREW_MOST.  `source` is copied and asked from now on, each time that something
 * was done and after crew_wake; NULL: none. */
struct crew *crew_new(int workers, const struct crew_source *source);
/* Waits for the units in hand and joins the threads; nobody may wait in crew_do.  NULL is no work. */
void crew_free(struct crew *c);
/* The source may have something to do. */
void crew_wake(struct crew *c);
/* Workers are numbered 0 … width-1.  NULL: 1, the thread that calls. */
int crew_width(const struct crew *c);

/* Work in rounds of units. */
struct crew_work {
    void *self;
    int units; /* of the first round */
    /* Does one unit, of number 0 …, in any order, each once. */
    void (*unit)(void *self, int index, int worker);
    /* After the last unit of a round, alone: the number of units of the next round, 0 for none.  NULL: there
     * is one round. */
    int (*next)(void *self);
    /* Called on the thread that waits, now and then, with the number of units done; false: what is not begun
     * is left.  NULL: everything is done. */
    bool (*watch)(void *self, int done);
};
/* Returns when all is done, or what was begun when `watch` has given the rest up (false).  c NULL: on the
 * thread that calls, unit by unit, as worker 0.  Also from within a unit of the same crew: there and then. */
bool crew_do(struct crew *c, const struct crew_work *w);
/* One unit that is a call. */
void crew_call(struct crew *c, void (*call)(void *self), void *self);

#endif
