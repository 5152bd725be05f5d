/* The sum of eight lanes and the largest of them, by halves: lane j with lane j + 4, then with j + 2, then with
 * j + 1.  Of equal lanes, and of two with a NaN, the lower half's lane is taken. */
static inline __attribute__((always_inline)) float total8(__m256 a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline __attribute__((always_inline)) float largest8(__m256 a) {
    __m128 s = _mm_max_ps(_mm256_extractf128_ps(a, 1), _mm256_castps256_ps128(a));
    s = _mm_max_ps(_mm_movehl_ps(s, s), s);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(s), s));
}
