#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"
#include "store/schema.h"

int64_t store_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool store_is_readonly(const struct store *s) { return s->mode == STORE_READ; }

const char *store_path(const struct store *s) { return s->path; }

char *store_run_folder(const struct store *s, int64_t run) {
    return xprintf("%s/%lld", s->files, (long long)run);
}

/* Returns the absolute path, independent of the working folder; caller frees. */
static char *open_absolute(const char *path) {
    if (*path == '/') return xstrdup(path);
    char here[PATH_MAX];
    return getcwd(here, sizeof here) ? file_join(here, path) : xstrdup(path);
}

static struct store *open_make(const char *path, enum store_mode mode) {
    struct store *s = xcalloc(1, sizeof *s);
    s->path = open_absolute(path);
    char *slash = strrchr(s->path, '/');
    s->folder = slash && slash > s->path ? xstrndup(s->path, (size_t)(slash - s->path))
                                         : xstrdup("/");
    s->lock_path = xprintf("%s-lock", s->path);
    s->files = xprintf("%s-files", s->path);
    s->gone = xstrdup("the process that trained the run ended unexpectedly");
    s->mode = mode;
    s->holds = -1;
    pthread_mutex_init(&s->reading, NULL);
    pthread_mutex_init(&s->asking, NULL);
    pthread_mutex_init(&s->owning, NULL);
    pthread_mutex_init(&s->naming, NULL);
    return s;
}

static void open_release(struct store *s) {
    store_drop_locks(s);
    if (s->holds >= 0) close(s->holds);
    db_close(s->reader);
    db_close(s->asker);
    pthread_mutex_destroy(&s->reading);
    pthread_mutex_destroy(&s->asking);
    pthread_mutex_destroy(&s->owning);
    keys_free(s);
    free(s->owned);
    free(s->lost);
    free(s->path);
    free(s->folder);
    free(s->lock_path);
    free(s->files);
    free(s->gone);
    free(s);
}

/* *size of the file, -1 when there is none.  Refuses what cannot be a database. */
static int look_at(const struct store *s, int64_t *size, struct err *e) {
    struct stat st;
    *size = -1;
    if (stat(s->path, &st))
        return errno == ENOENT ? 0 : err_set(e, ERR_DATABASE, "%s: cannot be opened: %s", s->path,
                                             strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_DATABASE, "%s: a folder, not a database", s->path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_DATABASE, "%s: not a regular file", s->path);
    *size = (int64_t)st.st_size;
    return 0;
}

/* Checked before anything is created next to it: an unrelated file must not be changed. */
static int look_first(struct store *s, struct err *e) {
    sqlite3 *db;
    int rc = db_open_writer(s->path, &db, e);
    if (rc) return rc;
    enum schema_kind kind;
    rc = schema_detect(db, &kind, e);
    if (!rc && kind == SCHEMA_NEWER) {
        rc = err_set(e, ERR_DATABASE,
                     "%s: written by a newer version of petri and read-only here; use that version, or "
                     "another file with --db FILE",
                     s->path);
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    db_close(db);
    return rc;
}

static int cannot_write(const struct store *s, struct err *e) {
    return err_set(e, ERR_SYSTEM, "%s: the folder is not writable (%s); make it writable or use another "
                                  "file with --db FILE",
                   s->folder, strerror(errno));
}

static int make_file(struct store *s, struct err *e) {
    int fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno == EEXIST ? 0 : cannot_write(s, e);
    close(fd);
    return 0;
}

static bool open_is_same_file(const char *a, const char *b, bool *both) {
    struct stat one, two;
    *both = !stat(a, &one) && !stat(b, &two);
    return *both && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

/* The file records its location when runs were last added.  If another file is there, this one is a copy,
 * possibly made during training: nobody has the locks of the copied runs, which does not mean that they
 * ended.  *here: the recorded location is this one. */
static int look_home(struct store *s, sqlite3 *db, bool *here, struct err *e) {
    *here = false;
    sqlite3_stmt *st = db_prepare(db, e, "SELECT value FROM meta WHERE name='home'", "");
    if (!st) return e->code;
    int rc = db_step(st, e);
    char *home = rc > 0 ? db_text(st, 0, true) : NULL;
    sqlite3_finalize(st);
    bool both = false;
    if (home) *here = !strcmp(home, s->path) || open_is_same_file(home, s->path, &both);
    if (home && !*here && both) {
        free(s->gone);
        s->gone = xprintf("this database is a copy, made while the run was training in %s; see that "
                          "database for its result", home);
    }
    free(home);
    return rc < 0 ? rc : 0;
}

/* On failure nothing is lost: the next process that opens it records its location. */
static void say_home(const struct store *s, sqlite3 *db) {
    struct err ignored = ERR_INIT;
    db_run(db, &ignored, "INSERT OR REPLACE INTO meta(name,value) VALUES('home',?)", "t", s->path);
}

/* Called with the lock, so that two processes starting concurrently create one file. */
static int open_prepare(struct store *s, sqlite3 **db, struct err *e) {
    int rc = make_file(s, e);
    if (!rc) rc = db_open_writer(s->path, db, e);
    if (rc) return rc;
    enum schema_kind kind;
    rc = schema_detect(*db, &kind, e);
    const char *journal = db_journal_for(s->path);
    char *sql = xprintf("PRAGMA journal_mode=%s", journal);
    if (!rc) rc = db_exec(*db, sql, e);
    free(sql);
    if (!rc && kind == SCHEMA_EMPTY) rc = schema_make(*db, e);
    bool here = true;
    if (!rc) rc = look_home(s, *db, &here, e);
    if (!rc && !here) say_home(s, *db);
    if (rc) db_close(*db);
    return rc;
}

static int open_for_writing(struct store *s, struct err *e) {
    int64_t size;
    int rc = look_at(s, &size, e);
    if (!rc) rc = file_make_folder(s->folder, e);
    if (!rc && access(s->folder, W_OK)) rc = cannot_write(s, e);
    if (!rc && size > 0) rc = look_first(s, e);
    int lock = -1;
    if (!rc) rc = db_lock(s->lock_path, &lock, e);
    if (rc) return rc;
    sqlite3 *db = NULL;
    rc = open_prepare(s, &db, e);
    file_unlock(lock);
    if (rc) return rc;
    rc = db_open_reader(s->path, &s->reader, e);
    if (rc) {
        db_close(db);
        return rc;
    }
    rc = writer_new(s, db, e);
    return rc ? rc : store_reap(s, NULL, e);
}

/* Writes what a store opened for reading cannot: the tables of an empty file, and the state of dead runs.
 * Does nothing if the file is not writable; lists then derive the state. */
static int lend_a_writer(const char *path, struct err *e) {
    struct store *s;
    int rc = store_open(&s, path, STORE_WRITE, e);
    return rc ? rc : store_close(s, e);
}

static int dead_runs(struct store *s, bool *any, struct err *e) {
    sqlite3_stmt *st = db_prepare(
        s->reader, e, "SELECT id FROM run WHERE state IN ('queued','running','paused')", "");
    if (!st) return e->code;
    int rc;
    while ((rc = db_step(st, e)) > 0)
        if (!store_is_alive(s, sqlite3_column_int64(st, 0))) *any = true;
    sqlite3_finalize(st);
    return rc;
}

static int open_for_reading(struct store *s, struct err *e) {
    int64_t size;
    int rc = look_at(s, &size, e);
    if (rc) return rc;
    if (size < 0)
        return err_set(e, ERR_NOT_FOUND, "%s: the database does not exist yet; the first run creates it",
                       s->path);
    rc = db_open_reader(s->path, &s->reader, e);
    enum schema_kind kind = SCHEMA_SAME;
    if (!rc) rc = schema_detect(s->reader, &kind, e);
    if (rc || kind == SCHEMA_NEWER) return rc;
    if (kind == SCHEMA_EMPTY) return lend_a_writer(s->path, e);
    bool any = false, here;
    rc = look_home(s, s->reader, &here, e);
    if (!rc) rc = dead_runs(s, &any, e);
    struct err ignored = ERR_INIT;
    if (!rc && any) lend_a_writer(s->path, &ignored);
    return rc;
}

int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    *out = NULL;
    if (sqlite3_libversion_number() < 3037000)
        return err_set(e, ERR_DATABASE, "SQLite %s is too old; petri needs 3.37 or later",
                       sqlite3_libversion());
    if (!sqlite3_threadsafe())
        return err_set(e, ERR_DATABASE, "SQLite was built without thread support, which petri requires");
    struct store *s = open_make(path, mode);
    int rc = mode == STORE_WRITE ? open_for_writing(s, e) : open_for_reading(s, e);
    if (!rc) {
        *out = s;
        return 0;
    }
    struct err ignored = ERR_INIT;
    if (s->writer) writer_free(s, &ignored);
    open_release(s);
    return rc;
}

int store_close(struct store *s, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    if (!s) return 0;
    int rc = s->writer ? writer_free(s, e) : 0;
    open_release(s);
    return rc;
}
