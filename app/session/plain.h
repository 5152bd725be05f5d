/* The workbench for terminals that cannot show screens: a prompt that reads the commands of the ':' line
 * and prints what the screen would show; and a run's curves, one line per point. */
#ifndef APP_SESSION_PLAIN_H
#define APP_SESSION_PLAIN_H

#include "app/session/session.h"

/* Reads standard input to its end or "quit"; `database`: the value of --db, or NULL.  Every command is a
 * child process. */
int plain_run(const struct session_verbs *verbs, const char *database, bool read_only, struct err *e);
/* Prints run `run`, or the newest active one, waiting for one if necessary (0), until it ends. */
int plain_watch(struct store *s, int64_t run, struct err *e);

#endif
