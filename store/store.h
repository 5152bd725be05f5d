/* The database of runs: every run, its points and the names of its files, in one SQLite file.
 *
 * A `struct store` is one open database.  Opened for writing it has one writer thread with the process's only
 * writing connection: points, evaluations, artifacts and states go through a bounded queue and are committed
 * in batches (1,000 rows, 250 ms, or a change of state); other changes wait until the writer has applied
 * them.  Queries use a separate read-only connection and short transactions.  Every function may be called
 * from any thread; all but the four queued ones may take milliseconds, or seconds when another process has
 * locked the file.
 *
 * Next to the file PATH are PATH-wal and PATH-shm (SQLite's), PATH-lock (locked by every writing transaction
 * and checkpoint) and PATH-files/ID/, the folder of run ID, whose file "lock" is locked by the process that
 * trains the run: a free lock means that the owner is gone.
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

/* Sets the callback for waiting: called once, by the waiting thread (any thread), when another program has
 * locked a database for a second.  It must not call a store.  Applies to the whole process; `say` NULL: none.
 * Returns the previous one. */
struct store_wait {
    void *self;
    void (*say)(void *self, const char *text);
};
struct store_wait store_on_wait(struct store_wait w);

enum store_mode {
    STORE_READ,  /* never creates a file; ERR_NOT_FOUND when there is none */
    STORE_WRITE, /* creates folder and file (0600) when absent */
};

/* Opens PATH.  ERR_DATABASE, without changing the file, when it is not a database, of another program,
 * written by an earlier version of petri, newer than this program (a newer one that declares itself readable
 * may be opened with STORE_READ), damaged, unreadable, locked for more than five seconds, or next to an
 * unusable -wal or -shm; ERR_SYSTEM when the folder is not writable.  Runs whose owner is gone become
 * interrupted. */
int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e);
/* Commits the queue, releases the locks of owned runs, closes.  On failure (with the number of records that
 * could not be written or were dropped) the store is closed as well. */
int store_close(struct store *s, struct err *e);
const char *store_path(const struct store *s);
bool store_is_readonly(const struct store *s); /* opened with STORE_READ */
/* Returns the folder of a run's files (PATH-files/ID); caller frees. */
char *store_run_folder(const struct store *s, int64_t run);

enum store_condition { STORE_OK, STORE_DISK_FULL, STORE_BUSY, STORE_BROKEN };
struct store_status {
    enum store_condition condition;
    char text[768]; /* the reason, unless STORE_OK: pause the runs and show it */
    size_t waiting; /* records not yet committed */
    size_t left_out; /* records that could never be written, since opening; recorded in their runs' logs */
    char left_out_why[768]; /* of the last of them */
};
/* The writer keeps its batch and retries each second until the condition ends. */
void store_status(struct store *s, struct store_status *out);
/* Waits until everything queued before the call is committed and flushed to disk.  Returns the error
 * immediately while the writer cannot write; the records stay queued. */
int store_flush(struct store *s, struct err *e);
/* Releases blocked callers and drops what is queued from now on (their result is ERR_SYSTEM).  For leaving
 * the program while the disk is full. */
void store_give_up(struct store *s);

/* ---- life cycle of a run ---- */

/* In the order of core/train/run/event.h. */
enum store_state {
    STORE_QUEUED, STORE_RUNNING, STORE_PAUSED, STORE_FINISHED, STORE_STOPPED, STORE_FAILED,
    STORE_INTERRUPTED, STORE_STATES
};
const char *store_state_name(enum store_state state); /* "queued" … */
int store_state_by_name(const char *name);            /* -1 when unknown */
bool store_state_is_live(enum store_state state);     /* queued, running, paused */

/* One module of a method with its axis values as words.  NULL or 0: not applicable. */
struct store_module {
    const char *text; /* the text form of the module */
    const char *fn, *act, *read, *write, *insertion, *composition, *source, *heads, *init,
        *target;
    const char *layers; /* "all", "1", "1-6", "4-" */
    int64_t size, mid;
    double scale, dropout;
    bool has_scale;
    int64_t trained, stored;
};

/* Fixed at step 0.  NULL strings are stored as "unknown". */
struct store_new_run {
    const char *config; /* JSON, required */
    const char *method, *canonical, *method_json, *preset; /* method: required */
    const char *model, *model_folder, *model_sha256;
    const char *task, *task_folder, *train_file, *dev_file, *train_sha256, *dev_sha256;
    const char *metric; /* the primary metric, as in evaluations: "accuracy" */
    int direction;      /* its direction: 1 higher is better, -1 lower */
    const char *split;  /* the split that decides; NULL: "dev" */
    uint64_t seed;
    int64_t trained, stored, head, model_values; /* counts; trained and stored exclude the head */
    int64_t steps;      /* planned */
    double estimated_seconds;  /* of training; 0: not estimated */
    int64_t estimated_bytes;   /* peak memory; 0: not estimated */
    const char *version, *kernel; /* of petri; of the matrix library and processor */
    const char *regime; /* training regime: "single", "multi(…)" */
    int64_t parent;     /* cloned or resumed from, 0: none */
    int64_t sweep;      /* 0: none */
    const char *const *report; /* the import report of each split */
    int reports;
    const struct store_module *modules;
    int module_count;
    const char *note;   /* as store_note; NULL: none */
    const char *name;   /* as store_rename; NULL or "": none */
    const char *cell;   /* cell and seed of the experiment; NULL: none */
    const char *tag;    /* tag set at creation; NULL: none */
    const char *imported; /* JSON: its origin; NULL: trained here */
};

/* The tag of runs created by lessons: they are listed only on request for that tag, and "last" ignores
 * them. */
#define STORE_LESSON_TAG "lesson"
/* The tag of the runs of a few-shot run's draws, for which the same holds; a list of a sweep's or a parent's
 * runs has them too. */
#define STORE_DRAW_TAG "draw"

/* Adds a queued run, creates its folder and takes its lock, which the store keeps until store_disown.  *id is
 * never reused. */
int store_create_run(struct store *s, const struct store_new_run *n, int64_t *id, struct err *e);
/* Takes over a run whose owner is gone or finished, to resume it: lock, then state queued.  ERR_USAGE when
 * another process owns it or it is in the trash. */
int store_adopt_run(struct store *s, int64_t run, struct err *e);
/* Ends ownership after the last record of a run: commits and releases the lock.  A run still in a live state
 * becomes interrupted. */
int store_disown(struct store *s, int64_t run, struct err *e);

/* Queued calls return 0, or ERR_SYSTEM after store_give_up.  A full queue blocks the caller. */

enum { STORE_STEP_VALUES = 8 };
/* Adds one training step.  `key` from store_key.  A step that exists (replayed after a resume) stays one
 * point; if its value differs, the new one is stored and a "differs" event records it. */
struct store_step {
    int64_t run, step;
    double seconds; /* trained, monotonic, summed over all sessions */
    int count;
    int key[STORE_STEP_VALUES];
    double value[STORE_STEP_VALUES]; /* NaN and infinities are stored as such */
};
int store_step(struct store *s, const struct store_step *step);

struct store_metric {
    const char *name;      /* "accuracy" */
    double value;
    const char *undefined; /* NULL, or why the value is undefined */
    int direction;         /* 1, -1, or 0: neither is better (majority) */
};
/* Adds one evaluation of one split; its metrics are stored under "SPLIT.NAME". */
struct store_evaluation {
    int64_t run, step;
    const char *split; /* "dev_matched", in a multi-task run "TASK/SPLIT"; NULL: "dev" */
    const char *rows;  /* which examples */
    bool constant, none_valid, best; /* none_valid: no generated answer names a class or is a score */
    double seconds;
    int count;
    const struct store_metric *metric;
};
int store_evaluation(struct store *s, const struct store_evaluation *v);

/* Adds a file that is already at its final path. */
struct store_artifact {
    int64_t run, step;
    const char *kind;   /* "best", "last", "export" … */
    const char *path, *sha256;
    int64_t bytes;
};
int store_artifact(struct store *s, const struct store_artifact *a);

/* Changes the state and commits immediately.  The run's log has a row for each change, except for an attempt
 * that paused again at the same step for the same reason.  Also sets step, seconds and weights if given. */
struct store_change {
    int64_t run, step;      /* step < 0: unchanged */
    enum store_state state;
    double seconds;         /* < 0: as it is */
    const char *reason;     /* NULL: none */
    const char *weights_sha256;
    int64_t peak;           /* peak memory in bytes; 0: unchanged */
    bool of_whole;          /* of the whole run, not only since it was resumed */
};
int store_change(struct store *s, const struct store_change *c);
/* Adds a message to the run's log. */
int store_message(struct store *s, int64_t run, int64_t step, const char *text);

/* Returns the name of a metric of a split: "dev.accuracy", "mnli/dev_matched.loss"; for a training step,
 * split NULL: the metric's own.  Caller frees. */
char *store_name(const char *split, const char *metric);
/* Returns the name of another metric of the same evaluation as `name`; caller frees. */
char *store_name_other(const char *name, const char *metric);
/* Returns METRIC of "TASK/SPLIT.METRIC" for that task; otherwise NULL. */
const char *store_name_metric(const char *name, const char *task);
/* Returns the number of examples of an evaluation: 40 of "dev 40 of 856 (seed 0)"; 0 for NULL and if no
 * number follows the split's name, as for episodes. */
int64_t store_rows_count(const char *rows);
/* Returns the id of a point's name ("loss", "lr", …) in this store, < 0 when it was opened for reading.
 * `timing`: differs between equal runs (seconds), so a replay may change it silently. */
int store_key(struct store *s, const char *name, int direction, bool timing, struct err *e);

/* Marks live runs whose lock is free as interrupted; *count (may be NULL): their number. */
int store_reap(struct store *s, int *count, struct err *e);
/* Returns how many runs were marked so since this store was opened, including its opening, and fills in
 * `room` of them. */
size_t store_lost(struct store *s, int64_t *run, size_t room);

/* ---- requests from other processes ---- */

enum store_control { STORE_STOP, STORE_PAUSE, STORE_RESUME };
/* Adds a request for the owner.  ERR_NOT_FOUND, or ERR_USAGE when the run has finished. */
int store_request(struct store *s, int64_t run, enum store_control what, struct err *e);
struct store_request {
    int64_t id, run;
    enum store_control what;
};
/* Reads up to `room` open requests for runs owned by this store, oldest first.  The owner calls it about
 * every 250 ms.  Returns their number, or < 0. */
int store_requests(struct store *s, struct store_request *out, int room, struct err *e);
/* Closes a request, so that it is not read again. */
int store_request_taken(struct store *s, const struct store_request *r, struct err *e);

/* Returns a number that changes whenever any process, including this one, has committed a change; 0 if it
 * cannot be read.  The death of a run's owner is not such a change. */
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
/* Deletes runs permanently.  All must be in the trash (runs NULL: all in the trash), and `typed`, the number
 * typed by the user, must be their number: otherwise ERR_USAGE and nothing changes.  *paths: the files and
 * folders that the caller must delete. */
int store_purge(struct store *s, const int64_t *runs, size_t n, int64_t typed,
                struct store_paths *paths, struct err *e);

/* Adds or removes every tag of every run or, on failure, none.  ERR_USAGE for an empty tag or one with a
 * comma; ERR_NOT_FOUND for a missing run, or for removing a tag that a run does not have. */
int store_tag(struct store *s, const int64_t *runs, size_t n, const char *const *tags, size_t count, bool on,
              struct err *e);
/* Sets the name of the run ("" or NULL removes it); *before, unless NULL, is the old name (""), owned by the
 * caller.  A name has one to STORE_NAME_MOST bytes and must not look like a number, an option or "last";
 * several runs may share it. */
enum { STORE_NAME_MOST = 60 };
/* Checks a run name, "" included: ERR_USAGE with the reason. */
int store_check_name(const char *name, struct err *e);
int store_rename(struct store *s, int64_t run, const char *name, char **before, struct err *e);
/* Replaces the run's note; "" or NULL removes it.  Bytes are stored unchanged. */
int store_note(struct store *s, int64_t run, const char *text, struct err *e);
/* Adds (`on`) or removes a saved filter of this database, by its text. */
int store_save_filter(struct store *s, const char *filter, bool on, struct err *e);
struct store_filters {
    char **filter; /* in alphabetical order */
    size_t count, room;
};
int store_filters(struct store *s, struct store_filters *out, struct err *e);
void store_filters_release(struct store_filters *f);
/* Save and read a text about the screens by its name: "columns" of the list, as typed (automatic if empty),
 * and "screens" (views/stored.h).  "": none; *text is owned by the caller. */
int store_save_text(struct store *s, const char *name, const char *text, struct err *e);
int store_saved_text(struct store *s, const char *name, char **text, struct err *e);
/* Stores a finite number under `name` as a point of a run's last step, whoever owns the run, committed
 * immediately; replaces an existing one of that step. */
int store_measure(struct store *s, int64_t run, const char *name, double value, struct err *e);

/* ---- sweeps ---- */

/* Adds a sweep with id *id.  `uid`: of a sweep described elsewhere, by which it can be found; NULL: a new
 * one. */
int store_sweep(struct store *s, const char *name, const char *spec_json, const char *uid, int64_t *id,
                struct err *e);
/* Updates a sweep only while its spec is still `was`, as read: ERR_DATABASE when another process changed it
 * since. */
int store_sweep_change(struct store *s, int64_t id, const char *name, const char *was, const char *spec_json,
                       struct err *e);
/* Requests every process that works on the sweep to stop. */
int store_sweep_stop(struct store *s, int64_t id, struct err *e);
/* Returns when that was last requested, 0: never; a changed value is a new request. */
int store_sweep_stopped(struct store *s, int64_t id, int64_t *when, struct err *e);
/* Records why the sweep's run of this key could not be started; it then has no row. */
int store_sweep_failure(struct store *s, int64_t id, const char *key, const char *reason, struct err *e);

/* A lock on work shared by several processes: the holder of a name (at least 15 hexadecimal digits) does it,
 * until it releases the lock or ends.  *held false: another process (or another store of this one) has it. */
int store_hold(struct store *s, const char *name, bool *held, struct err *e);
void store_let_go(struct store *s, const char *name);

/* ---- merging databases ---- */

enum store_merged_as {
    STORE_MERGED_NEW,     /* INTO did not have the run */
    STORE_MERGED_FURTHER, /* FROM's state was further advanced, or had the files: it replaced INTO's */
    STORE_MERGED_SAME,
    STORE_MERGED_BEHIND,  /* INTO's state is further advanced: it stays */
    STORE_MERGED_APART,   /* the two diverged: both stay */
    STORE_MERGED_BUSY,    /* running in one of the two: skipped */
    STORE_MERGED_DAMAGED, /* further advanced, but with damaged files: INTO's earlier ones stay */
};
struct store_merged {
    int64_t from, into; /* ids; into 0: skipped */
    int64_t apart;      /* the run of INTO from which it diverged, 0: none */
    int64_t step;       /* first different step; −1 */
    enum store_merged_as what;
    bool missing_files; /* taken although its files were missing */
    char *damaged; /* damaged files of FROM that were skipped, "best.safetensors, …"; NULL */
};
struct store_merge {
    size_t runs, sweeps;
    struct store_merged *run;
    int64_t *sweep_from, *sweep_into;
};
/* Merges `from` (opened for reading): runs and sweeps with the same uid are the same, others get new ids; a
 * run's parent and sweep are translated.  `sound` (NULL: all are) checks whether a file is intact.  Each run
 * is merged completely or not at all: after an interruption the same call merges the rest.
 * store_merge_release, also after a failure. */
int store_merge(struct store *into, struct store *from, bool (*sound)(const char *path),
                struct store_merge *out, struct err *e);
void store_merge_release(struct store_merge *m);

/* ---- queries ---- */

/* A number that may be missing, undefined with a reason, NaN or infinite. */
struct store_value {
    bool measured; /* false: no such point */
    double v;      /* NaN, ±inf as stored; NaN when undefined or not measured */
    char *undefined; /* why the value is undefined; NULL otherwise */
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
    char *method, *preset, *regime, *model, *task, *metric; /* never NULL ("" when unknown) */
    char *decides; /* the name of the best point, "dev.accuracy"; "" without a metric */
    int direction;
    uint64_t seed;
    int64_t trained, stored, head, model_values;
    int64_t step, steps;
    double seconds;
    int64_t created, started, ended, trashed;
    struct store_value best, loss; /* of the primary metric; last training loss */
    struct store_value sorted;     /* the sort key, when it is a metric */
    bool unfit;     /* in a list that marks: excluded by the filter */
    char *weights_sha256, *name /* NULL: none */, *tags /* "a, b" */, *note, *version;
    bool constant;                 /* the deciding split's last evaluation predicted one class only */
    bool none_valid;               /* or none of its answers was valid */
    int64_t examples;              /* validation examples of best; 0: unknown */
    double lr;                     /* of the config; NaN: none */
    char *dev_sha256;              /* of the deciding examples; NULL: unknown */
    int64_t peak;                  /* peak memory in bytes; 0: unknown */
    double estimated_seconds;      /* as in struct store_new_run: estimated at its start */
    int64_t estimated_bytes;
    /* whole */
    char *config, *canonical, *method_json, *model_folder, *model_sha256, *task_folder,
        *train_file, *dev_file, *train_sha256, *kernel, *folder;
    char *imported;                /* JSON: its origin; NULL: trained here */
    int module_count;
    struct store_module *module;   /* strings owned */
    size_t value_count;
    struct store_named_value *value; /* each point name of the run, by name */
    int reports;
    char **report;                 /* the import report of each split; lines */
};
void store_run_release(struct store_run *r);

struct store_runs {
    struct store_run *run;
    size_t count;
    int64_t total; /* matching the filter, without the limit */
    int64_t all;   /* in the database (or the trash) without filter */
};
struct store_list {
    const char *filter; /* NULL: all but lessons' runs and draws, which "tag=lesson" and "tag=draw" list.
                           Grammar in docs/schema.md:
                           "task=reviews acc>0.8 word" */
    const char *sort;   /* NULL: newest first.  A column or metric, '-' before it: descending */
    bool trash;         /* the trash instead of the other runs */
    bool all;           /* lessons' runs and draws too, whatever the filter */
    bool mark;          /* runs excluded by the filter are listed too, and marked (unfit) */
    int64_t limit, offset; /* limit 0: all */
};
/* ERR_USAGE (naming the term, with the nearest known name) for an invalid filter or sort. */
int store_list(struct store *s, const struct store_list *list, struct store_runs *out,
               struct err *e);
void store_runs_release(struct store_runs *r);

/* Returns the run typed by a user: "7", "#7", or "last" (the newest).  In the trash too. */
int store_find(struct store *s, const char *typed, int64_t *run, struct err *e);
int store_run(struct store *s, int64_t run, struct store_run *out, struct err *e);

struct store_points {
    size_t count, step_room, value_room;
    int64_t *step;
    double *value; /* NaN and infinities as stored; undefined evaluations are omitted */
};
/* Reads points of one name ("loss", "dev.accuracy") with step >= from, by step.  Empty for an unknown
 * name. */
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
/* Newest first: the latest of a kind is the first with it. */
int store_artifacts(struct store *s, int64_t run, struct store_files *out, struct err *e);
void store_files_release(struct store_files *f);

/* ---- embeddings and matrices ---- */

/* Embeddings of a task's examples at one layer of a model or a run. */
struct store_embedding {
    int64_t id, run, step; /* run 0: the pretrained model */
    char *model, *task, *split, *pool; /* task: "A,B" when examples of several were sampled */
    char *model_sha256,
        *rows_sha256; /* of the weights, and of the examples' indices and texts; NULL: unknown */
    char *model_fingerprint;           /* of weights, config and tokenizer; NULL: unknown */
    int layer;
    uint64_t seed;
    int64_t created;
    int rows, columns;
    char *items;           /* JSON array, an object per example:
                              {"row":…,"label":…,"text":…,"prediction":…} */
    float *data;           /* rows×columns; NULL in a list */
};
/* Queues a copy of an owned run's set, like points.  A set that the run already has for this step (replayed
 * after a resume) is not added again. */
int store_embedding_put(struct store *s, const struct store_embedding *m);
/* Stores a copy with id *id.  id and created of `m` are ignored. */
int store_embedding_add(struct store *s, const struct store_embedding *m, int64_t *id, struct err *e);
/* ERR_NOT_FOUND without such a set; released with store_embedding_release. */
int store_embedding(struct store *s, int64_t id, struct store_embedding *out, struct err *e);
void store_embedding_release(struct store_embedding *m);

struct store_embeddings {
    struct store_embedding *set; /* data and items NULL */
    size_t count, room;
};
/* Lists stored sets by id: of a run; with run 0 of pretrained models; with -1 all except those of runs in the
 * trash. */
int store_embeddings(struct store *s, int64_t run, struct store_embeddings *out, struct err *e);
void store_embeddings_release(struct store_embeddings *v);
/* *id of the newest set with the same run, step, layer, pooling, backbone and examples (hashes, count) as
 * `like`; 0 for none. */
int store_embedding_find(struct store *s, const struct store_embedding *like, int64_t *id, struct err *e);

/* A similarity matrix. */
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
/* *id of the newest matrix of this run (0: of none), name and `about`; 0 for none. */
int store_matrix_find(struct store *s, int64_t run, const char *name, const char *about, int64_t *id,
                      struct err *e);

/* ---- generated texts during training ---- */

struct store_sample {
    int64_t step;
    uint64_t row;      /* index in its file, from 0 */
    char *source, *target, *generated; /* target NULL: the example has none */
    int valid;         /* 1: names a class or is a score, 0: does not, -1: any text is valid */
};
/* Queues a copy of an owned run's set at a step (its members' steps are ignored).  An existing set (replayed
 * after a resume) is replaced. */
int store_samples_put(struct store *s, int64_t run, int64_t step, const char *split,
                      const struct store_sample *sample, size_t count);
struct store_samples {
    size_t count, room;
    struct store_sample *sample; /* by step, then row */
};
/* Reads all sets of a run; empty for a run without any. */
int store_samples(struct store *s, int64_t run, struct store_samples *out, struct err *e);
void store_samples_release(struct store_samples *s);

/* ---- text output ---- */

/* Appends one run as a JSON object on one line without newline: {"id":7,"state":"finished",
 * "method":…,"task":…,"trained":…,"best":{"metric":…,"value":…,"step":…},"final_loss":…,
 * "weights_sha256":…,…}; unknown is null, NaN and infinities are strings.  With config, modules and all
 * values when the run was read by store_run. */
void store_run_json(const struct store_run *r, struct buf *out);

/* Receives text: returns 0, or an error code that stops the output. */
struct store_sink {
    void *self;
    int (*write)(void *self, const char *bytes, size_t n);
};
enum store_format { STORE_CSV, STORE_JSON, STORE_MARKDOWN }; /* JSON: one object per line */
enum store_what { STORE_EXPORT_RUNS, STORE_EXPORT_POINTS, STORE_EXPORT_EVALUATIONS };
/* Writes runs, in the given order, their points (run, key, step, value, kind) or evaluations (runs NULL: all
 * that are not in the trash). */
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
    /* Called once, before the first row; may be NULL. */
    int (*columns)(void *self, int count, const char *const *names);
    int (*row)(void *self, int count, const struct store_cell *cells);
};
/* Runs one reading SELECT (or EXPLAIN, or PRAGMA table_info and the like).  ERR_USAGE for a statement that
 * writes, attaches or sets, for more than one statement, and for SQL that SQLite rejects.  An error of a
 * callback ends it and is returned. */
int store_sql(struct store *s, const char *sql, struct store_rows rows, struct err *e);
/* Writes the result as CSV with a header, JSON with one object per line, or a Markdown table. */
int store_sql_text(struct store *s, const char *sql, enum store_format format,
                   struct store_sink sink, struct err *e);

/* ---- health ---- */

/* Version of the SQLite library in use; static text. */
const char *store_sqlite_version(void);

struct store_health {
    char sqlite[32], journal[16];
    int schema;
    int64_t runs, points, bytes, wal_bytes;
    bool whole;        /* integrity and foreign keys are valid */
    char problem[768]; /* the first finding otherwise */
};
int store_check(struct store *s, struct store_health *out, struct err *e);

#endif
