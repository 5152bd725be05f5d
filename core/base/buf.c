#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static void reserve(struct buf *b, size_t extra) {
    size_t need;
    if (!mem_add(b->size, extra, &need) || !mem_add(need, 1, &need))
        BUG("a buffer cannot grow by %zu bytes", extra);
    GROW(b->data, b->room, need);
}

void buf_add(struct buf *b, const void *bytes, size_t n) {
    reserve(b, n);
    if (n) memcpy(b->data + b->size, bytes, n);
    b->size += n;
    b->data[b->size] = '\0';
}

void buf_puts(struct buf *b, const char *s) { buf_add(b, s, strlen(s)); }
void buf_putc(struct buf *b, char c) { buf_add(b, &c, 1); }

static void add_formatted(struct buf *b, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    BUG_IF(n < 0);
    reserve(b, (size_t)n);
    vsnprintf(b->data + b->size, (size_t)n + 1, format, args);
    b->size += (size_t)n;
}

void buf_printf(struct buf *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_formatted(b, format, args);
    va_end(args);
}

void buf_part(struct buf *b, const char *format, ...) {
    va_list args;
    if (b->size) buf_puts(b, "; ");
    va_start(args, format);
    add_formatted(b, format, args);
    va_end(args);
}

const char *buf_text(const struct buf *b) { return b->data ? b->data : ""; }

char *buf_take(struct buf *b) {
    if (!b->data) return xstrdup("");
    char *text = b->data;
    *b = (struct buf)BUF_INIT;
    return text;
}

void buf_clear(struct buf *b) {
    b->size = 0;
    if (b->data) b->data[0] = '\0';
}

void buf_release(struct buf *b) {
    free(b->data);
    *b = (struct buf)BUF_INIT;
}
