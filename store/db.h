/* SQLite connections as petri wants them, errors as sentences, and the lock that every
 * writing transaction and checkpoint holds.  Private to store/.
 *
 * SQLite releases before 3.51.3 can lose pages when two connections write and reset the
 * WAL at the same moment.  So no connection checkpoints by itself, and all that write
 * take turns under a file lock, within a process and between processes. */
#ifndef STORE_DB_H
#define STORE_DB_H

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

enum { DB_BUSY_MS = 5000, DB_NAP_MS = 5 };

/* One short sleep of a wait for what another holds; `tries` counts them from 0.  False, without
 * sleeping, when the wait has taken limit_ms; after a second of it store_on_wait's is told. */
bool db_nap(const char *path, int tries, int limit_ms);
/* Whether a connection waits for others, as every one does at first. */
void db_wait(sqlite3 *db, bool waits);

/* ERR_DATABASE or ERR_SYSTEM with the file's name and what SQLite found, for the last
 * failure of `db`. */
int db_error(sqlite3 *db, struct err *e);
/* The disk is full, by SQLite's word or the system's. */
bool db_is_full(sqlite3 *db);

/* Opens an existing file with the settings of every petri connection. */
int db_open_writer(const char *path, sqlite3 **out, struct err *e);
/* Read-only.  A file in a folder where nothing can be made is opened as immutable when no
 * WAL is beside it. */
int db_open_reader(const char *path, sqlite3 **out, struct err *e);
void db_close(sqlite3 *db);

/* The journal for the file system of `path`: "wal", or "delete" on network folders, where
 * processes cannot share the WAL's memory. */
const char *db_journal_for(const char *path);
bool db_is_network_magic(unsigned long magic);

/* Takes the lock file; ERR_DATABASE when another process holds it for DB_BUSY_MS. */
int db_lock(const char *lock_path, int *fd, struct err *e);

int db_exec(sqlite3 *db, const char *sql, struct err *e);
/* Prepares and binds: one letter of `types` for each argument, i int64_t, d double, t text
 * (NULL: SQL NULL), n an int64_t where 0 is NULL.  NULL on failure. */
sqlite3_stmt *db_prepare(sqlite3 *db, struct err *e, const char *sql, const char *types, ...);
/* Prepares, binds, runs to the end, finalises. */
int db_run(sqlite3 *db, struct err *e, const char *sql, const char *types, ...);
/* Prepares, binds, gives each row to `take`, finalises. */
int db_each(sqlite3 *db, struct err *e, void (*take)(void *self, sqlite3_stmt *row), void *self,
            const char *sql, const char *types, ...);
int db_each_list(sqlite3 *db, struct err *e, void (*take)(void *self, sqlite3_stmt *row), void *self,
                 const char *sql, const char *types, va_list list); /* take NULL: nobody gets them */
/* The first column of the first row, `none` without a row.  -1 in e->code on failure. */
int db_int(sqlite3 *db, struct err *e, int64_t *out, int64_t none, const char *sql,
           const char *types, ...);
/* 1 a row, 0 done, negative an error. */
int db_step(sqlite3_stmt *st, struct err *e);
int db_bind_text(sqlite3_stmt *st, int at, const char *s);
/* A column's text, copied; NULL when the column is, or "" with `empty`. */
char *db_text(sqlite3_stmt *st, int column, bool empty);

#endif
