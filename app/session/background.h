/* Background work: threads that do for the screens what takes longer than a frame (rows of the history, a
 * run's page, a model's shape, writing a file), so that no key ever waits: one for lessons, one for models
 * and files, one for the history, each in the order in which it was asked.  What is to be computed they leave
 * to the jobs' crew.
 *
 * A piece of work is two functions and a context that both take: the first runs on such a thread, the second
 * on the screens' once the first is over.  The context belongs to the background while it waits and works,
 * then to whoever takes it. */
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

/* What work is done with: the history, the jobs, and what one lane alone touches while there is a background.
 * All but the caches is borrowed. */
struct workroom {
    struct store *store;
    struct jobs *jobs;
    const struct session_verbs *verbs; /* what knows the command line */
    struct sweeping *sweeping;         /* LANE_SCREENS, as the caches */
    struct learning *learning;         /* LANE_LESSONS */
    struct result_cache tasks;
    struct run_keys keys;
    struct row_extras extras;
};
void workroom_release(struct workroom *room);

/* Work that is done one piece after the other.  A lesson's step trains and measures for seconds, and so long
 * may a model or a file take, so these have threads of their own and the screens' lists and pages do not wait
 * for them. */
enum work_lane { LANE_SCREENS, LANE_FILES, LANE_LESSONS, LANES };

struct background_work;
struct work_kind {
    enum work_lane lane;
    int (*work)(struct background_work *w); /* on the lane's thread; not 0: it failed, as e says */
    /* On the screens' thread, also after a failure; may be NULL. */
    void (*done)(struct session *s, struct background_work *w);
    void (*drop)(struct background_work *w); /* frees what was made and not taken; may be NULL */
    int what;                     /* as its functions have it */
    bool once;                    /* what is asked for again while it waits is done once */
    bool fills;                   /* what it reads fills the screen that is shown */
    bool alone;                   /* needs no runs; without it nothing is done where there are none */
};
/* The context. */
struct background_work {
    const struct work_kind *kind;
    struct background_work *next;
    struct workroom *room; /* while it works, with its store */
    struct store *store;
    struct err e;
    /* what it is about, owned */
    int64_t *run;
    int runs;
    char *text;
    struct run_config config;
    /* as the kind has them */
    int64_t number;
    int count;
    bool flag;
    void *made;
    /* how it went */
    bool failed;
    enum say say;
    char message[900]; /* to be shown, how it failed among them; "": none */
    int64_t ms;        /* what it took */
};
/* Returns a context with copies of the runs and the text (may be NULL), else zero; work_free. */
struct background_work *work_new(const struct work_kind *kind, const int64_t *run, int runs,
                                 const char *text);
void work_free(struct background_work *w);
/* Frees what was made, where that is one block. */
void work_drop(struct background_work *w);
void work_say(struct background_work *w, enum say how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* `wake` is called from a background thread when a piece of work is over. */
struct background *background_new(struct workroom *room, void (*wake)(void *), void *self);
void background_free(struct background *d);
/* Takes the context. */
void background_do(struct background *d, struct background_work *w);
/* The same of work that is about these runs and this text alone. */
void background_ask(struct background *d, const struct work_kind *kind, const int64_t *run, int runs,
                    const char *text);
/* Pieces of work taken since it was made. */
int64_t background_orders(struct background *d);
/* Returns a piece of work that is over, or NULL; work_free. */
struct background_work *background_take(struct background *d);

#endif
