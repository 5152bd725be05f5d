/* State of an open store, shared by the files of store/.  Private to store/.
 *
 * open.c; writing: writer.c (the queue and its thread), record.c, state.c, owner.c, keep.c, sweep.c, key.c,
 * name.c; merge.c with merge_rows.c; reading: query.c, points.c, sql.c, check.c; both: block.c, embedding.c,
 * sample.c; text output: json.c, export.c. */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "store/store.h"

struct writer;

struct owned {
    int64_t run;
    int fd; /* of its lock */
};

/* A point's name (key.c). */
struct point_key {
    char *name;
    int direction;
    bool timing;
    int64_t id; /* id of its row; 0: not looked up since the last failed transaction */
};

struct store {
    char *path;      /* absolute */
    char *folder;    /* that contains it */
    char *lock_path; /* PATH-lock */
    char *files;     /* PATH-files */
    char *gone;      /* reason stored when the owner of a run is gone */
    enum store_mode mode;
    struct writer *writer; /* NULL when opened for reading */

    pthread_mutex_t reading; /* guards reader: one query at a time */
    sqlite3 *reader;

    pthread_mutex_t asking; /* guards asker */
    sqlite3 *asker;         /* idle connection of store_sql (sql.c), or NULL */

    pthread_mutex_t naming; /* guards the list of names */
    struct point_key *key;
    size_t key_count, key_room;

    pthread_mutex_t owning; /* guards the list of owned runs */
    struct owned *owned;
    size_t owned_count, owned_room;
    int64_t *lost;  /* runs whose owner was gone, since opening */
    size_t lost_count, lost_room;
    int holds; /* the file of byte locks (sweep.c); -1: not open */
};

int64_t store_now(void); /* UTC milliseconds */
extern const char first_split[]; /* default split of evaluations */

/* ---- owned runs (owner.c) ---- */
/* Deleting a database without its runs' folders leaves files of other runs under the next ids: new runs skip
 * these ids, and the files are not touched. */
int owner_pass_strangers(struct store *s, sqlite3 *db, struct err *e);
bool store_owns(struct store *s, int64_t run);
char *store_lock_of(const struct store *s, int64_t run); /* caller frees */
/* Returns whether a process (including this one) has the run's lock. */
bool store_is_alive(struct store *s, int64_t run);
void store_drop_locks(struct store *s);

/* ---- the writer (writer.c) ---- */
int writer_new(struct store *s, sqlite3 *db, struct err *e);
/* Tries to commit the remaining records; joins; closes the connection. */
int writer_free(struct store *s, struct err *e);
/* Runs `work` on the writer's thread in a separate transaction, after all records queued before, and waits.
 * Fails for a store opened for reading. */
int writer_call(struct store *s,
                int (*work)(struct store *s, sqlite3 *db, void *arg, struct err *e), void *arg,
                struct err *e);

enum store_record_kind { RECORD_STEP, RECORD_EVALUATION, RECORD_ARTIFACT, RECORD_CHANGE, RECORD_MESSAGE,
                   RECORD_EMBEDDING, RECORD_SAMPLES };
struct store_record {
    enum store_record_kind kind;
    int count; /* RECORD_STEP: values */
    int key[STORE_STEP_VALUES];
    double value[STORE_STEP_VALUES];
    int64_t run, step, time;
    double seconds;
    enum store_state state; /* RECORD_CHANGE, and: */
    int64_t peak;
    bool of_whole;
    struct payload *payload; /* texts and metrics, owned; or NULL */
};
struct payload_metric {
    char *name, *undefined;
    double value;
    int direction;
};
struct payload {
    /* change: reason, weights; artifact: kind, path, hash; evaluation: split, rows */
    char *text[3];
    bool constant, none_valid, best;
    int64_t bytes;
    int count;
    struct payload_metric *metric;
    struct store_embedding *embedding;
    struct sample_set *samples;
};
void payload_free(struct payload *p); /* NULL is fine */
/* Queues a record and takes ownership of its payload; ERR_USAGE when the run is not owned. */
int writer_put(struct store *s, const struct store_record *r);

/* ---- embeddings (embedding.c) ---- */
void embedding_free(struct store_embedding *m); /* NULL is fine */
/* Called in a transaction: stores `m` unless the run already has this set for this step. */
int embedding_insert_once(sqlite3 *db, const struct store_embedding *m, struct err *e);

/* ---- generated texts during training (sample.c) ---- */
void sample_set_free(struct sample_set *set); /* NULL is fine */
/* Called in a transaction: replaces an existing set. */
int samples_apply(sqlite3 *db, const struct store_record *r, struct err *e);

/* ---- points (points.c, block.c) ---- */
void points_room(struct store_points *p, size_t count); /* capacity of the arrays */
/* Appends the run's points of a name (its row in `key`) from a step on, from unpacked rows. */
int points_rows(sqlite3 *db, int64_t run, int64_t key, int64_t from, struct store_points *out, struct err *e);
/* Packs the points of a finished run if they are many (in a transaction); drops the blocks of a running
 * one. */
int blocks_make(sqlite3 *db, int64_t run, struct err *e);
int blocks_drop(sqlite3 *db, int64_t run, struct err *e);
/* Appends packed points from *from on; *from becomes the step after them.  A damaged block ends it: its rows
 * are read instead. */
int blocks_read(sqlite3 *db, int64_t run, int64_t key, int64_t *from, struct store_points *out,
                struct err *e);

/* ---- names of points (key.c) ---- */
/* Returns the index of a point's name, created if absent; in a transaction.  `split` NULL: a training point
 * (store_name). */
int key_intern(sqlite3 *db, const char *split, const char *metric, int direction, bool timing,
               int64_t *id, struct err *e);
/* Returns the row id of a name numbered by store_key; on the writer's thread, in a transaction. */
int key_row(struct store *s, sqlite3 *db, int key, int64_t *id, struct err *e);
/* Called after a rollback: rows created in the transaction are gone. */
void keys_forget(struct store *s);
void keys_free(struct store *s);

/* ---- applying records (record.c) ---- */
struct applier;
struct applier *applier_new(struct store *s, sqlite3 *db, struct err *e);
void applier_free(struct applier *a);
/* Called in a transaction.  Records of deleted runs are ignored.  *refused: it failed because of the record's
 * content and would fail again. */
int applier_apply(struct applier *a, const struct store_record *r, bool *refused, struct err *e);
int note_set(sqlite3 *db, int64_t run, const char *text, struct err *e); /* keep.c */
int event_add(sqlite3 *db, int64_t run, int64_t time, int64_t step, const char *kind,
              const char *state, const char *text, struct err *e);

/* Value of the column `constant` of an evaluation unless it is 0. */
enum { ALIKE_CONSTANT = 1, ALIKE_INVALID = 2 };

/* ---- values in columns (query.c) ---- */
/* Reads value, kind, reason from three columns from `column` on, then the step. */
void store_value_of(sqlite3_stmt *st, int column, struct store_value *out);
/* Returns for a value with a kind whether it is a number; false, *value unchanged: undefined. */
bool store_kind_is_number(const char *kind, double *value);

/* Prefix of messages in a run's log that report the import of its examples. */
extern const char report_mark[];

#endif
