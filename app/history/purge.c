#include "app/history/purge.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

static int purge_refused(const char *path, int why, bool delete, struct err *e) {
    if (*e->text) return e->code; /* only the first error is reported */
    return err_set(e, ERR_SYSTEM, "%s: cannot be %s: %s", path, delete ? "deleted" : "read", strerror(why));
}

/* Counts the files below the folder; with `delete`, deletes them and the folder. */
static int purge_walk(char *folder, bool delete, struct purge_sum *sum, struct err *e) {
    FTS *walk = fts_open((char *[]){ folder, NULL }, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk) return purge_refused(folder, errno, delete, e);
    int rc = 0;
    for (FTSENT *at; (at = fts_read(walk));) {
        bool is_folder = at->fts_info == FTS_DP;
        if (at->fts_info == FTS_D) continue;
        if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR || at->fts_info == FTS_NS) {
            if (at->fts_errno != ENOENT) rc = purge_refused(at->fts_path, at->fts_errno, delete, e);
            continue;
        }
        if (delete && (is_folder ? rmdir(at->fts_path) : unlink(at->fts_path))) {
            rc = purge_refused(at->fts_path, errno, delete, e);
            continue;
        }
        if (is_folder) continue;
        sum->files++;
        sum->bytes += at->fts_statp->st_size;
    }
    fts_close(walk);
    return rc;
}

int purge_count(struct store *s, const int64_t *runs, size_t n, struct purge_sum *out, struct err *e) {
    *out = (struct purge_sum){ 0 };
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++) {
        char *folder = store_run_folder(s, runs[i]);
        if (file_is_folder(folder)) rc = purge_walk(folder, false, out, e);
        free(folder);
    }
    return rc;
}

int purge_runs(struct store *s, const int64_t *runs, size_t n, int64_t typed, struct purge_sum *out,
               struct err *e) {
    *out = (struct purge_sum){ 0 };
    struct store_paths paths;
    int rc = store_purge(s, runs, n, typed, &paths, e);
    if (rc) return rc;
    for (size_t i = 0; i < paths.count; i++) /* the folders come last and contain the rest */
        if (file_is_folder(paths.path[i]) && purge_walk(paths.path[i], true, out, e)) rc = e->code;
    store_paths_release(&paths);
    return rc ? err_prefix(e, "the runs were deleted from the database, but not all their files") : 0;
}
