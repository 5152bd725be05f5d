/* Reading of source and target texts. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/task.h"
#include "tests/data/support.h"

/* Opens a task of one file, for training and as its own dev split. */
static int open_file(struct task *t, const char *name, const char *bytes, struct task_source s,
                     struct err *e) {
    char *folder = test_folder(), *path = test_file(folder, name, bytes, strlen(bytes));
    s.train = s.dev = path;
    int rc = task_open(t, &s, e);
    free(path);
    free(folder);
    return rc;
}

static void adds_up(const struct dataset *d) {
    const struct import_report *r = &d->report;
    assert_int_equal(r->examples + r->blank + r->skipped + r->header + r->continued, r->lines);
    for (size_t i = 0; i < d->examples; i++) {
        const struct example *row = &d->example[i];
        assert_int_equal(row->labeled, row->target_text != NULL);
        if (row->labeled) assert_int_equal(row->target_text[row->target_size], 0);
    }
}

/* The three formats, the usual names and names that are given. */
static void formats(void **state) {
    (void)state;
    static const struct {
        const char *name, *bytes, *source, *target;
    } want[] = {
        {"a.tsv", "id\tsource\ttarget\n1\ta b\tc\n", NULL, NULL},
        {"a.csv", "document,summary\n\"a b\",c\n", NULL, NULL},
        {"a.jsonl", "{\"highlights\":\"c\",\"article\":\"a b\"}\n", NULL, NULL},
        {"a.jsonl", "{\"id\":1}\n{\"input\":\"a b\",\"output\":\"c\"}\n", NULL, NULL},
        {"a.tsv", "summary\ttext\nc\ta b\n", NULL, NULL},
        {"a.tsv", "en\tde\na b\tc\n", "en", "de"},
        {"a.csv", "mr,ref\na b,c\n", "#1", "#2"},
        {"a.jsonl", "{\"en\":\"a b\",\"de\":\"c\"}\n", "en", "de"},
        {"a.csv", "source,target,text,label\na b,c,d,e\n", "source", "target"},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct task t;
        struct err e = ERR_INIT;
        struct task_source s = {.source = want[i].source, .target = want[i].target};
        test_ok(open_file(&t, want[i].name, want[i].bytes, s, &e), &e);
        assert_int_equal(t.kind, DATA_TEXT);
        assert_int_equal(t.label_kind, DATA_TEXT);
        assert_int_equal(t.classes, 0);
        assert_false(t.pair);
        for (int k = 0; k < 2; k++) {
            const struct dataset *d = k ? &t.dev[0] : &t.train;
            assert_int_equal(d->examples, 1);
            assert_int_equal(d->kind, DATA_TEXT);
            assert_string_equal(d->example[0].a, "a b");
            assert_string_equal(d->example[0].target_text, "c");
            assert_int_equal(d->example[0].label, -1);
            adds_up(d);
        }
        says(&t, "single texts, target texts");
        task_release(&t);
    }
}

static void broken_rows(void **state) {
    (void)state;
    struct task t;
    struct err e = ERR_INIT;
    test_ok(open_file(&t, "a.jsonl",
                      "{\"source\":\"a\",\"target\":\"b\"}\n"
                      "{\"source\":\"a\",\"target\":\" \\n\"}\n"
                      "{\"source\":\"a\"}\n"
                      "{\"source\":\"a\",\"target\":null}\n"
                      "{\"target\":\"b\"}\n"
                      "{\"source\":[\"one.\",\"two.\"],\"target\":[\"x y\",\"z\"]}\n"
                      "{\"source\":[\"one\",2],\"target\":\"b\"}\n"
                      "{\"source\":[],\"target\":\"b\"}\n"
                      "{\"source\":\"\",\"target\":\"b\"}\n"
                      "{\"source\":\"a\",\"target\":7}\n",
                      (struct task_source){0}, &e),
            &e);
    const struct dataset *d = &t.train;
    assert_int_equal(d->examples, 3);
    assert_string_equal(d->example[1].a, "one. two.");
    assert_string_equal(d->example[1].target_text, "x y");
    assert_int_equal(d->example[1].line, 6);
    assert_int_equal(d->report.empty_a, 1);
    skipped(d, 0, 2, "the target text is empty");
    skipped(d, 1, 3, "\"target\" is missing");
    skipped(d, 2, 4, "\"target\" must be a string, not null");
    skipped(d, 3, 5, "\"source\" is missing");
    skipped(d, 4, 7, "item 2 of \"source\" must be a string, not a number");
    skipped(d, 5, 8, "\"source\" must be a string, not an empty array");
    skipped(d, 6, 10, "\"target\" must be a string, not a number");
    adds_up(d);
    /* rows without a target can be written, not trained on or scored */
    adds_up(&t.dev[0]);
    assert_int_equal(t.dev[0].examples, 5);
    assert_int_equal(t.dev[0].report.unlabeled, 2);
    assert_null(t.dev[0].example[1].target_text);
    says(&t, "1 source text is an array of strings, joined with spaces");
    says(&t, "warning: 1 example has several target texts; the first is used");
    task_release(&t);
    test_ok(open_file(&t, "a.tsv", "source\ttarget\na\t\nb\nc\td\n", (struct task_source){0}, &e),
            &e);
    skipped(&t.train, 0, 2, "the target text is empty");
    skipped(&t.train, 1, 3, "1 field, expected 2");
    assert_int_equal(t.dev[0].examples, 1);
    task_release(&t);
}

/* What could be meant is asked for, never guessed. */
static void choices(void **state) {
    (void)state;
    static const char two[] = "document\ttext\tsummary\na\tb\tc\n",
                      both[] = "source\ttarget\ttext\tlabel\na\tb\tc\td\n";
    struct task t;
    struct err e = ERR_INIT;
    test_refused(open_file(&t, "a.tsv", two, (struct task_source){0}, &e), ERR_USAGE, &e,
                 "ambiguous source and target columns: \"document\" and \"summary\", or \"text\" and \"summary\"");
    test_ok(open_file(&t, "a.tsv", both, (struct task_source){0}, &e), &e);
    assert_int_equal(t.kind, DATA_CLASSES);
    assert_string_equal(t.train.example[0].a, "c");
    says(&t, "for text-to-text use --source source --target target");
    task_release(&t);
    const struct {
        struct task_source s;
        const char *bytes, *why;
    } wrong[] = {
        {{.source = "document"}, two, "--source and --target: must be used together"},
        {{.target = "document"}, two, "--source and --target: must be used together"},
        {{.source = "document", .target = "text", .label = "summary"}, two, "cannot be combined with --text, --text-b or --label"},
        {{.source = "document", .target = "sumary"}, two, "column \"sumary\" not found"},
        {{.source = "text", .target = "text"}, two, "column \"text\" is selected twice"},
        {{.source = "a", .target = "b"}, "a\tb\tb\n1\t2\t3\n", "two columns are named \"b\""},
        {{.source = "document", .target = "text", .metric = "accuracy"}, two,
         "metric accuracy is not defined for target texts"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        test_refused(open_file(&t, "a.tsv", wrong[i].bytes, wrong[i].s, &e), ERR_USAGE, &e,
                     wrong[i].why);
}

/* JSON that is no JSON Lines, and keys that nobody asked for. */
static void other_json(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *why;
        int code;
    } wrong[] = {
        {"[\n3,{\"source\":\"a\",\"target\":\"b\"}]\n", "a single JSON document (an array with 2 items)", ERR_INPUT},
        {"[{\"source\":\"a\",\"target\":\"b\"}", "']' expected near end of file", ERR_INPUT},
        {"{\n\"source\":\"a\",\n\"target\":\"b\"}\n", "a single JSON document (an object with 2 items)", ERR_INPUT},
        {"[{\"src\":\"a\"}]", "column \"text\" not found: the keys of the first lines are \"src\"; choose one with --text",
         ERR_USAGE},
        {"{\"src\":\"a\",\"tgt\":\"b\"}\n",
         "column \"text\" not found: the keys of the first lines are \"src\", \"tgt\"; choose one with --text", ERR_USAGE},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct task t;
        struct err e = ERR_INIT;
        test_refused(open_file(&t, "a.jsonl", wrong[i].bytes, (struct task_source){0}, &e),
                     wrong[i].code, &e, wrong[i].why);
    }
}

static void real_files(void **state) {
    (void)state;
    static const struct {
        const char *train, *dev, *source, *target;
        size_t rows, dev_rows;
    } want[] = {
        {"debian-derived/summary-train.tsv", "debian-derived/summary-test.tsv", "description",
         "synopsis", 2000, 400},
        {"debian-derived/en-de-train.tsv", "debian-derived/en-de-test.tsv", "en", "de", 2500, 400},
        {"e2e-nlg/devset.csv", NULL, "mr", "ref", 4672, 0},
        {"scitldr/train.jsonl", "scitldr/dev.jsonl", NULL, NULL, 1992, 619},
    };
    const char *shared = test_shared_data();
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct task t;
        struct err e = ERR_INIT;
        char *train = file_join(shared, want[i].train);
        char *dev = want[i].dev ? file_join(shared, want[i].dev) : NULL;
        struct task_source s = {.train = train, .dev = dev, .source = want[i].source,
                                .target = want[i].target};
        test_ok(task_open(&t, &s, &e), &e);
        assert_int_equal(t.kind, DATA_TEXT);
        assert_int_equal(t.train.examples, want[i].rows);
        assert_int_equal(t.dev[0].examples, want[i].dev_rows);
        adds_up(&t.train);
        task_release(&t);
        free(train);
        free(dev);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(broken_rows),
        cmocka_unit_test(choices),
        cmocka_unit_test(other_json),
        cmocka_unit_test(real_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
