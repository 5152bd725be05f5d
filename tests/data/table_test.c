#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/peek.h"
#include "tests/data/reading.h"

#define ROWS "good film\tpos\nbad film\tneg\nvery good\tpos\n"

/* Where every column is chosen by its number the first line is a row, and that is said. */
static void columns_by_number(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_AS(&d, "t.tsv", ROWS, .text_a = "#1", .label = "#2"), &e);
    assert_int_equal(d.examples, 3);
    has_text(&d, 0, "good film");
    says(&d, "3 examples from 3 lines\n");
    says(&d, "no header, because all columns are chosen by position: line 1 is read as an example");
    dataset_release(&d);
    test_ok(READ_AS(&d, "t.tsv", ROWS, .text_a = "#1"), &e);
    assert_int_equal(d.examples, 3);
    dataset_release(&d);
    test_ok(READ_AS(&d, "t.tsv", ROWS, .text_a = "#1", .label = "#2", .header = DATA_HEADER_YES), &e);
    assert_int_equal(d.examples, 2);
    lacks(&d, "no header");
    dataset_release(&d);
    /* one by name, or a name that looks like a number: there is a header */
    test_ok(READ_AS(&d, "t.tsv", "a\tlabel\n" ROWS, .text_a = "#1", .label = "label"), &e);
    assert_int_equal(d.examples, 3);
    dataset_release(&d);
    test_ok(READ_AS(&d, "t.tsv", "#2\t#1\n" ROWS, .text_a = "#2", .label = "#1"), &e);
    assert_int_equal(d.examples, 3);
    has_text(&d, 0, "good film");
    dataset_release(&d);
    test_refused(READ(&d, "t.tsv", ROWS, .header = DATA_HEADER_NO), ERR_USAGE, &e, "the columns are \"#1\", \"#2\"");
    test_refused(READ_AS(&d, "t.tsv", ROWS, .text_a = "#3"), ERR_USAGE, &e, "column \"#3\" not found; line 1 has 2 columns");
}

/* Another delimiter is named where the columns are not there, and read where it is given. */
static void other_delimiters(void **state) {
    (void)state;
    static const struct {
        const char *name, *c, *option, *hint;
    } cases[] = {
        {"a.csv", ";", ";", "--delimiter ';'"},     {"a.csv", "\t", "tab", "--delimiter tab"},
        {"a.csv", "|", "pipe", "--delimiter '|'"},  {"a.tsv", ",", "comma", "--delimiter ','"},
        {"a.tsv", ";", "semicolon", "--delimiter ';'"}, {"a.csv", ":", ":", NULL},
        {"a.data", ";", ";", "for other tables, set the column delimiter with --delimiter"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dataset d;
        struct err e = ERR_INIT;
        struct dataset_options o = {.text_a = "text", .label = "label"};
        const char *c = cases[i].c;
        char *bytes = xprintf("text%slabel\ngood film%spos\nbad film%sneg\n", c, c, c);
        test_refused(read_bytes(&d, cases[i].name, bytes, strlen(bytes), o, &e), ERR_USAGE, &e,
                     cases[i].hint ? cases[i].hint : "without a header");
        o.delimiter = cases[i].option;
        test_ok(read_bytes(&d, cases[i].name, bytes, strlen(bytes), o, &e), &e);
        assert_int_equal(d.examples, 2);
        has_text(&d, 1, "bad film");
        adds_up(&d);
        dataset_release(&d);
        free(bytes);
    }
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "q.csv", "\"text\";\"label\"\n\"good; film\";\"pos\"\n", .delimiter = ";"), &e);
    has_text(&d, 0, "good; film");
    dataset_release(&d);
    test_refused(READ(&d, "q.csv", "\"text\";\"label\"\n\"good\";\"pos\"\n"), ERR_INPUT, &e, "--delimiter ';'");
    test_ok(READ(&d, "q.tsv", "text\tlabel\n\"good\tpos\n", .delimiter = "tab"), &e);
    has_text(&d, 0, "\"good");
    dataset_release(&d);
    static const char *const bad[] = {"", ";;", "\"", "\n", "\xc3\xa9"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        test_refused(READ(&d, "a.csv", "text,label\na,b\n", .delimiter = bad[i]), ERR_USAGE, &e, "--delimiter");
}

/* A first line as "sep=;" is what spreadsheets write. */
static void declared_delimiter(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "a.csv", "\xef\xbb\xbfsep=;\r\ntext;label\r\ngood, film;pos\r\n"), &e);
    has_text(&d, 0, "good, film");
    assert_int_equal(d.example[0].line, 3);
    says(&d, "1 example from 3 lines (2 header lines)");
    says(&d, "line 1 sets the delimiter \";\"");
    adds_up(&d);
    dataset_release(&d);
    test_ok(READ_AS(&d, "a.csv", "\"sep=|\"\na|b\n", .text_a = "#1", .label = "#2"), &e);
    assert_int_equal(d.examples, 1);
    adds_up(&d);
    dataset_release(&d);
    test_ok(READ_AS(&d, "a.csv", "sep=long,label\na,b\n", .text_a = "sep=long", .label = "label"), &e);
    assert_int_equal(d.examples, 1);
    dataset_release(&d);
}

static void what_is_no_table_is_named(void **state) {
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *part;
    } cases[] = {
        {"a.csv.gz", "\x1f\x8b\x08\0", 4, "compressed (gzip)"}, {"a.csv", "\x1f\x8b\x08\0", 4, "compressed (gzip)"},
        {"a.xlsx", "PK\x03\x04....", 8, "spreadsheet"},         {"a.csv", "PK\x03\x04....", 8, "spreadsheet"},
        {"a.xls", "\xd0\xcf\x11\xe0....", 8, "Microsoft Office"},         {"a.parquet", "PAR1....", 8, "Parquet"},
        {"a.bz2", "BZh91AY&SY", 10, "bzip2"},                   {"a.xz", "\xfd\x37zXZ\0\0\4", 8, "xz"},
        {"a.zst", "\x28\xb5\x2f\xfd\x24", 5, "zstd"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct dataset d;
        struct err e = ERR_INIT;
        const struct dataset_options o = {.text_a = "text"};
        test_refused(read_bytes(&d, cases[i].name, cases[i].bytes, cases[i].n, o, &e), ERR_INPUT, &e, cases[i].part);
    }
}

/* A quote that is not closed on its line takes no other row with it. */
static void unclosed_quotes(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "a.csv", "text,label\n\"good film,pos\nbad film,neg\n\"very, good\",pos\nfine,neg\n"), &e);
    assert_int_equal(d.examples, 3);
    has_text(&d, 0, "bad film");
    has_text(&d, 1, "very, good");
    assert_int_equal(d.example[1].line, 4);
    says(&d, "line 2: unclosed quote at the start of a field");
    adds_up(&d);
    dataset_release(&d);
    /* in a later column, behind one of several lines */
    test_ok(READ(&d, "a.csv", "text,label,x\n\"two\nlines\",\"pos,1\nbad,neg,2\n\"good\",pos,3\n"), &e);
    assert_int_equal(d.examples, 2);
    says(&d, "line 3: unclosed quote at the start of a field");
    adds_up(&d);
    dataset_release(&d);
    /* a field of several lines that is followed by text is left out whole, with all its lines */
    test_ok(READ(&d, "a.csv", "text,label\n\"two\nlines\" more,pos\n\"a\nb\",pos,more\nok,neg\n"), &e);
    assert_int_equal(d.examples, 1);
    says(&d, "line 2: text after a closing quote (the quoted field extends to line 3)");
    says(&d, "line 4: 3 fields, expected 2 (with a quoted field that extends to line 5)");
    adds_up(&d);
    dataset_release(&d);
    int rc = READ(&d, "a.csv", "text,label\ngood,pos\n\"two\nlines\",\"pos\n");
    test_refused(rc, ERR_INPUT, &e, "line 4: unclosed quote at the start of a field");
}

static void rows_whose_bytes_are_odd(void **state) {
    (void)state;
    static const char bytes[] = "text\tlabel\ncaf\xe9\tx\nok\ty\na\0b\tx\n\xff\tx\n";
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "a.tsv", bytes), &e);
    assert_int_equal(d.examples, 4);
    assert_int_equal(d.example[2].a_size, 3);
    says(&d, "warning: 2 examples with invalid UTF-8, replaced by U+FFFD (lines 2, 5)");
    says(&d, "warning: 1 example with a NUL byte (line 4)");
    dataset_release(&d);
}

/* What a file is taken for before it is read: columns, rows, and what each probably is. */
static void a_look_guesses_columns(void **state) {
    (void)state;
    static const struct {
        const char *name, *bytes, *roles; /* a letter a column: t text, u the second, l label, s source, g target, - none */
        bool header;
        const char *delimiter;
    } cases[] = {
        {"a.csv", "id,review,stars\n1,a good film,5\n2,a bad film,1\n3,so so film,5\n4,fine old film,1\n", "-tl", true, NULL},
        {"a.csv", "n,remark,mood\n1,a good film,up\n2,a bad film,down\n3,a good film,up\n4,a bad film,down\n", "-tl", true, NULL},
        {"a.csv", "text;label\na film;1\nno film;0\n", "tl", true, "semicolon"},
        {"a.tsv", "a good film\t1\nno good\t0\nso so\t1\nfine one\t0\n", "tl", false, NULL},
        {"a.tsv", "premise\thypothesis\tlabel\nit is so\tis it\tyes\nit is not\tis it so\tno\n", "tul", true, NULL},
        {"a.csv", "document,summary\na long text,short\nanother text,shorter\n", "sg", true, NULL},
        {"a.csv", "english,german\nthe house,das Haus\nthe old man,der alte Mann\n", "sg", true, NULL},
        {"a.jsonl", "{\"text\":\"a b\",\"n\":1,\"label\":true}\n{\"text\":\"c d\",\"label\":false}\n", "t-l", false, NULL},
        {"a.json", " [{\"text\":\"a}b \\\" c\",\"n\":{\"x\":1},\"label\":true},\n{\"text\":\"c d\",\"label\":false}] ", "t-l", false, NULL},
        {"a.jsonl", "{\"prompt\":\"a b\",\"completion\":\"c\"}\n{\"prompt\":\"c d\",\"completion\":\"e\"}\n", "sg", false, NULL},
        {"a.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"a b\"}]}\n{\"messages\":[]}\n", "-", false, NULL},
        {"a.csv", "instruction,input,output\na b,c d,e f\na c,c e,e g\n", "---", true, NULL},
        {"a.csv", "\"quoted, name\",label\n\"two\nlines\",x\n", "-l", true, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peek p;
        struct err e = ERR_INIT;
        char *folder = test_folder(), *path = test_file(folder, cases[i].name, cases[i].bytes, strlen(cases[i].bytes)), roles[16] = "";
        test_ok(peek_file(&p, path, &(struct peek_how){0}, &e), &e);
        for (int c = 0; c < p.columns; c++) roles[c] = "-tulsg"[p.column[c].role];
        assert_string_equal(roles, cases[i].roles);
        assert_int_equal(p.header, cases[i].header);
        assert_true(p.whole);
        if (cases[i].delimiter) assert_string_equal(p.delimiter, cases[i].delimiter);
        else assert_null(p.delimiter);
        peek_release(&p);
        free(path);
        free(folder);
    }
    struct peek p;
    struct err e = ERR_INIT;
    char *folder = test_folder(), *path = test_file(folder, "a.data", "x", 1);
    test_refused(peek_file(&p, path, &(struct peek_how){0}, &e), ERR_USAGE, &e, "unknown file name extension");
    free(path);
    path = test_file(folder, "b.csv", "PK\x03\x04zip", 7);
    test_refused(peek_file(&p, path, &(struct peek_how){0}, &e), ERR_INPUT, &e, "b.csv");
    free(path);
    free(folder);
}

/* A file that is longer than what is looked at: its last record is not taken for a broken one. */
static void a_look_stops_within_a_record(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    struct peek p;
    struct err e = ERR_INIT;
    buf_puts(&b, "text,label\n\"a\nb\",x\n\"");
    for (int i = 0; i < 300000; i++) buf_puts(&b, "words\n");
    buf_puts(&b, "\",y\n");
    char *folder = test_folder(), *path = test_file(folder, "long.csv", b.data, b.size);
    test_ok(peek_file(&p, path, &(struct peek_how){0}, &e), &e);
    assert_int_equal(p.rows, 1);
    assert_false(p.whole);
    assert_string_equal(p.column[1].cell[0], "x");
    peek_release(&p);
    buf_release(&b);
    free(path);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_by_number),   cmocka_unit_test(other_delimiters),
        cmocka_unit_test(declared_delimiter),  cmocka_unit_test(what_is_no_table_is_named),
        cmocka_unit_test(unclosed_quotes),     cmocka_unit_test(rows_whose_bytes_are_odd),
        cmocka_unit_test(a_look_guesses_columns), cmocka_unit_test(a_look_stops_within_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
