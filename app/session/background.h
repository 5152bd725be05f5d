/* Background work: threads that fetch for the screen what takes longer than a frame (rows of
 * the history, a run's page, a model's shape, writing a file), so that no key ever waits: one for lessons,
 * one for models and files, one for the history, each in the order in which it was asked.  What is to be
 * computed they leave to the jobs' crew.
 *
 * The screen's thread asks and, when woken, takes the answers; each is owned by the taker. */
#ifndef APP_SESSION_BACKGROUND_H
#define APP_SESSION_BACKGROUND_H

#include "app/history/task_results.h"
#include "app/history/test_results.h"
#include "app/jobs/jobs.h"
#include "app/session/beside.h"
#include "app/session/others.h"
#include "app/session/page_few.h"
#include "core/model/arch.h"
#include "store/store.h"
#include "views/ui.h"

struct background;

/* `wake` is called from a background thread when an answer is ready. */
struct background *background_new(struct store *s, struct jobs *j, void (*wake)(void *), void *self);
void background_free(struct background *d);

enum background_kind {
    BACKGROUND_RUNS, /* rows of the history, or of the trash; text: the filter that tells which fit */
    BACKGROUND_PAGE, /* one run's page */
    BACKGROUND_SERIES, /* one run's series, from the store */
    BACKGROUND_CLONE, /* one run's config */
    BACKGROUND_AGAIN, /* resume, or train the same config anew; answers with a message */
    BACKGROUND_RESEED, /* the same config with the next seed; answers with a message */
    BACKGROUND_RESUME, /* resume, and nothing else; answers with a message */
    BACKGROUND_STOP, /* ask the process that trains the run to stop it; answers with a message */
    BACKGROUND_TRASH,
    BACKGROUND_RESTORE, /* text: the key that takes it back */
    BACKGROUND_EXPORT, /* text: csv, json, markdown (points), hf; answers with a message */
    BACKGROUND_TABLE, /* these runs as a table; text: the file's name, its end says the form; answers with a
                         message */
    BACKGROUND_PNG, /* text: an SVG; name: the stem of the file that it becomes; answers with a message */
    BACKGROUND_SAVED, /* the saved filters */
    BACKGROUND_COLUMNS, /* the columns that were kept */
    BACKGROUND_KEEP_COLUMNS, /* text */
    BACKGROUND_SAVE, /* text is saved (`trash`: forgotten); answers with a message */
    BACKGROUND_PIN,
    BACKGROUND_TAGS,
    BACKGROUND_NOTE, /* kept.h; text: what was typed; answered with a message */
    BACKGROUND_NAME, /* run[0] is called `name`; text: the key that takes it back; answers with a message,
                        `was` and `name` */
    BACKGROUND_PURGE_COUNT, /* what purging these would delete: answered in `message`, and `moved` how many */
    BACKGROUND_PURGE, /* these; typed: how many; answers with a message */
    BACKGROUND_COMPARE, /* runs side by side; text: by this metric, "": what decided each; trash: on other
                           rows too */
    BACKGROUND_SWEEPS, /* the list of sweeps, and run[0]'s page (0: none) */
    BACKGROUND_SWEEP_NEW,
    BACKGROUND_SWEEP_GO,
    BACKGROUND_SWEEP_STOP,
    BACKGROUND_SWEEP_EXTEND, /* as the effects */
    BACKGROUND_SWEEP_STEP, /* what is worked on goes on */
    BACKGROUND_LESSONS,
    BACKGROUND_LESSON,
    BACKGROUND_LESSON_STEP, /* as the effects; text: of LESSON */
    BACKGROUND_LESSON_FOLLOW, /* the lesson that another petri leads, where it is */
    BACKGROUND_OTHERS, /* runs that others train, and run[0], run[1] (0: none); names from run[2] on */
    BACKGROUND_BESIDE, /* runs for Train to lay over one another */
    BACKGROUND_WHY, /* what looks wrong with a run that has just ended: a message, or nothing */
    BACKGROUND_SOURCE, /* a config's model and rows: shape, classes, numbers of rows */
    BACKGROUND_FOLDER, /* text: a folder; what is in it */
    BACKGROUND_LOOK, /* text: a file, a task's folder or a list; config: how its first line is read, or NULL;
                      * a folder that is no task is listed */
    BACKGROUND_IMPORT, /* config: its rows, read as training would read them; run[0]: handed back with the
                          answer */
    BACKGROUND_LINE, /* text: a line of the command line that trains; config: what holds where it says nothing
                      * else; its runs become jobs; answers with a message */
    BACKGROUND_START, /* config: what its method does at step 0; text: the method, handed back */
    BACKGROUND_MACHINE, /* kernel and GF/s of a core */
};

struct background_order {
    enum background_kind kind;
    int64_t *run; /* copied */
    int runs;
    bool trash;
    bool by_task;     /* BACKGROUND_RUNS: with what each task came to */
    bool disk, curve; /* BACKGROUND_RUNS: with the bytes of each run's files, with its loss in small */
    const char *text; /* copied */
    const char *name; /* BACKGROUND_NAME, _PNG; copied */
    int64_t typed;    /* BACKGROUND_PURGE */
    const struct run_config *config; /* BACKGROUND_SOURCE; copied */
    int step;         /* BACKGROUND_LESSON_STEP; its run is begun: */
    bool train;
    struct lesson_progress *progress; /* the screen's; copied */
    int64_t version;  /* BACKGROUND_OTHERS: nothing is read while the history has this one (store_version) */
    bool taken;       /* BACKGROUND_SOURCE: the config is in use already, only what is found is news */
};
struct sweeping;
struct learning;
struct learn_shelf;
struct learn_page;
struct learn_news;
struct lesson_progress;
/* What sweeps are worked on by, borrowed; before any order. */
void background_work_on(struct background *d, struct sweeping *w);
/* What knows the command line, borrowed; before any BACKGROUND_LINE. */
struct session_verbs;
void background_verbs(struct background *d, const struct session_verbs *verbs);
/* What lessons are played by, borrowed; before any order of lessons, whose thread alone touches it then. */
void background_teach(struct background *d, struct learning *l);
void background_ask(struct background *d, const struct background_order *o);
/* Orders taken since it was made. */
int64_t background_orders(struct background *d);

/* The rows of Runs: run_row points into `stored`. */
struct history_rows {
    bool trash;
    char *filter;    /* as it was asked for */
    char error[900]; /* why it cannot be read; "": it can */
    struct store_runs stored;
    struct run_row *row;
    int rows;
    struct task_results *results; /* of each row; NULL: not asked for */
    struct task_row **task;
    char **started; /* local times */
    double *curves; /* of all rows; NULL: not asked for */
    char (*keys)[65]; /* memory of the rows' evidence */
};

struct run_page {
    struct detail_view view; /* pointers below are its memory */
    struct store_run stored;
    struct detail_pair *pair;
    int pairs;
    size_t pair_room;
    char **line; /* of the rows' reports */
    char **sentence; /* of what looks wrong */
    char **text;
    int texts;
    struct detail_eval *eval;
    struct run_series *series;
    struct page_few few;
    struct task_results results;
    struct task_row *task;
    struct test_results test;
    struct detail_test *tests;
    char started[32];
};

struct source_facts {
    bool ok;                  /* the model was read */
    bool rows;                /* the rows were read */
    struct arch arch;
    struct run_config config; /* as asked */
    bool taken;
    char *model, *task;       /* names to show */
    int classes, outputs[RUN_TASKS]; /* outputs: of several tasks, each one's */
    bool texts;            /* source and target texts */
    struct config_rows_facts of[RUN_TASKS]; /* paths and classes owned */
    size_t train_rows, dev_rows;
    double tokens, targets;   /* of a train row on average, as it is cut, by some of them; 0: not known */
};

struct compared_page; /* compared.h */
struct own_folder;    /* own_data.h, as the two below */
struct own_look;
struct own_read;
struct swept_page;    /* swept.h */

struct background_answer {
    struct background_answer *next;
    enum background_kind kind;
    enum say say;
    char message[900];     /* "" none */
    int64_t ms;            /* what it took */
    struct history_rows *runs;
    struct run_page *detail;
    struct store_filters saved; /* BACKGROUND_SAVED */
    char *columns;         /* BACKGROUND_COLUMNS; "": none */
    struct beside_runs *beside; /* BACKGROUND_BESIDE; NULL where they could not be read */
    struct other_runs *others; /* BACKGROUND_OTHERS; NULL where they could not be read, or nothing is new */
    struct run_series *series; /* BACKGROUND_SERIES; NULL where it could not be read */
    struct source_facts *source;
    struct compared_page *compared; /* BACKGROUND_COMPARE; NULL where it cannot be */
    struct learn_shelf *shelf; /* BACKGROUND_LESSONS */
    struct learn_page
        *lesson; /* BACKGROUND_LESSON; NULL where it could not be read; _FOLLOW: or nothing is new */
    struct learn_news *news;   /* BACKGROUND_LESSON_STEP; NULL: none */
    struct swept_page *swept;  /* BACKGROUND_SWEEPS; NULL where it could not be read */
    int64_t sweep;             /* BACKGROUND_SWEEP_NEW: its number */
    int working;               /* BACKGROUND_SWEEP_…: sweeps that are worked on here */
    struct run_config *config; /* BACKGROUND_CLONE */
    char *method, *start;      /* BACKGROUND_START; start NULL: it could not be measured */
    struct own_folder *folder; /* BACKGROUND_FOLDER */
    struct own_look *look;     /* BACKGROUND_LOOK */
    struct own_read *read;     /* BACKGROUND_IMPORT */
    int64_t *run; /* BACKGROUND_TRASH, BACKGROUND_RESTORE, BACKGROUND_NAME: what was moved or named */
    int moved;
    uint64_t seed; /* BACKGROUND_RESEED: the seed that was found for run[0]'s config, where moved is 1 */
    char *was, *name;          /* BACKGROUND_NAME: before and now; "": none */
    double gflops;
    int workers;
};
/* NULL when there is none.  background_answer_free frees what was not taken (set to NULL). */
struct background_answer *background_take(struct background *d);
void background_answer_free(struct background_answer *a);

/* For parts that were taken out of an answer; NULL is no work. */
void history_rows_free(struct history_rows *r);
void run_page_free(struct run_page *d);
void source_facts_free(struct source_facts *s);

#endif
