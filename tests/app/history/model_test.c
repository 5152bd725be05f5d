/* A run and its model: what changed is noticed, what moved is found, what is missing is said. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/edit.h"
#include "tests/support/history.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

/* The line runs, and `part` is among what it says on standard error (NULL: nothing is). */
static void says(const char *part, const char *line) {
    struct command c;
    command_run(&c, NULL, "%s", line);
    command_expect(&c, 0);
    const char *said = buf_text(&c.err);
    if (part ? !strstr(said, part) : *said) fail_msg("%s\nwanted %s in: %s", line, part ? part : "nothing", said);
    command_release(&c);
}

/* ---- what a model is ---- */

/* Stops run 1 where it can be resumed. */
static void leave_a_stopped_run(void) {
    char *more = xprintf("--steps 100000 --eval-steps 10 --dev '%s'", stage.toy), *line = stage_line(&stage, more);
    pid_t pid = command_start(stage.folder, "%s", line);
    stage_wait_step(&stage, 1, 20);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    command_wait(pid, 20);
    free(line);
    free(more);
}

static void a_changed_model_is_noticed(void **state) {
    (void)state;
    static const struct {
        const char *file, *from, *to, *part;
    } cases[] = {
        { "vocab.txt", "good\nbad\n", "bad\ngood\n", "/vocab.txt: changed since" },
        { "tokenizer_config.json", "true", "false", "/tokenizer_config.json: changed since" },
        { "config.json", "\"gelu\"", "\"relu\"", "/config.json: \"activation\" changed since" },
        { "config.json", "_heads\":2", "_heads\":4", "/config.json: \"heads\" changed since" },
        { "config.json", "1e-12", "1e-5", "/config.json: \"norm_epsilon\" changed since" },
    };
    leave_a_stopped_run();
    char *right = stage_out(0, "predict 1 --text 'good film' --db '%s'", stage.db);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *was = test_text(stage.model, cases[i].file), *now = test_with(was, cases[i].from, cases[i].to);
        test_put(stage.model, cases[i].file, now);
        stage_refused(5, cases[i].part, "predict 1 --text 'good film' --db '%s'", stage.db);
        stage_refused(5, cases[i].part, "eval 1 --db '%s'", stage.db);
        stage_refused(5, cases[i].part, "embed --run 1 --db '%s'", stage.db);
        stage_refused(5, cases[i].part, "export 1 --to hf '%s/out' --db '%s'", stage.folder, stage.db);
        stage_refused(5, cases[i].part, "resume 1 --db '%s'", stage.db);
        test_put(stage.model, cases[i].file, was);
        free(was);
        free(now);
    }
    /* what takes the place of a file that was read */
    test_put(stage.model, "vocab.json", "{\"a\":0}");
    char *again = stage_out(0, "predict 1 --text 'good film' --db '%s'", stage.db); /* merges.txt is missing: not read */
    assert_string_equal(again, right);
    free(again);
    /* names of labels and the stored type decide nothing here */
    char *was = test_text(stage.model, "config.json"),
         *now = test_with(was, "{", "{\"id2label\":{\"0\":\"x\"},\"torch_dtype\":\"float16\",\"transformers_version\":\"9\",");
    test_put(stage.model, "config.json", now);
    again = stage_out(0, "predict 1 --text 'good film' --db '%s'", stage.db);
    assert_string_equal(again, right);
    test_put(stage.model, "config.json", was);
    free(was);
    free(now);
    free(again);
    free(right);
}

/* Vectors that were kept of the model are not those of the model under another vocabulary. */
static void kept_vectors_are_of_one_model(void **state) {
    (void)state;
    char *task = stage_task(&stage, "toys", 0);
    char *line = xprintf("embed --model '%s' --task '%s' --db '%s'", stage.model, task, stage.db);
    char *first = stage_out(0, "%s", line), *second = stage_out(0, "%s", line);
    assert_non_null(strstr(second, "already saved"));
    char *was = test_text(stage.model, "vocab.txt"), *now = test_with(was, "good\nbad\n", "bad\ngood\n");
    test_put(stage.model, "vocab.txt", now);
    char *third = stage_out(0, "%s", line);
    assert_null(strstr(third, "already saved"));
    char *all[] = { task, line, first, second, third, was, now };
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
}

static void a_run_without_facts_is_taken_and_that_is_said(void **state) {
    (void)state;
    struct history h;
    history_init(&h, stage.folder, true);
    history_change(&h, "UPDATE run SET config=replace(config,'model_facts','model_fact_')");
    char *sed = xprintf("sed -i s/model_facts/model_fact_/ '%s'-files/[12]/*", h.db);
    assert_int_equal(system(sed), 0);
    free(sed);
    char *old = xprintf("predict 1 --text cat --db '%s'", h.db), *resume = xprintf("resume 2 --db '%s'", h.db);
    says("did not record config.json and the tokenizer", old);
    says("did not record config.json and the tokenizer", resume);
    json_decref(stage_train(&stage, 0, "--steps 2"));
    char *new = xprintf("predict 1 --text cat --db '%s'", stage.db);
    says(NULL, new);
    free(old);
    free(new);
    free(resume);
    history_release(&h);
}

/* ---- the folder's head ---- */

/* Accuracy on the same rows: of the folder as it is, and of a run on it before anything has moved. */
static void scores(const char *model, const char *file, double *eval, double *train) {
    json_t *v = stage_json("eval --model '%s' --file '%s' --text text --label label --json", model, file);
    *eval = json_number_value(stage_at(v, "metrics.accuracy"));
    json_decref(v);
    struct command c;
    command_run(&c, NULL, "train --model '%s' --train '%s' --dev '%s' --text text --label label --method head --lr 1e-30 "
                "--steps 1 --db '%s' --json", model, file, file, stage.db);
    command_expect(&c, 0);
    v = command_json(&c, 1);
    *train = json_number_value(stage_at(v, "best.value"));
    json_decref(v);
    command_release(&c);
}

static void a_heads_rows_go_to_classes_by_name(void **state) {
    (void)state;
    static const char *const reversed[] = { "spam", "ham" }, *const nli[] = { "entailment", "neutral", "contradiction" },
                            *const upper[] = { "ENTAILMENT", "Neutral", "CONTRADICTION" };
    static const double two[] = { 2, 0 }, three[] = { 0, 0, 2 };
    static const char spam[] = "text\tlabel\ngood film\tspam\nbad film\tham\ncat\tspam\n";
    static const char entail[] =
        "text\tlabel\ngood\tcontradiction\nbad\tentailment\ncat\tneutral\nmat\tcontradiction\n";
    static const char numbers[] = "text\tlabel\ngood\t2\nbad\t0\ncat\t1\nmat\t2\n";
    const struct {
        const char *name;
        struct tiny tiny;
        const char *rows, *said;
        double accuracy;
    } cases[] = {
        { "rev", { .outputs = 2, .labels = reversed, .head_bias = two }, spam,
          "matched by name: \"ham\" is output 1, \"ham\", \"spam\" is output 0", 2.0 / 3 },
        { "ent", { .outputs = 3, .labels = nli, .head_bias = three }, entail, "\"contradiction\" is output 2", 0.5 },
        { "up", { .outputs = 3, .labels = upper, .head_bias = three }, entail,
          "\"contradiction\" is output 2, \"CONTRADICTION\"", 0.5 },
        { "number", { .outputs = 3, .labels = nli, .head_bias = three }, numbers,
          "numeric classes are matched to output indices: \"0\" is output 0, \"entailment\"", 0.5 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *model = tiny_bert(stage.folder, cases[i].name, &cases[i].tiny);
        char *name = xprintf("%s.tsv", cases[i].name), *file = test_file(stage.folder, name, cases[i].rows, strlen(cases[i].rows));
        double eval, train;
        scores(model, file, &eval, &train);
        assert_float_equal(eval, cases[i].accuracy, 1e-9);
        assert_float_equal(train, cases[i].accuracy, 1e-9);
        char *line = xprintf("train --model '%s' --train '%s' --text text --label label --method head --steps 1 --db '%s'",
                             model, file, stage.db);
        says(cases[i].said, line);
        /* what the run is exported as says the same */
        char *out = xprintf("%s/out-%s", stage.folder, cases[i].name);
        free(stage_out(0, "export %zu --to hf '%s' --db '%s'", 2 * i + 1, out, stage.db));
        json_t *v = stage_json("eval --model '%s' --file '%s' --text text --label label --json", out, file);
        assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), cases[i].accuracy, 1e-9);
        json_decref(v);
        char *all[] = { model, name, file, line, out };
        for (size_t k = 0; k < COUNT_OF(all); k++) free(all[k]);
    }
}

static void other_names_mean_a_new_head(void **state) {
    (void)state;
    static const char *const other[] = { "left", "right" }, *const more[] = { "neg", "pos", "none" };
    static const double bias[] = { 3, 0, 0 };
    char *line[3];
    char *a = tiny_bert(stage.folder, "other", &(struct tiny){ .outputs = 2, .labels = other, .head_bias = bias });
    char *b = tiny_bert(stage.folder, "more", &(struct tiny){ .outputs = 3, .labels = more, .head_bias = bias });
    char *c = tiny_bert(stage.folder, "none", &(struct tiny){ .outputs = 2, .head_bias = bias });
    const char *const model[] = { a, b, c };
    static const char *const said[] = {
        "head: newly initialized: the classification head of the checkpoint has the classes \"left\", \"right\"; the task has \"neg\", \"pos\"",
        "head: newly initialized: the classification head of the checkpoint has the classes \"neg\", \"pos\", \"none\"; the task has \"neg\", \"pos\"",
        "from the checkpoint, which has no class names; matched in the order of the task's classes",
    };
    for (int i = 0; i < 3; i++) {
        line[i] = xprintf("train --model '%s' --train '%s' --text text --label label --method head --steps 1 --lr 1e-30 "
                          "--db '%s'", model[i], stage.toy, stage.db);
        says(said[i], line[i]);
        /* the folder's bias of 3 is in the third run alone */
        json_t *v = stage_json("predict %d --text cat --db '%s' --json", i + 1, stage.db);
        double p = json_number_value(stage_at(v, "probabilities.neg"));
        assert_true(i < 2 ? p > 0.3 && p < 0.7 : p > 0.9);
        json_decref(v);
        free(line[i]);
    }
    free(a);
    free(b);
    free(c);
}

/* ---- a pooler that the weights lack ---- */

static void a_missing_pooler_is_not_invented(void **state) {
    (void)state;
    static const char *const labels[] = { "neg", "pos" };
    char *model = tiny_bert(stage.folder, "np", &(struct tiny){ .no_pooler = true, .outputs = 2, .labels = labels });
    stage_refused(5, "its pooler is missing (pooler.dense.weight", "predict --model '%s' --text 'good film'", model);
    stage_refused(5, "its pooler is missing (pooler.dense.weight",
                  "eval --model '%s' --file '%s' --text text --label label", model, stage.toy);
    /* a run's own is trained and kept with it */
    char *line = xprintf("train --model '%s' --train '%s' --dev '%s' --text text --label label --method head --lr 0.05 "
                         "--epochs 20 --db '%s'", model, stage.toy, stage.toy, stage.db);
    says("initialized: pooler", line);
    json_t *v = stage_json("show 1 --db '%s' --json", stage.db);
    double best = json_number_value(stage_at(v, "best.value"));
    json_decref(v);
    v = stage_json("eval 1 --db '%s' --json", stage.db);
    assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), best, 1e-12);
    json_decref(v);
    char *out = file_join(stage.folder, "np-out");
    free(stage_out(0, "export 1 --to hf '%s' --db '%s'", out, stage.db));
    v = stage_json("eval --model '%s' --file '%s' --text text --label label --json", out, stage.toy);
    assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), best, 1e-12);
    json_decref(v);
    free(out);
    free(line);
    free(model);
}

/* What is left aside of a folder is said where it is used as it is. */
static void what_is_left_aside_is_said(void **state) {
    (void)state;
    static const char *const labels[] = { "neg", "pos" };
    char *model = tiny_bert(stage.folder, "stray", &(struct tiny){ .outputs = 2, .labels = labels });
    char *line = xprintf("predict --model '%s' --text 'good film'", model);
    says(NULL, line);
    struct edit x;
    edit_open(&x, model);
    edit_add(&x, "encoder.layer.0.attention.self.query.lora_A.weight", ST_F32, 2, 2, 8);
    edit_save(&x, model);
    edit_release(&x);
    says("unused: encoder.layer.0.attention.self.query.lora_A.weight (not part of this architecture)", line);
    free(line);
    free(model);
}

/* ---- a model that was moved ---- */

static void a_moved_model_is_found_or_named(void **state) {
    (void)state;
    struct history h;
    history_init(&h, stage.folder, false); /* its runs look where they were made */
    char *model = file_join(h.folder, "models/bert-tiny"), *other = file_join(h.folder, "models/t5-tiny");
    static const char gone[] = "/tmp/petri-history/models/bert-tiny: the model folder of the run does not exist";
    stage_refused(3, gone, "predict 1 --text cat --db '%s'", h.db);
    stage_refused(3, "give its new path with --model DIR", "resume 2 --db '%s'", h.db);
    char *line = xprintf("predict 1 --text cat --model '%s' --db '%s'", model, h.db);
    says("models/bert-tiny, which has the weights of the run", line);
    stage_refused(5, "wrong model", "predict 1 --text cat --model '%s' --db '%s'", other, h.db);
    stage_refused(5, "wrong model", "predict 1 --text cat --model '%s' --db '%s'", stage.model, h.db);
    const char *const dev = "task/dev.tsv";
    free(stage_out(0, "eval 1 --model '%s' --file '%s/%s' --text text --label label --db '%s'", model, h.folder, dev, h.db));
    free(stage_out(0, "export 1 --to hf '%s/out' --model '%s' --db '%s'", h.folder, model, h.db));
    free(stage_out(0, "generate 6 --text cat --model '%s' --db '%s'", other, h.db));
    stage_refused(5, "wrong model", "generate 6 --text cat --model '%s' --db '%s'", model, h.db);
    char *all[] = { model, other, line };
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
    history_release(&h);
}

/* A tree with program, models and history is moved as a whole; its program is in bin/. */
static void a_moved_tree_goes_on(void **state) {
    (void)state;
    char *program = realpath(getenv("PETRI_BIN") ? getenv("PETRI_BIN") : "./petri", NULL);
    char *made = xprintf("cd '%s' && mkdir -p p/bin p/assets/models p/work && cp '%s' p/bin/petri && "
                         "cp -r tiny p/assets/models/tiny && cp toy.tsv p/work/ && cd p/work && "
                         "../bin/petri train --model tiny --train toy.tsv --dev toy.tsv --text text --label label --steps 3 --batch 2 "
                         "--method 'lora(r=2)' --db a.db >/dev/null 2>&1 && "
                         "{ ../bin/petri train --model tiny --train toy.tsv --dev toy.tsv --text text --label label "
                         "--steps 15000 --batch 2 --eval-steps 15000 --db a.db >/dev/null 2>&1 & } && "
                         "until ../bin/petri show 2 --db a.db >/dev/null 2>&1; do sleep 0.05; done; kill $!; wait; "
                         "cd ../.. && mv p q && cd q/work && "
                         "../bin/petri predict 1 --text cat --db a.db > out 2> err", stage.folder, program);
    assert_int_equal(system(made), 0);
    char *work = file_join(stage.folder, "q/work"), *err = test_text(work, "err");
    assert_non_null(strstr(err, "p/assets/models/tiny does not exist; "));
    assert_non_null(strstr(err, "which has the weights of the run"));
    /* its rows too, which are known by their bytes */
    char *rest = xprintf("cd '%s' && ../bin/petri eval 1 --db a.db > out 2> err && "
                         "../bin/petri embed --run 1 --rows 4 --db a.db > out 2>> err && "
                         "cd .. && bin/petri resume 2 --db work/a.db >> work/err 2>&1 && cd work && "
                         "printf 'good\\tpos\\n' >> toy.tsv && ! ../bin/petri eval 1 --db a.db > out 2> refused",
                         work);
    assert_int_equal(system(rest), 0);
    char *rows = test_text(work, "err"), *changed = test_text(work, "refused");
    assert_non_null(strstr(rows, "p/work/toy.tsv does not exist; "));
    assert_non_null(strstr(rows, "run 2 finished"));
    assert_non_null(strstr(changed, "p/work/toy.tsv: cannot be opened"));
    /* another model under the same name is not the run's */
    char *there = file_join(stage.folder, "q/assets/models/tiny");
    tiny_weights(there, &(struct tiny){ .mul = 103 });
    char *again = xprintf("cd '%s' && ! ../bin/petri predict 1 --text cat --db a.db > out 2> err", work);
    assert_int_equal(system(again), 0);
    char *refused = test_text(work, "err");
    assert_non_null(strstr(refused, "has different weights"));
    char *all[] = { program, made, work, err, there, again, refused, rest, rows, changed };
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_changed_model_is_noticed, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(kept_vectors_are_of_one_model, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(a_run_without_facts_is_taken_and_that_is_said, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(a_heads_rows_go_to_classes_by_name, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(other_names_mean_a_new_head, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(a_missing_pooler_is_not_invented, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(what_is_left_aside_is_said, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(a_moved_model_is_found_or_named, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(a_moved_tree_goes_on, stage_make, stage_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
