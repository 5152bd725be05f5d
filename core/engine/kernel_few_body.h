/* Products of a few rows with a large weight, part of kernel_body.h.
 *
 * A library packs the weight before it multiplies, which for a few rows costs more than the product.  Here
 * tiles of ROWS_AT_ONCE rows and four weight rows stay in registers while the next weight rows are
 * prefetched: the run time is that of reading the weight from memory. */

enum { ROWS_AT_ONCE = 3, WEIGHTS_AT_ONCE = 4, CACHE_LINE = 64 / sizeof(real) };

typedef real four __attribute__((vector_size(4 * sizeof(real))));

/* The sums of four vectors' lanes. */
#ifndef FOUR_TOTALS
#define FOUR_TOTALS(a, b, c, d) ((four){ total(a), total(b), total(c), total(d) })
#endif

/* By address: passing a vector of doubles to a function has no standard convention without AVX. */
INLINE void few_store(const four *sum, real s, bool add, real *c) {
    four y = *sum * s;
    if (add) {
        four was;
        memcpy(&was, c, sizeof was);
        y += was;
    }
    memcpy(c, &y, sizeof y);
}

/* Adds the products of columns p… of `rows` rows of a and four of b: LANES columns, or the `left` that
 * remain. */
INLINE void few_step(int rows, size_t p, size_t left, const real *a, size_t lda, const real *b, size_t ldb,
                     vec sum[ROWS_AT_ONCE][WEIGHTS_AT_ONCE]) {
    vec x[ROWS_AT_ONCE];
    for (int i = 0; i < rows; i++) x[i] = take(a + (size_t)i * lda + p, left);
    for (size_t j = 0; j < WEIGHTS_AT_ONCE; j++) {
        if (p % CACHE_LINE == 0) __builtin_prefetch(b + (j + WEIGHTS_AT_ONCE) * ldb + p);
        vec w = take(b + j * ldb + p, left);
        for (int i = 0; i < rows; i++) sum[i][j] = fused(x[i], w, sum[i][j]);
    }
}

/* `rows` rows of a with four of b. */
INLINE void few_tile(int rows, size_t k, real s, const real *a, size_t lda, const real *b,
                     size_t ldb, bool add, real *c, size_t ldc) {
    vec sum[ROWS_AT_ONCE][WEIGHTS_AT_ONCE];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < WEIGHTS_AT_ONCE; j++) sum[i][j] = ALL(0);
    size_t p = 0;
    for (; p + LANES <= k; p += LANES) few_step(rows, p, LANES, a, lda, b, ldb, sum);
    if (p < k) few_step(rows, p, k - p, a, lda, b, ldb, sum);
    for (int i = 0; i < rows; i++) {
        four all = (four)FOUR_TOTALS(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        few_store(&all, s, add, c + (size_t)i * ldc);
    }
}

/* One row of b, in the order of a tile. */
static void few_last(int m, size_t k, real s, const real *a, size_t lda, const real *b, bool add,
                     real *c, size_t ldc) {
    for (size_t i = 0; i < (size_t)m; i++) {
        vec sum = ALL(0);
        for (size_t p = 0; p < k; p += LANES)
            sum = fused(take(a + i * lda + p, k - p), take(b + p, k - p), sum);
        four all = (four)FOUR_TOTALS(sum, sum, sum, sum);
        c[i * ldc] = all[0] * s + (add ? c[i * ldc] : 0);
    }
}

static void body_few_rows(int m, int n, int k, real s, const real *a, int lda, const real *b, int ldb,
                          bool add, real *c, int ldc) {
    size_t depth = (size_t)k, la = (size_t)lda, lb = (size_t)ldb, lc = (size_t)ldc;
    int j = 0;
    for (; j + WEIGHTS_AT_ONCE <= n; j += WEIGHTS_AT_ONCE, b += WEIGHTS_AT_ONCE * lb, c += WEIGHTS_AT_ONCE) {
        const real *x = a;
        real *y = c;
        int left = m;
        for (; left >= ROWS_AT_ONCE; left -= ROWS_AT_ONCE, x += ROWS_AT_ONCE * la, y += ROWS_AT_ONCE * lc)
            few_tile(ROWS_AT_ONCE, depth, s, x, la, b, lb, add, y, lc);
        if (left == 2) few_tile(2, depth, s, x, la, b, lb, add, y, lc);
        if (left == 1) few_tile(1, depth, s, x, la, b, lb, add, y, lc);
    }
    for (; j < n; j++, b += lb, c++) few_last(m, depth, s, a, la, b, add, c, lc);
}
