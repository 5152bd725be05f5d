/* Which runs are evidence of their own, and which of those that repeat one another counts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/config/config.h"
#include "core/train/config/evidence.h"
#include "tests/support/test.h"

static char *key_of(const char *config, int64_t parent, enum evidence_of of) {
    struct err e = ERR_INIT;
    char key[65];
    test_ok(evidence_key(config, parent, of, key, &e), &e);
    return xstrdup(key);
}

/* Whether two descriptions are evidence of the same. */
static void keys(bool same, const char *a, const char *b, int64_t parent_a, int64_t parent_b, enum evidence_of of) {
    char *x = key_of(a, parent_a, of), *y = key_of(b, parent_b, of);
    if (!strcmp(x, y) != same) fail_msg("%s\n%s", a, b);
    free(x), free(y);
}

static void a_key_is_of_what_is_computed(void **state) {
    (void)state;
#define DATA "\"train_sha256\":\"a\",\"dev_sha256\":\"b\""
#define ONE "{\"seed\":1," DATA "}"
    keys(true, ONE, "{\"seed\":1," DATA ",\"train_file\":\"elsewhere.tsv\"}", 0, 7, EVIDENCE_RUN);
    keys(false, ONE, "{\"seed\":2," DATA "}", 0, 0, EVIDENCE_RUN);
    keys(true, ONE, "{\"seed\":2," DATA "}", 0, 0, EVIDENCE_ANY_SEED);
    keys(false, ONE, "{\"seed\":1,\"train_sha256\":\"c\",\"dev_sha256\":\"b\"}", 0, 0, EVIDENCE_RUN);
    keys(false, ONE, "{\"seed\":1,\"train_sha256\":\"a\",\"dev_sha256\":\"c\"}", 0, 0, EVIDENCE_RUN);
    keys(false, ONE, "{\"seed\":1," DATA ",\"lr\":0.5}", 0, 0, EVIDENCE_ANY_SEED);
    /* other runs' parameters count by their weights, whatever number the run has */
#define FROM(run, weights) "{\"seed\":1," DATA ",\"start\":{\"run\":" run ",\"method\":\"lora\",\"weights_sha256\":" weights "}}"
    keys(false, ONE, FROM("3", "\"x\""), 0, 0, EVIDENCE_RUN);
    keys(true, FROM("3", "\"x\""), FROM("4", "\"x\""), 3, 4, EVIDENCE_RUN);
    keys(false, FROM("3", "\"x\""), FROM("3", "\"y\""), 3, 3, EVIDENCE_RUN);
    keys(false, FROM("3", "null"), FROM("4", "null"), 3, 4, EVIDENCE_RUN);
#define FEW(draws, with) "{\"seed\":1," DATA ",\"fewshot\":{\"draws\":" draws with "}}"
    keys(true, FEW("5", ",\"with\":3"), FEW("5", ""), 2, 2, EVIDENCE_RUN);
    keys(false, FEW("5", ""), FEW("6", ""), 2, 2, EVIDENCE_ANY_SEED);
    keys(false, FEW("5", ""), FEW("5", ""), 2, 3, EVIDENCE_RUN);
    struct err e = ERR_INIT;
    char key[65] = "x";
    assert_true(evidence_key("no description", 0, EVIDENCE_RUN, key, &e) != 0);
    assert_string_equal(key, "");
}

/* In any order the first of equal runs counts, and the newest of those that differ. */
static void one_of_each_key_counts(void **state) {
    (void)state;
    static const struct evidence given[] = {
        { .key = "a", .weights = "1", .run = 1, .ended = 10 }, { .key = "b", .weights = "1", .run = 2, .ended = 20 },
        { .key = "a", .weights = "1", .run = 3, .ended = 30 }, { .key = "a", .run = 4, .ended = 40 },
        { .key = "c", .weights = "1", .run = 5, .ended = 60 }, { .key = "c", .weights = "2", .run = 6, .ended = 50 },
        { .key = NULL, .run = 7 }, { .key = "", .run = 8 }, { .key = NULL, .run = 9 },
    };
    static const int64_t counted[] = { 1, 2, 1, 1, 5, 5, 7, 8, 9 };
    enum { RUNS = sizeof given / sizeof *given };
    for (int turn = 0; turn < RUNS; turn++) {
        struct evidence of[RUNS];
        for (int i = 0; i < RUNS; i++) of[i] = given[(i * 5 + turn) % RUNS];
        evidence_settle(of, RUNS);
        for (int i = 0; i < RUNS; i++) {
            assert_int_equal(of[i].counted, counted[of[i].run - 1]);
            assert_int_equal(of[i].differs, of[i].run == 5 || of[i].run == 6);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_of_what_is_computed),
        cmocka_unit_test(one_of_each_key_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
