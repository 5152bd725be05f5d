/* SQLite connections with petri's settings, error messages, and the lock of every writing transaction and
 * checkpoint.  Private to store/.
 *
 * SQLite releases before 3.51.3 can lose pages when two connections write and reset the WAL at the same
 * moment.  So automatic checkpoints are disabled, and all writers take turns under a file lock, within a
 * process and between processes. */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

enum { DB_BUSY_MS = 5000, DB_NAP_MS = 5 };

/* Sleeps briefly while waiting for another holder; `tries` counts the calls from 0.  Returns false, without
 * sleeping, when the wait has taken limit_ms; after one second the callback of store_on_wait is called. */
bool db_nap(const char *path, int tries, int limit_ms);
/* Sets whether a connection waits for others (the default). */
void db_wait(sqlite3 *db, bool waits);

/* Returns ERR_DATABASE or ERR_SYSTEM with the file's name and the reason, for the last failure of `db`. */
int db_error(sqlite3 *db, struct err *e);
/* Returns whether the disk is full, according to SQLite or the system. */
bool db_is_full(sqlite3 *db);

/* Opens an existing file with the settings of every petri connection. */
int db_open_writer(const char *path, sqlite3 **out, struct err *e);
/* Opens it read-only.  A file in a folder that is not writable is opened as immutable if it has no WAL. */
int db_open_reader(const char *path, sqlite3 **out, struct err *e);
void db_close(sqlite3 *db);

/* Returns the journal mode for the file system of `path`: "wal", or "delete" on network folders, where
 * processes cannot share the WAL's memory. */
const char *db_journal_for(const char *path);
bool db_is_network_magic(unsigned long magic);

/* Takes the lock file; ERR_DATABASE when another process has it for DB_BUSY_MS. */
int db_lock(const char *lock_path, int *fd, struct err *e);

int db_exec(sqlite3 *db, const char *sql, struct err *e);
/* Prepares and binds: one letter of `types` per argument, i int64_t, d double, t text (NULL: SQL NULL), n an
 * int64_t where 0 is NULL.  NULL on failure. */
sqlite3_stmt *db_prepare(sqlite3 *db, struct err *e, const char *sql, const char *types, ...);
/* Prepares, binds, runs to the end, finalizes. */
int db_run(sqlite3 *db, struct err *e, const char *sql, const char *types, ...);
/* Prepares, binds, passes each row to `take`, finalizes. */
int db_each(sqlite3 *db, struct err *e, void (*take)(void *self, sqlite3_stmt *row), void *self,
            const char *sql, const char *types, ...);
/* Returns the first column of the first row, `none` without a row.  On failure -1 and e->code. */
int db_int(sqlite3 *db, struct err *e, int64_t *out, int64_t none, const char *sql,
           const char *types, ...);
/* Returns 1 for a row, 0 at the end, negative for an error. */
int db_step(sqlite3_stmt *st, struct err *e);
int db_bind_text(sqlite3_stmt *st, int at, const char *s);
/* Returns a copy of a column's text; NULL for NULL, or "" with `empty`. */
char *db_text(sqlite3_stmt *st, int column, bool empty);

#endif
