/* Effects against statsmodels' OLS on 200 tables: balanced, unbalanced, aliased, some with a line
 * (tests/reference/make_effects.py draws the same ones). */
#include "core/analysis/axis_effects.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

enum { ROWS = 256, FACTORS = 4 };

struct drawn {
    uint64_t state;
    int factors, levels[FACTORS], level[FACTORS][ROWS];
    double x[ROWS], y[ROWS];
    size_t rows;
};

static int number(struct drawn *d, uint64_t n) {
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((d->state >> 33) % n);
}
static double share(struct drawn *d) { return number(d, 1u << 31) / 2147483648.0; }

static void fill_grid(struct drawn *d, int count) {
    size_t cells = 1;
    for (int f = 0; f < count; f++) cells *= (size_t)d->levels[f];
    d->rows = 2 * cells;
    for (size_t i = 0; i < d->rows; i++) {
        size_t rest = i % cells;
        for (int f = count - 1; f >= 0; f--) {
            d->level[f][i] = (int)(rest % (size_t)d->levels[f]);
            rest /= (size_t)d->levels[f];
        }
    }
}

static void draw(struct drawn *d, int t) {
    memset(d, 0, sizeof *d);
    d->state = (uint64_t)t + 1;
    int count = 1 + number(d, 3);
    for (int f = 0; f < count; f++) d->levels[f] = 2 + number(d, 3);
    if (t % 3 == 0) {
        fill_grid(d, count);
    } else {
        d->rows = 12 + (size_t)number(d, 30);
        for (int f = 0; f < count; f++)
            for (size_t i = 0; i < d->rows; i++) d->level[f][i] = number(d, (uint64_t)d->levels[f]);
        for (size_t i = 0; t % 3 == 2 && count > 1 && i < d->rows; i++) d->level[1][i] = d->level[0][i] % d->levels[1];
    }
    d->factors = count;
    if (t % 5 == 4) {
        for (size_t i = 0; i < d->rows; i++) d->x[i] = share(d);
        d->factors++;
    }
    for (size_t i = 0; i < d->rows; i++) d->y[i] = share(d);
}

static void fit(const struct drawn *d, struct axis_effects *out) {
    static const char *const name[] = { "a", "b", "c", "d" };
    struct effects_factor f[FACTORS];
    struct err e = ERR_INIT;
    for (int i = 0; i < d->factors; i++) f[i] = (struct effects_factor){ name[i], d->levels[i], d->level[i], d->x };
    const struct effects_model m = { .rows = d->rows, .y = d->y, .factors = d->factors, .factor = f };
    test_ok(axis_effects_fit(&m, out, &e), &e);
}

static void near(double have, double want, int t) {
    if (!(fabs(have - want) <= 1e-9 * (fabs(want) + 1e-3))) fail_msg("table %d: %.15g, wanted %.15g", t, have, want);
}

static void effects_are_statsmodels(void **state) {
    (void)state;
    char *path = test_path("tests/reference/effects.txt"), line[256];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    struct drawn *d = xmalloc(sizeof *d);
    struct axis_effects now = { 0 };
    size_t at = 0, open = 0;
    int drawn = -1;
    while (fgets(line, sizeof line, file)) {
        int t, factor, other, level, level2, from;
        double value, low, high;
        assert_int_equal(sscanf(line, "%d %d %d %d %d %n", &t, &factor, &other, &level, &level2, &from), 5);
        if (t != drawn) {
            if (drawn >= 0) assert_int_equal(at, now.count);
            axis_effects_release(&now);
            draw(d, drawn = t);
            fit(d, &now);
            at = 0;
        }
        const struct axis_effect *have = &now.effect[at++];
        assert_true(have->factor == factor && have->other == other && have->level == level && have->level2 == level2);
        if (!strncmp(line + from, "open", 4)) {
            assert_true(have->open && isnan(have->value));
            open++;
            continue;
        }
        assert_int_equal(sscanf(line + from, "%lf %lf %lf", &value, &low, &high), 3);
        assert_false(have->open);
        near(have->value, value, t);
        near(have->low, low, t);
        near(have->high, high, t);
    }
    assert_int_equal(drawn, 199);
    assert_true(open > 300);
    axis_effects_release(&now);
    free(d);
    fclose(file);
    free(path);
}

/* Two axes that were always changed together are named with each other, a third is not. */
static void what_is_aliased_is_named(void **state) {
    (void)state;
    const int a[] = { 0, 0, 1, 1, 0, 1 }, c[] = { 0, 1, 0, 1, 1, 0 };
    const double y[] = { 1, 2, 3, 4, 5, 7 };
    const struct effects_factor f[] = { { "fn", 2, a, NULL }, { "lr", 2, a, NULL }, { "r", 2, c, NULL } };
    struct axis_effects out;
    struct err e = ERR_INIT;
    test_ok(axis_effects_fit(&(struct effects_model){ .rows = 6, .y = y, .factors = 3, .factor = f }, &out, &e), &e);
    assert_string_equal(out.alias[0], "lr");
    assert_string_equal(out.alias[1], "fn");
    assert_null(out.alias[2]);
    assert_true(out.effect[0].open && out.effect[2].open && !out.effect[4].open);
    axis_effects_release(&out);
    /* without a degree of freedom there is a value and no interval */
    test_ok(axis_effects_fit(&(struct effects_model){ .rows = 2, .y = y, .factors = 1, .factor = &f[2] }, &out, &e), &e);
    near(out.effect[0].value, 1, 0);
    assert_true(isnan(out.effect[0].low));
    axis_effects_release(&out);
    assert_int_equal(axis_effects_fit(&(struct effects_model){ .rows = 1, .y = y }, &out, &e), ERR_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(effects_are_statsmodels), cmocka_unit_test(what_is_aliased_is_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
