/* Configs: the same through JSON, options with ranges, what counts as a difference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/config/config.h"
#include "core/train/config/estimate.h"
#include "core/train/config/option.h"
#include "core/train/run/event.h"
#include "tests/method/published.h"
#include "tests/support/test.h"

static void set(struct run_config *c, const char *option, const char *value) {
    struct err e = ERR_INIT;
    test_ok(config_set(c, option, value, &e), &e);
}

static void json_round_trips(void **state) {
    (void)state;
    struct run_config c, d;
    struct err e = ERR_INIT;
    config_init(&c);
    set(&c, "method", "lora(r=8) + bitfit");
    set(&c, "model", "模型 é 'x'");
    set(&c, "lr", "1e-12");
    set(&c, "epsilon", "1e-12");
    set(&c, "seed", "9000000000000000");
    set(&c, "schedule", "cosine");
    set(&c, "optimizer", "sgd");
    set(&c, "keep", "best");
    set(&c, "kind", "scores");
    set(&c, "steps", "123456789");
    set(&c, "dropout", "0.25");
    char *json = config_json(&c);
    test_ok(config_from_json(json, strlen(json), &d, &e), &e);
    char *again = config_json(&d);
    assert_string_equal(json, again);
    assert_true(d.lr == 1e-12 && d.epsilon == 1e-12 && d.seed == 9000000000000000u);
    assert_true(d.steps == 123456789 && d.epochs == 0 && d.keep == KEEP_BEST && d.regression == 1);
    assert_string_equal(d.model, "模型 é 'x'");
    assert_null(config_difference(&c, &d));
    free(json);
    free(again);
    config_release(&c);
    config_release(&d);
}

/* Configs from before these options read their rows as was the rule then. */
static void older_configs_read_rows_as_then(void **state) {
    (void)state;
    static const struct {
        const char *json, *no_gold;
        bool header;
    } cases[] = {
        { "{\"regression\":\"classes\",\"text_column\":\"#1\",\"label_column\":\"#2\"}", "-1", true },
        { "{\"regression\":\"classes\"}", "-1", false },
        { "{\"regression\":\"scores\",\"text_column\":\"a\"}", NULL, false },
        { "{\"source_column\":\"#2\",\"target_column\":\"#3\"}", NULL, true },
        { "{\"regression\":\"classes\",\"text_column\":\"#1\",\"no_gold\":null}", NULL, false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct run_config c;
        struct err e = ERR_INIT;
        test_ok(config_from_json(cases[i].json, strlen(cases[i].json), &c, &e), &e);
        assert_int_equal(c.header, cases[i].header);
        if (cases[i].no_gold) assert_string_equal(c.no_gold, cases[i].no_gold);
        else assert_null(c.no_gold);
        config_release(&c);
    }
}

static void every_option_round_trips(void **state) {
    (void)state;
    struct run_config c, d;
    struct err e = ERR_INIT;
    config_init(&c);
    config_init(&d);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (!o->name) continue;
        char *value = config_get(&c, o->name);
        assert_non_null(value);
        assert_non_null(o->help);
        /* Unset texts and the unset one of steps and epochs are no values to give. */
        if (*value && strcmp(o->name, "steps")) test_ok(config_set(&d, o->name, value, &e), &e);
        free(value);
    }
    assert_null(config_difference(&c, &d));
    config_release(&c);
    config_release(&d);
}

static void wrong_values_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][3] = {
        { "batch", "0", "an integer of at least 1" },
        { "batch", "2.5", "an integer of at least 1" },
        { "batch", "1e", "an integer of at least 1" },
        { "lr", "nan", "a number above 0" },
        { "lr", "-1", "a number above 0" },
        { "lr", "0", "a number above 0, or default" },
        { "lr", "2,6", "a number above 0" },
        { "decay", "-1", "--decay -1: must be a number of at least 0" },
        { "weight-decay", "-1", "--weight-decay -1" },
        { "method", "lroa", "lora" },
        { "beta1", "1", "a number of at least 0 and below 1" },
        { "epsilon", "0", "a number above 0 and at most 1" },
        { "epochs", "0", "a number above 0" },
        { "schedule", "linaer", "did you mean linear" },
        { "keep", "bset", "best,last" },
        { "dropout", "1", "a number of at least 0 and below 1" },
        { "seed", "-1", "an integer of at least 0" },
        { "shards", "65", "an integer between 1 and 64" },
        { "method", "", "empty value" },
        { "btach", "1", "did you mean --batch" },
        { "model_sha256", "0", "unknown option" },
    };
    struct run_config c;
    config_init(&c);
    char *before = config_json(&c);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err e = ERR_INIT;
        test_refused(config_set(&c, wrong[i][0], wrong[i][1], &e), ERR_USAGE, &e, wrong[i][2]);
        if (strncmp(wrong[i][2], "did", 3) && strncmp(wrong[i][2], "no ", 3) && strcmp(wrong[i][2], "lora"))
            assert_non_null(strstr(e.text, wrong[i][0]));
    }
    char *after = config_json(&c);
    assert_string_equal(before, after);
    free(before);
    free(after);
    config_release(&c);
}

static void a_strangers_json_is_checked(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "[]",
        "{\"batch\":0}",
        "{\"batch\":\"2\"}",
        "{\"schedule\":\"line\"}",
        "{\"lr\":1e999}",
        "{\"keep\":\"all\"}",
        "{\"method\":3}",
        "{\"dropout\":-2}",
        "{\"steps\":1.5}",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct run_config c;
        struct err e = ERR_INIT;
        assert_int_equal(config_from_json(wrong[i], strlen(wrong[i]), &c, &e), ERR_INPUT);
        assert_true(e.text[0]);
    }
}

static void steps_and_epochs_take_each_other_back(void **state) {
    (void)state;
    struct run_config c;
    config_init(&c);
    set(&c, "steps", "10");
    assert_true(c.steps == 10 && c.epochs == 0);
    set(&c, "epochs", "0.5");
    assert_true(c.steps == 0 && c.epochs == 0.5);
    config_release(&c);
}

static void differences_are_named_by_option(void **state) {
    (void)state;
    static const char *const change[][2] = {
        { "batch", "4" },      { "steps", "20" }, { "lr", "2" },
        { "early-stop", "1" }, { "text-b", "q" },
    };
    for (size_t i = 0; i < COUNT_OF(change); i++) {
        struct run_config a, b;
        config_init(&a);
        config_copy(&b, &a);
        set(&b, change[i][0], change[i][1]);
        if (!strcmp(change[i][0], "steps")) b.epochs = a.epochs;
        assert_string_equal(config_difference(&a, &b), change[i][0]);
        config_release(&a);
        config_release(&b);
    }
}

/* Of what is read the hash makes a run another one, wherever it lies; a name does not. */
static void the_key_is_of_what_is_read(void **state) {
    (void)state;
    struct run_config c;
    config_init(&c);
    c.model_folder = xstrdup("/here");
    c.episodes = xstrdup("smlmt:/here");
    char first[65], now[65];
    config_key(&c, first);
    char **const name[] = { &c.model_folder, &c.train_file, &c.episodes };
    char **const hash[] = { &c.model_sha256, &c.train_sha256, &c.dev_sha256, &c.second_dev_sha256, &c.episodes_sha256 };
    for (size_t i = 0; i < COUNT_OF(name); i++) xreplace(name[i], "/elsewhere");
    config_key(&c, now);
    assert_string_equal(now, first);
    for (size_t i = 0; i < COUNT_OF(hash); i++) {
        xreplace(hash[i], "1");
        config_key(&c, now);
        if (!strcmp(now, first)) fail_msg("hash %zu makes no other run", i);
        xreplace(hash[i], NULL);
    }
    config_release(&c);
}

/* A sweep keeps the keys of its runs.  An option that a later program adds stands in no key at its default, or the sweeps
 * of before would lose their runs. */
static void the_key_stays_as_it_was(void **state) {
    (void)state;
    struct run_config c;
    char now[65];
    config_init(&c);
    c.precision = PRECISION_F32;
    config_key(&c, now);
    assert_string_equal(now, "95f3036c42d77ce636037feea0bb1af674ab44b1daccb4e771ca5786441fc250");
    config_release(&c);
}

static void states_have_names(void **state) {
    (void)state;
    for (int i = 0; i < RUN_STATES; i++) assert_non_null(run_state_name((enum run_state)i));
}

/* Costs told before a run follow what it trains: more for whole weights than beside them, least for a head alone; each trained
 * value takes memory; without the machine's rate there is no time. */
static void costs_follow_what_is_trained(void **state) {
    (void)state;
    static const char *const config[] = { ROBERTA_BASE, FLAN_T5_SMALL }, *const methods[] = { "diff-pruning", "full", "lora",
            "lora(layers=3-)" };
    for (size_t k = 0; k < COUNT_OF(config); k++) {
        struct arch a;
        struct err e = ERR_INIT;
        struct estimate of[COUNT_OF(methods)], more;
        size_t trained[COUNT_OF(methods)];
        test_ok(arch_parse("config.json", config[k], strlen(config[k]), &a, NULL, &e), &e);
        for (size_t i = 0; i < COUNT_OF(methods); i++) {
            struct run_config c;
            config_init(&c);
            set(&c, "method", methods[i]);
            struct plan *p = plan_new(&c.method, &a, a.decoder_layers ? 0 : 2, &e);
            if (!p) fail_msg("%s", e.text);
            struct estimate_of x = { .c = &c, .p = p, .a = &a, .tokens = 30, .targets = a.decoder_layers ? 3 : 0, .train_rows = 1000,
                                     .dev_rows = 100, .workers = 2, .speed = { 50, 2 } };
            trained[i] = p->trained;
            assert_true(estimate_run(&x, &of[i]));
            c.batch = 64;
            assert_true(estimate_run(&x, &more));
            assert_true(more.step_seconds > (i ? 1.9 : 1.2) * of[i].step_seconds && more.step_seconds < 2.1 * of[i].step_seconds);
            assert_true(more.bytes > of[i].bytes);
            c.batch = 32;
            set(&c, "precision", "f32");
            x.speed.bf16 = 4;
            assert_true(estimate_run(&x, &of[i]));
            set(&c, "precision", "bf16");
            assert_true(estimate_run(&x, &more));
            if (i) assert_float_equal(more.seconds / of[i].seconds, 0.17 + 0.83 / 4, 1e-9);
            x.speed.gflops = 0;
            assert_true(estimate_run(&x, &more) && isnan(more.seconds) && isfinite(more.bytes));
            set(&c, "regime", "meta");
            assert_false(estimate_run(&x, &more));
            plan_free(p);
            config_release(&c);
        }
        for (size_t i = 0; i + 1 < COUNT_OF(methods); i++) assert_true(of[i].seconds > of[i + 1].seconds && of[i].bytes > of[i + 1].bytes);
        assert_true(of[0].bytes - of[1].bytes > 16.0 * (double)(trained[0] - trained[1])); /* value, gradient, two means */
        assert_true(of[1].bytes - of[2].bytes > 16.0 * (double)(trained[1] - trained[2]));
        assert_true(of[0].bytes > 2 * of[1].bytes); /* masks, weights made of them, and gradients of all that */
        arch_release(&a);
    }
}

/* Seconds of petri's own model on one core of 100 GF/s, on other models and machines. */
static void seconds_are_scaled(void **state) {
    (void)state;
    struct arch own = { .width = 128, .heads = 4, .head_width = 32, .inner = 512, .encoder_layers = 3 }, six = own;
    six.width = 384;
    six.inner = 1536;
    six.encoder_layers = 6;
    six.heads = 12;
    assert_true(fabs(estimate_scaled(2, &own, 1, 100) - 2) < 1e-9);
    assert_true(fabs(estimate_scaled(2, &own, 1, 50) - 4) < 1e-9);
    assert_true(estimate_scaled(2, &own, 2, 100) < 1.5 && estimate_scaled(2, &own, 2, 100) > 1);
    double times = estimate_scaled(2, &six, 1, 100) / 2; /* 15 were measured */
    assert_true(times > 13 && times < 17);
    assert_true(estimate_scaled(2, NULL, 1, 100) == 0 && estimate_scaled(2, &own, 1, 0) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_round_trips),
        cmocka_unit_test(every_option_round_trips),
        cmocka_unit_test(costs_follow_what_is_trained),
        cmocka_unit_test(the_key_stays_as_it_was),
        cmocka_unit_test(older_configs_read_rows_as_then),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(a_strangers_json_is_checked),
        cmocka_unit_test(steps_and_epochs_take_each_other_back),
        cmocka_unit_test(differences_are_named_by_option),
        cmocka_unit_test(the_key_is_of_what_is_read),
        cmocka_unit_test(states_have_names),
        cmocka_unit_test(seconds_are_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
