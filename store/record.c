/* Applies a record to the tables, in the writer's transaction: points and their summary, evaluations,
 * artifacts, states. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/db.h"
#include "store/internal.h"

enum statement { POINT, STORED, REPLACE, SUMMARY, RECOUNT, PROGRESS, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [POINT] = "INSERT INTO metric(run,key,step,value,kind,reason) VALUES(?1,?2,?3,?4,?5,?6)"
              " ON CONFLICT DO NOTHING",
    [STORED] = "SELECT m.value, m.kind, m.reason, k.timing, k.name FROM metric m"
               " JOIN key k ON k.id = m.key WHERE m.run=?1 AND m.key=?2 AND m.step=?3",
    [REPLACE] =
        "UPDATE metric SET value=?4, kind=?5, reason=?6 WHERE run=?1 AND key=?2 AND step=?3",
    /* best: strictly better, or equal at an earlier step; none without a direction */
    [SUMMARY] =
        "INSERT INTO summary(run,key,count,last_step,last_value,last_kind,last_reason,best_step,"
        "  best_value,least,most)"
        " SELECT ?1,?2,1,?3,?4,?5,?6, iif(?4 IS NULL OR direction=0,NULL,?3),"
        "  iif(direction=0,NULL,?4),?4,?4 FROM key WHERE id=?2"
        " ON CONFLICT(run,key) DO UPDATE SET count = count + 1,"
        "  last_value = iif(?3 >= last_step, ?4, last_value),"
        "  last_kind = iif(?3 >= last_step, ?5, last_kind),"
        "  last_reason = iif(?3 >= last_step, ?6, last_reason),"
        "  last_step = max(last_step, ?3),"
        "  best_step = CASE WHEN excluded.best_step IS NULL THEN best_step"
        "    WHEN best_step IS NULL"
        "      OR (SELECT direction FROM key WHERE id=?2) * (?4 - best_value) > 0"
        "      OR (?4 = best_value AND ?3 < best_step) THEN ?3 ELSE best_step END,"
        "  best_value = CASE WHEN excluded.best_step IS NULL THEN best_value"
        "    WHEN best_step IS NULL"
        "      OR (SELECT direction FROM key WHERE id=?2) * (?4 - best_value) > 0"
        "      THEN ?4 ELSE best_value END,"
        "  least = min(coalesce(least, ?4), coalesce(?4, least)),"
        "  most = max(coalesce(most, ?4), coalesce(?4, most))",
    [RECOUNT] =
        "INSERT OR REPLACE INTO summary(run,key,count,last_step,last_value,last_kind,last_reason,"
        "  best_step,best_value,least,most)"
        " SELECT l.run, l.key, a.count, l.step, l.value, l.kind, l.reason, b.step, b.value,"
        "  a.least, a.most"
        " FROM (SELECT * FROM metric WHERE run=?1 AND key=?2 ORDER BY step DESC LIMIT 1) l"
        " JOIN (SELECT count(*) AS count, min(value) AS least, max(value) AS most"
        "   FROM metric WHERE run=?1 AND key=?2) a"
        " LEFT JOIN (SELECT m.step, m.value FROM metric m JOIN key k ON k.id = m.key"
        "   WHERE m.run=?1 AND m.key=?2 AND m.value IS NOT NULL AND k.direction <> 0"
        "   ORDER BY m.value * k.direction DESC, m.step LIMIT 1) b",
    [PROGRESS] = "UPDATE run SET step = max(step, ?2), seconds = max(seconds, ?3) WHERE id=?1",
};

struct applier {
    struct store *store;
    sqlite3 *db;
    sqlite3_stmt *statement[STATEMENTS];
};

struct applier *applier_new(struct store *s, sqlite3 *db, struct err *e) {
    struct applier *a = xcalloc(1, sizeof *a);
    a->store = s;
    a->db = db;
    for (int i = 0; i < STATEMENTS; i++) {
        if (sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &a->statement[i], NULL) ==
            SQLITE_OK)
            continue;
        db_error(db, e);
        applier_free(a);
        return NULL;
    }
    return a;
}

void applier_free(struct applier *a) {
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(a->statement[i]);
    free(a);
}

void payload_free(struct payload *p) {
    if (!p) return;
    for (size_t i = 0; i < COUNT_OF(p->text); i++) free(p->text[i]);
    for (int i = 0; i < p->count; i++) {
        free(p->metric[i].name);
        free(p->metric[i].undefined);
    }
    free(p->metric);
    embedding_free(p->embedding);
    sample_set_free(p->samples);
    free(p);
}

int event_add(sqlite3 *db, int64_t run, int64_t time, int64_t step, const char *kind,
              const char *state, const char *text, struct err *e) {
    return db_run(db, e,
                  "INSERT INTO event(run,time,step,kind,state,text) VALUES(?1,?2,"
                  "coalesce(?3,(SELECT step FROM run WHERE id=?1)),?4,?5,?6)",
                  "iinttt", run, time, step < 0 ? (int64_t)0 : step, kind, state, text);
}

static const char *record_kind_of(double v) {
    return isnan(v) ? "nan" : isinf(v) ? v > 0 ? "+inf" : "-inf" : NULL;
}

/* Runs a prepared statement with the point bound to ?1…?6; a row is left to the caller, who resets. */
static int step_point(struct applier *a, enum statement which, int64_t run, int64_t key,
                      int64_t step, double value, const char *undefined, struct err *e) {
    sqlite3_stmt *st = a->statement[which];
    const char *kind = undefined ? "undefined" : record_kind_of(value);
    sqlite3_bind_int64(st, 1, run);
    sqlite3_bind_int64(st, 2, key);
    sqlite3_bind_int64(st, 3, step);
    if (sqlite3_bind_parameter_count(st) > 3) {
        if (kind) sqlite3_bind_null(st, 4);
        else sqlite3_bind_double(st, 4, value);
        db_bind_text(st, 5, kind);
        db_bind_text(st, 6, undefined);
    }
    return db_step(st, e);
}

static int run_point(struct applier *a, enum statement which, int64_t run, int64_t key,
                     int64_t step, double value, const char *undefined, struct err *e) {
    int rc = step_point(a, which, run, key, step, value, undefined, e);
    sqlite3_reset(a->statement[which]);
    return rc < 0 ? rc : 0;
}

static bool record_same(sqlite3_stmt *st, double value, const char *undefined) {
    const char *kind = (const char *)sqlite3_column_text(st, 1);
    const char *now = undefined ? "undefined" : record_kind_of(value);
    if (!kind || !now) return !kind && !now && sqlite3_column_double(st, 0) == value;
    return !strcmp(kind, now);
}

/* The step exists: training was replayed from an earlier checkpoint. */
static int replayed(struct applier *a, const struct store_record *r, int64_t key, double value,
                    const char *undefined, struct err *e) {
    sqlite3_stmt *st = a->statement[STORED];
    int rc = step_point(a, STORED, r->run, key, r->step, value, undefined, e);
    bool differs = rc > 0 && !record_same(st, value, undefined);
    char *text = NULL;
    if (differs && !sqlite3_column_int(st, 3)) {
        char before[32], now[32];
        text_from_double(sqlite3_column_double(st, 0), before);
        text_from_double(value, now);
        text = xprintf(
            "%s was %s before and is %s after repeating the step", (const char *)sqlite3_column_text(st, 4),
            sqlite3_column_text(st, 1) ? (const char *)sqlite3_column_text(st, 1) : before, now);
    }
    sqlite3_reset(st);
    if (rc < 0 || !differs) return rc < 0 ? rc : 0;
    rc = run_point(a, REPLACE, r->run, key, r->step, value, undefined, e);
    if (!rc) rc = run_point(a, RECOUNT, r->run, key, r->step, value, undefined, e);
    if (!rc && text) rc = event_add(a->db, r->run, r->time, r->step, "differs", NULL, text, e);
    free(text);
    return rc;
}

static int record_add_value(struct applier *a, const struct store_record *r, int64_t key, double value,
                            const char *undefined, struct err *e) {
    int rc = run_point(a, POINT, r->run, key, r->step, value, undefined, e);
    if (rc) return rc;
    if (!sqlite3_changes(a->db)) return replayed(a, r, key, value, undefined, e);
    return run_point(a, SUMMARY, r->run, key, r->step, value, undefined, e);
}

struct measure {
    int64_t run;
    const char *name;
    double value;
};

static int add_measure(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    const struct measure *m = arg;
    int64_t key;
    (void)s;
    int rc = key_intern(db, NULL, m->name, 0, false, &key, e);
    if (!rc)
        rc = db_run(
            db, e,
            "INSERT OR REPLACE INTO metric(run,key,step,value) SELECT ?1,?2,step,?3 FROM run WHERE id=?1",
            "iid", m->run, key, m->value);
    return rc ? rc : db_run(db, e, sql[RECOUNT], "ii", m->run, key);
}

int store_measure(struct store *s, int64_t run, const char *name, double value, struct err *e) {
    struct measure m = { run, name, value };
    return writer_call(s, add_measure, &m, e);
}

static int progress(struct applier *a, const struct store_record *r, struct err *e) {
    sqlite3_stmt *st = a->statement[PROGRESS];
    sqlite3_bind_int64(st, 1, r->run);
    sqlite3_bind_int64(st, 2, r->step);
    sqlite3_bind_double(st, 3, isfinite(r->seconds) ? r->seconds : 0);
    int rc = db_step(st, e);
    sqlite3_reset(st);
    return rc;
}

static int apply_step(struct applier *a, const struct store_record *r, struct err *e) {
    int rc = progress(a, r, e);
    for (int i = 0; !rc && i < r->count; i++) {
        int64_t key;
        rc = key_row(a->store, a->db, r->key[i], &key, e);
        if (!rc) rc = record_add_value(a, r, key, r->value[i], NULL, e);
    }
    return rc;
}

static int apply_evaluation(struct applier *a, const struct store_record *r, struct err *e) {
    const struct payload *p = r->payload;
    int64_t alike = p->none_valid ? ALIKE_INVALID : p->constant ? ALIKE_CONSTANT : 0;
    int rc = db_run(a->db, e,
                    "INSERT INTO evaluation(run,step,split,rows,constant,best,seconds,time)"
                    " VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET rows=excluded.rows,"
                    " constant=excluded.constant, best=excluded.best",
                    "iittiidi", r->run, r->step, p->text[0], p->text[1], alike,
                    (int64_t)p->best, r->seconds, r->time);
    for (int i = 0; !rc && i < p->count; i++) {
        const struct payload_metric *m = &p->metric[i];
        int64_t key;
        rc = key_intern(a->db, p->text[0], m->name, m->direction, false, &key, e);
        if (!rc) rc = record_add_value(a, r, key, m->value, m->undefined, e);
    }
    return rc;
}

/* Paths below the database's folder are stored relative, so that the folder can be moved. */
static const char *relative(const struct store *s, const char *path) {
    size_t n = strlen(s->folder);
    if (strncmp(path, s->folder, n) == 0 && path[n] == '/') return path + n + 1;
    return path;
}

static int apply_artifact(struct applier *a, const struct store_record *r, struct err *e) {
    const struct payload *p = r->payload;
    return db_run(
        a->db, e,
        "INSERT INTO artifact(run,step,kind,path,sha256,bytes,created) VALUES(?,?,?,?,?,?,?)"
        " ON CONFLICT(run,path) DO UPDATE SET step=excluded.step, kind=excluded.kind,"
        " sha256=excluded.sha256, bytes=excluded.bytes, created=excluded.created",
        "iitttni", r->run, r->step, p->text[0], relative(a->store, p->text[1]), p->text[2],
        p->bytes, r->time);
}

/* The last event of a paused run that was resumed and paused again at the same step for the same reason: an
 * attempt without progress.  *going: the log's row about the attempt. */
static int tried_in_vain(struct applier *a, const struct store_record *r, int64_t *going, struct err *e) {
    *going = 0;
    const char *why = r->payload->text[0];
    if (r->state != STORE_PAUSED || !why) return 0;
    return db_int(a->db, e, going, 0,
                  "SELECT g.id FROM event g JOIN event p ON p.id=(SELECT max(id) FROM event WHERE"
                  " run=?1 AND id<g.id) WHERE g.id=(SELECT max(id) FROM event WHERE run=?1)"
                  " AND g.state='running' AND p.state='paused' AND p.text=?2 AND p.step=?3 AND g.step=?3",
                  "iti", r->run, why, r->step);
}

/* Such an attempt removes its own row, so that repeated attempts leave the log unchanged. */
static int log_change(struct applier *a, const struct store_record *r, struct err *e) {
    int64_t going;
    int rc = tried_in_vain(a, r, &going, e);
    if (!rc && going) return db_run(a->db, e, "DELETE FROM event WHERE id=?", "i", going);
    return rc ? rc : event_add(a->db, r->run, r->time, r->step, "state", store_state_name(r->state),
                               r->payload->text[0], e);
}

static int apply_change(struct applier *a, const struct store_record *r, struct err *e) {
    const struct payload *p = r->payload;
    bool live = store_state_is_live(r->state);
    int rc = db_run(
        a->db, e,
        "UPDATE run SET state=?2, reason=?3, weights_sha256=coalesce(?4,weights_sha256),"
        " step=iif(?5<0,step,?5), seconds=iif(?6<0,seconds,?6),"
        " started=iif(?2='running',coalesce(started,?7),started), ended=iif(?8,NULL,?7),"
        " peak=CASE WHEN ?9=0 THEN peak WHEN ?10 THEN ?9 ELSE max(coalesce(peak,0),?9) END"
        " WHERE id=?1",
        "itttidiiii", r->run, store_state_name(r->state), p->text[0], p->text[1], r->step, r->seconds,
        r->time, (int64_t)live, r->peak, (int64_t)r->of_whole);
    if (!rc) rc = live ? blocks_drop(a->db, r->run, e) : blocks_make(a->db, r->run, e);
    return rc ? rc : log_change(a, r, e);
}

/* A run deleted by other means than petri's drops its records. */
static bool is_gone(struct applier *a, int64_t run) {
    int64_t there;
    struct err ignored = ERR_INIT;
    return !db_int(a->db, &ignored, &there, 0, "SELECT count(*) FROM run WHERE id=?", "i", run) && !there;
}

int applier_apply(struct applier *a, const struct store_record *r, bool *refused, struct err *e) {
    int rc = 0;
    switch (r->kind) {
    case RECORD_STEP: rc = apply_step(a, r, e); break;
    case RECORD_EVALUATION: rc = apply_evaluation(a, r, e); break;
    case RECORD_ARTIFACT: rc = apply_artifact(a, r, e); break;
    case RECORD_CHANGE: rc = apply_change(a, r, e); break;
    case RECORD_SAMPLES: rc = samples_apply(a->db, r, e); break;
    case RECORD_EMBEDDING: rc = embedding_insert_once(a->db, r->payload->embedding, e); break;
    case RECORD_MESSAGE:
        rc = event_add(a->db, r->run, r->time, r->step, "message", NULL, r->payload->text[0], e);
        break;
    }
    *refused = false;
    if (!rc) return 0;
    int code = sqlite3_errcode(a->db) & 0xFF;
    if (code == SQLITE_CONSTRAINT && is_gone(a, r->run)) return 0;
    *refused = code == SQLITE_CONSTRAINT || code == SQLITE_ERROR || code == SQLITE_MISMATCH ||
               code == SQLITE_TOOBIG || code == SQLITE_RANGE;
    return rc;
}
