/* Which tokens may be drawn, and how often they are. */
#include "core/model/generate_sample.h"

#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/model/generate_search.h"
#include "tests/support/test.h"

enum { TOKENS = 8 };
static const real logits[TOKENS] = { 2, (real)1.5, 1, (real)0.5, 0, (real)-0.5, -1, -2 };
static const struct token_sampling all = { .on = true, .temperature = 1, .top_p = 1 };

static void holds(const struct sampled *s, int n, const double *p) {
    assert_int_equal(s->count, n);
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < n && s->at[at].id != i) at++;
        if (at == n) fail_msg("token %d is missing", i);
        if (!(fabs(s->at[at].p - p[i]) < 1e-6)) fail_msg("token %d has %.7f, not %.7f", i, s->at[at].p, p[i]);
    }
}

/* Values of transformers for the same logits, context and settings. */
static void follows_transformers(void **state) {
    (void)state;
    static const int32_t context[] = { 1, 5, 5 };
    static const double want[] = { 0.650107, 0.194095, 0.155799 };
    struct token_sampling how = { .on = true, .temperature = 0.7, .top_k = 5, .top_p = 0.9, .min_p = 0.2 };
    struct sampled s = { 0 };
    real copy[TOKENS];
    memcpy(copy, logits, sizeof copy);
    sample_penalize(1.3, logits, 0, context, COUNT_OF(context), copy);
    assert_true(fabs((double)copy[1] - 1.15385) < 1e-5 && fabs((double)copy[5] + 0.65) < 1e-6);
    sample_tokens(&how, copy, TOKENS, NULL, 0, &s);
    holds(&s, COUNT_OF(want), want);
    sampled_release(&s);
}

/* The rules by their definitions, on random logits with ties. */
static void follows_the_definitions(void **state) {
    (void)state;
    enum { MANY = 300 };
    struct sampled s = { 0 };
    for (uint64_t round = 0; round < 200; round++) {
        struct rng_key key = rng_key(round, RNG_TEST, 0, 0);
        real x[MANY];
        bool in[MANY];
        double p[MANY], sum = 0, best = 0;
        for (uint64_t i = 0; i < MANY; i++) x[i] = (real)(floor(8 * rng_normal(key, i)) / 4);
        struct token_sampling how = all;
        how.temperature = 0.5 + rng_uniform(key, 1000);
        how.top_k = round % 3 ? (int)rng_below(key, 1001, MANY) + 1 : 0;
        how.top_p = round % 4 ? 0.3 + 0.7 * rng_uniform(key, 1002) : 1;
        for (int i = 0; i < MANY; i++) {
            int larger = 0;
            for (int j = 0; j < MANY; j++) larger += x[j] > x[i];
            in[i] = !how.top_k || larger < how.top_k;
            p[i] = in[i] ? exp((double)x[i] / how.temperature) : 0;
            sum += p[i];
        }
        for (int i = 0; i < MANY; i++) { /* the probability of those that are less probable, itself included */
            double below = 0;
            for (int j = 0; j < MANY; j++)
                if (p[j] < p[i] || (p[j] == p[i] && j >= i)) below += p[j] / sum;
            if (in[i] && how.top_p < 1 && below <= 1 - how.top_p - 1e-9) in[i] = false;
            if (p[i] > best) best = p[i];
        }
        sample_tokens(&how, x, MANY, NULL, 0, &s);
        int n = 0;
        double total = 0;
        for (int i = 0; i < MANY; i++) n += in[i];
        for (int i = 0; i < s.count; i++) {
            if (!in[s.at[i].id]) fail_msg("round %d: token %d may not be drawn", (int)round, s.at[i].id);
            total += s.at[i].p;
        }
        assert_int_equal(s.count, n);
        assert_true(fabs(total - 1) < 1e-12);
    }
    sampled_release(&s);
}

static void refuses_and_excludes(void **state) {
    (void)state;
    static const int32_t banned[] = { 0, 2 };
    struct sampled s = { 0 };
    real bad[TOKENS];
    struct token_sampling how = all;
    how.top_k = 2;
    sample_tokens(&how, logits, TOKENS, banned, 2, &s);
    assert_int_equal(s.count, 2);
    assert_true(s.at[0].id == 1 && s.at[1].id == 3);
    how = all, how.top_p = 0;
    sample_tokens(&how, logits, TOKENS, NULL, 0, &s);
    assert_true(s.count == 1 && s.at[0].id == 0);
    for (int i = 0; i < TOKENS; i++) bad[i] = (real)NAN;
    sample_tokens(&all, bad, TOKENS, NULL, 0, &s);
    assert_int_equal(sample_at(&s, 0.5), -1);
    sampled_release(&s);
}

/* Frequencies of drawn tokens; a token depends on the seed, the source and its position alone. */
static void draws_by_probability(void **state) {
    (void)state;
    enum { DRAWS = 20000 };
    struct generate_options o = { .beams = 1, .max_new = DRAWS, .repetition = 1, .sampling = all, .start = 0,
                                  .forced_first = -1, .forced_last = -1 };
    struct sampled s = { 0 };
    struct search a, b;
    int parent[1], seen[TOKENS] = { 0 }, differ = 0;
    sample_tokens(&all, logits, TOKENS, NULL, 0, &s);
    search_init(&a, &o, TOKENS, &o.start, 1, 3);
    search_init(&b, &o, TOKENS, &o.start, 1, 4);
    for (int i = 0; i < DRAWS; i++) {
        assert_true(search_step(&a, logits, parent) && search_step(&b, logits, parent));
        seen[a.ids[i]]++;
        differ += a.ids[i] != b.ids[i];
    }
    for (int i = 0; i < TOKENS; i++) {
        double p = s.at[i].p, spread = sqrt(p * (1 - p) * DRAWS);
        assert_true(fabs(seen[s.at[i].id] - p * DRAWS) < 4 * spread);
    }
    assert_true(differ > DRAWS / 2);
    search_release(&a);
    search_release(&b);
    search_init(&a, &o, TOKENS, &o.start, 1, 3);
    for (int i = 0; i < 50; i++) assert_true(search_step(&a, logits, parent));
    search_init(&b, &o, TOKENS, &o.start, 1, 3);
    for (int i = 0; i < 50; i++) assert_true(search_step(&b, logits, parent));
    assert_memory_equal(a.ids, b.ids, 50 * sizeof *a.ids);
    search_release(&a);
    search_release(&b);
    sampled_release(&s);
}

/* Greedy and beam search follow the penalty: the best token is not taken again. */
static void penalizes_repetition(void **state) {
    (void)state;
    static const int32_t prompt[] = { 6, 0 };
    for (int beams = 1; beams <= 2; beams++) {
        struct generate_options o = { .beams = beams, .max_new = 3, .repetition = 1.4, .length_penalty = 1,
                                      .forced_first = -1, .forced_last = -1 };
        struct search s;
        int parent[2], n;
        double score;
        search_init(&s, &o, TOKENS, prompt, 2, 0);
        real two[2 * TOKENS];
        memcpy(two, logits, sizeof logits);
        memcpy(two + TOKENS, logits, sizeof logits);
        while (s.rows) assert_true(search_step(&s, two, parent));
        const int32_t *ids = search_best(&s, &n, &score);
        assert_int_equal(n, 3);
        assert_int_equal(ids[0], beams == 1 ? 1 : 0);
        search_release(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_transformers), cmocka_unit_test(follows_the_definitions),
        cmocka_unit_test(refuses_and_excludes), cmocka_unit_test(draws_by_probability),
        cmocka_unit_test(penalizes_repetition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
