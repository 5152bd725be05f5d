/* The way back: restores the terminal whatever ends the program, and keeps standard error
 * off the screen meanwhile.  Knows no curses: what a signal handler does is a write, a
 * tcsetattr and a dup2.  Private to term.c. */
#ifndef VIEWS_TERM_GUARD_H
#define VIEWS_TERM_GUARD_H

/* Keeps the strings that leave the screen, show the cursor, reset attributes and the
 * keypad; any may be NULL. */
void guard_strings(const char *leave, const char *cursor, const char *attributes,
                   const char *keypad);
/* Remembers the line discipline, redirects standard error, installs handlers for signals
 * that would end the program without a word. */
void guard_begin(void);
/* Undoes guard_begin and shows what came on standard error. */
void guard_end(void);
/* Async-signal-safe. */
void guard_restore(void);

#endif
