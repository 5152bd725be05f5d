#include "core/engine/product.h"

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/engine/packed.h"
#include "core/engine/profile.h"
#include "core/engine/record.h"

enum { FEW = 48 }; /* with more rows, packing a weight is worthwhile */

/* Returns whether the packed form of W can be used: W is whole, and its results have no gaps. */
static bool is_whole(const struct tape *t, struct product_weight w, int ld, int cols) {
    return w.first == 0 && w.rows == tape_rows_of(t, w.w) && ld == cols;
}

/* Returns the rows of W, or its packed form. */
static struct lent take_weight(const struct tape *t, struct product_weight w, int ld, int cols) {
    struct lent l = record_take(t, w.w);
    if (!is_whole(t, w, ld, cols)) l.packed = NULL;
    if (l.packed) return l;
    if (!l.value) BUG("the values of weight %d were recycled", (int)w.w);
    l.value += (size_t)w.first * (size_t)tape_cols_of(t, w.w);
    return l;
}

/* Writes the rows that a product is added to. */
static void start_rows(int n, int cols, const real *plus, int ldp, real *y, int ldy) {
    if (!plus || plus == y) return;
    for (int i = 0; i < n; i++)
        kernel_copy((size_t)cols, plus + (size_t)i * (size_t)ldp, y + (size_t)i * (size_t)ldy);
}

/* ---- weights with a short side ---- */

/* The transpose of a weight, in scratch memory. */
static real *thin_transposed(struct tape *t, struct product_weight w, const real *from) {
    int in = tape_cols_of(t, w.w);
    real *to = arena_scratch(record_arena(t), (size_t)w.rows * (size_t)in * sizeof *to);
    for (int i = 0; i < w.rows; i++)
        for (int j = 0; j < in; j++) to[(size_t)j * (size_t)w.rows + (size_t)i] = *from++;
    return to;
}

/* y = s·x aᵀ + plus for `rows` ≤ THIN rows of a, each `in` long. */
static void thin_dots(int n, int rows, int in, real s, const real *x, int ldx, const real *a,
                      const real *plus, int ldp, real *y, int ldy) {
    enum { AT_ONCE = 12 }; /* rows of x that stay in the cache while all of a is read */
    start_rows(n, rows, plus, ldp, y, ldy);
    for (int from = 0; from < n; from += AT_ONCE)
        kernel_few_rows(n - from < AT_ONCE ? n - from : AT_ONCE, rows, in, s, x + (size_t)from * (size_t)ldx,
                        ldx, a, in, plus != NULL, y + (size_t)from * (size_t)ldy, ldy);
}

static bool is_thin(const struct tape *t, struct product_weight w) {
    return tape_has_thin(t) && (w.rows <= THIN || tape_cols_of(t, w.w) <= THIN);
}

static void thin_forward(struct tape *t, struct product_weight w, const real *weight, int n, real s,
                         const real *x, int ldx, const real *plus, int ldp, real *y, int ldy) {
    int in = tape_cols_of(t, w.w);
    double begin = profile_begin();
    if (w.rows <= THIN) thin_dots(n, w.rows, in, s, x, ldx, weight, plus, ldp, y, ldy);
    else kernel_thin_add(n, in, w.rows, s, x, ldx, thin_transposed(t, w, weight), plus, ldp, y, ldy);
    profile_part(PROFILE_PRODUCTS, begin);
}

static void thin_to_input(struct tape *t, struct product_weight w, const real *weight, int n, real s,
                          const real *dy, int lddy, bool add, real *dx, int lddx) {
    int in = tape_cols_of(t, w.w);
    const real *plus = add ? dx : NULL;
    double begin = profile_begin();
    if (w.rows <= THIN) kernel_thin_add(n, w.rows, in, s, dy, lddy, weight, plus, lddx, dx, lddx);
    else thin_dots(n, in, w.rows, s, dy, lddy, thin_transposed(t, w, weight), plus, lddx, dx, lddx);
    profile_part(PROFILE_PRODUCTS, begin);
}

static void thin_to_weight(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                           const real *x, int ldx, bool add, real *dw) {
    size_t in = (size_t)tape_cols_of(t, w.w), rows = (size_t)w.rows, size = in * rows;
    real *sum = arena_scratch(record_arena(t), size * sizeof *sum);
    double begin = profile_begin();
    if (w.rows <= THIN) {
        kernel_thin_sum(n, w.rows, (int)in, dy, lddy, x, ldx, sum);
        if (add) kernel_add_to(size, s, sum, dw);
        else kernel_scale(size, s, sum, dw);
    } else {
        kernel_thin_sum(n, (int)in, w.rows, x, ldx, dy, lddy, sum);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < in; j++, dw++) *dw = s * sum[j * rows + i] + (add ? *dw : 0);
    }
    profile_part(PROFILE_PRODUCTS, begin);
}

/* ---- */

void product_forward(struct tape *t, struct product_weight w, int n, real s, const real *x, int ldx,
                     const real *plus, int ldp, real *y, int ldy) {
    int in = tape_cols_of(t, w.w);
    const struct lent l = take_weight(t, w, ldy, w.rows);
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    if (l.packed) {
        bool bias = plus && plus != y && ldp == 0;
        if (!bias) start_rows(n, w.rows, plus, ldp, y, ldy);
        packed_forward(l.packed, a, n, s, x, ldx, bias ? plus : NULL, plus && !bias, y);
    } else if (is_thin(t, w)) {
        thin_forward(t, w, l.value, n, s, x, ldx, plus, ldp, y, ldy);
    } else {
        start_rows(n, w.rows, plus, ldp, y, ldy);
        if (n <= FEW && tape_has_few_rows(t))
            kernel_few_rows(n, w.rows, in, s, x, ldx, l.value, in, plus != NULL, y, ldy);
        else blas_gemm(false, true, n, w.rows, in, s, x, ldx, l.value, in, plus != NULL, y, ldy);
    }
    arena_scratch_release(a, m);
    record_give(t, w.w);
}

void product_to_input(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                      bool add, real *dx, int lddx) {
    int in = tape_cols_of(t, w.w);
    const struct lent l = take_weight(t, w, lddx, in);
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    if (l.packed) packed_to_input(l.packed, a, n, s, dy, lddy, add, dx);
    else if (is_thin(t, w)) thin_to_input(t, w, l.value, n, s, dy, lddy, add, dx, lddx);
    else blas_gemm(false, false, n, in, w.rows, s, dy, lddy, l.value, in, add, dx, lddx);
    arena_scratch_release(a, m);
    record_give(t, w.w);
}

void product_to_weight(struct tape *t, struct product_weight w, int n, real s, const real *dy, int lddy,
                       const real *x, int ldx, bool add, real *dw) {
    int in = tape_cols_of(t, w.w);
    const struct packed *packed = is_whole(t, w, in, in) ? tape_packed(t, w.w) : NULL;
    struct arena *a = record_arena(t);
    struct arena_mark m = arena_mark(a);
    if (packed) packed_to_weight(packed, a, n, s, dy, lddy, x, ldx, add, dw);
    else if (is_thin(t, w)) thin_to_weight(t, w, n, s, dy, lddy, x, ldx, add, dw);
    else blas_gemm(true, false, w.rows, in, n, s, dy, lddy, x, ldx, add, dw, in);
    arena_scratch_release(a, m);
}
