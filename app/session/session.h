/* The terminal workbench.  One thread makes every curses call and never waits for a run, the database or a
 * file. */
#ifndef APP_SESSION_SESSION_H
#define APP_SESSION_SESSION_H

#include "core/base/err.h"
#include "store/store.h"
#include "views/term.h"

struct session_start {
    struct store *store;     /* open for writing; the session closes it, also on failure */
    int workers;
    const char *model, *task; /* to begin with */
    bool look_only;          /* the store is open for reading: runs are shown, and nothing is begun or changed */
    bool watch;              /* begins on Train, */
    int64_t run;             /* with this run; 0: the newest living one, as one comes */
    struct term_choice terminal;
};
/* Returns when the user leaves (and, when asked to, all runs have ended). */
int session_run(const struct session_start *with, struct err *e);

#endif
