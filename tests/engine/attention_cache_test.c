/* Attention over keys in a cache yields the result for the same keys packed. */
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/ops.h"
#include "tests/support/test.h"

enum { SEQUENCES = 3, HEADS = 2, D = 6, CACHE = 40, PREFIX = 2, BUCKETS = 4 };

static void fill(real *x, size_t n, uint64_t site) {
    for (size_t i = 0; i < n; i++) x[i] = (real)rng_normal(rng_key(2, RNG_TEST, 0, site), i);
}

static void test_cache(void **state) {
    (void)state;
    static real q[4 * D], k[15 * D], v[15 * D], kc[CACHE * D], vc[CACHE * D], pk[PREFIX * D],
        pv[PREFIX * D], bias[BUCKETS * HEADS], packed[4 * D];
    const int q_start[] = { 0, 1, 3, 4 }, k_start[] = { 0, 7, 8, 15 };
    const int at[] = { 20, 39, 2 }, length[] = { 7, 1, 7 };
    const int32_t bucket[2 * 4 + 1] = { 3, 2, 1, 0, 1, 2, 3, 2, 1 }; /* of distances */
    fill(q, COUNT_OF(q), 1), fill(k, COUNT_OF(k), 2), fill(v, COUNT_OF(v), 3);
    fill(pk, COUNT_OF(pk), 4), fill(pv, COUNT_OF(pv), 5), fill(bias, COUNT_OF(bias), 6);
    for (size_t i = 0; i < COUNT_OF(kc); i++) kc[i] = vc[i] = (real)1e30; /* must not be read */
    for (int i = 0; i < SEQUENCES; i++) {
        size_t bytes = (size_t)length[i] * D * sizeof(real);
        memcpy(kc + at[i] * D, k + k_start[i] * D, bytes);
        memcpy(vc + at[i] * D, v + k_start[i] * D, bytes);
    }
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    struct tape_rows queries = { .count = SEQUENCES, .start = q_start };
    for (int cached = 0; cached < 2; cached++) {
        struct tape_rows keys = { .count = SEQUENCES, .start = cached ? at : k_start };
        tape_reset(t, false, 0, 0);
        struct kv_set set = { .key = tape_frozen(t, PREFIX, D, pk), .value = tape_frozen(t, PREFIX, D, pv),
                              .join = KV_CONCAT, .s = 1 };
        struct attention a = { .heads = HEADS, .score_scale = 0.5, .query_rows = &queries,
                               .key_rows = &keys, .key_length = cached ? length : NULL,
                               .relative_bias = tape_frozen(t, BUCKETS, HEADS, bias),
                               .bucket = bucket, .reach = 4, .sets = 1, .set = &set };
        int rows = cached ? CACHE : 15;
        node out = op_attention(t, tape_frozen(t, 4, D, q), tape_frozen(t, rows, D, cached ? kc : k),
                                tape_frozen(t, rows, D, cached ? vc : v), &a);
        if (!cached) memcpy(packed, tape_value(t, out), sizeof packed);
        for (size_t i = 0; cached && i < COUNT_OF(packed); i++)
            assert_true(fabs((double)packed[i] - (double)tape_value(t, out)[i]) < 1e-6);
    }
    tape_free(t);
    arena_free(arena);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cache) };
    if (argc) blas_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
