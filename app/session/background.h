/* Background work: threads for work that takes longer than a frame (run lists, run pages, reading a model's
 * shape, writing files), so that no key ever waits: one for lessons, one for models and files, one for the
 * database, one for Talk, each in order of request.  Computation is left to the jobs' crew.
 *
 * A piece of work is two functions and a context passed to both: the first runs on a background thread, the
 * second then on the screen's thread.  The background owns the context while it waits and works, then the
 * caller that takes it. */
#ifndef APP_SESSION_BACKGROUND_H
#define APP_SESSION_BACKGROUND_H

#include "app/jobs/jobs.h"
#include "app/session/result_cache.h"
#include "app/session/row_extras.h"
#include "app/session/run_keys.h"
#include "store/store.h"
#include "views/ui.h"

struct background;
struct session;

/* The resources of work: the database, the jobs, and the state that only one lane accesses while the
 * background exists. All except the caches is borrowed. */
struct workroom {
    struct store *store;
    struct jobs *jobs;
    const struct session_verbs *verbs; /* access to the command line */
    struct sweeping *sweeping;         /* LANE_SCREENS, like the caches */
    struct learning *learning;         /* LANE_LESSONS */
    struct result_cache tasks;
    struct run_keys keys;
    struct row_extras extras;
    _Atomic bool leaving; /* the program ends: long work gives up */
};
void workroom_release(struct workroom *room);

/* Lanes, each processing one piece of work at a time.  The steps of lessons, reading models and writing files, and
 * waiting for answers may take seconds, so they have threads of their own and do not delay lists and pages. */
enum work_lane { LANE_SCREENS, LANE_FILES, LANE_LESSONS, LANE_TALK, LANES };

struct background_work;
struct work_kind {
    enum work_lane lane;
    int (*work)(struct background_work *w); /* on the lane's thread; not 0: it failed with e */
    /* On the screen's thread, also after a failure; may be NULL. */
    void (*done)(struct session *s, struct background_work *w);
    void (*drop)(struct background_work *w); /* frees a result that was not taken; may be NULL */
    int what;                     /* parameter of its functions */
    bool once;                    /* repeated requests are merged while it waits */
    bool fills;                   /* its result fills the current screen */
    bool alone;                   /* works without runs; otherwise skipped when there are none */
};
/* The context of a piece of work. */
struct background_work {
    const struct work_kind *kind;
    struct background_work *next;
    struct workroom *room; /* valid while it works, with its store */
    struct store *store;
    struct err e;
    /* subject of the work, owned */
    int64_t *run;
    int runs;
    char *text;
    struct run_config config;
    /* meaning depends on the kind */
    int64_t number;
    int count;
    bool flag;
    void *made;
    /* result */
    bool failed;
    enum say say;
    char message[900]; /* shown to the user, including a failure; "": none */
    int64_t ms;        /* duration */
};
/* Returns a context with copies of the runs and the text (may be NULL), otherwise zeroed; release with
 * work_free. */
struct background_work *work_new(const struct work_kind *kind, const int64_t *run, int runs,
                                 const char *text);
void work_free(struct background_work *w);
/* Frees the result, if it is a single block. */
void work_drop(struct background_work *w);
void work_say(struct background_work *w, enum say how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Starts the threads.  `wake` is called from a background thread when a piece of work has ended. */
struct background *background_new(struct workroom *room, void (*wake)(void *), void *self);
void background_free(struct background *d);
/* Queues the work and takes ownership of the context. */
void background_do(struct background *d, struct background_work *w);
/* Queues work defined by these runs and this text only. */
void background_ask(struct background *d, const struct work_kind *kind, const int64_t *run, int runs,
                    const char *text);
/* Returns the number of pieces of work queued since the start. */
int64_t background_orders(struct background *d);
/* Returns a piece of work that has ended, or NULL; release with work_free. */
struct background_work *background_take(struct background *d);

#endif
