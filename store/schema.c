#include "store/schema.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "store/db.h"

enum { BEFORE = 0x50545249 }; /* "PTRI", of earlier versions with other tables */

static const char schema[] =
    "CREATE TABLE meta("
    "  name TEXT PRIMARY KEY, value TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    /* the oldest schema version whose programs can read this file */
    "INSERT INTO meta VALUES('oldest_reader','1');"

    "CREATE TABLE sweep("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL, name TEXT NOT NULL, spec TEXT NOT NULL,"
    "  created INTEGER NOT NULL,"
    "  changed INTEGER," /* when its cells or seeds changed; NULL: never */
    "  stop INTEGER"     /* when all processes working on it were last requested to stop */
    ") STRICT;"
    /* the error for which a run of a sweep could not be started, and has no row */
    "CREATE TABLE sweep_failure("
    "  sweep INTEGER NOT NULL REFERENCES sweep(id) ON DELETE CASCADE, key TEXT NOT NULL,"
    "  reason TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY(sweep,key)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE key("
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "  split TEXT, metric TEXT NOT NULL,"
    "  direction INTEGER NOT NULL DEFAULT 0 CHECK(direction IN (-1,0,1)),"
    "  timing INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"

    "CREATE TABLE run("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  uid TEXT NOT NULL," /* random; the same in every file to which the run is copied or merged */
    "  name TEXT,"         /* given by a user; NULL: none */
    "  state TEXT NOT NULL CHECK(state IN ('queued','running','paused','finished','stopped',"
    "    'failed','interrupted')),"
    "  reason TEXT,"
    "  config TEXT NOT NULL, method TEXT NOT NULL, canonical TEXT, method_json TEXT, preset TEXT,"
    "  regime TEXT,"
    /* reserved: number format of the frozen parameters, training objective, context length in tokens */
    "  precision TEXT NOT NULL DEFAULT 'f32', objective TEXT, context INTEGER,"
    "  model TEXT, model_folder TEXT, model_sha256 TEXT,"
    "  task TEXT, task_folder TEXT, train_file TEXT, dev_file TEXT, train_sha256 TEXT,"
    "  dev_sha256 TEXT,"
    "  metric TEXT, metric_key INTEGER REFERENCES key(id),"
    "  seed INTEGER NOT NULL, trained INTEGER NOT NULL, kept INTEGER NOT NULL,"
    "  head INTEGER NOT NULL, model_values INTEGER NOT NULL,"
    "  version TEXT, kernel TEXT,"
    "  parent INTEGER, sweep INTEGER REFERENCES sweep(id) ON DELETE SET NULL,"
    "  created INTEGER NOT NULL, started INTEGER, ended INTEGER, trashed INTEGER,"
    "  steps INTEGER NOT NULL, step INTEGER NOT NULL DEFAULT 0,"
    "  seconds REAL NOT NULL DEFAULT 0,"
    /* estimated at the start; NULL: not estimated */
    "  estimated_seconds REAL, estimated_bytes INTEGER,"
    "  peak INTEGER,"    /* peak memory of the run in bytes; NULL: unknown */
    "  weights_sha256 TEXT,"
    "  imported TEXT,"   /* JSON: format, version, read, ignored, assumed; NULL: trained here */
    "  cell TEXT,"       /* of an experiment's run: its cell and seed; of a support set: TASK/kK/dD */
    "  lock TEXT NOT NULL" /* path of the owner's lock, relative to the database's folder */
    ") STRICT;"
    "CREATE INDEX run_live ON run(state) WHERE state IN ('queued','running','paused');"
    "CREATE INDEX run_uid ON run(uid);"
    "CREATE INDEX run_name ON run(name) WHERE name IS NOT NULL;"
    "CREATE INDEX run_cell ON run(cell) WHERE cell IS NOT NULL;"

    "CREATE TABLE run_module("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, position INTEGER NOT NULL,"
    "  text TEXT, fn TEXT, act TEXT, read TEXT, write TEXT, target TEXT, insertion TEXT,"
    "  composition TEXT, scale REAL, source TEXT, heads TEXT, size INTEGER, mid INTEGER,"
    "  init TEXT, dropout REAL, layers TEXT, trained INTEGER, kept INTEGER,"
    "  PRIMARY KEY(run,position)"
    ") STRICT, WITHOUT ROWID;"

    /* value is NULL when kind is set: nan, +inf, -inf, or undefined with its reason */
    "CREATE TABLE metric("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  key INTEGER NOT NULL REFERENCES key(id), step INTEGER NOT NULL,"
    "  value REAL, kind TEXT CHECK(kind IN ('nan','+inf','-inf','undefined')), reason TEXT,"
    "  CHECK((value IS NULL) = (kind IS NOT NULL)),"
    "  PRIMARY KEY(run,key,step)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE evaluation("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, step INTEGER NOT NULL,"
    "  split TEXT NOT NULL, rows TEXT, constant INTEGER NOT NULL, best INTEGER NOT NULL,"
    "  seconds REAL, time INTEGER NOT NULL,"
    "  PRIMARY KEY(run,step,split)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE summary("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  key INTEGER NOT NULL REFERENCES key(id), count INTEGER NOT NULL,"
    "  last_step INTEGER NOT NULL, last_value REAL, last_kind TEXT, last_reason TEXT,"
    "  best_step INTEGER, best_value REAL, least REAL, most REAL,"
    "  PRIMARY KEY(run,key)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE artifact("
    "  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  step INTEGER NOT NULL, kind TEXT NOT NULL,"
    "  path TEXT NOT NULL," /* relative to the database's folder if below it, otherwise absolute */
    "  sha256 TEXT, bytes INTEGER, created INTEGER NOT NULL,"
    "  UNIQUE(run,path)"
    ") STRICT;"

    "CREATE TABLE embedding("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES run(id) ON DELETE CASCADE,"
    "  step INTEGER, model TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL,"
    "  layer INTEGER NOT NULL, pool TEXT NOT NULL, seed INTEGER NOT NULL, created INTEGER NOT NULL,"
    "  rows INTEGER NOT NULL, columns INTEGER NOT NULL,"
    "  items TEXT NOT NULL,"  /* JSON: number, label, text, prediction of each row */
    "  data BLOB NOT NULL,"   /* rows x columns float32, little-endian */
    /* NULL: unknown; rows_sha256: over the rows' numbers and texts */
    "  model_sha256 TEXT, rows_sha256 TEXT, model_fingerprint TEXT"
    ") STRICT;"
    "CREATE INDEX embedding_run ON embedding(run);"

    "CREATE TABLE matrix("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES run(id) ON DELETE CASCADE,"
    "  name TEXT NOT NULL, about TEXT NOT NULL, created INTEGER NOT NULL,"
    "  rows INTEGER NOT NULL, columns INTEGER NOT NULL,"
    "  row_names TEXT NOT NULL, column_names TEXT NOT NULL,"
    "  data BLOB NOT NULL"    /* rows x columns float32, little-endian; NaN: undefined */
    ") STRICT;"
    "CREATE INDEX matrix_run ON matrix(run);"

    "CREATE TABLE sample("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, step INTEGER NOT NULL,"
    "  split TEXT NOT NULL, row INTEGER NOT NULL,"
    "  source TEXT NOT NULL, target TEXT, generated TEXT NOT NULL,"
    "  valid INTEGER," /* 1: names a class or is a score, 0: does not; NULL: any text is valid */
    "  PRIMARY KEY(run,step,split,row)"
    ") STRICT, WITHOUT ROWID;"

    "CREATE TABLE block("
    "  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  key INTEGER NOT NULL REFERENCES key(id), first INTEGER NOT NULL, last INTEGER NOT NULL,"
    "  count INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(run,key,first)"
    ") STRICT;"

    "CREATE TABLE tag("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, name TEXT NOT NULL,"
    "  PRIMARY KEY(run,name)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX tag_name ON tag(name);"

    "CREATE TABLE note("
    "  run INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE, text TEXT NOT NULL,"
    "  changed INTEGER NOT NULL"
    ") STRICT;"

    "CREATE TABLE control("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  what TEXT NOT NULL CHECK(what IN ('stop','pause','resume')),"
    "  asked INTEGER NOT NULL, taken INTEGER"
    ") STRICT;"
    "CREATE INDEX control_waiting ON control(run) WHERE taken IS NULL;"

    "CREATE TABLE event("
    "  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  time INTEGER NOT NULL, step INTEGER,"
    "  kind TEXT NOT NULL CHECK(kind IN ('state','message','differs')), state TEXT, text TEXT"
    ") STRICT;"
    "CREATE INDEX event_run ON event(run,id);"

    "CREATE VIEW v_runs AS SELECT"
    "  r.id, r.state, r.reason, r.method, r.preset, r.task, r.model, r.metric,"
    "  b.best_value AS best, b.best_step, l.last_value AS final_loss,"
    "  l.last_kind AS final_loss_kind,"
    "  r.trained, r.kept, r.head, r.model_values, r.seed, r.step, r.steps, r.seconds,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', r.created / 1000.0, 'unixepoch') AS created,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', r.started / 1000.0, 'unixepoch') AS started,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', r.ended / 1000.0, 'unixepoch') AS ended,"
    "  r.parent, r.sweep, r.weights_sha256, r.train_sha256, r.dev_sha256, r.model_sha256,"
    "  (SELECT group_concat(name, ', ') FROM (SELECT name FROM tag WHERE run = r.id ORDER BY name))"
    "    AS tags,"
    "  n.text AS note, r.version, r.kernel, r.regime, r.uid, r.peak, r.name, r.estimated_seconds,"
    "  r.estimated_bytes"
    " FROM run r"
    " LEFT JOIN summary b ON b.run = r.id AND b.key = r.metric_key"
    " LEFT JOIN summary l ON l.run = r.id AND l.key = (SELECT id FROM key WHERE name = 'loss')"
    " LEFT JOIN note n ON n.run = r.id"
    " WHERE r.trashed IS NULL;"

    "CREATE VIEW v_trash AS SELECT id, state, method, task,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', trashed / 1000.0, 'unixepoch') AS trashed"
    " FROM run WHERE trashed IS NOT NULL;"

    "CREATE VIEW v_modules AS SELECT m.run, m.position, m.text, m.fn, m.act, m.read, m.write,"
    "  m.target, m.insertion, m.composition, m.scale, m.source, m.heads, m.size, m.mid, m.init,"
    "  m.dropout, m.layers, m.trained, m.kept"
    " FROM run_module m JOIN run r ON r.id = m.run WHERE r.trashed IS NULL;"

    "CREATE VIEW v_points AS SELECT m.run, k.name AS key, m.step, m.value, m.kind, m.reason"
    " FROM metric m JOIN key k ON k.id = m.key JOIN run r ON r.id = m.run"
    " WHERE r.trashed IS NULL;"

    "CREATE VIEW v_latest AS SELECT s.run, k.name AS key, s.last_step AS step,"
    "  s.last_value AS value, s.last_kind AS kind, s.last_reason AS reason,"
    "  s.count, s.least, s.most"
    " FROM summary s JOIN key k ON k.id = s.key JOIN run r ON r.id = s.run"
    " WHERE r.trashed IS NULL;"

    "CREATE VIEW v_best AS SELECT s.run, k.name AS key, k.direction, s.best_step AS step,"
    "  s.best_value AS value"
    " FROM summary s JOIN key k ON k.id = s.key JOIN run r ON r.id = s.run"
    " WHERE r.trashed IS NULL AND s.best_step IS NOT NULL;"

    "CREATE VIEW v_evaluations AS SELECT e.run, e.step, e.split, k.metric, m.value, m.kind,"
    "  m.reason, e.rows, e.constant, e.best, e.seconds"
    " FROM evaluation e JOIN run r ON r.id = e.run JOIN key k ON k.split = e.split"
    " JOIN metric m ON m.run = e.run AND m.key = k.id AND m.step = e.step"
    " WHERE r.trashed IS NULL;"

    "CREATE VIEW v_artifacts AS SELECT a.run, a.step, a.kind, a.path, a.sha256, a.bytes,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', a.created / 1000.0, 'unixepoch') AS created"
    " FROM artifact a JOIN run r ON r.id = a.run WHERE r.trashed IS NULL;"

    "CREATE VIEW v_events AS SELECT e.run,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', e.time / 1000.0, 'unixepoch') AS time,"
    "  e.step, e.kind, e.state, e.text"
    " FROM event e JOIN run r ON r.id = e.run WHERE r.trashed IS NULL;"

    "CREATE VIEW v_samples AS SELECT s.run, s.step, s.split, s.row, s.source, s.target, s.generated,"
    "  s.valid FROM sample s JOIN run r ON r.id = s.run WHERE r.trashed IS NULL;"

    "CREATE VIEW v_embeddings AS SELECT m.id, m.run, m.step, m.model, m.task, m.split, m.layer,"
    "  m.pool, m.seed, m.rows, m.columns,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', m.created / 1000.0, 'unixepoch') AS created,"
    "  m.model_sha256, m.rows_sha256, m.model_fingerprint"
    " FROM embedding m LEFT JOIN run r ON r.id = m.run WHERE r.trashed IS NULL;"

    "CREATE VIEW v_matrices AS SELECT m.id, m.run, m.name, m.rows, m.columns,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', m.created / 1000.0, 'unixepoch') AS created, m.about"
    " FROM matrix m LEFT JOIN run r ON r.id = m.run WHERE r.trashed IS NULL;"

    "CREATE VIEW v_imports AS SELECT id AS run, imported FROM run"
    " WHERE imported IS NOT NULL AND trashed IS NULL;";

static int refuse_older(sqlite3 *db, struct err *e) {
    return err_set(e, ERR_DATABASE,
                   "%s: the database was written by an earlier version of petri; export its runs with "
                   "that version (petri export RUN --to petri FILE.safetensors), then move the database "
                   "away or use another file with --db FILE, and import them (petri import "
                   "FILE.safetensors)",
                   sqlite3_db_filename(db, "main"));
}

static int look_newer(sqlite3 *db, int64_t version, struct err *e) {
    const char *path = sqlite3_db_filename(db, "main");
    int64_t oldest;
    int rc = db_int(db, e, &oldest, INT64_MAX,
                    "SELECT CAST(value AS INTEGER) FROM meta WHERE name='oldest_reader'", "");
    if (!rc && oldest <= SCHEMA_VERSION) return 0;
    return err_set(e, ERR_DATABASE,
                   "%s: written by a newer version of petri (schema %lld; this version supports up to %d); "
                   "use that version, or another file with --db FILE",
                   path, (long long)version, SCHEMA_VERSION);
}

int schema_detect(sqlite3 *db, enum schema_kind *kind, struct err *e) {
    int64_t application, version, tables;
    int rc = db_int(db, e, &application, 0, "PRAGMA application_id", "");
    if (!rc) rc = db_int(db, e, &version, 0, "PRAGMA user_version", "");
    if (!rc) rc = db_int(db, e, &tables, 0, "SELECT count(*) FROM sqlite_schema", "");
    if (rc) return rc;
    if (!application && !version && !tables) {
        *kind = SCHEMA_EMPTY;
        return 0;
    }
    if (application == BEFORE) return refuse_older(db, e);
    if (application != SCHEMA_APPLICATION)
        return err_set(
            e, ERR_DATABASE,
            "%s: a database of another program; it was not changed; use another file with --db FILE",
            sqlite3_db_filename(db, "main"));
    *kind = version > SCHEMA_VERSION ? SCHEMA_NEWER : SCHEMA_SAME;
    return *kind == SCHEMA_NEWER ? look_newer(db, version, e) : 0;
}

int schema_make(sqlite3 *db, struct err *e) {
    char *numbers = xprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", SCHEMA_APPLICATION,
                            SCHEMA_VERSION);
    int rc = db_exec(db, "BEGIN IMMEDIATE", e);
    if (!rc) rc = db_exec(db, schema, e);
    if (!rc) rc = db_exec(db, numbers, e);
    if (!rc) rc = db_exec(db, "COMMIT", e);
    if (rc && !sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    free(numbers);
    return rc;
}
