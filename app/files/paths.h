/* Where things are: the default model and task by name, and the database. */
#ifndef APP_FILES_PATHS_H
#define APP_FILES_PATHS_H

#include <stdbool.h>

#include "core/base/err.h"

/* What is fetched on a new machine, and stands where nobody says another. */
#define DEFAULT_MODEL "all-MiniLM-L6-v2"
#define DEFAULT_TASK "reviews"

/* $XDG_DATA_HOME/petri/petri.db, or ~/.local/share/petri/petri.db; names that are not absolute are
 * as good as not set.  Without HOME the account's home is taken and *guessed set; NULL with ERR_USAGE
 * when it has none.  Caller frees. */
char *paths_database(bool *guessed, struct err *e);
/* What brings the default model and task: `make fetch` in a clone, else `petri fetch`. */
const char *paths_fetch(void);
/* The program's version, "petri 0.1.0". */
const char *paths_version(void);

#endif
