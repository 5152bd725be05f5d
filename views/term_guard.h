/* Restores the terminal however the program ends, and keeps standard error off the screen
 * meanwhile.  Independent of curses: a signal handler only calls write, tcsetattr and dup2.
 * Private to term.c. */
#ifndef VIEWS_TERM_GUARD_H
#define VIEWS_TERM_GUARD_H

/* Stores the strings that leave the screen, show the cursor, reset attributes and the
 * keypad; any may be NULL. */
void guard_strings(const char *leave, const char *cursor, const char *attributes,
                   const char *keypad);
/* Saves the line discipline, redirects standard error, installs handlers for fatal signals. */
void guard_begin(void);
/* Undoes guard_begin and prints the captured standard error. */
void guard_end(void);
/* Restores the saved line discipline. */
void guard_line(void);
/* Async-signal-safe. */
void guard_restore(void);

#endif
