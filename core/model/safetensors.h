/* Tensor files: reading untrusted safetensors files, files of torch.save (torch.h) and GGUF files (gguf.h);
 * writing safetensors.
 *
 * All checks are made on the header before memory is allocated for the data: length ≤ 100,000,000 and ≤ the
 * file, JSON object, no repeated names, known types, shape product × type size without overflow, ranges from
 * 0 without gap or overlap up to the end of the file exactly.
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
    /* Known so that a file that contains some besides its weights can be opened. */
    ST_U64, ST_U32, ST_U16, ST_C64, ST_F8_E4M3, ST_F8_E5M2, ST_F8_E8M0, ST_F8_E4M3FNUZ, ST_F8_E5M2FNUZ,
    ST_F6_E2M3, ST_F6_E3M2, ST_F4,
    /* Blocks of quantized values, of GGUF files only. */
    ST_Q4_0, ST_Q4_1, ST_Q5_0, ST_Q5_1, ST_Q8_0, ST_Q4_K, ST_Q5_K, ST_Q6_K,
    ST_TYPES
};
const char *st_type_name(enum st_type type);
size_t st_type_size(enum st_type type); /* bytes per value, except for types below a byte */
size_t st_block_values(enum st_type type); /* values per block; 1 for types without blocks */
size_t st_block_bytes(enum st_type type);
/* Converts from IEEE half precision. */
float st_from_half(uint16_t half);
/* Rounds to IEEE half precision: to nearest, ties to even. */
uint16_t st_to_half(float v);

struct st_tensor {
    char *name;
    enum st_type type;
    int rank;
    size_t shape[8];
    size_t count;      /* product of the shape */
    size_t begin, end; /* bytes in the data part */
    bool strided;      /* of torch.save only: elements are stride[k] elements apart in the range */
    size_t stride[8];
    size_t pairs;      /* of GGUF only: rows per head, in which rotated pairs are neighbors; st_read moves
                          them into halves, as in other files.  0: as stored */
};

/* The bytes of an open file. */
struct st_bytes {
    const char *name; /* in messages */
    size_t size;
    const void *self;
    int (*fetch)(const void *self, size_t at, void *out, size_t n, struct err *e);
};

struct st_file; /* an open file and its checked header */

struct st_file *st_open(const char *path, struct err *e);
/* Opens a file in memory, for fuzzing; `bytes` must outlive it. */
struct st_file *st_open_memory(const char *name, const void *bytes, size_t n, struct err *e);
/* Opens an open file; takes ownership of `fd`, also on failure.  `name` is used in messages. */
struct st_file *st_open_fd(const char *name, int fd, struct err *e);
void st_close(struct st_file *f);
/* Returns whether the open file was written to since it was opened. */
bool st_has_changed(const struct st_file *f);
size_t st_count(const struct st_file *f);
const struct st_tensor *st_at(const struct st_file *f, size_t i);
const struct st_tensor *st_find(const struct st_file *f, const char *name);
/* Returns the value of a key of __metadata__, or NULL. */
const char *st_meta(const struct st_file *f, const char *key);
/* Returns the metadata of a GGUF file (gguf.h); NULL of another file. */
const struct gguf *st_gguf(const struct st_file *f);
/* Reads a tensor as `real` (F16, BF16, F32, F64 and blocks are converted) into `out`, which has room for its
 * count. ERR_INPUT for another type, and for a NaN or infinite value, with its position: all parameters are
 * read here. */
int st_read(const struct st_file *f, const struct st_tensor *t, real *out, struct err *e);
/* Returns whether the tensor can be read in parts: it is stored in the order of its values. */
bool st_has_parts(const struct st_tensor *t);
/* Reads n values from `first` on, of quantized ones whole blocks, likewise but without the check for NaN. */
int st_read_part(const struct st_file *f, const struct st_tensor *t, size_t first, size_t n, real *out,
                 struct err *e);
/* Returns the tensor's bytes as stored in the file (end - begin of them): I64 to int64_t.  Not for a strided
 * one. */
int st_read_raw(const struct st_file *f, const struct st_tensor *t, void *out, struct err *e);
/* Hashes all bytes after the header. */
int st_data_sha256(const struct st_file *f, char out[65], struct err *e);

/* Writes a file atomically.  Tensors are stored in the given order as `type`: F32 from real, F16 rounded from
 * real (to nearest, ties to even), F64 (optimizer state of the double build) and integer types unconverted.
 * Rounding to BF16 is not supported. */
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
/* Returns whether all values are within F16's range; otherwise *first is one that is not. */
bool st_fits_half(const real *v, size_t n, real *first);
int st_save(const char *path, const struct st_write *tensors, size_t n, const struct st_pair *meta,
            size_t metas, struct err *e);

#endif
