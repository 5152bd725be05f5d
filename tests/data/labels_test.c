#include "core/base/mem.h"
#include "tests/data/reading.h"

static const char *const zero_one[] = {"0", "1"};
static const char *const polarity[] = {"-1", "1"};

/* What becomes of a label -1: classes beside it, and how many rows have none. */
static void minus_one(void **state) {
    (void)state;
    static const struct {
        const char *labels; /* a row each, with blanks */
        struct dataset_options o;
        int classes;
        size_t rows, unlabelled;
    } cases[] = {
        /* a class: with 1 alone, beside other negatives, among names, and where that is said */
        {"-1 1 -1 1", {.need_gold = true}, 2, 4, 0},
        {"-1 1 -1 1", {.need_gold = false}, 2, 4, 0},
        {"-2 -1 0 1 2", {.need_gold = true}, 5, 5, 0},
        {"-2 -1", {.need_gold = true}, 2, 2, 0},
        {"-1 pos neg", {.need_gold = true}, 3, 3, 0},
        {"-1 0 1 -1", {.need_gold = true, .kind = DATA_KIND_CLASSES}, 3, 4, 0},
        {"-1 0 1", {.names = polarity, .name_count = 2, .no_gold = "0"}, 2, 3, 1},
        {"-1 1", {.names = polarity, .name_count = 2}, 2, 2, 0},
        {"-1 1", {.names = polarity, .name_count = 2, .no_gold = "-1"}, 2, 2, 0},
        /* none: where the classes are known without it, and where that is said */
        {"-1 0 1 -1", {.names = zero_one, .name_count = 2}, 2, 4, 2},
        {"-1 -1", {.names = zero_one, .name_count = 2, .kind = DATA_KIND_CLASSES}, 2, 2, 2},
        {"-1 0 1 -1", {.names = zero_one, .name_count = 2, .need_gold = true}, 2, 2, 0},
        {"-1 0 1 -1", {.need_gold = true, .no_gold = "-1"}, 2, 2, 0},
        {"-1 1", {.need_gold = true, .no_gold = "-1"}, 1, 1, 0},
        {"-1 0 1", {.kind = DATA_KIND_CLASSES, .no_gold = "-1"}, 2, 3, 1},
        {"-1 0 1 -1", {.no_gold = NULL}, 2, 4, 2},
        {"? 0 1 ?", {.need_gold = true, .no_gold = "?"}, 2, 2, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dataset d;
        struct err e = ERR_INIT;
        struct buf b = BUF_INIT;
        struct dataset_options o = cases[i].o;
        buf_puts(&b, "text\tlabel\na\t");
        for (const char *s = cases[i].labels; *s; s++) {
            if (*s == ' ') buf_puts(&b, "\na\t");
            else buf_putc(&b, *s);
        }
        buf_putc(&b, '\n');
        o.text_a = "text";
        o.label = "label";
        test_ok(read_bytes(&d, "d.tsv", b.data, b.size, o, &e), &e);
        if (d.classes != cases[i].classes || d.rows != cases[i].rows ||
            d.report.unlabelled != cases[i].unlabelled)
            fail_msg("case %zu: %d classes, %zu rows, %zu without label", i, d.classes, d.rows,
                     d.report.unlabelled);
        if (d.report.skipped || d.report.unlabelled) says(&d, "stands for no gold label");
        adds_up(&d);
        dataset_release(&d);
        buf_release(&b);
    }
}

/* Beside 0, 1, … in rows to train on it could be either: the rows are named, and both ways out. */
static void unclear_minus_one(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    int rc = READ(&d, "t.tsv", "text\tlabel\na\t0\nb\t-1\nc\t1\nd\t-1\ne\t2\n", .need_gold = true);
    test_refused(rc, ERR_INPUT, &e, "2 rows have the label -1 beside 0, 1, 2 (lines 3, 5)");
    test_refused(rc, ERR_INPUT, &e, "--kind classes");
    test_refused(rc, ERR_INPUT, &e, "--no-gold -1");
    rc = READ(&d, "t.tsv", "text\tlabel\na\t-1\n", .need_gold = true);
    test_refused(rc, ERR_INPUT, &e, "1 row has the label -1 (line 2)");
}

static void scores_without_gold(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\t0.5\nb\t-1\nc\t2\n", .need_gold = true), &e);
    assert_int_equal(d.rows, 3);
    assert_true(d.row[1].target == -1);
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\t0.5\nb\t?\nc\t2\n", .need_gold = true, .no_gold = "?"), &e);
    assert_int_equal(d.kind, DATA_REGRESSION);
    assert_int_equal(d.rows, 2);
    says(&d, "line 3: no gold label (?)");
    dataset_release(&d);
}

/* Several labels in a cell, and classes of one row, are told. */
static void labels_put_together(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\t0\nb\t1\nc\t2\nd\t0,1\ne\t0,1,2\nf\tx,y\n", .need_gold = true), &e);
    assert_int_equal(d.classes, 6);
    says(&d, "warning: 2 labels are others put together, as \"0,1\"");
    says(&d, "warning: 6 of 6 classes have one row each");
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tjoy\nb\tanger\nc\tjoy; anger\n"), &e);
    says(&d, "1 labels are others put together, as \"joy; anger\"");
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tjoy\nb\tanger, fear\nb\tjoy\n", .need_gold = true), &e);
    lacks(&d, "put together");
    lacks(&d, "one row each");
    dataset_release(&d);
    test_refused(READ(&d, "t.tsv", "text\tlabel\na\t0\nb\t1\nc\t0,1\n"), ERR_INPUT, &e, "--kind classes");
}

/* A label is read as a text is: what is not UTF-8 is U+FFFD; two that would be one are refused. */
static void labels_that_are_not_utf8(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    static const char *const names[] = {"bad", "caf\xef\xbf\xbd"};
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tcaf\xe9\nb\tbad\nc\tcaf\xe9\n", .need_gold = true), &e);
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_name[1], names[1]);
    assert_int_equal(d.class_rows[1], 2);
    says(&d, "2 rows with bytes that are not UTF-8, each read as U+FFFD (lines 2, 4)");
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tcaf\xe9\n", .names = names, .name_count = 2), &e);
    assert_int_equal(d.row[0].label, 1);
    dataset_release(&d);
    int rc = READ(&d, "t.tsv", "text\tlabel\na\tcaf\xe9\nb\tbad\nc\tcaf\xe8\n");
    test_refused(rc, ERR_INPUT, &e, "the labels of lines 2 and 4 differ only in bytes that are not UTF-8");
    rc = READ(&d, "t.tsv", "text\tlabel\na\tcaf\xef\xbf\xbd\nb\tbad\nc\tcaf\xe8\n");
    test_refused(rc, ERR_INPUT, &e, "the labels of lines 2 and 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minus_one),
        cmocka_unit_test(unclear_minus_one),
        cmocka_unit_test(scores_without_gold),
        cmocka_unit_test(labels_put_together),
        cmocka_unit_test(labels_that_are_not_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
