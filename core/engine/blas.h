/* Matrix products: OpenBLAS behind one function, with a kernel selected for this processor, and a record of
 * the products of a step that can be replayed alone.
 *
 * In blas.c; the selection of the kernel in blas_start.c. */
#ifndef CORE_ENGINE_BLAS_H
#define CORE_ENGINE_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/engine/real.h"

/* Computes C = alpha·op(A)·op(B) + beta·C, row-major, op(A) m×k, op(B) k×n; beta 0 never reads C. */
void blas_gemm(bool ta, bool tb, int m, int n, int k, real alpha, const real *a, int lda,
               const real *b, int ldb, real beta, real *c, int ldc);

/* Must be called first in main (and in main of every test program that computes).  Sets one BLAS thread;
 * where the address space is limited, re-executes the program with OPENBLAS_NUM_THREADS=1, as threads of the
 * library that find no space never end. When OPENBLAS_CORETYPE is unset and OpenBLAS selected a weaker kernel
 * than processor and operating system support (CPUID and XGETBV), tests the better one in a child process
 * and, if it passes, re-executes the program with OPENBLAS_CORETYPE set.  Returns otherwise.  Never overrides
 * a value that is set. */
void blas_start(char **argv);

/* Allocates the library's buffers (128 MB of address space each) for this many concurrent threads, so that no
 * allocation happens during a step: the library retries an allocation that fails forever.  ERR_USAGE where
 * the limit of the address space (ulimit -v) does not leave enough for them; `threads` with the reserved ones
 * succeeds. */
int blas_reserve(int threads, struct err *e);

struct blas_facts {
    char processor[64];   /* brand string */
    char features[64];    /* "avx2", "avx512", "neon", …: the best that is supported */
    char kernel[32];      /* OpenBLAS core name in use */
    char version[64];     /* OpenBLAS configuration string */
    char chosen_by[32];   /* "library", "environment", "petri" */
    bool self_test_passed;
    char self_test[96];   /* one phrase: the result of the test */
};
/* Runs the self-test on the first call (milliseconds; odd shapes compared with a plain loop). */
const struct blas_facts *blas_facts(void);
/* Returns GF/s of an m×n×k product on this thread, the best of several within about `seconds`. */
double blas_rate(int m, int n, int k, double seconds);
/* Returns GF/s of this thread over the products of a small encoder's layer (128 tokens, width 384), averaged
 * over about `seconds`: the throughput to expect in a step while other threads multiply too. */
double blas_layer_rate(double seconds);

/* Between record_start and record_stop the shapes of the calling thread's products are recorded; replay runs
 * them on scratch memory and returns the seconds. */
struct blas_record;
struct blas_record *blas_record_start(void);
void blas_record_stop(struct blas_record *r);
size_t blas_record_count(const struct blas_record *r);
double blas_record_flops(const struct blas_record *r);
double blas_record_replay(const struct blas_record *r);
void blas_record_free(struct blas_record *r);

#endif
