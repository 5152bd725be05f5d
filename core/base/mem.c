#include "core/base/mem.h"

#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*abort_hook)(void);

void mem_on_abort(void (*hook)(void)) { abort_hook = hook; }

static void mem_run_abort_hook(void) {
    void (*hook)(void) = abort_hook;
    abort_hook = NULL;
    if (hook) hook();
}

void mem_bug(const char *file, int line, const char *format, ...) {
    mem_run_abort_hook();
    fprintf(stderr, "petri: internal error at %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

/* ---- guards ---- */

struct mem_guard {
    jmp_buf end;
    volatile size_t lacks;
    struct mem_guard *outer;
};

static _Thread_local struct mem_guard *innermost;
static bool (*refuse)(size_t bytes);

void mem_on_request(bool (*hook)(size_t bytes)) { refuse = hook; }

size_t mem_guard(void (*work)(void *self), void *self) {
    struct mem_guard guard = { .outer = innermost };
    innermost = &guard;
    if (!setjmp(guard.end)) {
        work(self);
        innermost = guard.outer;
    }
    return guard.lacks;
}

void mem_lack(size_t bytes) {
    struct mem_guard *guard = innermost;
    if (!guard) {
        mem_run_abort_hook();
        fprintf(stderr, "petri: out of memory: a block of %zu bytes could not be allocated\n", bytes);
        _exit(1);
    }
    guard->lacks = bytes ? bytes : 1;
    innermost = guard->outer;
    longjmp(guard->end, 1);
}

struct mem_guard *mem_guard_pause(void) {
    struct mem_guard *guard = innermost;
    innermost = NULL;
    return guard;
}

void mem_guard_resume(struct mem_guard *guard) { innermost = guard; }

static bool refused(size_t bytes) { return innermost && refuse && refuse(bytes); }

/* ---- allocation ---- */

static void *checked(void *p, size_t size) {
    if (!p) mem_lack(size);
    return p;
}

void *xmalloc(size_t size) { return checked(refused(size) ? NULL : malloc(size ? size : 1), size); }

void *xcalloc(size_t count, size_t size) {
    size_t bytes;
    if (!mem_mul(count, size, &bytes)) bytes = SIZE_MAX;
    return checked(refused(bytes) ? NULL : calloc(count ? count : 1, size ? size : 1), bytes);
}

void *xrealloc(void *p, size_t count, size_t size) {
    size_t bytes;
    if (!mem_mul(count, size, &bytes)) BUG("an array of %zu items of %zu bytes exceeds 64 bits", count, size);
    return checked(refused(bytes) ? NULL : realloc(p, bytes ? bytes : 1), bytes);
}

char *xstrndup(const char *s, size_t n) {
    char *copy = xmalloc(n + 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *xstrdup(const char *s) { return xstrndup(s, strlen(s)); }

char *xcopy(const char *s) { return s ? xstrdup(s) : NULL; }

void xreplace(char **to, const char *s) {
    char *copy = xcopy(s);
    free(*to);
    *to = copy;
}

char *xprintf(const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    BUG_IF(n < 0);
    char *text = xmalloc((size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}

bool mem_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool mem_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

/* Otherwise the C library keeps blocks of the size of any block that was freed once. */
static void return_large_blocks(void) { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

void *mem_try(size_t count, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, return_large_blocks);
    size_t bytes;
    if (!mem_mul(count, size, &bytes) || bytes > SIZE_MAX - 64) return NULL;
    if (refused(bytes)) return NULL;
    bytes = (bytes + 63) & ~(size_t)63;
    return aligned_alloc(64, bytes ? bytes : 64);
}
