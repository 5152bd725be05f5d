/* Pickles of tensor dictionaries written by torch.save, read without executing anything: an interpreter that
 * knows only the opcodes and names of such files (listed in pickle.c) and refuses all others.  Private to
 * core/model. */
#ifndef CORE_MODEL_PICKLE_H
#define CORE_MODEL_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/model/safetensors.h"

enum pickle_kind {
    PICKLE_NONE, PICKLE_BOOL, PICKLE_INT, PICKLE_LONG, PICKLE_TEXT, PICKLE_TUPLE, PICKLE_LIST, PICKLE_DICT,
    PICKLE_NAME, PICKLE_STORAGE, PICKLE_TENSOR, PICKLE_MARK
};
struct pickle_value {
    enum pickle_kind kind;
    int64_t number;            /* of a bool, an int; index of a name; bytes of a long or text */
    const unsigned char *bytes; /* of a long or text, in the pickle */
    struct pickle_value **item; /* of a tuple, list; of a dict key and value in turn */
    size_t items, room;
    /* of a storage, and of a tensor's */
    enum st_type type;
    const unsigned char *key; /* its name, key_size bytes */
    size_t key_size;
    int64_t count, view; /* elements; its start in the storage of that name */
    /* of a tensor, in elements */
    int rank;
    int64_t offset, shape[8], stride[8];
};

struct pickle; /* the result, which owns its values */
/* Reads one pickle from the n bytes, which must outlive it; *used: its length in bytes.  `name` is used in
 * messages.  NULL with *e (ERR_INPUT), which names the opcode or name and the key that contains it. */
struct pickle *pickle_read(const char *name, const unsigned char *bytes, size_t n, size_t *used,
                           struct err *e);
void pickle_free(struct pickle *p);
const struct pickle_value *pickle_result(const struct pickle *p);
bool pickle_text_is(const struct pickle_value *v, const char *text);

#endif
