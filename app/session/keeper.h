/* The process that the shell waits for while the screens are shown by another, so that these can let the
 * shell go on and keep training: threads do not survive a fork, so it is made before there are any.
 *
 * It passes signals on to the other, stops when that is stopped, and ends as that ends. */
#ifndef APP_SESSION_KEEPER_H
#define APP_SESSION_KEEPER_H

#include <stdbool.h>

/* Forks and returns in the new process; the other one never returns.  Does nothing without a terminal, and
 * where no process can be had.  Before any thread is started. */
void keeper_begin(void);
/* Lets the shell go on, with exit code 0: this process leaves the terminal and its session, and its standard
 * streams go nowhere.  False where no keeper waits, and nothing was done. */
bool keeper_let_go(void);

#endif
