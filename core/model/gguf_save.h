/* Writing GGUF files, version 3: metadata and tensors, added one by one, then written atomically. */
#ifndef CORE_MODEL_GGUF_SAVE_H
#define CORE_MODEL_GGUF_SAVE_H

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/model/safetensors.h"

struct gguf_tensor {
    char *name;
    enum st_type type; /* F32, F16 or Q8_0 */
    size_t rows, cols; /* rows 0: a vector */
    size_t pairs;      /* as in struct st_tensor: rows per head, moved from halves to neighbors; 0: as they are */
    const real *data;
};

struct gguf_writing {
    struct buf meta;
    size_t metas;
    struct gguf_tensor *tensor;
    size_t tensors, room;
};

void gguf_add_text(struct gguf_writing *w, const char *key, const char *value);
void gguf_add_int(struct gguf_writing *w, const char *key, uint32_t value);
void gguf_add_float(struct gguf_writing *w, const char *key, double value);
void gguf_add_flag(struct gguf_writing *w, const char *key, bool value);
/* Adds an array of strings, or of 32-bit integers or floats as its first element is. */
void gguf_add_list(struct gguf_writing *w, const char *key, const json_t *list);
/* Adds a tensor; takes its name; the data must live until the file is written. */
void gguf_add_tensor(struct gguf_writing *w, struct gguf_tensor t);
/* Writes the file.  ERR_USAGE for a value outside the range of F16, and for a name that is too long. */
int gguf_save(const struct gguf_writing *w, const char *path, struct err *e);
void gguf_writing_release(struct gguf_writing *w);

#endif
