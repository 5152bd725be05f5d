#include "core/data/encoding.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"

struct mark {
    const char *bytes;
    size_t n;
    const char *what;
};

/* The longer marks first: that of UTF-32 starts like that of UTF-16. */
static const struct mark marks[] = {
    { "\xFF\xFE\0\0", 4, "the file is UTF-32; convert it to UTF-8" },
    { "\0\0\xFE\xFF", 4, "the file is UTF-32; convert it to UTF-8" },
    { "\xFF\xFE", 2, "the file is UTF-16; convert it to UTF-8" },
    { "\xFE\xFF", 2, "the file is UTF-16; convert it to UTF-8" },
    { "version https://git-lfs", 23, "a Git LFS pointer; the data was not downloaded; run git lfs pull" },
    { "\x1F\x8B", 2, "the file is compressed (gzip); unpack it first" },
    { "BZh", 3, "the file is compressed (bzip2); unpack it first" },
    { "\xFD\x37zXZ\0", 6, "the file is compressed (xz); unpack it first" },
    { "\x28\xB5\x2F\xFD", 4, "the file is compressed (zstd); unpack it first" },
    { "\xD0\xCF\x11\xE0", 4, "the file is a Microsoft Office document; save it as CSV" },
    { "PAR1", 4, "the file is Parquet; convert it to CSV or JSON Lines" },
    { "PK\x03\x04", 4, "the file is a ZIP archive or a spreadsheet (.xlsx, .ods); save it as CSV" },
};

/* Detects wide text without a byte order mark: ASCII leaves NULs at every other byte, or at three of four. */
static const char *wide_units(const char *s, size_t n) {
    enum { LOOK = 4096 };
    size_t nul[2] = { 0, 0 };
    n = (n < LOOK ? n : LOOK) & ~(size_t)1;
    for (size_t i = 0; i < n; i++) nul[i % 2] += !s[i];
    size_t half = n / 2;
    bool even = 5 * nul[0] >= 2 * half, odd = 5 * nul[1] >= 2 * half;
    if (half < 2 || (!even && !odd)) return NULL;
    if (even && odd) return "the file seems to be UTF-32; convert it to UTF-8";
    return 10 * nul[even] < half ? "the file seems to be UTF-16; convert it to UTF-8" : NULL;
}

int encoding_check(const char *path, const char *s, size_t n, struct err *e) {
    const char *what = NULL;
    for (size_t i = 0; !what && i < COUNT_OF(marks); i++)
        if (n >= marks[i].n && !memcmp(s, marks[i].bytes, marks[i].n)) what = marks[i].what;
    if (!what) what = wide_units(s, n);
    return what ? err_set(e, ERR_INPUT, "%s: %s", path, what) : 0;
}
