/* Ownership of a run: the process that has the lock on the file in the run's folder.  A lock ends with its
 * process for any reason, and process ids are reused; so only the lock decides, never an id or a
 * heartbeat. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

enum { ADOPT_MS = 2000 };

char *store_lock_of(const struct store *s, int64_t run) {
    return xprintf("%s/%lld/lock", s->files, (long long)run);
}

static void owner_own(struct store *s, int64_t run, int fd) {
    pthread_mutex_lock(&s->owning);
    GROW(s->owned, s->owned_room, s->owned_count + 1);
    s->owned[s->owned_count++] = (struct owned){ run, fd };
    pthread_mutex_unlock(&s->owning);
}

/* Removes the run from the list; returns the descriptor of its lock, or -1. */
static int give_away(struct store *s, int64_t run) {
    int fd = -1;
    pthread_mutex_lock(&s->owning);
    for (size_t i = 0; i < s->owned_count; i++) {
        if (s->owned[i].run != run) continue;
        fd = s->owned[i].fd;
        s->owned[i] = s->owned[--s->owned_count];
        break;
    }
    pthread_mutex_unlock(&s->owning);
    return fd;
}

bool store_owns(struct store *s, int64_t run) {
    bool found = false;
    pthread_mutex_lock(&s->owning);
    for (size_t i = 0; i < s->owned_count && !found; i++) found = s->owned[i].run == run;
    pthread_mutex_unlock(&s->owning);
    return found;
}

void store_drop_locks(struct store *s) {
    for (size_t i = 0; i < s->owned_count; i++) file_unlock(s->owned[i].fd);
    s->owned_count = 0;
}

bool store_is_alive(struct store *s, int64_t run) {
    char *path = store_lock_of(s, run);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT) fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0) return false;
    /* shared, so that two concurrent readers do not take each other for the owner */
    bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

struct creation {
    const struct store_new_run *n;
    int64_t id;
    int fd;
};

static int owner_add_module(sqlite3 *db, int64_t run, int position, const struct store_module *m,
                            struct err *e) {
    sqlite3_stmt *st = db_prepare(
        db, e,
        "INSERT INTO run_module(run,position,text,fn,act,read,write,target,insertion,composition,"
        "source,heads,init,layers,size,mid,trained,kept,scale,dropout)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        "iittttttttttttnnii", run, (int64_t)position, m->text, m->fn, m->act, m->read, m->write,
        m->target, m->insertion, m->composition, m->source, m->heads, m->init, m->layers, m->size,
        m->mid, m->trained, m->stored);
    if (!st) return e->code;
    if (m->has_scale) sqlite3_bind_double(st, 19, m->scale);
    sqlite3_bind_double(st, 20, m->dropout);
    int rc = db_step(st, e);
    sqlite3_finalize(st);
    return rc;
}

static int insert_run(sqlite3 *db, const struct store_new_run *n, int64_t key, int64_t *id,
                      struct err *e) {
    int rc = db_run(db, e,
                    "INSERT INTO "
                    "run(state,config,method,canonical,method_json,preset,model,model_folder,model_sha256,"
                    "task,task_folder,train_file,dev_file,train_sha256,dev_sha256,metric,metric_key,seed,"
                    "trained,kept,head,model_values,steps,version,kernel,parent,sweep,created,regime,"
                    "imported,name,cell,estimated_seconds,estimated_bytes,lock,uid) "
                    "VALUES('queued',?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,nullif(?,"
                    "0),nullif(?,0),'',lower(hex(randomblob(16))))",
                    "tttttttttttttttniiiiiittnnittttdi", n->config, n->method, n->canonical, n->method_json,
                    n->preset, n->model, n->model_folder, n->model_sha256, n->task, n->task_folder,
                    n->train_file, n->dev_file, n->train_sha256, n->dev_sha256, n->metric, key,
                    (int64_t)n->seed, n->trained, n->stored, n->head, n->model_values, n->steps, n->version,
                    n->kernel, n->parent, n->sweep, store_now(), n->regime, n->imported,
                    n->name && *n->name ? n->name : NULL, n->cell, n->estimated_seconds, n->estimated_bytes);
    *id = sqlite3_last_insert_rowid(db);
    return rc;
}

int owner_pass_strangers(struct store *s, sqlite3 *db, struct err *e) {
    int64_t last = 0, next;
    int rc = db_int(db, e, &last, -1, "SELECT seq FROM sqlite_sequence WHERE name='run'", "");
    bool first = last < 0;
    for (next = first ? 0 : last; !rc; next++) {
        char *folder = store_run_folder(s, next + 1);
        bool taken = file_exists(folder);
        free(folder);
        if (!taken) break;
    }
    if (rc || next == (first ? 0 : last)) return rc;
    return first ? db_run(db, e, "INSERT INTO sqlite_sequence(name,seq) VALUES('run',?)", "i", next)
                 : db_run(db, e, "UPDATE sqlite_sequence SET seq=? WHERE name='run'", "i", next);
}

static int create(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct creation *c = arg;
    int64_t key = 0;
    int rc = 0;
    const char *split = c->n->split ? c->n->split : first_split;
    if (c->n->metric) rc = key_intern(db, split, c->n->metric, c->n->direction, false, &key, e);
    if (!rc) rc = owner_pass_strangers(s, db, e);
    if (!rc) rc = insert_run(db, c->n, key, &c->id, e);
    char *folder = store_run_folder(s, c->id), *lock = store_lock_of(s, c->id);
    if (!rc)
        rc = db_run(db, e, "UPDATE run SET lock=? WHERE id=?", "ti", lock + strlen(s->folder) + 1,
                    c->id);
    for (int i = 0; !rc && i < c->n->module_count; i++)
        rc = owner_add_module(db, c->id, i, &c->n->modules[i], e);
    if (!rc && c->n->tag) rc = db_run(db, e, "INSERT INTO tag(run,name) VALUES(?,?)", "it", c->id, c->n->tag);
    if (!rc && c->n->note && *c->n->note) rc = note_set(db, c->id, c->n->note, e);
    if (!rc) rc = event_add(db, c->id, store_now(), 0, "state", "queued", NULL, e);
    for (int i = 0; !rc && i < c->n->reports; i++) {
        char *text = xprintf("%s%s", report_mark, c->n->report[i]);
        rc = event_add(db, c->id, store_now(), 0, "message", NULL, text, e);
        free(text);
    }
    /* before the commit, so that the run is never visible without its owner */
    if (!rc) rc = file_make_folder(folder, e);
    if (!rc) rc = file_lock(lock, false, &c->fd, e);
    if (!rc && c->fd < 0) rc = err_set(e, ERR_DATABASE, "%s: locked by another process", lock);
    free(folder);
    free(lock);
    return rc;
}

/* The row was not committed: its folder is removed as well, if it is empty. */
static void leave_nothing(struct store *s, struct creation *c) {
    if (c->fd < 0) return;
    char *folder = store_run_folder(s, c->id), *lock = store_lock_of(s, c->id);
    unlink(lock);
    file_unlock(c->fd);
    rmdir(folder);
    free(folder);
    free(lock);
}

int store_create_run(struct store *s, const struct store_new_run *n, int64_t *id, struct err *e) {
    BUG_IF(!n->config || !n->method);
    struct creation c = { n, 0, -1 };
    int rc = n->name ? store_check_name(n->name, e) : 0;
    if (!rc) rc = writer_call(s, create, &c, e);
    if (rc) {
        leave_nothing(s, &c);
        return rc;
    }
    owner_own(s, c.id, c.fd);
    *id = c.id;
    return 0;
}

static int owner_not_there(struct store *s, int64_t run, struct err *e) {
    return err_set(e, ERR_NOT_FOUND, "%s: run %lld does not exist", s->path, (long long)run);
}

static int owner_adopt(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    int64_t run = *(const int64_t *)arg, trashed;
    int rc = db_int(db, e, &trashed, -1, "SELECT coalesce(trashed,0) FROM run WHERE id=?", "i",
                    run);
    if (rc) return rc;
    if (trashed < 0) return owner_not_there(s, run, e);
    if (trashed)
        return err_set(e, ERR_USAGE, "run %lld is in the trash; restore it first", (long long)run);
    rc = db_run(db, e, "UPDATE run SET state='queued', reason=NULL, ended=NULL WHERE id=?", "i",
                run);
    if (!rc) rc = blocks_drop(db, run, e);
    if (!rc) rc = event_add(db, run, store_now(), 0, "state", "queued", "resumed", e);
    /* a late request to its previous owner must not stop it now */
    if (!rc)
        rc = db_run(db, e, "UPDATE control SET taken=? WHERE run=? AND taken IS NULL", "ii",
                    store_now(), run);
    return rc;
}

int store_adopt_run(struct store *s, int64_t run, struct err *e) {
    if (store_owns(s, run))
        return err_set(e, ERR_USAGE, "run %lld is already running in this process", (long long)run);
    char *folder = store_run_folder(s, run), *path = store_lock_of(s, run);
    int fd = -1, rc = file_is_folder(folder) ? 0 : owner_not_there(s, run, e);
    /* a process that marks dead runs may have the lock for a moment */
    for (int tries = 0; !rc && fd < 0; tries++) {
        rc = file_lock(path, false, &fd, e);
        if (!rc && fd < 0 && !db_nap(path, tries, ADOPT_MS))
            rc = err_set(e, ERR_USAGE, "run %lld is running in another process", (long long)run);
    }
    if (!rc) rc = writer_call(s, owner_adopt, &run, e);
    if (rc) file_unlock(fd);
    else owner_own(s, run, fd);
    free(folder);
    free(path);
    return rc;
}

struct interruption {
    int64_t run;
    bool changed;
};

/* The state is checked again in the transaction: the owner may have finished. */
static int interrupt(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct interruption *i = arg;
    int64_t now = store_now();
    int rc = db_run(db, e,
                    "UPDATE run SET state='interrupted', reason=?, ended=? WHERE id=?"
                    " AND state IN ('queued','running','paused')",
                    "tii", s->gone, now, i->run);
    i->changed = !rc && sqlite3_changes(db) > 0;
    if (!rc && i->changed) rc = event_add(db, i->run, now, -1, "state", "interrupted", s->gone, e);
    return rc || !i->changed ? rc : blocks_make(db, i->run, e);
}

int store_disown(struct store *s, int64_t run, struct err *e) {
    struct interruption i = { run, false };
    int rc = writer_call(s, interrupt, &i, e);
    file_unlock(give_away(s, run));
    return rc;
}

static int live_runs(struct store *s, int64_t **ids, size_t *count, struct err *e) {
    size_t room = 0;
    *ids = NULL;
    *count = 0;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *st = db_prepare(
        s->reader, e, "SELECT id FROM run WHERE state IN ('queued','running','paused')", "");
    int rc = st ? 1 : e->code;
    while (rc > 0 && (rc = db_step(st, e)) > 0) {
        GROW(*ids, room, *count + 1);
        (*ids)[(*count)++] = sqlite3_column_int64(st, 0);
    }
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->reading);
    return rc;
}

/* Takes the run's lock while marking it, so that no process takes over the run meanwhile. */
static int reap_one(struct store *s, int64_t run, int *count, struct err *e) {
    if (store_owns(s, run) || store_is_alive(s, run)) return 0;
    char *path = store_lock_of(s, run), *folder = store_run_folder(s, run);
    int fd = -1, rc = 0;
    if (file_is_folder(folder)) {
        rc = file_lock(path, false, &fd, e);
        if (rc || fd < 0) {
            free(path);
            free(folder);
            return rc;
        }
    }
    struct interruption i = { run, false };
    rc = writer_call(s, interrupt, &i, e);
    file_unlock(fd);
    free(path);
    free(folder);
    if (i.changed && count) ++*count;
    if (i.changed) {
        pthread_mutex_lock(&s->owning);
        GROW(s->lost, s->lost_room, s->lost_count + 1);
        s->lost[s->lost_count++] = run;
        pthread_mutex_unlock(&s->owning);
    }
    return rc;
}

size_t store_lost(struct store *s, int64_t *run, size_t room) {
    pthread_mutex_lock(&s->owning);
    size_t n = s->lost_count;
    for (size_t i = 0; i < n && i < room; i++) run[i] = s->lost[i];
    pthread_mutex_unlock(&s->owning);
    return n;
}

int store_reap(struct store *s, int *count, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    if (count) *count = 0;
    int64_t *ids;
    size_t n;
    int rc = live_runs(s, &ids, &n, e);
    for (size_t i = 0; !rc && i < n; i++) rc = reap_one(s, ids[i], count, e);
    free(ids);
    return rc;
}
