#include "core/data/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/report_read.h"
#include "tests/data/reading.h"

/* Quotes have no meaning in TSV. */
static void tsv_quotes_are_text(void **state) {
    (void)state;
    static const char bytes[] =
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
        "1\t11\t12\tThe shop sells pies .\t\" Pies are sold in the shop .\n"
        "0\t21\t22\tHe hated the plan .\tShe said she was \" 100 percent behind \" the plan .\n"
        "0\t31\t32\tIt was at 116.92 yen .\tIt was at 116.78 yen .\n"
        "1\t41\t42\t\"Wait\" is what they said .\tThey said to wait .\n"
        "0\t51\t52\tNo date is set .\tNo date \" has been set .\n";
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ_AS(&d, "t.tsv", bytes, .text_a = "#1 String", .text_b = "#2 String",
                    .label = "Quality"),
            &e);
    assert_int_equal(d.examples, 5);
    assert_int_equal(d.classes, 2);
    assert_int_equal(d.class_examples[0], 3);
    assert_int_equal(d.class_examples[1], 2);
    has_text(&d, 3, "\"Wait\" is what they said .");
    assert_string_equal(d.example[0].b, "\" Pies are sold in the shop .");
    assert_int_equal(d.example[4].line, 6);
    adds_up(&d);
    dataset_release(&d);
}

/* Byte order mark, CRLF, a blank line, no line end at the end. */
static void line_ends(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(
        READ_AS(
            &d, "t.tsv",
            "\xef\xbb\xbfsentence\tlabel\r\ngood film\tpos\r\nbad film\tneg\r\n\r\nvery good\tpos",
            .label = "label"),
        &e);
    assert_int_equal(d.columns, 2);
    assert_string_equal(d.column[0], "sentence");
    assert_string_equal(d.column[1], "label");
    assert_int_equal(d.examples, 3);
    assert_int_equal(d.classes, 2);
    assert_string_equal(d.class_name[0], "neg");
    assert_string_equal(d.class_name[1], "pos");
    says(&d, "1 blank line skipped");
    adds_up(&d);
    dataset_release(&d);
}

/* -1 is not a class where the classes are known and none has that name. */
static void no_gold_labels(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    static const char *const names[] = {"0", "1"};
    test_ok(READ(&d, "dev.tsv", "text\tlabel\ngood film\t-1\nbad film\t-1\n", .names = names,
                 .name_count = 2), &e);
    assert_int_equal(d.examples, 2);
    assert_int_equal(d.report.unlabeled, 2);
    assert_false(d.example[0].labeled);
    assert_int_equal(d.example[1].label, -1);
    says(&d, "the label -1 marks unlabeled examples");
    dataset_release(&d);
}

/* Labels are matched to a model's classes by name; by number only if requested. */
static void labels_map_by_name(void **state) {
    (void)state;
    static const char *const names[] = {"neutral", "contradiction", "entailment"};
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "d.tsv", "text\tlabel\na\tentailment\nb\tentailment\nc\tneutral\n",
                 .names = names, .name_count = 3, .names_or_numbers = true),
            &e);
    assert_int_equal(d.classes, 3);
    assert_int_equal(d.example[0].label, 2);
    assert_int_equal(d.example[2].label, 0);
    dataset_release(&d);
    test_ok(READ(&d, "d.tsv", "text\tlabel\na\t0\nb\t2\n", .names = names, .name_count = 3,
                 .names_from = "the model's id2label", .names_or_numbers = true), &e);
    assert_int_equal(d.example[1].label, 2);
    says(&d, "used as the class indices of the model's id2label");
    says(&d, "0 is \"neutral\"");
    dataset_release(&d);
    test_ok(READ(&d, "d.tsv", "text\tlabel\na\tENTAILMENT\n", .names = names, .name_count = 3), &e);
    assert_int_equal(d.example[0].label, 2);
    says(&d, "ignoring case");
    dataset_release(&d);
    test_refused(READ(&d, "d.tsv", "text\tlabel\na\tneutral\nb\tmaybe\n", .names = names,
                      .name_count = 3), ERR_INPUT, &e, "line 3: the label \"maybe\"");
}

/* Words that look like missing values are text. */
static void missing_looking_words(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    static const char *const word[] = {"null", "NA", "None", "nan", "N/A", "NULL", ""};
    test_ok(
        READ(&d, "t.tsv", "text\tlabel\nnull\tx\nNA\tx\nNone\tx\nnan\tx\nN/A\tx\nNULL\tx\n\tx\n"),
        &e);
    assert_int_equal(d.examples, 7);
    for (size_t i = 0; i < 7; i++) has_text(&d, i, word[i]);
    assert_int_equal(d.report.empty_a, 1);
    says(&d, "1 empty text, included");
    dataset_release(&d);
}

/* Invalid JSON Lines. */
static void json_lines(void **state) {
    (void)state;
    static const char
        bytes[] = "\xef\xbb\xbf{\"text\":\"good film\",\"label\":\"pos\"}\n"
                  "{\"text\":\"bad\xe2\x80\xa8"
                  "film\",\"label\":\"neg\"}\r\n"
                  "{\"text\":\"not\xc2\x85good\",\"label\":\"neg\"}\n\n"
                  "{\"text\":\"very good\",\"label\":null}\n{\"text\":null,\"label\":\"pos\"}\n"
                  "{\"label\":\"pos\",\"text\":\"cat sat\",\"extra\":{\"a\":[1,{\"b\":null}]}}\n"
                  "{\"text\":\"a\",\"text\":\"mat\",\"label\":\"pos\"}\n"
                  "{\"text\":\"on \\ud83c\\udfac film\",\"label\":\"neg\"}\n"
                  "{\"text\":\"un \\ud800 "
                  "x\",\"label\":\"neg\"}\n{\"text\":\"nu\\u0000l\",\"label\":\"neg\"}\n"
                  "{\"text\":[\"good\",\"film\"],\"label\":\"pos\"}\n{\"label\":\"pos\"}\n"
                  "{\"text\":\"film\",\"label\":\"pos\"";
    assert_int_equal(sizeof bytes - 1, 476);
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.jsonl", bytes), &e);
    static const size_t line[] = {1, 2, 3, 7, 9};
    assert_int_equal(d.examples, 5);
    for (size_t i = 0; i < 5; i++) assert_int_equal(d.example[i].line, line[i]);
    has_text(&d, 1, "bad\u2028film");
    has_text(&d, 2, "not\xc2\x85good");
    has_text(&d, 4, "on \U0001F3AC film");
    static const struct {
        size_t line;
        const char *why;
    } bad[] = {{5, "unlabeled"}, {6, "\"text\" must be a string, not null"}, {8, "duplicate key"},
               {10, "an unpaired surrogate"}, {11, "contains the character U+0000"},
               {12, "\"text\" must be a string, not an array"}, {13, "\"text\" is missing"}, {14, "truncated"}};
    assert_int_equal(d.report.skipped, COUNT_OF(bad));
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(d.report.first[i].line, bad[i].line);
        assert_string_equal(d.report.first[i].why, bad[i].why);
    }
    assert_int_equal(d.report.lines, 14);
    assert_int_equal(d.classes, 2);
    adds_up(&d);
    dataset_release(&d);
    test_ok(READ(&d, "n.jsonl", "{\"text\":\"a\",\"label\":1}\n{\"text\":\"b\",\"label\":0}\n"),
            &e);
    assert_string_equal(d.class_name[0], "0");
    dataset_release(&d);
    test_ok(
        READ(&d, "n.jsonl", "{\"text\":\"a\",\"label\":true}\n{\"text\":\"b\",\"label\":2.5}\n"),
        &e);
    assert_string_equal(d.class_name[0], "2.5");
    assert_string_equal(d.class_name[1], "true");
    dataset_release(&d);
}

/* One list: what is no object is skipped by its number wherever it stands; columns are those of the first objects. */
static void json_list(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "l.json", "[3,{\"text\":\"a\",\"label\":\"x\"},{\"text\":\"b\",\"label\":\"y\",\"more\":1},null]",
                 .format = DATA_LIST), &e);
    assert_int_equal(d.examples, 2);
    assert_int_equal(d.columns, 3);
    has_text(&d, 1, "b");
    adds_up(&d);
    assert_int_equal(d.report.skipped, 2);
    assert_int_equal(d.report.first[0].line, 1);
    assert_string_equal(d.report.first[1].why, "expected an object, found null");
    dataset_release(&d);
    test_refused(READ(&d, "l.json", "[1]", .format = DATA_LIST), ERR_INPUT, &e, "line 1: expected an object, found a number");
    e = (struct err)ERR_INIT;
    test_refused(READ(&d, "l.json", "[]", .format = DATA_LIST), ERR_INPUT, &e, "no examples");
    e = (struct err)ERR_INIT;
    test_refused(READ(&d, "l.json", "{}", .format = DATA_LIST), ERR_INPUT, &e, "expected an array of objects");
}

/* Headers and labels are never guessed. */
static void headers_and_label_names(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    int rc = READ(&d, "a.csv", "good film,pos\nbad film,neg\nvery good,pos\n");
    test_refused(rc, ERR_USAGE, &e, "\"good film\", \"pos\"");
    test_refused(rc, ERR_USAGE, &e, "without a header");
    test_ok(READ_AS(&d, "a.csv", "good film,pos\nbad film,neg\nvery good,pos\n", .header = DATA_HEADER_NO,
                 .text_a = "#1", .label = "#2"), &e);
    assert_int_equal(d.examples, 3);
    dataset_release(&d);
    test_refused(READ(&d, "b.csv", "text,label,text\ngood film,pos,X1\nbad film,neg,X2\n"),
                 ERR_USAGE, &e, "\"#1\" or \"#3\"");
    test_ok(READ_AS(&d, "b.csv", "text,label,text\ngood film,pos,X1\n", .text_a = "#3",
                    .label = "label"),
            &e);
    has_text(&d, 0, "X1");
    dataset_release(&d);
    test_ok(READ(&d, "c.csv", ",text,label\n0,good film,pos\n1,bad film,neg\n"), &e);
    assert_int_equal(d.examples, 2);
    dataset_release(&d);
    test_ok(READ(&d, "d.csv",
                 "text,label\ngood film,True\nbad film,False\nvery good,true\nnot good,FALSE\n"
                 "cat sat,True \nmat,1\nfilm,1.0\nthe cat,01\n"),
            &e);
    assert_int_equal(d.classes, 8);
    says(&d, "\"True \", 1 example");
    says(&d, "differ only in case, whitespace, invisible characters or Unicode form");
    says(&d, "are the same number");
    says(&d, "labels are classes, because some are not numbers");
    dataset_release(&d);
}

static void csv_quotes(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "q.csv", "text,label\r\n\"a, \"\"b\"\"\nc\",x\r\n\"\",y\r\nno \"quote\",x\r\n"
                 "\"bad\" tail,x\r\na,b,c\n\"last\",\"y\""), &e);
    assert_int_equal(d.examples, 4);
    has_text(&d, 0, "a, \"b\"\nc");
    has_text(&d, 1, "");
    has_text(&d, 2, "no \"quote\"");
    has_text(&d, 3, "last");
    assert_int_equal(d.report.continued, 1);
    assert_int_equal(d.example[3].line, 8);
    says(&d, "line 6: text after a closing quote");
    says(&d, "line 7: 3 fields, expected 2");
    adds_up(&d);
    dataset_release(&d);
    test_refused(READ(&d, "q.csv", "text,label\na,x\n\"open,x\nb,x\n"), ERR_INPUT, &e,
                 "line 3: unclosed quote at the start of a field");
}

/* Scores are read without locale and never in part. */
static void scores(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "s.tsv", "text\tlabel\na\t2.6\nb\t3\n"), &e);
    assert_int_equal(d.kind, DATA_REGRESSION);
    assert_true(d.example[0].target == 2.6 && d.example[1].labeled);
    says(&d, "some are not integers");
    dataset_release(&d);
    test_refused(READ(&d, "s.tsv", "text\tlabel\na\t2.6\nb\t2,6\n"), ERR_INPUT, &e,
                 "line 3: the score \"2,6\" is not a number; use a decimal point");
    test_refused(READ(&d, "s.tsv", "text\tlabel\na\t1\nb\tnan\n", .kind = DATA_KIND_REGRESSION),
                 ERR_INPUT, &e, "line 3");
    test_ok(READ(&d, "s.tsv", "text\tlabel\na\t1\nb\t3\n", .kind = DATA_KIND_REGRESSION), &e);
    assert_int_equal(d.kind, DATA_REGRESSION);
    dataset_release(&d);
    test_ok(READ(&d, "s.tsv", "text\tlabel\na\t10\nb\t9\n"), &e);
    assert_int_equal(d.kind, DATA_CLASSES);
    assert_string_equal(d.class_name[0], "9");
    says(&d, "labels are classes, because all are integers");
    dataset_release(&d);
}

static void repeats(void **state) {
    (void)state;
    struct dataset d, other;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "r.tsv", "text\tlabel\nGood film\tx\nGood film\ty\ngood  FILM \tx\nbad\tx\n"),
            &e);
    assert_int_equal(d.report.same, 1);
    assert_int_equal(d.report.same_other_label, 1);
    assert_int_equal(d.report.near, 1);
    test_ok(READ(&other, "o.tsv", "text\tlabel\nbad\tx\nGOOD film\ty\nnew\tx\n"), &e);
    dataset_compare(&other, &d);
    assert_int_equal(other.report.across_same, 1);
    assert_int_equal(other.report.across_near, 1);
    says(&other, "warning: 1 example also in");
    says(&other, "more differ only in case or whitespace (lines 2, 3)\n"); /* in their own file */
    says(&d, "1 duplicate example, 1 more differ only in case or whitespace (lines 3, 4)\n");
    says(&d, "warning: 1 duplicate with a different label (line 3)\n");
    dataset_release(&other);
    dataset_release(&d);
}

static void draws_are_fixed(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    buf_puts(&b, "text\tlabel\n");
    for (int i = 0; i < 100; i++) buf_printf(&b, "t%d\t%d\n", i, i % 2);
    struct dataset d[2];
    for (int k = 0; k < 2; k++) {
        test_ok(read_bytes(&d[k], "x.tsv", b.data, b.size,
                           (struct dataset_options){.text_a = "text", .label = "label"}, &e), &e);
        dataset_draw(&d[k], 10);
        assert_int_equal(d[k].examples, 10);
        assert_int_equal(d[k].class_examples[0] + d[k].class_examples[1], 10);
    }
    for (size_t i = 0; i < 10; i++) {
        char want[16];
        snprintf(want, sizeof want, "t%d", (int)d[0].example[i].id);
        has_text(&d[0], i, want);
        assert_int_equal(d[0].example[i].id, d[1].example[i].id);
        if (i) assert_true(d[0].example[i].id > d[0].example[i - 1].id);
    }
    says(&d[0], "a random sample (seed 0) of 10 of the 100 examples");
    dataset_release(&d[0]);
    dataset_release(&d[1]);
    buf_release(&b);
}

/* Control characters in data are replaced on output, and unchanged in memory. */
static void control_characters(void **state) {
    (void)state;
    struct dataset d;
    struct err e = ERR_INIT;
    test_ok(READ(&d, "t.tsv",
                 "text\tlabel\ngood \x1b]0;X\x07"
                 "film\tp\x1b[2Jos\nbad \xc2\x9b"
                 "31mfilm\tneg\n"),
            &e);
    assert_string_equal(d.class_name[1], "p\x1b[2Jos");
    struct buf b = BUF_INIT;
    report_text(&d, &b);
    assert_null(strchr(b.data, '\x1b'));
    assert_null(strstr(b.data, "\xc2\x9b"));
    buf_release(&b);
    dataset_release(&d);
    test_refused(READ(&d, "t.tsv", "text\tla\x1b[2Jbel\na\tb\n"), ERR_USAGE, &e, "la");
    assert_null(strchr(e.text, '\x1b'));
}

/* A report that was kept as text is read again to the same numbers. */
static void a_report_is_read_again(void **state) {
    (void)state;
    char *names[] = { "no, never", "yes" };
    size_t rows[] = { 1, 1199 };
    struct dataset d = { .path = "a b/train, 2 rows.tsv", .classes = 2, .class_name = names, .class_examples = rows, .pair = true,
                         .split_examples = 1200 };
    d.report = (struct import_report){ .examples = 1200, .lines = 1300, .header = 1, .unlabeled = 1, .same = 1, .near = 7,
                                       .same_other_label = 3,
                                       .across = "train, 5 more differ only in case or whitespace", .across_same = 11, .across_near = 13,
                                       .max_len = 64, .cut_examples = 1, .cut_tokens_a = 9, .vanished = 1, .tokens = 20000, .unknown = 1234,
                                       .max_target = 12, .target_tokens = 50, .cut_targets = 1 };
    for (int many = 0; many < 2; many++) {
        struct report_facts f;
        struct buf b = BUF_INIT;
        if (many) d.report.same = 2, d.report.cut_examples = 500, d.report.vanished = 40, d.report.cut_targets = 60, d.report.unlabeled = 8;
        report_text(&d, &b);
        report_read(buf_text(&b), &f);
        assert_string_equal(f.path, d.path);
        assert_int_equal(f.examples, 1200);
        assert_int_equal(f.unlabeled, d.report.unlabeled);
        assert_int_equal(f.classes, 2);
        assert_string_equal(f.class_name[0], "no, never");
        assert_int_equal(f.class_examples[1], 1199);
        assert_int_equal(f.same, d.report.same);
        assert_int_equal(f.near, 7);
        assert_int_equal(f.same_other_label, 3);
        assert_int_equal(f.across_same, 11);
        assert_int_equal(f.across_near, 13);
        assert_int_equal(f.max_len, 64);
        assert_int_equal(f.cut_examples, d.report.cut_examples);
        assert_int_equal(f.vanished, d.report.vanished);
        assert_int_equal(f.tokens, 20000);
        assert_true(f.unknown == 6.17);
        assert_int_equal(f.max_target, 12);
        assert_int_equal(f.cut_targets, d.report.cut_targets);
        report_facts_release(&f);
        buf_release(&b);
    }
}

/* An id without an embedding row is reported with line and token; the token part of the report. */
static void encoding(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_path("tests/reference/wordpiece_tiny");
    struct tokenizer *t = tokenizer_read(folder, NULL, &e);
    free(folder);
    if (!t) fail_msg("%s", e.text);
    struct dataset d;
    test_ok(READ(&d, "t.tsv", "text\tlabel\nthe cat\tx\ncat [SEP] mat\tx\nunaffx\tx\n\tx\n"
                 "the cat sat on the mat\tx\nsat\tx\n\u00c9a\tx\n"), &e);
    test_ok(dataset_encode(&d, t, 5, 0, 0, &e), &e);
    const struct import_report *r = &d.report;
    assert_int_equal(r->cut_examples, 1);
    assert_int_equal(r->cut_tokens_a, 3);
    assert_int_equal(r->special.examples, 1);
    assert_int_equal(r->special.first[0], 3);
    assert_int_equal(r->unknown, 1);
    assert_int_equal(r->tokens, 2 + 3 + 1 + 0 + 6 + 1 + 1);
    assert_int_equal(d.start[4] - d.start[3], 2);
    assert_int_equal(d.ids[d.start[5] - 1], 3);
    assert_int_equal(d.start[5] - d.start[4], 5);
    says(&d, "1 example contains the text of a special token (line 3)");
    int rc = dataset_encode(&d, t, 16, 0, 32, &e);
    test_refused(rc, ERR_INPUT, &e,
                 "example 7 (line 8): token \"\u00c9a\" has id 35, outside the vocabulary of the model (32 tokens)");
    assert_null(d.ids);
    test_ok(dataset_encode(&d, t, 16, 0, 36, &e), &e);
    test_refused(dataset_encode(&d, t, 1, 0, 0, &e), ERR_USAGE, &e, "special tokens");
    dataset_release(&d);
    tokenizer_free(t);
}

static void broken_files(void **state) {
    (void)state;
    static const struct {
        const char *name, *bytes;
        size_t n;
        int code;
        const char *part;
    } bad[] = {
#define BYTES(s) s, sizeof(s) - 1
        {"e.tsv", BYTES(""), ERR_INPUT, "empty"},
        {"e.csv", BYTES("\xef\xbb\xbf"), ERR_INPUT, "empty"},
        {"e.tsv", BYTES("\n\n\n"), ERR_INPUT, "empty"},
        {"e.jsonl", BYTES("\n\n"), ERR_INPUT, "no examples"},
        {"e.tsv", BYTES("text\tlabel\n"), ERR_INPUT, "no examples"},
        {"e.tsv", BYTES("text\tlabel\nonly\n"), ERR_INPUT, "line 2: 1 field, expected 2"},
        {"u.tsv", BYTES("\xff\xfet\0e\0"), ERR_INPUT, "UTF-16"},
        {"u.csv", BYTES("\xfe\xff\0t"), ERR_INPUT, "UTF-16"},
        {"u32.tsv", BYTES("\xff\xfe\0\0t\0\0\0"), ERR_INPUT, "UTF-32"},
        {"u32b.tsv", BYTES("\0\0\xfe\xff\0\0\0t"), ERR_INPUT, "UTF-32"},
        {"bare.tsv", BYTES("t\0e\0x\0t\0\n\0"), ERR_INPUT, "seems to be UTF-16"},
        {"bare_b.tsv", BYTES("\0t\0e\0x\0t\0\n"), ERR_INPUT, "seems to be UTF-16"},
        {"bare32.tsv", BYTES("t\0\0\0e\0\0\0x\0\0\0"), ERR_INPUT, "seems to be UTF-32"},
        {"z.csv", BYTES("\x1f\x8b\x08\0"), ERR_INPUT, "compressed"},
        {"x.tsv", BYTES("PK\x03\x04\x14\0"), ERR_INPUT, "ZIP archive"},
        {"l.tsv", BYTES("version https://git-lfs.github.com/spec/v1\noid\n"), ERR_INPUT, "Git LFS"},
        {"x.bin", BYTES("text\tlabel\na\tb\n"), ERR_USAGE, ".tsv, .csv and .jsonl"},
        {"noend", BYTES("text\tlabel\na\tb\n"), ERR_USAGE, "unknown file name extension"},
        {"m.tsv", BYTES("texts\tlabel\na\tb\n"), ERR_USAGE, "column \"text\" not found"},
        {"m.tsv", BYTES("text\tlabels\na\tb\n"), ERR_USAGE, "column \"label\" not found"},
        {"m.tsv", BYTES("Text\tlabel\na\tb\n"), ERR_USAGE, "are \"Text\", \"label\"; did you mean --text Text?"},
        {"m.tsv", BYTES("text\tMy Label\na\tb\n"), ERR_USAGE, "\"My Label\"; choose one with --label ("},
        {"m.tsv", BYTES("text\tLabel of it\na\tb\n"), ERR_USAGE, "; did you mean --label 'Label of it'?"},
        {"m.csv", BYTES("review,label\na,b\n"), ERR_USAGE, "are \"review\", \"label\"; choose one with --text ("},
        {"j.jsonl", BYTES("{\"text\":\"a\",\"LABEL\":\"b\"}\n"), ERR_USAGE,
         "column \"label\" not found: the keys of the first lines are \"text\", \"LABEL\"; did you mean --label LABEL?"},
        {"q.csv", BYTES("\"text,label\n"), ERR_INPUT, "line 1: unclosed quote"},
        {"q.csv", BYTES("text,label\na,\"b"), ERR_INPUT, "line 2: unclosed quote"},
        {"j.jsonl", BYTES("[1]\n"), ERR_INPUT, "expected an object, found an array"},
        {"j.json", BYTES("null\n"), ERR_INPUT, "not valid JSON"},
        {"j.jsonl", BYTES("{\"text\":\"a\"}\n"), ERR_USAGE, "are \"text\"; choose one with --label"},
        {"j.jsonl", BYTES("{\"text\":\"a\",\"label\":\"\"}\n"), ERR_INPUT, "unlabeled"},
        {"j.jsonl", BYTES("{}\n{}\n"), ERR_INPUT, "line 1: "},
        {"j.jsonl", BYTES("{\"text\":1,\"label\":\"a\"}\n"), ERR_INPUT, "\"text\" must be a string, not a number"},
        {"j.jsonl", BYTES("{\"text\":\"a\",\"label\":{}}\n"), ERR_INPUT, "the label must be a string, a number or a boolean, not an object"},
        {"j.jsonl", BYTES("{\"text\":\"\xff\",\"label\":\"a\"}\n"), ERR_INPUT, "not UTF-8"},
        {"j.jsonl", BYTES("{\"text\":\"a\",\"label\":\"b\"} x\n"), ERR_INPUT, "not valid JSON"},
        {"z.tsv", BYTES("text\tlabel\na\tb\0c\n"), ERR_INPUT, "NUL"},
#undef BYTES
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct dataset d;
        struct err e = ERR_INIT;
        struct dataset_options o = {.text_a = "text", .label = "label"};
        test_refused(read_bytes(&d, bad[i].name, bad[i].bytes, bad[i].n, o, &e), bad[i].code, &e,
                     bad[i].part);
        assert_int_equal(d.examples, 0);
        assert_null(d.memory);
    }
    struct dataset d;
    struct err e = ERR_INIT;
    struct dataset_options o = {.path = "/nonexistent/x.tsv", .text_a = "text"};
    test_refused(dataset_read(&d, &o, &e), ERR_NOT_FOUND, &e, "/nonexistent/x.tsv");
    struct buf deep = BUF_INIT;
    buf_puts(&deep, "{\"text\":\"a\",\"label\":");
    for (int i = 0; i < 100000; i++) buf_putc(&deep, '[');
    test_refused(read_bytes(&d, "d.jsonl", deep.data, deep.size,
                            (struct dataset_options){.text_a = "text", .label = "label"}, &e),
                 ERR_INPUT, &e, "nested deeper");
    buf_release(&deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tsv_quotes_are_text), cmocka_unit_test(line_ends),
        cmocka_unit_test(no_gold_labels),      cmocka_unit_test(labels_map_by_name),
        cmocka_unit_test(missing_looking_words), cmocka_unit_test(json_lines),
        cmocka_unit_test(json_list),
        cmocka_unit_test(headers_and_label_names), cmocka_unit_test(csv_quotes),
        cmocka_unit_test(scores),              cmocka_unit_test(repeats),
        cmocka_unit_test(draws_are_fixed),     cmocka_unit_test(control_characters),
        cmocka_unit_test(encoding),            cmocka_unit_test(broken_files),
        cmocka_unit_test(a_report_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
