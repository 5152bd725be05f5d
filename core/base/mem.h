/* Memory that must not fail, and the abort for programmer errors.
 *
 * x-functions abort with a message when the system has no memory: they are for
 * small things.  A size that comes from a file or a user goes through
 * mem_try(), which returns NULL.  Computation, whose memory is decided by examples,
 * lengths and sizes, runs inside mem_guard(): there a failed allocation ends the
 * computation, not the process. */
#ifndef CORE_BASE_MEM_H
#define CORE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* realloc of an array; a product that wraps aborts. */
void *xrealloc(void *p, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xcopy(const char *s); /* the same, but NULL of NULL */
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *xprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
/* *to becomes a copy of s (NULL: NULL), which may be the text that *to held: that one is freed. */
void xreplace(char **to, const char *s);

/* 64-byte aligned block of count*size bytes, or NULL when it wraps or the
 * system has none.  Freed with free(). */
void *mem_try(size_t count, size_t size);

/* Runs work(self).  A failed allocation of an x-function, of mem_lack() or of an arena on this thread ends
 * work at that point.  Returns 0 when work finished, else the size in bytes of the block that could not be
 * allocated.  Where work allocates it must hold no lock and no open file, and what it has allocated must
 * belong to an object that outlives it (an arena, a growing array); other blocks leak.  Guards nest; the
 * innermost one ends. */
size_t mem_guard(void (*work)(void *self), void *self);
/* Ends the innermost guard of this thread with `bytes`; without one aborts. */
void mem_lack(size_t bytes) __attribute__((noreturn));
/* Lifts the guards of this thread until mem_guard_resume(): an x-function that fails then aborts.  For calls
 * that take locks or open files. */
struct mem_guard *mem_guard_pause(void);
void mem_guard_resume(struct mem_guard *guard);
/* For tests: asked before each allocation inside a guard; true makes it fail.  NULL removes it. */
void mem_on_request(bool (*refuse)(size_t bytes));

/* Checked arithmetic: false when the result would wrap. */
bool mem_mul(size_t a, size_t b, size_t *out);
bool mem_add(size_t a, size_t b, size_t *out);

/* Grows an array to hold at least `need` items (doubling). */
#define GROW(array, capacity, need)                                                                \
    do {                                                                                           \
        if ((size_t)(need) > (size_t)(capacity)) {                                                 \
            size_t grow_to_ = (size_t)(capacity) ? 2 * (size_t)(capacity) : 8;                     \
            if (grow_to_ < (size_t)(need)) grow_to_ = (size_t)(need);                              \
            (array) = xrealloc((array), grow_to_, sizeof *(array));                                \
            (capacity) = grow_to_;                                                                 \
        }                                                                                          \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A programmer's error: runs the hook (the terminal is restored), prints where
 * and aborts. */
#define BUG(...) mem_bug(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_IF(condition)                                                                          \
    do {                                                                                           \
        if (condition) BUG("%s", #condition);                                                      \
    } while (0)
void mem_bug(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Called once before an abort, to restore the terminal.  NULL clears it. */
void mem_on_abort(void (*hook)(void));

#endif
