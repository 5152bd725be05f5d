/* The workbench where no screen can be drawn: a prompt that takes the ':' line's commands, one a line, and
 * prints what the screen would show; and a run's curves, a line a point. */
#ifndef APP_SESSION_PLAIN_H
#define APP_SESSION_PLAIN_H

#include "app/session/session.h"

/* Reads standard input to its end or "quit"; `database`: what --db named, or NULL.  Every command is a
 * process of its own. */
int plain_run(const struct session_verbs *verbs, const char *database, bool look_only, struct err *e);
/* Run `run`, or the newest living one as one comes (0), until it is over. */
int plain_watch(struct store *s, int64_t run, struct err *e);

#endif
