/* Paths of the default model and task, and of the database. */
#ifndef APP_FILES_PATHS_H
#define APP_FILES_PATHS_H

#include <stdbool.h>

#include "core/base/err.h"

/* Defaults that are fetched on a new machine, and petri's own, which are part of the project. */
#define DEFAULT_MODEL "all-MiniLM-L6-v2"
#define DEFAULT_TASK "reviews"
#define OWN_MODEL "petri-mini"
#define OWN_TASK "sections"

/* Returns the name of the default model: the fetched one, or petri's own if that is missing; if both are
 * missing, the fetched one, so that errors name it. */
const char *paths_model(void);
const char *paths_task(void);
/* Returns the task of the first page: petri's own, which a first run learns in seconds; where that is
 * missing, paths_task(). */
const char *paths_first_task(void);
/* Returns a sentence that names which of a model and a task (NULL: none) replace the fetched defaults:
 * "petri-mini and sections are built in; `make fetch` downloads more".  NULL when neither does;
 * caller frees. */
char *paths_stand_in(const char *model, const char *task);

/* Returns $XDG_DATA_HOME/petri/petri.db or ~/.local/share/petri/petri.db; values that are not absolute
 * paths are ignored.  Without HOME it uses the account's home folder and sets *guessed; NULL with ERR_USAGE
 * when the account has none.  Caller frees. */
char *paths_database(bool *guessed, struct err *e);
/* Returns the command that fetches the default model and task: `make fetch` in a clone, else `petri
 * fetch`. */
const char *paths_fetch(void);
/* Returns the program's version, "petri 0.1.0". */
const char *paths_version(void);

#endif
