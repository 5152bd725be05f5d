#include "core/engine/blas.h"
#include "tests/engine/run_cases.h"

/* The float build compared with plain loops in double. */
static const struct tolerance tolerance = { 4e-6, 2e-5, 1e-4, 0 };
/* Products of operands rounded to 8 bits: each has an error of at most 2^-8, their sums here, and what follows
 * from them through activations, of at most eight times as much. */
static const struct tolerance bf16_tolerance = { 0x1p-5, 0x1p-5, 0x1p-5, 0x1p-6 };

static void test_table(void **state) {
    (void)state;
    check_table();
}

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(op_cases); i++) {
        struct trial x;
        for (int variant = 0; trial_init(&x, &op_cases[i], variant); variant++) {
            double *out = xcalloc(x.out_size + 1, sizeof *out);
            check_value(&x, &tolerance, out);
            check_gradients(&x, &tolerance, out);
            check_masks(&x);
            check_all_recycled(&x);
            x.thin = true;
            check_value(&x, &tolerance, out);
            check_gradients(&x, &tolerance, out);
            check_masks(&x);
            free(out);
            trial_release(&x);
        }
    }
}

/* Packs the operand of an op that is a weight of products; false for other ops. */
static bool trial_pack(struct trial *x) {
    size_t failed;
    switch (x->c->op) {
    case OP_linear: case OP_matmul: case OP_head_linear: case OP_vocabulary_loss: x->weight = 1; break;
    case OP_linear_add: x->weight = 2; break;
    default: return false;
    }
    x->packed = packed_trained_new(x->s.rows[x->weight], x->s.cols[x->weight], &failed);
    packed_fill(x->packed, x->in_real[x->weight]);
    return true;
}

static void test_cases_in_bfloat16(void **state) {
    (void)state;
    int cases = 0;
    for (size_t i = 0; i < COUNT_OF(op_cases); i++) {
        struct trial x;
        for (int variant = 0; trial_init(&x, &op_cases[i], variant); variant++) {
            double *out = xcalloc(x.out_size + 1, sizeof *out);
            if (trial_pack(&x)) {
                check_value(&x, &bf16_tolerance, out);
                check_gradients(&x, &bf16_tolerance, out);
                check_masks(&x);
                cases++;
            }
            free(out);
            trial_release(&x);
        }
    }
    assert_true(cases > 40);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_cases_in_bfloat16),
    };
    blas_start(argv);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    return rc || argc > 1 ? rc : test_rounded();
}
