/* What field_dtest runs against the copy of core/method whose modules have one field more, spin. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/distance.h"
#include "core/method/keys.h"
#include "core/method/plan.h"
#include "tests/support/test.h"

static struct method parsed(const char *text) {
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse(text, &m, &e), &e);
    return m;
}

static void it_is_read_and_written(void **state) {
    (void)state;
    struct method m = parsed("linear(r=4, spin=3)"), back;
    struct err e = ERR_INIT;
    assert_int_equal(m.module[0].spin, 3);
    char *forms[] = { method_canonical(&m), method_text(&m), method_json(&m, true) };
    assert_non_null(strstr(forms[0], "spin=3"));
    assert_non_null(strstr(forms[1], "spin=3"));
    assert_non_null(strstr(forms[2], "\"spin\":3"));
    for (int i = 0; i < 3; i++) {
        test_ok(method_parse(forms[i], &back, &e), &e);
        assert_true(module_equal(&back.module[0], &m.module[0]));
        free(forms[i]);
    }
    m = parsed("lora(r=4, spin=3)");
    char *lora = method_text(&m);
    assert_string_equal(lora, "lora(r=4,spin=3)"); /* a call of the preset, too */
    free(lora);
}

static void it_is_compared_and_left_out(void **state) {
    (void)state;
    struct method a = parsed("linear(r=4)"), b = parsed("linear(r=4, spin=3)");
    assert_false(module_equal(&a.module[0], &b.module[0]));
    struct module m = module_default(FN_SCALE); /* a function without a rank has no spin */
    m.spin = 3;
    module_normalize(&m);
    assert_int_equal(m.spin, 0);
}

static void it_is_checked(void **state) {
    (void)state;
    struct method m;
    struct err e = ERR_INIT;
    test_refused(method_parse("linear(spin=-1)", &m, &e), ERR_USAGE, &e, "spin=-1: must be an integer between 0 and");
    test_refused(method_parse("scale(spin=1)", &m, &e), ERR_USAGE, &e, "scale: unknown setting 'spin'");
    const char *json = "{\"version\":2,\"modules\":[{\"function\":\"linear\",\"size\":4,\"spin\":-1}]}";
    test_refused(method_from_json(json, strlen(json), &m, &e), ERR_INPUT, &e, "\"spin\" is -1");
    m = parsed("linear(r=4)");
    m.module[0].spin = -1;
    assert_string_equal(key_fault(key_find("spin"), &m.module[0]), "at least 0");
}

static void it_is_explained(void **state) {
    (void)state;
    struct method m;
    struct err e = ERR_INIT;
    test_refused(method_parse("linear(spinn=1)", &m, &e), ERR_USAGE, &e, "did you mean spin?");
    assert_string_equal(key_find("spin")->description, "Turns of the change.");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_and_written),
        cmocka_unit_test(it_is_compared_and_left_out),
        cmocka_unit_test(it_is_checked),
        cmocka_unit_test(it_is_explained),
    };
    return cmocka_run_group_tests_name("a field more", tests, NULL, NULL);
}
