/* Integrity check of the file, and its statistics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

static int64_t check_size_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

static int check_text_of(sqlite3 *db, const char *sql, char *out, size_t room, struct err *e) {
    sqlite3_stmt *st = db_prepare(db, e, sql, "");
    if (!st) return e->code;
    int rc = db_step(st, e);
    const char *text = rc > 0 ? (const char *)sqlite3_column_text(st, 0) : NULL;
    snprintf(out, room, "%s", text ? text : "");
    sqlite3_finalize(st);
    return rc < 0 ? rc : 0;
}

/* A summary that differs from its points. */
static const char summary_sql[] =
    "SELECT 'run ' || s.run || ': the summary of ' || k.name || ' counts ' || s.count ||"
    " ' points, there are ' || (SELECT count(*) FROM metric m WHERE m.run=s.run AND m.key=s.key)"
    " FROM summary s JOIN key k ON k.id=s.key"
    " WHERE s.count <> (SELECT count(*) FROM metric m WHERE m.run=s.run AND m.key=s.key) LIMIT 1";

static int check_look(sqlite3 *db, struct store_health *h, struct err *e) {
    int rc = check_text_of(db, "PRAGMA integrity_check(1)", h->problem, sizeof h->problem, e);
    if (!rc && !strcmp(h->problem, "ok")) {
        rc = check_text_of(db, "SELECT 'a row of ' || \"table\" || ' belongs to no ' || parent"
                           " FROM pragma_foreign_key_check LIMIT 1", h->problem, sizeof h->problem, e);
        if (!rc && !h->problem[0])
            rc = check_text_of(db, summary_sql, h->problem, sizeof h->problem, e);
    }
    h->whole = !rc && !h->problem[0];
    int64_t version = 0;
    if (!rc) rc = db_int(db, e, &version, 0, "PRAGMA user_version", "");
    h->schema = (int)version;
    if (!rc) rc = check_text_of(db, "PRAGMA journal_mode", h->journal, sizeof h->journal, e);
    if (!rc) rc = db_int(db, e, &h->runs, 0, "SELECT count(*) FROM run", "");
    if (!rc) rc = db_int(db, e, &h->points, 0, "SELECT count(*) FROM metric", "");
    return rc;
}

int store_check(struct store *s, struct store_health *h, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    memset(h, 0, sizeof *h);
    snprintf(h->sqlite, sizeof h->sqlite, "%s", sqlite3_libversion());
    h->bytes = check_size_of(s->path);
    char *wal = xprintf("%s-wal", s->path);
    h->wal_bytes = check_size_of(wal);
    free(wal);
    sqlite3 *db;
    int rc = db_open_reader(s->path, &db, e);
    if (rc) return rc;
    rc = db_exec(db, "BEGIN", e);
    if (!rc) rc = check_look(db, h, e);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    db_close(db);
    if (rc != ERR_DATABASE) return rc;
    /* damage is the result of the check, not a failure */
    h->whole = false;
    snprintf(h->problem, sizeof h->problem, "%s", e->text);
    *e = (struct err)ERR_INIT;
    return 0;
}

const char *store_sqlite_version(void) { return sqlite3_libversion(); }
