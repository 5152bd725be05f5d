#include "core/train/config/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "tests/support/test.h"

static void set(struct sweep_spec *s, const char *option, const char *text) {
    struct err e = ERR_INIT;
    test_ok(sweep_set(s, option, text, &e), &e);
}

/* The cells' texts of all options, a line each. */
static char *cells_of(const struct sweep_spec *s) {
    struct sweep_cells c;
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;
    test_ok(sweep_expand(s, &c, &e), &e);
    for (int i = 0; i < c.count; i++) {
        for (int k = 0; k < c.options; k++) buf_printf(&b, "%s%s", k ? " " : "", c.cell[i].text[k]);
        for (int k = 0; k < c.axes; k++) buf_printf(&b, "|%s", c.cell[i].value[k] ? c.cell[i].value[k] : "-");
        buf_putc(&b, '\n');
    }
    sweep_cells_release(&c);
    return buf_take(&b);
}

static void expect_cells(const char *option, const char *text, const char *wanted) {
    struct sweep_spec s;
    sweep_init(&s);
    set(&s, option, text);
    char *have = cells_of(&s);
    assert_string_equal(have, wanted);
    free(have);
    sweep_release(&s);
}

static void lists_cross(void **state) {
    (void)state;
    struct sweep_spec s;
    sweep_init(&s);
    set(&s, "method", "lora(r={2,4})");
    set(&s, "lr", "{1e-3,3e-3}");
    set(&s, "seeds", "3,1");
    assert_int_equal(s.seeds, 2);
    assert_string_equal(s.axis[0].key, "r");
    assert_string_equal(s.axis[1].key, "lr");
    char *have = cells_of(&s);
    assert_string_equal(have,
                        "lora(r=2) 1e-3|2|1e-3\nlora(r=2) 3e-3|2|3e-3\nlora(r=4) 1e-3|4|1e-3\nlora(r=4) 3e-3|4|3e-3\n");
    free(have);
    char *text = sweep_text(&s);
    assert_string_equal(text, "petri sweep --method 'lora(r={2,4})' --lr '{1e-3,3e-3}' --seeds 3,1");
    free(text);
    sweep_release(&s);
}

/* An item may hold lists; a cell whose text has no place for an axis is there once. */
static void items_hold_lists(void **state) {
    (void)state;
    expect_cells("method", "{lora(r={2,4},at={q,v}),bitfit}",
                 "lora(r=2,at=q)|lora(r=2,at=q)|2|q\nlora(r=2,at=v)|lora(r=2,at=v)|2|v\n"
                 "lora(r=4,at=q)|lora(r=4,at=q)|4|q\nlora(r=4,at=v)|lora(r=4,at=v)|4|v\nbitfit|bitfit|-|-\n");
    expect_cells("method", "lora(r={1,2}) + bottleneck(r={1,2})",
                 "lora(r=1) + bottleneck(r=1)|1|1\nlora(r=1) + bottleneck(r=2)|1|2\n"
                 "lora(r=2) + bottleneck(r=1)|2|1\nlora(r=2) + bottleneck(r=2)|2|2\n");
    expect_cells("method", "{\"modules\":[]}", "{\"modules\":[]}\n");
}

static void ranges_are_even(void **state) {
    (void)state;
    expect_cells("lr", "{0..1:5}", "0|0\n0.25|0.25\n0.5|0.5\n0.75|0.75\n1|1\n");
    expect_cells("lr", "{1e-4..1e-2:3 log}", "0.0001|0.0001\n0.001|0.001\n0.01|0.01\n");
    expect_cells("batch", "{2..16:4 log}", "2|2\n4|4\n8|8\n16|16\n");
    expect_cells("lr", "{1e-3,1 log}", "1e-3|1e-3\n1|1\n");
    expect_cells("batch", "{8..10}", "8|8\n9|9\n10|10\n");
    expect_cells("method", "lora(r={2..1,8})", "lora(r=2)|2\nlora(r=1)|1\nlora(r=8)|8\n");
}

/* Whitespace in a list belongs to none of its values. */
static void whitespace_is_ignored(void **state) {
    (void)state;
    expect_cells("lr", "{ 1e-3 , 1e-2 }", "1e-3|1e-3\n1e-2|1e-2\n");
    expect_cells("lr", "{ 1e-4 .. 1e-2 : 3 log }", "0.0001|0.0001\n0.001|0.001\n0.01|0.01\n");
    expect_cells("lr", "{ 1e-3 , 1 log }", "1e-3|1e-3\n1|1\n");
    expect_cells("method", "{ lora(r={ 2, 4 }) , bitfit }", "lora(r=2)|lora(r=2)|2\nlora(r=4)|lora(r=4)|4\nbitfit|bitfit|-\n");
    expect_cells("train", "{../a,../b}", "../a|../a\n../b|../b\n");
}

static void slips_are_named(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        { "{1,2", "unmatched { at {1," },        { "1}", "unmatched }" }, { "{1,,2}", "empty value" },
        { "{0..1:3 log}", "above 0" }, { "{1..2:0}", "n must be between 1 and 1000, not 0" },
        { "{1e-3..1e-2}", "{1e-3..1e-2}: missing number of values; use {1e-3..1e-2:5}, or {1e-3..1e-2:5 log}" },
        { "{1..99999}", "missing number of values" }, { "{1, ,2}", "empty value" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sweep_spec s;
        struct err e = ERR_INIT;
        sweep_init(&s);
        assert_int_equal(sweep_set(&s, "lr", bad[i][0], &e), ERR_USAGE);
        if (!strstr(e.text, bad[i][1])) fail_msg("%s", e.text);
        sweep_release(&s);
    }
}

static void draws_are_fair(void **state) {
    (void)state;
    struct sweep_spec s;
    sweep_init(&s);
    set(&s, "lr", "{1,2,3,4}");
    set(&s, "batch", "{1,2}");
    set(&s, "draw", "latin");
    set(&s, "cells", "8");
    struct sweep_cells c;
    struct err e = ERR_INIT;
    test_ok(sweep_expand(&s, &c, &e), &e);
    set(&s, "draw", "random");
    set(&s, "cells", "3");
    char *a = cells_of(&s), *b = cells_of(&s);
    assert_string_equal(a, b);
    size_t lines = 0;
    for (const char *p = a; *p; p++) lines += *p == '\n';
    assert_int_equal(lines, 3);
    free(a), free(b);
    set(&s, "draw", "random");
    s.cells = 0;
    sweep_cells_release(&c);
    assert_int_equal(sweep_expand(&s, &c, &e), ERR_USAGE);
    sweep_release(&s);
}

/* ---- text and JSON, of 10,000 specs ---- */

static int below(uint64_t *c, int n) { return (int)rng_below(rng_key(7, RNG_TEST, 0, 0), (*c)++, (uint64_t)n); }

static void random_list(uint64_t *c, int depth, struct buf *b) {
    static const char *const word[] = { "1e-3", "lora", "q", "x y", "8", "it's" };
    if (!below(c, 4)) {
        buf_printf(b, "{%d..%d:%d%s}", 1 + below(c, 3), 4 + below(c, 9), 1 + below(c, 5), below(c, 2) ? " log" : "");
        return;
    }
    int n = 1 + below(c, 3);
    buf_putc(b, '{');
    for (int i = 0; i < n; i++) {
        buf_printf(b, "%s%s", i ? "," : "", word[below(c, 6)]);
        if (!below(c, 3)) buf_printf(b, "(r=%d,%s)", i, word[below(c, 6)]);
        if (depth && !below(c, 4)) buf_puts(b, "k="), random_list(c, depth - 1, b);
    }
    if (!below(c, 4)) buf_puts(b, ",2 log"); /* a log where all are numbers, else a word */
    buf_putc(b, '}');
}

static void text_and_json_agree(void **state) {
    (void)state;
    static const char *const option[] = { "method", "lr", "batch" };
    for (int i = 0; i < 10000; i++) {
        uint64_t c = (uint64_t)i * 1000;
        struct sweep_spec s, back;
        struct err e = ERR_INIT;
        sweep_init(&s);
        for (int k = 0; k < 3; k++) {
            struct buf b = BUF_INIT;
            if (below(&c, 2)) buf_puts(&b, "a(");
            if (below(&c, 3)) random_list(&c, 1, &b);
            if (below(&c, 2)) buf_puts(&b, "b,r="), random_list(&c, 0, &b);
            if (s.axes < SWEEP_AXES - 8) set(&s, option[k], buf_text(&b));
            buf_release(&b);
        }
        if (below(&c, 2)) set(&s, "seeds", "5,9");
        if (!below(&c, 3)) set(&s, "draw", "latin"), set(&s, "cells", "7");
        if (!below(&c, 3)) set(&s, "budget", "runs=7,minutes=0.5");
        if (!below(&c, 3)) set(&s, "halving", "on");
        if (!below(&c, 3)) set(&s, "size-of", "lora(r=4)"), set(&s, "note", "it's \"one\"");
        struct buf json = BUF_INIT, again = BUF_INIT;
        sweep_json(&s, &json);
        test_ok(sweep_from_json("spec", buf_text(&json), json.size, &back, &e), &e);
        sweep_json(&back, &again);
        assert_string_equal(buf_text(&json), buf_text(&again));
        char *one = sweep_text(&s), *two = sweep_text(&back);
        assert_string_equal(one, two);
        /* and the text, taken anew, gives the same lists */
        struct sweep_spec third;
        sweep_init(&third);
        for (int k = 0; k < s.options; k++) {
            char *text = sweep_option_text(&s, k);
            set(&third, s.option[k].name, text);
            assert_string_equal(third.option[k].text, s.option[k].text);
            free(text);
        }
        assert_int_equal(third.axes, s.axes);
        free(one), free(two);
        buf_release(&json), buf_release(&again);
        sweep_release(&s), sweep_release(&back), sweep_release(&third);
    }
}

/* ---- further values ---- */

static void expect_text(const struct sweep_spec *s, const char *wanted) {
    char *text = sweep_text(s);
    assert_string_equal(text, wanted);
    free(text);
}

static void more(struct sweep_spec *s, const char *option, const char *text) {
    struct err e = ERR_INIT;
    test_ok(sweep_extend(s, option, text, &e), &e);
}

static void values_are_added(void **state) {
    (void)state;
    struct sweep_spec s;
    sweep_init(&s);
    set(&s, "method", "lora(r={2,4})");
    set(&s, "lr", "{1e-4..1e-2:3 log}");
    set(&s, "batch", "8");
    more(&s, "seeds", "1,4");
    more(&s, "method", "lora(r={4,8})"); /* what is there stays once */
    more(&s, "method", "lora(r=16)");
    expect_text(&s, "petri sweep --method 'lora(r={2,4,8,16})' --lr '{0.0001..0.01:3 log}' --batch 8 --seeds 1,4");
    more(&s, "lr", "{1e-1,3e-1}"); /* they still count by their logs */
    more(&s, "batch", "16");       /* becomes a list */
    expect_text(&s, "petri sweep --method 'lora(r={2,4,8,16})' --lr '{0.0001,0.001,0.01,1e-1,3e-1 log}' --batch '{8,16}' --seeds 1,4");
    more(&s, "method", "{bitfit,lora(r={32})}"); /* another shape: beside what stood there */
    more(&s, "method", "bottleneck(r={1,2},act={relu,gelu})");
    more(&s, "method", "{bottleneck(r={1,4},act={relu})}");
    expect_text(&s, "petri sweep --method '{lora(r={2,4,8,16,32}),bitfit,bottleneck(r={1,2,4},act={relu,gelu})}' "
                    "--lr '{0.0001,0.001,0.01,1e-1,3e-1 log}' --batch '{8,16}' --seeds 1,4");
    struct sweep_cells c;
    struct err e = ERR_INIT;
    test_ok(sweep_expand(&s, &c, &e), &e);
    assert_int_equal(c.count, (5 + 1 + 6) * 5 * 2);
    sweep_cells_release(&c);
    sweep_release(&s);
}

static void what_cannot_be_added_is_named(void **state) {
    (void)state;
    static const char *const bad[][3] = {
        { "steps", "20", "not an option of this sweep" }, { "lr", "{1,", "unmatched { at {1," },
        { "halving", "on", "by --seeds" }, { "cells", "3", "by --seeds" },
    };
    struct sweep_spec s;
    sweep_init(&s);
    set(&s, "lr", "{1,2}");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = ERR_INIT;
        assert_int_equal(sweep_extend(&s, bad[i][0], bad[i][1], &e), ERR_USAGE);
        if (!strstr(e.text, bad[i][2])) fail_msg("%s", e.text);
    }
    set(&s, "draw", "random");
    set(&s, "cells", "1");
    struct err e = ERR_INIT;
    assert_int_equal(sweep_extend(&s, "lr", "3", &e), ERR_USAGE);
    if (!strstr(e.text, "cells of this sweep were sampled")) fail_msg("%s", e.text);
    more(&s, "seeds", "2");
    sweep_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_added), cmocka_unit_test(what_cannot_be_added_is_named),
        cmocka_unit_test(lists_cross),     cmocka_unit_test(items_hold_lists), cmocka_unit_test(ranges_are_even),
        cmocka_unit_test(whitespace_is_ignored),
        cmocka_unit_test(slips_are_named), cmocka_unit_test(draws_are_fair),   cmocka_unit_test(text_and_json_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
