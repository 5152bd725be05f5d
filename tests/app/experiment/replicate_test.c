/* An experiment's file, from its lines to runs, contrasts and a page; and files that are none. */
#include <jansson.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "app/experiment/experiment.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static const char FORM[] =
    "{\"version\":1,\"paper\":\"A paper\",\"table\":\"Table 1\",\"claim\":\"lora beats bitfit\",\"base\":"
    "\"--model '%s' --task {data}/toys --steps 12 --batch 2 --lr 1e-3\",\"seeds\":[1,2],\"cells\":["
    "{\"id\":\"lora\",\"text\":\"--method 'lora(r=2)'\",\"published\":80.5,\"status\":\"copied\",\"source\":\"here | there\"},"
    "{\"id\":\"bitfit\",\"text\":\"--method bitfit\"},"
    "{\"id\":\"later\",\"text\":\"--method full\",\"skip\":true},"
    "{\"id\":\"steps\",\"of\":\"lora\",\"text\":\"show {run} --json\",\"path\":\"steps\"},"
    "{\"id\":\"seed\",\"of\":\"lora\",\"text\":\"show {run} --json\",\"path\":\"seed\",\"scale\":10}],\"contrasts\":["
    "{\"id\":\"gain\",\"a\":\"lora\",\"b\":\"bitfit\",\"direction\":\">\",\"published\":1.5},"
    "{\"id\":\"slope\",\"terms\":[{\"a\":\"lora\",\"b\":\"bitfit\",\"x\":1},{\"a\":\"steps\",\"x\":10}],\"direction\":\"<\"}]}";

static char *written(const char *name, const char *text) { return test_file(stage.folder, name, text, strlen(text)); }

static void change(const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_file_is_run_and_gone_on_with(void **state) {
    (void)state;
    free(stage_task(&stage, "toys", 12));
    char *text = xprintf(FORM, stage.model), *file = written("small.json", text);
    char *results = file_join(stage.folder, "results.json"), *page = file_join(stage.folder, "page.md");
    stage_refused(2, "--data FOLDER", "replicate '%s' --db '%s'", file, stage.db);
    stage_refused(3, "\"nope\": neither a file nor an experiment; available: ", "replicate nope --db '%s'", stage.db);
    json_t *none = stage_json("replicate '%s' --data '%s' --db '%s' --dry-run --json", file, stage.folder, stage.db);
    assert_int_equal(json_integer_value(stage_at(json_array_get(stage_at(json_array_get(none, 0), "cells"), 0), "n")), 0);
    json_decref(none);
    json_t *all = stage_json("replicate '%s' --data '%s' --db '%s' --out '%s' --page '%s' --json", file, stage.folder, stage.db,
                             results, page);
    json_t *one = json_array_get(all, 0), *cells = stage_at(one, "cells");
    assert_string_equal(stage_text(one, "experiment"), "small");
    for (int i = 0; i < 4; i++) assert_int_equal(json_integer_value(stage_at(json_array_get(cells, (size_t)i), "n")), i == 2 ? 0 : 2);
    assert_true(json_number_value(stage_at(json_array_get(cells, 3), "mean")) == 12);
    assert_true(json_number_value(stage_at(json_array_get(cells, 4), "mean")) == 15);
    /* the numbers are the runs' own */
    json_int_t id = json_integer_value(json_array_get(stage_at(json_array_get(cells, 1), "runs"), 1));
    json_t *run = stage_json("show %lld --db '%s' --json", (long long)id, stage.db);
    assert_int_equal(json_integer_value(stage_at(run, "seed")), 2);
    assert_true(json_number_value(json_array_get(stage_at(json_array_get(cells, 1), "values"), 1)) ==
                100 * json_number_value(stage_at(run, "best.value")));
    json_decref(run);
    /* nothing is run twice; and the same page comes from the results alone */
    json_t *again = stage_json("replicate '%s' --data '%s' --db '%s' --json", file, stage.folder, stage.db);
    assert_true(json_equal(all, again));
    /* nor where a note was edited and the log is gone; a measure is a point of its run */
    free(stage_out(0, "note %lld 'the better one' --db '%s'", (long long)id, stage.db));
    change("DELETE FROM event");
    json_decref(again);
    again = stage_json("replicate '%s' --data '%s' --db '%s' --json", file, stage.folder, stage.db);
    assert_true(json_equal(all, again));
    json_t *point = stage_json("sql --db '%s' --json \"SELECT count(*) AS n, sum(value) AS sum FROM v_points"
                               " WHERE key = 'measure show {run} --json at seed'\"", stage.db);
    assert_int_equal(json_integer_value(stage_at(point, "n")), 2);
    assert_true(json_number_value(stage_at(point, "sum")) == 3);
    json_decref(point);
    json_t *runs = stage_json("runs --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(runs), 4);
    json_decref(runs);
    /* one that was stopped goes on, and is not trained anew */
    change("UPDATE run SET state = 'stopped', step = 0 WHERE id = 1; DELETE FROM artifact WHERE run = 1");
    char *rest = xprintf("rm -rf '%s-files/1'/*.safetensors", stage.db);
    assert_int_equal(system(rest), 0);
    free(rest);
    json_decref(again);
    again = stage_json("replicate '%s' --data '%s' --db '%s' --json", file, stage.folder, stage.db);
    assert_true(json_equal(all, again));
    runs = stage_json("runs --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(runs), 4);
    char *other = file_join(stage.folder, "other.md");
    free(stage_out(0, "replicate '%s' --from '%s' --page '%s'", file, results, other));
    struct buf a = BUF_INIT, b = BUF_INIT;
    struct err e = ERR_INIT;
    test_ok(file_read(page, 1 << 20, &a, &e), &e);
    test_ok(file_read(other, 1 << 20, &b, &e), &e);
    assert_string_equal(buf_text(&a), buf_text(&b));
    assert_non_null(strstr(buf_text(&a), "80.5 (copied)"));
    assert_non_null(strstr(buf_text(&a), "| later | `--method full` | – | not run |"));
    stage_refused(2, "exists", "replicate '%s' --data '%s' --db '%s/never.db' --out '%s'", file, stage.folder, stage.folder,
                  results); /* before anything runs */
    stage_refused(2, "exists", "replicate '%s' --from '%s' --page '%s' --json", file, results, other);
    json_decref(all), json_decref(again), json_decref(runs);
    buf_release(&a), buf_release(&b);
    free(text), free(file), free(results), free(page), free(other);
}

/* A cell's run that is there several times counts once: of the seeds 1, 2, 1, 1 two, of different weights the newest. */
static void a_seed_counts_once(void **state) {
    (void)state;
    static const int seed[] = { 1, 2, 1, 1 };
    char *db = file_join(stage.folder, "again.db");
    char *text = xprintf("{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1,2],\"cells\":["
                         "{\"id\":\"lora\",\"text\":\"--method 'lora(r=2)'\"}]}"), *file = written("again.json", text);
    for (int i = 0; i < 4; i++)
        free(stage_out(0, "train --model '%s' --task '%s/toys' --steps 4 --batch 2 --method 'lora(r=2)' --db '%s' --seed %d --cell "
                       "\"again/lora seed %d: petri train  --method 'lora(r=2)'\"", stage.model, stage.folder, db, seed[i], seed[i]));
    for (int differs = 0; differs < 2; differs++) {
        sqlite3 *by_hand;
        assert_int_equal(sqlite3_open(db, &by_hand), SQLITE_OK);
        const char *sql = differs ? "UPDATE run SET weights_sha256 = 'other', ended = ended + 100000 WHERE id = 3" : "";
        assert_int_equal(sqlite3_exec(by_hand, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(by_hand);
        json_t *all = stage_json("replicate '%s' --db '%s' --dry-run --json", file, db);
        json_t *cell = json_array_get(stage_at(json_array_get(all, 0), "cells"), 0);
        assert_int_equal(json_integer_value(stage_at(cell, "n")), 2);
        assert_int_equal(json_integer_value(json_array_get(stage_at(cell, "runs"), 0)), differs ? 3 : 1);
        assert_int_equal(json_integer_value(json_array_get(stage_at(cell, "runs"), 1)), 2);
        json_decref(all);
    }
    free(db), free(text), free(file);
}

static void a_slip_is_named(void **state) {
    (void)state;
    static const struct {
        const char *said, *text;
    } bad[] = {
        { "a JSON object", "[]" },
        { "\"version\" must be 1", "{\"version\":2}" },
        { "did you mean \"claim\"?", "{\"version\":1,\"clam\":\"x\"}" },
        { "\"base\" is missing", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\"}" },
        { "\"seeds\"", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[]}" },
        { "1 is listed twice", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1,2,1,1]}" },
        { "duplicate cell id", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1],\"cells\":[{\"id\":\"a\","
                       "\"text\":\"\"},{\"id\":\"a\",\"text\":\"\"}]}" },
        { "\"text\" must contain {run}", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1],\"cells\":["
                                  "{\"id\":\"a\",\"text\":\"\"},{\"id\":\"b\",\"of\":\"a\",\"path\":\"x\",\"text\":\"show\"}]}" },
        { "a \"path\" but no \"of\"", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1],\"cells\":["
                                   "{\"id\":\"a\",\"text\":\"\",\"path\":\"x\"}]}" },
        { "\"verb\" must be fewshot", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1],\"cells\":["
                                 "{\"id\":\"a\",\"text\":\"\",\"verb\":\"sweep\"}]}" },
        { "unknown cell \"b\"", "{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"\",\"seeds\":[1],\"cells\":["
                                     "{\"id\":\"a\",\"text\":\"\"}],\"contrasts\":[{\"id\":\"c\",\"a\":\"b\",\"direction\":\">\"}]}" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct experiment x;
        struct err e = ERR_INIT;
        char *file = written("bad.json", bad[i].text);
        assert_int_equal(experiment_read(&x, file, &e), ERR_INPUT);
        if (!strstr(e.text, bad[i].said) || !strstr(e.text, "bad.json")) fail_msg("%s", e.text);
        free(file);
    }
}

/* As claimed only where the interval allows it. */
static void a_verdict_needs_an_interval(void **state) {
    (void)state;
    struct experiment_contrast up = { .direction = 1 }, down = { .direction = -1 };
    const double clear[] = { 2, 2.1, 1.9 }, wide[] = { 5, -1, 3 };
    const struct experiment_shown sure = { .spread = spread_of(clear, 3) }, unsure = { .spread = spread_of(wide, 3) },
                                  one = { .spread = spread_of(clear, 1) }, none = { .spread = spread_of(clear, 0) };
    assert_string_equal(experiment_verdict(&up, &sure), "as claimed");
    assert_string_equal(experiment_verdict(&down, &sure), "contradicted");
    assert_string_equal(experiment_verdict(&up, &unsure), "not shown");
    assert_string_equal(experiment_verdict(&up, &one), "not shown");
    assert_string_equal(experiment_verdict(&up, &none), "not run");
    up.margin = 2.5;
    assert_string_equal(experiment_verdict(&up, &sure), "not shown");
}

/* Over tasks the sign test decides: of six, one against five is no sign. */
static void tasks_are_told_by_their_signs(void **state) {
    (void)state;
    struct experiment *x = xcalloc(1, sizeof *x);
    struct experiment_result *r = xcalloc(1, sizeof *r);
    experiment_result_init(r);
    x->seeds = 2;
    x->contrasts = 1;
    x->contrast[0] = (struct experiment_contrast){ .over_tasks = true, .terms = 1, .direction = 1 };
    x->contrast[0].term[0].b = 1;
    for (int t = 0; t < 6; t++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", t);
        for (int s = 0; s < 2; s++) experiment_add_task(&r->of_task[0][s], name, 50 + s);
        experiment_add_task(&r->of_task[1][0], name, t ? 48 : 51);
    }
    struct experiment_shown v = experiment_contrast_of(x, r, 0);
    assert_int_equal(v.up, 5);
    assert_int_equal(v.down, 1);
    assert_true(fabs(v.spread.mean - 9.0 / 6) < 1e-12);
    assert_string_equal(experiment_verdict(&x->contrast[0], &v), "not shown");
    r->of_task[1][0].value[0] = 40;
    v = experiment_contrast_of(x, r, 0);
    assert_true(fabs(sign_test(v.up, v.down) - 2.0 / 64) < 1e-12);
    assert_string_equal(experiment_verdict(&x->contrast[0], &v), "as claimed");
    assert_true(sign_test(0, 0) == 1 && fabs(sign_test(10, 2) - 0.03857421875) < 1e-12);
    experiment_result_release(r);
    free(r);
    free(x);
}

/* A cell whose runs are of few shots, from another cell's; its tasks come back out of the results. */
static void few_shots_are_cells(void **state) {
    (void)state;
    free(stage_task(&stage, "toys", 12));
    free(stage_task(&stage, "more", 12));
    char *text = xprintf("{\"version\":1,\"paper\":\"p\",\"claim\":\"c\",\"base\":\"--model '%s' --task {data}/toys "
                         "--steps 4 --batch 2 --lr 1e-3\",\"seeds\":[3],\"cells\":["
                         "{\"id\":\"run\",\"text\":\"--method 'lora(r=2)'\"},"
                         "{\"id\":\"from\",\"of\":\"run\",\"verb\":\"fewshot\",\"text\":"
                         "\"--from {run} --tasks {data}/toys,{data}/more --k 2 --draws 2 --steps 2\"},"
                         "{\"id\":\"own\",\"verb\":\"fewshot\",\"text\":"
                         "\"--model '%s' --method head --tasks {data}/toys,{data}/more --k 2 --draws 1 --steps 2\"}],"
                         "\"contrasts\":[{\"id\":\"gain\",\"a\":\"from\",\"b\":\"own\",\"over\":\"tasks\",\"direction\":\">\"}]}",
                         stage.model, stage.model);
    char *file = written("few.json", text), *results = file_join(stage.folder, "few-results.json");
    json_t *all = stage_json("replicate '%s' --data '%s' --db '%s' --out '%s' --json", file, stage.folder, stage.db, results);
    json_t *one = json_array_get(all, 0), *from = json_array_get(stage_at(one, "cells"), 1);
    json_t *tasks = json_array_get(stage_at(from, "tasks"), 0);
    assert_int_equal(json_object_size(tasks), 2);
    double mean = (json_number_value(stage_at(tasks, "toys")) + json_number_value(stage_at(tasks, "more"))) / 2;
    assert_true(fabs(json_number_value(stage_at(from, "mean")) - mean) < 1e-9);
    assert_int_equal(json_integer_value(stage_at(json_array_get(stage_at(one, "contrasts"), 0), "n")), 2);
    json_t *again = stage_json("replicate '%s' --from '%s' --json", file, results);
    assert_true(json_equal(all, again));
    json_decref(again);
    again = stage_json("replicate '%s' --data '%s' --db '%s' --json", file, stage.folder, stage.db);
    assert_true(json_equal(all, again)); /* found again by their cells */
    json_decref(again), json_decref(all);
    free(text), free(file), free(results);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_run_and_gone_on_with),
        cmocka_unit_test(a_seed_counts_once),
        cmocka_unit_test(a_slip_is_named),
        cmocka_unit_test(a_verdict_needs_an_interval),
        cmocka_unit_test(tasks_are_told_by_their_signs),
        cmocka_unit_test(few_shots_are_cells),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
