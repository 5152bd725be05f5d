/* A weight in bfloat16, packed for products with it in both directions: a frozen one once, a trained one
 * after each change.
 *
 * Operands are rounded to bfloat16 (to nearest, ties to even); products are accumulated and returned in
 * float32.  oneDNN multiplies where the library and the processor can; elsewhere the rounded operands are
 * multiplied by the matrix library, which has the same meaning and no gain.  A row of a result has the same
 * bits for any other rows and any number of them. */
#ifndef CORE_ENGINE_PACKED_H
#define CORE_ENGINE_PACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "core/engine/arena.h"
#include "core/engine/real.h"

/* How products with the weights of the model are computed.  PRECISION_AUTO is resolved before a run is
 * stored. */
enum precision { PRECISION_F32, PRECISION_BF16, PRECISION_AUTO };
/* Returns the precision that PRECISION_AUTO selects on this machine, and others unchanged. */
enum precision precision_resolved(enum precision p);

struct packed;

/* Packs W, rows × cols, for packed_forward, and on first use for packed_to_input; w is not needed afterwards.  NULL with the size of the block that could not be
 * allocated in *failed, which is 0 otherwise.  Release with packed_free. */
struct packed *packed_new(int rows, int cols, const real *w, size_t *failed);
/* Likewise for a trained weight of this shape, which packed_fill packs for all products. */
struct packed *packed_trained_new(int rows, int cols, size_t *failed);
/* Packs other values of W, in the same memory; no other thread uses p. */
void packed_fill(struct packed *p, const real *w);
void packed_free(struct packed *p);
/* Returns the size of the packed weights in bytes. */
size_t packed_bytes(const struct packed *p);

/* Computes y = s·x Wᵀ, or adds it to y, or to `bias` on each row if it is given: x is n × cols with rows ldx
 * apart, y n × rows without gaps. */
void packed_forward(const struct packed *p, struct arena *scratch, int n, real s, const real *x, int ldx,
                    const real *bias, bool add, real *y);
/* Computes dx = s·dy W, or adds it: dy is n × rows with rows lddy apart, dx n × cols without gaps. */
void packed_to_input(const struct packed *p, struct arena *scratch, int n, real s, const real *dy, int lddy,
                     bool add, real *dx);
/* Computes dW = s·dyᵀ x, or adds it, for a trained weight: dy is n × rows with rows lddy apart, x n × cols
 * with rows ldx apart, dw rows × cols without gaps.  Its bits depend on n. */
void packed_to_weight(const struct packed *p, struct arena *scratch, int n, real s, const real *dy, int lddy,
                      const real *x, int ldx, bool add, real *dw);

/* Returns GF/s of forward products of n examples with a packed rows × cols weight on this thread, casts
 * included: the best of several within about `seconds`. */
double packed_rate(int n, int rows, int cols, double seconds);
/* Returns whether library and processor multiply bfloat16, so that packed weights are faster. */
bool packed_is_native(void);

#endif
