/* GGUF files, version 2 and 3: their metadata, the positions of their tensors, and the values of quantized
 * blocks.  safetensors.h opens them like other files of weights; gguf_save.h writes them.
 *
 * Counts and lengths are checked against the remaining bytes before memory is allocated.  In gguf.c (the
 * file), gguf_blocks.c (blocks) and gguf_config.c (what the metadata and names mean to a model). */
#ifndef CORE_MODEL_GGUF_H
#define CORE_MODEL_GGUF_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/model/safetensors.h"

/* Types of metadata, by their numbers in a file. */
enum gguf_kind {
    KIND_U8, KIND_I8, KIND_U16, KIND_I16, KIND_U32, KIND_I32, KIND_F32, KIND_BOOL, KIND_STRING,
    KIND_ARRAY, KIND_U64, KIND_I64, KIND_F64, KINDS
};

struct gguf; /* checked metadata; values stay in the file */

/* Bytes at the start of a file that gguf_is needs. */
enum { GGUF_HEAD = 4 };
bool gguf_is(const unsigned char *head, size_t n);
/* Lists the tensors, with ranges from *data, where the data part begins; *list and the names are owned by the
 * caller.  Two tensors may overlap or have the same name.  `f` must outlive the result.  Returns NULL with
 * ERR_INPUT: invalid, or ERR_SYSTEM: the file cannot be read. */
struct gguf *gguf_open(const struct st_bytes *f, struct st_tensor **list, size_t *n, size_t *data,
                       struct err *e);
void gguf_close(struct gguf *g);
/* Returns the value of a key; of an array, which must hold equal numbers, its first element.  NULL with
 * e->code 0 when the key is absent, otherwise with ERR_INPUT. */
json_t *gguf_value(const struct gguf *g, const char *key, struct err *e);
/* Returns an array as a JSON array of its strings or numbers, of at most GGUF_ARRAY elements.  NULL with e->code 0
 * when the key is absent, otherwise with ERR_INPUT, naming the element. */
enum { GGUF_ARRAY = 1 << 22 };
json_t *gguf_array(const struct gguf *g, const char *key, struct err *e);
/* Returns the number of elements of an array; 0 when the key is absent. */
size_t gguf_length(const struct gguf *g, const char *key);
/* Returns the i-th key, sorted, or NULL past the end. */
const char *gguf_key(const struct gguf *g, size_t i);
/* Appends the i-th key, its type and its value as in a file. */
int gguf_copy(const struct gguf *g, size_t i, struct buf *out, struct err *e);
/* Computes the SHA-256 of the keys that start with `prefix` and of their values. */
int gguf_hash(const struct gguf *g, const char *prefix, char out[65], struct err *e);

/* Returns whether a type is stored in blocks of several values. */
bool gguf_is_block(enum st_type type);
/* Converts n values, whole blocks, of such a type. */
void gguf_unpack(enum st_type type, const unsigned char *from, size_t n, real *to);

/* Returns whether a path is a GGUF file. */
bool gguf_is_file(const char *path);
/* Returns the metadata as the content of config.json; NULL with *e. */
json_t *gguf_config(const char *path, struct err *e);
/* Returns the metadata "tokenizer.ggml.KEY" as an object, for tokenizer_from_gguf; NULL with e->code 0 when there is
 * none, otherwise with *e. */
json_t *gguf_tokenizer(const struct gguf *g, struct err *e);
/* Returns the name in a folder of transformers, of GPT-2 or of another model, without the prefix "model."; NULL if
 * unknown.  Caller frees. */
char *gguf_folder_name(const char *name, bool gpt2);
/* Returns the opposite, for the canonical name of a tensor (arch.h) of a model other than GPT-2; NULL if there
 * is none.  Caller frees. */
char *gguf_own_name(const char *name);
/* Sets the member `pairs` of the tensors that need it. */
void gguf_mark_pairs(const struct gguf *g, struct st_tensor *list, size_t n);

#endif
