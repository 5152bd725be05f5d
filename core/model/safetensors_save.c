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
        if (!mem_mul(n, w->shape[i], &n)) BUG("shape of \"%s\"", w->name);
    return n;
}

/* The length and the JSON, padded with spaces so that the data begins at a multiple of 8. */
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

/* F32 from real: as it lies in the float build, converted in pieces in the double one. */
static int safetensors_save_add_values(struct file_aside *f, const struct st_write *w, struct err *e) {
    size_t bytes = bytes_of(w);
    if (w->type != ST_F32 || !REAL_IS_DOUBLE) return file_aside_add(f, w->data, bytes, e);
    const real *from = w->data;
    size_t n = bytes / sizeof(float);
    float piece[1024];
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i += COUNT_OF(piece)) {
        size_t k = n - i < COUNT_OF(piece) ? n - i : COUNT_OF(piece);
        for (size_t j = 0; j < k; j++) piece[j] = (float)from[i + j];
        rc = file_aside_add(f, piece, k * sizeof *piece, e);
    }
    return rc;
}

int st_save(const char *path, const struct st_write *tensors, size_t n, const struct st_pair *meta,
            size_t metas, struct err *e) {
    for (size_t i = 0; i < n; i++)
        BUG_IF(tensors[i].type == ST_F16 || tensors[i].type == ST_BF16);
    struct file_aside f;
    int rc = file_aside_open(&f, path, e);
    if (rc) return rc;
    struct buf header = BUF_INIT;
    write_header(&header, tensors, n, meta, metas);
    rc = file_aside_add(&f, header.data, header.size, e);
    buf_release(&header);
    for (size_t i = 0; !rc && i < n; i++) rc = safetensors_save_add_values(&f, &tensors[i], e);
    if (!rc) return file_aside_commit(&f, e);
    file_aside_abandon(&f);
    return rc;
}
