/* For x86-64 with AVX2 and FMA. */
#include "core/analysis/pairs.h"

#if defined(__x86_64__) && !REAL_IS_DOUBLE
#include <immintrin.h>
#include <string.h>

#pragma GCC target("avx2,fma")
#define LANES 8
#define FUSED _mm256_fmadd_ps
#define PAIRS pairs_avx2
#include "core/analysis/pairs_body.h"
#endif
