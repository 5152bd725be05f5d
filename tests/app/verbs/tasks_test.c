/* Several tasks in one run, as the command line has them: what is refused, what is kept, what uses it. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/writer.h"

static char *alpha, *beta, *pairs, *t5;

static char *subfolder(const char *name) {
    struct err e = ERR_INIT;
    char *folder = file_join(stage.folder, name);
    test_ok(file_make_folder(folder, &e), &e);
    return folder;
}

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    alpha = stage_task(&stage, "alpha", 0);
    beta = stage_task(&stage, "beta", 0);
    t5 = writer_model(stage.folder, "t5", FAMILY_T5, NULL);
    pairs = writer_pairs(stage.folder);
    char *deeper = subfolder("sub"), *again = stage_task(&stage, "sub/alpha", 0);
    free(deeper);
    free(again);
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(alpha);
    free(beta);
    free(pairs);
    free(t5);
    stage_release(&stage);
    return 0;
}

/* train's start on both tasks, for further options. */
static char *both(const char *db, const char *more) {
    return xprintf("train --model '%s' --tasks '%s,%s' --db '%s/%s' --batch 4 --lr 1e-3 %s%s", stage.model, alpha, beta,
                   stage.folder, db, strstr(more, "--method") ? "" : "--method 'lora(r=2)' ", more);
}

static json_t *trained(const char *db, const char *more) {
    struct command c;
    char *line = both(db, more);
    command_run(&c, NULL, "%s --json", line);
    command_expect(&c, 0);
    stage_json_lines(buf_text(&c.out));
    json_t *run = command_json(&c, 1);
    command_release(&c);
    free(line);
    return run;
}

static void refused(int status, const char *part, const char *more) {
    char *line = both("refused.db", more);
    stage_refused(status, part, "%s", line);
    free(line);
}

static void tasks_refused(int status, const char *part, const char *tasks, const char *more) {
    stage_refused(status, part, "train --model '%s' --tasks '%s' --db '%s/refused.db' --steps 2 %s", stage.model, tasks,
                  stage.folder, more);
}

static void what_is_no_list_of_tasks_is_refused(void **state) {
    (void)state;
    char *twice = xprintf("%s,%s/sub/alpha", alpha, stage.folder);
    tasks_refused(2, "duplicate task name alpha; set", twice, "");
    tasks_refused(2, "must name at least two tasks; use --task for one", alpha, "");
    char *empty = xprintf("%s,,%s", alpha, beta);
    tasks_refused(2, "empty name", empty, "");
    char *unknown = xprintf("%s,no-such-task", alpha);
    tasks_refused(3, "no-such-task", unknown, "");
    free(twice);
    free(empty);
    free(unknown);
    refused(2, "--weights gamma=2: unknown task gamma; the run has alpha, beta", "--steps 2 --weights gamma=2");
    refused(2, "--weights beta: must be TASK=NUMBER pairs", "--steps 2 --weights beta");
    refused(2, "duplicate task beta", "--steps 2 --weights beta=2,beta=3");
    refused(2, "with numbers above 0", "--steps 2 --weights beta=0");
    refused(2, "--sampling", "--steps 2 --sampling always");
    refused(2, "not both", "--steps 2 --task reviews");
    /* options of one task are set in a list file */
    refused(2, "--metric: applies to a single task", "--steps 2 --metric f1");
    refused(2, "--label: applies to a single task", "--steps 2 --label y");
    stage_refused(2, "--weights: applies only to multi-task runs", "train --model '%s' --task '%s' --db '%s/refused.db' --weights a=2",
                  stage.model, alpha, stage.folder);
}

static char *list_file(const char *name, const char *text) {
    char *folder = file_join(stage.folder, "sub"), *path = test_file(folder, name, text, strlen(text));
    free(folder);
    return path;
}

static void list_refused(int status, const char *part, const char *text, const char *model) {
    char *path = list_file("bad.json", text);
    stage_refused(status, part, "train --model '%s' --tasks '%s' --db '%s/refused.db' --steps 2", model, path, stage.folder);
    free(path);
}

static void forms_that_do_not_go_together_are_refused(void **state) {
    (void)state;
    char *mixed = xprintf("[{\"task\":\"../alpha\"},{\"name\":\"texts\",\"train\":\"%s\",\"dev\":\"%s\","
                          "\"source\":\"source\",\"target\":\"target\"}]", pairs, pairs);
    list_refused(2, "task texts", mixed, stage.model); /* an encoder writes nothing */
    list_refused(2, "labeled and text-to-text tasks cannot be trained in one run", mixed, t5);
    free(mixed);
}

static void a_broken_list_is_refused_by_its_place(void **state) {
    (void)state;
    list_refused(5, "bad.json", "[", stage.model);
    list_refused(5, "must be a JSON array of tasks", "{}", stage.model);
    list_refused(5, "task 2: unknown key \"fil\"; valid keys: name, task, train,", "[{\"task\":\"../alpha\"},{\"fil\":\"x\"}]",
                 stage.model);
    list_refused(5, "task 1: \"name\": must be a string", "[{\"name\":1}]", stage.model);
    list_refused(5, "task 1: must have either \"task\", or \"train\" and \"dev\"", "[{\"name\":\"a\"}]", stage.model);
    list_refused(5, "task 1: missing \"name\"", "[{\"train\":\"a.tsv\"}]", stage.model);
    list_refused(2, "invalid task name", "[{\"name\":\"a b\",\"task\":\"../alpha\"},{\"task\":\"../beta\"}]", stage.model);
}

/* Counts the events of each task, and expects the further values of each step. */
static void events_name_tasks(char *out) {
    static const char *const name[] = { "alpha", "other", "rows", "" };
    int evaluations[4] = { 0 }, checkpoints[4] = { 0 }, points = 0;
    for (char *line; (line = strsep(&out, "\n"));) {
        json_t *record = *line ? json_loads(line, 0, NULL) : NULL, *event = record ? json_object_get(record, "event") : NULL;
        const char *kind = event ? json_string_value(event) : "", *task = json_string_value(json_object_get(record, "task"));
        size_t at = 0;
        while (at < 3 && (!task || strcmp(task, name[at]) != 0)) at++;
        evaluations[at] += !strcmp(kind, "evaluation");
        checkpoints[at] += !strcmp(kind, "checkpoint");
        if (!strcmp(kind, "point")) {
            json_t *values = stage_at(record, "values");
            points++;
            assert_true(json_is_number(json_object_get(values, "loss.task")));
            assert_true(json_is_number(json_object_get(values, "loss.orthogonality")));
            assert_true(json_is_number(json_object_get(values, "ranks")));
            assert_true(json_is_number(json_object_get(values, "alpha/loss")) || json_is_number(json_object_get(values, "other/loss")) ||
                        json_is_number(json_object_get(values, "rows/loss")));
        }
        json_decref(record);
    }
    assert_int_equal(points, 2);
    for (int i = 0; i < 3; i++) assert_true(evaluations[i] && checkpoints[i]);
    assert_true(evaluations[3] > 0); /* of them together */
}

/* Paths of a list are beside it, whatever folder petri is started in. */
static void a_list_file_names_tasks_beside_it(void **state) {
    (void)state;
    char *path = list_file("list.json", "[{\"task\":\"alpha\"},{\"name\":\"other\",\"task\":\"../alpha\"},"
                                        "{\"name\":\"rows\",\"train\":\"../beta/train.tsv\",\"dev\":\"../beta/dev.tsv\","
                                        "\"text\":\"text\",\"label\":\"label\",\"metric\":\"f1\"}]");
    char *out = stage_out(0, "train --model '%s' --tasks '%s' --db '%s/list.db' --steps 2 --batch 4 --json "
                             "--method 'adalora(r=2)' --best per-task", stage.model, path, stage.folder);
    events_name_tasks(out);
    free(out);
    json_t *run = stage_json("show 1 --db '%s/list.db' --json", stage.folder);
    assert_string_equal(stage_text(run, "task"), "alpha+other+rows");
    static const char *const metric[] = { "accuracy", "accuracy", "f1" };
    for (size_t i = 0; i < COUNT_OF(metric); i++)
        assert_string_equal(stage_text(json_array_get(stage_at(run, "tasks"), i), "metric"), metric[i]);
    json_decref(run);
    free(path);
}

/* The same members in each answer about a run. */
static void results_stand(json_t *run) {
    json_t *tasks = stage_at(run, "tasks");
    assert_int_equal(json_array_size(tasks), 2);
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        json_t *t = json_array_get(tasks, i);
        assert_string_equal(stage_text(t, "task"), i ? "beta" : "alpha");
        assert_string_equal(stage_text(t, "metric"), "accuracy");
        assert_true(json_is_number(stage_at(t, "value")) && json_is_number(stage_at(t, "majority")));
        assert_int_equal(json_integer_value(stage_at(t, "step")), json_integer_value(stage_at(run, "best.step")));
        sum += json_number_value(stage_at(t, "value"));
    }
    assert_float_equal(json_number_value(stage_at(run, "average")), sum / 2, 1e-12);
    assert_string_equal(stage_text(run, "best.metric"), "average");
    assert_true(json_number_value(stage_at(run, "best.value")) == json_number_value(stage_at(run, "average")));
}

static void results_stand_by_task_everywhere(void **state) {
    (void)state;
    json_t *run = trained("use.db", "--steps 4 --eval-steps 2 --weights beta=2 --sampling 'stratified(10)'");
    results_stand(run);
    json_decref(run);
    json_t *list = stage_json("runs --db '%s/use.db' --json", stage.folder);
    results_stand(json_array_get(list, 0));
    json_decref(list);
    run = stage_json("show 1 --db '%s/use.db' --json", stage.folder);
    results_stand(run);
    static const char *const key[] = { "loss", "alpha/loss", "beta/loss", "tasks.average", "alpha/dev.accuracy",
                                       "beta/dev.accuracy", "beta/dev.loss", "beta/dev.majority" };
    for (size_t i = 0; i < COUNT_OF(key); i++)
        if (!json_object_get(stage_at(run, "values"), key[i])) fail_msg("no point %s", key[i]);
    assert_string_equal(stage_text(run, "config.sampling"), "stratified(10)");
    json_decref(run);
    char *record = stage_out(0, "export 1 --db '%s/use.db' --to json", stage.folder);
    stage_json_lines(record);
    *strchr(record, '\n') = '\0'; /* its points follow */
    run = json_loads(record, 0, NULL);
    results_stand(run);
    json_decref(run);
    free(record);
    /* of one task these members are not there */
    json_t *one = stage_train(&stage, 0, "--steps 2");
    assert_null(json_object_get(one, "tasks"));
    assert_null(json_object_get(one, "average"));
    json_decref(one);
}

static void a_task_of_the_run_is_used(void **state) {
    (void)state;
    const char *in = stage.folder;
    stage_refused(2, "--task: required for a multi-task run; choose one of alpha, beta", "predict 1 --db '%s/use.db' --text 'good film'", in);
    stage_refused(2, "--task gamma: unknown task; the run has alpha, beta", "eval 1 --db '%s/use.db' --task gamma", in);
    stage_refused(2, "unknown task; the run has", "export 1 --db '%s/use.db' --task gamma --to hf '%s/none'", in, in);
    json_t *v = stage_json("eval 1 --db '%s/use.db' --task beta --json", in);
    json_t *run = stage_json("show 1 --db '%s/use.db' --json", in);
    double kept = json_number_value(stage_at(json_array_get(stage_at(run, "tasks"), 1), "value"));
    json_t *metrics = json_object_get(v, "metrics") ? stage_at(v, "metrics") : v;
    assert_true(json_number_value(stage_at(metrics, "accuracy")) == kept);
    json_decref(v);
    json_decref(run);
    static const char *const read[] = { "train", "dev" };
    for (size_t i = 0; i < COUNT_OF(read); i++) /* of the other task too */
        stage_refused(2, "it is an input file", "eval 1 --db '%s/use.db' --task beta --wrong '%s/%s.tsv' --overwrite", in,
                      alpha, read[i]);
    char *out = stage_out(0, "eval 1 --db '%s/use.db' --task beta --file '%s/dev.tsv' --json", in, alpha);
    free(out);
    out = stage_out(0, "predict 1 --db '%s/use.db' --task alpha --text 'good film' --json", in);
    assert_non_null(strstr(out, "\"label\""));
    free(out);
    out = stage_out(0, "export 1 --db '%s/use.db' --task beta --to hf '%s/beta-hf'", in, in);
    free(out);
    char *config = xprintf("%s/beta-hf/model.safetensors", in);
    assert_true(file_exists(config));
    free(config);
    free(stage_out(0, "embed --run 1 --task beta --db '%s/use.db' --json", in));
    free(stage_out(0, "similarity 1 --of rows --task beta --db '%s/use.db' --json", in));
}

static void a_best_checkpoint_each(void **state) {
    (void)state;
    json_t *run = trained("each.db", "--steps 4 --eval-steps 2 --best per-task");
    json_decref(run);
    char *kinds = stage_out(0, "sql --db '%s/each.db' \"SELECT DISTINCT kind FROM v_artifacts WHERE kind LIKE 'best%%' ORDER BY 1\"",
                            stage.folder);
    assert_string_equal(kinds, "\"kind\"\n\"best.alpha\"\n\"best.beta\"\n");
    free(kinds);
    free(stage_out(0, "eval 1 --db '%s/each.db' --task beta", stage.folder));
}

/* Stopped midway and gone on with by another number of workers: the same bits. */
static void a_resumed_run_has_the_same_bits(void **state) {
    (void)state;
    static const char more[] = "--steps 2000 --eval-steps 500 --sampling 'temperature(5)' --workers 2";
    json_t *whole = trained("whole.db", more);
    struct stage part = stage;
    part.db = file_join(stage.folder, "part.db");
    int id = 0;
    for (bool stopped = false; !stopped;) {
        char *line = both("part.db", more);
        pid_t pid = command_start(stage.folder, "%s", line);
        stopped = stage_stop_midway(&part, pid, ++id, 50);
        free(line);
        if (id == 5 && !stopped) fail_msg("no run could be stopped midway");
    }
    struct command c;
    command_run(&c, NULL, "resume %d --workers 1 --db '%s' --json", id, part.db);
    command_expect(&c, 0);
    json_t *run = command_json(&c, 1);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_string_equal(stage_text(run, "weights_sha256"), stage_text(whole, "weights_sha256"));
    results_stand(run);
    assert_true(json_equal(stage_at(run, "tasks"), stage_at(whole, "tasks")));
    json_decref(run);
    json_decref(whole);
    command_release(&c);
    free(part.db);
}

static void counts_are_of_so_many_tasks(void **state) {
    (void)state;
    json_t *v = stage_json("count --model '%s' --method adapter-per-task --tasks 2 --classes 2,3 --json", stage.model);
    json_int_t trained_now = json_integer_value(stage_at(v, "trained"));
    assert_int_equal(json_integer_value(stage_at(v, "tasks")), 2);
    assert_int_equal(json_integer_value(stage_at(v, "own")), trained_now);
    assert_int_equal(json_integer_value(stage_at(v, "shared")), 0);
    assert_true(json_number_value(stage_at(v, "per_task")) == (double)trained_now / 2);
    json_t *one = stage_json("count --model '%s' --method adapter-per-task --classes 5 --json", stage.model);
    assert_int_equal(json_integer_value(stage_at(one, "trained")), trained_now / 2);
    /* heads of 2 and 3 outputs have together the values of one of 5 */
    assert_int_equal(json_integer_value(stage_at(v, "head")), json_integer_value(stage_at(one, "head")));
    json_decref(one);
    json_decref(v);
    stage_refused(2, "found 3 values for 4 tasks", "count --model '%s' --method lora --tasks 4 --classes 2,3,4", stage.model);
    stage_refused(2, "too many values for 2 tasks", "count --model '%s' --method lora --tasks 2 --classes 2,3,4", stage.model);
    stage_refused(2, "must be integers between 1 and 100000", "count --model '%s' --method lora --classes two", stage.model);
    json_t *methods = stage_json("methods --json");
    size_t i;
    json_t *p;
    int words = 0;
    json_array_foreach(methods, i, p) words += json_is_string(json_object_get(p, "same_as"));
    assert_int_equal(words, 3); /* not rslora, whose scale is another */
    json_decref(methods);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_list_of_tasks_is_refused),
        cmocka_unit_test(forms_that_do_not_go_together_are_refused),
        cmocka_unit_test(a_broken_list_is_refused_by_its_place),
        cmocka_unit_test(a_list_file_names_tasks_beside_it),
        cmocka_unit_test(results_stand_by_task_everywhere),
        cmocka_unit_test(a_task_of_the_run_is_used),
        cmocka_unit_test(a_best_checkpoint_each),
        cmocka_unit_test(a_resumed_run_has_the_same_bits),
        cmocka_unit_test(counts_are_of_so_many_tasks),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
