/* A command-line verb run as a child process, so that the screen continues to work; its output is collected
 * in lines that can be shown.
 *
 * Used by one thread, which polls child_fd and calls child_read. */
#ifndef APP_SESSION_CHILD_H
#define APP_SESSION_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"

enum { CHILD_LINES = 100000 };

struct child;

/* Starts this program with these arguments; standard input is empty, standard output and error are merged.
 * Returns NULL with *e when it cannot be started.  Release with child_free. */
struct child *child_new(char *const *word, size_t words, struct err *e);
/* Runs it on this terminal and waits; ^C reaches only the child.  *code: its exit code. */
int child_run(char *const *word, size_t words, int *code, struct err *e);
/* Runs the user's shell ($SHELL) in a folder on this terminal and waits until it exits. */
int child_shell(const char *folder, struct err *e);
/* Returns the descriptor to poll, or -1 after the child has ended. */
int child_fd(const struct child *c);
/* Reads the available output without waiting; returns true when the child has ended. */
bool child_read(struct child *c);
/* Returns the lines so far, without control characters, owned by the child; *cut: there were more than
 * CHILD_LINES. */
const char *const *child_lines(const struct child *c, int *lines, bool *cut);
/* Returns its exit code; 128 plus the signal's number when a signal ended it. */
int child_code(const struct child *c);
/* Asks the child to end. */
void child_stop(struct child *c);
/* Kills the child if it still runs; NULL is ignored. */
void child_free(struct child *c);

#endif
