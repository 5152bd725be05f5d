/* The history: every run, its points and its files' names, in one SQLite file.
 *
 * A `struct store` is one open database.  Opened for writing it has one writer thread
 * with the process's only writing connection: points, evaluations, artifacts and states
 * go through a bounded queue and are committed in batches (1,000 rows, 250 ms, or a
 * change of state); the other changes wait until the writer has made them.  Queries use
 * a read-only connection of their own and short transactions.  Every function may be
 * called from any thread; all but the four queued ones may take milliseconds, and
 * seconds when another process holds the file.
 *
 * Beside the file PATH stand PATH-wal and PATH-shm (SQLite's), PATH-lock (held by every
 * writing transaction and checkpoint) and PATH-files/ID/, the folder of run ID, whose
 * file "lock" the process that trains the run holds: lock free means owner gone.
 *
 * Plain structs are copied in and out.  Times are UTC milliseconds, 0 for "never". */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct store;

/* ---- opening ---- */

/* Who is told that another program holds a database: once, by the thread that waits (any thread),
 * when it has waited for a second.  It may say so for itself, and must call no store.  For the whole
 * process; `say` NULL: nobody.  Returns who was told before. */
struct store_wait {
    void *self;
    void (*say)(void *self, const char *text);
};
struct store_wait store_on_wait(struct store_wait w);

enum store_mode {
    STORE_READ,  /* never makes a file; ERR_NOT_FOUND when there is none */
    STORE_WRITE, /* makes folder and file (0600) when absent */
};

/* Opens PATH.  ERR_DATABASE, the file untouched, when it is no database, another
 * program's, written by an earlier version of petri, newer than this program (a newer one that says that it
 * stays readable may be opened with STORE_READ), damaged, unreadable, busy for more than five seconds, or
 * beside a -wal or -shm that cannot be used; ERR_SYSTEM when the folder cannot be written.  Runs whose owner
 * is gone become interrupted. */
int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e);
/* Commits what is queued, gives up owned runs' locks, closes.  On failure (with the number of
 * records that could not be written or had to be left out) the store is closed as well. */
int store_close(struct store *s, struct err *e);
const char *store_path(const struct store *s);
bool store_is_readonly(const struct store *s); /* opened with STORE_READ */
/* Where a run's files go (PATH-files/ID); caller frees. */
char *store_run_folder(const struct store *s, int64_t run);

enum store_condition { STORE_OK, STORE_DISK_FULL, STORE_BUSY, STORE_BROKEN };
struct store_status {
    enum store_condition condition;
    char text[768]; /* why, when not STORE_OK: pause the runs and show it */
    size_t waiting; /* records not yet committed */
    size_t left_out; /* records that could never be written, since opening; their runs' logs say so */
    char left_out_why[768]; /* of the last of them */
};
/* The writer keeps its batch and tries again each second until the condition passes. */
void store_status(struct store *s, struct store_status *out);
/* Waits until everything queued before the call is committed and flushed to the disk.
 * While the writer cannot write: that error, at once; the records stay queued. */
int store_flush(struct store *s, struct err *e);
/* Lets blocked callers go and drops what is queued from now on (their result is
 * ERR_SYSTEM).  For leaving the program while the disk is full. */
void store_give_up(struct store *s);

/* ---- a run's life ---- */

/* As core/train/run/event.h, in the same order. */
enum store_state {
    STORE_QUEUED, STORE_RUNNING, STORE_PAUSED, STORE_FINISHED, STORE_STOPPED, STORE_FAILED,
    STORE_INTERRUPTED, STORE_STATES
};
const char *store_state_name(enum store_state state); /* "queued" … */
int store_state_by_name(const char *name);            /* -1 when unknown */
bool store_state_is_live(enum store_state state);     /* queued, running, paused */

/* One module of a method with its axis values as words.  NULL or 0: has none. */
struct store_module {
    const char *text; /* the module's own text form */
    const char *fn, *act, *read, *write, *insertion, *composition, *source, *heads, *init,
        *target;
    const char *layers; /* "all", "1", "1-6", "4-" */
    int64_t size, mid;
    double scale, dropout;
    bool has_scale;
    int64_t trained, kept;
};

/* What is frozen before step 0.  NULL strings are stored as "not known". */
struct store_new_run {
    const char *config; /* JSON, required */
    const char *method, *canonical, *method_json, *preset; /* method: required */
    const char *model, *model_folder, *model_sha256;
    const char *task, *task_folder, *train_file, *dev_file, *train_sha256, *dev_sha256;
    const char *metric; /* the one that decides "best", as in evaluations: "accuracy" */
    int direction;      /* of it: 1 higher is better, -1 lower */
    const char *split;  /* whose metric decides; NULL: "dev" */
    uint64_t seed;
    int64_t trained, kept, head, model_values; /* counts; trained and kept without the head */
    int64_t steps;      /* planned */
    double estimated_seconds;  /* of training; 0: no estimate was made */
    int64_t estimated_bytes;   /* that it needs at most; 0: no estimate was made */
    const char *version, *kernel; /* of petri; of the matrix library and processor */
    const char *regime; /* how it is learned: "single", "multi(…)" */
    int64_t parent;     /* cloned or resumed from, 0: none */
    int64_t sweep;      /* 0: none */
    const char *const *report; /* what was found in each split when the rows were read */
    int reports;
    const struct store_module *modules;
    int module_count;
    const char *note;   /* as store_note; NULL: none */
    const char *name;   /* as store_rename; NULL or "": none */
    const char *cell;   /* the experiment's cell and seed that it is trained for; NULL: none */
    const char *tag;    /* that it has from its first moment; NULL: none */
    const char *imported; /* JSON: where it came from; NULL: it is to be trained here */
};

/* The tag of runs that a lesson made: no list has them but one that asks for that tag, and "last" is none of
 * them. */
#define STORE_LESSON_TAG "lesson"
/* The tag of the runs of a few-shot run's draws, for which the same holds; a list of a sweep's or a parent's
 * runs has them too. */
#define STORE_DRAW_TAG "draw"

/* Adds a queued run, makes its folder and takes its lock, which the store holds until
 * store_disown.  *id is never used twice. */
int store_create_run(struct store *s, const struct store_new_run *n, int64_t *id, struct err *e);
/* Takes over a run whose owner is gone or done, to resume it: lock, then state queued.
 * ERR_USAGE when another process owns it or it is in the trash. */
int store_adopt_run(struct store *s, int64_t run, struct err *e);
/* After the last record of an owned run: commits and lets its lock go.  A run that is
 * still in a live state becomes interrupted. */
int store_disown(struct store *s, int64_t run, struct err *e);

/* Queued: 0, or ERR_SYSTEM after store_give_up.  A full queue blocks the caller. */

enum { STORE_STEP_VALUES = 8 };
/* One training step.  `key` from store_key.  A step that is already there (replayed
 * after a resume) stays one point; when its value differs, the new one is kept and a
 * "differs" event says so. */
struct store_step {
    int64_t run, step;
    double seconds; /* trained, monotonic, summed over all spans */
    int count;
    int key[STORE_STEP_VALUES];
    double value[STORE_STEP_VALUES]; /* NaN and infinities are kept as such */
};
int store_step(struct store *s, const struct store_step *step);

struct store_metric {
    const char *name;      /* "accuracy" */
    double value;
    const char *undefined; /* NULL, or why there is no value */
    int direction;         /* 1, -1, or 0: neither is better (majority) */
};
/* One evaluation of one split; its metrics are stored under "SPLIT.NAME". */
struct store_evaluation {
    int64_t run, step;
    const char *split; /* "dev_matched", in a run of several tasks "TASK/SPLIT"; NULL: "dev" */
    const char *rows;  /* which rows */
    bool constant, none_valid, best; /* none_valid: no answer of a text names a class or is a score */
    double seconds;
    int count;
    const struct store_metric *metric;
};
int store_evaluation(struct store *s, const struct store_evaluation *v);

/* A file that is already in its place on the disk. */
struct store_artifact {
    int64_t run, step;
    const char *kind;   /* "best", "last", "export" … */
    const char *path, *sha256;
    int64_t bytes;
};
int store_artifact(struct store *s, const struct store_artifact *a);

/* A change of state: commits at once.  The run's log has a row for each; one that is paused again
 * at the same step for the same reason has none for its try.  Also sets step, seconds and weights when
 * given. */
struct store_change {
    int64_t run, step;      /* step < 0: as it is */
    enum store_state state;
    double seconds;         /* < 0: as it is */
    const char *reason;     /* NULL: none */
    const char *weights_sha256;
    int64_t peak;           /* bytes that the run needed at most; 0: as it is */
    bool of_whole;          /* that is of the whole run, not only since it was resumed */
};
int store_change(struct store *s, const struct store_change *c);
/* Something worth keeping in the run's log. */
int store_message(struct store *s, int64_t run, int64_t step, const char *text);

/* The name of a metric of a split: "dev.accuracy", "mnli/dev_matched.loss"; of a training step,
 * split NULL: the metric's own.  Caller frees. */
char *store_name(const char *split, const char *metric);
/* The name of another metric of the same evaluation as `name`; caller frees. */
char *store_name_beside(const char *name, const char *metric);
/* Of "TASK/SPLIT.METRIC", where that is the task: METRIC; else NULL. */
const char *store_name_metric(const char *name, const char *task);
/* How many rows an evaluation says it is of: 40 of "dev 40 of 856 (seed 0)"; 0 of NULL and where no number
 * follows the split's name, as of episodes. */
int64_t store_rows_said(const char *rows);
/* The number of a point's name ("loss", "lr", …) in this store, < 0 when it was opened for reading.
 * `timing`: differs between equal runs (seconds), so a replay may change it silently. */
int store_key(struct store *s, const char *name, int direction, bool timing, struct err *e);

/* Live runs whose lock is free become interrupted; *count (may be NULL): how many. */
int store_reap(struct store *s, int *count, struct err *e);
/* Runs that were found so since this store was opened, its opening among it; returns how many, and fills in
 * `room` of them. */
size_t store_lost(struct store *s, int64_t *run, size_t room);

/* ---- requests from other processes ---- */

enum store_control { STORE_STOP, STORE_PAUSE, STORE_RESUME };
/* Leaves a request for the owner.  ERR_NOT_FOUND, or ERR_USAGE when the run is over. */
int store_request(struct store *s, int64_t run, enum store_control what, struct err *e);
struct store_request {
    int64_t run;
    enum store_control what;
};
/* Takes up to `room` requests for runs that this store owns, oldest first; each is handed
 * out once.  The owner calls it about every 250 ms.  Returns how many, or < 0. */
int store_requests(struct store *s, struct store_request *out, int room, struct err *e);

/* Returns a number that is another one after any process, this one too, has committed a change; 0 where it
 * cannot be read. That a run's owner is gone is no such change. */
int64_t store_version(struct store *s);

/* ---- trash, tags, notes ---- */

/* ERR_USAGE when one of them is live; then none is moved. */
int store_trash(struct store *s, const int64_t *runs, size_t n, struct err *e);
int store_restore(struct store *s, const int64_t *runs, size_t n, struct err *e);
struct store_paths {
    char **path; /* absolute; run folders last */
    size_t count, room;
};
void store_paths_release(struct store_paths *p);
/* Deletes runs for good.  All must be in the trash (runs NULL: all that are), and
 * `typed`, the number that the user typed, must be their number: else ERR_USAGE and
 * nothing changes.  *paths: the files and folders that the caller now deletes. */
int store_purge(struct store *s, const int64_t *runs, size_t n, int64_t typed,
                struct store_paths *paths, struct err *e);

/* Sets or takes away every tag of every run, or, on failure, none.  ERR_USAGE for an empty tag or one with a
 * comma; ERR_NOT_FOUND for a run that is not there, or one to be taken away that a run has not. */
int store_tag(struct store *s, const int64_t *runs, size_t n, const char *const *tags, size_t count, bool on,
              struct err *e);
/* Calls the run `name` ("" or NULL: nothing any more); *before, unless NULL, is what it was called ("":
 * nothing), the caller's.  A name is one to STORE_NAME_MOST bytes that cannot be taken for a number, an
 * option or "last"; several runs may have the same. */
enum { STORE_NAME_MOST = 60 };
/* Whether a run may be called so, "" too: ERR_USAGE with the reason. */
int store_check_name(const char *name, struct err *e);
int store_rename(struct store *s, int64_t run, const char *name, char **before, struct err *e);
/* Replaces the run's note; "" or NULL removes it.  Bytes are kept as they are. */
int store_note(struct store *s, int64_t run, const char *text, struct err *e);
/* Filters of the list that were saved in this history, by their text: one more (`on`), or one less. */
int store_save_filter(struct store *s, const char *filter, bool on, struct err *e);
struct store_filters {
    char **filter; /* in order of the alphabet */
    size_t count, room;
};
int store_filters(struct store *s, struct store_filters *out, struct err *e);
void store_filters_release(struct store_filters *f);
/* The columns that the list is shown with in this history, as they are typed; "": whatever there is a reason
 * for.  *columns is the caller's. */
int store_keep_columns(struct store *s, const char *columns, struct err *e);
int store_columns(struct store *s, char **columns, struct err *e);
/* Stores a finite number under `name` as a point of a run's last step, whoever owns the run, committed at
 * once; it replaces the one that the step has. */
int store_measure(struct store *s, int64_t run, const char *name, double value, struct err *e);

/* ---- sweeps ---- */

/* *id of a new sweep.  `uid`: of one that was described elsewhere, and which is found again by it; NULL: a
 * new one's. */
int store_sweep(struct store *s, const char *name, const char *spec_json, const char *uid, int64_t *id,
                struct err *e);
/* Only while its spec is still `was`, as it was read: ERR_DATABASE when another process changed it since. */
int store_sweep_change(struct store *s, int64_t id, const char *name, const char *was, const char *spec_json,
                       struct err *e);
/* Asks every process that works on the sweep to stop. */
int store_sweep_stop(struct store *s, int64_t id, struct err *e);
/* When that was last asked, 0: never; another value than before, and it was asked anew. */
int store_sweep_stopped(struct store *s, int64_t id, int64_t *when, struct err *e);
/* Why the sweep's run of this key could not be begun; it has no row then. */
int store_sweep_failure(struct store *s, int64_t id, const char *key, const char *reason, struct err *e);

/* Work that several processes could do: who has the hold of a name (at least 15 hexadecimal digits) does it,
 * until it lets go or ends.  *held false: another process (or another store of this one) has it. */
int store_hold(struct store *s, const char *name, bool *held, struct err *e);
void store_let_go(struct store *s, const char *name);

/* ---- joining databases ---- */

enum store_merged_as {
    STORE_MERGED_NEW,     /* INTO did not have the run */
    STORE_MERGED_FURTHER, /* FROM's state was the further one, or had the files: it is INTO's now */
    STORE_MERGED_SAME,
    STORE_MERGED_BEHIND,  /* INTO's state is the further one: it stays */
    STORE_MERGED_APART,   /* the two went on apart: both stay */
    STORE_MERGED_BUSY,    /* in work in one of the two: left out */
    STORE_MERGED_DAMAGED, /* further, but with damaged files: INTO's earlier ones stay */
};
struct store_merged {
    int64_t from, into; /* numbers; into 0: left out */
    int64_t apart;      /* the run of INTO that it went apart from, 0: none */
    int64_t step;       /* from which on; −1 */
    enum store_merged_as what;
    bool lacks_files;   /* it was taken, and its files were not there */
    char *damaged; /* files of FROM that were left out since they are damaged, "best.safetensors, …"; NULL */
};
struct store_merge {
    size_t runs, sweeps;
    struct store_merged *run;
    int64_t *sweep_from, *sweep_into;
};
/* Takes what `from` (opened for reading) has: runs and sweeps that are the same by their uid are one, others
 * get new numbers; a run's parent and sweep follow.  `sound` (NULL: all are) says whether a file is what was
 * written.  Each run is taken whole or not at all: after an interruption the same call takes the rest.
 * store_merge_release, also after a failure. */
int store_merge(struct store *into, struct store *from, bool (*sound)(const char *path),
                struct store_merge *out, struct err *e);
void store_merge_release(struct store_merge *m);

/* ---- queries ---- */

/* A number that may be missing, undefined with a reason, NaN or infinite. */
struct store_value {
    bool measured; /* false: no such point */
    double v;      /* NaN, ±inf as they came; NaN when undefined or not measured */
    char *undefined; /* why there is no value; NULL otherwise */
    int64_t step;
};

struct store_named_value {
    char *name; /* "loss", "dev.accuracy" */
    struct store_value last, best; /* best.measured false: no direction, or never finite */
};

/* One run.  The fields below "whole" are filled by store_run only. */
struct store_run {
    int64_t id, parent, sweep;
    enum store_state state; /* interrupted when live in the file but its owner is gone */
    char *reason;
    char *method, *preset, *regime, *model, *task, *metric; /* never NULL ("" when not known) */
    char *decides; /* the point that "best" is of, "dev.accuracy"; "" without a metric */
    int direction;
    uint64_t seed;
    int64_t trained, kept, head, model_values;
    int64_t step, steps;
    double seconds;
    int64_t created, started, ended, trashed;
    struct store_value best, loss; /* of the deciding metric; last training loss */
    struct store_value sorted;     /* what the list was sorted by, when that is a metric */
    bool unfit;     /* in a list that marks: the filter leaves it out */
    char *weights_sha256, *name /* NULL: none */, *tags /* "a, b" */, *note, *version;
    bool constant;                 /* the deciding split's last evaluation predicted one class only */
    bool none_valid;               /* or no answer of it was one */
    int64_t rows;                  /* dev rows that best was measured on; 0: not known */
    double lr;                     /* of the config; NaN: it has none */
    char *dev_sha256;              /* of the rows that decide; NULL: not known */
    int64_t peak;                  /* bytes that the run needed at most; 0: not known */
    double estimated_seconds;      /* as of struct store_new_run: what was estimated at its start */
    int64_t estimated_bytes;
    /* whole */
    char *config, *canonical, *method_json, *model_folder, *model_sha256, *task_folder,
        *train_file, *dev_file, *train_sha256, *kernel, *folder;
    char *imported;                /* JSON: where it came from; NULL: it was trained here */
    int module_count;
    struct store_module *module;   /* strings owned */
    size_t value_count;
    struct store_named_value *value; /* each point name of the run, by name */
    int reports;
    char **report;                 /* what was found in each split when its rows were read; lines */
};
void store_run_release(struct store_run *r);

struct store_runs {
    struct store_run *run;
    size_t count;
    int64_t total; /* that pass the filter, whatever the limit */
    int64_t all;   /* in the history (or the trash) without filter */
};
struct store_list {
    const char *filter; /* NULL: all but lessons' runs and draws, which "tag=lesson" and "tag=draw" list.
                           Grammar in docs/schema.md:
                           "task=reviews acc>0.8 word" */
    const char *sort;   /* NULL: newest first.  A column or metric, '-' before it: descending */
    bool trash;         /* the trash instead of the history */
    bool mark;          /* what the filter leaves out is listed too, and marked (unfit) */
    int64_t limit, offset; /* limit 0: all */
};
/* ERR_USAGE (naming the term, with the nearest known name) for a filter or sort that
 * cannot be read. */
int store_list(struct store *s, const struct store_list *list, struct store_runs *out,
               struct err *e);
void store_runs_release(struct store_runs *r);

/* A run from what a user typed: "7", "#7", or "last" (the newest).  In the trash too. */
int store_find(struct store *s, const char *typed, int64_t *run, struct err *e);
int store_run(struct store *s, int64_t run, struct store_run *out, struct err *e);

struct store_points {
    size_t count, step_room, value_room;
    int64_t *step;
    double *value; /* NaN and infinities as they came; an undefined evaluation is left out */
};
/* Points of one name ("loss", "dev.accuracy") with step >= from, by step.  A name that the
 * run does not have gives none. */
int store_points(struct store *s, int64_t run, const char *name, int64_t from,
                 struct store_points *out, struct err *e);
void store_points_release(struct store_points *p);

struct store_eval_row {
    int64_t step;
    char *name; /* "dev.accuracy" */
    char *rows;
    struct store_value value;
    bool constant, none_valid, best;
};
struct store_evals {
    struct store_eval_row *row;
    size_t count, room;
};
int store_evaluations(struct store *s, int64_t run, struct store_evals *out, struct err *e);
void store_evals_release(struct store_evals *v);

struct store_file {
    int64_t step, bytes, created;
    char *kind, *path, *sha256; /* path: absolute */
};
struct store_files {
    struct store_file *file;
    size_t count, room;
};
/* Newest first.  The latest of a kind is the first with it. */
int store_artifacts(struct store *s, int64_t run, struct store_files *out, struct err *e);
void store_files_release(struct store_files *f);

/* ---- vectors and matrices ---- */

/* Vectors of rows of a task at one layer of a model, or of a run's. */
struct store_embedding {
    int64_t id, run, step; /* run 0: the untouched model */
    char *model, *task, *split, *pool; /* task: "A,B" when rows of several were drawn */
    char *model_sha256,
        *rows_sha256; /* the weights', and that of the rows' numbers and texts; NULL: not known */
    char *model_fingerprint;           /* of weights, config and tokenizer; NULL: not known */
    int layer;
    uint64_t seed;
    int64_t created;
    int rows, columns;
    char *items;           /* JSON array, an object a row: {"row":…,"label":…,"text":…,"prediction":…} */
    float *data;           /* rows×columns; NULL in a list */
};
/* Queues a copy of an owned run's set, as the points are.  A set that the run already has of this
 * step (replayed after a resume) stays one. */
int store_embedding_put(struct store *s, const struct store_embedding *m);
/* Keeps a copy; *id of it.  id and created of `m` are not read. */
int store_embedding_add(struct store *s, const struct store_embedding *m, int64_t *id, struct err *e);
/* ERR_NOT_FOUND without such a set; store_embedding_release frees. */
int store_embedding(struct store *s, int64_t id, struct store_embedding *out, struct err *e);
void store_embedding_release(struct store_embedding *m);

struct store_embeddings {
    struct store_embedding *set; /* data and items NULL */
    size_t count, room;
};
/* What is kept, in the order of numbers: of a run; with run 0 of untouched models; with -1 all that
 * are not of a run in the trash. */
int store_embeddings(struct store *s, int64_t run, struct store_embeddings *out, struct err *e);
void store_embeddings_release(struct store_embeddings *v);
/* *id of the newest set of the same run, step, layer, pooling, backbone and rows (hashes, count) as
 * `like`; 0 when there is none. */
int store_embedding_find(struct store *s, const struct store_embedding *like, int64_t *id, struct err *e);

/* A matrix of similarities. */
struct store_matrix {
    int64_t id, run; /* run 0: of none */
    char *name, *about; /* about: JSON */
    int64_t created;
    int rows, columns;
    char *row_names, *column_names; /* JSON arrays of strings */
    float *data;     /* rows×columns, NaN: undefined */
};
int store_matrix_add(struct store *s, const struct store_matrix *m, int64_t *id, struct err *e);
int store_matrix(struct store *s, int64_t id, struct store_matrix *out, struct err *e);
void store_matrix_release(struct store_matrix *m);
struct store_matrices {
    struct store_matrix *matrix; /* data and names NULL */
    size_t count, room;
};
/* As store_embeddings. */
int store_matrices(struct store *s, int64_t run, struct store_matrices *out, struct err *e);
void store_matrices_release(struct store_matrices *v);
/* *id of the newest matrix of this run (0: of none), name and `about`; 0 when there is none. */
int store_matrix_find(struct store *s, int64_t run, const char *name, const char *about, int64_t *id,
                      struct err *e);

/* ---- texts given while training ---- */

struct store_sample {
    int64_t step;
    uint64_t row;      /* number in its file, from 0 */
    char *source, *target, *generated; /* target NULL: the row has none */
    int valid;         /* 1: names a class or is a score, 0: does not, -1: any text is an answer */
};
/* Queues a copy of an owned run's set at a step (its members' steps are not read).  A set that is
 * there already (replayed after a resume) is replaced. */
int store_samples_put(struct store *s, int64_t run, int64_t step, const char *split,
                      const struct store_sample *sample, size_t count);
struct store_samples {
    size_t count, room;
    struct store_sample *sample; /* by step, then row */
};
/* All sets of a run; a run without any gives none. */
int store_samples(struct store *s, int64_t run, struct store_samples *out, struct err *e);
void store_samples_release(struct store_samples *s);

/* ---- text out ---- */

/* One run as a JSON object on one line without newline: {"id":7,"state":"finished",
 * "method":…,"task":…,"trained":…,"best":{"metric":…,"value":…,"step":…},"final_loss":…,
 * "weights_sha256":…,…}; unknown is null, numbers that are not finite are strings.  With
 * config, modules and all values when the run came from store_run. */
void store_run_json(const struct store_run *r, struct buf *out);

/* Where text goes: returns 0, or an error code to end with. */
struct store_sink {
    void *self;
    int (*write)(void *self, const char *bytes, size_t n);
};
enum store_format { STORE_CSV, STORE_JSON, STORE_MARKDOWN }; /* JSON: one object a line */
enum store_what { STORE_EXPORT_RUNS, STORE_EXPORT_POINTS, STORE_EXPORT_EVALUATIONS };
/* Runs, in the order in which they are named, points (run, key, step, value, kind) or evaluations of the
 * named runs (NULL: all that are not in the trash). */
int store_export(struct store *s, enum store_what what, enum store_format format,
                 const int64_t *runs, size_t n, struct store_sink sink, struct err *e);

/* ---- SQL ---- */

enum store_type { STORE_NULL, STORE_INTEGER, STORE_REAL, STORE_TEXT, STORE_BLOB };
struct store_cell {
    enum store_type type;
    int64_t integer;
    double real;
    const char *text; /* bytes of text or blob; NUL-terminated when text */
    size_t size;
};
struct store_rows {
    void *self;
    /* Once, before the first row; may be NULL. */
    int (*columns)(void *self, int count, const char *const *names);
    int (*row)(void *self, int count, const struct store_cell *cells);
};
/* Runs one reading SELECT (or EXPLAIN, or PRAGMA table_info and the like).  ERR_USAGE for
 * anything that writes, attaches, sets, or is more than one statement, and for SQL that
 * SQLite refuses.  A callback's error ends it and is returned. */
int store_sql(struct store *s, const char *sql, struct store_rows rows, struct err *e);
/* The same as CSV with a head line, JSON with one object a line, or a Markdown table. */
int store_sql_text(struct store *s, const char *sql, enum store_format format,
                   struct store_sink sink, struct err *e);

/* ---- health ---- */

/* Version of the SQLite library in use; static text. */
const char *store_sqlite_version(void);

struct store_health {
    char sqlite[32], journal[16];
    int schema;
    int64_t runs, points, bytes, wal_bytes;
    bool whole;        /* integrity and foreign keys are right */
    char problem[768]; /* the first finding otherwise */
};
int store_check(struct store *s, struct store_health *out, struct err *e);

#endif
