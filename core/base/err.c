#include "core/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"

/* Copies as many whole characters of the visible form of `raw` as fit. */
static void store(struct err *e, const char *raw) {
    char *visible = text_visible(raw, strlen(raw));
    size_t n = strlen(visible);
    if (n >= sizeof e->text) {
        n = sizeof e->text - 1;
        while (n && ((unsigned char)visible[n] & 0xC0) == 0x80) n--;
    }
    memcpy(e->text, visible, n);
    e->text[n] = '\0';
    free(visible);
}

int err_set(struct err *e, int code, const char *format, ...) {
    if (!e) return code;
    char raw[sizeof e->text];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    e->code = code;
    store(e, raw);
    return code;
}

int err_memory(struct err *e, size_t bytes, const char *advice) {
    return err_set(e, ERR_SYSTEM, "out of memory: a block of %zu bytes could not be allocated%s%s", bytes,
                   advice ? "; " : "", advice ? advice : "");
}

int err_prefix(struct err *e, const char *format, ...) {
    char raw[2 * sizeof e->text];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(raw, sizeof e->text, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof e->text ? (size_t)n : sizeof e->text - 1;
    snprintf(raw + used, sizeof raw - used, ": %s", e->text);
    store(e, raw);
    return e->code;
}

int err_exit_code(int code) {
    switch (code) {
    case 0: return 0;
    case ERR_USAGE: return 2;
    case ERR_NOT_FOUND: return 3;
    case ERR_DATABASE: return 4;
    case ERR_INPUT: return 5;
    case ERR_INTERRUPTED: return 130;
    default: return 1;
    }
}
