/* Deleting runs for good: their rows first, then what lies in their folders. */
#ifndef APP_HISTORY_PURGE_H
#define APP_HISTORY_PURGE_H

#include "store/store.h"

struct purge_sum {
    int64_t files, bytes; /* in the runs' folders; the database's own pages are used again */
};
/* What purging would delete now.  A folder that is not there holds nothing; ERR_SYSTEM for one that cannot be
 * read. */
int purge_count(struct store *s, const int64_t *runs, size_t n, struct purge_sum *out, struct err *e);
/* store_purge, then the files: *out is what was deleted.  Links are deleted, never followed.  ERR_SYSTEM
 * names the first file that could not be deleted; the runs are then gone from the history all the same, and
 * so is every other file. */
int purge_runs(struct store *s, const int64_t *runs, size_t n, int64_t typed, struct purge_sum *out,
               struct err *e);

#endif
