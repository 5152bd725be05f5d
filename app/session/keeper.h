/* A process that the shell waits for while another process shows the screens, so that training can continue
 * after the shell prompt returns: threads do not survive a fork, so the keeper is forked before any are
 * created.
 *
 * It forwards signals to the other process, stops when that stops, and ends when that ends. */
#ifndef APP_SESSION_KEEPER_H
#define APP_SESSION_KEEPER_H

#include <stdbool.h>

/* Forks and returns in the child; the parent never returns.  Does nothing without a terminal, or when the
 * fork fails.  Call before any thread is started. */
void keeper_begin(void);
/* Lets the keeper exit with code 0: this process leaves the terminal and its session, and its standard
 * streams are redirected to /dev/null.  Returns false, and does nothing, without a keeper. */
bool keeper_let_go(void);

#endif
