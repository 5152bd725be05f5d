/* A sweep from its line to its results, killed midway, extended. */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static int databases;

static int make(void **state) {
    (void)state;
    if (!stage.folder) stage_init(&stage);
    free(stage.db);
    stage.db = xprintf("%s/%d.db", stage.folder, ++databases);
    free(stage_task(&stage, "toys", 12));
    return 0;
}

static json_t *sweep(const char *more) {
    return stage_json("sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --workers 2 --json %s", stage.model,
                      stage.folder, stage.db, more);
}

static size_t runs(void) {
    json_t *v = stage_json("runs --db '%s' --json", stage.db);
    size_t n = json_array_size(v);
    json_decref(v);
    return n;
}

static json_t *cell(json_t *result, size_t i) { return json_array_get(stage_at(result, "cells"), i); }

static void lists_become_runs(void **state) {
    (void)state;
    const char *line = "--method '{lora(r={2,4}),bitfit,nothing(r=1)}' --lr '{1e-3,3e-2}' --steps 8 --seeds 1,2";
    char *dry = xprintf("%s --dry-run", line);
    json_t *plan = sweep(dry);
    assert_int_equal(json_integer_value(stage_at(plan, "runs")), 12);
    assert_int_equal(json_integer_value(stage_at(plan, "lacking")), 12);
    assert_int_equal(json_array_size(stage_at(plan, "cells")), 8);
    assert_true(json_is_false(stage_at(cell(plan, 6), "valid")));
    assert_non_null(strstr(stage_text(cell(plan, 6), "reason"), "nothing"));
    assert_null(json_object_get(stage_at(cell(plan, 4), "axes"), "r")); /* bitfit has none */
    assert_int_equal(runs(), 0);
    json_t *done = sweep(line);
    assert_int_equal(runs(), 12);
    assert_string_equal(stage_text(cell(done, 0), "name"), "lora(r=2) lr=1e-3");
    /* the cell's mean is its runs' */
    json_t *ids = stage_at(cell(done, 1), "runs");
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        json_t *run =
            stage_json("show %lld --db '%s' --json", (long long)json_integer_value(json_array_get(ids, i)), stage.db);
        sum += json_number_value(stage_at(run, "best.value"));
        json_decref(run);
    }
    assert_true(fabs(json_number_value(stage_at(cell(done, 1), "mean")) - sum / 2) < 1e-12);
    assert_int_equal(json_integer_value(stage_at(cell(done, 1), "n")), 2);
    assert_string_equal(stage_text(cell(done, 7), "state"), "invalid");
    json_t *effects = stage_at(done, "effects"); /* r is a part of the method */
    assert_string_equal(stage_text(json_array_get(effects, 0), "level"), "lora(r=2)");
    assert_null(json_object_get(json_array_get(effects, 0), "aliased"));
    /* the same again takes what is there, in a sweep of its own */
    json_t *again = sweep(line);
    assert_int_equal(json_integer_value(stage_at(again, "id")), 2);
    assert_int_equal(runs(), 12);
    assert_true(json_equal(stage_at(again, "cells"), stage_at(done, "cells")));
    free(stage_out(0, "sweep extend 2 --seeds 7 --db '%s'", stage.db));
    assert_int_equal(runs(), 18);
    json_t *more = stage_json("sweep 2 --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(stage_at(cell(more, 0), "n")), 3);
    json_decref(plan), json_decref(done), json_decref(again), json_decref(more);
    free(dry);
}

/* Killed at any point, it loses and repeats nothing. */
static void a_killed_sweep_goes_on(void **state) {
    (void)state;
    pid_t pid = command_start(
        stage.folder,
        "sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --lr 1e-3 --steps 800 --workers 1 --method "
        "'{lora(r=2),bitfit}' --seeds 1,2",
        stage.model, stage.folder, stage.db);
    stage_wait_step(&stage, 1, 20);
    kill(pid, SIGKILL);
    command_wait(pid, 10);
    json_t *done = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    assert_int_equal(runs(), 4);
    for (size_t i = 0; i < 2; i++) assert_string_equal(stage_text(cell(done, i), "state"), "finished");
    json_decref(done);
}

static pid_t begin(const char *words, int workers) {
    return command_start(stage.folder, "sweep %s --db '%s' --workers %d", words, stage.db, workers);
}

static char *ask(const char *sql) { return stage_out(0, "sql --db '%s' \"%s\"", stage.db, sql); }

/* Each run is one process's; what one that was killed held, another goes on with, as the same run. */
static void processes_share_a_sweep(void **state) {
    (void)state;
    char *line = xprintf("--model '%s' --task '%s/toys' --batch 2 --lr 1e-3 --steps 300 --method '{lora(r=2),bitfit}' "
                         "--seeds 1,2,3", stage.model, stage.folder);
    static const char *const weights = "SELECT method, seed, weights_sha256 FROM v_runs ORDER BY 1, 2";
    json_decref(sweep("--lr 1e-3 --steps 300 --method '{lora(r=2),bitfit}' --seeds 1,2,3"));
    char *alone = ask(weights);
    make(NULL);
    pid_t first = begin(line, 1);
    stage_wait_step(&stage, 1, 5);
    pid_t second = begin("resume 1", 1);
    stage_wait_step(&stage, 3, 5); /* one process has but two in work */
    kill(first, SIGKILL);
    command_wait(first, 10);
    assert_int_equal(command_wait(second, 60), 0);
    char *shared = ask(weights), *points = ask("SELECT count(*) FROM v_points WHERE key='loss'");
    assert_int_equal(runs(), 6);
    assert_string_equal(shared, alone);
    assert_non_null(strstr(points, "\n1800\n"));
    free(line), free(alone), free(shared), free(points);
}

/* One that was stopped by hand stays so until it is gone on with; all stop when the sweep is told to. */
static void a_sweep_is_stopped_from_elsewhere(void **state) {
    (void)state;
    char *line = xprintf("--model '%s' --task '%s/toys' --batch 2 --lr 1e-3 --steps 100000 --method 'lora(r=2)' --seeds 1,2,3",
                         stage.model, stage.folder);
    pid_t pid = begin(line, 2);
    stage_wait_step(&stage, 2, 5);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    stage_wait_step(&stage, 3, 5);
    free(stage_out(0, "sweep stop 1 --db '%s'", stage.db));
    assert_int_equal(command_wait(pid, 20), 130);
    char *states = ask("SELECT id, state FROM v_runs ORDER BY 1");
    assert_non_null(strstr(states, "1,\"stopped\"\n2,\"stopped\"\n3,\"stopped\""));
    free(states), free(line);
}

/* What cannot be begun says why beside its cell, and the others are done. */
static void a_failed_cell_keeps_its_reason(void **state) {
    (void)state;
    char *rows = stage_task(&stage, "fleeting", 10), *away = xprintf("%s-away", rows);
    json_decref(stage_json("sweep --model '%s' --task '{%s/toys,%s}' --db '%s' --batch 2 --lr 1e-3 --steps 4 --method "
                           "'lora(r=2)' --workers 2 --json --seeds 1,2", stage.model, stage.folder, rows, stage.db));
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM run WHERE id > 1", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(rename(rows, away), 0);
    json_t *v = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(cell(v, 0), "state"), "finished");
    assert_int_equal(json_integer_value(stage_at(cell(v, 0), "n")), 2);
    assert_string_equal(stage_text(cell(v, 1), "state"), "failed");
    assert_non_null(strstr(stage_text(cell(v, 1), "reason"), "seed 1: "));
    assert_non_null(strstr(stage_text(cell(v, 1), "reason"), "fleeting"));
    json_decref(v);
    assert_int_equal(rename(away, rows), 0);
    v = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(cell(v, 1), "state"), "finished");
    assert_true(json_is_null(stage_at(cell(v, 1), "reason")));
    assert_int_equal(runs(), 4);
    json_decref(v), free(rows), free(away);
}

/* The last checkpoint is written, what the record says of the end is not: nothing is left to go on from. */
static void a_run_killed_at_its_end_begins_anew(void **state) {
    (void)state;
    json_t *whole = sweep("--method 'lora(r=2)' --lr 1e-3 --steps 8");
    json_t *run = stage_json("show 1 --db '%s' --json", stage.db);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE run SET state='running', step=5, weights_sha256=NULL;"
                                      "DELETE FROM metric WHERE step > 5", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    json_t *again = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    json_t *now = stage_json("show 1 --db '%s' --json", stage.db);
    assert_int_equal(runs(), 1);
    assert_string_equal(stage_text(cell(again, 0), "state"), "finished");
    assert_string_equal(stage_text(now, "weights_sha256"), stage_text(run, "weights_sha256"));
    char *count = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_points WHERE key='loss'\"", stage.db);
    assert_non_null(strstr(count, "\n8\n"));
    free(count);
    json_decref(whole), json_decref(run), json_decref(again), json_decref(now);
}

static void slips_are_named(void **state) {
    (void)state;
    stage_refused(2, "has no }", "sweep --lr '{1e-3' --db '%s'", stage.db);
    stage_refused(2, "--cells N", "sweep --lr '{1e-3,1e-2}' --draw latin --db '%s'", stage.db);
    stage_refused(3, "no sweep 9", "sweep 9 --db '%s'", stage.db);
    stage_refused(2, "--margin takes", "sweep --lr 1e-3 --margin wide --db '%s'", stage.db);
    stage_refused(2, "give --steps or --epochs", "sweep --lr 1e-3 --steps 3 --epochs 2 --db '%s'", stage.db);
    stage_refused(2, "need quotes", "sweep --lr 1e-3 3e-3 1e-2 --db '%s'", stage.db);
}

/* A run that began with another's values has the other's options, and is no seed of it. */
static void what_began_elsewhere_is_another_run(void **state) {
    (void)state;
    const char *same = "--method 'lora(r=2)' --lr 3e-2 --steps 8";
    char *model = xprintf("--model '%s'", stage.model);
    for (int from = 0; from < 2; from++)
        free(stage_out(0, "train %s --task '%s/toys' --db '%s' --batch 2 --seed 1 %s", from ? "--from 1" : model, stage.folder,
                       stage.db, same));
    free(model);
    json_t *done = sweep(same), *v = stage_json("compare state=finished --db '%s' --json", stage.db);
    assert_int_equal(runs(), 2);
    assert_int_equal(json_integer_value(json_array_get(stage_at(cell(done, 0), "runs"), 0)), 1);
    assert_int_equal(json_array_size(stage_at(v, "cells")), 2);
    json_decref(done), json_decref(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lists_become_runs, make),
        cmocka_unit_test_setup(a_killed_sweep_goes_on, make),
        cmocka_unit_test_setup(processes_share_a_sweep, make),
        cmocka_unit_test_setup(a_sweep_is_stopped_from_elsewhere, make),
        cmocka_unit_test_setup(a_failed_cell_keeps_its_reason, make),
        cmocka_unit_test_setup(a_run_killed_at_its_end_begins_anew, make),
        cmocka_unit_test_setup(slips_are_named, make),
        cmocka_unit_test_setup(what_began_elsewhere_is_another_run, make),
    };
    return cmocka_run_group_tests(tests, NULL, stage_drop);
}
