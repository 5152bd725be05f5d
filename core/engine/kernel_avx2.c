/* For x86-64 with AVX2 and FMA. */
#include "core/engine/kernel_table.h"

#if defined(__x86_64__) && !REAL_IS_DOUBLE
#include <immintrin.h>
#include <math.h>
#include <string.h>

#pragma GCC target("avx2,fma,bmi2")
#define LANES 8
#define FUSED _mm256_fmadd_ps
#define KERNELS kernels_avx2
#include "core/engine/lanes_x86.h"

static inline __attribute__((always_inline)) __m256i mask_of(size_t left) {
    __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)left), lane);
}

static inline __attribute__((always_inline)) __m256 take_part(const float *p, size_t left) {
    return _mm256_maskload_ps(p, mask_of(left));
}

static inline __attribute__((always_inline)) void put_part(float *p, size_t left, __m256 v) {
    float part[8];
    _mm256_storeu_ps(part, v);
    put_pieces(p, left, part);
}

static inline __attribute__((always_inline)) __m128 four_totals(__m256 a, __m256 b, __m256 c,
                                                                 __m256 d) {
    __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}
#define FOUR_TOTALS four_totals
#define TOTAL total8
#define LARGEST largest8
#define TAKE_PART take_part
#define PUT_PART put_part
#include "core/engine/kernel_body.h"
#endif
