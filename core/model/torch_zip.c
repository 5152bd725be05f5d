#include "core/model/torch_zip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

enum {
    END_BYTES = 22,
    END_SEARCH = END_BYTES + 65535,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    DIRECTORY_MOST = 64 << 20,
    ENTRIES_MOST = 300000,
    NAME_MOST = 600
};

static uint64_t torch_zip_number(const unsigned char *b, size_t n) {
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) v |= (uint64_t)b[i] << (8 * i);
    return v;
}

static int bad(const struct st_bytes *f, const char *what, struct err *e) {
    return err_set(e, ERR_INPUT, "%s: %s", f->name, what);
}

/* ---- the end record ---- */

struct directory {
    uint64_t begin, size, entries;
};

/* The 64-bit record, if its locator precedes the end record. */
static int read_end64(const struct st_bytes *f, const unsigned char *locator, struct directory *d,
                      struct err *e) {
    unsigned char end[END64_BYTES];
    uint64_t at = torch_zip_number(locator + 8, 8);
    if (at > f->size || f->size - at < sizeof end)
        return bad(f, "zip directory beyond the end of the file", e);
    int rc = f->fetch(f->self, (size_t)at, end, sizeof end, e);
    if (rc) return rc;
    if (memcmp(end, "PK\6\6", 4)) return bad(f, "damaged zip directory", e);
    *d = (struct directory){ torch_zip_number(end + 48, 8), torch_zip_number(end + 40, 8),
                            torch_zip_number(end + 32, 8) };
    return 0;
}

static int find_directory(const struct st_bytes *f, struct directory *d, struct err *e) {
    size_t n = f->size < END_SEARCH ? f->size : END_SEARCH;
    unsigned char *tail = xmalloc(n + 1);
    int rc = f->fetch(f->self, f->size - n, tail, n, e);
    size_t at = n < END_BYTES ? n : n - END_BYTES + 1;
    bool found = false;
    while (!rc && n >= END_BYTES && at-- > 0) {
        found = !memcmp(tail + at, "PK\5\6", 4) && at + END_BYTES + torch_zip_number(tail + at + 20, 2) == n;
        if (found) break;
    }
    if (!rc && !found) rc = bad(f, "zip without a directory: truncated or damaged", e);
    if (!rc) {
        const unsigned char *end = tail + at;
        *d = (struct directory){ torch_zip_number(end + 16, 4), torch_zip_number(end + 12, 4),
                                torch_zip_number(end + 10, 2) };
        bool wide = at >= LOCATOR_BYTES && !memcmp(end - LOCATOR_BYTES, "PK\6\7", 4);
        if (wide) rc = read_end64(f, end - LOCATOR_BYTES, d, e);
    }
    free(tail);
    if (rc) return rc;
    if (d->begin > f->size || d->size > f->size - d->begin)
        return bad(f, "zip directory beyond the end of the file", e);
    if (d->size > DIRECTORY_MOST || d->entries > ENTRIES_MOST)
        return bad(f, "zip directory is too large", e);
    return 0;
}

/* ---- entries ---- */

/* 64-bit values are in an extra field, in the order of the saturated members. */
static bool wide_values(const unsigned char *extra, size_t n, uint64_t *size, uint64_t *packed,
                        uint64_t *at) {
    uint64_t *const of[] = { size, packed, at };
    for (size_t i = 0; i + 4 <= n;) {
        size_t length = (size_t)torch_zip_number(extra + i + 2, 2), k = i + 4;
        if (length > n - k) return false;
        if (torch_zip_number(extra + i, 2) == 1)
            for (size_t j = 0; j < COUNT_OF(of); j++) {
                if (*of[j] != UINT32_MAX) continue;
                if (k + 8 > i + 4 + length) return false;
                *of[j] = torch_zip_number(extra + k, 8);
                k += 8;
            }
        i += 4 + length;
    }
    return true;
}

/* Returns the offset of an entry's data: after its local header, whose sizes are ignored. */
static int find_values(const struct st_bytes *f, uint64_t at, uint64_t size, struct torch_entry *x,
                       struct err *e) {
    unsigned char local[LOCAL_BYTES];
    if (at > f->size || f->size - at < sizeof local)
        return bad(f, "a zip entry extends beyond the end of the file", e);
    int rc = f->fetch(f->self, (size_t)at, local, sizeof local, e);
    if (rc) return rc;
    if (memcmp(local, "PK\3\4", 4)) return bad(f, "a zip entry is not at the offset in the directory", e);
    uint64_t begin = at + LOCAL_BYTES + torch_zip_number(local + 26, 2) + torch_zip_number(local + 28, 2);
    if (begin > f->size || size > f->size - begin)
        return bad(f, "a zip entry extends beyond the end of the file", e);
    x->begin = (size_t)begin;
    x->size = (size_t)size;
    return 0;
}

static int add_entry(const struct st_bytes *f, const unsigned char *c, size_t room, size_t *used,
                     struct torch_zip *z, const char **top, size_t *top_size, struct err *e) {
    if (room < CENTRAL_BYTES || memcmp(c, "PK\1\2", 4)) return bad(f, "damaged zip directory", e);
    size_t names = (size_t)torch_zip_number(c + 28, 2), extra = (size_t)torch_zip_number(c + 30, 2);
    size_t comment = (size_t)torch_zip_number(c + 32, 2);
    uint64_t packed = torch_zip_number(c + 20, 4), size = torch_zip_number(c + 24, 4);
    uint64_t at = torch_zip_number(c + 42, 4);
    *used = CENTRAL_BYTES + names + extra + comment;
    if (*used > room) return bad(f, "damaged zip directory", e);
    const char *name = (const char *)c + CENTRAL_BYTES, *slash = memchr(name, '/', names);
    if (names > NAME_MOST || !slash || slash == name || memchr(name, 0, names) || !utf8_valid(name, names))
        return bad(f, "unexpected name of a zip entry", e);
    if (!wide_values(c + CENTRAL_BYTES + names, extra, &size, &packed, &at))
        return bad(f, "damaged zip directory", e);
    if (torch_zip_number(c + 8, 2) & 1) return bad(f, "encrypted zip", e);
    if (torch_zip_number(c + 10, 2) || packed != size)
        return bad(f, "compressed zip entry; torch.save stores entries uncompressed", e);
    if (!*top) {
        *top = name;
        *top_size = (size_t)(slash - name);
    }
    if ((size_t)(slash - name) != *top_size || memcmp(*top, name, *top_size))
        return bad(f, "zip with more than one top folder", e);
    struct torch_entry *x = &z->entry[z->count++];
    x->name = xstrndup(slash + 1, names - *top_size - 1);
    return find_values(f, at, size, x, e);
}

static int torch_zip_by_name(const void *a, const void *b) {
    return strcmp(((const struct torch_entry *)a)->name, ((const struct torch_entry *)b)->name);
}

static int torch_zip_by_place(const void *a, const void *b) {
    const struct torch_entry *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int check_entries(const struct st_bytes *f, const struct directory *d, struct torch_zip *z,
                         struct err *e) {
    if (z->count) qsort(z->entry, z->count, sizeof *z->entry, torch_zip_by_place);
    for (size_t i = 0; i < z->count; i++) {
        uint64_t end = (uint64_t)z->entry[i].begin + z->entry[i].size;
        if (end > d->begin || (i + 1 < z->count && end > z->entry[i + 1].begin))
            return bad(f, "overlapping zip entries", e);
    }
    if (z->count) qsort(z->entry, z->count, sizeof *z->entry, torch_zip_by_name);
    for (size_t i = 1; i < z->count; i++)
        if (!strcmp(z->entry[i].name, z->entry[i - 1].name))
            return bad(f, "duplicate zip entry", e);
    return 0;
}

static const struct torch_entry *torch_zip_find(const struct torch_zip *z, const char *name) {
    struct torch_entry key = { .name = (char *)(uintptr_t)name };
    return z->count ? bsearch(&key, z->entry, z->count, sizeof key, torch_zip_by_name) : NULL;
}

static int check_order(const struct st_bytes *f, const struct torch_zip *z, struct err *e) {
    const struct torch_entry *x = torch_zip_find(z, "byteorder");
    char word[7] = "";
    if (!x) return 0;
    int rc = x->size < sizeof word ? f->fetch(f->self, x->begin, word, x->size, e) : 0;
    if (!rc && strcmp(word, "little")) rc = bad(f, "unsupported byte order; must be little-endian", e);
    return rc;
}

int torch_zip_open(const struct st_bytes *f, struct torch_zip *out, struct err *e) {
    struct directory d;
    const char *top = NULL;
    size_t top_size = 0, at = 0, used = 0;
    *out = (struct torch_zip){ 0 };
    int rc = find_directory(f, &d, e);
    if (rc) return rc;
    unsigned char *bytes = xmalloc((size_t)d.size + 1);
    out->entry = xcalloc((size_t)d.entries + 1, sizeof *out->entry);
    rc = f->fetch(f->self, (size_t)d.begin, bytes, (size_t)d.size, e);
    for (uint64_t i = 0; i < d.entries && !rc; i++, at += used)
        rc = add_entry(f, bytes + at, (size_t)d.size - at, &used, out, &top, &top_size, e);
    if (!rc && at != d.size) rc = bad(f, "damaged zip directory", e);
    if (!rc) rc = check_entries(f, &d, out, e);
    if (!rc) rc = check_order(f, out, e);
    free(bytes);
    if (!rc && !(out->pickle = torch_zip_find(out, "data.pkl")))
        rc = bad(f, "zip without data.pkl: not written by torch.save", e);
    return rc;
}

void torch_zip_close(struct torch_zip *z) {
    for (size_t i = 0; i < z->count; i++) free(z->entry[i].name);
    free(z->entry);
    *z = (struct torch_zip){ 0 };
}

const struct torch_entry *torch_zip_data(const struct torch_zip *z, const unsigned char *key, size_t n) {
    char *name = n < NAME_MOST ? xprintf("data/%.*s", (int)n, (const char *)key) : NULL;
    const struct torch_entry *x = name ? torch_zip_find(z, name) : NULL;
    free(name);
    return x;
}
