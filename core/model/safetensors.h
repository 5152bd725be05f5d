/* Files of tensors: reading those of strangers, safetensors and what torch.save writes (torch.h); writing
 * petri's own.
 *
 * All checks are made on the header before anything is allocated for the data:
 * length ≤ 100,000,000 and ≤ the file, JSON object, no repeated names, known types,
 * shape product × type size without wrap, ranges from 0 without hole or overlap up to
 * the end of the file exactly.
 *
 * In safetensors.c (reading) and safetensors_save.c. */
#ifndef CORE_MODEL_SAFETENSORS_H
#define CORE_MODEL_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/engine/real.h"

enum st_type {
    ST_F32, ST_F16, ST_BF16, ST_F64,
    ST_I64, ST_I32, ST_I16, ST_I8, ST_U8, ST_BOOL,
    /* Known so that a file that holds some beside its weights can be opened. */
    ST_U64, ST_U32, ST_U16, ST_C64, ST_F8_E4M3, ST_F8_E5M2, ST_F8_E8M0, ST_F8_E4M3FNUZ, ST_F8_E5M2FNUZ,
    ST_F6_E2M3, ST_F6_E3M2, ST_F4,
    ST_TYPES
};
const char *st_type_name(enum st_type type);
size_t st_type_size(enum st_type type); /* bytes a value; not of those below a byte */

struct st_tensor {
    char *name;
    enum st_type type;
    int rank;
    size_t shape[8];
    size_t count;      /* product of the shape */
    size_t begin, end; /* bytes in the data part */
    bool strided;      /* of torch.save alone: its elements lie stride[k] elements apart in the range */
    size_t stride[8];
};

struct st_file; /* an open file and its checked header */

struct st_file *st_open(const char *path, struct err *e);
/* From memory, as fuzzing does; `bytes` must outlive it. */
struct st_file *st_open_memory(const char *name, const void *bytes, size_t n, struct err *e);
/* An open file; takes `fd` over, also on failure.  `name` stands in messages. */
struct st_file *st_open_fd(const char *name, int fd, struct err *e);
void st_close(struct st_file *f);
size_t st_count(const struct st_file *f);
const struct st_tensor *st_at(const struct st_file *f, size_t i);
const struct st_tensor *st_find(const struct st_file *f, const char *name);
/* Value of a key of __metadata__, or NULL. */
const char *st_meta(const struct st_file *f, const char *key);
/* Reads a tensor as `real` (F16, BF16, F32 and F64 are converted) into `out`, which has room for its count.
 * ERR_INPUT for another type, and for a NaN or infinite value, with its place: whatever is computed from
 * parameters is read here. */
int st_read(const struct st_file *f, const struct st_tensor *t, real *out, struct err *e);
/* The tensor's bytes as they lie in the file (end - begin of them): I64 to int64_t.  Not of a strided one. */
int st_read_raw(const struct st_file *f, const struct st_tensor *t, void *out, struct err *e);
/* Of all bytes behind the header. */
int st_data_sha256(const struct st_file *f, char out[65], struct err *e);

/* Writes a file aside and renames it.  Tensors are stored in the order given as `type`: F32 from
 * real, F16 rounded from real (to the nearest, ties to even), F64 (optimizer state of the double build) and
 * the types of integers as their bytes lie.  Nothing is rounded to BF16. */
struct st_write {
    const char *name;
    enum st_type type;
    int rank;
    size_t shape[8];
    const void *data;
};
struct st_pair {
    const char *key, *value;
};
/* Whether all values are within F16's range; else *first is one that is not. */
bool st_fits_half(const real *v, size_t n, real *first);
int st_save(const char *path, const struct st_write *tensors, size_t n, const struct st_pair *meta,
            size_t metas, struct err *e);

#endif
