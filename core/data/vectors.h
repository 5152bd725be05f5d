/* Vectors of a CSV or TSV file: a row of finite numbers each, with or without a label column. */
#ifndef CORE_DATA_VECTORS_H
#define CORE_DATA_VECTORS_H

#include <stdint.h>

#include "core/base/err.h"
#include "core/engine/real.h"

struct vectors {
    int n, d;
    real *x;           /* n×d */
    int32_t *label;    /* n: class, -1 for an empty label */
    int classes;       /* 0 without a label column */
    char **class_name; /* in byte order; show through text_visible */
    int *row;          /* n: the row's number in the file, from 1, without the header */
};

/* A first line that is not all numbers is a header.  `labels`: the label column's name, or
 * "#N"; NULL: none.  ERR_INPUT names line, row and column of what is no finite number;
 * ERR_USAGE a column that is not there.  On failure *v is empty. */
int vectors_read(struct vectors *v, const char *path, const char *labels, struct err *e);
void vectors_release(struct vectors *v);
/* Keeps at most `most` rows, as evenly over the classes as they allow, drawn by seed, in
 * their order. */
void vectors_sample(struct vectors *v, int most, uint64_t seed);

#endif
