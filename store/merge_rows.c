/* Copies rows and files of a run from one store to another. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/merge.h"

void merge_map_put(struct merge_map *m, int64_t from, int64_t into) {
    size_t room = m->room;
    GROW(m->from, room, m->count + 1);
    m->into = xrealloc(m->into, room, sizeof *m->into);
    m->room = room;
    m->from[m->count] = from;
    m->into[m->count++] = into;
}

/* 0: not known */
static int64_t merge_map_get(const struct merge_map *m, int64_t from) {
    for (size_t i = m->count; i-- > 0;)
        if (m->from[i] == from) return m->into[i];
    return 0;
}

/* ---- rows ---- */

/* A file of the run belongs to the new run, even if it was stored when the database had another name; any
 * other file is referenced in place. */
static char *moved_path(const struct merger *m, const char *path, int64_t from, int64_t into) {
    char *before = xprintf("%s/%lld/", m->from->files, (long long)from),
         *named = xprintf("-files/%lld/", (long long)from);
    char *full = *path == '/' ? xstrdup(path) : file_join(m->from->folder, path);
    const char *at = *path == '/' ? NULL : strstr(path, named);
    if (at && !text_starts(full, before)) {
        char *here = xprintf("%s%s", before, at + strlen(named));
        if (file_exists(here)) xreplace(&full, here);
        free(here);
    }
    if (text_starts(full, before)) {
        char *after = xprintf("%s/%lld/%s", m->into->files, (long long)into, full + strlen(before));
        free(full);
        full = after;
    }
    size_t n = strlen(m->into->folder);
    bool below = !strncmp(full, m->into->folder, n) && full[n] == '/';
    char *out = xstrdup(below ? full + n + 1 : full);
    free(before);
    free(named);
    free(full);
    return out;
}

/* How a column is translated to INTO. */
static void bind_column(const struct merger *m, sqlite3_stmt *to, int at, sqlite3_stmt *row, int column,
                        int64_t from, int64_t into) {
    const char *name = sqlite3_column_name(row, column);
    bool is_number = sqlite3_column_type(row, column) ==
                     SQLITE_INTEGER; /* NULL stays, and so does a failure's key, a text */
    int64_t number = sqlite3_column_int64(row, column), mapped = 0;
    if (!strcmp(name, "path")) {
        char *path = moved_path(m, (const char *)sqlite3_column_text(row, column), from, into);
        sqlite3_bind_text(to, at, path, -1, SQLITE_TRANSIENT);
        free(path);
        return;
    }
    if (is_number && !strcmp(name, "run")) mapped = into;
    else if (is_number && (!strcmp(name, "key") || !strcmp(name, "metric_key")))
        mapped = merge_map_get(&m->key, number);
    else if (is_number && !strcmp(name, "sweep")) mapped = merge_map_get(&m->sweep, number);
    else if (strcmp(name, "parent") != 0) {
        sqlite3_bind_value(to, at, sqlite3_column_value(row, column));
        return;
    }
    if (mapped) sqlite3_bind_int64(to, at, mapped);
    else sqlite3_bind_null(to, at); /* parents are resolved when all runs are known */
}

/* Returns the statement that inserts a row like this one, without its id. */
static sqlite3_stmt *inserting(sqlite3 *db, const char *table, sqlite3_stmt *row, struct err *e) {
    struct buf names = BUF_INIT, marks = BUF_INIT;
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        const char *name = sqlite3_column_name(row, i);
        if (!strcmp(name, "id")) continue;
        buf_printf(&names, "%s%s", names.size ? "," : "", name);
        buf_printf(&marks, "%s?", marks.size ? "," : "");
    }
    char *sql = xprintf("INSERT OR IGNORE INTO %s(%s) VALUES(%s)", table, buf_text(&names), buf_text(&marks));
    sqlite3_stmt *st = db_prepare(db, e, sql, "");
    free(sql);
    buf_release(&names);
    buf_release(&marks);
    return st;
}

/* Copies the rows of a table selected by `where` (with ? for FROM's run). */
static int merge_rows_copy_rows(struct merger *m, sqlite3 *db, const char *table, const char *where,
                                int64_t from, int64_t into, struct err *e) {
    char *sql = xprintf("SELECT * FROM %s WHERE %s", table, where);
    sqlite3_stmt *row = db_prepare(m->from->reader, e, sql, "i", from),
                 *to = row ? inserting(db, table, row, e) : NULL;
    int rc = to ? 0 : e->code;
    free(sql);
    while (!rc && (rc = db_step(row, e)) > 0) {
        for (int i = 0, at = 1; i < sqlite3_column_count(row); i++)
            if (strcmp(sqlite3_column_name(row, i), "id") != 0) bind_column(m, to, at++, row, i, from, into);
        rc = db_step(to, e);
        sqlite3_reset(to);
        if (rc > 0) rc = 0;
    }
    sqlite3_finalize(row);
    sqlite3_finalize(to);
    return rc;
}

static const char *const of_run[] = { "run_module", "metric", "evaluation", "summary", "artifact",
                                      "embedding",  "matrix", "event",      "sample",  "block" };

static int copy_all(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e) {
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(of_run); i++) {
        bool files = !strcmp(of_run[i],
                             "artifact"); /* of two with the same name the later one is present */
        rc = merge_rows_copy_rows(m, db, of_run[i], files ? "run=? ORDER BY created DESC, id DESC" : "run=?",
                                  from, into, e);
    }
    return rc ? rc : merge_words(m, db, from, into, e);
}

/* A row without a counterpart gets its original name. */
static int merge_name(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e) {
    sqlite3_stmt *row = db_prepare(m->from->reader, e, "SELECT name FROM run WHERE id=?", "i", from);
    if (!row) return e->code;
    int rc = db_step(row, e);
    char *name = rc > 0 ? db_text(row, 0, false) : NULL;
    sqlite3_finalize(row);
    rc = rc < 0 ? rc
         : name ? db_run(db, e, "UPDATE run SET name=coalesce(name,?) WHERE id=?", "ti", name, into)
                : 0;
    free(name);
    return rc;
}

int merge_words(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e) {
    int rc = merge_rows_copy_rows(m, db, "tag", "run=?", from, into, e);
    if (!rc) rc = merge_rows_copy_rows(m, db, "note", "run=?", from, into, e);
    return rc ? rc : merge_name(m, db, from, into, e);
}

int merge_new_run(struct merger *m, sqlite3 *db, int64_t from, const char *uid, int64_t *id, struct err *e) {
    int rc = owner_pass_strangers(m->into, db, e);
    if (!rc) rc = merge_rows_copy_rows(m, db, "run", "id=?", from, 0, e);
    *id = sqlite3_last_insert_rowid(db);
    char *lock = store_lock_of(m->into, *id);
    if (!rc)
        rc = db_run(db, e, "UPDATE run SET uid=?, lock=? WHERE id=?", "tti", uid,
                    lock + strlen(m->into->folder) + 1, *id);
    free(lock);
    return rc ? rc : copy_all(m, db, from, *id, e);
}

int merge_over_run(struct merger *m, sqlite3 *db, int64_t from, int64_t into, struct err *e) {
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(of_run); i++) {
        char *sql = xprintf("DELETE FROM %s WHERE run=?", of_run[i]);
        rc = db_run(db, e, sql, "i", into);
        free(sql);
    }
    sqlite3_stmt *row = rc ? NULL
                           : db_prepare(
                                 m->from->reader, e,
                                 "SELECT "
                                 "state,reason,started,ended,step,seconds,weights_sha256,metric_key,peak "
                                 "FROM run WHERE id=?",
                                 "i", from);
    sqlite3_stmt *to =
        row ? db_prepare(
                  db, e,
                  "UPDATE run SET "
                  "state=?,reason=?,started=?,ended=?,step=?,seconds=?,weights_sha256=?,metric_key=?,peak=? "
                  "WHERE id=?10",
                  "")
            : NULL;
    if (!rc) rc = to ? db_step(row, e) : e->code;
    if (rc > 0) {
        for (int i = 0; i < sqlite3_column_count(row); i++) bind_column(m, to, i + 1, row, i, from, into);
        sqlite3_bind_int64(to, 10, into);
        rc = db_step(to, e);
    }
    sqlite3_finalize(row);
    sqlite3_finalize(to);
    return rc ? rc : copy_all(m, db, from, into, e);
}

/* ---- rows not owned by a run ---- */

static int find_mapped(sqlite3 *db, const char *sql, const char *by, struct merge_map *map, int64_t from,
                       struct err *e) {
    int64_t into;
    int rc = db_int(db, e, &into, 0, sql, "t", by);
    if (!rc && into) merge_map_put(map, from, into);
    return rc;
}

int merge_keys(struct merger *m, sqlite3 *db, struct err *e) {
    sqlite3_stmt *row = db_prepare(m->from->reader, e,
                                   "SELECT id, name, split, metric, direction, timing FROM key", "");
    int rc = row ? 0 : e->code;
    while (!rc && (rc = db_step(row, e)) > 0) {
        const char *name = (const char *)sqlite3_column_text(row, 1);
        rc = db_run(db, e, "INSERT OR IGNORE INTO key(name,split,metric,direction,timing) VALUES(?,?,?,?,?)",
                    "tttii", name, sqlite3_column_text(row, 2), sqlite3_column_text(row, 3),
                    sqlite3_column_int64(row, 4), sqlite3_column_int64(row, 5));
        if (!rc)
            rc = find_mapped(db, "SELECT id FROM key WHERE name=?", name, &m->key,
                             sqlite3_column_int64(row, 0), e);
    }
    sqlite3_finalize(row);
    return rc;
}

/* If both have it, the record extended last stays. */
int merge_sweeps(struct merger *m, sqlite3 *db, struct err *e) {
    sqlite3_stmt *row = db_prepare(
        m->from->reader, e, "SELECT id, uid, name, spec, created, coalesce(changed,0) FROM sweep ORDER BY id",
        "");
    int rc = row ? 0 : e->code;
    while (!rc && (rc = db_step(row, e)) > 0) {
        const char *uid = (const char *)sqlite3_column_text(row, 1),
                   *name = (const char *)sqlite3_column_text(row, 2),
                   *spec = (const char *)sqlite3_column_text(row, 3);
        int64_t from = sqlite3_column_int64(row, 0), changed = sqlite3_column_int64(row, 5);
        rc = db_run(db, e, "INSERT INTO sweep(name,spec,created,changed,uid) SELECT ?1,?2,?3,?4,?5"
                    " WHERE NOT EXISTS (SELECT 1 FROM sweep WHERE uid=?5)", "ttint", name, spec,
                    sqlite3_column_int64(row, 4), changed, uid);
        if (!rc)
            rc = db_run(
                db, e,
                "UPDATE sweep SET name=?, spec=?, changed=?3 WHERE uid=?4 AND coalesce(changed,0) < ?3",
                "ttit", name, spec, changed, uid);
        if (!rc) rc = find_mapped(db, "SELECT id FROM sweep WHERE uid=?", uid, &m->sweep, from, e);
        if (!rc) rc = merge_rows_copy_rows(m, db, "sweep_failure", "sweep=?", from, 0, e);
    }
    sqlite3_finalize(row);
    return rc;
}

int merge_parents(struct merger *m, sqlite3 *db, struct err *e) {
    int rc = 0;
    for (size_t i = 0; !rc && i < m->run.count; i++) {
        int64_t parent;
        rc = db_int(m->from->reader, e, &parent, 0, "SELECT coalesce(parent,0) FROM run WHERE id=?", "i",
                    m->run.from[i]);
        parent = !rc && parent ? merge_map_get(&m->run, parent) : 0;
        if (parent && parent != m->run.into[i])
            rc = db_run(db, e, "UPDATE run SET parent=? WHERE id=? AND parent IS NULL", "ii", parent,
                        m->run.into[i]);
    }
    return rc;
}

int merge_runless(struct merger *m, sqlite3 *db, struct err *e) {
    static const struct {
        const char *table, *same;
    } kinds[] = {
        { "embedding", "SELECT count(*) FROM embedding WHERE run IS NULL AND created=? AND data=?" },
        { "matrix", "SELECT count(*) FROM matrix WHERE run IS NULL AND created=? AND data=?" },
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(kinds); i++) {
        char *sql = xprintf("SELECT id, created, data FROM %s WHERE run IS NULL ORDER BY id", kinds[i].table);
        sqlite3_stmt *row = db_prepare(m->from->reader, e, sql, ""),
                     *there = db_prepare(db, e, kinds[i].same, "");
        rc = row && there ? 0 : e->code;
        while (!rc && (rc = db_step(row, e)) > 0) {
            sqlite3_bind_value(there, 1, sqlite3_column_value(row, 1));
            sqlite3_bind_value(there, 2, sqlite3_column_value(row, 2));
            rc = db_step(there, e);
            bool known = rc > 0 && sqlite3_column_int(there, 0);
            sqlite3_reset(there);
            if (rc < 0) break;
            rc = known ? 0 : merge_rows_copy_rows(m, db, kinds[i].table, "id=?",
                                                  sqlite3_column_int64(row, 0), 0, e);
        }
        free(sql);
        sqlite3_finalize(row);
        sqlite3_finalize(there);
    }
    return rc;
}

/* ---- files ---- */

static bool merge_rows_is_own(const char *name) {
    return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lock");
}

bool merge_has_files(const struct store *s, int64_t run) {
    char *folder = store_run_folder(s, run);
    DIR *d = opendir(folder);
    bool any = false;
    for (struct dirent *x; d && !any && (x = readdir(d));) any = !merge_rows_is_own(x->d_name);
    if (d) closedir(d);
    free(folder);
    return any;
}

static int copy_file(const char *from, const char *to, struct err *e) {
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), out = -1;
    if (in < 0) return err_set(e, ERR_SYSTEM, "%s: cannot be read: %s", from, strerror(errno));
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = out < 0 ? -1 : 1;
    static const size_t piece = 1 << 20;
    char *bytes = xmalloc(piece);
    while (n > 0 && (n = read(in, bytes, piece)) > 0)
        for (ssize_t done = 0, k; done < n; done += k) {
            k = write(out, bytes + done, (size_t)(n - done));
            if (k < 0) n = -1, k = 0;
        }
    if (n < 0 || fsync(out))
        err_set(e, ERR_SYSTEM, "%s: cannot be copied to %s: %s", from, to, strerror(errno));
    else n = 0;
    free(bytes);
    if (out >= 0) close(out);
    close(in);
    return n ? e->code : 0;
}

static int copy_folder(const char *from, const char *to, struct err *e) {
    int rc = file_make_folder(to, e);
    DIR *d = rc ? NULL : opendir(from);
    if (!rc && !d) rc = err_set(e, ERR_SYSTEM, "%s: cannot be read: %s", from, strerror(errno));
    for (struct dirent *x; !rc && (x = readdir(d));) {
        if (merge_rows_is_own(x->d_name)) continue;
        char *a = file_join(from, x->d_name), *b = file_join(to, x->d_name);
        rc = file_is_folder(a) ? copy_folder(a, b, e) : copy_file(a, b, e);
        free(a);
        free(b);
    }
    if (d) closedir(d);
    return rc;
}

int merge_stage(struct merger *m, int64_t run, char **staged, struct err *e) {
    *staged = NULL;
    if (!merge_has_files(m->from, run)) return 0;
    char *folder = store_run_folder(m->from, run), *to = xprintf("%s/merging", m->into->files);
    file_remove_folder(to); /* left by a killed process */
    int rc = copy_folder(folder, to, e);
    if (rc) file_remove_folder(to);
    else *staged = to;
    if (rc) free(to);
    free(folder);
    return rc;
}

static void drop_damaged(const struct merger *m, const char *folder, const char *below, struct buf *names) {
    DIR *d = opendir(folder);
    for (struct dirent *x; d && (x = readdir(d));) {
        if (merge_rows_is_own(x->d_name)) continue;
        char *path = file_join(folder, x->d_name), *name = xprintf("%s%s", below, x->d_name);
        if (file_is_folder(path)) {
            char *deeper = xprintf("%s/", name);
            drop_damaged(m, path, deeper, names);
            free(deeper);
        } else if (!m->sound(path) && !unlink(path)) {
            buf_printf(names, "%s%s", names->size ? ", " : "", name);
        }
        free(path), free(name);
    }
    if (d) closedir(d);
}

char *merge_drop_damaged(const struct merger *m, const char *staged) {
    struct buf names = BUF_INIT;
    if (m->sound) drop_damaged(m, staged, "", &names);
    return names.size ? buf_take(&names) : NULL;
}

int merge_place(struct merger *m, const char *staged, int64_t into, struct err *e) {
    char *folder = store_run_folder(m->into, into);
    int rc = 0;
    if (!staged) {
        rc = file_make_folder(folder, e);
    } else if (!file_is_folder(folder)) {
        rc = rename(staged, folder)
                 ? err_set(e, ERR_SYSTEM, "%s: cannot be created: %s", folder, strerror(errno))
                 : 0;
    } else if (renameat2(AT_FDCWD, staged, AT_FDCWD, folder, RENAME_EXCHANGE)) {
        char *old = xprintf("%s-before", folder); /* a file system that cannot exchange two names */
        if (rename(folder, old) || rename(staged, folder) || rename(old, staged))
            rc = err_set(e, ERR_SYSTEM, "%s: cannot be replaced: %s", folder, strerror(errno));
        free(old);
    }
    free(folder);
    return rc;
}
