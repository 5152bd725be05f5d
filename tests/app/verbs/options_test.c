/* The options of petri train: what contradicts itself is refused before there is a run; rows held out by --split. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static void contradictions_leave_no_run(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        { "--gradient-accumulation-steps 8 --batch 4", "--gradient-accumulation-steps 8: more than the batch size of 4" },
        { "--batch_size 8 --grad-accumulation-steps 2", "--batch-size: ambiguous with --grad-accumulation-steps" },
        { "--iters 8 --accumulate 2", "use --steps" },
        { "--momentum 0.9", "--momentum: applies only to --optimizer sgd" },
        { "--optimizer sgd --beta1 0.8", "--beta1: applies only to --optimizer adamw" },
        { "--max-target 9", "--max-target: applies only to text-to-text runs" },
        { "--steps 5 --warmup 5", "--warmup 5: the run has only 5 steps" },
        { "--decay -1", "--decay -1: must be" },
        { "--weight-decay -1", "--weight-decay -1: must be" },
        { "--decay 1 --wd 2", "--decay: the same option as --wd; use one of them" },
        { "--lr 0", "--lr 0: must be a number above 0, or default" },
        { "--lr 1e-3,1e-2", "use petri sweep --lr '{1e-3,1e-2}'" },
        { "--lr 1e-3..1e-2", "use petri sweep --lr '{1e-3..1e-2:5}'" },
        { "--batch '{2, 4}'", "use petri sweep --batch '{2, 4}'" },
        { "--schedule linear,cosine", "use petri sweep --schedule '{linear,cosine}'" },
        { "--lr 0,01", "use a decimal point: 0.01" },
        { "--seed 1..3", "use --seeds 1..3" },
        { "--seeds 1,x", "--seeds 1,x: must be up to" },
        { "--seeds 3..1,2", "duplicate seed 2" },
        { "--dev x.tsv --no-dev", "give --dev or --no-dev, not both" },
        { "--steps 3 --epochs 1", "give --steps or --epochs, not both" },
        { "--header --no-header", "give --header or --no-header, not both" },
        { "--seeds 1,1", "duplicate seed 1" },
        { "--split 1%", "holds out 0 of the 20 examples" },
        { "--split-seed 3", "--split-seed: requires --split" },
        { "--embed-every 2", "has no validation set" },
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        char *line = stage_line(&stage, wrong[i][0]);
        stage_refused(2, wrong[i][1], "%s", line);
        free(line);
    }
    char *line = stage_line(&stage, "--steps 1"); /* makes the database */
    free(stage_out(0, "%s", line));
    free(line);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        line = stage_line(&stage, wrong[i][0]);
        stage_refused(2, wrong[i][1], "%s", line);
        free(line);
    }
    json_t *list = stage_json("runs --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
}

/* 10 rows of each class: a quarter is 2.5, rounded to 3. */
static void rows_are_held_out(void **state) {
    (void)state;
    struct command c;
    char *line = stage_line(&stage, "--steps 2");
    command_run(&c, NULL, "%s", line); /* without dev rows: said, with the way out */
    command_expect(&c, 0);
    if (!strstr(buf_text(&c.err), "no validation set") || !strstr(buf_text(&c.err), "--split 10%"))
        fail_msg("%s", buf_text(&c.err));
    command_release(&c);
    free(line);
    json_t *run = stage_train(&stage, 0, "--steps 2 --split 25%");
    assert_true(json_is_number(stage_at(run, "best.value")));
    json_t *eval = stage_json("eval last --db '%s' --json", stage.db), *best = stage_at(run, "best.value");
    json_t *metrics = stage_at(eval, "metrics");
    assert_int_equal(json_integer_value(stage_at(eval, "rows")), 6);
    assert_true(json_number_value(json_object_get(metrics, "accuracy")) == json_number_value(best));
    json_decref(eval);
    json_decref(run);
    line = stage_line(&stage, "--split 10%");
    stage_refused(2, "the validation set is", "%s --dev '%s'", line, stage.toy);
    free(line);
}

/* --no-dev beside --like leaves out the file that the run was measured on. */
static void a_dev_file_is_left_out(void **state) {
    (void)state;
    struct command c;
    char *line = stage_line(&stage, "--steps 1");
    free(stage_out(0, "%s --dev '%s'", line, stage.toy));
    free(line);
    command_run(&c, NULL, "train --like last --no-dev --steps 2 --db '%s'", stage.db);
    command_expect(&c, 0);
    if (!strstr(buf_text(&c.err), "no validation set")) fail_msg("%s", buf_text(&c.err));
    command_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contradictions_leave_no_run),
        cmocka_unit_test(rows_are_held_out),
        cmocka_unit_test(a_dev_file_is_left_out),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
