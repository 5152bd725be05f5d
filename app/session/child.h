/* A verb of the command line, run as a process of its own, so that the screen goes on whatever it does: what
 * it prints is collected in lines that can be shown.
 *
 * One thread; that thread polls child_fd and calls child_read. */
#ifndef APP_SESSION_CHILD_H
#define APP_SESSION_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

enum { CHILD_LINES = 100000 };

struct child;

/* This program with these words behind its name; standard input is empty, standard output and error are one.
 * NULL and *e where it cannot be begun.  child_free. */
struct child *child_new(char *const *word, size_t words, struct err *e);
/* The same on this terminal, waited for; ^C is for it alone.  *code: its exit code. */
int child_run(char *const *word, size_t words, int *code, struct err *e);
/* -1 once it is over. */
int child_fd(const struct child *c);
/* Takes what has come, without waiting; true when it is over now. */
bool child_read(struct child *c);
/* Lines so far, without control characters, owned; *cut: there were more than CHILD_LINES. */
const char *const *child_lines(const struct child *c, int *lines, bool *cut);
/* Its exit code; 128 and the signal's number when one ended it. */
int child_code(const struct child *c);
/* Asks it to end. */
void child_stop(struct child *c);
/* Ends it when it goes on; NULL is no work. */
void child_free(struct child *c);

#endif
