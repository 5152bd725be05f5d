/* Vectors of a CSV or TSV file: a row of finite numbers each, with or without a label column. */
#ifndef CORE_DATA_VECTORS_H
#define CORE_DATA_VECTORS_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/dataset.h"
#include "core/engine/real.h"

struct vectors {
    int n, d;
    real *x;           /* n×d */
    int32_t *label;    /* n: class, -1 for an empty label */
    int classes;       /* 0 without a label column */
    char **class_name; /* in byte order; show through text_visible */
    int *row;          /* n: the row's number in the file, from 1, without the header */
    struct buf notes;  /* what was decided about header and columns, parts joined by "; " */
};

/* Columns are named, or "#N" by position; lists have commas, and "#N-#M" is a range. */
struct vectors_options {
    const char *labels;  /* the label column; NULL: none */
    const char *columns; /* those taken as coordinates; NULL: all others */
    const char *skip;    /* those left out; NULL: none */
    enum data_header header; /* AUTO: as below */
    const char *delimiter; /* struct dataset_options.delimiter */
};

/* A first line is a header when it is not all numbers, or when its numbers count up by one from 0 or 1
 * (of two columns only above a line with a fraction).  No coordinates, where `columns` does not name
 * them: a column with an empty name, and one named id, index or "Unnamed: 0" whose values are rising
 * whole numbers (while others remain).  Both are noted.  ERR_INPUT names line, row and column of what is
 * no finite number; ERR_USAGE a column that is not there.  On failure *v is empty. */
int vectors_read(struct vectors *v, const char *path, const struct vectors_options *o, struct err *e);
void vectors_release(struct vectors *v);
/* Keeps at most `most` rows, as evenly over the classes as they allow, drawn by seed, in
 * their order. */
void vectors_sample(struct vectors *v, int most, uint64_t seed);

#endif
