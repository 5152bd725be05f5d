#include "core/base/crew.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

/* The kinds of work, each with its processor time weighted by its share: the smaller total is served next. */
enum { WAITED, STANDING, KINDS };
static const double SHARE[KINDS] = { 3, 1 };
static const double SAVED = 0.05; /* how far an idle kind may fall behind, in such seconds */

/* Work for which a caller waits. */
struct round {
    const struct crew_work *work;
    struct round *next;
    int units, given, in_hand;
    int done;          /* units of all rounds */
    bool turning;      /* a thread is preparing the next round */
    bool given_up, over;
    pthread_cond_t news; /* for the caller */
};

struct crew {
    int width;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct round *first; /* in order of arrival */
    struct crew_source source;
    double had[KINDS];
    uint64_t generation; /* incremented when there may be new work */
    int idle;
    bool closing;
};

struct thread_start {
    struct crew *crew;
    int index;
};

/* The crew of which this thread is a worker, and its index. */
static __thread struct thread_start crew_own;

/* ---- under the lock ---- */

static void wake(struct crew *c, int workers) {
    c->generation++;
    for (int i = 0; i < workers && i < c->idle; i++) pthread_cond_signal(&c->work);
}

/* Returns a unit of the first caller that has one; that caller moves to the end of the queue. */
static struct round *take_waited(struct crew *c, int *index) {
    struct round **at = &c->first, *found;
    while (*at && (*at)->given == (*at)->units) at = &(*at)->next;
    if (!(found = *at)) return NULL;
    *at = found->next;
    while (*at) at = &(*at)->next;
    *at = found;
    found->next = NULL;
    found->in_hand++;
    *index = found->given++;
    return found;
}

/* Selects the kind of work for the worker; KINDS: none. */
static int crew_find(struct crew *c, int worker, struct round **round, int *index) {
    int first = c->had[WAITED] <= c->had[STANDING] ? WAITED : STANDING;
    for (int i = 0; i < KINDS; i++) {
        int kind = i ? !first : first;
        bool found = kind == WAITED ? (*round = take_waited(c, index)) != NULL
                                    : c->source.take && c->source.take(c->source.self, worker);
        if (!found) continue;
        double *other = &c->had[!kind], least = c->had[kind] - SAVED;
        if (*other < least) *other = least;
        return kind;
    }
    return KINDS;
}

/* Counts a finished unit; after the last one of a round the worker prepares the next round. */
static void end_unit(struct crew *c, struct round *r) {
    const struct crew_work *w = r->work;
    r->in_hand--;
    r->done++;
    if (r->given < r->units || r->in_hand) {
        if (w->watch) pthread_cond_signal(&r->news);
        return;
    }
    int units = 0;
    if (w->next && !r->given_up) {
        r->turning = true;
        pthread_mutex_unlock(&c->lock);
        units = w->next(w->self);
        pthread_mutex_lock(&c->lock);
        r->turning = false;
    }
    r->units = r->given_up ? 0 : units;
    r->given = 0;
    r->over = !r->units;
    if (r->units > 1) wake(c, r->units - 1); /* this worker takes the first unit itself */
    if (r->over || w->watch) pthread_cond_signal(&r->news);
}

/* ---- workers ---- */

static void *worker_main(void *argument) {
    crew_own = *(struct thread_start *)argument;
    free(argument);
    struct crew *c = crew_own.crew;
    pthread_mutex_lock(&c->lock);
    while (!c->closing) {
        struct round *r;
        int index, kind;
        uint64_t seen = c->generation;
        if ((kind = crew_find(c, crew_own.index, &r, &index)) == KINDS) {
            c->idle++;
            while (c->generation == seen && !c->closing) pthread_cond_wait(&c->work, &c->lock);
            c->idle--;
            continue;
        }
        pthread_mutex_unlock(&c->lock);
        double began = clock_seconds();
        if (kind == WAITED) r->work->unit(r->work->self, index, crew_own.index);
        else c->source.work(c->source.self, crew_own.index);
        double took = clock_seconds() - began;
        pthread_mutex_lock(&c->lock);
        c->had[kind] += took / SHARE[kind];
        if (kind == WAITED) end_unit(c, r);
        else wake(c, c->width);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

struct crew *crew_new(int workers, const struct crew_source *source) {
    struct crew *c = xcalloc(1, sizeof *c);
    c->width = workers < 1 ? 1 : workers > CREW_MOST ? CREW_MOST : workers;
    c->thread = xcalloc((size_t)c->width, sizeof *c->thread);
    if (source) c->source = *source;
    pthread_mutex_init(&c->lock, NULL);
    clock_cond_init(&c->work);
    for (int i = 0; i < c->width; i++) {
        struct thread_start *start = xmalloc(sizeof *start);
        *start = (struct thread_start){ c, i };
        if (pthread_create(&c->thread[i], NULL, worker_main, start)) BUG(
            "worker thread %d could not be created", i);
    }
    return c;
}

void crew_free(struct crew *c) {
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    BUG_IF(c->first);
    c->closing = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->width; i++) pthread_join(c->thread[i], NULL);
    free(c->thread);
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->work);
    free(c);
}

void crew_wake(struct crew *c) {
    pthread_mutex_lock(&c->lock);
    wake(c, c->width);
    pthread_mutex_unlock(&c->lock);
}

int crew_width(const struct crew *c) { return c ? c->width : 1; }

/* ---- interface ---- */

static bool do_here(const struct crew_work *w, int worker) {
    int done = 0;
    for (int units = w->units; units > 0; units = w->next ? w->next(w->self) : 0)
        for (int i = 0; i < units; i++) {
            if (done && w->watch && !w->watch(w->self, done)) return false;
            w->unit(w->self, i, worker);
            done++;
        }
    return true;
}

static void remove_round(struct crew *c, struct round *r) {
    struct round **at = &c->first;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
}

/* Asks whether to continue.  Called with the lock, which is released meanwhile. */
static void crew_ask(struct crew *c, struct round *r, int done) {
    pthread_mutex_unlock(&c->lock);
    bool on = r->work->watch(r->work->self, done);
    pthread_mutex_lock(&c->lock);
    if (on || r->over) return;
    r->given_up = true;
    r->units = r->given;
    r->over = !r->in_hand && !r->turning;
}

bool crew_do(struct crew *c, const struct crew_work *w) {
    if (w->units < 1) return true;
    if (!c || crew_own.crew == c) return do_here(w, c ? crew_own.index : 0);
    struct round r = { .work = w, .units = w->units };
    int told = 0;
    clock_cond_init(&r.news);
    pthread_mutex_lock(&c->lock);
    struct round **end = &c->first;
    while (*end) end = &(*end)->next;
    *end = &r;
    wake(c, r.units);
    while (!r.over) {
        if (!w->watch || r.given_up || r.done == told) {
            pthread_cond_wait(&r.news, &c->lock);
            continue;
        }
        told = r.done;
        crew_ask(c, &r, told);
    }
    remove_round(c, &r);
    pthread_mutex_unlock(&c->lock);
    pthread_cond_destroy(&r.news);
    return !r.given_up;
}

struct single_call {
    void (*call)(void *self);
    void *self;
};

static void call_unit(void *self, int index, int worker) {
    const struct single_call *k = self;
    (void)index;
    (void)worker;
    k->call(k->self);
}

void crew_call(struct crew *c, void (*call)(void *self), void *self) {
    struct single_call k = { call, self };
    crew_do(c, &(struct crew_work){ .self = &k, .units = 1, .unit = call_unit });
}
