#include "core/data/task.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/data/support.h"

/* A folder of a given name with the files of name/text pairs, ended by NULL; caller frees. */
static char *make_task(const char *name, const char *const *files) {
    char *root = test_folder(), *folder = file_join(root, name);
    struct err e = ERR_INIT;
    test_ok(file_make_folder(folder, &e), &e);
    for (; *files; files += 2) free(test_file(folder, files[0], files[1], strlen(files[1])));
    free(root);
    return folder;
}

static void open_folder(struct task *t, const char *name, const char *const *files,
                        struct task_source s) {
    struct err e = ERR_INIT;
    char *folder = make_task(name, files);
    s.where = folder;
    test_ok(task_open(t, &s, &e), &e);
    free(folder);
}

struct expected {
    const char *folder, *name, *train, *dev, *a, *b, *first_class;
    int classes, positive, label;
    enum metric_id metric;
};

#define HEAD_MNLI                                                                                            \
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"                       \
    "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n"

/* All eight layouts, by the spellings that people use. */
static void glue_layouts(void **state) {
    (void)state;
    static const struct expected want[] = {
        {"cola", "CoLA", "x\t1\t\tA b\ny\t0\t*\tB \"a\n", "z\t0\t*\tC\n", "A b", NULL, "0", 2, 1, 1,
         METRIC_MATTHEWS},
        {"sst2", "SST-2", "sentence\tlabel\na\t1\nb\t0\n", "sentence\tlabel\nc\t1\n", "a", NULL,
         "0", 2, 1, 1, METRIC_ACCURACY},
        {"MRPC", "MRPC", "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\ta\tb\n",
         "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tc\td\n", "a", "b", "0",
         2, 1, 1, METRIC_F1},
        {"qqp", "QQP",
         "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\ta\tb\t1\n2\t3\t4\tc\n",
         "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\tc\td\t0\n", "a", "b", "0", 2,
         1, 1, METRIC_F1},
        {"mnli", "MNLI", HEAD_MNLI "0\t0\t0e\tn\t_\t_\t_\t_\ta\tb\tneutral\tneutral\n",
         HEAD_MNLI "0\t0\t0e\tn\t_\t_\t_\t_\tc\td\tcontradiction\tcontradiction\n", "a", "b",
         "entailment", 3, -1, 1, METRIC_ACCURACY},
        {"QNLI", "QNLI", "index\tquestion\tsentence\tlabel\n0\ta\tb\tnot_entailment\n",
         "index\tquestion\tsentence\tlabel\n0\tc\td\tentailment\n", "a", "b", "entailment", 2, 0, 1,
         METRIC_ACCURACY},
        {"rte", "RTE", "index\tsentence1\tsentence2\tlabel\n0\ta\tb\tentailment\n",
         "index\tsentence1\tsentence2\tlabel\n0\tc\td\tentailment\n", "a", "b", "entailment", 2, 0,
         0, METRIC_ACCURACY},
        {"sts_b", "STS-B", "index\tgenre\tsentence1\tsentence2\tscore\n0\tx\ta\tb\t2.50\n",
         "index\tgenre\tsentence1\tsentence2\tscore\n0\tx\tc\td\t5\n", "a", "b", NULL, 0, -1, -1,
         METRIC_PEARSON},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const struct expected *w = &want[i];
        const char *files[] = {"train.tsv", w->train, "dev.tsv", w->dev, NULL};
        struct task t;
        open_folder(&t, w->folder, files, (struct task_source){0});
        assert_string_equal(t.name, w->name);
        assert_int_equal(t.classes, w->classes);
        assert_int_equal(t.positive, w->positive);
        assert_int_equal(t.metric, w->metric);
        assert_int_equal(t.pair, w->b != NULL);
        assert_string_equal(t.train.example[0].a, w->a);
        if (w->b) assert_string_equal(t.train.example[0].b, w->b);
        if (w->first_class) assert_string_equal(t.class_name[0], w->first_class);
        assert_int_equal(t.train.example[0].label, w->label);
        assert_int_equal(t.devs, 1);
        assert_int_equal(t.dev[0].examples, 1);
        if (!strcmp(w->name, "QQP")) says(&t, "line 3: 4 fields, expected 6");
        if (!w->classes) assert_true(t.train.example[0].target == 2.5);
        task_release(&t);
    }
}

/* GLUE's own MNLI has two dev files, with more columns than train. */
static void two_dev_splits(void **state) {
    (void)state;
    static const char wide[] = "index\tgenre\tsentence1\tsentence2\tlabel1\tlabel2\tgold_label\n"
                               "0\tx\tc\td\tneutral\tneutral\tentailment\n";
    const char *files[] = {"train.tsv",
                           HEAD_MNLI "0\t0\t0e\tn\t_\t_\t_\t_\ta\tb\tneutral\tneutral\n",
                           "dev_matched.tsv",
                           wide,
                           "dev_mismatched.tsv",
                           wide,
                           NULL};
    struct task t;
    open_folder(&t, "MNLI", files, (struct task_source){0});
    assert_int_equal(t.devs, 2);
    assert_string_equal(t.dev_name[0], "dev_matched");
    assert_string_equal(t.dev_name[1], "dev_mismatched");
    assert_int_equal(t.dev[1].example[0].label, 0);
    task_release(&t);
}

static const char *const plain[] = {
    "train.tsv", "sentence\tlabel\ngood film\tpos\nbad film\tneg\nok\tpos\n",
    "dev.tsv", "sentence\tlabel\nGood film\tpos\nfine\tneg\n",
    "dev_official.tsv", "sentence\tlabel\nx\tpos\ny\tneg\nz\tneg\n", NULL};

static void folders_with_a_header(void **state) {
    (void)state;
    struct task t;
    open_folder(&t, "mine", plain, (struct task_source){0});
    assert_string_equal(t.name, "mine");
    assert_int_equal(t.metric, METRIC_ACCURACY);
    assert_string_equal(t.class_name[t.positive], "pos");
    assert_int_equal(t.dev[0].report.across_near, 1);
    assert_string_equal(t.dev_name[0], "dev");
    says(&t, "positive class: pos");
    task_release(&t);
    open_folder(&t, "mine", plain, (struct task_source){.official_dev = true, .positive = "neg",
                                                        .metric = "f1"});
    assert_int_equal(t.dev[0].examples, 3);
    assert_string_equal(t.dev_name[0], "dev_official");
    assert_int_equal(t.positive, 0);
    assert_int_equal(t.metric, METRIC_F1);
    task_release(&t);
    open_folder(&t, "mine", plain, (struct task_source){.no_train = true, .dev_rows = 1});
    assert_false(t.has_train);
    assert_int_equal(t.dev[0].examples, 1);
    task_release(&t);
    const char *unlabeled[] = {"train.tsv", "sentence\tlabel\na\t0\nb\t1\nc\t-1\n", "dev.tsv",
                                "sentence\tlabel\nd\t-1\ne\t-1\n", NULL};
    open_folder(&t, "mine", unlabeled, (struct task_source){.unlabeled = "-1"});
    assert_int_equal(t.classes, 2);
    assert_int_equal(t.train.examples, 2);
    assert_int_equal(t.dev[0].examples, 2);
    assert_int_equal(t.dev[0].report.unlabeled, 2);
    task_release(&t);
}

/* A model's classes keep the order of its outputs, whatever the file's. */
static void model_classes(void **state) {
    (void)state;
    static const char *const names[] = {"pos", "other", "neg"};
    struct task t;
    open_folder(&t, "mine", plain, (struct task_source){.names = names, .name_count = 3,
                                                        .names_from = "the model's id2label"});
    assert_int_equal(t.classes, 3);
    assert_int_equal(t.train.example[1].label, 2);
    assert_int_equal(t.dev[0].example[0].label, 0);
    assert_int_equal(t.positive, -1);
    task_release(&t);
    const char *files[] = {"train.tsv", "sentence\tlabel\na\t1\nb\t0\n", "dev.tsv",
                           "sentence\tlabel\nc\t1\n", NULL};
    static const char *const two[] = {"negative", "positive"};
    open_folder(&t, "sst2", files, (struct task_source){.names = two, .name_count = 2,
                                                        .names_from = "the model's id2label"});
    assert_int_equal(t.train.example[0].label, 1);
    assert_string_equal(t.class_name[1], "positive");
    says(&t, "used as the class indices of the model's id2label");
    task_release(&t);
}

/* Of a head that names no classes: by number, else as many labels in their order, a known task's in its own. */
static void a_head_without_names(void **state) {
    (void)state;
    static const char *const two[] = {"LABEL_0", "LABEL_1"}, *const three[] = {"LABEL_0", "LABEL_1", "LABEL_2"};
    static const struct {
        const char *folder, *rows, *said; /* said: of the first row's class; NULL: refused */
        int classes, first, second;
    } cases[] = {
        {"own", "sentence\tlabel\na\tpositive\nb\tnegative\n", "LABEL_0 is \"negative\"", 2, 1, 0},
        {"own", "sentence\tlabel\na\t10\nb\t9\n", "LABEL_0 is \"9\"", 2, 1, 0},
        {"own", "sentence\tlabel\na\t1\nb\t0\n", "1 is \"LABEL_1\"", 2, 1, 0},
        {"own", "sentence\tlabel\na\tLABEL_1\nb\tlabel_0\n", "ignoring case", 2, 1, 0},
        {"own", "sentence\tlabel\na\tpositive\nb\tpositive\n", NULL, 2, 0, 0},
        {"own", "sentence\tlabel\na\tx\nb\ty\nc\tz\n", NULL, 2, 0, 0},
        {"mnli", "sentence1\tsentence2\tgold_label\na\tb\tcontradiction\nb\tc\tentailment\n", "LABEL_1 is \"neutral\"", 3, 2, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = make_task(cases[i].folder, (const char *const[]){"dev.tsv", cases[i].rows, NULL});
        struct task t;
        struct err e = ERR_INIT;
        struct task_source s = {.where = folder, .names = cases[i].classes == 2 ? two : three, .name_count = cases[i].classes,
                                .names_from = "the run", .no_train = true};
        int rc = task_open(&t, &s, &e);
        if (!cases[i].said) {
            test_refused(rc, ERR_INPUT, &e, "is not among the classes of the run: \"LABEL_0\"");
        } else {
            test_ok(rc, &e);
            assert_int_equal(t.dev[0].example[0].label, cases[i].first);
            assert_int_equal(t.dev[0].example[1].label, cases[i].second);
            says(&t, cases[i].said);
            task_release(&t);
        }
        free(folder);
    }
}

/* The same rows by the same seed, each in one split alone, every class in both. */
static void a_part_is_held_out(void **state) {
    (void)state;
    struct buf rows = BUF_INIT;
    buf_puts(&rows, "text\tlabel\n");
    for (int i = 0; i < 40; i++) buf_printf(&rows, "row %d\t%s\n", i, i % 4 ? "a" : "b");
    char *folder = make_task("held", (const char *const[]){"train.tsv", buf_text(&rows), NULL});
    struct err e = ERR_INIT;
    bool before[40] = { false };
    for (int k = 0; k < 4; k++) { /* twice; another seed; only the dev rows */
        struct task t;
        struct task_source s = {.where = folder, .split = 0.2, .split_seed = k == 2, .no_train = k == 3};
        test_ok(task_open(&t, &s, &e), &e);
        assert_int_equal(t.devs, 1);
        assert_int_equal(t.dev[0].examples, 8);
        assert_int_equal(t.dev[0].class_examples[0], 6);
        assert_int_equal(t.dev[0].class_examples[1], 2);
        assert_int_equal(t.has_train, k != 3);
        assert_int_equal(t.train.examples, k == 3 ? 0 : 32);
        bool dev[40] = { false };
        for (size_t i = 0; i < t.dev[0].examples; i++) dev[t.dev[0].example[i].id] = true;
        for (size_t i = 0; i < t.train.examples; i++) assert_false(dev[t.train.example[i].id]);
        assert_int_equal(k > 0 && !memcmp(dev, before, sizeof dev), k == 1 || k == 3);
        if (k != 2) memcpy(before, dev, sizeof dev);
        if (k != 3) {
            struct buf report = BUF_INIT;
            task_report(&t, &report);
            assert_non_null(strstr(buf_text(&report), "8 of the 40 training examples, held out by --split 20%"));
            assert_null(strstr(buf_text(&report), "also in"));
            buf_release(&report);
        }
        task_release(&t);
    }
    buf_release(&rows);
    free(folder);
}

static void files_with_columns(void **state) {
    (void)state;
    char *folder = make_task("f", (const char *const[]){"a.tsv", "y\tone\ttwo\n2.5\tu\tv\n",
                                                        "b.csv", "two,one,y\nv,w,1\n", NULL});
    char *a = file_join(folder, "a.tsv"), *b = file_join(folder, "b.csv");
    struct task t;
    struct err e = ERR_INIT;
    struct task_source s = {.train = a, .dev = b, .text = "one", .text_b = "two", .label = "y"};
    test_ok(task_open(&t, &s, &e), &e);
    assert_string_equal(t.name, "a");
    assert_int_equal(t.kind, DATA_REGRESSION);
    assert_int_equal(t.metric, METRIC_PEARSON);
    assert_true(t.dev[0].example[0].target == 1 && t.pair);
    task_release(&t);
    s.dev = a;
    test_ok(task_open(&t, &s, &e), &e);
    says(&t, "warning: dev is the same file as the training set");
    task_release(&t);
    s.dev = NULL;
    test_ok(task_open(&t, &s, &e), &e);
    assert_int_equal(t.devs, 0);
    says(&t, "warning: no validation set");
    says(&t, "--split 10%");
    task_release(&t);
    free(a);
    free(b);
    free(folder);
}

static void refused(struct task_source s, int code, const char *part) {
    struct task t;
    struct err e = ERR_INIT;
    test_refused(task_open(&t, &s, &e), code, &e, part);
    assert_null(t.name);
    assert_int_equal(t.devs, 0);
}

static void wrong_sources(void **state) {
    (void)state;
    char *folder = make_task("mine", plain), *empty = test_folder();
    refused((struct task_source){0}, ERR_USAGE, "a task or a file is required: use --task, or --train or --dev");
    refused((struct task_source){.where = "/nonexistent/x"}, ERR_NOT_FOUND, "task or folder not found");
    refused((struct task_source){.where = "README.md"}, ERR_USAGE, "a file, not a task; use a task name or folder, or --train for a file");
    refused((struct task_source){.where = empty}, ERR_NOT_FOUND, "train.tsv, train.csv or train.jsonl is missing");
    refused((struct task_source){.where = empty, .no_train = true}, ERR_NOT_FOUND, "dev.tsv, .csv or .jsonl is missing");
    refused((struct task_source){.where = folder, .metric = "f2"}, ERR_USAGE,
            "unknown metric f2; must be loss, accuracy, f1,");
    refused((struct task_source){.where = folder, .metric = "pearson"}, ERR_USAGE,
            "is not defined for classes");
    refused((struct task_source){.where = folder, .positive = "maybe"}, ERR_USAGE,
            "--positive maybe: unknown class; the classes are \"neg\", \"pos\"");
    refused((struct task_source){.where = folder, .text = "body"}, ERR_USAGE, "column \"body\" not found");
    refused((struct task_source){.where = folder, .dev_rows = 1, .label = "x"}, ERR_USAGE,
            "column \"x\" not found");
    char *tasks = file_join(empty, "tasks/reviews");
    struct err e = ERR_INIT;
    test_ok(file_make_folder(tasks, &e), &e);
    free(test_file(tasks, "train.tsv", "a", 1));
    refused((struct task_source){.where = "reviws", .assets = empty}, ERR_NOT_FOUND,
            "did you mean \"reviews\"?");
    char **names;
    assert_int_equal(task_names(empty, &names), 1);
    assert_string_equal(names[0], "reviews");
    free(names[0]);
    free(names);
    free(tasks);
    free(folder);
    free(empty);
}

static void adds_up(const struct dataset *d) {
    const struct import_report *r = &d->report;
    assert_int_equal(r->examples + r->blank + r->skipped + r->header + r->continued, r->lines);
    assert_true(d->examples > 0);
}

/* GLUE's files as they are; the numbers were counted with a few lines of shell. */
static void real_files(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t train, dev, official;
    } want[] = {{"CoLA", 7695, 856, 1043}, {"SST-2", 6227, 692, 872}, {"MRPC", 3300, 367, 408},
                {"STS-B", 5173, 575, 1500}, {"QQP", 8999, 1000, 0}, {"MNLI", 8999, 1000, 0},
                {"QNLI", 8999, 1000, 5463}, {"RTE", 2240, 249, 277}};
    const char *shared = test_shared_data();
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        char *folder = xprintf("%s/glue/%s", shared, want[i].name);
        struct task t;
        struct err e = ERR_INIT;
        for (int official = 0; official < (want[i].official ? 2 : 1); official++) {
            struct task_source s = {.where = folder, .official_dev = official};
            test_ok(task_open(&t, &s, &e), &e);
            assert_string_equal(t.name, want[i].name);
            adds_up(&t.train);
            adds_up(&t.dev[0]);
            if (t.train.examples != want[i].train ||
                t.dev[0].examples != (official ? want[i].official : want[i].dev))
                fail_msg("%s: %zu and %zu rows", want[i].name, t.train.examples, t.dev[0].examples);
            task_release(&t);
        }
        free(folder);
    }
}

/* What `make tasks` makes: every row has a place, and what belongs together is on one side. */
static void further_tasks(void **state) {
    (void)state;
    static const struct {
        const char *name, *first_class;
        int classes;
        size_t train, dev; /* 0: as this machine's package lists are */
    } want[] = {{"subjectivity", "plot", 2, 1748, 446},
                {"debates", "Democratic", 3, 907, 215},
                {"conventions", "democrat", 2, 162, 27},
                {"sections12", NULL, 12, 0, 0}};
    char *assets = test_path("assets");
    for (size_t i = 0; i < COUNT_OF(want) - 1; i++) {
        char *folder = xprintf("assets/tasks/%s", want[i].name);
        test_needs(folder);
        free(folder);
    }
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct task t;
        struct err e = ERR_INIT;
        struct task_source s = {.where = want[i].name, .assets = assets};
        if (task_open(&t, &s, &e)) {
            if (want[i].train || e.code != ERR_NOT_FOUND) test_ok(e.code, &e);
            print_message("%s is absent (no package lists here)\n", want[i].name);
            continue;
        }
        adds_up(&t.train);
        adds_up(&t.dev[0]);
        assert_int_equal(t.classes, want[i].classes);
        if (want[i].first_class) assert_string_equal(t.class_name[0], want[i].first_class);
        if (want[i].train && (t.train.examples != want[i].train || t.dev[0].examples != want[i].dev))
            fail_msg("%s: %zu and %zu rows", want[i].name, t.train.examples, t.dev[0].examples);
        assert_true(t.dev[0].examples * 12 > t.train.examples && t.dev[0].examples < t.train.examples);
        task_release(&t);
    }
    free(assets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(glue_layouts),   cmocka_unit_test(two_dev_splits),
        cmocka_unit_test(folders_with_a_header), cmocka_unit_test(model_classes), cmocka_unit_test(a_head_without_names),
        cmocka_unit_test(a_part_is_held_out),
        cmocka_unit_test(files_with_columns), cmocka_unit_test(wrong_sources),
        cmocka_unit_test(real_files),     cmocka_unit_test(further_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
