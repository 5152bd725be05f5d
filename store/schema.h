/* The tables and views.  Private to store/; docs/schema.md describes them for people who query them. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "core/base/err.h"

enum {
    SCHEMA_APPLICATION = 0x50455452, /* "PETR", in the file's header */
    SCHEMA_VERSION = 1,              /* user_version that this program writes */
};

enum schema_kind {
    SCHEMA_EMPTY, /* nothing in it yet */
    SCHEMA_SAME,
    SCHEMA_NEWER, /* written by a newer version of petri, which says that this one can still read it */
};
/* Sets *kind to what the file is.  Returns ERR_DATABASE for a file that is no database, another program's,
 * written by an earlier version of petri, or newer and not readable. */
int schema_look(sqlite3 *db, enum schema_kind *kind, struct err *e);

/* Makes tables, views and version number in an empty database, in one transaction.  The caller holds the
 * lock. */
int schema_make(sqlite3 *db, struct err *e);

#endif
