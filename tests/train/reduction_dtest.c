/* The label-smoothed loss of a decoder under each of its means, against PyTorch
 * (tests/reference/make_families.py, "smooth.…"). */
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/train/config/target.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/tuned.h"

static const struct reduction {
    enum loss_mean mean;
    const char *expected;
} reductions[] = {
    { MEAN_TOKENS, "smooth.tokens" },
    { MEAN_EXAMPLES, "smooth.rows" },
    { MEAN_SUM, "smooth.sum" },
    { MEAN_POSITIONS, "smooth.positions" },
};

static struct target_count count(const struct batch *b) {
    struct target_count c = { (size_t)b->examples, (size_t)b->target_tokens, 0 };
    for (int i = 0; i < b->examples; i++) {
        size_t n = (size_t)(b->target_start[i + 1] - b->target_start[i]);
        if (n > c.longest) c.longest = n;
    }
    return c;
}

static void check(const char *name) {
    struct fixture x;
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    char *folder = xprintf("tests/reference/families/%s", name);
    char *expected = xprintf("%s/expected.safetensors", folder);
    fixture_open(&x, folder, expected);
    const struct target_count of = count(&x.batch);
    for (size_t k = 0; k < COUNT_OF(reductions); k++) {
        struct forward f;
        for (int i = 0; i < x.batch.examples; i++) {
            int begin = x.batch.target_start[i], end = x.batch.target_start[i + 1];
            for (int j = begin; j < end; j++)
                x.batch.target_weight[j] =
                    (real)target_weight(reductions[k].mean, &of, (size_t)(end - begin));
        }
        tape_reset(t, false, 1, 0);
        forward_init(&f, t, x.model, &x.batch, NULL);
        f.dropout = f.attention_dropout = f.activation_dropout = 0;
        struct passed p = pass(&f, NULL, 0.1);
        fixture_compare(&x, reductions[k].expected, tape_value(t, p.loss), 1, 1e-9);
    }
    free(folder);
    free(expected);
    tape_free(t);
    arena_free(arena);
    fixture_close(&x);
}

static void test_reductions(void **state) {
    (void)state;
    check("t5-tiny");
    check("t5-odd");
    check("bart-odd");
    check("mbart-tiny");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_reductions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
