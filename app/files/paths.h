/* Where things are: the default model and task by name, and the database. */
#ifndef APP_FILES_PATHS_H
#define APP_FILES_PATHS_H

#include <stdbool.h>

#include "core/base/err.h"

/* What is fetched on a new machine, and petri's own, which are part of the project. */
#define DEFAULT_MODEL "all-MiniLM-L6-v2"
#define DEFAULT_TASK "reviews"
#define OWN_MODEL "petri-mini"
#define OWN_TASK "sections"

/* The name that stands where nobody says another: the fetched one's, or petri's own where that is not here;
 * the fetched one's again where neither is, so that what is missing is named. */
const char *paths_model(void);
const char *paths_task(void);
/* Returns the task of the first page: petri's own, which a first run learns in seconds; where that is
 * missing, paths_task(). */
const char *paths_first_task(void);
/* "petri-mini and sections are petri's own; `make fetch` brings more": of a model and a task (NULL: none)
 * those that stand in for what is not fetched.  NULL when neither does; caller frees. */
char *paths_stand_in(const char *model, const char *task);

/* $XDG_DATA_HOME/petri/petri.db, or ~/.local/share/petri/petri.db; names that are not absolute are
 * as good as not set.  Without HOME the account's home is taken and *guessed set; NULL with ERR_USAGE
 * when it has none.  Caller frees. */
char *paths_database(bool *guessed, struct err *e);
/* What brings the default model and task: `make fetch` in a clone, else `petri fetch`. */
const char *paths_fetch(void);
/* The program's version, "petri 0.1.0". */
const char *paths_version(void);

#endif
