/* Small helpers of the tokenizers' tests. */
#ifndef TESTS_TEXT_SUPPORT_H
#define TESTS_TEXT_SUPPORT_H

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/text/tokenizer.h"
#include "tests/support/test.h"

/* The tokenizer of a folder; caller frees. */
static inline struct tokenizer *read_folder(const char *folder) {
    struct err e = ERR_INIT;
    struct tokenizer *t = tokenizer_read(folder, NULL, &e);
    if (!t) fail_msg("%s", e.text);
    return t;
}

/* The tokenizer of root/name, which must be there; caller frees. */
static inline struct tokenizer *read_reference(const char *name) {
    char *folder = test_path(name);
    struct tokenizer *t = read_folder(folder);
    free(folder);
    return t;
}

/* The same, the test skipped where root/name is absent. */
static inline struct tokenizer *read_fetched(const char *name) {
    test_needs(name);
    return read_reference(name);
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

/* Of the planes that have no character the first and the last block of 4,096 code points stand for the others, but for
 * `make test-slow`. */
static inline bool passed_over(uint32_t block) {
    bool edge = (block & 0xf000) == 0 || (block & 0xf000) == 0xf000;
    return block >= 0x40000 && block >> 16 != 0xe && !edge && !test_slow();
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

/* ---- lines of the shared data, known by their digests ---- */

/* Checks a line against `digests`, 16 digits and a separator each. */
typedef void check_line(void *self, const char *line, size_t n, const char *digests,
                        const char *file, size_t number);

/* How many of a file's lines are among `count` rows of 1 + `columns` digests: the line's own,
 * then those that `check` is given.  Each row is looked for once. */
static inline size_t shared_file(const char *path, const char *rows, size_t count, size_t columns,
                                 check_line *check, void *self) {
    struct buf text;
    struct err e = ERR_INIT;
    size_t found = 0, number = 0, row = 17 * (columns + 1);
    test_ok(file_read(path, 1 << 28, &text, &e), &e);
    bool *seen = xcalloc(count, sizeof *seen);
    for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));) {
        char hex[65];
        size_t n = strlen(line);
        number++;
        sha256_hex(line, n, hex);
        for (size_t i = 0; i < count; i++) {
            if (seen[i] || strncmp(rows + row * i, hex, 16)) continue;
            seen[i] = true;
            found++;
            check(self, line, n, rows + row * i + 17, path, number);
        }
    }
    free(seen);
    buf_release(&text);
    return found;
}

/* Checks the 2000 lines of `shared` that root/name lists, all of them found. */
static inline void shared_lines_of(const char *shared, const char *name, size_t columns,
                                   check_line *check, void *self) {
    struct buf list = fixture(name);
    size_t all = 0;
    for (const char *at = list.data; *at;) {
        char file[256];
        size_t count;
        if (sscanf(at, "# %255s %zu", file, &count) != 2) fail_msg("the fixture is damaged");
        at = strchr(at, '\n') + 1;
        char *path = file_join(shared, file);
        assert_int_equal(shared_file(path, at, count, columns, check, self), count);
        free(path);
        at += 17 * (columns + 1) * count;
        all += count;
    }
    assert_int_equal(all, 2000);
    buf_release(&list);
}

#endif
