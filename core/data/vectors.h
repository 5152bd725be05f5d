/* Vectors of a CSV or TSV file: finite numbers in each row, with an optional label column. */
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
    char **class_name; /* in byte order; display through text_visible */
    int *row;          /* n: row number in the file, from 1, without the header */
    struct buf notes;  /* decisions about header and columns, joined by "; " */
};

/* Columns are named, or "#N" by position; lists have commas, and "#N-#M" is a range. */
struct vectors_options {
    const char *labels;  /* the label column; NULL: none */
    const char *columns; /* coordinates; NULL: all others */
    const char *skip;    /* ignored columns; NULL: none */
    enum data_header header; /* AUTO: as below */
    const char *delimiter; /* struct dataset_options.delimiter */
};

/* Reads the file.  A first line is a header when it is not all numbers, or when its numbers count up by one
 * from 0 or 1 (with two columns only above a line with a fraction).  Not coordinates, unless `columns` names
 * them: a column with an empty name, and one named id, index or "Unnamed: 0" whose values are ascending
 * integers (while others remain).  Both are reported.  ERR_INPUT names line, row and column of an invalid
 * number; ERR_USAGE a missing column.  On failure *v is empty. */
int vectors_read(struct vectors *v, const char *path, const struct vectors_options *o, struct err *e);
void vectors_release(struct vectors *v);
/* Reduces to at most `most` rows, as evenly over the classes as possible, sampled by seed, in their order. */
void vectors_sample(struct vectors *v, int most, uint64_t seed);

#endif
