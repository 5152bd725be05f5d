#include "tests/engine/run_cases.h"

static const struct tolerance tolerance = { 1e-11, 1e-5, 1e-3, 0 };

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
            free(out);
            trial_release(&x);
        }
    }
}

/* Moves all operands by `step` along the direction of stream 5000 + operand. */
static void move(struct trial *x, double step) {
    for (int i = 0; i < x->s.inputs; i++)
        for (size_t j = 0; x->in[i] && j < x->size[i]; j++)
            x->in_real[i][j] = (real)(x->in[i][j] + step * test_number(5000 + (uint64_t)i, j));
}

/* ⟨cotangent, op(in)⟩ */
static double op_loss(struct trial *x) {
    const real *v = tape_value(x->tape, trial_run(x, 0));
    double sum = 0;
    for (size_t j = 0; j < x->out_size; j++) sum += x->cotangent[j] * (double)v[j];
    return sum;
}

/* ⟨J u, v⟩ = ⟨u, Jᵀ v⟩ with J u by central differences of the op itself. */
static void test_dot(void **state) {
    (void)state;
    const double eps = 1e-6;
    for (size_t i = 0; i < COUNT_OF(op_cases); i++) {
        struct trial x;
        for (int variant = 0; trial_init(&x, &op_cases[i], variant); variant++) {
            trial_backward(&x, trial_run(&x, ~0u));
            double back = 0, size = 1;
            for (int k = 0; k < x.s.inputs; k++)
                for (size_t j = 0; x.in[k] && j < x.size[k]; j++) {
                    double term = (double)x.grad[k][j] * test_number(5000 + (uint64_t)k, j);
                    back += term;
                    size += fabs(term);
                }
            move(&x, eps);
            double up = op_loss(&x);
            move(&x, -eps);
            double there = (up - op_loss(&x)) / (2 * eps);
            if (!(fabs(there - back) <= 1e-6 * size))
                FAIL_AT(&x, "<Ju,v> is %.12g, <u,J'v> is %.12g", there, back);
            trial_release(&x);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_dot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
