#include "core/base/rng.h"

#include <math.h>

/* The finalizer of SplitMix64: a bijection that passes avalanche tests. */
static uint64_t rng_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static const uint64_t GOLDEN = 0x9E3779B97F4A7C15u;

struct rng_key rng_key(uint64_t seed, enum rng_purpose purpose, uint64_t step, uint64_t site) {
    uint64_t k = rng_mix(seed + GOLDEN);
    k = rng_mix(k ^ (uint64_t)purpose * GOLDEN);
    k = rng_mix(k + step * GOLDEN);
    return (struct rng_key){ rng_mix(k ^ rng_mix(site + GOLDEN)) };
}

uint64_t rng_site(const char *name) {
    uint64_t h = 0xCBF29CE484222325u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001B3u;
    return rng_mix(h);
}

uint64_t rng_bits(struct rng_key key, uint64_t counter) {
    return rng_mix(rng_mix(key.k + counter * GOLDEN) ^ key.k);
}

double rng_uniform(struct rng_key key, uint64_t counter) {
    return (double)(rng_bits(key, counter) >> 11) * 0x1p-53;
}

double rng_normal(struct rng_key key, uint64_t counter) {
    double u = 1.0 - rng_uniform(key, 2 * counter); /* (0, 1] */
    double v = rng_uniform(key, 2 * counter + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint64_t rng_below(struct rng_key key, uint64_t counter, uint64_t n) {
    return (uint64_t)(((unsigned __int128)rng_bits(key, counter) * n) >> 64);
}

void rng_permute(struct rng_key key, uint32_t *order, size_t n) {
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)rng_below(key, i, i);
        uint32_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}
