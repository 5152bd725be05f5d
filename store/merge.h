/* Shared by merge.c (which runs are taken, and how) and merge_rows.c (their rows and files).  Private to
 * store/. */
#ifndef STORE_MERGE_H
#define STORE_MERGE_H

#include "store/db.h"
#include "store/internal.h"

/* Ids of FROM and their counterparts in INTO. */
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

/* Called on the writer's thread of INTO, in a transaction. */
int merge_keys(struct merger *m, sqlite3 *db, struct err *e);
int merge_sweeps(struct merger *m, sqlite3 *db, struct err *e);
/* Copies a run's row and everything that belongs to it, as a new run with that uid; *id: its id. */
int merge_new_run(struct merger *m, sqlite3 *db, int64_t from, const char *uid, int64_t *id, struct err *e);
/* Replaces INTO's state of the run; its id, tags and note stay. */
int merge_over_run(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e);
/* Adds tags missing in INTO, and the note if it has none. */
int merge_words(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e);
int merge_parents(struct merger *m, sqlite3 *db, struct err *e);
/* Copies embeddings and matrices without a run, unless present. */
int merge_runless(struct merger *m, sqlite3 *db, struct err *e);

/* Returns whether the run's folder contains more than its lock. */
bool merge_has_files(const struct store *s, int64_t run);
/* Copies the run's files to a place next to INTO's folders, flushed; *staged (caller frees): NULL if there
 * are none. */
int merge_stage(struct merger *m, int64_t run, char **staged, struct err *e);
/* Removes damaged files from the staged ones: returns their names with commas, NULL for none (caller
 * frees). */
char *merge_drop_damaged(const struct merger *m, const char *staged);
/* Makes them the files of INTO's run, whose folder may exist; its old content is then in *staged. */
int merge_place(struct merger *m, const char *staged, int64_t into, struct err *e);

#endif
