#include "core/base/mem.h"
#include "tests/data/reading.h"

static const char *const zero_one[] = {"0", "1"};
static const char *const polarity[] = {"-1", "1"};

/* What becomes of a label -1 or -: classes beside it, and how many rows have none. */
static void marks_of_no_label(void **state) {
    (void)state;
    static const struct {
        const char *labels; /* a row each, with blanks */
        struct dataset_options o;
        int classes;
        size_t rows, unlabeled;
    } cases[] = {
        /* a class: with 1 alone, beside other negatives, among names, and where that is said */
        {"-1 1 -1 1", {.need_labels = true}, 2, 4, 0},
        {"-1 1 -1 1", {.need_labels = false}, 2, 4, 0},
        {"-2 -1 0 1 2", {.need_labels = true}, 5, 5, 0},
        {"-2 -1", {.need_labels = true}, 2, 2, 0},
        {"-1 pos neg", {.need_labels = true}, 3, 3, 0},
        {"-1 0 1 -1", {.need_labels = true, .kind = DATA_KIND_CLASSES}, 3, 4, 0},
        {"-1 0 1", {.names = polarity, .name_count = 2, .unlabeled = "0"}, 2, 3, 1},
        {"-1 1", {.names = polarity, .name_count = 2}, 2, 2, 0},
        {"-1 1", {.names = polarity, .name_count = 2, .unlabeled = "-1"}, 2, 2, 0},
        /* none: where the classes are known without it, and where that is said */
        {"-1 0 1 -1", {.names = zero_one, .name_count = 2}, 2, 4, 2},
        {"-1 -1", {.names = zero_one, .name_count = 2, .kind = DATA_KIND_CLASSES}, 2, 2, 2},
        {"-1 0 1 -1", {.names = zero_one, .name_count = 2, .need_labels = true}, 2, 2, 0},
        {"-1 0 1 -1", {.need_labels = true, .unlabeled = "-1"}, 2, 2, 0},
        {"-1 1", {.need_labels = true, .unlabeled = "-1"}, 1, 1, 0},
        {"-1 0 1", {.kind = DATA_KIND_CLASSES, .unlabeled = "-1"}, 2, 3, 1},
        {"-1 0 1 -1", {.unlabeled = NULL}, 2, 4, 2},
        {"- + - +", {.need_labels = true}, 2, 4, 0},
        {"- yes no", {.need_labels = true, .kind = DATA_KIND_CLASSES}, 3, 3, 0},
        {"- yes no -", {.need_labels = true, .unlabeled = "-"}, 2, 2, 0},
        {"- yes no -", {.need_labels = false}, 2, 4, 2},
        {"- 0 1 -", {.names = zero_one, .name_count = 2}, 2, 4, 2},
        {"? 0 1 ?", {.need_labels = true, .unlabeled = "?"}, 2, 2, 0},
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
        if (d.classes != cases[i].classes || d.examples != cases[i].rows ||
            d.report.unlabeled != cases[i].unlabeled)
            fail_msg("case %zu: %d classes, %zu rows, %zu without label", i, d.classes, d.examples,
                     d.report.unlabeled);
        if (d.report.skipped || d.report.unlabeled) says(&d, "marks unlabeled examples");
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
    int rc = READ(&d, "t.tsv", "text\tlabel\na\t0\nb\t-1\nc\t1\nd\t-1\ne\t2\n", .need_labels = true);
    test_refused(rc, ERR_INPUT, &e, "ambiguous label -1 in 2 examples (lines 3, 5): a class, or a mark for unlabeled examples; the other labels are 0, 1, 2;");
    test_refused(rc, ERR_INPUT, &e, "--kind classes");
    test_refused(rc, ERR_INPUT, &e, "--unlabeled -1");
    rc = READ(&d, "t.tsv", "text\tlabel\na\t-1\n", .need_labels = true);
    test_refused(rc, ERR_INPUT, &e, "ambiguous label -1 in 1 example (line 2)");
    rc = READ(&d, "t.tsv", "text\tlabel\na\tentailment\nb\t-\nc\tneutral\nd\t-\n", .need_labels = true);
    test_refused(rc, ERR_INPUT, &e, "ambiguous label - in 2 examples (lines 3, 5): a class, or a mark for unlabeled examples; the other labels are entailment, neutral;");
    test_refused(rc, ERR_INPUT, &e, "--unlabeled -");
}

/* What is read of labels where `odds` lines from 4 on have `odd` and the others are 0, step, 2 step, … */
static int read_odd(struct dataset *d, double step, const char *odd, int odds, struct dataset_options o,
                    struct err *e) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "text\tlabel\n");
    for (int i = 0; i < 12; i++) {
        buf_printf(&b, "text %d\t", i);
        if (i >= 2 && i < 2 + odds) buf_puts(&b, odd);
        else buf_printf(&b, "%.2f", i * step);
        buf_putc(&b, '\n');
    }
    o.text_a = "text";
    o.label = "label";
    o.need_labels = true;
    int rc = read_bytes(d, "d.tsv", b.data, b.size, o, e);
    buf_release(&b);
    return rc;
}

/* One cell does not decide what the others are: it is named with what to do, which works. */
static void an_odd_cell(void **state) {
    (void)state;
    static const char *const odd[] = {"NaN", "-", "?", "N/A", "None", "inf", "1e999", "5/5", "null", "unknown"};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct dataset d;
        struct err e = ERR_INIT;
        char way[64], cell[128];
        snprintf(cell, sizeof cell, "line 4: the label \"%s\" is not a finite number, unlike 11 of the 12 labels", odd[i]);
        snprintf(way, sizeof way, strcmp(odd[i], "?") ? "--unlabeled %s " : "--unlabeled '%s' ", odd[i]);
        int rc = read_odd(&d, 0.25, odd[i], 1, (struct dataset_options){0}, &e);
        test_refused(rc, ERR_INPUT, &e, cell);
        test_refused(rc, ERR_INPUT, &e, way);
        test_refused(rc, ERR_INPUT, &e, "--kind classes");
        rc = read_odd(&d, 0.25, odd[i], 1, (struct dataset_options){.kind = DATA_KIND_REGRESSION}, &e);
        test_refused(rc, ERR_INPUT, &e, way);
        test_ok(read_odd(&d, 0.25, odd[i], 1, (struct dataset_options){.unlabeled = odd[i]}, &e), &e);
        assert_int_equal(d.kind, DATA_REGRESSION);
        assert_int_equal(d.examples, 11);
        dataset_release(&d);
        test_ok(read_odd(&d, 0.25, odd[i], 1, (struct dataset_options){.kind = DATA_KIND_CLASSES}, &e), &e);
        assert_int_equal(d.classes, 12);
        dataset_release(&d);
    }
}

/* Among whole numbers only the usual spellings of a missing value are; many others make classes. */
static void odd_cells_among_others(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    struct dataset_options none = {0}, marked = {.unlabeled = "NaN"};
    test_refused(read_odd(&d, 1, "NaN", 5, none, &e), ERR_INPUT, &e, "unlike 7 of the 12 labels");
    test_ok(read_odd(&d, 1, "NaN", 5, marked, &e), &e);
    assert_int_equal(d.classes, 7);
    dataset_release(&d);
    test_ok(read_odd(&d, 1, "other", 1, none, &e), &e);
    assert_int_equal(d.classes, 12);
    dataset_release(&d);
    test_ok(read_odd(&d, 0.25, "beta", 4, none, &e), &e);
    assert_int_equal(d.kind, DATA_CLASSES);
    dataset_release(&d);
    test_refused(read_odd(&d, 0.25, "?", 1, marked, &e), ERR_INPUT, &e, "write NaN (--unlabeled)");
}

static void scores_without_gold(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\t0.5\nb\t-1\nc\t2\n", .need_labels = true), &e);
    assert_int_equal(d.examples, 3);
    assert_true(d.example[1].target == -1);
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\t0.5\nb\t?\nc\t2\n", .need_labels = true, .unlabeled = "?"), &e);
    assert_int_equal(d.kind, DATA_REGRESSION);
    assert_int_equal(d.examples, 2);
    says(&d, "line 3: unlabeled (?)");
    dataset_release(&d);
}

/* Several labels in a cell, and classes of one row, are told. */
static void labels_put_together(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\t0\nb\t1\nc\t2\nd\t0,1\ne\t0,1,2\nf\tx,y\n", .need_labels = true), &e);
    assert_int_equal(d.classes, 6);
    says(&d, "warning: 2 labels are combinations of others, such as \"0,1\"");
    says(&d, "warning: 6 of 6 classes have only one example each");
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tjoy\nb\tanger\nc\tjoy; anger\n"), &e);
    says(&d, "1 label is a combination of others, such as \"joy; anger\"");
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tjoy\nb\tanger, fear\nb\tjoy\n", .need_labels = true), &e);
    lacks(&d, "combine others");
    lacks(&d, "only one example each");
    dataset_release(&d);
    test_refused(READ(&d, "t.tsv", "text\tlabel\na\t0\nb\t1\nc\t0,1\n"), ERR_INPUT, &e, "--kind classes");
}

/* A label is read as a text is: what is not UTF-8 is U+FFFD; two that would be one are refused. */
static void labels_that_are_not_utf8(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    static const char *const names[] = {"bad", "caf\xef\xbf\xbd"};
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tcaf\xe9\nb\tbad\nc\tcaf\xe9\n", .need_labels = true), &e);
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_name[1], names[1]);
    assert_int_equal(d.class_examples[1], 2);
    says(&d, "2 examples with invalid UTF-8, replaced by U+FFFD (lines 2, 4)");
    dataset_release(&d);
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tcaf\xe9\n", .names = names, .name_count = 2), &e);
    assert_int_equal(d.example[0].label, 1);
    dataset_release(&d);
    int rc = READ(&d, "t.tsv", "text\tlabel\na\tcaf\xe9\nb\tbad\nc\tcaf\xe8\n");
    test_refused(rc, ERR_INPUT, &e, "the labels of lines 2 and 4 differ only in invalid UTF-8");
    rc = READ(&d, "t.tsv", "text\tlabel\na\tcaf\xef\xbf\xbd\nb\tbad\nc\tcaf\xe8\n");
    test_refused(rc, ERR_INPUT, &e, "the labels of lines 2 and 4");
}

/* Labels that look alike are told apart by their invisible characters; whitespace around a number is not its value. */
static void labels_that_look_alike(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tcaf\xc3\xa9\nb\tcafe\xcc\x81\nc\tspam\nd\tSpam\ne\tspam\xe2\x80\x8b\n"
                              "f\tspam\xc2\xa0\ng\tham\n"), &e);
    assert_int_equal(d.classes, 7);
    says(&d, "warning: 2 labels begin or end with whitespace or invisible characters: \"spam<U+00A0>\", \"spam<U+200B>\"");
    says(&d, "warning: the labels \"cafe<U+0301>\", \"caf\xc3\xa9\" differ only in case");
    says(&d, "warning: the labels \"Spam\", \"spam\", \"spam<U+00A0>\", \"spam<U+200B>\" differ only in case");
    lacks(&d, "\"ham\"");
    dataset_release(&d);
    static const char *const names[] = {"caf\xc3\xa9", "spam"};
    test_ok(READ(&d, "t.tsv", "text\tlabel\na\tcafe\xcc\x81\nb\tspam\xe2\x80\x8b\n", .names = names, .name_count = 2), &e);
    assert_int_equal(d.example[0].label, 0);
    says(&d, "the labels match the classes of the task, ignoring case");
    dataset_release(&d);
    test_refused(READ(&d, "t.tsv", "text\tlabel\na\tspam\nb\teggs\xe2\x80\x8b\n", .names = names, .name_count = 2),
                 ERR_INPUT, &e, "\"eggs<U+200B>\" is not among");
    int rc = READ(&d, "t.csv", "text,\xe2\x80\x8blabel\na,x\n");
    test_refused(rc, ERR_USAGE, &e, "\"text\", \"<U+200B>label\"");
    test_refused(rc, ERR_USAGE, &e, "did you mean --label");
    test_ok(READ(&d, "t.csv", "text,label\na, 0.5\nb,\xc2\xa0" "2\nc,1.5 \nd,3\n", .need_labels = true), &e);
    assert_int_equal(d.kind, DATA_REGRESSION);
    assert_true(d.example[0].target == 0.5 && d.example[1].target == 2);
    says(&d, "whitespace around 3 numeric labels is ignored (lines 2, 3, 4)");
    dataset_release(&d);
}

/* Numbers that a JSON library does not hold: no matter where nobody asks, digits where somebody does. */
static void numbers_beyond_64_bits(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.jsonl", "{\"id\":18446744073709551615,\"text\":\"a \\\" 1e999\",\"label\":18446744073709551614}\n"
                                "{\"id\":1e999,\"text\":\"b\",\"label\":18446744073709551615}\n"), &e);
    assert_int_equal(d.examples, 2);
    has_text(&d, 0, "a \" 1e999");
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_name[0], "18446744073709551614");
    lacks(&d, "are the same number");
    dataset_release(&d);
    test_ok(READ_AS(&d, "t.json", "[{\"id\":-99999999999999999999,\"text\":\"a\"}]", .text_a = "text", .format = DATA_LIST), &e);
    assert_int_equal(d.examples, 1);
    dataset_release(&d);
    test_refused(READ(&d, "t.jsonl", "{\"text\":\"a\",\"label\":1e999}\n{\"text\":\"b\",\"label\":0.5}\n"
                                     "{\"text\":\"c\",\"label\":0.25}\n{\"text\":\"c\",\"label\":0.75}\n"
                                     "{\"text\":\"c\",\"label\":1.75}\n"),
                 ERR_INPUT, &e, "--unlabeled 1e999");
}

/* The header once more, as files that were joined have it, is left out and named; a text alone may be its column's name. */
static void the_header_again(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.csv", "text,label\na,pos\nb,neg\ntext,label\nc,pos\nlabel,neg\n", .need_labels = true), &e);
    assert_int_equal(d.classes, 2);
    assert_int_equal(d.examples, 4);
    says(&d, "line 4: repeated header");
    adds_up(&d);
    dataset_release(&d);
    test_ok(READ_AS(&d, "t.tsv", "text\na\ntext\n", .text_a = "text"), &e);
    assert_int_equal(d.examples, 2);
    dataset_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_no_label),
        cmocka_unit_test(unclear_minus_one),
        cmocka_unit_test(an_odd_cell),
        cmocka_unit_test(odd_cells_among_others),
        cmocka_unit_test(scores_without_gold),
        cmocka_unit_test(labels_put_together),
        cmocka_unit_test(labels_that_are_not_utf8),
        cmocka_unit_test(labels_that_look_alike),
        cmocka_unit_test(numbers_beyond_64_bits),
        cmocka_unit_test(the_header_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
