#include "core/model/gguf_save.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/gguf.h"

enum { VERSION = 3, SAVE_ALIGNMENT = 32, SAVE_NAME_MAX = 63, Q8_VALUES = 32 };

/* ---- metadata ---- */

static void add_u32(struct buf *b, uint32_t v) { buf_add(b, &v, sizeof v); }
static void add_u64(struct buf *b, uint64_t v) { buf_add(b, &v, sizeof v); }

static void add_string(struct buf *b, const char *s, size_t n) {
    add_u64(b, n);
    buf_add(b, s, n);
}

static void add_key(struct gguf_writing *w, const char *key, enum gguf_kind kind) {
    add_string(&w->meta, key, strlen(key));
    add_u32(&w->meta, kind);
    w->metas++;
}

void gguf_add_text(struct gguf_writing *w, const char *key, const char *value) {
    add_key(w, key, KIND_STRING);
    add_string(&w->meta, value, strlen(value));
}

void gguf_add_int(struct gguf_writing *w, const char *key, uint32_t value) {
    add_key(w, key, KIND_U32);
    add_u32(&w->meta, value);
}

void gguf_add_float(struct gguf_writing *w, const char *key, double value) {
    float v = (float)value;
    add_key(w, key, KIND_F32);
    buf_add(&w->meta, &v, sizeof v);
}

void gguf_add_flag(struct gguf_writing *w, const char *key, bool value) {
    add_key(w, key, KIND_BOOL);
    buf_putc(&w->meta, value);
}

void gguf_add_list(struct gguf_writing *w, const char *key, const json_t *list) {
    const json_t *first = json_array_get(list, 0), *v;
    bool text = json_is_string(first), whole = json_is_integer(first);
    size_t i;
    add_key(w, key, KIND_ARRAY);
    add_u32(&w->meta, text ? KIND_STRING : whole ? KIND_I32 : KIND_F32);
    add_u64(&w->meta, json_array_size(list));
    json_array_foreach(list, i, v) {
        float number = (float)json_number_value(v);
        if (text) add_string(&w->meta, json_string_value(v), json_string_length(v));
        else if (whole) add_u32(&w->meta, (uint32_t)json_integer_value(v));
        else buf_add(&w->meta, &number, sizeof number);
    }
}

/* ---- tensors ---- */

void gguf_add_tensor(struct gguf_writing *w, struct gguf_tensor t) {
    GROW(w->tensor, w->room, w->tensors + 1);
    w->tensor[w->tensors++] = t;
}

static size_t save_rows(const struct gguf_tensor *t) { return t->rows ? t->rows : 1; }

static size_t row_bytes(const struct gguf_tensor *t) {
    return t->cols / st_block_values(t->type) * st_block_bytes(t->type);
}

static size_t padding(size_t at) { return (SAVE_ALIGNMENT - at % SAVE_ALIGNMENT) % SAVE_ALIGNMENT; }

static uint32_t format_of(enum st_type type) {
    BUG_IF(type != ST_F32 && type != ST_F16 && type != ST_Q8_0);
    return type == ST_F32 ? 0 : type == ST_F16 ? 1 : 8;
}

static void add_header(const struct gguf_writing *w, struct buf *out) {
    size_t at = 0;
    buf_add(out, "GGUF", GGUF_HEAD);
    add_u32(out, VERSION);
    add_u64(out, w->tensors);
    add_u64(out, w->metas);
    buf_add(out, w->meta.data, w->meta.size);
    for (size_t i = 0; i < w->tensors; i++) {
        const struct gguf_tensor *t = &w->tensor[i];
        add_string(out, t->name, strlen(t->name));
        add_u32(out, t->rows ? 2 : 1);
        add_u64(out, t->cols);
        if (t->rows) add_u64(out, t->rows);
        add_u32(out, format_of(t->type));
        add_u64(out, at);
        at += save_rows(t) * row_bytes(t);
        at += padding(at);
    }
    for (size_t n = padding(out->size); n; n--) buf_putc(out, 0);
}

/* The row of the model that is row g of the file. */
static size_t source_row(const struct gguf_tensor *t, size_t g) {
    if (!t->pairs) return g;
    size_t head = g / t->pairs, i = g % t->pairs;
    return head * t->pairs + i / 2 + (i % 2 ? t->pairs / 2 : 0);
}

/* Blocks of 32 signed bytes and a scale, the largest value divided by 127. */
static void pack_bytes(const float *from, size_t n, unsigned char *to) {
    for (size_t i = 0; i < n; i += Q8_VALUES, to += 2 + Q8_VALUES) {
        float largest = 0;
        for (size_t k = 0; k < Q8_VALUES; k++) largest = fmaxf(largest, fabsf(from[i + k]));
        float d = largest / 127, inverse = d > 0 ? 1 / d : 0;
        uint16_t half = st_to_half(d);
        memcpy(to, &half, sizeof half);
        for (size_t k = 0; k < Q8_VALUES; k++)
            to[2 + k] = (unsigned char)(signed char)roundf(from[i + k] * inverse);
    }
}

/* row: cols floats; to: row_bytes. */
static int pack_row(const struct gguf_tensor *t, const float *row, unsigned char *to, struct err *e) {
    uint16_t half;
    if (t->type == ST_F32) {
        memcpy(to, row, t->cols * sizeof *row);
    } else if (t->type == ST_Q8_0) {
        pack_bytes(row, t->cols, to);
    } else {
        for (size_t i = 0; i < t->cols; i++, to += sizeof half) {
            half = st_to_half(row[i]);
            if ((half & 0x7C00) == 0x7C00)
                return err_set(e, ERR_USAGE, "%s: %g exceeds the range of F16 (65504)", t->name,
                               (double)row[i]);
            memcpy(to, &half, sizeof half);
        }
    }
    return 0;
}

static int save_tensor(struct file_atomic *f, const struct gguf_tensor *t, struct err *e) {
    static const unsigned char zeros[SAVE_ALIGNMENT];
    size_t bytes = row_bytes(t), rows = save_rows(t);
    float *row = xcalloc(t->cols, sizeof *row);
    unsigned char *packed = xcalloc(bytes, 1);
    int rc = 0;
    for (size_t g = 0; g < rows && !rc; g++) {
        /* the elements of a vector are its rows */
        const real *from = t->data + (t->rows ? source_row(t, g) * t->cols : 0);
        for (size_t i = 0; i < t->cols; i++) row[i] = (float)from[t->rows ? i : source_row(t, i)];
        rc = pack_row(t, row, packed, e);
        if (!rc) rc = file_atomic_add(f, packed, bytes, e);
    }
    if (!rc) rc = file_atomic_add(f, zeros, padding(rows * bytes), e);
    free(row);
    free(packed);
    return rc;
}

int gguf_save(const struct gguf_writing *w, const char *path, struct err *e) {
    struct buf header = BUF_INIT;
    struct file_atomic f;
    for (size_t i = 0; i < w->tensors; i++)
        if (strlen(w->tensor[i].name) > SAVE_NAME_MAX)
            return err_set(e, ERR_USAGE, "%s: the name is too long for a GGUF file", w->tensor[i].name);
    int rc = file_atomic_open(&f, path, e);
    if (rc) return rc;
    add_header(w, &header);
    rc = file_atomic_add(&f, header.data, header.size, e);
    buf_release(&header);
    for (size_t i = 0; !rc && i < w->tensors; i++) rc = save_tensor(&f, &w->tensor[i], e);
    if (!rc) return file_atomic_commit(&f, e);
    file_atomic_abandon(&f);
    return rc;
}

void gguf_writing_release(struct gguf_writing *w) {
    for (size_t i = 0; i < w->tensors; i++) free(w->tensor[i].name);
    free(w->tensor);
    buf_release(&w->meta);
    *w = (struct gguf_writing){ 0 };
}
