#include "core/engine/product.h"

#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/engine/packed.h"
#include "core/engine/record.h"

enum { FEW = 48 }; /* with more rows, packing a weight is worthwhile */

static const real *weight_rows(const struct tape *t, struct product_weight w) {
    return tape_value(t, w.w) + (size_t)w.first * (size_t)tape_cols_of(t, w.w);
}

/* The packed form of W, which is whole and whose results have no gaps; or NULL. */
static const struct packed *packed_of(const struct tape *t, struct product_weight w, int ld, int cols) {
    bool whole = w.first == 0 && w.rows == tape_rows_of(t, w.w) && ld == cols;
    return whole ? tape_packed(t, w.w) : NULL;
}

void product_forward(struct tape *t, struct product_weight w, int n, real s, const real *x, int ldx,
                     bool add, real *y, int ldy) {
    int in = tape_cols_of(t, w.w);
    const real *weight = weight_rows(t, w);
    const struct packed *packed = packed_of(t, w, ldy, w.rows);
    if (packed) return packed_forward(packed, record_arena(t), n, s, x, ldx, add, y);
    if (n <= FEW && tape_has_few_rows(t)) kernel_few_rows(n, w.rows, in, s, x, ldx, weight, in, add, y, ldy);
    else blas_gemm(false, true, n, w.rows, in, s, x, ldx, weight, in, add, y, ldy);
}

void product_to_input(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                      bool add, real *dx, int lddx) {
    int in = tape_cols_of(t, w.w);
    const struct packed *packed = packed_of(t, w, lddx, in);
    if (packed) return packed_to_input(packed, record_arena(t), n, s, dy, lddy, add, dx);
    blas_gemm(false, false, n, in, w.rows, s, dy, lddy, weight_rows(t, w), in, add, dx, lddx);
}

void product_to_weight(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                       const real *x, int ldx, bool add, real *dw) {
    int in = tape_cols_of(t, w.w);
    const struct packed *packed = packed_of(t, w, in, in);
    if (packed) return packed_to_weight(packed, record_arena(t), n, s, dy, lddy, x, ldx, add, dw);
    blas_gemm(true, false, w.rows, in, n, s, dy, lddy, x, ldx, add, dw, in);
}
