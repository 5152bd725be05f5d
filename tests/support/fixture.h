/* A model with expected values beside it, as tests/reference/make_bert.py and
 * make_families.py write them. */
#ifndef TESTS_SUPPORT_FIXTURE_H
#define TESTS_SUPPORT_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model/model.h"
#include "core/model/safetensors.h"

struct fixture {
    struct model *model;
    struct st_file *expected;
    struct batch batch; /* the expected file's rows, with a target side where it has one;
                         * weight 1/rows and 1/target tokens each, so that the sum of weighted
                         * losses is their mean */
};

/* The tiny models, a folder each with its expected.safetensors: BERT first, then RoBERTa, then
 * those with a decoder.  NULL past the end. */
enum { TINY_NOT_BERT = 1, TINY_DECODERS = 3 };
const char *fixture_tiny(int i);

/* Paths below the project's root.  Fails the test when either cannot be read. */
void fixture_open(struct fixture *f, const char *model, const char *expected);
void fixture_close(struct fixture *f);
/* Values of an F64 tensor of the expected file; caller frees; *n their count. */
double *fixture_values(const struct fixture *f, const char *name, size_t *n);

/* Fails when any of got[0…n-1] is further than `allowed` from the expected value; the
 * tensor must have n values. */
void fixture_compare(const struct fixture *f, const char *name, const real *got, size_t n,
                     double allowed);
/* The same for gradients: allowed is part × max(largest of this tensor, 1e-5 × largest).
 * A tensor whose gradient is zero in exact arithmetic (biases of keys: softmax ignores a
 * shift) holds nothing but rounding, in the reference too: part × 1e-3 × largest. */
void fixture_compare_gradient(const struct fixture *f, const char *name, const real *got, size_t n,
                              double part, double largest);
/* The same for a tensor of which the file has 17 numbers: its largest magnitude, then the
 * values at the 16 places (i * 7919 + 13) mod size. */
void fixture_compare_samples(const struct fixture *f, const char *name, const real *got,
                             size_t size, double part, double largest);
/* The largest magnitude among the expected tensors whose names begin with `prefix`. */
double fixture_largest(const struct fixture *f, const char *prefix);
/* The name of what belongs to a model tensor: before + the prefix of the family's classes +
 * name + after.  The caller frees it; fails when the file has none. */
char *fixture_name(const struct fixture *f, const char *before, const char *name,
                   const char *after);

#endif
