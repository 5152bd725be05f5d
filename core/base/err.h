/* Errors caused by users, files, the system or the database.
 *
 * A function that can fail returns 0 on success and a negative `enum err_code` on failure, and fills the
 * `struct err` of its caller.  The message names the file, the row or tensor, what was found and what is
 * expected.  Library code never prints and never exits.  Programming errors are reported with BUG(), which
 * aborts. */
#ifndef CORE_BASE_ERR_H
#define CORE_BASE_ERR_H

#include <stddef.h>

enum err_code {
    ERR_FAILED = -1,      /* the operation failed (a run diverged, a process died) */
    ERR_USAGE = -2,       /* the caller's options or method text are wrong */
    ERR_NOT_FOUND = -3,   /* a run, file, folder or tensor does not exist */
    ERR_DATABASE = -4,    /* the database is busy, corrupt or newer than this program */
    ERR_INPUT = -5,       /* the content of a file is invalid */
    ERR_SYSTEM = -6,      /* the operating system refused (disk full, permission) */
    ERR_INTERRUPTED = -7, /* a user or a signal requested a stop */
};

struct err {
    int code;       /* 0 or an enum err_code */
    char text[768]; /* one sentence, UTF-8, no control characters, no final newline */
};

#define ERR_INIT { 0, "" }

/* Sets code and message (printf style; control characters in the result are
 * made visible).  `e` may be NULL.  Returns `code`, so that
 * `return err_set(e, ERR_INPUT, "…")` reads well. */
int err_set(struct err *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets ERR_SYSTEM and the message that a block of `bytes` could not be allocated; `advice`: what to do about
 * it, or NULL.  Returns ERR_SYSTEM. */
int err_memory(struct err *e, size_t bytes, const char *advice);

/* Prepends "prefix: " to the message.  Returns e->code. */
int err_prefix(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns the process exit code of an error code: 0 ok, 1 failed, 2 usage, 3 not found, 4 database, 5 invalid
 * input file, 130 interrupted. */
int err_exit_code(int code);

#endif
