#include "core/model/gguf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum {
    WINDOW = 1 << 16,        /* bytes read at a time */
    KEY_BYTES_MAX = WINDOW - 1,
    NAME_BYTES_MAX = 63,     /* as in llama.cpp */
    KEYS_MAX = 100000,
    TENSOR_LIMIT = 100000,
    DIMS_MAX = 4,
    ALIGNMENT = 32,          /* without general.alignment */
    ALIGNMENT_MAX = 1 << 20,
    KEY_LEAST = 8 + 1 + 4 + 1, /* bytes of the shortest pair of metadata */
    INFO_LEAST = 8 + 1 + 4 + 8 + 4 + 8, /* of the shortest description of a tensor */
    GGUF_ARRAY_STRING = 4096, /* bytes of a string in an array */
    EQUAL_MAX = 65536,       /* elements of an array that serves as one number */
};

static const unsigned char kind_size[KINDS] = {
    [KIND_U8] = 1,  [KIND_I8] = 1,   [KIND_U16] = 2,    [KIND_I16] = 2,   [KIND_U32] = 4, [KIND_I32] = 4,
    [KIND_F32] = 4, [KIND_BOOL] = 1, [KIND_STRING] = 8, [KIND_U64] = 8, [KIND_I64] = 8, [KIND_F64] = 8,
};

/* Formats of numbers by id.  Those without a type of their own cannot be read. */
static const struct {
    const char *name;
    int type;
} formats[] = {
    [0] = { "F32", ST_F32 },         [1] = { "F16", ST_F16 },         [2] = { "Q4_0", ST_Q4_0 },
    [3] = { "Q4_1", ST_Q4_1 },       [4] = { "Q4_2", -1 },            [5] = { "Q4_3", -1 },
    [6] = { "Q5_0", ST_Q5_0 },       [7] = { "Q5_1", ST_Q5_1 },       [8] = { "Q8_0", ST_Q8_0 },
    [9] = { "Q8_1", -1 },            [10] = { "Q2_K", -1 },           [11] = { "Q3_K", -1 },
    [12] = { "Q4_K", ST_Q4_K },      [13] = { "Q5_K", ST_Q5_K },      [14] = { "Q6_K", ST_Q6_K },
    [15] = { "Q8_K", -1 },           [16] = { "IQ2_XXS", -1 },        [17] = { "IQ2_XS", -1 },
    [18] = { "IQ3_XXS", -1 },        [19] = { "IQ1_S", -1 },          [20] = { "IQ4_NL", -1 },
    [21] = { "IQ3_S", -1 },          [22] = { "IQ2_S", -1 },          [23] = { "IQ4_XS", -1 },
    [24] = { "I8", -1 },             [25] = { "I16", -1 },            [26] = { "I32", -1 },
    [27] = { "I64", -1 },            [28] = { "F64", -1 },            [29] = { "IQ1_M", -1 },
    [30] = { "BF16", ST_BF16 },      [34] = { "TQ1_0", -1 },          [35] = { "TQ2_0", -1 },
    [39] = { "MXFP4", -1 },
};

struct metadatum {
    char *key;
    enum gguf_kind kind, element; /* element: of an array */
    size_t count;            /* elements of an array; bytes of a string */
    size_t at;               /* position of the value, of the first element, of a string's bytes */
    size_t end;              /* position after the value */
};

struct gguf {
    const struct st_bytes *f;
    struct metadatum *meta; /* sorted by key */
    size_t metas;
};

bool gguf_is(const unsigned char *head, size_t n) {
    return n >= GGUF_HEAD && !memcmp(head, "GGUF", GGUF_HEAD);
}

/* ---- the cursor ---- */

struct cursor {
    const struct st_bytes *f;
    struct err *e;
    char place[160]; /* what is being read, for messages */
    size_t at;
    size_t begin, have; /* the bytes in the window */
    unsigned char window[WINDOW];
};

static int __attribute__((format(printf, 2, 3))) gguf_bad(struct cursor *c, const char *format, ...) {
    va_list args;
    char what[256];
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return err_set(c->e, ERR_INPUT, "%s: %s (before byte %zu): %s", c->f->name, c->place, c->at, what);
}

static size_t remaining(const struct cursor *c) { return c->f->size - c->at; }

static int take(struct cursor *c, void *out, size_t n) {
    BUG_IF(n > WINDOW);
    if (n > remaining(c))
        return gguf_bad(c, "the file is truncated: %zu bytes are missing", n - remaining(c));
    if (c->at < c->begin || c->at + n > c->begin + c->have) {
        c->begin = c->at;
        c->have = remaining(c) < WINDOW ? remaining(c) : WINDOW;
        int rc = c->f->fetch(c->f->self, c->at, c->window, c->have, c->e);
        if (rc) return c->have = 0, rc;
    }
    memcpy(out, c->window + (c->at - c->begin), n);
    c->at += n;
    return 0;
}

static int take_u64(struct cursor *c, uint64_t *out) { return take(c, out, sizeof *out); }

/* Reads the length of a string. */
static int take_length(struct cursor *c, size_t *out) {
    uint64_t n;
    int rc = take_u64(c, &n);
    if (rc) return rc;
    if (n > remaining(c))
        return gguf_bad(c, "a string of %llu bytes, but only %zu bytes remain in the file",
                        (unsigned long long)n, remaining(c));
    *out = (size_t)n;
    return 0;
}

/* Reads a key or a name of at most `most` bytes; caller frees. */
static int take_name(struct cursor *c, size_t most, char **out) {
    size_t n = 0;
    int rc = take_length(c, &n);
    if (rc) return rc;
    if (!n) return gguf_bad(c, "the name is empty");
    if (n > most) return gguf_bad(c, "a name of %zu bytes; at most %zu are allowed", n, most);
    char *name = xcalloc(n + 1, 1);
    rc = take(c, name, n);
    for (size_t i = 0; !rc && i < n; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7F)
            rc = gguf_bad(c, "a control character in the name");
    if (rc) free(name);
    else *out = name;
    return rc;
}

static void set_place(struct cursor *c, const char *kind, const char *name) {
    char *shown = text_visible(name, strlen(name));
    snprintf(c->place, sizeof c->place, "%s \"%.100s\"", kind, shown);
    free(shown);
}

/* ---- metadata ---- */

static int take_kind(struct cursor *c, enum gguf_kind *out) {
    uint32_t kind;
    int rc = take(c, &kind, sizeof kind);
    if (rc) return rc;
    if (kind >= KINDS) return gguf_bad(c, "unknown type %u; must be between 0 and 12", kind);
    *out = (enum gguf_kind)kind;
    return 0;
}

/* Skips `count` values after checking them: the lengths of strings, booleans. */
static int check_values(struct cursor *c, enum gguf_kind kind, size_t count) {
    int rc = 0;
    if (kind == KIND_STRING) {
        for (size_t i = 0, n = 0; !rc && i < count; i++)
            if (!(rc = take_length(c, &n))) c->at += n;
    } else if (kind == KIND_BOOL) {
        unsigned char v;
        for (size_t i = 0; !rc && i < count; i++)
            if (!(rc = take(c, &v, 1)) && v > 1) rc = gguf_bad(c, "a boolean of value %d; must be 0 or 1", v);
    } else {
        size_t bytes = count * kind_size[kind];
        if (bytes > remaining(c))
            return gguf_bad(c, "the file is truncated: %zu bytes are missing", bytes - remaining(c));
        c->at += bytes;
    }
    return rc;
}

static int take_array(struct cursor *c, struct metadatum *m) {
    uint64_t count = 0;
    int rc = take_kind(c, &m->element);
    if (!rc && m->element == KIND_ARRAY) return gguf_bad(c, "an array of arrays is not supported");
    if (!rc) rc = take_u64(c, &count);
    if (rc) return rc;
    if (count > remaining(c) / kind_size[m->element])
        return gguf_bad(c, "an array of %llu elements, but only %zu bytes remain in the file",
                        (unsigned long long)count, remaining(c));
    m->count = (size_t)count;
    m->at = c->at;
    return check_values(c, m->element, m->count);
}

static int take_meta(struct cursor *c, struct gguf *g) {
    struct metadatum *m = &g->meta[g->metas];
    snprintf(c->place, sizeof c->place, "metadata key %zu", g->metas + 1);
    int rc = take_name(c, KEY_BYTES_MAX, &m->key);
    if (rc) return rc;
    g->metas++;
    set_place(c, "metadata", m->key);
    rc = take_kind(c, &m->kind);
    if (rc) return rc;
    m->at = c->at;
    if (m->kind == KIND_ARRAY) {
        rc = take_array(c, m);
    } else if (m->kind == KIND_STRING) {
        rc = take_length(c, &m->count);
        m->at = c->at;
        c->at += m->count;
    } else {
        rc = check_values(c, m->kind, 1);
    }
    m->end = c->at;
    return rc;
}

static int metas_by_key(const void *a, const void *b) {
    return strcmp(((const struct metadatum *)a)->key, ((const struct metadatum *)b)->key);
}

static int take_metas(struct cursor *c, struct gguf *g, size_t n) {
    g->meta = xcalloc(n + 1, sizeof *g->meta);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++) rc = take_meta(c, g);
    if (!rc) qsort(g->meta, g->metas, sizeof *g->meta, metas_by_key);
    for (size_t i = 1; !rc && i < n; i++)
        if (!strcmp(g->meta[i].key, g->meta[i - 1].key)) {
            set_place(c, "metadata", g->meta[i].key);
            rc = gguf_bad(c, "the key occurs twice");
        }
    return rc;
}

static const struct metadatum *gguf_find(const struct gguf *g, const char *key) {
    const struct metadatum wanted = { .key = (char *)(uintptr_t)key };
    return g->metas ? bsearch(&wanted, g->meta, g->metas, sizeof wanted, metas_by_key) : NULL;
}

/* ---- values of the metadata ---- */

static json_t *number_of(enum gguf_kind kind, const unsigned char *bytes) {
    union {
        uint8_t u8; int8_t i8; uint16_t u16; int16_t i16; uint32_t u32; int32_t i32; float f32;
        uint64_t u64; int64_t i64; double f64;
    } v = { 0 };
    memcpy(&v, bytes, kind_size[kind]);
    switch (kind) {
    case KIND_U8: return json_integer(v.u8);
    case KIND_I8: return json_integer(v.i8);
    case KIND_U16: return json_integer(v.u16);
    case KIND_I16: return json_integer(v.i16);
    case KIND_U32: return json_integer(v.u32);
    case KIND_I32: return json_integer(v.i32);
    case KIND_U64: return v.u64 > INT64_MAX ? NULL : json_integer((json_int_t)v.u64);
    case KIND_I64: return json_integer(v.i64);
    case KIND_F32: return isfinite(v.f32) ? json_real((double)v.f32) : NULL;
    case KIND_F64: return isfinite(v.f64) ? json_real(v.f64) : NULL;
    case KIND_BOOL: return json_boolean(v.u8);
    case KIND_STRING: case KIND_ARRAY: case KINDS: break;
    }
    BUG("metadata of type %d is not a number", (int)kind);
}

static json_t *gguf_refuse_value(const struct gguf *g, const char *key, struct err *e, const char *what) {
    err_set(e, ERR_INPUT, "%s: metadata \"%s\": %s", g->f->name, key, what);
    return NULL;
}

json_t *gguf_value(const struct gguf *g, const char *key, struct err *e) {
    const struct metadatum *m = gguf_find(g, key);
    if (!m) return NULL;
    bool array = m->kind == KIND_ARRAY, string = m->kind == KIND_STRING;
    enum gguf_kind kind = array ? m->element : m->kind;
    size_t n = string ? m->count : array ? m->count * kind_size[kind] : kind_size[kind];
    if (array && (kind == KIND_STRING || !m->count || m->count > EQUAL_MAX))
        return gguf_refuse_value(g, key, e, "an array; must be one value");
    if (n > EQUAL_MAX * sizeof(double)) return gguf_refuse_value(g, key, e, "the string is too long");
    unsigned char *bytes = xmalloc(n + 1);
    json_t *v = NULL;
    if (!g->f->fetch(g->f->self, m->at, bytes, n, e)) {
        bool equal = true;
        for (size_t i = kind_size[kind]; array && i < n; i++) equal &= bytes[i] == bytes[i - kind_size[kind]];
        if (equal) v = string ? json_stringn((const char *)bytes, n) : number_of(kind, bytes);
        if (!equal) gguf_refuse_value(g, key, e, "differs between layers, which is not supported");
        else if (!v)
            gguf_refuse_value(g, key, e, string ? "not valid UTF-8" : "NaN, infinite, or too large");
    }
    free(bytes);
    return v;
}

/* Reads one element of an array. */
static json_t *take_element(struct cursor *c, enum gguf_kind kind) {
    static const char unusual[] = "not valid UTF-8, or NaN, infinite, or too large";
    unsigned char bytes[GGUF_ARRAY_STRING];
    size_t n = kind_size[kind];
    if (kind == KIND_STRING) {
        if (take_length(c, &n)) return NULL;
    }
    if (n > sizeof bytes) {
        gguf_bad(c, "a string of %zu bytes; at most %zu are allowed", n, sizeof bytes);
        return NULL;
    }
    if (take(c, bytes, n)) return NULL;
    json_t *v = kind == KIND_STRING ? json_stringn((const char *)bytes, n) : number_of(kind, bytes);
    if (!v) gguf_bad(c, "%s", unusual);
    return v;
}

json_t *gguf_array(const struct gguf *g, const char *key, struct err *e) {
    const struct metadatum *m = gguf_find(g, key);
    if (!m) return NULL;
    if (m->kind != KIND_ARRAY) return gguf_refuse_value(g, key, e, "one value; must be an array");
    if (m->count > GGUF_ARRAY) return gguf_refuse_value(g, key, e, "more than 4,194,304 elements");
    struct cursor *c = xcalloc(1, sizeof *c);
    c->f = g->f;
    c->e = e;
    c->at = m->at;
    json_t *list = json_array();
    for (size_t i = 0; list && i < m->count; i++) {
        snprintf(c->place, sizeof c->place, "metadata \"%.100s\": element %zu", key, i);
        json_t *v = take_element(c, m->element);
        if (v) {
            json_array_append_new(list, v);
        } else {
            json_decref(list);
            list = NULL;
        }
    }
    free(c);
    return list;
}

int gguf_hash(const struct gguf *g, const char *prefix, char out[65], struct err *e) {
    struct sha256 *h = sha256_start();
    unsigned char *bytes = xmalloc(WINDOW);
    int rc = 0;
    for (size_t i = 0; i < g->metas; i++) {
        const struct metadatum *m = &g->meta[i];
        if (!text_starts(m->key, prefix)) continue;
        sha256_add(h, m->key, strlen(m->key) + 1);
        for (size_t at = m->at, n; !rc && at < m->end; at += n) {
            n = m->end - at < WINDOW ? m->end - at : WINDOW;
            rc = g->f->fetch(g->f->self, at, bytes, n, e);
            sha256_add(h, bytes, n);
        }
    }
    free(bytes);
    sha256_finish(h, out);
    return rc;
}

size_t gguf_length(const struct gguf *g, const char *key) {
    const struct metadatum *m = gguf_find(g, key);
    return m && m->kind == KIND_ARRAY ? m->count : 0;
}

int gguf_copy(const struct gguf *g, size_t i, struct buf *out, struct err *e) {
    const struct metadatum *m = &g->meta[i];
    uint64_t size = strlen(m->key), count = m->count;
    uint32_t kind = m->kind, element = m->element;
    size_t n = m->end - m->at;
    buf_add(out, &size, sizeof size);
    buf_add(out, m->key, strlen(m->key));
    buf_add(out, &kind, sizeof kind);
    if (m->kind == KIND_ARRAY) buf_add(out, &element, sizeof element);
    if (m->kind == KIND_ARRAY || m->kind == KIND_STRING) buf_add(out, &count, sizeof count);
    void *bytes = mem_try(n ? n : 1, 1);
    if (!bytes) return err_set(e, ERR_SYSTEM, "%s: out of memory for the metadata", g->f->name);
    int rc = n ? g->f->fetch(g->f->self, m->at, bytes, n, e) : 0;
    if (!rc) buf_add(out, bytes, n);
    free(bytes);
    return rc;
}

const char *gguf_key(const struct gguf *g, size_t i) { return i < g->metas ? g->meta[i].key : NULL; }

/* ---- tensors ---- */

static int take_shape(struct cursor *c, struct st_tensor *t) {
    uint32_t dims;
    int rc = take(c, &dims, sizeof dims);
    if (rc) return rc;
    if (!dims || dims > DIMS_MAX) return gguf_bad(c, "%u dimensions; must be between 1 and 4", dims);
    t->rank = (int)dims;
    t->count = 1;
    for (int i = t->rank; i-- > 0;) { /* the width of a row comes first */
        uint64_t size;
        rc = take_u64(c, &size);
        if (rc) return rc;
        if (!size) return gguf_bad(c, "a dimension of 0");
        t->shape[i] = (size_t)size;
        if (!mem_mul(t->count, t->shape[i], &t->count))
            return gguf_bad(c, "the product of the dimensions exceeds 64 bits");
    }
    return 0;
}

static int take_format(struct cursor *c, struct st_tensor *t, size_t *bytes) {
    uint32_t id;
    int rc = take(c, &id, sizeof id);
    if (rc) return rc;
    bool known = id < COUNT_OF(formats) && formats[id].name;
    if (!known || formats[id].type < 0)
        return gguf_bad(c,
                        "format %u (%s) is not supported; supported: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, "
                        "Q5_1, Q4_K, Q5_K and Q6_K",
                        id, known ? formats[id].name : "unknown");
    t->type = (enum st_type)formats[id].type;
    size_t values = st_block_values(t->type), row = t->shape[t->rank - 1];
    if (row % values)
        return gguf_bad(c, "rows of %zu values, but %s has blocks of %zu", row, formats[id].name, values);
    if (!mem_mul(t->count / values, st_block_bytes(t->type), bytes))
        return gguf_bad(c, "its size exceeds 64 bits");
    return 0;
}

static int take_tensor(struct cursor *c, struct st_tensor **list, size_t *n, size_t alignment) {
    struct st_tensor *t = &(*list)[*n];
    uint64_t offset = 0;
    size_t bytes = 0;
    snprintf(c->place, sizeof c->place, "tensor %zu", *n + 1);
    int rc = take_name(c, NAME_BYTES_MAX, &t->name);
    if (rc) return rc;
    ++*n;
    set_place(c, "tensor", t->name);
    rc = take_shape(c, t);
    if (!rc) rc = take_format(c, t, &bytes);
    if (!rc) rc = take_u64(c, &offset);
    if (rc) return rc;
    if (offset % alignment)
        return gguf_bad(c, "offset %llu; must be a multiple of %zu", (unsigned long long)offset, alignment);
    t->begin = (size_t)offset;
    if (t->begin > c->f->size || bytes > c->f->size - t->begin)
        return gguf_bad(c, "%zu bytes at offset %zu extend past the end of the file", bytes, t->begin);
    t->end = t->begin + bytes;
    return 0;
}

static int find_alignment(struct cursor *c, const struct gguf *g, size_t *out) {
    struct err own = ERR_INIT;
    json_t *v = gguf_value(g, "general.alignment", &own);
    *out = ALIGNMENT;
    if (!v && own.code) *c->e = own;
    if (!v) return own.code;
    json_int_t n = json_integer_value(v);
    json_decref(v);
    if (n >= 1 && n <= ALIGNMENT_MAX && !(n & (n - 1))) {
        *out = (size_t)n;
        return 0;
    }
    set_place(c, "metadata", "general.alignment");
    return gguf_bad(c, "must be a power of two, at most 1048576");
}

/* ---- the file ---- */

static int take_counts(struct cursor *c, size_t *tensors, size_t *metas) {
    uint32_t magic, version = 0;
    uint64_t n = 0, m = 0;
    snprintf(c->place, sizeof c->place, "header");
    int rc = take(c, &magic, sizeof magic);
    if (!rc) rc = take(c, &version, sizeof version);
    if (!rc && !(version & 0xFFFF) && version)
        return gguf_bad(c, "a big-endian file is not supported");
    if (!rc && version != 2 && version != 3)
        return gguf_bad(c, "version %u is not supported; supported: 2 and 3", version);
    if (!rc) rc = take_u64(c, &n);
    if (!rc) rc = take_u64(c, &m);
    if (rc) return rc;
    if (m > remaining(c) / KEY_LEAST || m > KEYS_MAX)
        return gguf_bad(c, "%llu metadata keys do not fit into %zu bytes, or are more than 100,000",
                        (unsigned long long)m, remaining(c));
    if (n > remaining(c) / INFO_LEAST || n > TENSOR_LIMIT)
        return gguf_bad(c, "%llu tensors do not fit into %zu bytes, or are more than 100,000",
                        (unsigned long long)n, remaining(c));
    *tensors = (size_t)n;
    *metas = (size_t)m;
    return 0;
}

static int take_all(struct cursor *c, struct gguf *g, struct st_tensor **list, size_t *n, size_t *data) {
    size_t tensors = 0, metas = 0, alignment = ALIGNMENT;
    int rc = take_counts(c, &tensors, &metas);
    if (!rc) rc = take_metas(c, g, metas);
    if (!rc) rc = find_alignment(c, g, &alignment);
    if (rc) return rc;
    *list = xcalloc(tensors + 1, sizeof **list);
    for (size_t i = 0; !rc && i < tensors; i++) rc = take_tensor(c, list, n, alignment);
    *data = (c->at + alignment - 1) / alignment * alignment;
    for (size_t i = 0; !rc && i < *n; i++)
        if (*data > c->f->size || (*list)[i].end > c->f->size - *data) {
            set_place(c, "tensor", (*list)[i].name);
            rc = gguf_bad(c, "%zu bytes at offset %zu extend past the end of the file",
                          (*list)[i].end - (*list)[i].begin, (*list)[i].begin);
        }
    if (*data > c->f->size) *data = c->f->size;
    return rc;
}

struct gguf *gguf_open(const struct st_bytes *f, struct st_tensor **list, size_t *n, size_t *data,
                       struct err *e) {
    struct cursor *c = xcalloc(1, sizeof *c);
    struct gguf *g = xcalloc(1, sizeof *g);
    g->f = f;
    c->f = f;
    c->e = e;
    int rc = take_all(c, g, list, n, data);
    free(c);
    if (!rc) return g;
    gguf_close(g);
    return NULL;
}

void gguf_close(struct gguf *g) {
    if (!g) return;
    for (size_t i = 0; i < g->metas; i++) free(g->meta[i].key);
    free(g->meta);
    free(g);
}
