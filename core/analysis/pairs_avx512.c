/* For x86-64 with AVX-512. */
#include "core/analysis/pairs.h"

#if defined(__x86_64__) && !REAL_IS_DOUBLE
#include <immintrin.h>
#include <string.h>

#pragma GCC target("avx512f,avx512dq,avx2,fma,prefer-vector-width=512")
#define LANES 16
#define FUSED _mm512_fmadd_ps
#define PAIRS pairs_avx512
#include "core/analysis/pairs_body.h"
#endif
