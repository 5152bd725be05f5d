/* Allocation, and the abort on programming errors.
 *
 * The x-functions end the process with a message when the system is out of memory: they are for small
 * objects.  A size that comes from a file or a user goes through mem_try(), which returns NULL.  Computation,
 * whose memory depends on examples, lengths and sizes, runs inside mem_guard(): a failed allocation ends the
 * computation, not the process. */
#ifndef CORE_BASE_MEM_H
#define CORE_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Reallocates an array; aborts if the product overflows. */
void *xrealloc(void *p, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xcopy(const char *s); /* the same, and NULL for NULL */
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *xprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
/* Replaces *to by a copy of s (NULL: NULL) and frees the old text, which s may be. */
void xreplace(char **to, const char *s);

/* Allocates a 64-byte aligned block of count*size bytes; NULL when the product overflows or the system is out
 * of memory.  Freed with free(), which returns blocks of 1 MiB or more to the system. */
void *mem_try(size_t count, size_t size);

/* Runs work(self).  A failed allocation of an x-function, of mem_lack() or of an arena on this thread ends
 * work at that point.  Returns 0 when work finished, otherwise the size in bytes of the block that could not
 * be allocated.  While allocating, work must not own a lock or an open file, and what it has allocated must
 * belong to an object that outlives it (an arena, a growing array); other blocks leak.  Guards nest; the
 * innermost one ends. */
size_t mem_guard(void (*work)(void *self), void *self);
/* Ends the innermost guard of this thread with `bytes`; without one, runs the abort hook, prints a message
 * and ends the process with status 1. */
void mem_lack(size_t bytes) __attribute__((noreturn));
/* Suspends the guards of this thread until mem_guard_resume(): an x-function that fails then ends the
 * process. For calls that take locks or open files. */
struct mem_guard *mem_guard_pause(void);
void mem_guard_resume(struct mem_guard *guard);
/* Test hook called before each allocation inside a guard; true makes it fail.  NULL removes it. */
void mem_on_request(bool (*refuse)(size_t bytes));

/* Checked arithmetic: return false on overflow. */
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

/* Reports a programming error: runs the hook (which restores the terminal), prints the location and
 * aborts. */
#define BUG(...) mem_bug(__FILE__, __LINE__, __VA_ARGS__)
#define BUG_IF(condition)                                                                          \
    do {                                                                                           \
        if (condition) BUG("%s", #condition);                                                      \
    } while (0)
void mem_bug(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
/* Sets a hook called once before an abort, to restore the terminal.  NULL clears it. */
void mem_on_abort(void (*hook)(void));

#endif
