/* The tables and views.  Private to store/; docs/schema.md describes them for users who query them. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "core/base/err.h"

enum {
    SCHEMA_APPLICATION = 0x50455452, /* "PETR", in the file's header */
    SCHEMA_VERSION = 1,              /* user_version written by this program */
};

enum schema_kind {
    SCHEMA_EMPTY, /* still empty */
    SCHEMA_SAME,
    SCHEMA_NEWER, /* written by a newer version of petri, and readable by this one */
};
/* Sets *kind to the kind of the file.  Returns ERR_DATABASE for a file that is not a database, of another
 * program, written by an earlier version of petri, or newer and not readable. */
int schema_detect(sqlite3 *db, enum schema_kind *kind, struct err *e);

/* Creates tables, views and version number in an empty database, in one transaction.  The caller has the
 * lock. */
int schema_make(sqlite3 *db, struct err *e);

#endif
