/* The tables and views, and how an older file is brought up.  Private to store/.
 * docs/schema.md describes both for people who query them. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "core/base/err.h"

enum {
    SCHEMA_APPLICATION = 0x50545249, /* "PTRI", in the file's header */
    SCHEMA_VERSION = 10,             /* user_version that this program writes */
};

/* Version i is reached from i-1 by step[i-1]; steps are never edited once released, only
 * added. */
extern const char *const schema_step[SCHEMA_VERSION];

enum schema_kind {
    SCHEMA_EMPTY,  /* nothing in it yet */
    SCHEMA_OLDER,  /* petri's, to be brought up */
    SCHEMA_SAME,
    SCHEMA_NEWER,  /* by a newer petri, which says that this one can still read it */
};
/* What the file is.  ERR_DATABASE when it is no database, another program's, or newer
 * and not readable. */
int schema_look(sqlite3 *db, enum schema_kind *kind, struct err *e);

/* Brings the file from its version up to `count`, each step in one transaction together
 * with its version number.  The caller holds the lock. */
int schema_bring_up(sqlite3 *db, const char *const *step, int count, struct err *e);

#endif
