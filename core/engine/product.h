/* Products with a weight as operand, whatever form the weight has.
 *
 * W is `rows` consecutive rows of the value w, from row `first` on, each in = tape_cols_of(w) long.  Matrices
 * are row-major; ld… are the distances between rows.  Only op_*.c include this. */
#ifndef CORE_ENGINE_PRODUCT_H
#define CORE_ENGINE_PRODUCT_H

#include "core/engine/tape.h"

struct product_weight {
    node w;
    int first, rows;
};

/* Computes y = s·x Wᵀ + plus: x is n × in, y n × rows.  Rows of `plus` are ldp apart: ldy where it is y, 0
 * for one row that is added to each; NULL: nothing is added. */
void product_forward(struct tape *t, struct product_weight w, int n, real s, const real *x, int ldx,
                     const real *plus, int ldp, real *y, int ldy);
/* Computes dx = s·dy W, or adds it: dy is n × rows, dx n × in. */
void product_to_input(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                      bool add, real *dx, int lddx);
/* Computes dW = s·dyᵀ x, or adds it: dy is n × rows, x n × in, dw rows × in, packed. */
void product_to_weight(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                       const real *x, int ldx, bool add, real *dw);

#endif
