#include "store/schema.h"

#include <stdlib.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/db.h"

static const char first_step[] =
    "CREATE TABLE meta("
    "  name TEXT PRIMARY KEY, value TEXT NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    /* the oldest schema whose readers understand this file */
    "INSERT INTO meta VALUES('oldest_reader','1');"

    "CREATE TABLE sweep("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, spec TEXT NOT NULL,"
    "  created INTEGER NOT NULL"
    ") STRICT;"

    "CREATE TABLE key("
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    "  split TEXT, metric TEXT NOT NULL,"
    "  direction INTEGER NOT NULL DEFAULT 0 CHECK(direction IN (-1,0,1)),"
    "  timing INTEGER NOT NULL DEFAULT 0"
    ") STRICT;"

    "CREATE TABLE run("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  state TEXT NOT NULL CHECK(state IN ('queued','running','paused','finished','stopped',"
    "    'failed','interrupted')),"
    "  reason TEXT,"
    "  config TEXT NOT NULL, method TEXT NOT NULL, canonical TEXT, method_json TEXT, preset TEXT,"
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
    "  weights_sha256 TEXT,"
    "  lock TEXT NOT NULL" /* path of the owner's lock, from the database's folder */
    ") STRICT;"
    "CREATE INDEX run_live ON run(state) WHERE state IN ('queued','running','paused');"

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
    "  path TEXT NOT NULL," /* from the database's folder when below it, else absolute */
    "  sha256 TEXT, bytes INTEGER, created INTEGER NOT NULL,"
    "  UNIQUE(run,path)"
    ") STRICT;"

    "CREATE TABLE embedding("
    "  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  step INTEGER NOT NULL, name TEXT NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,"
    "  labels TEXT, data BLOB NOT NULL, UNIQUE(run,name,step)" /* float32, little end first */
    ") STRICT;"

    "CREATE TABLE matrix("
    "  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  step INTEGER NOT NULL, name TEXT NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,"
    "  row_names TEXT, column_names TEXT, data BLOB NOT NULL, UNIQUE(run,name,step)"
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
    "  n.text AS note, r.version, r.kernel"
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
    " FROM event e JOIN run r ON r.id = e.run WHERE r.trashed IS NULL;";

/* Vectors and matrices of the untouched model belong to no run.  No program of schema 1 wrote
 * into the two tables. */
static const char second_step[] =
    "DROP TABLE embedding;"
    "DROP TABLE matrix;"
    "CREATE TABLE embedding("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES run(id) ON DELETE CASCADE,"
    "  step INTEGER, model TEXT NOT NULL, task TEXT NOT NULL, split TEXT NOT NULL,"
    "  layer INTEGER NOT NULL, pool TEXT NOT NULL, seed INTEGER NOT NULL, created INTEGER NOT NULL,"
    "  rows INTEGER NOT NULL, columns INTEGER NOT NULL,"
    "  items TEXT NOT NULL,"  /* JSON: a row's number, label, text, prediction each */
    "  data BLOB NOT NULL"    /* rows x columns float32, little end first */
    ") STRICT;"
    "CREATE INDEX embedding_run ON embedding(run);"

    "CREATE TABLE matrix("
    "  id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER REFERENCES run(id) ON DELETE CASCADE,"
    "  name TEXT NOT NULL, about TEXT NOT NULL, created INTEGER NOT NULL,"
    "  rows INTEGER NOT NULL, columns INTEGER NOT NULL,"
    "  row_names TEXT NOT NULL, column_names TEXT NOT NULL,"
    "  data BLOB NOT NULL"    /* rows x columns float32, little end first; NaN: undefined */
    ") STRICT;"
    "CREATE INDEX matrix_run ON matrix(run);";

/* Texts that a text-to-text run gave for drawn rows. */
static const char third_step[] =
    "CREATE TABLE sample("
    "  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, step INTEGER NOT NULL,"
    "  split TEXT NOT NULL, row INTEGER NOT NULL,"
    "  source TEXT NOT NULL, target TEXT, generated TEXT NOT NULL,"
    "  valid INTEGER," /* 1: names a class or is a score, 0: does not; NULL: any text is an answer */
    "  PRIMARY KEY(run,step,split,row)"
    ") STRICT, WITHOUT ROWID;"
    "CREATE VIEW v_samples AS SELECT s.run, s.step, s.split, s.row, s.source, s.target, s.generated,"
    "  s.valid FROM sample s JOIN run r ON r.id = s.run WHERE r.trashed IS NULL;";

/* What a set of vectors is of, by content: unknown for sets of before. */
static const char fourth_step[] =
    "ALTER TABLE embedding ADD COLUMN model_sha256 TEXT;"
    "ALTER TABLE embedding ADD COLUMN rows_sha256 TEXT;" /* over the rows' numbers and texts */
    "CREATE VIEW v_embeddings AS SELECT m.id, m.run, m.step, m.model, m.task, m.split, m.layer,"
    "  m.pool, m.seed, m.rows, m.columns,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', m.created / 1000.0, 'unixepoch') AS created,"
    "  m.model_sha256, m.rows_sha256"
    " FROM embedding m LEFT JOIN run r ON r.id = m.run WHERE r.trashed IS NULL;"
    "CREATE VIEW v_matrices AS SELECT m.id, m.run, m.name, m.rows, m.columns,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', m.created / 1000.0, 'unixepoch') AS created, m.about"
    " FROM matrix m LEFT JOIN run r ON r.id = m.run WHERE r.trashed IS NULL;";

/* Equal weights under another vocabulary or config give other vectors. */
static const char fifth_step[] =
    "ALTER TABLE embedding ADD COLUMN model_fingerprint TEXT;"
    "DROP VIEW v_embeddings;"
    "CREATE VIEW v_embeddings AS SELECT m.id, m.run, m.step, m.model, m.task, m.split, m.layer,"
    "  m.pool, m.seed, m.rows, m.columns,"
    "  strftime('%Y-%m-%dT%H:%M:%fZ', m.created / 1000.0, 'unixepoch') AS created,"
    "  m.model_sha256, m.rows_sha256, m.model_fingerprint"
    " FROM embedding m LEFT JOIN run r ON r.id = m.run WHERE r.trashed IS NULL;";

/* How a run was learned; of a run of before it follows from its tasks. */
static const char sixth_step[] =
    "ALTER TABLE run ADD COLUMN regime TEXT;"
    "UPDATE run SET regime = CASE WHEN json_type(config,'$.tasks') = 'array' THEN"
    "  'multi(sampling=' || coalesce(json_extract(config,'$.sampling'),'proportional') ||"
    "  ', average=' || coalesce(json_extract(config,'$.average'),'one') ||"
    "  ', best=' || coalesce(json_extract(config,'$.best_of'),'average') || ')' ELSE 'single' END"
    " WHERE json_valid(config);"
    "DROP VIEW v_runs;"
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
    "  n.text AS note, r.version, r.kernel, r.regime"
    " FROM run r"
    " LEFT JOIN summary b ON b.run = r.id AND b.key = r.metric_key"
    " LEFT JOIN summary l ON l.run = r.id AND l.key = (SELECT id FROM key WHERE name = 'loss')"
    " LEFT JOIN note n ON n.run = r.id"
    " WHERE r.trashed IS NULL;";

/* Where a run that was not trained here came from; NULL: it was. */
static const char seventh_step[] =
    "ALTER TABLE run ADD COLUMN imported TEXT;" /* JSON: format, version, read, ignored, assumed */
    "CREATE VIEW v_imports AS SELECT id AS run, imported FROM run"
    " WHERE imported IS NOT NULL AND trashed IS NULL;";

/* Who a run and a sweep are, whatever number they have in which file: random, and for those of before made of what
 * copies of a file agree in and what never changes (no weights: one copy may have gone on).  And what processes that
 * share a sweep tell each other. */
static const char eighth_step[] =
    "ALTER TABLE run ADD COLUMN uid TEXT;"
    "UPDATE run SET uid = substr(petri_sha256(config || ' ' || created),1,32);"
    "CREATE INDEX run_uid ON run(uid);"
    "ALTER TABLE sweep ADD COLUMN uid TEXT;"
    "UPDATE sweep SET uid = substr(petri_sha256(iif(json_valid(spec),"
    "  coalesce(json_extract(spec,'$.spec.base'),spec),spec) || ' ' || created),1,32);"
    "ALTER TABLE sweep ADD COLUMN changed INTEGER;" /* when its cells or seeds were; NULL: never */
    "ALTER TABLE sweep ADD COLUMN stop INTEGER;"    /* when all who work on it were last asked to stop */
    /* why a run of a sweep could not be begun, so that it has no row that says so */
    "CREATE TABLE sweep_failure("
    "  sweep INTEGER NOT NULL REFERENCES sweep(id) ON DELETE CASCADE, key TEXT NOT NULL,"
    "  reason TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY(sweep,key)"
    ") STRICT, WITHOUT ROWID;"
    "DROP VIEW v_runs;"
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
    "  n.text AS note, r.version, r.kernel, r.regime, r.uid"
    " FROM run r"
    " LEFT JOIN summary b ON b.run = r.id AND b.key = r.metric_key"
    " LEFT JOIN summary l ON l.run = r.id AND l.key = (SELECT id FROM key WHERE name = 'loss')"
    " LEFT JOIN note n ON n.run = r.id"
    " WHERE r.trashed IS NULL;";

/* What a run took of memory, and the points of long ones packed (block.c). */
static const char ninth_step[] =
    "ALTER TABLE run ADD COLUMN peak INTEGER;" /* bytes resident at most; NULL: others were in work beside it, or not known */
    "CREATE TABLE block("
    "  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    "  key INTEGER NOT NULL REFERENCES key(id), first INTEGER NOT NULL, last INTEGER NOT NULL,"
    "  count INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE(run,key,first)"
    ") STRICT;"
    "DROP VIEW v_runs;"
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
    "  n.text AS note, r.version, r.kernel, r.regime, r.uid, r.peak"
    " FROM run r"
    " LEFT JOIN summary b ON b.run = r.id AND b.key = r.metric_key"
    " LEFT JOIN summary l ON l.run = r.id AND l.key = (SELECT id FROM key WHERE name = 'loss')"
    " LEFT JOIN note n ON n.run = r.id"
    " WHERE r.trashed IS NULL;";

/* What people call a run. */
static const char tenth_step[] =
    "ALTER TABLE run ADD COLUMN name TEXT;" /* NULL: nothing */
    "CREATE INDEX run_name ON run(name) WHERE name IS NOT NULL;"
    "DROP VIEW v_runs;"
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
    "  n.text AS note, r.version, r.kernel, r.regime, r.uid, r.peak, r.name"
    " FROM run r"
    " LEFT JOIN summary b ON b.run = r.id AND b.key = r.metric_key"
    " LEFT JOIN summary l ON l.run = r.id AND l.key = (SELECT id FROM key WHERE name = 'loss')"
    " LEFT JOIN note n ON n.run = r.id"
    " WHERE r.trashed IS NULL;";

const char *const schema_step[SCHEMA_VERSION] = { first_step, second_step, third_step,   fourth_step,
                                                  fifth_step, sixth_step,  seventh_step, eighth_step, ninth_step, tenth_step };

static int look_newer(sqlite3 *db, int64_t version, struct err *e) {
    const char *path = sqlite3_db_filename(db, "main");
    int64_t oldest;
    int rc = db_int(db, e, &oldest, INT64_MAX,
                    "SELECT CAST(value AS INTEGER) FROM meta WHERE name='oldest_reader'", "");
    if (!rc && oldest <= SCHEMA_VERSION) return 0;
    return err_set(e, ERR_DATABASE, "%s: was written by a newer petri (schema %lld; this one knows "
                                    "up to %d); use that version, or name another file with --db",
                   path, (long long)version, SCHEMA_VERSION);
}

int schema_look(sqlite3 *db, enum schema_kind *kind, struct err *e) {
    int64_t application, version, tables;
    int rc = db_int(db, e, &application, 0, "PRAGMA application_id", "");
    if (!rc) rc = db_int(db, e, &version, 0, "PRAGMA user_version", "");
    if (!rc) rc = db_int(db, e, &tables, 0, "SELECT count(*) FROM sqlite_schema", "");
    if (rc) return rc;
    if (!application && !version && !tables) {
        *kind = SCHEMA_EMPTY;
        return 0;
    }
    if (application != SCHEMA_APPLICATION)
        return err_set(e, ERR_DATABASE,
                       "%s: is a database of another program; it was left as it is",
                       sqlite3_db_filename(db, "main"));
    if (version > SCHEMA_VERSION) {
        *kind = SCHEMA_NEWER;
        return look_newer(db, version, e);
    }
    *kind = version < SCHEMA_VERSION ? SCHEMA_OLDER : SCHEMA_SAME;
    return 0;
}

static int one_step(sqlite3 *db, const char *sql, int version, struct err *e) {
    char *numbers = xprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", SCHEMA_APPLICATION,
                            version);
    int rc = db_exec(db, "BEGIN IMMEDIATE", e);
    if (!rc) rc = db_exec(db, sql, e);
    if (!rc) rc = db_exec(db, numbers, e);
    if (!rc) rc = db_exec(db, "COMMIT", e);
    if (rc && !sqlite3_get_autocommit(db)) sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    free(numbers);
    return rc;
}

/* petri_sha256(text), for the steps. */
static void schema_hash_of(sqlite3_context *to, int count, sqlite3_value **value) {
    char hex[65];
    (void)count;
    const void *bytes = sqlite3_value_blob(value[0]);
    sha256_hex(bytes ? bytes : "", (size_t)sqlite3_value_bytes(value[0]), hex);
    sqlite3_result_text(to, hex, -1, SQLITE_TRANSIENT);
}

int schema_bring_up(sqlite3 *db, const char *const *step, int count, struct err *e) {
    int64_t version;
    int rc = db_int(db, e, &version, 0, "PRAGMA user_version", "");
    if (!rc && version < count &&
        sqlite3_create_function(db, "petri_sha256", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                schema_hash_of, NULL, NULL))
        rc = db_error(db, e);
    for (int i = (int)version; !rc && i < count; i++) {
        rc = one_step(db, step[i], i + 1, e);
        if (rc) err_prefix(e, "bringing the database to schema %d", i + 1);
    }
    return rc;
}
