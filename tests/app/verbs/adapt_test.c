/* petri adapt: one run of the history for all draws of a new task, what uses it, and what is refused. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/mixed.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/writer.h"

#define HYPER "bottleneck(r=2,read=f.in,write=f.out,source=hyper) + hyper(task=3,layer=2,place=0,hidden=4,inner=3)"

static char *t5, *list;

/* Runs 1 (tiny BERT, with prototypes) and 2 (tiny T5, without) of three tasks, 3 of what they share alone. */
static int make(void **state) {
    (void)state;
    stage_init(&stage);
    t5 = writer_model(stage.folder, "t5", FAMILY_T5, NULL);
    list = mixed_list(stage.folder);
    static const char *const of[] = { HYPER " + retriever(hidden=4,width=3,prototype=decoupled)", HYPER,
                                      "bottleneck(r=2,read=f.in,write=f.out)" };
    for (int i = 0; i < 3; i++) {
        struct command c;
        command_run(&c, NULL, "train --model '%s' --tasks '%s' --db '%s' --method '%s' --steps 3 --batch 8 --lr 1e-3 "
                              "--max-length 16", i ? t5 : stage.model, list, stage.db, of[i]);
        command_expect(&c, 0);
        command_release(&c);
    }
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(t5);
    free(list);
    stage_release(&stage);
    return 0;
}

static json_t *adapt(int run, const char *more) {
    return stage_json("adapt %d --train '%s' --dev '%s' --kind classes --db '%s' --batch 4 %s %s --json", run, stage.toy,
                      stage.toy, stage.db, strstr(more, "--steps") ? "" : "--steps 4", more);
}

static void refused(int status, const char *part, int run, const char *more) {
    stage_refused(status, part, "adapt %d --db '%s' --steps 2 %s", run, stage.db, more);
}

static json_t *at(json_t *v, const char *list_name, size_t i) { return json_array_get(stage_at(v, list_name), i); }

static void one_run_for_all_draws(void **state) {
    (void)state;
    json_t *v = adapt(1, "--k 1,2 --draws 3 --zero --note few");
    int id = (int)json_integer_value(stage_at(v, "run"));
    assert_string_equal(stage_text(v, "task"), "toy");
    assert_int_equal(json_array_size(stage_at(v, "results")), 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *x = at(v, "results", i);
        assert_int_equal(json_integer_value(stage_at(x, "k")), (int)i + 1);
        assert_int_equal(json_integer_value(stage_at(x, "n")), 3);
        assert_int_equal(json_array_size(stage_at(x, "draws")), 3);
        assert_int_equal(json_array_size(stage_at(x, "vote")), 3);
        assert_string_equal(stage_text(x, "metric"), "accuracy");
        assert_true(json_is_number(stage_at(x, "sd")) && json_is_number(stage_at(x, "majority")) &&
                    json_is_number(stage_at(x, "zero.mean")));
        double sum = 0;
        for (size_t d = 0; d < 3; d++) sum += json_number_value(stage_at(at(x, "draws", d), "value"));
        assert_true(sum / 3 - json_number_value(stage_at(x, "mean")) < 1e-9);
    }
    json_t *run = stage_json("show %d --db '%s' --json", id, stage.db);
    assert_int_equal(json_integer_value(stage_at(run, "parent")), 1);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_string_equal(stage_text(run, "regime"), "fewshot(k=1+2, draws=3, from=1)");
    assert_true(json_equal(stage_at(run, "results"), stage_at(v, "results")));
    assert_true(json_equal(stage_at(run, "best.value"), stage_at(at(v, "results", 1), "mean")));
    json_t *points = stage_json("sql \"SELECT count(*) AS n FROM v_points WHERE run=%d AND key='toy/k2/d1.accuracy'\" "
                                "--db '%s' --json", id, stage.db);
    assert_int_equal(json_integer_value(stage_at(points, "n")), 2); /* before and after */
    char *shown = stage_out(0, "show %d --db '%s'", id, stage.db), *text = stage_out(0, "predict %d --text 'good film' "
                                                                                    "--db '%s'", id, stage.db);
    assert_non_null(strstr(shown, "toy"));
    assert_true(!strncmp(text, "pos", 3) || !strncmp(text, "neg", 3));
    stage_refused(2, "is finished", "resume %d --db '%s'", id, stage.db);
    free(shown);
    free(text);
    json_decref(points);
    json_decref(run);
    json_decref(v);
    v = stage_json("compare %d %d --db '%s' --json", id + 1, id + 2, stage.db); /* of other shots: no repeats */
    assert_int_equal(json_array_size(stage_at(v, "cells")), 2);
    json_decref(v);
}

/* A model that writes; each draw's tensors are kept. */
static void a_model_that_writes(void **state) {
    (void)state;
    json_t *v = adapt(2, "--k 2 --draws 2 --start mean --keep --eval-rows 6");
    json_t *x = at(v, "results", 0);
    assert_string_equal(stage_text(x, "prototype"), "mean");
    assert_int_equal(json_array_size(stage_at(x, "vote")), 0);
    char *folder = xprintf("%s-files/%d/k2.d1/best.safetensors", stage.db, (int)json_integer_value(stage_at(v, "run")));
    assert_true(file_exists(folder));
    free(folder);
    json_decref(v);
    v = adapt(2, "--k 2 --draws 1 --eval-rows 6");
    assert_true(json_is_number(stage_at(at(at(v, "results", 0), "vote", 0), "loss")));
    json_decref(v);
    v = adapt(3, "--k 2 --draws 1 --eval-rows 6 --tune shared --start three");
    assert_string_equal(stage_text(at(v, "results", 0), "prototype"), "three");
    json_decref(v);
}

/* Stopped by another process and gone on with: as if it had never stopped. */
static void stopped_and_resumed(void **state) {
    (void)state;
    json_t *whole = adapt(1, "--k 2 --draws 10 --seed 3 --steps 400");
    char *line = xprintf("adapt 1 --train '%s' --dev '%s' --kind classes --db '%s' --steps 400 --batch 4 --k 2 --draws 10 "
                         "--seed 3 --workers 1", stage.toy, stage.toy, stage.db);
    int id = (int)json_integer_value(stage_at(whole, "run")) + 11, tries = 0; /* behind its ten draws */
    while (!stage_stop_midway(&stage, command_start(stage.folder, "%s", line), id, 1))
        if (id += 11, ++tries > 9) fail_msg("no adaptation could be stopped midway"); /* it was over sooner */
    json_t *v = stage_json("resume %d --db '%s' --json", id, stage.db);
    assert_true(json_equal(stage_at(v, "results"), stage_at(whole, "results")));
    json_decref(v);
    json_decref(whole);
    free(line);
}

static void what_cannot_be_adapted_is_refused(void **state) {
    (void)state;
    char *rows = xprintf("--train '%s' --dev '%s' --kind classes", stage.toy, stage.toy), *more;
    refused(2, "petri adapt: requires --task", 1, "");
    refused(3, "run 99 does not exist", 99, rows);
    static const struct {
        int status, run;
        const char *more, *part;
    } of[] = {
        { 5, 1, "--k 50", "has 10 labeled examples, but a support set needs 50; use a smaller --k" },
        { 2, 1, "--k 4,4", "ascending order" },
        { 2, 1, "--tune all", "--tune all: must be a list of row, generator, shared and head" },
        { 2, 1, "--prototype vote --start mean", "--prototype: cannot be combined with --start" },
        { 2, 1, "--start four", "--start four: unknown task; the run has two, three, score" },
        { 2, 2, "--prototype vote", "requires a run whose method learns task prototypes" },
        { 2, 3, "", "no trainable parameters selected; use one or more of shared" },
        { 2, 1, "--lr -1", "--lr: must be a number above 0, found \"-1\"" },
    };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        more = xprintf("%s %s", rows, of[i].more);
        refused(of[i].status, of[i].part, of[i].run, more);
        free(more);
    }
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_run_for_all_draws),
        cmocka_unit_test(a_model_that_writes),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(what_cannot_be_adapted_is_refused),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
