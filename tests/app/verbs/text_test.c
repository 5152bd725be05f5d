/* Text to text from the command line: trained, kept, scored and asked again, and refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/command.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/writer.h"

static char *home, *t5, *bert, *labels, *pairs;

static int set_up(void **state) {
    (void)state;
    home = test_folder();
    t5 = writer_model(home, "t5", FAMILY_T5, NULL);
    bert = tiny_bert(home, "bert", NULL);
    labels = writer_labels(home);
    pairs = writer_pairs(home);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(home);
    free(t5);
    free(bert);
    free(labels);
    free(pairs);
    return 0;
}

static void train(const char *model, const char *columns, const char *file, const char *options) {
    struct command c;
    command_run(&c, NULL,
                "train --model %s --train %s --dev %s %s --method full --max-length 16 --lr 0.01 --dropout 0 "
                "--workers 2 --db %s/t.db %s",
                model, file, file, columns, home, options);
    command_expect(&c, 0);
    command_release(&c);
}

static json_t *json_of(const char *words) {
    struct command c;
    command_run(&c, NULL, "%s --db %s/t.db --json", words, home);
    command_expect(&c, 0);
    json_t *j = command_json(&c, 1);
    command_release(&c);
    return j;
}

static double number(json_t *j, const char *a, const char *b) {
    json_t *at = json_object_get(j, a);
    if (b) at = json_object_get(at, b);
    if (!json_is_number(at)) fail_msg("no number %s %s", a, b ? b : "");
    return json_number_value(at);
}

/* A labeled task: digits are learnt; scores, answers and samples are there afterwards. */
static void a_labeled_task_goes_all_the_way(void **state) {
    (void)state;
    train(t5, "--text text --label label", labels, "--batch 20 --steps 60 --eval-steps 60 --sample-every 20");
    json_t *j = json_of("eval 1");
    assert_true(number(j, "metrics", "accuracy") > 0.9 && number(j, "metrics", "token_accuracy") > 0.9);
    assert_true(number(j, "invalid", NULL) == 0 && number(j, "wrong", NULL) <= 2);
    json_decref(j);
    j = json_of("predict 1 --text 'the dog very good'");
    assert_string_equal(json_string_value(json_object_get(j, "label")), "1");
    assert_string_equal(json_string_value(json_object_get(j, "given")), "1");
    assert_true(json_is_true(json_object_get(j, "valid")));
    json_decref(j);
    j = json_of("sql 'SELECT count(*) AS n, count(DISTINCT step) AS steps, min(source) AS source FROM "
                "v_samples WHERE run = 1'");
    assert_true(number(j, "n", NULL) == 24 && number(j, "steps", NULL) == 4);
    assert_string_equal(json_string_value(json_object_get(j, "source")), "toy text: he very bad");
    json_decref(j);
    j = json_of("show 1");
    assert_true(number(j, "head", NULL) == 0);
    json_decref(j);
}

static void pairs_go_all_the_way(void **state) {
    (void)state;
    train(t5, "--source source --target target", pairs, "--batch 12 --steps 150 --smoothing 0.01 --loss-mean rows");
    json_t *j = json_of("eval 2 --beams 3");
    assert_true(number(j, "metrics", "exact") > 0.9);
    assert_string_equal(json_string_value(json_object_get(j, "file")), pairs);
    json_decref(j);
    j = json_of("predict 2 --text 'she saw it'");
    assert_string_equal(json_string_value(json_object_get(j, "given")), "it");
    assert_null(json_object_get(j, "label"));
    json_decref(j);
}

static void refused(const char *format, const char *part) {
    struct command c;
    command_run(&c, NULL, "%s --db %s/t.db", format, home);
    if (!c.status || !strstr(buf_text(&c.err), part))
        fail_msg("%s: status %d, %s", format, c.status, buf_text(&c.err));
    command_release(&c);
}

static void refusals_say_what_would_work(void **state) {
    (void)state;
    char *words = xprintf("train --model %s --train %s --source source --target target", bert, pairs);
    refused(words, "use a T5, BART or mBART");
    free(words);
    words = xprintf("train --model %s --train %s --text text --label label --form classes", t5, labels);
    refused(words, "--form text");
    free(words);
    words = xprintf("train --model %s --train %s --text text --label label --smoothing 0.1", bert, labels);
    refused(words, "--smoothing: applies only to text-to-text runs");
    free(words);
    words = xprintf("train --model %s --train %s --source source --target target --metric accuracy", t5, pairs);
    refused(words, "target texts");
    free(words);
}

/* What a folder says of generating is read before the first step, and again by whoever asks the run. */
static void broken_settings_of_generation_are_refused(void **state) {
    (void)state;
    static const char bad[] = "{\"num_beams\":0}";
    char *model = writer_model(home, "beamless", FAMILY_T5, NULL);
    char *row = xprintf("--source source --target target --steps 1 --batch 4 --train %s --dev %s", pairs, pairs);
    char *words = xprintf("train --model %s %s --beams 17", model, row);
    refused(words, "half of the vocabulary");
    free(words);
    struct command c;
    command_run(&c, NULL, "train --model %s %s --db %s/beams.db", model, row, home);
    command_expect(&c, 0);
    command_release(&c);
    char *broken = test_file(model, "generation_config.json", bad, sizeof bad - 1);
    words = xprintf("train --model %s %s", model, row);
    refused(words, "\"num_beams\": 0 is not between");
    free(words);
    static const char *const asks[] = { "eval 1", "predict 1 --text a" };
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        command_run(&c, NULL, "%s --db %s/beams.db", asks[i], home);
        if (c.status != 5 || !strstr(buf_text(&c.err), "\"num_beams\": 0 is not between"))
            fail_msg("%s: status %d, %s", asks[i], c.status, buf_text(&c.err));
        command_release(&c);
    }
    free(broken);
    free(model);
    free(row);
}

/* The file that a run was trained on is one that it can be asked about. */
static void the_source_column_is_known_again(void **state) {
    (void)state;
    static const char summary[] = "document\tsummary\na red mat\tred\nshe sat\tshe\n";
    static const char own[] = "said\tmeant\na red mat\tred\nshe sat\tshe\n";
    char *file[] = { test_file(home, "summary.tsv", summary, sizeof summary - 1),
                     test_file(home, "own.tsv", own, sizeof own - 1) };
    static const char *const columns[] = { "", "--source said --target meant" };
    for (int i = 0; i < 2; i++) {
        struct command c;
        command_run(&c, NULL, "train --model %s --train %s %s --steps 1 --db %s/columns.db", t5, file[i], columns[i], home);
        command_expect(&c, 0);
        command_release(&c);
        command_run(&c, NULL, "predict %d --file %s --db %s/columns.db --json", i + 1, file[i], home);
        command_expect(&c, 0);
        assert_non_null(strstr(buf_text(&c.out), "a red mat"));
        command_release(&c);
        command_run(&c, NULL, "generate --run %d --file %s --db %s/columns.db --json", i + 1, file[i], home);
        command_expect(&c, 0);
        command_release(&c);
        free(file[i]);
    }
}

/* What looks inside reads rows as the run was trained on them: the vectors are those that training
 * itself keeps of the same weights, and the texts shown are those of the file. */
static void inside_is_read_in_the_runs_form(void **state) {
    (void)state;
    static const char *const form[] = { "\"toy text: …\"", "\"text: …\"" };
    for (int i = 0; i < 2; i++) {
        struct command c;
        command_run(&c, NULL,
                    "train --model %s --train %s --dev %s --text text --label label --prefix %s --method full --max-length 16 "
                    "--batch 20 --steps 4 --eval-steps 4 --embed-every 4 --lr 0.01 --db %s/inside.db --workers 1",
                    t5, labels, labels, i ? "off" : "on", home);
        command_expect(&c, 0);
        command_release(&c);
        command_run(&c, NULL, "embed --run %d --db %s/inside.db", i + 1, home);
        command_expect(&c, 0);
        if (!strstr(buf_text(&c.err), form[i])) fail_msg("no %s in %s", form[i], buf_text(&c.err));
        command_release(&c);
        command_run(&c, NULL,
                    "sql 'SELECT count(*) AS n, min(a.items) AS items FROM embedding a JOIN embedding b ON a.data = b.data "
                    "AND b.id < a.id WHERE a.run = %d AND b.run = %d' "
                    "--db %s/inside.db --json", i + 1, i + 1, home);
        command_expect(&c, 0);
        json_t *j = command_json(&c, 1);
        assert_true(number(j, "n", NULL) == 1);
        assert_non_null(strstr(json_string_value(json_object_get(j, "items")), "\"text\":\"he very bad\""));
        json_decref(j);
        command_release(&c);
    }
    static const char *const both[] = { "similarity 1 2 --of layers", "similarity 1 --of layers --model" };
    for (int i = 0; i < 2; i++) { /* the same rows, each side read in its run's form */
        struct command c;
        command_run(&c, NULL, "%s %s --db %s/inside.db", both[i], i ? t5 : "", home);
        command_expect(&c, 0);
        assert_non_null(strstr(buf_text(&c.err), form[0]));
        command_release(&c);
    }
    struct command c;
    command_run(&c, NULL, "render --screen map --run 1 --size 120x40 --db %s/inside.db", home);
    command_expect(&c, 0);
    if (!strstr(buf_text(&c.out), "examples (text-to-text)")) fail_msg("%s", buf_text(&c.out));
    command_release(&c);
}

/* A text form begins with the name of the run's task, whatever the file of dev rows is called. */
static void eval_uses_the_name_of_the_runs_task(void **state) {
    (void)state;
    struct command c;
    char *words = xprintf("cp %s %s/other.tsv", labels, home);
    assert_int_equal(system(words), 0);
    free(words);
    command_run(&c, NULL,
                "train --model %s --train %s --dev %s/other.tsv --text text --label label --steps 1 --batch 4 "
                "--db %s/name.db", t5, labels, home, home);
    command_expect(&c, 0);
    command_release(&c);
    static const char *const asks[] = { "eval 1", "embed --run 1" };
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        command_run(&c, NULL, "%s --db %s/name.db", asks[i], home);
        command_expect(&c, 0);
        assert_non_null(strstr(buf_text(&c.err), "input text: \"toy text: …\""));
        command_release(&c);
    }
}

/* Rows of a labeled task for a folder, whose name is the task's. */
static char *labeled_folder(void) {
    char *folder = xprintf("%s/task", home), *words = xprintf("mkdir -p %s && cp %s %s/train.tsv && cp %s %s/dev.tsv",
                                                              folder, labels, folder, labels, folder);
    assert_int_equal(system(words), 0);
    free(words);
    return folder;
}

/* A model as it is reads a labeled task as training would, in a look inside and in an evaluation. */
static void a_bare_model_reads_the_form_of_training(void **state) {
    (void)state;
    struct command c;
    char *task = labeled_folder();
    for (int i = 0; i < 2; i++) {
        command_run(&c, NULL, "embed --model %s --task %s --db %s/bare.db", i ? bert : t5, task, home);
        command_expect(&c, 0);
        assert_int_equal(!strstr(buf_text(&c.err), "input text: \"task text: …\""), i);
        command_release(&c);
    }
    command_run(&c, NULL, "eval --model %s --task %s --db %s/bare.db --json --wrong %s/wrong.tsv", t5, task, home, home);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), "input text: \"task text: …\""));
    json_t *j = command_json(&c, 1);
    assert_true(number(j, "rows", NULL) == 20 && number(j, "gold", NULL) == 20);
    assert_true(number(j, "metrics", "accuracy") >= 0 && number(j, "metrics", "token_accuracy") >= 0);
    assert_true(fabs(number(j, "wrong", NULL) - 20 * (1 - number(j, "metrics", "accuracy"))) < 1e-9);
    assert_true(number(j, "invalid", NULL) <= number(j, "wrong", NULL));
    json_decref(j);
    command_release(&c);
    free(task);
}

/* generate does not put a text into the run's form, and says who does. */
static void generate_names_predict_for_a_labeled_run(void **state) {
    (void)state;
    static const char *const columns[] = { "--text text --label label", "--source source --target target" };
    for (int i = 0; i < 2; i++) {
        struct command c;
        command_run(&c, NULL, "train --model %s --train %s %s --steps 1 --batch 4 --db %s/note.db", t5, i ? pairs : labels,
                    columns[i], home);
        command_expect(&c, 0);
        command_release(&c);
        command_run(&c, NULL, "generate --run %d --text 'a red mat' --db %s/note.db", i + 1, home);
        command_expect(&c, 0);
        assert_int_equal(!strstr(buf_text(&c.err), "petri predict 1"), i);
        command_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_labeled_task_goes_all_the_way),
        cmocka_unit_test(pairs_go_all_the_way),
        cmocka_unit_test(refusals_say_what_would_work),
        cmocka_unit_test(the_source_column_is_known_again),
        cmocka_unit_test(inside_is_read_in_the_runs_form),
        cmocka_unit_test(eval_uses_the_name_of_the_runs_task),
        cmocka_unit_test(a_bare_model_reads_the_form_of_training),
        cmocka_unit_test(generate_names_predict_for_a_labeled_run),
        cmocka_unit_test(broken_settings_of_generation_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
