/* The desk: a thread that fetches for the screen what takes longer than a frame (rows of
 * the history, a run's page, a model's shape, writing a file), so that no key ever waits.  What is
 * to be computed it leaves to the jobs' crew.
 *
 * The screen's thread asks and, when woken, takes the answers; each is owned by the taker. */
#ifndef APP_SESSION_BACKGROUND_H
#define APP_SESSION_BACKGROUND_H

#include "app/history/task_results.h"
#include "app/jobs/jobs.h"
#include "core/model/arch.h"
#include "store/store.h"
#include "views/ui.h"

struct desk;

/* `wake` is called from the desk's thread when an answer is ready. */
struct desk *desk_new(struct store *s, struct jobs *j, void (*wake)(void *), void *self);
void desk_free(struct desk *d);

enum desk_kind {
    DESK_RUNS,    /* rows of the history, or of the trash; text: the filter that tells which fit */
    DESK_DETAIL,  /* one run's page */
    DESK_SERIES,  /* one run's series, from the store */
    DESK_CLONE,   /* one run's config */
    DESK_AGAIN,   /* resume, or train the same config anew; answers with a message */
    DESK_RESUME,  /* resume, and nothing else; answers with a message */
    DESK_STOP,    /* ask the process that trains the run to stop it; answers with a message */
    DESK_TRASH, DESK_RESTORE, /* text: the key that takes it back */
    DESK_EXPORT,  /* text: csv, json, hf; answers with a message */
    DESK_SOURCE,  /* a config's model and rows: shape, classes, numbers of rows */
    DESK_MACHINE, /* kernel and GF/s of a core */
};

struct desk_order {
    enum desk_kind kind;
    int64_t *run; /* copied */
    int runs;
    bool trash;
    bool by_task;     /* DESK_RUNS: with what each task came to */
    const char *text; /* copied */
    const struct run_config *config; /* DESK_SOURCE; copied */
    bool taken;       /* DESK_SOURCE: the config is in use already, only what is found is news */
};
void desk_ask(struct desk *d, const struct desk_order *o);
/* Orders taken since the desk was made. */
int64_t desk_orders(struct desk *d);

/* The rows of Runs: run_row points into `stored`. */
struct desk_runs {
    bool trash;
    char *filter;    /* as it was asked for */
    char error[900]; /* why it cannot be read; "": it can */
    struct store_runs stored;
    struct run_row *row;
    int rows;
    struct task_results *results; /* of each row; NULL: not asked for */
    struct task_row **task;
    char **started; /* local times */
};

struct desk_detail {
    struct detail_view view; /* pointers below are its memory */
    struct store_run stored;
    struct detail_pair *pair;
    int pairs;
    size_t pair_room;
    char **line; /* of the rows' reports */
    char **text;
    int texts;
    struct detail_eval *eval;
    struct run_series *series;
    struct task_results results;
    struct task_row *task;
    char started[32];
};

struct desk_source {
    bool ok;
    struct arch arch;
    struct run_config config; /* as asked */
    bool taken;
    char *model, *task;       /* names to show */
    int classes, outputs[RUN_TASKS]; /* outputs: of several tasks, each one's */
    bool texts;            /* source and target texts */
    size_t train_rows, dev_rows;
};

struct desk_answer {
    struct desk_answer *next;
    enum desk_kind kind;
    enum say say;
    char message[900];     /* "" none */
    struct desk_runs *runs;
    struct desk_detail *detail;
    struct run_series *series; /* DESK_SERIES; NULL where it could not be read */
    struct desk_source *source;
    struct run_config *config; /* DESK_CLONE */
    int64_t *run;              /* DESK_TRASH, DESK_RESTORE: what was moved */
    int moved;
    double gflops;
};
/* NULL when there is none.  desk_answer_free frees what was not taken (set to NULL). */
struct desk_answer *desk_take(struct desk *d);
void desk_answer_free(struct desk_answer *a);

/* For parts that were taken out of an answer; NULL is no work. */
void desk_runs_free(struct desk_runs *r);
void desk_detail_free(struct desk_detail *d);
void desk_source_free(struct desk_source *s);

#endif
