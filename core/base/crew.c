#include "core/base/crew.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

/* The kinds of work, each with the time it has had, by its share: the one that had less is next. */
enum { WAITED, STANDING, KINDS };
static const double SHARE[KINDS] = { 3, 1 };
static const double SAVED = 0.05; /* what a kind that asked for nothing may catch up, in such seconds */

/* Work that a caller waits for. */
struct round {
    const struct crew_work *work;
    struct round *next;
    int units, given, in_hand;
    int done;          /* units of all rounds */
    bool turning;      /* somebody makes the next round */
    bool given_up, over;
    pthread_cond_t news; /* for the caller */
};

struct crew {
    int width;
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct round *first; /* in turn */
    struct crew_source source;
    double had[KINDS];
    uint64_t generation; /* grows when there may be something to do */
    int idle;
    bool closing;
};

struct thread_start {
    struct crew *crew;
    int index;
};

/* The crew that this thread is a worker of, and which. */
static __thread struct thread_start crew_own;

/* ---- under the lock ---- */

static void wake(struct crew *c, int workers) {
    c->generation++;
    for (int i = 0; i < workers && i < c->idle; i++) pthread_cond_signal(&c->work);
}

/* A unit of the first caller that has one, who goes to the end. */
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

/* What the worker is to do: KINDS for nothing. */
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

/* A unit is done; after a round's last one, the worker makes the next. */
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
    if (r->units > 1) wake(c, r->units - 1); /* the first unit is this worker's */
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
        if (pthread_create(&c->thread[i], NULL, worker_main, start)) BUG("no thread for worker %d", i);
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

/* ---- from outside ---- */

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

/* Asks whether to go on; with the lock, which it leaves meanwhile. */
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
