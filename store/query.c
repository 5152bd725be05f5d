/* Lists of runs and single runs as plain structs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/db.h"
#include "store/filter.h"
#include "store/internal.h"

const char report_mark[] = "rows read: ";

bool store_kind_is_number(const char *kind, double *value) {
    if (!strcmp(kind, "undefined")) return false;
    *value = !strcmp(kind, "nan") ? NAN : *kind == '-' ? -INFINITY : INFINITY;
    return true;
}

void store_value_of(sqlite3_stmt *st, int column, struct store_value *out) {
    const char *kind = (const char *)sqlite3_column_text(st, column + 1);
    *out = (struct store_value){ .v = NAN };
    out->step = sqlite3_column_int64(st, column + 3);
    if (kind) {
        out->measured = store_kind_is_number(kind, &out->v);
        if (!out->measured) out->undefined = db_text(st, column + 2, true);
    } else if (sqlite3_column_type(st, column) != SQLITE_NULL) {
        out->v = sqlite3_column_double(st, column);
        out->measured = true;
    }
}

/* Columns of every list, in the order of fill_run. */
#define RUN_COLUMNS                                                                                \
    "r.id, r.parent, r.sweep, r.state, r.reason, r.method, r.preset, r.model, r.task, r.metric,"   \
    " coalesce(d.direction,0), r.seed, r.trained, r.kept, r.head, r.model_values, r.step,"         \
    " r.steps, r.seconds, r.created, r.started, r.ended, r.trashed, r.weights_sha256,"             \
    " (SELECT group_concat(name,', ') FROM (SELECT name FROM tag WHERE run=r.id ORDER BY name)),"  \
    " n.text, r.version,"                                                                          \
    " coalesce((SELECT constant FROM evaluation WHERE run=r.id AND split=coalesce(d.split,split)"  \
    " ORDER BY step DESC LIMIT 1),0), d.name,"                                                     \
    " b.best_value, NULL, NULL, b.best_step, l.last_value, l.last_kind, l.last_reason,"            \
    " l.last_step, " FILTER_ROWS ", " FILTER_OPTION("lr") ", r.regime, r.dev_sha256, r.peak, r.name,"  \
    " r.estimated_seconds, r.estimated_bytes"
/* d: the name of the primary metric on the deciding split */
#define RUN_TABLES                                                                                 \
    " FROM run r LEFT JOIN key d ON d.id=r.metric_key"                                             \
    " LEFT JOIN summary b ON b.run=r.id AND b.key=r.metric_key"                                    \
    " LEFT JOIN summary l ON l.run=r.id AND l.key=(SELECT id FROM key WHERE name='loss')"          \
    " LEFT JOIN note n ON n.run=r.id"
enum { RUN_WIDTH = 45, SORTED_WIDTH = 4 /* store_value_of */ };

static void fill_run(sqlite3_stmt *st, struct store_run *r) {
    memset(r, 0, sizeof *r);
    r->id = sqlite3_column_int64(st, 0);
    r->parent = sqlite3_column_int64(st, 1);
    r->sweep = sqlite3_column_int64(st, 2);
    const char *state = (const char *)sqlite3_column_text(st, 3);
    int known = state ? store_state_by_name(state) : -1;
    r->state = known < 0 ? STORE_INTERRUPTED : (enum store_state)known;
    r->reason = db_text(st, 4, false);
    r->method = db_text(st, 5, true);
    r->preset = db_text(st, 6, true);
    r->model = db_text(st, 7, true);
    r->task = db_text(st, 8, true);
    r->metric = db_text(st, 9, true);
    r->direction = sqlite3_column_int(st, 10);
    r->seed = (uint64_t)sqlite3_column_int64(st, 11);
    r->trained = sqlite3_column_int64(st, 12);
    r->stored = sqlite3_column_int64(st, 13);
    r->head = sqlite3_column_int64(st, 14);
    r->model_values = sqlite3_column_int64(st, 15);
    r->step = sqlite3_column_int64(st, 16);
    r->steps = sqlite3_column_int64(st, 17);
    r->seconds = sqlite3_column_double(st, 18);
    r->created = sqlite3_column_int64(st, 19);
    r->started = sqlite3_column_int64(st, 20);
    r->ended = sqlite3_column_int64(st, 21);
    r->trashed = sqlite3_column_int64(st, 22);
    r->weights_sha256 = db_text(st, 23, false);
    r->tags = db_text(st, 24, true);
    r->note = db_text(st, 25, false);
    r->version = db_text(st, 26, false);
    r->constant = sqlite3_column_int(st, 27) == ALIKE_CONSTANT;
    r->none_valid = sqlite3_column_int(st, 27) == ALIKE_INVALID;
    r->decides = db_text(st, 28, true);
    store_value_of(st, 29, &r->best);
    store_value_of(st, 33, &r->loss);
    r->examples = sqlite3_column_int64(st, 37);
    r->lr = sqlite3_column_type(st, 38) == SQLITE_NULL ? NAN : sqlite3_column_double(st, 38);
    r->regime = db_text(st, 39, true);
    r->dev_sha256 = db_text(st, 40, false);
    r->peak = sqlite3_column_int64(st, 41);
    r->name = db_text(st, 42, false);
    r->estimated_seconds = sqlite3_column_double(st, 43);
    r->estimated_bytes = sqlite3_column_int64(st, 44);
}

/* A row with a live state although its lock is free is believed only when read after the lock was checked: an
 * owner commits the last state before it releases the lock.  Therefore read after the list's transaction,
 * whose rows may be older. */
static int query_settle(struct store *s, struct store_run *r, struct err *e) {
    if (!store_state_is_live(r->state) || store_is_alive(s, r->id)) return 0;
    sqlite3_stmt *st = db_prepare(s->reader, e, "SELECT state, reason FROM run WHERE id=?", "i",
                                  r->id);
    if (!st) return e->code;
    int rc = db_step(st, e);
    free(r->reason);
    r->reason = NULL;
    int known = -1;
    if (rc > 0) {
        char *state = db_text(st, 0, true);
        known = store_state_by_name(state);
        free(state);
        r->reason = db_text(st, 1, false);
    }
    sqlite3_finalize(st);
    if (known >= 0) r->state = (enum store_state)known;
    if (store_state_is_live(r->state)) {
        r->state = STORE_INTERRUPTED;
        free(r->reason);
        r->reason = xstrdup(s->gone);
    }
    return rc < 0 ? rc : 0;
}

static void release_value(struct store_value *v) { free(v->undefined); }

static void release_module(struct store_module *m) {
    const char *const texts[] = { m->text,  m->fn,        m->act,         m->read,
                                  m->write, m->insertion, m->composition, m->source,
                                  m->heads, m->init,      m->target,      m->layers };
    for (size_t i = 0; i < COUNT_OF(texts); i++) free((char *)(uintptr_t)texts[i]);
}

void store_run_release(struct store_run *r) {
    char *const texts[] = { r->reason,         r->method,       r->preset,      r->regime,
                            r->model,          r->task,         r->metric,      r->decides,
                            r->weights_sha256, r->name,         r->tags,        r->note,
                            r->version,        r->config,       r->canonical,   r->method_json,
                            r->model_folder,   r->model_sha256, r->task_folder, r->train_file,
                            r->dev_file,       r->train_sha256, r->dev_sha256,  r->kernel,
                            r->folder,         r->imported };
    for (size_t i = 0; i < COUNT_OF(texts); i++) free(texts[i]);
    release_value(&r->best);
    release_value(&r->loss);
    release_value(&r->sorted);
    for (int i = 0; i < r->module_count; i++) release_module(&r->module[i]);
    free(r->module);
    for (size_t i = 0; i < r->value_count; i++) {
        free(r->value[i].name);
        release_value(&r->value[i].last);
        release_value(&r->value[i].best);
    }
    free(r->value);
    for (int i = 0; i < r->reports; i++) free(r->report[i]);
    free(r->report);
    memset(r, 0, sizeof *r);
}

void store_runs_release(struct store_runs *l) {
    for (size_t i = 0; i < l->count; i++) store_run_release(&l->run[i]);
    free(l->run);
    memset(l, 0, sizeof *l);
}

/* SQL for the candidates of the list: runs of lessons and draws are listed on request. */
#define NOT_TAGGED(names) "NOT EXISTS(SELECT 1 FROM tag WHERE run=r.id AND name IN (" names "))"
#define UNASKED NOT_TAGGED("'" STORE_LESSON_TAG "','" STORE_DRAW_TAG "'")
static const char *listed_among(const struct store_list *list, const struct filter *f) {
    if (list->all) return list->trash ? "r.trashed IS NOT NULL" : "r.trashed IS NULL";
    if (list->trash) return f->draws ? "r.trashed IS NOT NULL"
                                     : "r.trashed IS NOT NULL AND " NOT_TAGGED("'" STORE_DRAW_TAG "'");
    return f->lessons ? "r.trashed IS NULL"
           : f->draws ? "r.trashed IS NULL AND " NOT_TAGGED("'" STORE_LESSON_TAG "'")
                      : "r.trashed IS NULL AND " UNASKED;
}

/* f NULL: all of them. */
static int count_runs(struct store *s, const struct filter *f, const char *among, int64_t *out,
                      struct err *e) {
    char *sql = xprintf("SELECT count(*)%s WHERE %s AND %s", f ? RUN_TABLES : " FROM run r", among,
                        f ? f->where.data : "1");
    sqlite3_stmt *st = db_prepare(s->reader, e, sql, "");
    free(sql);
    if (!st) return e->code;
    if (f) filter_bind(f, st);
    int rc = db_step(st, e);
    if (rc > 0) *out = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return rc < 0 ? rc : 0;
}

/* Counts needed by a list with a limit. */
static int count_listed(struct store *s, const struct store_list *list, const struct filter *f,
                        const char *among, struct store_runs *out, struct err *e) {
    bool whole = list->limit <= 0 && !list->offset, any = filter_is_any(f);
    int rc = 0;
    if (whole)
        for (size_t i = 0; i < out->count; i++) out->total += !out->run[i].unfit;
    else rc = count_runs(s, any ? NULL : f, among, &out->total, e);
    if (any) out->all = out->total;
    else if (whole && list->mark) out->all = (int64_t)out->count;
    else if (!rc) rc = count_runs(s, NULL, among, &out->all, e);
    return rc;
}

static int list_runs(struct store *s, const struct store_list *list, const struct filter *f,
                     const char *among, struct store_runs *out, struct err *e) {
    const char *where = list->mark ? "1" : f->where.data, *fits = list->mark ? f->where.data : "1";
    char *sql = xprintf("SELECT " RUN_COLUMNS ", o.%s_value, %s, %s, o.%s_step, (%s) IS NOT TRUE" RUN_TABLES
                        " LEFT JOIN summary o ON o.run=r.id AND o.key=%s"
                        " WHERE %s AND %s ORDER BY %s LIMIT %lld OFFSET %lld",
                        f->sort_best ? "best" : "last", f->sort_best ? "NULL" : "o.last_kind",
                        f->sort_best ? "NULL" : "o.last_reason", f->sort_best ? "best" : "last",
                        fits, f->sort_key, among, where, f->order.data,
                        (long long)(list->limit > 0 ? list->limit : -1), (long long)list->offset);
    sqlite3_stmt *st = db_prepare(s->reader, e, sql, "");
    free(sql);
    if (!st) return e->code;
    filter_bind(f, st);
    size_t room = 0;
    int rc;
    while ((rc = db_step(st, e)) > 0) {
        GROW(out->run, room, out->count + 1);
        struct store_run *r = &out->run[out->count++];
        fill_run(st, r);
        store_value_of(st, RUN_WIDTH, &r->sorted);
        r->unfit = sqlite3_column_int(st, RUN_WIDTH + SORTED_WIDTH) != 0;
    }
    sqlite3_finalize(st);
    return rc;
}

int store_list(struct store *s, const struct store_list *list, struct store_runs *out,
               struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    struct filter f;
    int rc = db_exec(s->reader, "BEGIN", e);
    if (!rc) {
        rc = filter_read(&f, s->reader, list->filter, list->sort, e);
        if (!rc) {
            const char *among = listed_among(list, &f);
            rc = list_runs(s, list, &f, among, out, e);
            if (!rc) rc = count_listed(s, list, &f, among, out, e);
            filter_release(&f);
        }
        sqlite3_exec(s->reader, "COMMIT", NULL, NULL, NULL);
    }
    for (size_t i = 0; !rc && i < out->count; i++) rc = query_settle(s, &out->run[i], e);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_runs_release(out);
    return rc;
}

/* Returns the run with a name: runs in the trash come last. */
static int find_named(struct store *s, const char *name, int64_t *run, struct err *e) {
    struct buf others = BUF_INIT;
    int rc = 1, n = 0;
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *st = db_prepare(s->reader, e,
                                  "SELECT id FROM run WHERE name=?1 AND (trashed IS NULL OR NOT EXISTS "
                                  "(SELECT 1 FROM run WHERE name=?1 AND trashed IS NULL)) ORDER BY id",
                                  "t", name);
    if (!st) rc = e->code;
    for (; rc > 0 && (rc = db_step(st, e)) > 0; n++) {
        *run = sqlite3_column_int64(st, 0);
        if (n < 8) buf_printf(&others, "%s%lld", n ? ", " : "", (long long)*run);
    }
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->reading);
    if (!rc && !n)
        rc = err_set(e, ERR_USAGE, "unknown run \"%s\"; use its id, its name, or \"last\"", name);
    else if (!rc && n > 1)
        rc = err_set(e, ERR_USAGE, "\"%s\" is the name of %d runs; use an id (%s%s)", name, n,
                     buf_text(&others), n > 8 ? ", …" : "");
    buf_release(&others);
    return rc;
}

int64_t store_version(struct store *s) {
    struct err ignored = ERR_INIT;
    int64_t version = 0;
    pthread_mutex_lock(&s->reading);
    db_int(s->reader, &ignored, &version, 0, "PRAGMA data_version", "");
    pthread_mutex_unlock(&s->reading);
    return version;
}

int store_find(struct store *s, const char *typed, int64_t *run, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    const char *digits = *typed == '#' ? typed + 1 : typed;
    bool last = !strcmp(typed, "last");
    int64_t id = 0;
    if (!last && !text_to_int(digits, &id)) return find_named(s, typed, run, e);
    pthread_mutex_lock(&s->reading);
    int rc = last
                 ? db_int(s->reader, e, run, -1,
                          "SELECT max(id) FROM run r WHERE trashed IS NULL AND " UNASKED " HAVING max(id)",
                          "")
                 : db_int(s->reader, e, run, -1, "SELECT id FROM run WHERE id=?", "i", id);
    pthread_mutex_unlock(&s->reading);
    if (!rc && *run < 0)
        rc = last ? err_set(e, ERR_NOT_FOUND, "%s: the database has no runs yet", s->path)
                  : err_set(e, ERR_NOT_FOUND, "%s: run %lld does not exist", s->path, (long long)id);
    return rc;
}

static void take_module(void *self, sqlite3_stmt *st) {
    struct store_run *r = self;
    r->module = xrealloc(r->module, (size_t)r->module_count + 1, sizeof *r->module);
    struct store_module *m = &r->module[r->module_count++];
    const char **const texts[] = { &m->text,  &m->fn,        &m->act,         &m->read,
                                   &m->write, &m->insertion, &m->composition, &m->source,
                                   &m->heads, &m->init,      &m->target,      &m->layers };
    for (int i = 0; i < (int)COUNT_OF(texts); i++) *texts[i] = db_text(st, i, false);
    m->size = sqlite3_column_int64(st, 12);
    m->mid = sqlite3_column_int64(st, 13);
    m->has_scale = sqlite3_column_type(st, 14) != SQLITE_NULL;
    m->scale = sqlite3_column_double(st, 14);
    m->dropout = sqlite3_column_double(st, 15);
    m->trained = sqlite3_column_int64(st, 16);
    m->stored = sqlite3_column_int64(st, 17);
}

static void take_report(void *self, sqlite3_stmt *st) {
    struct store_run *r = self;
    r->report = xrealloc(r->report, (size_t)r->reports + 1, sizeof *r->report);
    r->report[r->reports++] = db_text(st, 0, true);
}

static void take_value(void *self, sqlite3_stmt *st) {
    struct store_run *r = self;
    r->value = xrealloc(r->value, r->value_count + 1, sizeof *r->value);
    struct store_named_value *v = &r->value[r->value_count++];
    v->name = db_text(st, 0, true);
    store_value_of(st, 1, &v->last);
    store_value_of(st, 5, &v->best);
}

/* Reads what other tables store about a run. */
static int fill_lists(sqlite3 *db, struct store_run *r, struct err *e) {
    int rc = db_each(db, e, take_module, r,
                     "SELECT text,fn,act,read,write,insertion,composition,source,heads,"
                     "init,target,layers,size,mid,scale,dropout,trained,kept"
                     " FROM run_module WHERE run=? ORDER BY position",
                     "i", r->id);
    if (!rc)
        rc = db_each(db, e, take_value, r,
                     "SELECT k.name, last_value, last_kind, last_reason, last_step,"
                     " best_value, NULL, NULL, best_step FROM summary JOIN key k ON k.id=key"
                     " WHERE run=? ORDER BY k.name",
                     "i", r->id);
    if (!rc)
        rc = db_each(db, e, take_report, r,
                     "SELECT substr(text, length(?1) + 1) FROM event WHERE run=?2 AND kind='message'"
                     " AND substr(text, 1, length(?1)) = ?1 ORDER BY id",
                     "ti", report_mark, r->id);
    return rc;
}

static int fill_whole(struct store *s, int64_t run, struct store_run *out, struct err *e) {
    sqlite3_stmt *st = db_prepare(s->reader, e,
                                  "SELECT " RUN_COLUMNS ", r.config, r.canonical, r.method_json,"
                                  " r.model_folder, r.model_sha256, r.task_folder, r.train_file,"
                                  " r.dev_file, r.train_sha256, r.kernel, r.imported" RUN_TABLES
                                  " WHERE r.id=?", "i", run);
    if (!st) return e->code;
    int rc = db_step(st, e);
    if (rc > 0) {
        fill_run(st, out);
        char **const texts[] = { &out->config,       &out->canonical,    &out->method_json,
                                 &out->model_folder, &out->model_sha256, &out->task_folder,
                                 &out->train_file,   &out->dev_file,     &out->train_sha256,
                                 &out->kernel,       &out->imported };
        for (int i = 0; i < (int)COUNT_OF(texts); i++)
            *texts[i] = db_text(st, RUN_WIDTH + i, false);
        out->folder = store_run_folder(s, run);
        rc = 0;
    } else if (!rc) {
        rc = err_set(e, ERR_NOT_FOUND, "%s: run %lld does not exist", s->path, (long long)run);
    }
    sqlite3_finalize(st);
    return rc;
}

int store_run(struct store *s, int64_t run, struct store_run *out, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = db_exec(s->reader, "BEGIN", e);
    if (!rc) {
        rc = fill_whole(s, run, out, e);
        if (!rc) rc = fill_lists(s->reader, out, e);
        sqlite3_exec(s->reader, "COMMIT", NULL, NULL, NULL);
    }
    if (!rc) rc = query_settle(s, out, e);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_run_release(out);
    return rc;
}
