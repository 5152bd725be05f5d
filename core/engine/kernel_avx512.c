/* For x86-64 with AVX-512. */
#include "core/engine/kernel_table.h"

#if defined(__x86_64__) && !REAL_IS_DOUBLE
#include <immintrin.h>
#include <math.h>
#include <string.h>

#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,bmi2,prefer-vector-width=512")
#define LANES 16
#define FUSED _mm512_fmadd_ps
#define KERNELS kernels_avx512
#include "core/engine/lanes_x86.h"

static inline __attribute__((always_inline)) __m512 take_part(const float *p, size_t left) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << left) - 1), p);
}

static inline __attribute__((always_inline)) void put_part(float *p, size_t left, __m512 v) {
    float part[16];
    _mm512_storeu_ps(part, v);
    put_pieces(p, left, part);
}

/* Adds the upper eight lanes to the lower. */
static inline __attribute__((always_inline)) __m256 folded(__m512 a) {
    return _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
}

static inline __attribute__((always_inline)) __m128 four_totals(__m512 a, __m512 b, __m512 c,
                                                                 __m512 d) {
    __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(folded(a), folded(b)),
                                _mm256_hadd_ps(folded(c), folded(d)));
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}
#define FOUR_TOTALS four_totals
static inline __attribute__((always_inline)) float total16(__m512 a) { return total8(folded(a)); }

static inline __attribute__((always_inline)) float largest16(__m512 a) {
    return largest8(_mm256_max_ps(_mm512_extractf32x8_ps(a, 1), _mm512_castps512_ps256(a)));
}
#define TOTAL total16
#define LARGEST largest16
#define TAKE_PART take_part
#define PUT_PART put_part
#include "core/engine/kernel_body.h"
#endif
