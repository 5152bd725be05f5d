#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"

static size_t bytes_of(const struct st_write *w) {
    size_t n = st_type_size(w->type);
    for (int i = 0; i < w->rank; i++)
        if (!mem_mul(n, w->shape[i], &n)) BUG("the size of tensor \"%s\" exceeds 64 bits", w->name);
    return n;
}

/* Writes the length and the JSON, padded with spaces so that the data starts at a multiple of 8. */
static void write_header(struct buf *out, const struct st_write *tensors, size_t n,
                         const struct st_pair *meta, size_t metas) {
    const char *between = "";
    uint64_t length = 0;
    buf_add(out, &length, sizeof length);
    buf_putc(out, '{');
    if (metas) {
        buf_puts(out, "\"__metadata__\":{");
        for (size_t i = 0; i < metas; i++) {
            if (i) buf_putc(out, ',');
            json_add_string(out, meta[i].key);
            buf_putc(out, ':');
            json_add_string(out, meta[i].value);
        }
        buf_putc(out, '}');
        between = ",";
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct st_write *w = &tensors[i];
        size_t end = at + bytes_of(w);
        buf_puts(out, between);
        json_add_string(out, w->name);
        buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", st_type_name(w->type));
        for (int k = 0; k < w->rank; k++) buf_printf(out, "%s%zu", k ? "," : "", w->shape[k]);
        buf_printf(out, "],\"data_offsets\":[%zu,%zu]}", at, end);
        at = end;
        between = ",";
    }
    buf_putc(out, '}');
    while (out->size % 8) buf_putc(out, ' ');
    length = out->size - sizeof length;
    memcpy(out->data, &length, sizeof length);
}

/* IEEE half precision: 1 sign, 5 exponent, 10 fraction bits; round to nearest, ties to even. */
uint16_t st_to_half(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    int exponent = (int)(bits >> 23 & 0xFF) - 127 + 15;
    uint32_t fraction = bits & 0x7FFFFF;
    if (exponent == 0xFF - 127 + 15) return (uint16_t)(sign | 0x7C00 | (fraction ? 0x200 : 0));
    if (exponent >= 31) return (uint16_t)(sign | 0x7C00);
    int shift = 13;
    if (exponent <= 0) { /* subnormal: the leading bit is explicit */
        if (exponent < -10) return sign;
        fraction |= 0x800000;
        shift += 1 - exponent;
        exponent = 0;
    }
    uint32_t half = (uint32_t)exponent << 10 | fraction >> shift, rest = fraction & ((1u << shift) - 1),
             middle = 1u << (shift - 1);
    if (rest > middle || (rest == middle && (half & 1)))
        half++; /* may carry into the exponent, which is correct */
    return (uint16_t)(sign | half);
}

bool st_fits_half(const real *v, size_t n, real *first) {
    for (size_t i = 0; i < n; i++)
        if ((st_to_half((float)v[i]) & 0x7C00) == 0x7C00) {
            *first = v[i];
            return false;
        }
    return true;
}

static int st_add_halves(struct file_atomic *f, const struct st_write *w, struct err *e) {
    const real *from = w->data;
    size_t n = bytes_of(w) / sizeof(uint16_t);
    uint16_t piece[1024];
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += COUNT_OF(piece)) {
        size_t k = n - i < COUNT_OF(piece) ? n - i : COUNT_OF(piece);
        for (size_t j = 0; j < k; j++) piece[j] = st_to_half((float)from[i + j]);
        rc = file_atomic_add(f, piece, k * sizeof *piece, e);
    }
    return rc;
}

/* F32 from real: unconverted in the float build, converted in pieces in the double build. */
static int safetensors_save_add_values(struct file_atomic *f, const struct st_write *w, struct err *e) {
    size_t bytes = bytes_of(w);
    if (w->type == ST_F16) return st_add_halves(f, w, e);
    if (w->type != ST_F32 || !REAL_IS_DOUBLE) return file_atomic_add(f, w->data, bytes, e);
    const real *from = w->data;
    size_t n = bytes / sizeof(float);
    float piece[1024];
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += COUNT_OF(piece)) {
        size_t k = n - i < COUNT_OF(piece) ? n - i : COUNT_OF(piece);
        for (size_t j = 0; j < k; j++) piece[j] = (float)from[i + j];
        rc = file_atomic_add(f, piece, k * sizeof *piece, e);
    }
    return rc;
}

int st_save(const char *path, const struct st_write *tensors, size_t n, const struct st_pair *meta,
            size_t metas, struct err *e) {
    for (size_t i = 0; i < n; i++)
        BUG_IF(tensors[i].type == ST_BF16);
    struct file_atomic f;
    int rc = file_atomic_open(&f, path, e);
    if (rc) return rc;
    struct buf header = BUF_INIT;
    write_header(&header, tensors, n, meta, metas);
    rc = file_atomic_add(&f, header.data, header.size, e);
    buf_release(&header);
    for (size_t i = 0; !rc && i < n; i++) rc = safetensors_save_add_values(&f, &tensors[i], e);
    if (!rc) return file_atomic_commit(&f, e);
    file_atomic_abandon(&f);
    return rc;
}
