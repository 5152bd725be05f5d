/* --precision of what evaluates, predicts and looks inside: a run's own, and of a model float32 unless it is given. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static void a_run_computes_in_its_own(void **state) {
    (void)state;
    json_decref(stage_train(&stage, 0, "--steps 4 --precision bf16"));
    char *plain = stage_out(0, "predict 1 --text good --json --db '%s'", stage.db),
         *same = stage_out(0, "predict 1 --text good --precision bf16 --json --db '%s'", stage.db);
    assert_string_equal(plain, same);
    stage_refused(2, "--precision f32: must match the value of run 1, bf16", "predict 1 --text good --precision f32 --db '%s'",
                  stage.db);
    stage_refused(2, "must match", "eval 1 --precision f32 --db '%s'", stage.db);
    stage_refused(2, "must match", "embed --run 1 --precision f32 --db '%s'", stage.db);
    stage_refused(2, "must match", "similarity 1 --precision f32 --db '%s'", stage.db);
    stage_refused(2, "bf16", "predict 1 --text good --precision f16 --db '%s'", stage.db);
    free(plain), free(same);
}

static int64_t embedded(const char *precision, bool new) {
    json_t *v = stage_json("embed --model '%s' --task '%s/toys' --precision %s --json --db '%s'", stage.model, stage.folder, precision,
                           stage.db);
    int64_t set = json_integer_value(stage_at(v, "set"));
    assert_int_equal(json_is_true(stage_at(v, "new")), new);
    json_decref(v);
    return set;
}

static void vectors_of_a_model_are_saved_by_precision(void **state) {
    (void)state;
    free(stage_task(&stage, "toys", 0));
    int64_t f32 = embedded("f32", true), bf16 = embedded("bf16", true);
    assert_int_equal(embedded("bf16", false), bf16);
    assert_int_equal(embedded("f32", false), f32);
}

static double filled(const char *more) {
    json_t *v = stage_json("predict --model petri-mini --fill 'a [MASK] for images' --json %s", more);
    json_t *word = json_array_get(json_array_get(stage_at(v, "masks"), 0), 0);
    double p = json_number_value(stage_at(word, "probability"));
    json_decref(v);
    return p;
}

/* The head of masked words, and its output map. */
static void a_model_fills_in_either(void **state) {
    (void)state;
    double f32 = filled(""), bf16 = filled("--precision bf16");
    assert_true(f32 == filled("--precision f32"));
    assert_true(f32 != bf16 && fabs(f32 - bf16) < 0.03);
}

static int64_t runs_of_estimate(const char *precision) {
    char *line = stage_line(&stage, "");
    json_t *v = stage_json("sweep %s --precision %s --seeds 1,2 --steps 8 --dry-run --json", line + strlen("train "), precision);
    int64_t n = json_integer_value(json_object_get(v, "seconds_of"));
    json_decref(v);
    free(line);
    return n;
}

static void time_is_estimated_from_runs_in_the_same(void **state) {
    (void)state;
    assert_int_equal(runs_of_estimate("bf16"), 1);
    assert_int_equal(runs_of_estimate("f32"), 0);
}

/* Of the default, what it selects on this machine is stored, and copied by --like; the model alone remains in float32. */
static void the_default_is_resolved_and_stored(void **state) {
    (void)state;
    json_t *doctor = stage_json("doctor --json --db '%s'", stage.db);
    const char *here = json_is_true(stage_at(doctor, "bfloat16.native")) ? "bf16" : "f32";
    char *explicit = xprintf("--steps 2 --seed 7 --name explicit --precision %s", here);
    json_decref(stage_train(&stage, 0, "--steps 2 --seed 7 --name default"));
    json_decref(stage_train(&stage, 0, explicit));
    free(stage_out(0, "train --like default --seed 8 --db '%s'", stage.db));
    json_t *of[] = { stage_json("show default --json --db '%s'", stage.db), stage_json("show explicit --json --db '%s'", stage.db),
                     stage_json("show last --json --db '%s'", stage.db) };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        const char *stored = json_string_value(json_object_get(stage_at(of[i], "config"), "precision"));
        assert_string_equal(stored ? stored : "f32", here);
    }
    assert_string_equal(stage_text(of[0], "weights_sha256"), stage_text(of[1], "weights_sha256"));
    for (size_t i = 0; i < COUNT_OF(of); i++) json_decref(of[i]);
    json_decref(doctor);
    free(explicit);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_computes_in_its_own),
        cmocka_unit_test(vectors_of_a_model_are_saved_by_precision),
        cmocka_unit_test(a_model_fills_in_either),
        cmocka_unit_test(time_is_estimated_from_runs_in_the_same),
        cmocka_unit_test(the_default_is_resolved_and_stored),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
