#include "core/data/report_read.h"
#include "core/data/text_form.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/text/tokenizer.h"
#include "tests/support/test.h"

/* A task of a folder called `name` whose train and dev file both hold `text`. */
static void open_task(struct task *t, const char *name, const char *text) {
    char *root = test_folder(), *folder = file_join(root, name);
    struct err e = ERR_INIT;
    test_ok(file_make_folder(folder, &e), &e);
    free(test_file(folder, "train.tsv", text, strlen(text)));
    free(test_file(folder, "dev.tsv", text, strlen(text)));
    struct task_source s = {.where = folder};
    test_ok(task_open(t, &s, &e), &e);
    free(folder);
    free(root);
}

struct form {
    const char *folder, *file;
    const char *source, *target; /* of the first row */
};

static void glue(void **state) {
    (void)state;
    static const struct form want[] = {
        {"CoLA", "x\t1\t\tA b\ny\t0\t*\tc\n", "cola sentence: A b", "1"},
        {"sst2", "sentence\tlabel\ngood \t1\nbad\t0\n", "sst2 sentence: good ", "1"},
        {"MRPC", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\ta\tb\n1\t1\t2\tc\td\n",
         "mrpc sentence1: a sentence2: b", "0"},
        {"STS-B", "sentence1\tsentence2\tscore\na\tb\t2.25\nc\td\t5\n",
         "stsb sentence1: a sentence2: b", "2.2"},
        {"QQP", "question1\tquestion2\tis_duplicate\na?\tb?\t1\nc\td\t0\n",
         "qqp question1: a? question2: b?", "1"},
        {"MNLI", "sentence1\tsentence2\tgold_label\na\tb\tcontradiction\n",
         "mnli premise: a hypothesis: b", "2"},
        {"QNLI", "question\tsentence\tlabel\na\tb\tnot_entailment\n", "qnli question: a sentence: b",
         "1"},
        {"RTE", "sentence1\tsentence2\tlabel\na\tb\tentailment\n",
         "rte sentence1: a sentence2: b", "0"},
        {"mine", "text\tlabel\na\tyes\nb\tno\n", "mine text: a", "1"},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct task t;
        struct err e = ERR_INIT;
        open_task(&t, want[i].folder, want[i].file);
        enum data_kind gold = t.kind;
        test_ok(task_as_text(&t, &(struct text_form){.prefix = true}, &e), &e);
        assert_int_equal(t.kind, DATA_TEXT);
        assert_int_equal(t.label_kind, gold);
        for (int k = 0; k < 2; k++) {
            const struct dataset *d = k ? &t.train : &t.dev[0];
            assert_int_equal(d->kind, DATA_TEXT);
            assert_false(d->pair);
            assert_null(d->example[0].b);
            assert_string_equal(d->example[0].a, want[i].source);
            assert_int_equal(d->example[0].a_size, strlen(want[i].source));
            assert_string_equal(d->example[0].target_text, want[i].target);
            assert_int_equal(d->example[0].target_size, strlen(want[i].target));
        }
        test_refused(task_as_text(&t, &(struct text_form){.prefix = true}, &e), ERR_USAGE, &e,
                     "already has source and target texts");
        task_release(&t);
    }
}

static void switches(void **state) {
    (void)state;
    struct task t;
    struct err e = ERR_INIT;
    open_task(&t, "STS-B", "sentence1\tsentence2\tscore\na\tb\t2.25\nc\td\t3.39\n");
    test_ok(task_as_text(&t, &(struct text_form){.fifths = true}, &e), &e);
    assert_string_equal(t.train.example[0].a, "sentence1: a sentence2: b");
    assert_string_equal(t.train.example[0].target_text, "2.2");
    assert_string_equal(t.train.example[1].target_text, "3.4");
    assert_non_null(strstr(buf_text(&t.report), "without the task name prepended"));
    task_release(&t);
}

/* A row without gold label has a source and no target. */
static void no_gold(void **state) {
    (void)state;
    struct task t;
    struct err e = ERR_INIT;
    open_task(&t, "sst2", "sentence\tlabel\na\t-1\nb\t1\n");
    test_ok(task_as_text(&t, &(struct text_form){0}, &e), &e);
    assert_int_equal(t.dev[0].examples, 2);
    assert_null(t.dev[0].example[0].target_text);
    assert_string_equal(t.dev[0].example[1].target_text, "1");
    char *folder = test_path("tests/reference/wordpiece_tiny");
    struct tokenizer *k = tokenizer_read(folder, NULL, &e);
    if (!k) fail_msg("%s", e.text);
    test_ok(task_encode(&t, k, 16, 8, 0, &e), &e);
    const struct dataset *d = &t.dev[0];
    assert_int_equal(d->target_start[1], 0);
    assert_int_equal(d->target_start[2], 3);
    assert_int_equal(d->target_ids[0], d->ids[0]);
    assert_int_equal(d->report.target_longest, 3);
    assert_int_equal(d->max_target, 8);
    assert_int_equal(d->report.cut_targets, 0);
    test_ok(task_encode(&t, k, 16, 2, 0, &e), &e);
    assert_int_equal(d->target_start[2], 2);
    assert_int_equal(d->report.cut_targets, 1);
    test_ok(task_encode(&t, k, 16, 0, 0, &e), &e);
    assert_null(d->target_start);
    tokenizer_free(k);
    free(folder);
    task_release(&t);
}

/* Targets with characters that have no token are counted, and each such character is named once. */
static void what_cannot_be_written(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct report_facts f;
    struct buf b = BUF_INIT;
    char *folder = test_folder(), *tokens = test_path("tests/reference/unigram_tiny");
    static const char rows[] = "source\ttarget\nthe\tcat\nthe\tЖcat你好\nthe\tcat 你 ) Ж\non\t(ő)\nthe\tsat\n";
    char *path = test_file(folder, "t.tsv", rows, sizeof rows - 1);
    struct tokenizer *k = tokenizer_read(tokens, NULL, &e);
    struct task t;
    test_ok(task_open(&t, &(struct task_source){ .train = path, .source = "source", .target = "target" }, &e), &e);
    for (int again = 0; again < 2; again++) test_ok(task_encode(&t, k, 16, 8, 0, &e), &e);
    report_text(&t.train, &b);
    report_read(buf_text(&b), &f);
    assert_int_equal(f.unwritten, 3);
    assert_string_equal(f.signs, "Ж 你 好 ő");
    assert_non_null(strstr(buf_text(&b), "3 of 5 targets have characters that the tokenizer cannot encode"));
    report_facts_release(&f);
    test_ok(task_encode(&t, k, 16, 0, 0, &e), &e);
    assert_int_equal(t.train.report.unwritten, 0);
    task_release(&t);
    tokenizer_free(k);
    buf_release(&b);
    free(path), free(tokens), free(folder);
}

static struct parsed parse(const struct task *t, const char *s) {
    return text_parse(t, s, strlen(s));
}

static void parsing(void **state) {
    (void)state;
    static const char *const wrong[] = {"", " ", "3", "-1", "1.0", "one", "1 0", "entailment", "+1",
                                        "0x1", "99999999999999999999"};
    struct task t = {.kind = DATA_TEXT, .label_kind = DATA_CLASSES, .classes = 3};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct parsed p = parse(&t, wrong[i]);
        assert_false(p.valid);
        assert_int_equal(p.label, -1);
    }
    assert_false(text_parse(&t, "1\0", 2).valid);
    assert_int_equal(parse(&t, "2").label, 2);
    assert_int_equal(parse(&t, " 0\n").label, 0);
    assert_true(parse(&t, "0").valid);
    t.label_kind = DATA_REGRESSION;
    assert_true(parse(&t, "3.8").score == 3.8);
    assert_true(parse(&t, " -2e0 ").score == -2);
    for (const char *const *s = (const char *const[]){"", "nan", "inf", "3,8", "3.8.", NULL}; *s; s++) {
        struct parsed p = parse(&t, *s);
        assert_false(p.valid);
        assert_true(p.score == -1);
    }
}

/* The targets of GLUE's own files, taken as answers, are all right. */
static void real_files(void **state) {
    (void)state;
    static const char *const name[] = {"CoLA", "SST-2", "MRPC", "STS-B", "QQP", "MNLI", "QNLI", "RTE"};
    const char *shared = test_shared_data();
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        char *glue = file_join(shared, "glue"), *folder = file_join(glue, name[i]);
        struct task t;
        struct err e = ERR_INIT;
        test_ok(task_open(&t, &(struct task_source){.where = folder, .no_train = true}, &e), &e);
        test_ok(task_as_text(&t, &(struct text_form){.prefix = true}, &e), &e);
        const struct dataset *d = &t.dev[0];
        struct metric_text *answer = xcalloc(d->examples, sizeof *answer);
        for (size_t k = 0; k < d->examples; k++) {
            assert_true(d->example[k].labeled);
            answer[k] = (struct metric_text){d->example[k].target_text, d->example[k].target_size};
        }
        struct metrics m;
        text_metrics(&m, &t, d, answer);
        assert_int_equal(m.invalid, 0);
        assert_true(m.value[t.metric].value > (t.label_kind == DATA_CLASSES ? 1 - 1e-9 : 0.9995));
        metrics_release(&m);
        free(answer);
        task_release(&t);
        free(folder);
        free(glue);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glue),
        cmocka_unit_test(switches),
        cmocka_unit_test(no_gold),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(parsing),
        cmocka_unit_test(real_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
