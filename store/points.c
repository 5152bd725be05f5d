/* Points, evaluations and files of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

void points_room(struct store_points *p, size_t count) {
    GROW(p->step, p->step_room, count);
    GROW(p->value, p->value_room, count);
}

/* Uses an aggregate, so that SQLite iterates over the rows itself: half the time of stepping through a
 * million rows.  They come in the order of the key (run, key, step), which is the table. */
static void take_point(sqlite3_context *to, int count, sqlite3_value **of) {
    struct store_points *p = sqlite3_user_data(to);
    double value;
    (void)count;
    if (sqlite3_value_type(of[1]) != SQLITE_TEXT) value = sqlite3_value_double(of[1]);
    else if (!store_kind_is_number((const char *)sqlite3_value_text(of[1]), &value)) return;
    points_room(p, p->count + 1);
    p->step[p->count] = sqlite3_value_int64(of[0]);
    p->value[p->count++] = value;
}

static void points_end(sqlite3_context *to) { sqlite3_result_null(to); }

/* The function is defined only while it has an array to fill: user SQL never sees it. */
int points_rows(sqlite3 *db, int64_t run, int64_t key, int64_t from, struct store_points *out,
                struct err *e) {
    static const char function[] = "petri_points";
    enum { HOW = SQLITE_UTF8 | SQLITE_DIRECTONLY };
    if (sqlite3_create_function(db, function, 2, HOW, out, NULL, take_point, points_end))
        return db_error(db, e);
    int rc = db_run(
        db, e,
        "SELECT petri_points(step, ifnull(value, kind)) FROM metric WHERE run=?1 AND key=?2 AND step>=?3",
        "iii", run, key, from);
    sqlite3_create_function(db, function, 2, HOW, NULL, NULL, NULL, NULL);
    return rc;
}

/* Packed points, then the rows after them. */
static int points_fill(sqlite3 *db, int64_t run, const char *name, int64_t from, struct store_points *out,
                       struct err *e) {
    int64_t key;
    int rc = db_int(db, e, &key, -1, "SELECT id FROM key WHERE name=?", "t", name);
    if (rc || key < 0) return rc;
    rc = blocks_read(db, run, key, &from, out, e);
    return rc ? rc : points_rows(db, run, key, from, out, e);
}

int store_points(struct store *s, int64_t run, const char *name, int64_t from,
                 struct store_points *out, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = points_fill(s->reader, run, name, from, out, e);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_points_release(out);
    return rc;
}

void store_points_release(struct store_points *p) {
    free(p->step);
    free(p->value);
    memset(p, 0, sizeof *p);
}

static void take_evaluation(void *self, sqlite3_stmt *st) {
    struct store_evals *v = self;
    GROW(v->row, v->room, v->count + 1);
    struct store_eval_row *r = &v->row[v->count++];
    r->name = db_text(st, 0, true);
    r->rows = db_text(st, 1, true);
    r->constant = sqlite3_column_int(st, 2) == ALIKE_CONSTANT;
    r->none_valid = sqlite3_column_int(st, 2) == ALIKE_INVALID;
    r->best = sqlite3_column_int(st, 3) != 0;
    store_value_of(st, 4, &r->value);
    r->step = r->value.step;
}

/* CROSS JOIN fixes this order in SQLite: few evaluations, and the points of each; otherwise it scans all
 * points of the run. */
int store_evaluations(struct store *s, int64_t run, struct store_evals *out, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_evaluation, out,
                     "SELECT k.name, v.rows, v.constant, v.best, m.value, m.kind, m.reason,"
                     " m.step FROM evaluation v CROSS JOIN key k ON k.split=v.split"
                     " CROSS JOIN metric m ON m.run=v.run AND m.key=k.id AND m.step=v.step"
                     " WHERE v.run=? ORDER BY v.step, v.split, k.id",
                     "i", run);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_evals_release(out);
    return rc;
}

void store_evals_release(struct store_evals *v) {
    for (size_t i = 0; i < v->count; i++) {
        free(v->row[i].name);
        free(v->row[i].rows);
        free(v->row[i].value.undefined);
    }
    free(v->row);
    memset(v, 0, sizeof *v);
}

/* Files, and the folder of their relative paths. */
struct filing {
    struct store_files *out;
    const char *folder;
};

static void take_file(void *self, sqlite3_stmt *st) {
    const struct filing *w = self;
    GROW(w->out->file, w->out->room, w->out->count + 1);
    struct store_file *f = &w->out->file[w->out->count++];
    f->step = sqlite3_column_int64(st, 0);
    f->bytes = sqlite3_column_int64(st, 1);
    f->created = sqlite3_column_int64(st, 2);
    f->kind = db_text(st, 3, true);
    const char *path = (const char *)sqlite3_column_text(st, 4);
    f->path = !path ? xstrdup("") : *path == '/' ? xstrdup(path) : file_join(w->folder, path);
    f->sha256 = db_text(st, 5, false);
}

int store_artifacts(struct store *s, int64_t run, struct store_files *out, struct err *e) {
    struct err unused = ERR_INIT;
    struct filing w = { out, s->folder };
    if (!e) e = &unused;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_file, &w,
                     "SELECT step, coalesce(bytes,0), created, kind, path, sha256"
                     " FROM artifact WHERE run=? ORDER BY created DESC, step DESC, id DESC",
                     "i", run);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_files_release(out);
    return rc;
}

void store_files_release(struct store_files *f) {
    for (size_t i = 0; i < f->count; i++) {
        free(f->file[i].kind);
        free(f->file[i].path);
        free(f->file[i].sha256);
    }
    free(f->file);
    memset(f, 0, sizeof *f);
}
