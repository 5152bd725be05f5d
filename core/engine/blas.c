#include "core/engine/blas.h"

#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/profile.h"
#include "core/base/room.h"

struct product {
    int m, n, k;
    bool ta, tb, add;
};

struct blas_record {
    struct product *product;
    size_t count, room;
};

static _Thread_local struct blas_record *recording;

void blas_gemm(bool ta, bool tb, int m, int n, int k, real alpha, const real *a, int lda,
               const real *b, int ldb, real beta, real *c, int ldc) {
    if (m <= 0 || n <= 0) return;
    if (k <= 0) {
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                real *to = &c[(size_t)i * (size_t)ldc + (size_t)j];
                *to = beta == 0 ? 0 : beta * *to;
            }
        return;
    }
    if (recording) {
        struct blas_record *r = recording;
        GROW(r->product, r->room, r->count + 1);
        r->product[r->count++] = (struct product){ m, n, k, ta, tb, beta != 0 };
    }
    double begin = profile_begin();
    CBLAS_TRANSPOSE opa = ta ? CblasTrans : CblasNoTrans, opb = tb ? CblasTrans : CblasNoTrans;
#ifdef PETRI_DOUBLE
    cblas_dgemm(CblasRowMajor, opa, opb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#else
    cblas_sgemm(CblasRowMajor, opa, opb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
    profile_part(PROFILE_PRODUCTS, begin);
}

/* Exported by OpenBLAS only; other libraries with the same interface lack them. */
extern void *blas_memory_alloc(int purpose) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

static void use_one_thread(void) { openblas_set_num_threads(1); }

int blas_reserve(int threads, struct err *e) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_one_thread); /* also in a program that does not call blas_start() */
    static const double buffer_bytes = 128 << 20, thread_bytes = 8 << 20, other_bytes = 64 << 20;
    static atomic_int reserved;
    if (!blas_memory_alloc || !blas_memory_free || threads <= reserved) return 0;
    double needed = (threads - reserved) * (buffer_bytes + thread_bytes) + other_bytes;
    double left = room_of_space();
    if (left < needed)
        return err_set(e, ERR_USAGE,
                       "ulimit -v: not enough address space for %d worker%s: %.0f MB left, at least %.0f MB "
                       "needed; %sraise the limit",
                       threads, threads > 1 ? "s" : "", left / 1e6, needed / 1e6,
                       threads > 1 ? "reduce --workers or " : "");
    void **buffer = xcalloc((size_t)threads, sizeof *buffer);
    for (int i = 0; i < threads; i++) buffer[i] = blas_memory_alloc(0);
    for (int i = 0; i < threads; i++) blas_memory_free(buffer[i]);
    free(buffer);
    reserved = threads;
    return 0;
}

struct blas_record *blas_record_start(void) {
    BUG_IF(recording);
    recording = xcalloc(1, sizeof *recording);
    return recording;
}

void blas_record_stop(struct blas_record *r) {
    BUG_IF(recording != r);
    recording = NULL;
}

size_t blas_record_count(const struct blas_record *r) { return r->count; }

double blas_record_flops(const struct blas_record *r) {
    double flops = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct product *p = &r->product[i];
        flops += 2.0 * p->m * p->n * p->k;
    }
    return flops;
}

static void blas_grow(size_t *size, int rows, int cols) {
    size_t need = (size_t)rows * (size_t)cols;
    if (need > *size) *size = need;
}

double blas_record_replay(const struct blas_record *r) {
    size_t na = 1, nb = 1, nc = 1;
    for (size_t i = 0; i < r->count; i++) {
        const struct product *p = &r->product[i];
        blas_grow(&na, p->m, p->k);
        blas_grow(&nb, p->k, p->n);
        blas_grow(&nc, p->m, p->n);
    }
    real *a = xcalloc(na, sizeof *a), *b = xcalloc(nb, sizeof *b), *c = xcalloc(nc, sizeof *c);
    /* Numbers of typical size: zeros could be faster or slower. */
    for (size_t i = 0; i < na; i++) a[i] = (real)0.5 - (real)(i % 7) / 8;
    for (size_t i = 0; i < nb; i++) b[i] = (real)0.25 - (real)(i % 5) / 16;
    double start = clock_seconds();
    for (size_t i = 0; i < r->count; i++) {
        const struct product *p = &r->product[i];
        blas_gemm(p->ta, p->tb, p->m, p->n, p->k, 1, a, p->ta ? p->m : p->k, b,
                  p->tb ? p->k : p->n, p->add ? 1 : 0, c, p->n);
        if (p->add && i % 64 == 63) memset(c, 0, nc * sizeof *c); /* keeps the sums small */
    }
    double seconds = clock_seconds() - start;
    free(a);
    free(b);
    free(c);
    return seconds;
}

void blas_record_free(struct blas_record *r) {
    if (!r) return;
    free(r->product);
    free(r);
}

double blas_rate(int m, int n, int k, double seconds) {
    struct blas_record r = { NULL, 0, 0 };
    struct product one = { m, n, k, false, true, false };
    r.product = &one;
    r.count = 1;
    double best = 0, start = clock_seconds();
    for (int i = 0; i < 3 || clock_seconds() - start < seconds; i++) {
        double took = blas_record_replay(&r);
        double rate = took > 0 ? 2e-9 * m * n * k / took : 0;
        if (rate > best) best = rate;
    }
    return best;
}

double blas_layer_rate(double seconds) {
    enum { TOKENS = 128, WIDTH = 384 };
    static const int inner[][2] = { { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 4, 1 }, { 1, 4 } };
    struct product layers[12 * COUNT_OF(inner)];
    for (size_t i = 0; i < COUNT_OF(layers); i++) {
        const int *times = inner[i % COUNT_OF(inner)];
        layers[i] = (struct product){ TOKENS, WIDTH * times[0], WIDTH * times[1], false, true, false };
    }
    struct blas_record r = { layers, COUNT_OF(layers), COUNT_OF(layers) };
    double took = 0, done = 0;
    do took += blas_record_replay(&r), done += blas_record_flops(&r);
    while (took < seconds);
    return 1e-9 * done / took;
}
