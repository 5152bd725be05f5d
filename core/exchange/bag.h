/* The tensors of a stranger's file, read whole, by their names. */
#ifndef CORE_EXCHANGE_BAG_H
#define CORE_EXCHANGE_BAG_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/engine/real.h"

struct bag_tensor {
    char *name;
    int rank;
    size_t shape[8], count;
    real *values;
    bool used; /* by whoever reads: what is left at the end nobody knew */
};
struct bag {
    char *path;
    struct bag_tensor *tensor;
    size_t count;
};
/* On failure *out is empty; ERR_INPUT names the tensor. */
int bag_open(const char *path, struct bag *out, struct err *e);
void bag_release(struct bag *b);
struct bag_tensor *bag_find(struct bag *b, const char *name);
/* The first one whose name ends so, or NULL. */
struct bag_tensor *bag_find_end(struct bag *b, const char *end);
/* ERR_INPUT naming the first tensor that nobody used. */
int bag_check_used(const struct bag *b, struct err *e);

#endif
