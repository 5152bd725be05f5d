/* Small helpers of the tokenizers' tests. */
#ifndef TESTS_TEXT_SUPPORT_H
#define TESTS_TEXT_SUPPORT_H

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/text/tokenizer.h"
#include "tests/support/test.h"

/* The tokenizer of a folder; caller frees. */
static inline struct tokenizer *read_folder(const char *folder) {
    struct err e = ERR_INIT;
    struct tokenizer *t = tokenizer_read(folder, NULL, &e);
    if (!t) fail_msg("%s", e.text);
    return t;
}

/* The tokenizer of root/name, the test skipped when it is absent; caller frees. */
static inline struct tokenizer *read_fetched(const char *name) {
    char *folder = test_path(name);
    struct tokenizer *t = file_is_folder(folder) ? read_folder(folder) : NULL;
    free(folder);
    if (!t) {
        printf("skipped: %s is absent\n", name);
        skip();
    }
    return t;
}

/* The tokenizer of root/name, which must be there; caller frees. */
static inline struct tokenizer *read_reference(const char *name) {
    char *folder = test_path(name);
    struct tokenizer *t = read_folder(folder);
    free(folder);
    return t;
}

/* The bytes of root/name; caller releases. */
static inline struct buf fixture(const char *name) {
    char *path = test_path(name);
    struct buf text;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    free(path);
    return text;
}

/* Undoes the escapes of a fixture in place; returns the size. */
static inline size_t unescape(char *s) {
    char *o = s;
    for (char *p = s; *p;) {
        if (*p == '\\') {
            char hex[3] = {p[1], p[2], 0};
            *o++ = (char)strtol(hex, NULL, 16);
            p += 3;
        } else {
            *o++ = *p++;
        }
    }
    *o = '\0';
    return (size_t)(o - s);
}

#endif
