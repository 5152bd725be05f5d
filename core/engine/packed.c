#include "core/engine/packed.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/engine/dnnl.h"
#include "core/engine/profile.h"

enum { FORWARD, BACK };

/* Shared by threads, which see the rest unchanged. */
struct back {
    pthread_mutex_t lock;
    struct dnnl_product *_Atomic native;
};

struct packed {
    int rows, cols;
    struct dnnl_product *forward;           /* NULL: not native */
    struct back *back;                      /* of a frozen weight packed on first use; NULL: not native */
    struct dnnl_shape *sum;                 /* of a trained weight; NULL: rounded operands are multiplied */
    real *rounded;                          /* rows × cols; NULL when native */
};

bool packed_is_native(void) { return dnnl_is_native(); }

enum precision precision_resolved(enum precision p) {
    return p != PRECISION_AUTO ? p : packed_is_native() ? PRECISION_BF16 : PRECISION_F32;
}

struct packed *packed_new(int rows, int cols, const real *w, size_t *failed) {
    size_t size = (size_t)rows * (size_t)cols, own = sizeof(struct packed);
    struct packed *p = mem_try(1, own);
    *failed = p ? 0 : own;
    if (!p) return NULL;
    *p = (struct packed){ .rows = rows, .cols = cols };
    p->forward = dnnl_product_new(cols, rows, w, true, failed);
    if (p->forward) {
        p->back = mem_try(1, sizeof *p->back);
        if (p->back) *p->back = (struct back){ .lock = PTHREAD_MUTEX_INITIALIZER };
        else *failed = sizeof *p->back;
    } else if (!*failed) {
        p->rounded = mem_try(size, sizeof *p->rounded);
        if (p->rounded && w) kernel_round_bf16(size, 1, w, p->rounded);
        if (!p->rounded) *failed = size * sizeof *p->rounded;
    }
    if (!*failed) return p;
    packed_free(p);
    return NULL;
}

struct packed *packed_trained_new(int rows, int cols, size_t *failed) {
    struct packed *p = packed_new(rows, cols, NULL, failed);
    if (p && p->back) p->back->native = dnnl_product_new(rows, cols, NULL, false, failed);
    if (p && !*failed) p->sum = dnnl_sum_of(rows, cols, failed);
    if (!*failed) return p;
    packed_free(p);
    return NULL;
}

void packed_fill(struct packed *p, const real *w) {
    BUG_IF(p->forward && dnnl_product_pack(p->forward, w, true));
    if (p->back && !p->sum) {
        dnnl_product_free(p->back->native); /* packed on first use */
        p->back->native = NULL;
    }
    BUG_IF(p->back && p->sum && (!p->back->native || dnnl_product_pack(p->back->native, w, false)));
    if (p->rounded) kernel_round_bf16((size_t)p->rows * (size_t)p->cols, 1, w, p->rounded);
}

void packed_free(struct packed *p) {
    if (!p) return;
    dnnl_product_free(p->forward);
    if (p->back) {
        dnnl_product_free(p->back->native);
        pthread_mutex_destroy(&p->back->lock);
        free(p->back);
    }
    free(p->rounded);
    free(p);
}

/* Returns the product in one direction; NULL: not native. */
static const struct dnnl_product *native_of(const struct packed *p, int way) {
    struct back *back = p->back;
    if (way == FORWARD || !back) return p->forward;
    if (back->native) return back->native;
    size_t failed = 0;
    pthread_mutex_lock(&back->lock);
    if (!back->native) back->native = dnnl_product_transposed(p->forward, &failed);
    pthread_mutex_unlock(&back->lock);
    if (failed) mem_lack(failed);
    BUG_IF(!back->native);
    return back->native;
}

size_t packed_bytes(const struct packed *p) {
    size_t size = (size_t)p->rows * (size_t)p->cols, each = !p->back ? 0 : p->back->native ? 4 : 2;
    return size * (each + (p->rounded ? sizeof *p->rounded : 0));
}

/* Rounds `live` rows of s·x to bfloat16, followed by rows of zeros. */
static void round_rows(int rows, int live, int cols, real s, const real *x, int ldx, uint16_t *y) {
    double begin = profile_begin();
    for (int i = 0; i < live; i++)
        kernel_bf16((size_t)cols, s, x + (size_t)i * (size_t)ldx, y + (size_t)i * (size_t)cols);
    memset(y + (size_t)live * (size_t)cols, 0, (size_t)(rows - live) * (size_t)cols * sizeof *y);
    profile_part(PROFILE_CASTS, begin);
}

/* The same as float32, without rows of zeros. */
static real *rounded_rows(struct arena *scratch, int n, int cols, real s, const real *x, int ldx) {
    real *y = arena_scratch(scratch, (size_t)n * (size_t)cols * sizeof *y);
    double begin = profile_begin();
    for (int i = 0; i < n; i++)
        kernel_round_bf16((size_t)cols, s, x + (size_t)i * (size_t)ldx, y + (size_t)i * (size_t)cols);
    profile_part(PROFILE_CASTS, begin);
    return y;
}

/* Returns the index of the largest of these numbers of rows, in falling order, that n > 0 rows fill up to
 * less than the smallest number. */
static int row_count(int n, const int *rows, int counts) {
    int which = 0, least = rows[counts - 1];
    while (rows[which] >= n + least) which++;
    return which;
}

/* Multiplies n rows of s·x, the last ones filled up with zeros. */
static void multiply_native(const struct dnnl_product *p, struct arena *scratch, int in, int out, int n,
                            real s, const real *x, int ldx, const real *bias, bool add, real *y) {
    uint16_t *few = NULL; /* of the first call, which has the most rows */
    for (int from = 0, rows; from < n; from += rows) {
        int which = row_count(n - from, dnnl_rows, DNNL_ROW_COUNTS),
            live = n - from < dnnl_rows[which] ? n - from : dnnl_rows[which];
        real *to = y + (size_t)from * (size_t)out;
        rows = dnnl_rows[which];
        if (!few) few = arena_scratch(scratch, (size_t)rows * (size_t)in * sizeof *few);
        struct arena_mark m = arena_mark(scratch);
        void *work = arena_scratch(scratch, dnnl_product_scratch(p, which, bias, add));
        round_rows(rows, live, in, s, x + (size_t)from * (size_t)ldx, ldx, few);
        size_t size = (size_t)live * (size_t)out, whole = (size_t)rows * (size_t)out;
        real *result = live == rows ? to : arena_scratch(scratch, whole * sizeof *result);
        if (result != to && add) kernel_copy(size, to, result);
        dnnl_product_run(p, which, few, bias, add, result, work);
        if (result != to) kernel_copy(size, result, to);
        arena_scratch_release(scratch, m);
    }
}

static void multiply(const struct packed *p, int way, struct arena *scratch, int n, real s, const real *x,
                     int ldx, const real *bias, bool add, real *y) {
    int in = way == FORWARD ? p->cols : p->rows, out = way == FORWARD ? p->rows : p->cols;
    struct arena_mark m = arena_mark(scratch);
    const struct dnnl_product *native = native_of(p, way);
    if (native) {
        multiply_native(native, scratch, in, out, n, s, x, ldx, bias, add, y);
    } else {
        if (bias) kernel_fill_rows(n, out, 1, bias, y);
        const real *rounded = rounded_rows(scratch, n, in, s, x, ldx);
        blas_gemm(false, way == FORWARD, n, out, in, 1, rounded, in, p->rounded, p->cols, add || bias, y,
                  out);
    }
    arena_scratch_release(scratch, m);
}

void packed_forward(const struct packed *p, struct arena *scratch, int n, real s, const real *x, int ldx,
                    const real *bias, bool add, real *y) {
    multiply(p, FORWARD, scratch, n, s, x, ldx, bias, add, y);
}

double packed_rate(int n, int rows, int cols, double seconds) {
    struct arena *scratch = arena_new();
    real *w = xcalloc((size_t)rows * (size_t)cols, sizeof *w),
         *x = xcalloc((size_t)n * (size_t)cols, sizeof *x),
         *y = xmalloc((size_t)n * (size_t)rows * sizeof *y);
    size_t failed;
    struct packed *p = packed_new(rows, cols, w, &failed);
    double best = 0, start = clock_seconds();
    for (int i = 0; p && (i < 3 || clock_seconds() - start < seconds); i++) {
        double from = clock_seconds();
        packed_forward(p, scratch, n, 1, x, cols, NULL, false, y);
        double took = clock_seconds() - from, rate = took > 0 ? 2e-9 * n * rows * cols / took : 0;
        if (rate > best) best = rate;
    }
    packed_free(p);
    free(w), free(x), free(y);
    arena_free(scratch);
    return best;
}

void packed_to_input(const struct packed *p, struct arena *scratch, int n, real s, const real *dy, int lddy,
                     bool add, real *dx) {
    multiply(p, BACK, scratch, n, s, dy, lddy, NULL, add, dx);
}

static void sum_native(const struct packed *p, struct arena *scratch, int n, real s, const real *dy, int lddy,
                       const real *x, int ldx, bool add, real *dw) {
    if (!n && !add) memset(dw, 0, (size_t)p->rows * (size_t)p->cols * sizeof *dw);
    if (!n) return;
    size_t most = (size_t)dnnl_sums[row_count(n, dnnl_sums, DNNL_SUM_COUNTS)];
    uint16_t *left = arena_scratch(scratch, most * (size_t)p->rows * sizeof *left),
             *right = arena_scratch(scratch, most * (size_t)p->cols * sizeof *right);
    for (int from = 0; from < n;) {
        int which = row_count(n - from, dnnl_sums, DNNL_SUM_COUNTS), rows = dnnl_sums[which],
            live = n - from < rows ? n - from : rows;
        round_rows(rows, live, p->rows, s, dy + (size_t)from * (size_t)lddy, lddy, left);
        round_rows(rows, live, p->cols, 1, x + (size_t)from * (size_t)ldx, ldx, right);
        struct arena_mark m = arena_mark(scratch);
        void *work = arena_scratch(scratch, dnnl_sum_scratch(p->sum, which, add || from));
        dnnl_sum_run(p->sum, which, left, right, add || from, dw, work);
        arena_scratch_release(scratch, m);
        from += rows;
    }
}

void packed_to_weight(const struct packed *p, struct arena *scratch, int n, real s, const real *dy, int lddy,
                      const real *x, int ldx, bool add, real *dw) {
    struct arena_mark m = arena_mark(scratch);
    if (p->sum) {
        sum_native(p, scratch, n, s, dy, lddy, x, ldx, add, dw);
    } else {
        const real *left = rounded_rows(scratch, n, p->rows, s, dy, lddy),
                   *right = rounded_rows(scratch, n, p->cols, 1, x, ldx);
        blas_gemm(true, false, p->rows, p->cols, n, 1, left, p->rows, right, p->cols, add, dw, p->cols);
    }
    arena_scratch_release(scratch, m);
}
