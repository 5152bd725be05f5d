/* A byte buffer that grows: text under construction, or file contents. */
#ifndef CORE_BASE_BUF_H
#define CORE_BASE_BUF_H

#include <stddef.h>

struct buf {
    char *data;   /* always NUL-terminated once anything was added; NULL before */
    size_t size;  /* bytes in use, without the NUL */
    size_t room;
};

#define BUF_INIT { NULL, 0, 0 }

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the next item of a list: each but the first is preceded by "; ". */
void buf_part(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the text so far as a C string ("" when empty), valid until the next call. */
const char *buf_text(const struct buf *b);
/* Transfers the text to the caller, who frees it, and empties the buffer. */
char *buf_take(struct buf *b);
void buf_clear(struct buf *b);   /* empties it and keeps the memory */
void buf_release(struct buf *b); /* frees the memory */

#endif
