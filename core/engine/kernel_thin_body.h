/* Products with one short side, at most THIN long, part of kernel_body.h: those of low-rank modules.
 *
 * A library packs the long operands, which takes as long as such a product.  Here a block of the long
 * operand's columns stays in registers, or the sums do, and the short side is broadcast from the cache. */

/* Rows that are processed before the next block of columns: their cache lines are read together. */
enum { THIN_ROWS = 32 };

/* One block of columns of a few rows: y = s·u w + plus.  `r` is a constant where it is inlined. */
INLINE void thin_add_block(int n, int r, size_t left, real s, const real *u, size_t ldu, const real *w,
                           size_t cols, const real *plus, size_t ldp, real *y, size_t ldy) {
    vec part[THIN];
    for (int k = 0; k < r; k++) part[k] = take(w + (size_t)k * cols, left);
    for (int i = 0; i < n; i++, u += ldu, y += ldy) {
        vec sum = ALL(0);
        for (int k = 0; k < r; k++) sum = fused(ALL(u[k]), part[k], sum);
        put(y, left, plus ? fused(ALL(s), sum, take(plus, left)) : s * sum);
        if (plus) plus += ldp;
    }
}

static void body_thin_add(int n, int r, int cols, real s, const real *u, int ldu, const real *w,
                          const real *plus, int ldp, real *y, int ldy) {
    size_t d = (size_t)cols;
    for (int from = 0; from < n; from += THIN_ROWS) {
        int rows = n - from < THIN_ROWS ? n - from : THIN_ROWS;
        for (size_t j = 0; j < d; j += LANES) {
            const real *a = u + (size_t)from * (size_t)ldu;
            const real *p = plus ? plus + (size_t)from * (size_t)ldp + j : NULL;
            real *to = y + (size_t)from * (size_t)ldy + j;
#define BLOCK(r) thin_add_block(rows, r, d - j, s, a, (size_t)ldu, w + j, d, p, (size_t)ldp, to, (size_t)ldy)
            if (r == 8) BLOCK(8);
            else if (r == 4) BLOCK(4);
            else if (r == 16) BLOCK(16);
            else BLOCK(r);
#undef BLOCK
        }
    }
}

/* Adds Σ_i u[i]·v[i] to one block of columns of the sums, r rows apart by `cols`. */
INLINE void thin_sum_block(int n, int r, size_t left, bool first, const real *u, size_t ldu, const real *v,
                           size_t ldv, real *sum, size_t cols) {
    vec part[THIN];
    for (int k = 0; k < r; k++) part[k] = first ? ALL(0) : take(sum + (size_t)k * cols, left);
    for (int i = 0; i < n; i++, u += ldu, v += ldv) {
        vec x = take(v, left);
        for (int k = 0; k < r; k++) part[k] = fused(ALL(u[k]), x, part[k]);
    }
    for (int k = 0; k < r; k++) put(sum + (size_t)k * cols, left, part[k]);
}

static void body_thin_sum(int n, int r, int cols, const real *u, int ldu, const real *v, int ldv, real *sum) {
    size_t d = (size_t)cols;
    for (int from = 0; from == 0 || from < n; from += THIN_ROWS) {
        int rows = n - from < THIN_ROWS ? n - from : THIN_ROWS;
        for (size_t j = 0; j < d; j += LANES) {
            const real *a = u + (size_t)from * (size_t)ldu, *b = v + (size_t)from * (size_t)ldv + j;
#define BLOCK(r) thin_sum_block(rows, r, d - j, from == 0, a, (size_t)ldu, b, (size_t)ldv, sum + j, d)
            if (r == 8) BLOCK(8);
            else if (r == 4) BLOCK(4);
            else if (r == 16) BLOCK(16);
            else BLOCK(r);
#undef BLOCK
        }
    }
}
