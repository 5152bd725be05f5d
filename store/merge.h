/* What merge.c (which runs are taken, and as what) and merge_rows.c (their rows and files) share.  Private to
 * store/. */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "store/db.h"
#include "store/internal.h"

/* Numbers of FROM and what they are in INTO. */
struct merge_map {
    int64_t *from, *into;
    size_t count, room;
};
void merge_map_put(struct merge_map *m, int64_t from, int64_t into);

struct merger {
    struct store *into, *from;
    bool (*sound)(const char *path); /* NULL: every file is */
    struct merge_map run, sweep, key;
};

/* These on the writer's thread of INTO, inside a transaction. */
int merge_keys(struct merger *m, sqlite3 *db, struct err *e);
int merge_sweeps(struct merger *m, sqlite3 *db, struct err *e);
/* A run's row and all that hangs on it, as a new run with that uid; *id: its number. */
int merge_new_run(struct merger *m, sqlite3 *db, int64_t from, const char *uid, int64_t *id, struct err *e);
/* In place of what INTO has of the run; its number, tags and note stay. */
int merge_over_run(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e);
/* Tags that INTO lacks, and the note where it has none. */
int merge_words(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e);
int merge_parents(struct merger *m, sqlite3 *db, struct err *e);
/* Vectors and matrices of no run, unless they are there. */
int merge_runless(struct merger *m, sqlite3 *db, struct err *e);

/* Whether the run's folder holds more than its lock. */
bool merge_has_files(const struct store *s, int64_t run);
/* Copies the run's files to a place beside INTO's folders, flushed; *staged (caller frees): NULL where there
 * are none. */
int merge_stage(struct merger *m, int64_t run, char **staged, struct err *e);
/* Removes from what is staged the files that are damaged: their names with commas, NULL: none (caller
 * frees). */
char *merge_drop_damaged(const struct merger *m, const char *staged);
/* Makes them the files of INTO's run, whose folder there may be; what that held is then in *staged. */
int merge_place(struct merger *m, const char *staged, int64_t into, struct err *e);

#endif
