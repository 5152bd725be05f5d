/* Permanent deletion of runs: their records first, then the files in their folders. */
#ifndef APP_HISTORY_PURGE_H
#define APP_HISTORY_PURGE_H

#include "store/store.h"

struct purge_sum {
    int64_t files, bytes; /* in the runs' folders; the database reuses its own pages */
};
/* Counts what purging would delete now.  A missing folder is empty; ERR_SYSTEM for one that cannot be
 * read. */
int purge_count(struct store *s, const int64_t *runs, size_t n, struct purge_sum *out, struct err *e);
/* Calls store_purge, then deletes the files; *out: what was deleted.  Links are deleted, never followed.
 * ERR_SYSTEM names the first file that could not be deleted; the records and all other files are deleted
 * nevertheless. */
int purge_runs(struct store *s, const int64_t *runs, size_t n, int64_t typed, struct purge_sum *out,
               struct err *e);

#endif
