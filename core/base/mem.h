/* Memory that must not fail, and the abort for programmer errors.
 *
 * x-functions abort with a message when the system has no memory: they are for
 * small things.  A size that comes from a file or a user goes through
 * mem_try(), which returns NULL. */
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
