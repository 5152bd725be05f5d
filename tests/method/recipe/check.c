/* What recipe_dtest runs against the copy of core/method that has one function more, dense. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "tests/support/slope.h"
#include "tests/support/test.h"

static enum fn added(void) {
    for (int f = 0; f < FN_COUNT; f++)
        if (!strcmp(fn_name((enum fn)f), "dense")) return (enum fn)f;
    fail_msg("there is no function dense");
    return FN_COUNT;
}

static void its_text_is_read_and_written(void **state) {
    (void)state;
    static const char *const texts[] = {"dense", "dense(act=gelu, read=a.in, write=a.out)",
                                        "dense(read=f.in, write=f.out, s=2, dropout=0.1, layers=2)",
                                        "dense(source=shared) + lora"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct method m, back;
        struct err e = ERR_INIT;
        test_ok(method_parse(texts[i], &m, &e), &e);
        char *forms[] = {method_canonical(&m), method_text(&m), method_json(&m, true)};
        for (int k = 0; k < 3; k++) {
            test_ok(method_parse(forms[k], &back, &e), &e);
            char *again = method_canonical(&back);
            assert_string_equal(again, forms[0]);
            free(again);
        }
        for (int k = 0; k < 3; k++) free(forms[k]);
    }
    struct method m;
    struct err e = ERR_INIT;
    test_refused(method_parse("dense(r=8)", &m, &e), ERR_USAGE, &e, "dense: unknown setting 'r'");
}

static void it_is_counted_and_named(void **state) {
    (void)state;
    struct rig rig;
    rig_open(&rig);
    int d = rig.m->arch.width, layers = rig.m->arch.encoder_layers;
    struct plan *p = rig_plan(&rig, "dense");
    assert_int_equal(p->trained_method, (size_t)(d * d * layers));
    assert_string_equal(p->tensor[0].name, "enc.0.ffn/dense.out.M");
    char *sum = plan_arithmetic(p, &rig.m->arch, 0);
    assert_ptr_equal(strstr(sum, "d·d·L = "), sum);
    free(sum);
    const char *why;
    assert_false(attach_can_merge(p, &why));
    plan_free(p);
    rig_close(&rig);
}

static void its_gradients_are_right(void **state) {
    (void)state;
    for (int i = 0; rig_folder(i); i++) {
        struct rig rig;
        rig_open_at(&rig, rig_folder(i));
        assert_true(slope_check_function(&rig, added()) > 8);
        rig_mix(&rig, false); /* rows of three tasks, each with weights of its own */
        slope_check(&rig, "dense(act=gelu, read=a.in, write=a.out, source=task)");
        rig_unmix(&rig);
        rig_close(&rig);
    }
}

static void it_trains(void **state) {
    (void)state;
    struct rig rig;
    rig_open(&rig);
    struct plan *p = rig_plan(&rig, "dense");
    real *x = rig_params(&rig, p, 5, 0.02), *g = xcalloc(p->trained, sizeof *g);
    double before = rig_loss(&rig, p, x, g), after = before;
    for (int step = 0; step < 20; step++) {
        for (size_t i = 0; i < p->trained; i++) x[i] -= (real)0.05 * g[i];
        after = rig_loss(&rig, p, x, g);
    }
    assert_true(after < before * 0.95);
    free(x);
    free(g);
    plan_free(p);
    rig_close(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_text_is_read_and_written),
        cmocka_unit_test(it_is_counted_and_named),
        cmocka_unit_test(its_gradients_are_right),
        cmocka_unit_test(it_trains),
    };
    return cmocka_run_group_tests_name("a function more", tests, NULL, NULL);
}
