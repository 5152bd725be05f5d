#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/store.h"

/* Returns the system's error behind SQLite's, from wherever SQLite stores it; 0 when unknown. */
static int db_system_error(sqlite3 *db) {
    int why = sqlite3_system_errno(db);
    if (!why) sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &why);
    sqlite3_file *journal = NULL;
    if (!why) sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods)
        journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &why);
    return why;
}

bool db_is_full(sqlite3 *db) {
    int code = sqlite3_extended_errcode(db);
    if ((code & 0xFF) == SQLITE_FULL || code == SQLITE_IOERR_SHMSIZE) return true;
    if ((code & 0xFF) != SQLITE_IOERR) return false;
    int why = db_system_error(db);
    return why == ENOSPC || why == EDQUOT || why == EFBIG;
}

int db_error(sqlite3 *db, struct err *e) {
    const char *path = sqlite3_db_filename(db, "main");
    if (!path || !*path) path = "the database";
    int code = sqlite3_errcode(db) & 0xFF, why = db_system_error(db);
    if (db_is_full(db)) return err_set(e, ERR_SYSTEM, "%s: the disk is full", path);
    switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(e, ERR_DATABASE, "%s: locked by another program for more than %d seconds", path,
                       DB_BUSY_MS / 1000);
    case SQLITE_NOTADB:
        return err_set(e, ERR_DATABASE, "%s: not a database; the file was not changed", path);
    case SQLITE_CORRUPT:
        return err_set(e, ERR_DATABASE, "%s: damaged (%s); run petri doctor for details", path,
                       sqlite3_errmsg(db));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return err_set(e, ERR_DATABASE, "%s: %s%s%s", path, sqlite3_errmsg(db), why ? ": " : "",
                       why ? strerror(why) : "");
    case SQLITE_NOMEM:
        return err_set(e, ERR_SYSTEM, "%s: out of memory", path);
    default:
        return err_set(e, ERR_DATABASE, "%s: %s", path, sqlite3_errmsg(db));
    }
}

bool db_is_network_magic(unsigned long magic) {
    static const unsigned long magics[] = {
        0x6969,     /* NFS */
        0x517B,     /* SMB */
        0xFF534D42, /* CIFS */
        0xFE534D42, /* SMB 2 and later */
        0x65735546, /* FUSE: sshfs and others */
        0x01021997, /* 9P */
        0x0BD00BD0, /* Lustre */
        0x00C36400, /* Ceph */
        0x5346414F, /* AFS */
        0x47504653, /* GPFS */
    };
    for (size_t i = 0; i < COUNT_OF(magics); i++)
        if ((magic & 0xFFFFFFFFul) == magics[i]) return true;
    return false;
}

const char *db_journal_for(const char *path) {
    struct statfs fs;
    return statfs(path, &fs) == 0 && db_is_network_magic((unsigned long)fs.f_type) ? "delete"
                                                                                   : "wal";
}

/* ---- waiting ---- */

static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static struct store_wait wait_hook;

struct store_wait store_on_wait(struct store_wait w) {
    pthread_mutex_lock(&wait_lock);
    struct store_wait before = wait_hook;
    wait_hook = w;
    pthread_mutex_unlock(&wait_lock);
    return before;
}

/* One wait at a time per thread; SQLite reports only the number of attempts. */
static _Thread_local int64_t wait_from;
static _Thread_local bool wait_said;

bool db_nap(const char *path, int tries, int limit_ms) {
    enum { SAY_MS = 1000 };
    int64_t now = clock_ms();
    if (!tries) {
        wait_from = now;
        wait_said = false;
    }
    if (now - wait_from >= limit_ms) return false;
    if (!wait_said && now - wait_from >= SAY_MS) {
        char *text = xprintf("%s: locked by another program; waiting up to %d seconds",
                             path && *path ? path : "the database", limit_ms / 1000);
        wait_said = true;
        pthread_mutex_lock(&wait_lock);
        if (wait_hook.say) wait_hook.say(wait_hook.self, text);
        pthread_mutex_unlock(&wait_lock);
        free(text);
    }
    clock_sleep_ms(DB_NAP_MS);
    return true;
}

static int on_busy(void *db, int tries) {
    return db_nap(sqlite3_db_filename(db, "main"), tries, DB_BUSY_MS);
}

void db_wait(sqlite3 *db, bool waits) { sqlite3_busy_handler(db, waits ? on_busy : NULL, db); }

int db_lock(const char *lock_path, int *fd, struct err *e) {
    for (int tries = 0;; tries++) {
        int rc = file_lock(lock_path, false, fd, e);
        if (rc || *fd >= 0) return rc;
        if (!db_nap(lock_path, tries, DB_BUSY_MS))
            return err_set(e, ERR_DATABASE, "%s: locked by another process for more than %d seconds",
                           lock_path, DB_BUSY_MS / 1000);
    }
}

/* A journal starts with these bytes in one of two orders; one that was never written is zero. */
static bool is_journal(const char *wal) {
    unsigned char b[4] = { 0 };
    int fd = open(wal, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, b, sizeof b);
    if (fd >= 0) close(fd);
    return n < (ssize_t)sizeof b || !(b[0] | b[1] | b[2] | b[3]) ||
           (b[0] == 0x37 && b[1] == 0x7f && b[2] == 0x06 && (b[3] == 0x82 || b[3] == 0x83));
}

/* Refuses unusable files at PATH-wal or PATH-shm.  SQLite names only PATH, and silently overwrites a file
 * that is not a journal. */
static int check_beside(const char *path, const char *suffix, int mode, struct err *e) {
    char *file = xprintf("%s%s", path, suffix);
    bool wal = !strcmp(suffix, "-wal");
    const char *holds = wal ? "the latest changes to" : "the shared memory of";
    struct stat st;
    int rc = 0;
    if (stat(file, &st)) {
        if (errno != ENOENT)
            rc = err_set(e, ERR_DATABASE, "%s: cannot be accessed (%s); it contains %s %s", file,
                         strerror(errno), holds, path);
    } else if (!S_ISREG(st.st_mode)) {
        rc = err_set(e, ERR_DATABASE, "%s: not a regular file; SQLite stores %s %s there; move it away",
                     file, holds, path);
    } else if (st.st_size && access(file, mode)) {
        rc = err_set(e, ERR_DATABASE, "%s: cannot be %s (%s); it contains %s %s", file,
                     mode & W_OK ? "written" : "read", strerror(errno), holds, path);
    } else if (wal && !is_journal(file)) {
        rc = err_set(e, ERR_DATABASE,
                     "%s: not an SQLite write-ahead log; the file was not changed; if it does "
                     "not belong to %s, move it away",
                     file, path);
    }
    free(file);
    return rc;
}

static int set_up(sqlite3 *db, struct err *e) {
    sqlite3_extended_result_codes(db, 1);
    db_wait(db, true);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 256 << 20);
    return db_exec(
        db,
        "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA mmap_size=0;"
        "PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY;",
        e);
}

int db_open_writer(const char *path, sqlite3 **out, struct err *e) {
    int rc = check_beside(path, "-wal", R_OK | W_OK, e);
    if (!rc) rc = check_beside(path, "-shm", R_OK | W_OK, e);
    if (rc) return rc;
    rc = sqlite3_open_v2(path, out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                                            SQLITE_OPEN_EXRESCODE, NULL);
    if (!*out) return err_set(e, ERR_SYSTEM, "%s: out of memory", path);
    rc = rc ? db_error(*out, e) : set_up(*out, e);
    if (!rc && sqlite3_db_readonly(*out, "main"))
        rc = err_set(e, ERR_SYSTEM, "%s: read-only: no write permission for the file; existing runs can be "
                                    "read; to record runs, use --db FILE", path);
    if (!rc) return 0;
    sqlite3_close_v2(*out);
    *out = NULL;
    return rc;
}

/* Returns file:PATH?immutable=1 with all but plain characters escaped; caller frees. */
static char *immutable_name(const char *path) {
    struct buf name = BUF_INIT;
    buf_puts(&name, "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        if (strchr("/.-_", *p) || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
            (*p >= 'A' && *p <= 'Z'))
            buf_putc(&name, (char)*p);
        else
            buf_printf(&name, "%%%02X", *p);
    }
    buf_puts(&name, "?immutable=1");
    return buf_take(&name);
}

static bool has_wal(const char *path) {
    char *wal = xprintf("%s-wal", path);
    struct stat st;
    bool has = stat(wal, &st) == 0 && st.st_size > 0;
    free(wal);
    return has;
}

/* Runs a reading statement: opening alone does not touch the file. */
static int try_reading(sqlite3 *db, struct err *e) {
    int64_t version;
    return db_int(db, e, &version, 0, "PRAGMA schema_version", "");
}

/* *code: the error code of SQLite when it is refused. */
static int open_reading(const char *name, int flags, sqlite3 **out, int *code, struct err *e) {
    int rc = sqlite3_open_v2(name, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX |
                                            SQLITE_OPEN_EXRESCODE | flags, NULL);
    if (!*out) return err_set(e, ERR_SYSTEM, "%s: out of memory", name);
    rc = rc ? db_error(*out, e) : set_up(*out, e);
    sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!rc) rc = db_exec(*out, "PRAGMA query_only=ON", e);
    if (!rc) rc = try_reading(*out, e);
    if (!rc) return 0;
    *code = sqlite3_errcode(*out) & 0xFF;
    sqlite3_close_v2(*out);
    *out = NULL;
    return rc;
}

int db_open_reader(const char *path, sqlite3 **out, struct err *e) {
    int code = SQLITE_OK;
    int rc = check_beside(path, "-wal", R_OK, e);
    if (rc) return rc;
    rc = open_reading(path, 0, out, &code, e);
    /* a WAL database needs its shared memory file, which cannot be created in such a folder */
    if (!rc || (code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || !file_exists(path))
        return rc;
    if (has_wal(path) && (rc = check_beside(path, "-shm", R_OK | W_OK, e))) return rc;
    if (has_wal(path))
        return err_set(e, ERR_DATABASE,
                       "%s: its latest changes are in %s-wal, but the folder is not writable; copy both "
                       "files to a writable folder",
                       path, path);
    char *name = immutable_name(path);
    rc = open_reading(name, SQLITE_OPEN_URI, out, &code, e);
    free(name);
    return rc;
}

void db_close(sqlite3 *db) {
    if (db && sqlite3_close(db) != SQLITE_OK)
        BUG("unfinalized statement: %s", sqlite3_errmsg(db));
}

int db_exec(sqlite3 *db, const char *sql, struct err *e) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : db_error(db, e);
}

int db_bind_text(sqlite3_stmt *st, int at, const char *s) {
    return s ? sqlite3_bind_text(st, at, s, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(st, at);
}

static sqlite3_stmt *prepare_list(sqlite3 *db, struct err *e, const char *sql, const char *types,
                                  va_list list) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    for (int i = 0; !rc && types[i]; i++) {
        int64_t n;
        switch (types[i]) {
        case 'i': rc = sqlite3_bind_int64(st, i + 1, va_arg(list, int64_t)); break;
        case 'd': rc = sqlite3_bind_double(st, i + 1, va_arg(list, double)); break;
        case 't': rc = db_bind_text(st, i + 1, va_arg(list, const char *)); break;
        case 'n':
            n = va_arg(list, int64_t);
            if (n) rc = sqlite3_bind_int64(st, i + 1, n);
            break;
        default: BUG("unknown type '%c'", types[i]);
        }
    }
    if (!rc) return st;
    db_error(db, e);
    sqlite3_finalize(st);
    return NULL;
}

sqlite3_stmt *db_prepare(sqlite3 *db, struct err *e, const char *sql, const char *types, ...) {
    va_list list;
    va_start(list, types);
    sqlite3_stmt *st = prepare_list(db, e, sql, types, list);
    va_end(list);
    return st;
}

int db_step(sqlite3_stmt *st, struct err *e) {
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) return 1;
    return rc == SQLITE_DONE ? 0 : db_error(sqlite3_db_handle(st), e);
}

/* take NULL: rows are ignored. */
static int each_list(sqlite3 *db, struct err *e, void (*take)(void *self, sqlite3_stmt *row), void *self,
                     const char *sql, const char *types, va_list list) {
    sqlite3_stmt *st = prepare_list(db, e, sql, types, list);
    if (!st) return e->code;
    int rc;
    while ((rc = db_step(st, e)) > 0)
        if (take) take(self, st);
    sqlite3_finalize(st);
    return rc;
}

int db_run(sqlite3 *db, struct err *e, const char *sql, const char *types, ...) {
    va_list list;
    va_start(list, types);
    int rc = each_list(db, e, NULL, NULL, sql, types, list);
    va_end(list);
    return rc;
}

int db_each(sqlite3 *db, struct err *e, void (*take)(void *self, sqlite3_stmt *row), void *self,
            const char *sql, const char *types, ...) {
    va_list list;
    va_start(list, types);
    int rc = each_list(db, e, take, self, sql, types, list);
    va_end(list);
    return rc;
}

int db_int(sqlite3 *db, struct err *e, int64_t *out, int64_t none, const char *sql,
           const char *types, ...) {
    va_list list;
    va_start(list, types);
    sqlite3_stmt *st = prepare_list(db, e, sql, types, list);
    va_end(list);
    *out = none;
    if (!st) return e->code;
    int rc = db_step(st, e);
    if (rc > 0) *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc < 0 ? rc : 0;
}

char *db_text(sqlite3_stmt *st, int column, bool empty) {
    const char *s = (const char *)sqlite3_column_text(st, column);
    if (!s && sqlite3_column_type(st, column) != SQLITE_NULL) return xstrdup("");
    return s ? xstrdup(s) : empty ? xstrdup("") : NULL;
}
