/* Runs an op's case: forward against plain loops, gradients against central
 * differences of the plain loops, each operand trained alone and all together. */
#ifndef TESTS_ENGINE_RUN_CASES_H
#define TESTS_ENGINE_RUN_CASES_H

#include "core/engine/packed.h"
#include "tests/engine/attention_cases.h"
#include "tests/support/test.h"

/* Tolerances of a build. */
struct tolerance {
    double value;                   /* × (1 + |expected|) */
    double gradient, gradient_part; /* absolute (× the largest of the operand, at least 1), relative */
    double value_of_largest;        /* × the largest of the result */
};

struct trial {
    const struct op_case *c;
    struct setup s;
    int variant;
    size_t size[INPUTS], out_size;
    double *in[INPUTS]; /* NULL where left out */
    real *in_real[INPUTS], *grad[INPUTS];
    double *cotangent;
    real *cotangent_real;
    struct arena *arena;
    struct tape *tape;
    int weight;            /* the operand that is packed in bfloat16 */
    struct packed *packed; /* NULL: none */
    bool thin;
};

static double test_number(uint64_t stream, uint64_t i) {
    return rng_normal(rng_key(11, RNG_TEST, stream, 0), i) * 0.8;
}

static bool trial_init(struct trial *x, const struct op_case *c, int variant) {
    memset(x, 0, sizeof *x);
    x->c = c;
    x->variant = variant;
    if (!c->make(variant, &x->s)) return false;
    for (int i = 0; i < x->s.inputs; i++) {
        if (x->s.rows[i] < 0) continue;
        x->size[i] = (size_t)(x->s.rows[i] * x->s.cols[i]);
        x->in[i] = xcalloc(x->size[i] + 1, sizeof(double));
        x->in_real[i] = xcalloc(x->size[i] + 1, sizeof(real));
        x->grad[i] = xcalloc(x->size[i] + 1, sizeof(real));
        for (size_t j = 0; j < x->size[i]; j++) {
            x->in_real[i][j] = (real)test_number((uint64_t)(100 * variant + i), j);
            x->in[i][j] = (double)x->in_real[i][j];
        }
    }
    x->out_size = (size_t)(x->s.out_rows * x->s.out_cols);
    x->cotangent = xcalloc(x->out_size + 1, sizeof(double));
    x->cotangent_real = xcalloc(x->out_size + 1, sizeof(real));
    for (size_t j = 0; j < x->out_size; j++) {
        x->cotangent_real[j] = (real)test_number(9000 + (uint64_t)variant, j);
        x->cotangent[j] = (double)x->cotangent_real[j];
    }
    x->arena = arena_new();
    x->tape = tape_new(x->arena);
    return true;
}

static void trial_release(struct trial *x) {
    for (int i = 0; i < x->s.inputs; i++) {
        free(x->in[i]);
        free(x->in_real[i]);
        free(x->grad[i]);
    }
    free(x->cotangent);
    free(x->cotangent_real);
    packed_free(x->packed);
    tape_free(x->tape);
    arena_free(x->arena);
}

/* Runs the op with the operands of the mask trained. */
static node trial_run(struct trial *x, unsigned mask) {
    node in[INPUTS] = { 0 };
    tape_reset(x->tape, true, CASE_SEED, CASE_STEP);
    if (x->thin) tape_thin(x->tape);
    tape_site(x->tape, "%s %d", x->c->name, x->variant);
    for (int i = 0; i < x->s.inputs; i++) {
        if (!x->in[i]) continue;
        int rows = x->s.rows[i], cols = x->s.cols[i];
        for (size_t j = 0; j < x->size[i]; j++) x->grad[i][j] = (real)NAN;
        in[i] = mask >> i & 1 ? tape_trained(x->tape, rows, cols, x->in_real[i], x->grad[i])
                              : tape_frozen(x->tape, rows, cols, x->in_real[i]);
        if (x->packed && i == x->weight) tape_pack(x->tape, in[i], x->packed);
    }
    node y = x->c->run(x->tape, &x->s, in);
    assert_int_equal(tape_rows_of(x->tape, y), x->s.out_rows);
    assert_int_equal(tape_cols_of(x->tape, y), x->s.out_cols);
    return y;
}

static void trial_backward(struct trial *x, node y) {
    const real *seed = x->cotangent_real;
    tape_backward(x->tape, 1, &y, &seed);
}

#define FAIL_AT(x, ...)                                                                            \
    do {                                                                                           \
        print_error("%s, variant %d: ", (x)->c->name, (x)->variant);                               \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

/* ⟨cotangent, expected(in)⟩ */
static double expected_loss(struct trial *x, double *out) {
    x->c->expect(&x->s, (const double *const *)x->in, out);
    double sum = 0;
    for (size_t j = 0; j < x->out_size; j++) sum += x->cotangent[j] * out[j];
    return sum;
}

static void check_value(struct trial *x, const struct tolerance *tol, double *out) {
    node y = trial_run(x, 0);
    const real *v = tape_value(x->tape, y);
    expected_loss(x, out);
    double largest = 0;
    for (size_t j = 0; j < x->out_size; j++) largest = fmax(largest, fabs(out[j]));
    for (size_t j = 0; j < x->out_size; j++)
        if (!(fabs((double)v[j] - out[j]) <=
              tol->value * (1 + fabs(out[j])) + tol->value_of_largest * largest))
            FAIL_AT(x, "element %zu is %.17g, not %.17g", j, (double)v[j], out[j]);
    if (tape_needs_grad(x->tape, y)) FAIL_AT(x, "needs a gradient with all operands frozen");
}

static void check_gradients(struct trial *x, const struct tolerance *tol, double *out) {
    enum { MOST = 48 }; /* elements tried of one operand */
    const double eps = 1e-6;
    trial_backward(x, trial_run(x, ~0u));
    for (int i = 0; i < x->s.inputs; i++) {
        if (!x->in[i]) continue;
        size_t stride = x->size[i] / MOST + 1;
        double largest = 1;
        for (size_t j = 0; j < x->size[i]; j++)
            if (fabs((double)x->grad[i][j]) > largest) largest = fabs((double)x->grad[i][j]);
        for (size_t j = 0; j < x->size[i]; j += stride) {
            double at = x->in[i][j];
            x->in[i][j] = at + eps;
            double up = expected_loss(x, out);
            x->in[i][j] = at - eps;
            double slope = (up - expected_loss(x, out)) / (2 * eps);
            x->in[i][j] = at;
            double got = (double)x->grad[i][j];
            if (!(fabs(got - slope) <= tol->gradient * largest + tol->gradient_part * fabs(slope)))
                FAIL_AT(x, "operand %d, element %zu: gradient %.12g, not %.12g", i, j, got, slope);
        }
    }
}

/* A gradient must not depend on which others are asked for. */
static void check_masks(struct trial *x) {
    real *all[INPUTS] = { 0 };
    trial_backward(x, trial_run(x, ~0u));
    for (int i = 0; i < x->s.inputs; i++) {
        if (!x->in[i]) continue;
        all[i] = xcalloc(x->size[i] + 1, sizeof(real));
        memcpy(all[i], x->grad[i], x->size[i] * sizeof(real));
    }
    for (int i = 0; i < x->s.inputs; i++) {
        if (!x->in[i]) continue;
        trial_backward(x, trial_run(x, 1u << i));
        for (size_t j = 0; j < x->size[i]; j++)
            if (memcmp(&x->grad[i][j], &all[i][j], sizeof(real)))
                FAIL_AT(x, "operand %d alone, element %zu: %.17g, with the others %.17g", i, j,
                        (double)x->grad[i][j], (double)all[i][j]);
    }
    for (int i = 0; i < x->s.inputs; i++) free(all[i]);
}

/* The operands made by ops, and dead after the op: what its backward does not read is
 * overwritten with NaN before it runs, and the gradients must be the same. */
static void check_recycled(struct trial *x, unsigned mask) {
    real *direct[INPUTS] = { 0 };
    static real nan[1 << 14];
    for (size_t j = 0; j < COUNT_OF(nan); j++) nan[j] = (real)NAN;
    trial_backward(x, trial_run(x, mask));
    for (int i = 0; i < x->s.inputs; i++) {
        direct[i] = xcalloc(x->size[i] + 1, sizeof(real));
        if (x->in[i]) memcpy(direct[i], x->grad[i], x->size[i] * sizeof(real));
    }
    node in[INPUTS] = { 0 };
    tape_reset(x->tape, true, CASE_SEED, CASE_STEP);
    struct tape_mark m = tape_mark(x->tape);
    for (int i = 0; i < x->s.inputs; i++) {
        if (!x->in[i]) continue;
        int rows = x->s.rows[i], cols = x->s.cols[i];
        in[i] = mask >> i & 1 ? tape_trained(x->tape, rows, cols, x->in_real[i], x->grad[i])
                              : tape_frozen(x->tape, rows, cols, x->in_real[i]);
        in[i] = op_scale(x->tape, in[i], 1);
    }
    node y = x->c->run(x->tape, &x->s, in);
    tape_recycle(x->tape, m, &y);
    for (int times = 0; times < 2; times++)
        for (int i = 0; i < x->s.inputs; i++)
            if (x->in[i] && x->size[i] <= COUNT_OF(nan))
                op_scale(x->tape, tape_frozen(x->tape, x->s.rows[i], x->s.cols[i], nan), 1);
    trial_backward(x, y);
    for (int i = 0; i < x->s.inputs; i++) {
        for (size_t j = 0; (mask >> i & 1) && x->in[i] && j < x->size[i]; j++)
            if (memcmp(&x->grad[i][j], &direct[i][j], sizeof(real)))
                FAIL_AT(x, "operands %x, gradient of %d, element %zu: %.17g when recycled, not %.17g",
                        mask, i, j, (double)x->grad[i][j], (double)direct[i][j]);
        free(direct[i]);
    }
}

static void check_all_recycled(struct trial *x) {
    check_recycled(x, ~0u);
    for (int i = 0; i < x->s.inputs; i++)
        if (x->in[i]) check_recycled(x, 1u << i);
}

static void check_table(void) {
    for (int op = 0; op < OP_COUNT; op++) {
        int cases = 0;
        struct setup s;
        for (size_t i = 0; i < COUNT_OF(op_cases); i++) {
            memset(&s, 0, sizeof s);
            if (op_cases[i].op == (enum op_id)op && op_cases[i].make(0, &s)) cases++;
        }
        if (!op_table[op].name || !op_table[op].forward || !op_table[op].backward)
            fail_msg("op %d lacks a name, forward or backward", op);
        if (!cases) fail_msg("op %s has no case", op_table[op].name);
    }
}

#endif
