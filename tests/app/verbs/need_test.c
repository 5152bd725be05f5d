/* Estimated and measured peak memory of runs. */
#include <jansson.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static const char mini[] = "--model petri-mini --task sections", pair[] = "--model petri-mini --tasks sections,sections12",
                  lm[] = "--model all-MiniLM-L6-v2 --task sections", lm_long[] = "--model all-MiniLM-L6-v2 --task reviews --eval-rows 100",
                  t5[] = "--model flan-t5-small --task reviews --eval-rows 64";

struct need {
    const char *data, *method, *precision;
    int workers, batch;
};

/* Returns the measured peak of a run of two steps. */
static double peak_of(const struct need *x) {
    static int id;
    free(stage_out(0, "train %s --method '%s' --precision %s --workers %d --batch %d --steps 2 --eval-steps 2 --seed 1 --db '%s'",
                   x->data, x->method, x->precision, x->workers, x->batch, stage.db));
    json_t *run = stage_json("show %d --db '%s' --json", ++id, stage.db);
    double peak = json_number_value(stage_at(run, "peak_bytes")), estimated = json_number_value(stage_at(run, "estimated_bytes"));
    json_decref(run);
    if (!(estimated >= peak && estimated <= 1.25 * peak))
        fail_msg("%s %s %s, batch size %d, %d workers: measured %.1f MB, estimated %.1f MB", x->data, x->method, x->precision, x->batch,
                 x->workers, peak / 1e6, estimated / 1e6);
    return peak;
}

static void estimates_cover_the_peak(void **state) {
    (void)state;
    static const struct need quick[] = {
        { mini, "lora", "f32", 1, 16 },     { mini, "lora", "bf16", 1, 16 },  { mini, "adapter-pfeiffer", "f32", 1, 256 },
        { mini, "prefix", "f32", 2, 128 },  { mini, "full", "f32", 2, 4 },    { mini, "full", "f32", 1, 256 },
    };
    static const struct need slow[] = {
        { lm, "lora", "f32", 1, 16 },      { lm, "lora", "bf16", 2, 16 },   { lm, "full", "f32", 2, 16 },
        { lm_long, "lora", "f32", 1, 128 }, { lm_long, "prefix", "bf16", 2, 64 }, { t5, "lora", "f32", 1, 16 },
    };
    double peak[COUNT_OF(quick)];
    for (size_t i = 0; i < COUNT_OF(quick); i++) peak[i] = peak_of(&quick[i]);
    assert_true(peak[1] > peak[0] + 2e6); /* frozen maps in bfloat16, beside the weights */
    for (size_t i = 0; i < COUNT_OF(slow) && test_slow(); i++) peak_of(&slow[i]);
}

static void of_several_tasks_too(void **state) {
    (void)state;
    static const struct need need[] = { { pair, "hyperformer", "f32", 1, 64 }, { pair, "shared-adapter", "bf16", 1, 64 },
                                        { pair, "hyperdecoder", "f32", 1, 64 } };
    test_needs("assets/tasks/sections12");
    for (size_t i = 0; i < COUNT_OF(need) - !test_slow(); i++) peak_of(&need[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(estimates_cover_the_peak), cmocka_unit_test(of_several_tasks_too) };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
