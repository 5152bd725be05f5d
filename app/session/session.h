/* `petri` alone: the terminal workbench.  One thread makes every curses call and never
 * waits for a run, the database or a file. */
#ifndef APP_SESSION_SESSION_H
#define APP_SESSION_SESSION_H

#include "core/base/err.h"

/* Options: --db FILE, --workers N, --no-color, --ascii, --model, --task.  Returns when the
 * user leaves (and, when asked to, all runs have ended). */
int session_run(int argc, char **argv, struct err *e);

#endif
