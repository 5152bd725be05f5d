#include <string.h>

#include "core/analysis/pairs.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/support/test.h"

/* The tables that this processor can run. */
static size_t pair_tables(const struct pairs *out[3]) {
    size_t n = 0;
    out[n++] = &pairs_base;
#if defined(__x86_64__)
    if (pairs_in_use() != &pairs_base) out[n++] = &pairs_avx2;
    if (pairs_in_use() == &pairs_avx512) out[n++] = &pairs_avx512;
#endif
    return n;
}

enum { MOST = 160, NEIGHBORS = 48 };
static real x[MOST], y[MOST], p[MOST];
static int32_t neighbor[NEIGHBORS];

static int set_up(void **state) {
    (void)state;
    struct rng_key key = rng_key(8, RNG_TEST, 0, 0);
    for (uint64_t i = 0; i < MOST; i++) {
        x[i] = (real)(8 * rng_uniform(key, 3 * i) - 4);
        y[i] = (real)(8 * rng_uniform(key, 3 * i + 1) - 4);
        p[i] = (real)rng_uniform(key, 3 * i + 2);
    }
    for (uint64_t i = 0; i < NEIGHBORS; i++) neighbor[i] = (int32_t)rng_below(key, 1000 + i, MOST);
    return 0;
}

static void near_to(double got, double want) { assert_true(got - want < 1e-4 && want - got < 1e-4); }

/* Against plain loops in double. */
static void test_sums(void **state) {
    (void)state;
    const struct pairs *k[3];
    for (size_t t = pair_tables(k); t-- > 0;)
        for (size_t i = 0; i < MOST; i += 13) {
            struct pair_sums want = { 0 }, few = { 0 }, got[3];
            for (size_t j = 0; j < MOST; j++) {
                double dx = (double)x[j] - (double)x[i], dy = (double)y[j] - (double)y[i], q = 1 / (1 + dx * dx + dy * dy);
                want.q += q;
                want.away[0] += q * q * dx, want.away[1] += q * q * dy;
                want.near[0] += (double)p[j] * q * dx, want.near[1] += (double)p[j] * q * dy;
            }
            for (size_t j = 0; j < NEIGHBORS; j++) {
                size_t at = (size_t)neighbor[j];
                double dx = (double)x[at] - (double)x[i], dy = (double)y[at] - (double)y[i], q = 1 / (1 + dx * dx + dy * dy);
                few.near[0] += (double)p[j] * q * dx, few.near[1] += (double)p[j] * q * dy;
            }
            k[t]->repel(x, y, MOST, i, &got[0]);
            k[t]->all(x, y, MOST, i, p, &got[1]);
            k[t]->attract(x, y, neighbor, p, NEIGHBORS, i, &got[2]);
            for (int c = 0; c < 2; c++) {
                for (int way = 0; way < 2; way++) {
                    near_to(got[way].q, want.q);
                    near_to(got[way].away[c], want.away[c]);
                }
                near_to(got[1].near[c], want.near[c]);
                near_to(got[2].near[c], few.near[c]);
            }
        }
}

/* A table returns the same bits whichever compiler built it, so the code decides which products are rounded before they are
 * added. */
static void test_pair_bits(void **state) {
    (void)state;
#if !defined(__x86_64__)
    test_skip("the digests are those of the tables for x86-64");
#endif
    static const char *const digest[] = { "192656ed07e380f3", "ad6849badc2d80a4", "f9a450ea86108298" };
    const struct pairs *k[3];
    for (size_t t = pair_tables(k); t-- > 0;) {
        struct pair_sums sums[3 * MOST] = { 0 };
        for (size_t i = 0; i < MOST; i++) {
            k[t]->repel(x, y, MOST, i, &sums[3 * i]);
            k[t]->all(x, y, MOST, i, p, &sums[3 * i + 1]);
            k[t]->attract(x, y, neighbor, p, NEIGHBORS, i, &sums[3 * i + 2]);
        }
        char hex[65];
        sha256_hex(sums, sizeof sums, hex);
        if (strncmp(hex, digest[t], 16) != 0) fail_msg("table %zu: %s", t, hex);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_pair_bits),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
