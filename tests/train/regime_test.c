/* Regimes as text: every part is read, printed in one form, kept with the run; what is wrong is named. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/config/regime.h"
#include "tests/support/test.h"

static void comes_out(const char *text, const char *want) {
    struct err e = ERR_INIT;
    struct run_config c;
    config_init(&c);
    test_ok(config_set(&c, "regime", text, &e), &e);
    char *canonical = config_regime_text(&c);
    assert_string_equal(canonical, want);
    test_ok(config_set(&c, "regime", canonical, &e), &e);
    char *same = config_regime_text(&c);
    assert_string_equal(same, want);
    free(canonical);
    free(same);
    config_release(&c);
}

static void one_canonical_form(void **state) {
    (void)state;
    comes_out("single", "single");
    comes_out("multi", "multi(sampling=proportional, average=one, best=average)");
    comes_out("multi(best=per-task,sampling=stratified(5))", "multi(sampling=stratified(5), average=one, best=per-task)");
    comes_out("fewshot(k=4, from=7)", "fewshot(k=4, draws=10, from=7)");
    comes_out("fewshot(draws=5, k=4+16+32)", "fewshot(k=4+16+32, draws=5, from=none)");
    comes_out("meta", "meta(order=first, inner=6, inner-lr=learned(0.01), clip=none, support=60, query=10, tasks=16, "
                      "outer=shared+start+rates, losses=last, labels=within)");
    comes_out("meta( inner-lr=0.5 ,clip=1,losses=every(3))",
              "meta(order=first, inner=6, inner-lr=0.5, clip=1, support=60, query=10, tasks=16, outer=shared+start, "
              "losses=every(3), labels=within)");
    comes_out("meta(inner-lr=learned(1e-05), outer=rates+shared, order=fd, labels=apart)",
              "meta(order=fd, inner=6, inner-lr=learned(1e-05), clip=none, support=60, query=10, tasks=16, "
              "outer=shared+rates, losses=last, labels=apart)");
    comes_out("stages(lora;head)", "stages(lora, train=all; head, carry=all, train=all)");
    comes_out("stages( lora(r=2) + bias() , steps=20 , lr=1e-3 ; lora(r=2)+bias(),epochs=0.5, train=head,carry=modules )",
              "stages(lora(r=2) + bitfit, train=all, lr=0.001, steps=20; lora(r=2) + bitfit, carry=modules, train=head, epochs=0.5)");
}

static void refused(const char *text, const char *why) {
    struct err e = ERR_INIT;
    struct regime r = regime_default(REGIME_META);
    r.inner = 5;
    if (!regime_take(text, &r, &e)) { /* of stages the kind alone */
        assert_null(option_parse(&regime_parser, text, &e));
        r.inner = 5;
    }
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.text, why)) fail_msg("%s: \"%s\" does not say \"%s\"", text, e.text, why);
    assert_int_equal(r.inner, 5);
}

static void what_is_wrong_is_named(void **state) {
    (void)state;
    refused("meat", "did you mean meta?");
    refused("", "unknown regime");
    refused("stages(head, full)", "must be KEY=VALUE: \"full\"");
    refused("stages(lora)", "at least two stages");
    refused("stages", "must have the form stages(");
    refused("stages(lora, steps=2; train=head)", "stage 2: must start with a method");
    refused("stages(lora, steps=2; lorra, steps=2)", "stage 2: ");
    refused("stages(lora, carry=all; head)", "not available in the first stage");
    refused("stages(lora; head, carry=none)", "carry=none: must be all, modules or head");
    refused("stages(lora; head, stepps=3)", "did you mean steps?");
    refused("stages(lora; head, steps=0)", "steps=0: must be an integer");
    refused("stages(lora; head, steps=2, epochs=1)", "mutually exclusive");
    refused("stages(lora; head, lr=1, lr=2)", "duplicate key lr");
    refused("meta(innr=3)", "did you mean inner?");
    refused("meta(inner=0)", "inner=0: must be an integer between 1 and 1000");
    refused("meta(inner=2, inner=3)", "duplicate key inner");
    refused("meta(inner=2", "missing closing parenthesis");
    refused("meta(inner=2,)", "empty");
    refused("meta(inner)", "must be KEY=VALUE");
    refused("meta(inner-lr=2)", "must be a learning rate");
    refused("meta(inner-lr=0.1, outer=shared+rates)", "outer includes rates, but inner-lr is fixed; use inner-lr=learned");
    refused("meta(inner-lr=learned, outer=shared)", "inner-lr is learned, but outer does not include rates; add +rates to outer");
    refused("meta(support=3)", "fewer examples than the 5 inner batches");
    refused("meta(losses=every(9))", "more than the 5 inner steps");
    refused("fewshot(k=4+4)", "increasing");
    refused("fewshot(k=0)", "increasing integers of at least 1");
    refused("multi(sampling=odd)", "must be proportional");
    refused("single(k=3)", "unknown key \"k\"");
}

/* A text changes the parts that it names of the same kind, and begins another kind anew. */
static void parts_are_taken_over(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct regime r = regime_default(REGIME_META);
    test_ok(regime_take("meta(inner=4, query=9)", &r, &e), &e);
    test_ok(regime_take("meta(query=8)", &r, &e), &e);
    assert_true(r.inner == 4 && r.query == 8);
    test_ok(regime_take("single", &r, &e), &e);
    test_ok(regime_take("meta", &r, &e), &e);
    assert_true(r.inner == 6 && r.query == 10);
}

static void of_a_run(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c;
    config_init(&c);
    char *text = config_regime_text(&c);
    assert_string_equal(text, "single");
    free(text);
    test_ok(config_set(&c, "regime", "multi(sampling=stratified(5), average=all)", &e), &e);
    assert_int_equal(config_complete_regime(&c, &e), ERR_USAGE); /* of one task */
    test_ok(config_set_tasks(&c, "reviews,debates", &e), &e);
    test_ok(config_complete_regime(&c, &e), &e);
    assert_null(c.regime); /* the options say it */
    assert_string_equal(c.sampling->text, "stratified(5)");
    assert_int_equal(c.average, AVERAGE_ALL);
    text = config_regime_text(&c);
    assert_string_equal(text, "multi(sampling=stratified(5), average=all, best=average)");
    free(text);
    test_ok(config_set(&c, "regime", "multi(sampling=temperature(2))", &e), &e);
    assert_int_equal(config_complete_regime(&c, &e), ERR_USAGE); /* --sampling says otherwise */
    test_ok(config_set(&c, "regime", "single", &e), &e);
    assert_int_equal(config_complete_regime(&c, &e), ERR_USAGE);
    test_ok(config_set(&c, "regime", "default", &e), &e);
    assert_null(c.regime);
    config_release(&c);
}

/* What stages leave to the run they take from it, and the run has the last one's method and rate and all their steps. */
static void stages_and_the_run_agree(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c;
    config_init(&c);
    test_ok(config_set(&c, "regime", "stages(lora(r=2), steps=20, lr=0.5; head, epochs=2)", &e), &e);
    char *method = method_text(&c.method);
    assert_string_equal(method, "head");
    free(method);
    test_ok(stages_complete(&c, 64, &e), &e);
    assert_string_equal(c.regime->text, "stages(lora(r=2), train=all, lr=0.5, steps=20; head, carry=all, train=all, lr=0.005, steps=4)");
    assert_int_equal(c.steps, 24);
    assert_true(c.lr == 0.005 && c.epochs == 0);
    test_ok(stages_complete(&c, 640, &e), &e); /* complete, whatever the rows */
    assert_int_equal(c.steps, 24);
    c.lr = 1;
    assert_int_equal(stages_complete(&c, 64, &e), ERR_USAGE);
    c.lr = 0.005;
    c.steps = 5;
    assert_int_equal(stages_complete(&c, 64, &e), ERR_USAGE);
    c.steps = 24;
    test_ok(method_parse("lora(r=2)", &c.method, &e), &e); /* changed on the way: the last stage's */
    test_ok(stages_complete(&c, 64, &e), &e);
    assert_non_null(strstr(c.regime->text, "; lora(r=2), carry=all"));
    test_ok(config_set(&c, "regime", "stages(lora; svd(r=4) + budget(target=2, begin=3, end=3, every=1), steps=4)", &e), &e);
    test_ok(stages_complete(&c, 64, &e), &e);
    assert_int_equal(stages_check(&c, &e), ERR_USAGE); /* its schedule is longer */
    assert_non_null(strstr(e.text, "stage 2"));
    config_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_canonical_form),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(parts_are_taken_over),
        cmocka_unit_test(of_a_run),
        cmocka_unit_test(stages_and_the_run_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
