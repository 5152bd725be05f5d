/* Which rows train, measure and test: --limit and --split-validation. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/report_read.h"
#include "tests/data/support.h"

/* "sentence<TAB>label" with rows of texts NAME0, NAME1, …, in two classes by turns. */
static void put_rows(const char *folder, const char *file, const char *name, int rows) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "sentence\tlabel\n");
    for (int i = 0; i < rows; i++) buf_printf(&b, "%s%d\t%s\n", name, i, i % 2 ? "good" : "bad");
    free(test_file(folder, file, b.data, b.size));
    buf_release(&b);
}

static char *make_folder(int train, int dev) {
    char *folder = test_folder();
    put_rows(folder, "train.tsv", "t", train);
    if (dev) put_rows(folder, "dev.tsv", "d", dev);
    return folder;
}

static void open_task(struct task *t, struct task_source s) {
    struct err e = ERR_INIT;
    test_ok(task_open(t, &s, &e), &e);
}

static void refuses(struct task_source s, const char *why) {
    struct task t;
    struct err e = ERR_INIT;
    assert_int_not_equal(task_open(&t, &s, &e), 0);
    if (!strstr(e.text, why)) fail_msg("\"%s\" lacks \"%s\"", e.text, why);
    task_release(&t);
}

static bool same_rows(const struct dataset *a, const struct dataset *b) {
    bool same = a->examples == b->examples;
    for (size_t i = 0; same && i < a->examples; i++) same = a->example[i].id == b->example[i].id;
    return same;
}

/* Every row of both files is in one of the splits of its file, once. */
static void are_parts(const struct dataset *a, const struct dataset *b, size_t all) {
    bool *seen = xcalloc(all, sizeof *seen);
    assert_int_equal(a->examples + b->examples, all);
    for (size_t i = 0; i < all; i++) {
        uint64_t id = i < a->examples ? a->example[i].id : b->example[i - a->examples].id;
        assert_true(id < all && !seen[id]);
        seen[id] = true;
    }
    for (size_t i = 1; i < a->examples; i++) assert_true(a->example[i].id > a->example[i - 1].id);
    free(seen);
}

static void a_limit_draws_train_rows(void **state) {
    (void)state;
    char *folder = make_folder(41, 9);
    static const struct {
        double limit;
        size_t rows;
    } want[] = { { 10, 10 }, { 0.25, 10 }, { 0.5, 21 }, { 41, 41 }, { 1000, 41 }, { 1, 1 } };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct task t, again, other;
        struct task_source s = { .where = folder, .limit = want[i].limit, .limit_seed = 3 };
        open_task(&t, s);
        open_task(&again, s);
        s.limit_seed = 4;
        open_task(&other, s);
        assert_int_equal(t.train.examples, want[i].rows);
        assert_int_equal(t.dev[0].examples, 9);
        assert_int_equal(t.classes, 2);
        assert_int_equal(t.train.class_examples[0] + t.train.class_examples[1], want[i].rows);
        assert_true(same_rows(&t.train, &again.train));
        if (want[i].rows > 1 && want[i].rows < 41) assert_false(same_rows(&t.train, &other.train));
        for (size_t k = 1; k < t.train.examples; k++) assert_true(t.train.example[k].id > t.train.example[k - 1].id);
        says(&t, "of the 41 examples at random (seed 3)");
        task_release(&t);
        task_release(&again);
        task_release(&other);
    }
    refuses((struct task_source){ .where = folder, .limit = 0.01 }, "--limit 1%: selects none of the 41 examples of");
    free(folder);
}

/* What is held out is the same with a limit, which draws from the others. */
static void a_limit_comes_after_what_is_held_out(void **state) {
    (void)state;
    char *folder = make_folder(100, 0);
    struct task t, whole;
    struct task_source s = { .where = folder, .split = 0.2, .split_seed = 5 };
    open_task(&whole, s);
    s.limit = 30;
    open_task(&t, s);
    assert_true(same_rows(&t.dev[0], &whole.dev[0]));
    assert_int_equal(t.train.examples, 30);
    for (size_t i = 0; i < t.train.examples; i++)
        for (size_t k = 0; k < t.dev[0].examples; k++) assert_true(t.train.example[i].id != t.dev[0].example[k].id);
    task_release(&t);
    task_release(&whole);
    free(folder);
}

/* What the report of a split that was stored as text says of it. */
static struct report_facts facts_of(const struct dataset *d) {
    struct report_facts f;
    struct buf b = BUF_INIT;
    report_text(d, &b);
    report_read(buf_text(&b), &f);
    buf_release(&b);
    return f;
}

/* Rows that are not the first with their text, counted anew. */
static size_t repeated(const struct dataset *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->examples; i++) {
        bool before = false;
        for (size_t k = 0; k < i; k++) before = before || !strcmp(d->example[k].a, d->example[i].a);
        n += before;
    }
    return n;
}

static size_t in_both(const struct dataset *d, const struct dataset *other) {
    size_t n = 0;
    for (size_t i = 0; i < d->examples; i++) {
        bool there = false;
        for (size_t k = 0; k < other->examples; k++) there = there || !strcmp(other->example[k].a, d->example[i].a);
        n += there;
    }
    return n;
}

/* Texts of which each is there twice, some with another label the second time. */
static void a_report_counts_the_examples_of_its_split(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    buf_puts(&b, "sentence\tlabel\n");
    for (int i = 0; i < 200; i++) buf_printf(&b, "text %d\t%s\n", i % 100, i < 180 && i % 2 ? "good" : "bad");
    char *folder = test_folder();
    char *path = test_file(folder, "train.tsv", b.data, b.size);
    static const struct {
        struct task_source s;
        size_t train, dev, dev_split;
    } want[] = { { { .split = 0.2 }, 160, 40, 40 },
                 { { .split = 0.2, .limit = 50 }, 50, 40, 40 },
                 { { .split = 0.4, .dev_rows = 30 }, 120, 30, 80 },
                 { { .limit = 50 }, 50, 0, 0 },
                 { { .split = 0 }, 200, 0, 0 } };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        struct task t;
        struct task_source s = want[i].s;
        s.train = path;
        open_task(&t, s);
        struct report_facts train = facts_of(&t.train), dev = { 0 };
        assert_int_equal(train.examples, want[i].train);
        assert_int_equal(train.split_examples, want[i].train);
        assert_int_equal(train.class_examples[0] + train.class_examples[1], want[i].train);
        assert_int_equal(train.same, repeated(&t.train));
        assert_true(train.same_other_label <= train.same);
        if (want[i].dev) {
            dev = facts_of(&t.dev[0]);
            assert_int_equal(dev.examples, want[i].dev);
            assert_int_equal(dev.split_examples, want[i].dev_split);
            assert_int_equal(dev.class_examples[0] + dev.class_examples[1], want[i].dev);
            assert_int_equal(dev.same, repeated(&t.dev[0]));
            assert_int_equal(dev.across_same, in_both(&t.dev[0], &t.train));
            assert_true(dev.across_same > 5);
        }
        report_facts_release(&train);
        report_facts_release(&dev);
        task_release(&t);
    }
    buf_release(&b);
    free(path);
    free(folder);
}

/* Older reports have no line "split:". */
static void an_older_report_tells_a_split_by_its_classes(void **state) {
    (void)state;
    struct report_facts f;
    report_read("a.tsv (sha256 0123)\n200 rows from 200 lines\nclass 0: no, 21 rows\nclass 1: yes, 19 rows\n", &f);
    assert_int_equal(f.examples, 40);
    assert_int_equal(f.split_examples, 40);
    report_facts_release(&f);
    report_read("a.tsv (sha256 0123)\n200 rows from 200 lines\n160 rows without a gold label\nclass 0: no, 21 rows\n"
                "class 1: yes, 19 rows\n", &f);
    assert_int_equal(f.examples, 200);
    report_facts_release(&f);
    report_read("a.tsv (sha256 0123)\n200 rows from 200 lines\nclass 0: no, 21 rows\nclass 1: yes, 19 rows\n"
                "a fixed draw (seed 0) of 40 of the 200 rows\n", &f);
    assert_int_equal(f.examples, 40);
    assert_int_equal(f.split_examples, 200);
    report_facts_release(&f);
    report_read("a.tsv (sha256 0123)\n200 examples from 201 lines\nclass 0: no, 21 examples\nclass 1: 3 examples, 19 examples\n"
                "a random sample (seed 0) of 40 of the 200 examples\n1 example without a label\n7 examples truncated to 12 tokens\n"
                "warning: 2 examples also in train examples, 3 more differ only in case or whitespace (lines 1, 2)\n"
                "4 duplicate examples, 5 more differ only in case or whitespace\n"
                "warning: in 6 examples truncation removed a whole text\nwarning: 8 targets truncated to 9 tokens, removing 10 tokens\n"
                "90 tokens, 2.50% unknown\n", &f);
    assert_true(f.examples == 40 && f.split_examples == 200 && f.unlabeled == 1 && f.cut_examples == 7 && f.max_len == 12);
    assert_true(f.across_same == 2 && f.across_near == 3 && f.same == 4 && f.near == 5 && f.vanished == 6);
    assert_true(f.cut_targets == 8 && f.max_target == 9 && f.tokens == 90 && f.unknown == 2.5);
    assert_true(f.classes == 2 && f.class_examples[1] == 19 && !strcmp(f.class_name[1], "3 examples"));
    report_facts_release(&f);
}

static void a_small_task_halves_its_dev_rows(void **state) {
    (void)state;
    char *folder = make_folder(30, 11);
    struct task t, again, other;
    struct task_source s = { .where = folder, .split_validation = true, .split_seed = 1 };
    open_task(&t, s);
    assert_int_equal(t.train.examples, 30);
    assert_true(t.has_test && t.devs == 1);
    assert_string_equal(task_split(&t, 0), "dev");
    assert_int_equal(t.dev[0].examples, 5);
    are_parts(&t.dev[0], &t.test, 11);
    says(&t, "5 of the 11 examples, sampled by --split-validation (seed 1); the others are the test set");
    says(&t, "\ntest: ");
    /* the same rows for a saved run, whose train rows are not kept */
    s.no_train = true;
    open_task(&again, s);
    assert_false(again.has_train);
    assert_true(same_rows(&t.dev[0], &again.dev[0]) && same_rows(&t.test, &again.test));
    s.split_seed = 2;
    open_task(&other, s);
    assert_false(same_rows(&t.dev[0], &other.dev[0]));
    task_release(&other);
    task_release(&again);
    /* --eval-rows draws from dev, never from test */
    s = (struct task_source){ .where = folder, .split_validation = true, .split_seed = 1, .dev_rows = 2 };
    open_task(&again, s);
    assert_int_equal(again.dev[0].examples, 2);
    assert_int_equal(again.dev[0].split_examples, 5);
    assert_int_equal(again.test.examples, 6);
    task_release(&again);
    /* a folder's official dev rows are taken where there are some */
    put_rows(folder, "dev_official.tsv", "o", 20);
    open_task(&again, (struct task_source){ .where = folder, .split_validation = true });
    are_parts(&again.dev[0], &again.test, 20);
    assert_int_equal(again.test.example[0].a[0], 'o');
    task_release(&again);
    task_release(&t);
    free(folder);
}

static void a_large_task_holds_train_rows_back(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        int rows = TASK_LARGE - 1 + more;
        char *folder = make_folder(rows, 12);
        struct task t, few;
        struct task_source s = { .where = folder, .split_validation = true };
        open_task(&t, s);
        if (!more) {
            assert_int_equal(t.train.examples, rows);
            are_parts(&t.dev[0], &t.test, 12);
        } else {
            assert_int_equal(t.dev[0].examples, TASK_HELD);
            are_parts(&t.train, &t.dev[0], (size_t)rows);
            assert_int_equal(t.test.examples, 12);
            assert_int_equal(t.train.class_examples[0] + t.train.class_examples[1], rows - TASK_HELD);
            says(&t, "1000 of the 10000 training examples, held out by --split-validation (seed 0); dev is the test set");
            s.limit = 0.1; /* how it is shared out is decided before */
            open_task(&few, s);
            assert_int_equal(few.train.examples, 900);
            assert_true(same_rows(&few.dev[0], &t.dev[0]));
            task_release(&few);
        }
        task_release(&t);
        free(folder);
    }
}

static void mnli_tests_on_the_matched_rows(void **state) {
    (void)state;
    static const char head[] = "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\t"
                               "sentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n",
                      row[] = "0\t0\t0e\tn\t_\t_\t_\t_\t%s\tb\tneutral\tneutral\n";
    static const char *const file[] = { "train.tsv", "dev_matched.tsv", "dev_mismatched.tsv" };
    char *parent = test_folder(), *folder = file_join(parent, "MNLI");
    struct err e = ERR_INIT;
    struct task t;
    test_ok(file_make_folder(folder, &e), &e);
    for (size_t i = 0; i < COUNT_OF(file); i++) {
        struct buf b = BUF_INIT;
        buf_puts(&b, head);
        buf_printf(&b, row, file[i]);
        free(test_file(folder, file[i], b.data, b.size));
        buf_release(&b);
    }
    open_task(&t, (struct task_source){ .where = folder, .split_validation = true });
    assert_int_equal(t.devs, 1);
    assert_string_equal(t.dev[0].example[0].a, "dev_mismatched.tsv");
    assert_string_equal(t.test.example[0].a, "dev_matched.tsv");
    task_release(&t);
    free(folder);
    free(parent);
}

static void what_cannot_be_shared_out_is_refused(void **state) {
    (void)state;
    char *folder = make_folder(10, 1), *none = make_folder(10, 0), *train = file_join(folder, "train.tsv"),
         *dev = file_join(folder, "dev.tsv");
    refuses((struct task_source){ .where = folder, .split_validation = true }, "has only one example; at least two are required");
    refuses((struct task_source){ .where = none, .split_validation = true }, "dev.tsv, .csv or .jsonl is missing");
    refuses((struct task_source){ .where = none, .split_validation = true, .split = 0.1 },
            "--split and --split-validation: mutually exclusive; use one");
    refuses((struct task_source){ .where = folder, .no_dev = true, .split_validation = true }, "--split-validation uses it");
    refuses((struct task_source){ .where = folder, .no_dev = true, .official_dev = true }, "--official-dev uses it");
    refuses((struct task_source){ .train = train, .split_validation = true }, "--split-validation: needs a validation set");
    refuses((struct task_source){ .dev = dev, .split_validation = true }, "--split-validation: needs the training set");
    free(dev);
    free(train);
    free(none);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_draws_train_rows),
        cmocka_unit_test(a_limit_comes_after_what_is_held_out),
        cmocka_unit_test(a_report_counts_the_examples_of_its_split),
        cmocka_unit_test(an_older_report_tells_a_split_by_its_classes),
        cmocka_unit_test(a_small_task_halves_its_dev_rows),
        cmocka_unit_test(a_large_task_holds_train_rows_back),
        cmocka_unit_test(mnli_tests_on_the_matched_rows),
        cmocka_unit_test(what_cannot_be_shared_out_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
