/* The tensors of a safetensors file, taken apart, changed and saved again. */
#ifndef TESTS_SUPPORT_EDIT_H
#define TESTS_SUPPORT_EDIT_H

#include <stddef.h>

#include "core/model/safetensors.h"

struct edit {
    struct st_write *tensor; /* names and data owned; F32 */
    size_t tensors;
};
/* Reads folder/model.safetensors, or folder/name. */
void edit_open(struct edit *x, const char *folder);
void edit_open_file(struct edit *x, const char *folder, const char *name);
/* Values of a tensor, to be changed in place; fails the test without it. */
real *edit_values(struct edit *x, const char *name);
/* Adds a tensor of zeros. */
void edit_add(struct edit *x, const char *name, enum st_type type, int rank, size_t a, size_t b);
void edit_rename(struct edit *x, size_t i, const char *name);
void edit_drop(struct edit *x, const char *name);
/* Writes tensors first…first+n-1 as folder/name. */
void edit_save_part(const struct edit *x, size_t first, size_t n, const char *folder,
                    const char *name);
/* Writes all of them as folder/model.safetensors. */
void edit_save(const struct edit *x, const char *folder);
void edit_release(struct edit *x);

#endif
