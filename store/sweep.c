/* Sweeps: their records, coordination between processes that share one, and locks on shared work. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/db.h"
#include "store/internal.h"

struct sweep_call {
    int64_t id;
    const char *name, *text, *was, *uid, *key;
};

static int add_sweep(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct sweep_call *c = arg;
    int rc = c->uid ? db_int(db, e, &c->id, 0, "SELECT id FROM sweep WHERE uid=?", "t", c->uid) : 0;
    if (rc || c->id) return rc;
    rc = db_run(
        db, e,
        "INSERT INTO sweep(name,spec,created,uid) VALUES(?,?,?,coalesce(?,lower(hex(randomblob(16)))))",
        "ttit", c->name, c->text, store_now(), c->uid);
    c->id = sqlite3_last_insert_rowid(db);
    return rc;
}

int store_sweep(struct store *s, const char *name, const char *spec_json, const char *uid, int64_t *id,
                struct err *e) {
    struct sweep_call c = { .name = name, .text = spec_json, .uid = uid };
    int rc = writer_call(s, add_sweep, &c, e);
    *id = c.id;
    return rc;
}

static int change_sweep(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct sweep_call *c = arg;
    int rc = db_run(db, e, "UPDATE sweep SET name=?, spec=?, changed=? WHERE id=? AND spec=?", "ttiit",
                    c->name, c->text, store_now(), c->id, c->was);
    if (rc || sqlite3_changes(db)) return rc;
    return err_set(
        e, ERR_DATABASE,
        "sweep %lld was changed by another process in the meantime; nothing was saved; try again",
        (long long)c->id);
}

int store_sweep_change(struct store *s, int64_t id, const char *name, const char *was, const char *spec_json,
                       struct err *e) {
    struct sweep_call c = { .name = name, .text = spec_json, .was = was, .id = id };
    return writer_call(s, change_sweep, &c, e);
}

/* Later than any before, even within a millisecond. */
static int ask_stop(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct sweep_call *c = arg;
    return db_run(db, e, "UPDATE sweep SET stop=max(?,coalesce(stop,0)+1) WHERE id=?", "ii", store_now(),
                  c->id);
}

int store_sweep_stop(struct store *s, int64_t id, struct err *e) {
    struct sweep_call c = { .id = id };
    return writer_call(s, ask_stop, &c, e);
}

int store_sweep_stopped(struct store *s, int64_t id, int64_t *when, struct err *e) {
    pthread_mutex_lock(&s->reading);
    int rc = db_int(s->reader, e, when, 0, "SELECT coalesce(stop,0) FROM sweep WHERE id=?", "i", id);
    pthread_mutex_unlock(&s->reading);
    return rc;
}

static int add_failure(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct sweep_call *c = arg;
    return db_run(db, e, "INSERT OR REPLACE INTO sweep_failure(sweep,key,reason,time) VALUES(?,?,?,?)",
                  "itti", c->id, c->key, c->text, store_now());
}

int store_sweep_failure(struct store *s, int64_t id, const char *key, const char *reason, struct err *e) {
    struct sweep_call c = { .id = id, .key = key, .text = reason };
    return writer_call(s, add_failure, &c, e);
}

/* ---- locks on work ---- */

/* One byte of one file per name, so that nothing needs to be removed: the position is the first 60 bits of
 * the name.  The lock belongs to the open file and ends with the process for any reason. */
static int hold_byte(struct store *s, const char *name, short type, struct err *e) {
    char digits[16];
    BUG_IF(strlen(name) < 15);
    memcpy(digits, name, 15);
    digits[15] = '\0';
    struct flock f = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)strtoull(digits, NULL, 16), .l_len = 1
    };
    if (!fcntl(s->holds, F_OFD_SETLK, &f)) return 1;
    if (errno == EAGAIN || errno == EACCES) return 0;
    return err_set(e, ERR_SYSTEM, "%s/holds: cannot be locked: %s", s->files, strerror(errno));
}

static int open_holds(struct store *s, struct err *e) {
    if (s->holds >= 0) return 0;
    if (file_make_folder(s->files, e)) return e->code;
    char *path = file_join(s->files, "holds");
    s->holds = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int rc = s->holds < 0 ? err_set(e, ERR_SYSTEM, "%s: cannot be opened: %s", path, strerror(errno)) : 0;
    free(path);
    return rc;
}

int store_hold(struct store *s, const char *name, bool *held, struct err *e) {
    pthread_mutex_lock(&s->owning);
    int rc = open_holds(s, e);
    if (!rc) rc = hold_byte(s, name, F_WRLCK, e);
    pthread_mutex_unlock(&s->owning);
    *held = rc == 1;
    return rc < 0 ? rc : 0;
}

void store_let_go(struct store *s, const char *name) {
    struct err ignored = ERR_INIT; /* released with the file at the latest */
    pthread_mutex_lock(&s->owning);
    if (s->holds >= 0) hold_byte(s, name, F_UNLCK, &ignored);
    pthread_mutex_unlock(&s->owning);
}
