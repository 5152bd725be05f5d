/* A run's splits, from the rows to the history and back out. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* A file in MNLI's own layout; gold is the class of every row but the first. */
static void mnli_file(const char *folder, const char *name, int rows, const char *gold) {
    struct buf text = BUF_INIT;
    buf_puts(&text, "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
                    "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n");
    static const char *const classes[] = { "entailment", "neutral", "contradiction" };
    for (int i = 0; i < rows; i++) {
        const char *label = gold && i ? gold : classes[i % 3];
        buf_printf(&text, "%d\t0\t0\tfiction\t_\t_\t_\t_\tthe cat %s\ta mat\t%s\t%s\n", i,
                   i % 2 ? "good film" : "bad film", label, label);
    }
    free(test_file(folder, name, text.data, text.size));
    buf_release(&text);
}

static char *mnli(void) {
    char *parent = test_folder(), *folder = file_join(parent, "MNLI");
    struct err e = ERR_INIT;
    test_ok(file_make_folder(folder, &e), &e);
    mnli_file(folder, "train.tsv", 12, NULL);
    mnli_file(folder, "dev_matched.tsv", 9, NULL);
    mnli_file(folder, "dev_mismatched.tsv", 7, "neutral");
    free(parent);
    return folder;
}

/* Each value that was told while training is in the history, under the split it was told of. */
static int told_is_kept(json_t *event, const struct stage *s) {
    if (strcmp(stage_text(event, "event"), "evaluation")) return 0;
    int n = 0;
    const char *metric, *split = stage_text(event, "split");
    json_t *value;
    json_object_foreach(stage_at(event, "metrics"), metric, value) {
        char *out = stage_out(0, "sql --db '%s' --json \"SELECT value FROM v_points WHERE run=1 AND key='%s.%s' AND "
                                 "step=%lld\"", s->db, split, metric, json_integer_value(stage_at(event, "step")));
        json_t *row = json_loads(out, 0, NULL);
        if (!row) fail_msg("%s.%s was not kept", split, metric);
        assert_true(json_number_value(stage_at(row, "value")) == json_number_value(value));
        json_decref(row);
        free(out);
        n++;
    }
    return n;
}

static void two_dev_splits_are_kept_apart(void **state) {
    (void)state;
    char *folder = mnli();
    char *out = stage_out(0, "train --model '%s' --task '%s' --db '%s' --method 'lora(r=2)' --batch 4 --steps 6 "
                             "--eval-steps 2 --lr 0.05 --json", stage.model, folder, stage.db);
    int values = 0, splits[2] = { 0 };
    json_t *record = NULL;
    char *rest = out, *line;
    while ((line = strsep(&rest, "\n"))) {
        if (!*line) continue;
        json_decref(record);
        record = json_loads(line, 0, NULL);
        assert_non_null(record);
        if (!json_object_get(record, "event")) continue;
        values += told_is_kept(record, &stage);
        json_t *split = json_object_get(record, "split");
        if (!split || strncmp(json_string_value(split), "dev", 3) != 0) continue; /* what moved is told too */
        bool first = !strcmp(json_string_value(split), "dev_matched");
        splits[first ? 0 : 1]++;
        if (!first) assert_false(json_is_true(stage_at(record, "best")));
    }
    assert_int_equal(splits[0], 3);
    assert_int_equal(splits[1], 3);
    assert_in_range(values, 12, 100);
    /* the record's best is the first split's */
    char *best = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_runs r JOIN v_best b ON b.run=r.id AND "
                              "b.key='dev_matched.accuracy' AND b.value=r.best AND b.step=r.best_step\"", stage.db);
    assert_string_equal(best, "\"count(*)\"\n1\n");
    assert_true(json_is_number(stage_at(record, "best.value")));
    json_decref(record);
    char *replayed = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_events WHERE kind='differs'\"", stage.db);
    assert_string_equal(replayed, "\"count(*)\"\n0\n");
    char *shown = stage_out(0, "show 1 --db '%s'", stage.db);
    assert_non_null(strstr(shown, "dev_matched.accuracy"));
    assert_non_null(strstr(shown, "dev_mismatched.accuracy"));
    assert_non_null(strstr(shown, "  best"));
    /* the rows of both, each with its split's name */
    char *wrong = file_join(folder, "wrong.tsv");
    free(stage_out(0, "eval 1 --db '%s' --wrong '%s'", stage.db, wrong));
    struct buf tsv;
    struct err e = ERR_INIT;
    test_ok(file_read(wrong, 1 << 16, &tsv, &e), &e);
    assert_int_equal(strncmp(buf_text(&tsv), "split\tline\tgold\t", 16), 0);
    assert_non_null(strstr(buf_text(&tsv), "\ndev_matched\t"));
    assert_non_null(strstr(buf_text(&tsv), "\ndev_mismatched\t"));
    buf_release(&tsv);
    free(wrong);
    json_t *listed = stage_json("runs --db '%s' 'acc>=0' --json", stage.db);
    assert_int_equal(json_array_size(listed), 1);
    json_decref(listed);
    char *drawn = stage_out(0, "render --screen train --run 1 --db '%s' --model '%s'", stage.db, stage.model);
    assert_non_null(strstr(drawn, "dev_matched 9"));
    assert_null(strstr(drawn, "dev_mismatched"));
    free(drawn);
    free(shown);
    free(replayed);
    free(best);
    free(out);
    free(folder);
}

/* A run goes on with both dev files as they were, and with neither changed. */
static void a_changed_second_dev_file_is_noticed(void **state) {
    (void)state;
    char *folder = mnli(), *db = file_join(folder, "two.db");
    pid_t pid = command_start(folder, "train --model '%s' --task '%s' --db '%s' --method 'lora(r=2)' --batch 4 "
                              "--steps 100000 --eval-steps 10", stage.model, folder, db);
    struct stage two = stage;
    two.db = db;
    stage_wait_step(&two, 1, 10);
    free(stage_out(0, "stop 1 --db '%s'", db));
    command_wait(pid, 20);
    static const char *const name[] = { "dev_matched.tsv", "dev_mismatched.tsv" };
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        char *was = test_text(folder, name[i]);
        mnli_file(folder, name[i], 8, "entailment");
        stage_refused(5, i ? "the second validation file has changed since" : "dev_matched.tsv: changed since", "resume 1 --db '%s'", db);
        test_put(folder, name[i], was);
        free(was);
    }
    free(db);
    free(folder);
}

/* A folder whose dev rows are one file, called val.tsv. */
static char *one_dev_file(void) {
    char *folder = mnli(), *matched = file_join(folder, "dev_matched.tsv"), *val = file_join(folder, "val.tsv"),
         *mismatched = file_join(folder, "dev_mismatched.tsv");
    assert_int_equal(rename(matched, val), 0);
    assert_int_equal(remove(mismatched), 0);
    free(mismatched);
    free(val);
    free(matched);
    return folder;
}

/* One split is "dev", whatever its file is called. */
static void the_only_split_is_called_dev(void **state) {
    (void)state;
    char *folder = one_dev_file(), *db = file_join(folder, "one.db");
    free(stage_out(0, "train --model '%s' --task '%s' --db '%s' --method 'lora(r=2)' --batch 4 --steps 2",
                   stage.model, folder, db));
    char *keys = stage_out(0, "sql --db '%s' \"SELECT DISTINCT key FROM v_points WHERE key LIKE '%%.accuracy'\"", db);
    assert_string_equal(keys, "\"key\"\n\"dev.accuracy\"\n");
    free(keys);
    free(db);
    free(folder);
}

/* Names of the points that an SQL condition picks, a line each. */
static char *keys_where(const char *db, const char *condition) {
    return stage_out(0, "sql --db '%s' \"SELECT DISTINCT key FROM v_points WHERE %s ORDER BY key\"", db, condition);
}

/* A folder whose dev rows are shared out: the test rows' scores are kept, once, and a clone says the same. */
static void a_test_split_is_kept(void **state) {
    (void)state;
    char *folder = one_dev_file(), *db = file_join(folder, "test.db");
    free(stage_out(0, "train --model '%s' --task '%s' --db '%s' --method 'lora(r=2)' --batch 4 --steps 6 --eval-steps 2 "
                      "--split-validation --split-seed 7 --limit 75%% --limit-seed 2", stage.model, folder, db));
    char *keys = keys_where(db, "key LIKE '%.accuracy'"),
         *steps = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_points WHERE key='test.accuracy' AND step=6\"", db);
    assert_string_equal(keys, "\"key\"\n\"dev.accuracy\"\n\"test.accuracy\"\n");
    assert_string_equal(steps, "\"count(*)\"\n1\n");
    char *shown = stage_out(0, "show 1 --db '%s'", db);
    assert_non_null(strstr(shown, "--limit: sampled 9 of the 12 examples at random (seed 2)"));
    assert_non_null(strstr(shown, "4 of the 9 examples, sampled by --split-validation (seed 7); the others are the test set"));
    assert_non_null(strstr(shown, "the test set has 5 examples and is evaluated once, at the end of a run"));
    assert_non_null(strstr(shown, "test 5 (best checkpoint, step "));
    assert_non_null(strstr(shown, "\"split_validation\":\"on\",\"split_seed\":7,\"limit\":0.75,\"limit_seed\":2"));
    /* eval scores the dev rows, as the run did */
    json_t *again = stage_json("eval 1 --db '%s' --json", db);
    assert_int_equal(json_integer_value(stage_at(again, "rows")), 4);
    char *drawn = stage_out(0, "embed --run 1 --split test --db '%s'", db);
    assert_non_null(strstr(drawn, "5 examples of MNLI (test)"));
    free(drawn);
    json_decref(again);
    free(shown);
    free(steps);
    free(keys);
    free(db);
    free(folder);
}

/* What a batch of several tasks holds, by the rows that are left to train on. */
static void tasks_tells_what_a_batch_holds(void **state) {
    (void)state;
    char *parent = test_folder();
    static const char *const name[] = { "few", "many" };
    for (int i = 0; i < 2; i++) {
        char *folder = file_join(parent, name[i]);
        struct buf text = BUF_INIT;
        struct err e = ERR_INIT;
        test_ok(file_make_folder(folder, &e), &e);
        buf_puts(&text, "sentence\tlabel\n");
        for (int k = 0; k < (i ? 60 : 20); k++) buf_printf(&text, "row %d\t%d\n", k, k % 2);
        free(test_file(folder, "train.tsv", text.data, text.size));
        free(test_file(folder, "dev.tsv", text.data, text.size));
        buf_release(&text);
        free(folder);
    }
    static const struct {
        const char *options;
        int rows[2];
        double expected[2];
    } want[] = {
        { "", { 20, 60 }, { 8, 24 } },
        { "--batch 8", { 20, 60 }, { 2, 6 } },
        { "--limit 50% --limit-seed 3", { 10, 30 }, { 8, 24 } },
        { "--limit 20 --batch 16", { 20, 20 }, { 8, 8 } },
        { "--sampling 'temperature(1e6)'", { 20, 60 }, { 16, 16 } },
        { "--sampling 'stratified(1)' --batch 4", { 20, 60 }, { 2, 2 } },
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        json_t *v = stage_json("tasks '%s/few,%s/many' %s --json", parent, parent, want[i].options);
        double batch = want[i].expected[0] + want[i].expected[1];
        assert_int_equal(json_array_size(v), 2);
        for (int k = 0; k < 2; k++) {
            json_t *t = json_array_get(v, (size_t)k);
            assert_string_equal(stage_text(t, "task"), name[k]);
            assert_int_equal(json_integer_value(stage_at(t, "rows")), want[i].rows[k]);
            assert_float_equal(json_number_value(stage_at(t, "expected")), want[i].expected[k], 1e-4);
            assert_float_equal(json_number_value(stage_at(t, "probability")), want[i].expected[k] / batch, 1e-5);
        }
        json_decref(v);
    }
    char *table = stage_out(0, "tasks '%s/few,%s/many' --sampling stratified", parent, parent);
    assert_non_null(strstr(table, "expected number of examples in a batch of 32 with --sampling stratified(10)"));
    stage_refused(2, "--batch: requires A,B,C", "tasks --batch 8");
    stage_refused(2, "must name at least two tasks", "tasks '%s/few'", parent);
    stage_refused(2, "--sampling some: must be proportional", "tasks '%s/few,%s/many' --sampling some", parent, parent);
    stage_refused(3, "task none", "tasks '%s/few,%s/none'", parent, parent);
    stage_refused(2, "--limit 0.1%: selects none", "tasks '%s/few,%s/many' --limit 0.1%%", parent, parent);
    free(table);
    free(parent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_dev_splits_are_kept_apart),
        cmocka_unit_test(a_changed_second_dev_file_is_noticed),
        cmocka_unit_test(the_only_split_is_called_dev),
        cmocka_unit_test(a_test_split_is_kept),
        cmocka_unit_test(tasks_tells_what_a_batch_holds),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
