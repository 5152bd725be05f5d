/* Stores the first left < 16 of the floats in `part`, in pieces: a processor does not pass a masked store on
 * to a load that overlaps its vector, as the next row's does, but waits until it is in the cache. */
static inline __attribute__((always_inline)) void put_pieces(float *p, size_t left, const float *part) {
    size_t at = 0;
    if (left & 8) memcpy(p, part, 32), at = 8;
    if (left & 4) memcpy(p + at, part + at, 16), at += 4;
    if (left & 2) memcpy(p + at, part + at, 8), at += 2;
    if (left & 1) p[at] = part[at];
}

/* The sum of eight lanes and the largest of them, by halves: lane j with lane j + 4, then with j + 2, then
 * with j + 1.  Of equal lanes, and of two with a NaN, the lower half's lane is taken. */
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
