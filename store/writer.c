/* The writer's thread: a ring of records, committed in batches, and synchronous calls.  A record leaves the
 * ring only after its commit. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

/* A record is up to eight rows, usually about four. */
enum { RING = 4096, BATCH_ROWS = 1000, BATCH_RECORDS = 250, BATCH_MS = 250 };
enum { RETRY_MS = 1000, WAL_PAGES = 1000, TEND_MS = 1000 };
/* Others retry a lock every DB_NAP_MS (db_nap), so a thread that takes it repeatedly leaves it free for some
 * of their attempts. */
enum { TURN_MS = 100, FREE_MS = 3 * DB_NAP_MS };
/* A journal that grew beyond this because of a long reader is truncated once the reader is gone. */
enum { JOURNAL_KEPT = 16 << 20 };

struct write_call {
    int (*work)(struct store *s, sqlite3 *db, void *arg, struct err *e);
    void *arg;
    struct err *e;
    uint64_t after; /* records that must be committed first */
    int rc;
    bool done;
    struct write_call *next;
};

struct writer {
    struct store *store;
    sqlite3 *db;
    struct applier *applier;
    pthread_t thread;

    pthread_mutex_t mutex;
    pthread_cond_t work, room; /* signaled for: space in the ring, a commit, a failure, the end of a call */
    struct store_record *ring;
    uint64_t put, committed;   /* counts since the start; the ring contains put - committed */
    int64_t oldest;            /* monotonic ms of the oldest record */
    uint64_t urgent;           /* commit immediately up to this count */
    uint64_t failures;
    struct write_call *first_call, *last_call;
    bool closing, gave_up;
    enum store_condition condition;
    struct err why;
    uint64_t left_out;         /* records that could never be written */
    struct err left_out_why;
    /* writer's thread only */
    int64_t turn, released; /* since when the lock was taken without a pause; when it was last released */
    int wal_pages;
    bool cut;        /* the journal's file is too long */
    int64_t tend_at; /* when to check the journal without new records; 0: never */
};

static int on_wal(void *self, sqlite3 *db, const char *name, int pages) {
    (void)db;
    (void)name;
    ((struct writer *)self)->wal_pages = pages;
    return SQLITE_OK;
}

static int64_t journal_bytes(const struct writer *w) {
    char *path = xprintf("%s-wal", w->store->path);
    struct stat st;
    int64_t bytes = stat(path, &st) ? 0 : (int64_t)st.st_size;
    free(path);
    return bytes;
}

/* Checkpoints a long journal as far as readers allow, and truncates one that stayed long.  Called with the
 * lock.  A failure loses nothing: it is retried after the next commit, and each second while idle. */
static void tend_journal(struct writer *w) {
    if (w->wal_pages < WAL_PAGES && !w->cut) return;
    int pages = 0, moved = -1;
    int rc = sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);
    bool whole = rc == SQLITE_OK && pages == moved;
    if (whole) w->wal_pages = 0;
    w->cut = journal_bytes(w) > JOURNAL_KEPT;
    if (whole && w->cut) {
        db_wait(w->db, false); /* does not wait for readers */
        w->cut = sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) != SQLITE_OK;
        db_wait(w->db, true);
    }
    w->tend_at = !whole || w->cut ? clock_ms() + TEND_MS : 0;
}

/* If no commit does it; another process that has the lock then does it. */
static void tend_idle(struct writer *w) {
    struct err ignored = ERR_INIT;
    int lock = -1;
    w->tend_at = clock_ms() + TEND_MS;
    if (file_lock(w->store->lock_path, false, &lock, &ignored) || lock < 0) return;
    tend_journal(w);
    file_unlock(lock);
}

struct write_batch {
    struct writer *w;
    uint64_t from, to;
    bool alone;   /* each record separately, so that a refused one does not block others */
    bool refused; /* a record was refused for its content */
    uint64_t left_out;
    struct err why; /* the last one was */
};

/* Dropped records are reported in the run's log. */
static int writer_leave_out(struct write_batch *b, sqlite3 *db, const struct store_record *r,
                            const struct err *why, struct err *e) {
    int rc = db_exec(db, "ROLLBACK TO record", e);
    keys_forget(b->w->store);
    if (rc) return rc;
    b->left_out++;
    b->why = *why;
    err_prefix(&b->why, "a record of run %lld at step %lld could not be saved and was dropped",
               (long long)r->run, (long long)r->step);
    struct err ignored = ERR_INIT;
    event_add(db, r->run, r->time, r->step, "message", NULL, b->why.text, &ignored);
    return 0;
}

static int apply_alone(struct write_batch *b, sqlite3 *db, const struct store_record *r, struct err *e) {
    int rc = db_exec(db, "SAVEPOINT record", e);
    bool refused = false;
    struct err why = ERR_INIT;
    if (!rc && (rc = applier_apply(b->w->applier, r, &refused, &why))) {
        *e = why;
        if (refused) rc = writer_leave_out(b, db, r, &why, e);
    }
    return rc ? rc : db_exec(db, "RELEASE record", e);
}

static int apply_batch(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct write_batch *b = arg;
    int rc = 0;
    b->left_out = 0;
    for (uint64_t i = b->from; !rc && i < b->to; i++) {
        const struct store_record *r = &b->w->ring[i % RING];
        rc = b->alone ? apply_alone(b, db, r, e) : applier_apply(b->w->applier, r, &b->refused, e);
    }
    return rc;
}

/* Takes the lock, with a pause for others after several consecutive transactions: a lock has no queue, and
 * the thread that releases it is the first to take it again. */
static int take_turn(struct writer *w, int *lock, struct err *e) {
    int64_t now = clock_ms();
    if (now - w->released < FREE_MS && now - w->turn >= TURN_MS) {
        clock_sleep_ms(FREE_MS);
        now = clock_ms();
    }
    if (now - w->released >= FREE_MS) w->turn = now;
    return db_lock(w->store->lock_path, lock, e);
}

static void end_turn(struct writer *w, int lock) {
    file_unlock(lock);
    w->released = clock_ms();
}

/* Runs one transaction under the lock. */
static int transact(struct writer *w, int (*work)(struct store *, sqlite3 *, void *, struct err *),
                    void *arg, enum store_condition *condition, struct err *e) {
    int lock;
    *condition = STORE_BUSY;
    int rc = take_turn(w, &lock, e);
    if (rc) {
        if (rc != ERR_DATABASE) *condition = STORE_BROKEN;
        return rc;
    }
    rc = db_exec(w->db, "BEGIN IMMEDIATE", e);
    if (!rc) rc = work(w->store, w->db, arg, e);
    if (!rc) rc = db_exec(w->db, "COMMIT", e);
    if (rc) {
        int code = sqlite3_errcode(w->db) & 0xFF;
        *condition = db_is_full(w->db) ? STORE_DISK_FULL
                     : code == SQLITE_BUSY ? STORE_BUSY
                                           : STORE_BROKEN;
        if (!sqlite3_get_autocommit(w->db)) sqlite3_exec(w->db, "ROLLBACK", NULL, NULL, NULL);
        keys_forget(w->store);
    } else {
        *condition = STORE_OK;
        tend_journal(w);
    }
    end_turn(w, lock);
    return rc;
}

static uint64_t batch_end(const struct writer *w) {
    uint64_t to = w->committed;
    int rows = 0;
    while (to < w->put && rows < BATCH_ROWS) {
        const struct store_record *r = &w->ring[to++ % RING];
        rows += r->kind == RECORD_STEP ? r->count : 1;
    }
    return to;
}

static void write_batch(struct writer *w) {
    struct write_batch b = { .w = w, .from = w->committed, .to = batch_end(w) };
    struct err e = ERR_INIT;
    enum store_condition condition;
    pthread_mutex_unlock(&w->mutex);
    int rc = transact(w, apply_batch, &b, &condition, &e);
    if (rc && b.refused) {
        b.alone = true;
        rc = transact(w, apply_batch, &b, &condition, &e);
    }
    pthread_mutex_lock(&w->mutex);
    w->condition = condition;
    if (!rc && b.left_out) {
        w->left_out += b.left_out;
        w->left_out_why = b.why;
    }
    if (rc) {
        w->why = e;
        w->failures++;
        w->urgent = w->committed;
    } else {
        for (; w->committed < b.to; w->committed++)
            payload_free(w->ring[w->committed % RING].payload);
        w->oldest = clock_ms();
    }
    pthread_cond_broadcast(&w->room);
}

static void finish_call(struct writer *w, struct write_call *c, int rc) {
    w->first_call = c->next;
    if (!c->next) w->last_call = NULL;
    c->rc = rc;
    c->done = true;
    pthread_cond_broadcast(&w->room);
}

static void run_calls(struct writer *w) {
    while (w->first_call && w->first_call->after <= w->committed) {
        struct write_call *c = w->first_call;
        enum store_condition condition;
        pthread_mutex_unlock(&w->mutex);
        int rc = transact(w, c->work, c->arg, &condition, c->e);
        pthread_mutex_lock(&w->mutex);
        finish_call(w, c, rc);
    }
}

static void fail_calls(struct writer *w) {
    while (w->first_call) {
        *w->first_call->e = w->why;
        finish_call(w, w->first_call, w->why.code);
    }
}

/* Milliseconds to sleep until there is work; 0: none, -1: until woken. */
static int64_t idle_ms(const struct writer *w) {
    uint64_t waiting = w->put - w->committed;
    if (w->closing || w->first_call || (waiting && w->urgent > w->committed)) return 0;
    if (!waiting) return -1;
    int64_t age = clock_ms() - w->oldest;
    if (w->condition != STORE_OK) return age >= RETRY_MS ? 0 : RETRY_MS - age;
    if (waiting >= BATCH_RECORDS) return 0;
    return age >= BATCH_MS ? 0 : BATCH_MS - age;
}

/* Waits until there is work, or the journal is due. */
static void sleep_ms(struct writer *w, int64_t ms) {
    if (w->tend_at) {
        int64_t due = w->tend_at - clock_ms();
        if (due < 1) due = 1;
        if (ms < 0 || due < ms) ms = due;
    }
    if (ms < 0) {
        pthread_cond_wait(&w->work, &w->mutex);
        return;
    }
    struct timespec until = clock_after((double)ms / 1000);
    pthread_cond_timedwait(&w->work, &w->mutex, &until);
}

static void *writer_main(void *self) {
    struct writer *w = self;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        int64_t ms = idle_ms(w);
        if (ms) {
            sleep_ms(w, ms);
            if (!w->tend_at || clock_ms() < w->tend_at) continue;
            pthread_mutex_unlock(&w->mutex);
            tend_idle(w);
            pthread_mutex_lock(&w->mutex);
            continue;
        }
        if (w->put > w->committed) {
            uint64_t failures = w->failures;
            write_batch(w);
            if (w->failures > failures) {
                w->oldest = clock_ms();
                fail_calls(w);
                if (w->closing) break;
            }
        }
        run_calls(w);
        if (w->closing && w->put == w->committed && !w->first_call) break;
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

int writer_new(struct store *s, sqlite3 *db, struct err *e) {
    struct writer *w = xcalloc(1, sizeof *w);
    w->store = s;
    w->db = db;
    w->applier = applier_new(s, db, e);
    if (!w->applier) {
        db_close(db);
        free(w);
        return e->code;
    }
    w->ring = xcalloc(RING, sizeof *w->ring);
    sqlite3_wal_hook(db, on_wal, w);
    pthread_mutex_init(&w->mutex, NULL);
    clock_cond_init(&w->work);
    clock_cond_init(&w->room);
    /* signals belong to the program's other threads */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, NULL, writer_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->writer = w;
    if (!rc) return 0;
    s->writer = NULL;
    applier_free(w->applier);
    db_close(db);
    free(w->ring);
    free(w);
    return err_set(e, ERR_SYSTEM, "the writer thread of the database could not be started: %s", strerror(rc));
}

/* Closing the last connection checkpoints the WAL, so it takes the lock too. */
static void close_connection(struct writer *w) {
    struct err ignored = ERR_INIT;
    int lock;
    bool locked = db_lock(w->store->lock_path, &lock, &ignored) == 0;
    if (!locked) sqlite3_db_config(w->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    applier_free(w->applier);
    db_close(w->db);
    if (locked) file_unlock(lock);
}

int writer_free(struct store *s, struct err *e) {
    struct writer *w = s->writer;
    pthread_mutex_lock(&w->mutex);
    w->closing = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    uint64_t lost = w->put - w->committed;
    int rc = 0;
    if (lost) {
        *e = w->why;
        rc = err_prefix(e, "the last %llu records could not be written", (unsigned long long)lost);
        for (uint64_t i = w->committed; i < w->put; i++) payload_free(w->ring[i % RING].payload);
    }
    if (!rc && w->left_out) {
        *e = w->left_out_why;
        rc = err_prefix(e, "%llu records could not be saved; the last one",
                        (unsigned long long)w->left_out);
    }
    db_close(s->reader);
    s->reader = NULL;
    close_connection(w);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->room);
    pthread_mutex_destroy(&w->mutex);
    free(w->ring);
    free(w);
    s->writer = NULL;
    return rc;
}

int writer_call(struct store *s, int (*work)(struct store *, sqlite3 *, void *, struct err *),
                void *arg, struct err *e) {
    struct writer *w = s->writer;
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    if (!w) return err_set(e, ERR_USAGE, "%s: opened read-only", s->path);
    struct write_call c = { .work = work, .arg = arg, .e = e };
    pthread_mutex_lock(&w->mutex);
    c.after = w->put;
    if (w->last_call) w->last_call->next = &c;
    else w->first_call = &c;
    w->last_call = &c;
    pthread_cond_signal(&w->work);
    while (!c.done) pthread_cond_wait(&w->room, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
    return c.rc;
}

int writer_put(struct store *s, const struct store_record *r) {
    struct writer *w = s->writer;
    if (!w || !store_owns(s, r->run)) {
        payload_free(r->payload);
        return ERR_USAGE;
    }
    pthread_mutex_lock(&w->mutex);
    while (w->put - w->committed == RING && !w->gave_up) {
        w->urgent = w->condition == STORE_OK ? w->put : w->urgent;
        pthread_cond_signal(&w->work);
        pthread_cond_wait(&w->room, &w->mutex);
    }
    bool dropped = w->gave_up;
    if (dropped) {
        payload_free(r->payload);
    } else {
        if (w->put == w->committed && w->condition == STORE_OK) w->oldest = clock_ms();
        w->ring[w->put++ % RING] = *r;
        if (r->kind == RECORD_CHANGE) w->urgent = w->put;
        /* the thread sleeps without a limit only with an empty ring */
        if (w->put - w->committed == 1 || w->put - w->committed >= BATCH_RECORDS ||
            r->kind == RECORD_CHANGE)
            pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->mutex);
    return dropped ? ERR_SYSTEM : 0;
}

int store_flush(struct store *s, struct err *e) {
    struct writer *w = s->writer;
    if (!w) return 0;
    pthread_mutex_lock(&w->mutex);
    uint64_t target = w->put, failures = w->failures;
    int rc = 0;
    while (w->committed < target) {
        if (w->failures > failures) {
            if (e) *e = w->why;
            rc = w->why.code;
            break;
        }
        if (w->urgent < target) w->urgent = target;
        pthread_cond_signal(&w->work);
        pthread_cond_wait(&w->room, &w->mutex);
    }
    pthread_mutex_unlock(&w->mutex);
    return rc;
}

void store_status(struct store *s, struct store_status *out) {
    memset(out, 0, sizeof *out);
    struct writer *w = s->writer;
    if (!w) return;
    pthread_mutex_lock(&w->mutex);
    out->condition = w->condition;
    out->waiting = (size_t)(w->put - w->committed);
    if (w->condition != STORE_OK) memcpy(out->text, w->why.text, sizeof out->text);
    out->left_out = (size_t)w->left_out;
    memcpy(out->left_out_why, w->left_out_why.text, sizeof out->left_out_why);
    pthread_mutex_unlock(&w->mutex);
}

void store_give_up(struct store *s) {
    struct writer *w = s->writer;
    if (!w) return;
    pthread_mutex_lock(&w->mutex);
    w->gave_up = true;
    pthread_cond_broadcast(&w->room);
    pthread_mutex_unlock(&w->mutex);
}
