/* Counter-based random numbers: each is a function of a key and a counter.
 *
 * A key is derived from (seed, purpose, step, site); the counter identifies the element, for example (example
 * id, token, channel) packed by the caller.  An element gets the same number in any shard, micro-batch or
 * worker. */
#ifndef CORE_BASE_RNG_H
#define CORE_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct rng_key {
    uint64_t k;
};

/* The purpose of a stream is part of the key, so that streams are independent. */
enum rng_purpose {
    RNG_INIT = 1, RNG_ORDER, RNG_DROPOUT, RNG_DRAW, RNG_TEST, RNG_LAYOUT, RNG_MASK, RNG_TOKEN
};

/* `site` is rng_site("name"), or 0. */
struct rng_key rng_key(uint64_t seed, enum rng_purpose purpose, uint64_t step, uint64_t site);
/* 64-bit hash of a name (FNV-1a, mixed). */
uint64_t rng_site(const char *name);

uint64_t rng_bits(struct rng_key key, uint64_t counter);
/* Uniform in [0, 1), 53 bits. */
double rng_uniform(struct rng_key key, uint64_t counter);
/* Standard normal (Box–Muller; uses the counters 2c and 2c+1 of the key). */
double rng_normal(struct rng_key key, uint64_t counter);
/* Uniform in 0…n-1 with negligible bias (multiply-shift of 64 bits); n > 0. */
uint64_t rng_below(struct rng_key key, uint64_t counter, uint64_t n);
/* Fills order[0…n-1] with a permutation of 0…n-1 (Fisher–Yates). */
void rng_permute(struct rng_key key, uint32_t *order, size_t n);

#endif
