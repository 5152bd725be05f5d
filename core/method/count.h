/* The arithmetic of parameter counts, for the files of functions. Private to core/method. */
#ifndef CORE_METHOD_COUNT_H
#define CORE_METHOD_COUNT_H

#include "core/base/buf.h"
#include "core/method/slots.h"

/* A sum such as "2·r·d + r + d" in letters and in numbers. */
struct terms {
    struct buf letters, numbers;
};

/* Adds a term in letters and formatted in numbers. */
__attribute__((format(printf, 3, 4)))
void terms_add(struct terms *t, const char *letters, const char *format, ...);
/* Adds the terms of W_d and W_u: r·(in + out), shorter if both widths have the same letter. */
void terms_matrices(struct terms *t, const struct module *m, const struct arch *a);
/* Writes "384→8→384", or "r 8" without a model. */
void terms_label(const struct module *m, const struct arch *a, char out[64]);
/* Returns the letter of a tap's width: "d", "f", "H·d_h", "H_k·d_h". */
const char *terms_letter(const struct arch *a, enum tap t);

#endif
