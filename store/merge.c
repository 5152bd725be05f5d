/* Merging two databases: which runs are taken, and how. */
#include "store/merge.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Held while one process merges into a file: runs are identified and stored without interference. */
static const char merge_hold[] = "6d65726765206865";

/* ---- two states of one run ---- */

struct state {
    int64_t step;
    bool finished;
    char *weights;
};

static int merge_read_state(struct store *s, int64_t run, struct state *out, struct err *e) {
    *out = (struct state){ 0 };
    sqlite3_stmt *st = db_prepare(
        s->reader, e, "SELECT step, state='finished', weights_sha256 FROM run WHERE id=?", "i", run);
    int rc = st ? db_step(st, e) : e->code;
    if (rc > 0) {
        out->step = sqlite3_column_int64(st, 0);
        out->finished = sqlite3_column_int(st, 1);
        out->weights = db_text(st, 2, false);
    }
    sqlite3_finalize(st);
    return rc < 0 ? rc : 0;
}

static sqlite3_stmt *merge_points_of(struct store *s, int64_t run, struct err *e) {
    return db_prepare(s->reader, e,
                      "SELECT m.step, k.name, m.value, m.kind FROM metric m JOIN key k ON k.id=m.key"
                      " WHERE m.run=? AND k.timing=0 ORDER BY m.step, k.name", "i", run);
}

/* Order of two rows of points; 0: same name and step. */
static int merge_order(sqlite3_stmt *a, sqlite3_stmt *b) {
    int64_t x = sqlite3_column_int64(a, 0), y = sqlite3_column_int64(b, 0);
    if (x != y) return x < y ? -1 : 1;
    return strcmp((const char *)sqlite3_column_text(a, 1), (const char *)sqlite3_column_text(b, 1));
}

static bool merge_same_value(sqlite3_stmt *a, sqlite3_stmt *b) {
    const char *x = (const char *)sqlite3_column_text(a, 3), *y = (const char *)sqlite3_column_text(b, 3);
    if (x || y) return x && y && !strcmp(x, y);
    return sqlite3_column_double(a, 2) == sqlite3_column_double(b, 2);
}

/* Finds where two histories of a run diverge: the first point with different values.  *step −1: they do not;
 * *mark (caller frees): FROM's value there, which names that branch. */
static int find_parting(struct merger *m, int64_t into, int64_t from, int64_t *step, char **mark,
                        struct err *e) {
    sqlite3_stmt *a = merge_points_of(m->into, into, e), *b = merge_points_of(m->from, from, e);
    int x = a && b ? db_step(a, e) : e->code, y = x < 0 ? x : db_step(b, e);
    *step = -1;
    while (x > 0 && y > 0) {
        int first = merge_order(a, b);
        if (!first && !merge_same_value(a, b)) {
            char value[32];
            text_from_double(sqlite3_column_double(b, 2), value);
            *step = sqlite3_column_int64(b, 0);
            *mark = xprintf("%lld %s %s", (long long)*step, (const char *)sqlite3_column_text(b, 1), value);
            break;
        }
        if (first <= 0) x = db_step(a, e);
        if (x >= 0 && first >= 0) y = db_step(b, e);
    }
    sqlite3_finalize(a);
    sqlite3_finalize(b);
    return x < 0 ? x : y < 0 ? y : 0;
}

/* The relation of FROM's run to that of INTO. */
static int merge_compare(struct merger *m, int64_t into, int64_t from, struct store_merged *out,
                         char **mark, struct err *e) {
    struct state a = { 0 }, b = { 0 };
    int rc = merge_read_state(m->into, into, &a, e);
    if (!rc) rc = merge_read_state(m->from, from, &b, e);
    if (!rc) rc = find_parting(m, into, from, &out->step, mark, e);
    if (!rc && out->step < 0 && a.finished && b.finished && a.weights && b.weights &&
        strcmp(a.weights, b.weights) != 0) {
        out->step = b.step;
        *mark = xstrdup(b.weights);
    }
    bool bare = !merge_has_files(m->into, into) && merge_has_files(m->from, from);
    if (rc || out->step >= 0) out->what = STORE_MERGED_APART;
    else if (b.step > a.step || (b.step == a.step && b.finished && !a.finished))
        out->what = STORE_MERGED_FURTHER;
    else if (b.step == a.step && b.finished == a.finished)
        out->what = bare ? STORE_MERGED_FURTHER : STORE_MERGED_SAME;
    else out->what = STORE_MERGED_BEHIND;
    free(a.weights);
    free(b.weights);
    return rc;
}

/* ---- a run ---- */

static char *uid_of(struct store *s, int64_t run, struct err *e) {
    sqlite3_stmt *st = db_prepare(s->reader, e, "SELECT uid FROM run WHERE id=?", "i", run);
    char *uid = st && db_step(st, e) > 0 ? db_text(st, 0, true) : NULL;
    sqlite3_finalize(st);
    return uid;
}

/* Finds INTO's state of the run, among the branches that diverged before.  *uid: its uid, or the one to
 * use. */
static int find_target(struct merger *m, struct store_merged *out, char **uid, struct err *e) {
    *uid = uid_of(m->from, out->from, e);
    int rc = *uid ? 0
             : e->code
                 ? e->code
                 : err_set(e, ERR_DATABASE, "%s: damaged: run %lld has no uid", m->from->path,
                           (long long)out->from);
    for (;;) {
        int64_t found;
        char *mark = NULL;
        if (!rc)
            rc = db_int(m->into->reader, e, &found, 0, "SELECT id FROM run WHERE uid=? ORDER BY id", "t",
                        *uid);
        if (rc) return rc;
        if (!found) {
            if (!out->apart) out->what = STORE_MERGED_NEW;
            return 0;
        }
        out->into = found;
        rc = merge_compare(m, found, out->from, out, &mark, e);
        if (rc || out->what != STORE_MERGED_APART) return rc;
        char *branch = xprintf("%s %s", *uid, mark), hex[65];
        sha256_hex(branch, strlen(branch), hex);
        free(branch), free(mark), free(*uid);
        *uid = xstrndup(hex, 32);
        out->apart = found;
        out->into = 0;
    }
}

struct one_run {
    struct merger *m;
    struct store_merged *out;
    const char *uid, *staged;
    int lock;
};

/* Both runs' logs record it. */
static int tell_apart(struct one_run *r, sqlite3 *db, struct err *e) {
    const struct store_merged *x = r->out;
    char *text = xprintf(
        "run %lld and run %lld (run %lld of %s) differ from step %lld on and remain separate runs",
        (long long)x->apart, (long long)x->into, (long long)x->from, r->m->from->path, (long long)x->step);
    int rc = event_add(db, x->apart, store_now(), -1, "message", NULL, text, e);
    if (!rc) rc = event_add(db, x->into, store_now(), -1, "message", NULL, text, e);
    free(text);
    return rc;
}

static int tell_lack(struct one_run *r, sqlite3 *db, struct err *e) {
    bool earlier = merge_has_files(r->m->into, r->out->into);
    char *text = xprintf("merged from %s, where its files are missing: %s", r->m->from->path,
                         earlier ? "the local files are from an earlier step" :
                             "the run cannot be used for predictions or resumed");
    int rc = event_add(db, r->out->into, store_now(), -1, "message", NULL, text, e);
    free(text);
    return rc;
}

static int tell_damaged(struct one_run *r, sqlite3 *db, struct err *e) {
    char *text = xprintf("merged from %s, except for damaged files: %s", r->m->from->path,
                         r->out->damaged);
    int rc = event_add(db, r->out->into, store_now(), -1, "message", NULL, text, e);
    free(text);
    return rc;
}

static int take_run(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct one_run *r = arg;
    struct store_merged *x = r->out;
    bool fresh = !x->into;
    int rc;
    if (fresh) {
        rc = merge_new_run(r->m, db, x->from, r->uid, &x->into, e);
    } else {
        char *lock = store_lock_of(s, x->into), *folder = store_run_folder(s, x->into);
        rc = file_make_folder(folder, e);
        if (!rc) rc = file_lock(lock, false, &r->lock, e);
        free(lock);
        free(folder);
        if (!rc && r->lock < 0) return x->what = STORE_MERGED_BUSY, 0;
        if (!rc) rc = merge_over_run(r->m, db, x->from, x->into, e);
    }
    if (!rc && fresh && x->apart) rc = tell_apart(r, db, e);
    if (!rc && x->missing_files) rc = tell_lack(r, db, e);
    if (!rc && x->damaged) rc = tell_damaged(r, db, e);
    return rc ? rc : merge_place(r->m, r->staged, x->into, e);
}

static int merge_add_words(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    struct one_run *r = arg;
    (void)s;
    return merge_words(r->m, db, r->out->from, r->out->into, e);
}

/* Its record lists files, and all are missing. */
static int look_for_files(struct merger *m, struct store_merged *x, struct err *e) {
    int64_t files;
    int rc = db_int(m->from->reader, e, &files, 0, "SELECT count(*) FROM artifact WHERE run=?", "i", x->from);
    x->missing_files = !rc && files && !merge_has_files(m->from, x->from);
    return rc;
}

static int merge_run(struct merger *m, struct store_merged *x, struct err *e) {
    char *uid = NULL, *staged = NULL;
    if (store_is_alive(m->from, x->from)) return x->what = STORE_MERGED_BUSY, 0;
    int rc = find_target(m, x, &uid, e);
    bool take = !rc && (!x->into || x->what == STORE_MERGED_FURTHER);
    struct one_run r = { m, x, uid, NULL, -1 };
    if (take) rc = look_for_files(m, x, e);
    if (!rc && take) rc = merge_stage(m, x->from, &staged, e);
    if (staged) x->damaged = merge_drop_damaged(m, staged);
    if (x->damaged && x->into && merge_has_files(m->into, x->into)) {
        x->what = STORE_MERGED_DAMAGED;
        take = false;
    }
    r.staged = staged;
    if (!rc) rc = writer_call(m->into, take ? take_run : merge_add_words, &r, e);
    file_unlock(r.lock);
    if (staged) file_remove_folder(staged); /* replaced or rejected files */
    if (!rc && x->into) merge_map_put(&m->run, x->from, x->into);
    free(uid);
    free(staged);
    return rc;
}

/* ---- the whole database ---- */

static int merge_begin(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    int rc = merge_keys(arg, db, e);
    return rc ? rc : merge_sweeps(arg, db, e);
}

static int merge_end(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    int rc = merge_parents(arg, db, e);
    return rc ? rc : merge_runless(arg, db, e);
}

static int merge_all_runs(struct store *from, struct store_merge *out, struct err *e) {
    size_t room = 0;
    sqlite3_stmt *st = db_prepare(from->reader, e, "SELECT id FROM run ORDER BY id", "");
    int rc = st ? 0 : e->code;
    while (!rc && (rc = db_step(st, e)) > 0) {
        GROW(out->run, room, out->runs + 1);
        out->run[out->runs++] = (struct store_merged){ .from = sqlite3_column_int64(st, 0), .step = -1 };
        rc = 0;
    }
    sqlite3_finalize(st);
    return rc;
}

static int hold_merge(struct store *s, struct err *e) {
    bool held = false;
    int rc = 0;
    while (!rc && !held) {
        rc = store_hold(s, merge_hold, &held, e);
        if (!rc && !held) clock_sleep_ms(50);
    }
    return rc;
}

int store_merge(struct store *into, struct store *from, bool (*sound)(const char *path),
                struct store_merge *out, struct err *e) {
    struct merger m = { .into = into, .from = from, .sound = sound };
    memset(out, 0, sizeof *out);
    int rc = hold_merge(into, e);
    if (rc) return rc;
    pthread_mutex_lock(&from->reading);
    pthread_mutex_lock(&into->reading);
    rc = merge_all_runs(from, out, e);
    if (!rc) rc = writer_call(into, merge_begin, &m, e);
    for (size_t i = 0; !rc && i < out->runs; i++) rc = merge_run(&m, &out->run[i], e);
    if (!rc) rc = writer_call(into, merge_end, &m, e);
    pthread_mutex_unlock(&into->reading);
    pthread_mutex_unlock(&from->reading);
    store_let_go(into, merge_hold);
    out->sweeps = m.sweep.count;
    out->sweep_from = m.sweep.from;
    out->sweep_into = m.sweep.into;
    free(m.run.from), free(m.run.into), free(m.key.from), free(m.key.into);
    return rc;
}

void store_merge_release(struct store_merge *m) {
    for (size_t i = 0; i < m->runs; i++) free(m->run[i].damaged);
    free(m->run), free(m->sweep_from), free(m->sweep_into);
    memset(m, 0, sizeof *m);
}
