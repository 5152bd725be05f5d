#include "core/model/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/gguf.h"
#include "core/model/torch.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors files are little-endian");

enum {
    HEADER_MAX = 100000000, /* maximum bytes, as in the format */
    TENSORS_MAX = 100000,
    RANK_MAX = 8,
    NAME_MAX_BYTES = 512,
    CHUNK = 1 << 18, /* bytes converted at a time */
};

static const struct {
    const char *name;
    size_t bits;  /* of a value, or of a block of */
    size_t block; /* values; 0: without blocks */
} types[ST_TYPES] = {
    [ST_F32] = { "F32", 32, 0 },
    [ST_F16] = { "F16", 16, 0 },
    [ST_BF16] = { "BF16", 16, 0 },
    [ST_F64] = { "F64", 64, 0 },
    [ST_I64] = { "I64", 64, 0 },
    [ST_I32] = { "I32", 32, 0 },
    [ST_I16] = { "I16", 16, 0 },
    [ST_I8] = { "I8", 8, 0 },
    [ST_U8] = { "U8", 8, 0 },
    [ST_BOOL] = { "BOOL", 8, 0 },
    [ST_U64] = { "U64", 64, 0 },
    [ST_U32] = { "U32", 32, 0 },
    [ST_U16] = { "U16", 16, 0 },
    [ST_C64] = { "C64", 64, 0 },
    [ST_F8_E4M3] = { "F8_E4M3", 8, 0 },
    [ST_F8_E5M2] = { "F8_E5M2", 8, 0 },
    [ST_F8_E8M0] = { "F8_E8M0", 8, 0 },
    [ST_F8_E4M3FNUZ] = { "F8_E4M3FNUZ", 8, 0 },
    [ST_F8_E5M2FNUZ] = { "F8_E5M2FNUZ", 8, 0 },
    [ST_F6_E2M3] = { "F6_E2M3", 6, 0 },
    [ST_F6_E3M2] = { "F6_E3M2", 6, 0 },
    [ST_F4] = { "F4", 4, 0 },
    [ST_Q4_0] = { "Q4_0", 8 * 18, 32 },
    [ST_Q4_1] = { "Q4_1", 8 * 20, 32 },
    [ST_Q5_0] = { "Q5_0", 8 * 22, 32 },
    [ST_Q5_1] = { "Q5_1", 8 * 24, 32 },
    [ST_Q8_0] = { "Q8_0", 8 * 34, 32 },
    [ST_Q4_K] = { "Q4_K", 8 * 144, 256 },
    [ST_Q5_K] = { "Q5_K", 8 * 176, 256 },
    [ST_Q6_K] = { "Q6_K", 8 * 210, 256 },
};

const char *st_type_name(enum st_type type) {
    return (unsigned)type < ST_TYPES ? types[type].name : "?";
}

size_t st_type_size(enum st_type type) {
    BUG_IF((unsigned)type >= ST_TYPES || types[type].bits % 8);
    return types[type].bits / 8;
}

size_t st_block_values(enum st_type type) { return types[type].block ? types[type].block : 1; }

size_t st_block_bytes(enum st_type type) { return st_type_size(type); }

struct st_file {
    char *name;                 /* for messages */
    int fd;                     /* -1: from memory */
    const unsigned char *bytes; /* from memory */
    size_t size;                /* of the whole file */
    struct timespec written;    /* its modification time */
    size_t data;                /* where the data part begins */
    json_t *header;
    struct st_tensor *tensor; /* in the order of their data */
    size_t count;
    size_t *by_name; /* indices of tensor[], sorted by name */
    struct st_bytes self; /* what the readers of other formats see */
    struct gguf *gguf;
};

/* ---- bytes ---- */

static int fetch(const struct st_file *f, size_t at, void *out, size_t n, struct err *e) {
    BUG_IF(at > f->size || n > f->size - at);
    if (f->fd < 0) {
        if (n) memcpy(out, f->bytes + at, n);
        return 0;
    }
    char *to = out;
    while (n) {
        ssize_t got = pread(f->fd, to, n > (1u << 30) ? 1u << 30 : n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return err_set(e, ERR_SYSTEM, "%s: cannot be read: %s", f->name, strerror(errno));
        if (!got) return err_set(e, ERR_INPUT, "%s: was truncated while it was being read", f->name);
        to += got;
        at += (size_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* Describes a file that is not a safetensors file by its first bytes. */
static int recognize(const struct st_file *f, struct err *e) {
    char head[256];
    size_t n = f->size < sizeof head - 1 ? f->size : sizeof head - 1;
    int rc = fetch(f, 0, head, n, e);
    if (rc) return rc;
    head[n] = '\0';
    if (!n) return err_set(e, ERR_INPUT, "%s: empty file (0 bytes)", f->name);
    if (text_starts(head, "version https://git-lfs.github.com/spec/")) {
        const char *size = strstr(head, "\nsize ");
        int64_t bytes = 0;
        if (size) {
            char *digits = xstrndup(size + 6, strspn(size + 6, "0123456789"));
            if (!text_to_int(digits, &bytes)) bytes = 0;
            free(digits);
        }
        return err_set(e, ERR_INPUT,
                       "%s: a Git LFS pointer; the weights (%lld bytes) were not downloaded; run git lfs "
                       "pull",
                       f->name, (long long)bytes);
    }
    if (text_starts(head, "\x80\x02"))
        return err_set(e, ERR_INPUT, "%s: a pickle that was not written by torch.save", f->name);
    if (text_starts(head, "<!") || text_starts(head, "<html"))
        return err_set(e, ERR_INPUT, "%s: a web page, not a safetensors file", f->name);
    if (n < 8)
        return err_set(e, ERR_INPUT, "%s: %zu bytes; a safetensors file has at least 8",
                       f->name, n);
    return 0;
}

static void safetensors_thousands(size_t v, char out[32]) { text_thousands((int64_t)v, out); }

/* Reads and parses the header; sets f->data. */
static int read_header(struct st_file *f, struct err *e) {
    int rc = recognize(f, e);
    if (rc) return rc;
    uint64_t length;
    rc = fetch(f, 0, &length, sizeof length, e);
    if (rc) return rc;
    size_t room = f->size - 8;
    if (length > HEADER_MAX)
        return err_set(e, ERR_INPUT, "%s: header of %llu bytes; at most 100,000,000 are allowed",
                       f->name, (unsigned long long)length);
    if (length > room) {
        char missing[32];
        safetensors_thousands((size_t)length - room, missing);
        return err_set(e, ERR_INPUT,
                       "%s: truncated header: at least %s bytes are missing", f->name,
                       missing);
    }
    if (length < 2) return err_set(e, ERR_INPUT, "%s: empty header", f->name);
    char *text = mem_try((size_t)length, 1);
    if (!text) return err_set(e, ERR_SYSTEM, "%s: out of memory for the header", f->name);
    rc = fetch(f, 8, text, (size_t)length, e);
    if (!rc && text[0] != '{')
        rc = err_set(e, ERR_INPUT, "%s: the header does not start with {", f->name);
    if (!rc) {
        char *where = xprintf("%s: header", f->name);
        f->header = json_parse(where, text, (size_t)length, e);
        free(where);
        if (!f->header) rc = ERR_INPUT;
    }
    free(text);
    f->data = 8 + (size_t)length;
    return rc;
}

/* ---- the header's entries ---- */

static int bad_tensor(const struct st_file *f, const char *name, struct err *e, const char *what) {
    return err_set(e, ERR_INPUT, "%s: tensor \"%s\" %s", f->name, name, what);
}

static int check_name(const struct st_file *f, const char *name, struct err *e) {
    size_t n = strlen(name);
    if (!n) return err_set(e, ERR_INPUT, "%s: a tensor has an empty name", f->name);
    if (n > NAME_MAX_BYTES)
        return err_set(e, ERR_INPUT,
                       "%s: tensor name \"%.40s…\": %zu bytes; at most 512 are allowed", f->name,
                       name, n);
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p < 0x20 || *p == 0x7F)
            return bad_tensor(f, name, e, "has a control character in its name");
    return 0;
}

static int read_type(const struct st_file *f, const json_t *entry, struct st_tensor *t,
                     struct err *e) {
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    if (!type) return bad_tensor(f, t->name, e, "has no \"dtype\"");
    for (int i = 0; i < ST_TYPES; i++)
        if (!types[i].block && !strcmp(types[i].name, type)) {
            t->type = (enum st_type)i;
            return 0;
        }
    char *shown = text_visible(type, strlen(type));
    err_set(e, ERR_INPUT,
            "%s: tensor \"%s\": unknown type \"%.40s\"; supported: F32, F16, BF16 and F64",
            f->name, t->name, shown);
    free(shown);
    return e->code;
}

static int read_shape(const struct st_file *f, const json_t *entry, struct st_tensor *t,
                      struct err *e) {
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape)) return bad_tensor(f, t->name, e, "has no \"shape\" list");
    size_t rank = json_array_size(shape);
    if (rank > RANK_MAX)
        return err_set(e, ERR_INPUT, "%s: tensor \"%s\": %zu dimensions; at most 8 are allowed", f->name,
                       t->name, rank);
    t->rank = (int)rank;
    t->count = 1;
    for (size_t i = 0; i < rank; i++) {
        const json_t *v = json_array_get(shape, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return bad_tensor(f, t->name, e, "has a dimension that is not a non-negative integer");
        t->shape[i] = (size_t)json_integer_value(v);
        if (!mem_mul(t->count, t->shape[i], &t->count))
            return bad_tensor(f, t->name, e, "has a shape whose product exceeds 64 bits");
    }
    return 0;
}

static int safetensors_read_range(const struct st_file *f, const json_t *entry, struct st_tensor *t,
                                  struct err *e) {
    const json_t *range = json_object_get(entry, "data_offsets");
    if (json_array_size(range) != 2)
        return bad_tensor(f, t->name, e, "needs \"data_offsets\" of two integers");
    const json_t *begin = json_array_get(range, 0), *end = json_array_get(range, 1);
    if (!json_is_integer(begin) || !json_is_integer(end) || json_integer_value(begin) < 0 ||
        json_integer_value(end) < 0)
        return bad_tensor(f, t->name, e, "has data_offsets that are not non-negative integers");
    t->begin = (size_t)json_integer_value(begin);
    t->end = (size_t)json_integer_value(end);
    if (t->end < t->begin)
        return err_set(e, ERR_INPUT, "%s: tensor \"%s\": data_offsets: the end %zu is before the start %zu",
                       f->name, t->name, t->end, t->begin);
    size_t bits;
    if (!mem_mul(t->count, types[t->type].bits, &bits))
        return bad_tensor(f, t->name, e, "has a shape whose size exceeds 64 bits");
    if (bits % 8) return bad_tensor(f, t->name, e, "has a shape that ends within a byte");
    size_t bytes = bits / 8;
    if (t->end - t->begin != bytes)
        return err_set(e, ERR_INPUT,
                       "%s: tensor \"%s\": data_offsets span %zu bytes, but shape and dtype require %zu",
                       f->name, t->name, t->end - t->begin, bytes);
    return 0;
}

static int safetensors_read_meta(const struct st_file *f, const json_t *meta, struct err *e) {
    if (!json_is_object(meta))
        return err_set(e, ERR_INPUT, "%s: __metadata__ must be an object", f->name);
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)meta, key, value)
        if (!json_is_string(value))
            return err_set(e, ERR_INPUT, "%s: __metadata__ \"%s\" must be a string", f->name, key);
    return 0;
}

static int safetensors_read_entries(struct st_file *f, struct err *e) {
    size_t n = json_object_size(f->header);
    if (n > TENSORS_MAX)
        return err_set(e, ERR_INPUT, "%s: %zu tensors; at most 100,000 are allowed", f->name, n);
    f->tensor = xcalloc(n + 1, sizeof *f->tensor);
    const char *key;
    const json_t *entry;
    int rc = 0;
    json_object_foreach(f->header, key, entry) {
        if (!strcmp(key, "__metadata__")) {
            rc = safetensors_read_meta(f, entry, e);
        } else {
            struct st_tensor *t = &f->tensor[f->count];
            rc = check_name(f, key, e);
            if (rc) return rc;
            t->name = xstrdup(key);
            f->count++;
            if (!json_is_object(entry)) rc = bad_tensor(f, key, e, "must be described by an object");
            if (!rc) rc = read_type(f, entry, t, e);
            if (!rc) rc = read_shape(f, entry, t, e);
            if (!rc) rc = safetensors_read_range(f, entry, t, e);
        }
        if (rc) return rc;
    }
    return 0;
}

/* ---- the entries together ---- */

static int safetensors_by_place(const void *a, const void *b) {
    const struct st_tensor *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int safetensors_by_name(const void *a, const void *b, void *tensors) {
    const struct st_tensor *t = tensors;
    return strcmp(t[*(const size_t *)a].name, t[*(const size_t *)b].name);
}

static void sort_names(struct st_file *f) {
    f->by_name = xcalloc(f->count + 1, sizeof *f->by_name);
    for (size_t i = 0; i < f->count; i++) f->by_name[i] = i;
    if (f->count) qsort_r(f->by_name, f->count, sizeof *f->by_name, safetensors_by_name, f->tensor);
}

/* Checks that the ranges are consecutive from 0 to the end of the file. */
static int check_ranges(struct st_file *f, struct err *e) {
    if (f->count) qsort(f->tensor, f->count, sizeof *f->tensor, safetensors_by_place);
    size_t at = 0, room = f->size - f->data;
    char text[32];
    for (size_t i = 0; i < f->count; i++) {
        const struct st_tensor *t = &f->tensor[i];
        if (t->begin > at)
            return err_set(e, ERR_INPUT, "%s: a gap of %zu bytes before tensor \"%s\"",
                           f->name, t->begin - at, t->name);
        if (t->begin < at)
            return err_set(e, ERR_INPUT, "%s: tensor \"%s\" overlaps tensor \"%s\"", f->name,
                           t->name, f->tensor[i - 1].name);
        at = t->end;
    }
    if (at > room) {
        safetensors_thousands(at - room, text);
        return err_set(e, ERR_INPUT,
                       "%s: truncated: %s bytes are missing (tensor \"%s\" extends past the end)", f->name,
                       text, f->tensor[f->count - 1].name);
    }
    if (at < room) {
        safetensors_thousands(room - at, text);
        return err_set(e, ERR_INPUT, "%s: %s extra bytes after the last tensor", f->name, text);
    }
    sort_names(f);
    return 0;
}

/* ---- other formats ---- */

static int fetch_for_others(const void *self, size_t at, void *out, size_t n, struct err *e) {
    return fetch(self, at, out, n, e);
}

/* Sorts tensors that may have any order; of torch.save they may share storage. */
static int sort_others(struct st_file *f, struct err *e) {
    if (f->count) qsort(f->tensor, f->count, sizeof *f->tensor, safetensors_by_place);
    sort_names(f);
    for (size_t i = 1; i < f->count; i++)
        if (!strcmp(f->tensor[f->by_name[i]].name, f->tensor[f->by_name[i - 1]].name))
            return bad_tensor(f, f->tensor[f->by_name[i]].name, e, "is stored twice");
    for (size_t i = 1; f->gguf && i < f->count; i++)
        if (f->tensor[i].begin < f->tensor[i - 1].end)
            return err_set(e, ERR_INPUT, "%s: tensor \"%s\" overlaps tensor \"%s\"", f->name,
                           f->tensor[i].name, f->tensor[i - 1].name);
    return 0;
}

static int read_torch(struct st_file *f, struct err *e) {
    int rc = torch_list(&f->self, &f->tensor, &f->count, e);
    return rc ? rc : sort_others(f, e);
}

static int read_gguf(struct st_file *f, struct err *e) {
    f->gguf = gguf_open(&f->self, &f->tensor, &f->count, &f->data, e);
    if (!f->gguf) return e->code;
    gguf_mark_pairs(f->gguf, f->tensor, f->count);
    return sort_others(f, e);
}

static int safetensors_read_any(struct st_file *f, struct err *e) {
    unsigned char head[TORCH_HEAD];
    size_t n = f->size < sizeof head ? f->size : sizeof head;
    int rc = fetch(f, 0, head, n, e);
    if (rc) return rc;
    f->self = (struct st_bytes){ f->name, f->size, f, fetch_for_others };
    if (gguf_is(head, n)) return read_gguf(f, e);
    if (torch_is(head, n)) return read_torch(f, e);
    rc = read_header(f, e);
    if (!rc) rc = safetensors_read_entries(f, e);
    return rc ? rc : check_ranges(f, e);
}

static struct st_file *open_checked(struct st_file *f, struct err *e) {
    struct err own = ERR_INIT;
    if (!safetensors_read_any(f, e ? e : &own)) return f;
    st_close(f);
    return NULL;
}

struct st_file *st_open_memory(const char *name, const void *bytes, size_t n, struct err *e) {
    struct st_file *f = xcalloc(1, sizeof *f);
    f->name = xstrdup(name);
    f->fd = -1;
    f->bytes = bytes;
    f->size = n;
    return open_checked(f, e);
}

struct st_file *st_open_fd(const char *name, int fd, struct err *e) {
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        err_set(e, ERR_INPUT, "%s: not a regular file", name);
        close(fd);
        return NULL;
    }
    struct st_file *f = xcalloc(1, sizeof *f);
    f->name = xstrdup(name);
    f->fd = fd;
    f->size = (size_t)st.st_size;
    f->written = st.st_mtim;
    return open_checked(f, e);
}

struct st_file *st_open(const char *path, struct err *e) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) return st_open_fd(path, fd, e);
    err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM, "%s: cannot be opened: %s", path,
            strerror(errno));
    return NULL;
}

void st_close(struct st_file *f) {
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    for (size_t i = 0; i < f->count; i++) free(f->tensor[i].name);
    free(f->tensor);
    free(f->by_name);
    json_decref(f->header);
    gguf_close(f->gguf);
    free(f->name);
    free(f);
}

bool st_has_changed(const struct st_file *f) {
    struct stat st;
    if (f->fd < 0) return false;
    return fstat(f->fd, &st) || (size_t)st.st_size != f->size || st.st_mtim.tv_sec != f->written.tv_sec ||
           st.st_mtim.tv_nsec != f->written.tv_nsec;
}

const struct gguf *st_gguf(const struct st_file *f) { return f->gguf; }

size_t st_count(const struct st_file *f) { return f->count; }

const struct st_tensor *st_at(const struct st_file *f, size_t i) {
    BUG_IF(i >= f->count);
    return &f->tensor[i];
}

const struct st_tensor *st_find(const struct st_file *f, const char *name) {
    size_t lo = 0, hi = f->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct st_tensor *t = &f->tensor[f->by_name[mid]];
        int order = strcmp(name, t->name);
        if (!order) return t;
        if (order < 0) hi = mid;
        else lo = mid + 1;
    }
    return NULL;
}

const char *st_meta(const struct st_file *f, const char *key) {
    return json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), key));
}

/* ---- values ---- */

static float float_of_bits(uint32_t bits) {
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* IEEE half precision: 1 sign, 5 exponent, 10 fraction bits. */
float st_from_half(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3FF;
    if (exponent == 31) return float_of_bits(sign | 0x7F800000 | fraction << 13);
    if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
    float v = (float)fraction * 0x1p-24f;
    return sign ? -v : v;
}

static void convert(enum st_type type, const unsigned char *from, size_t n, real *to) {
    if (types[type].block) return gguf_unpack(type, from, n, to);
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        float single;
        double wide;
        switch (type) {
        case ST_F16:
            memcpy(&half, from + 2 * i, 2);
            to[i] = st_from_half(half);
            break;
        case ST_BF16:
            memcpy(&half, from + 2 * i, 2);
            to[i] = float_of_bits((uint32_t)half << 16);
            break;
        case ST_F64:
            memcpy(&wide, from + 8 * i, 8);
            to[i] = (real)wide;
            break;
        default:
            memcpy(&single, from + 4 * i, 4);
            to[i] = single;
        }
    }
}

/* Reads the whole range, then each element from its position. */
static int read_strided(const struct st_file *f, const struct st_tensor *t, real *out, struct err *e) {
    size_t size = st_type_size(t->type), at[COUNT_OF(t->shape)] = { 0 }, from = 0;
    unsigned char *bytes = mem_try(t->end - t->begin, 1);
    if (!bytes) return err_set(e, ERR_SYSTEM, "%s: out of memory for tensor \"%s\"", f->name, t->name);
    int rc = fetch(f, f->data + t->begin, bytes, t->end - t->begin, e);
    for (size_t i = 0; !rc && i < t->count; i++) {
        convert(t->type, bytes + from * size, 1, out + i);
        for (int k = t->rank; k-- > 0;) {
            from += t->stride[k];
            if (++at[k] < t->shape[k]) break;
            from -= t->stride[k] * t->shape[k];
            at[k] = 0;
        }
    }
    free(bytes);
    return rc;
}

/* Reads n values from `first` on; of a strided tensor all. */
static int read_values(const struct st_file *f, const struct st_tensor *t, size_t first, size_t n, real *out,
                       struct err *e) {
    bool floats = t->type == ST_F32 || t->type == ST_F16 || t->type == ST_BF16 || t->type == ST_F64;
    if (!floats && !types[t->type].block)
        return err_set(e, ERR_INPUT,
                       "%s: tensor \"%s\": type %s; weights must be F32, F16, BF16 or F64",
                       f->name, t->name, types[t->type].name);
    if (t->strided) return read_strided(f, t, out, e);
    enum st_type own = REAL_IS_DOUBLE ? ST_F64 : ST_F32;
    size_t size = st_block_bytes(t->type), values = st_block_values(t->type), step = CHUNK / size * values,
           from = f->data + t->begin + first / values * size;
    BUG_IF(first % values || n % values);
    if (t->type == own) return fetch(f, from, out, n * size, e);
    unsigned char *chunk = xmalloc(CHUNK);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += step) {
        size_t k = n - i < step ? n - i : step;
        rc = fetch(f, from + i / values * size, chunk, k / values * size, e);
        if (!rc) convert(t->type, chunk, k, out + i);
    }
    free(chunk);
    return rc;
}

/* Eight parallel sums of v·0, which are NaN as soon as one value is NaN or infinite: a fifth of the cost of a
 * hash. */
static bool all_finite(const real *v, size_t n) {
    real sum[8] = { 0 }, all = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += v[i + k] * 0;
    for (; i < n; i++) all += v[i] * 0;
    for (size_t k = 0; k < 8; k++) all += sum[k];
    return all == 0;
}

static int refuse_values(const struct st_file *f, const struct st_tensor *t, const real *v, struct err *e) {
    size_t first = t->count, bad = 0, cols = t->rank == 2 ? t->shape[1] : 1;
    char number[32], times[32];
    for (size_t i = t->count; i-- > 0;)
        if (!isfinite(v[i])) {
            first = i;
            bad++;
        }
    text_from_double((double)v[first], number);
    text_thousands((int64_t)bad, times);
    char *at = t->rank == 2 ? xprintf("row %zu, column %zu", first / cols, first % cols)
                            : xprintf("index %zu", first);
    int rc = err_set(e, ERR_INPUT,
                     "%s: tensor \"%s\": %s at %s (from 0), the first of %s NaN or infinite values: "
                     "training diverged or the file is damaged; use another checkpoint",
                     f->name, t->name, number, at, times);
    free(at);
    return rc;
}

/* Within each head, moves the first of every pair of rows to the first half, the second to the second. */
static int part_pairs(const struct st_file *f, const struct st_tensor *t, real *v, struct err *e) {
    size_t rows = t->pairs, cols = t->count / t->shape[0], head = rows * cols;
    real *own = mem_try(head, sizeof *own);
    if (!own) return err_set(e, ERR_SYSTEM, "%s: out of memory for tensor \"%s\"", f->name, t->name);
    for (size_t at = 0; at < t->count; at += head) {
        memcpy(own, v + at, head * sizeof *own);
        for (size_t i = 0; i < rows; i++)
            memcpy(v + at + (i / 2 + i % 2 * (rows / 2)) * cols, own + i * cols, cols * sizeof *own);
    }
    free(own);
    return 0;
}

int st_read(const struct st_file *f, const struct st_tensor *t, real *out, struct err *e) {
    int rc = read_values(f, t, 0, t->count, out, e);
    if (!rc && t->pairs) rc = part_pairs(f, t, out, e);
    return rc || all_finite(out, t->count) ? rc : refuse_values(f, t, out, e);
}

bool st_has_parts(const struct st_tensor *t) { return !t->strided && !t->pairs; }

int st_read_part(const struct st_file *f, const struct st_tensor *t, size_t first, size_t n, real *out,
                 struct err *e) {
    BUG_IF(!st_has_parts(t) || first > t->count || n > t->count - first);
    return read_values(f, t, first, n, out, e);
}

int st_read_raw(const struct st_file *f, const struct st_tensor *t, void *out, struct err *e) {
    BUG_IF(t->strided);
    return fetch(f, f->data + t->begin, out, t->end - t->begin, e);
}

int st_data_sha256(const struct st_file *f, char out[65], struct err *e) {
    struct sha256 *h = sha256_start();
    unsigned char *chunk = xmalloc(CHUNK);
    int rc = 0;
    for (size_t at = f->data; !rc && at < f->size; at += CHUNK) {
        size_t n = f->size - at < CHUNK ? f->size - at : CHUNK;
        rc = fetch(f, at, chunk, n, e);
        if (!rc) sha256_add(h, chunk, n);
    }
    free(chunk);
    sha256_finish(h, out);
    return rc;
}
