/* petri map: any CSV of numbers, and a clear answer to each that is no map. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/sample.h"
#include "core/data/vectors.h"
#include "tests/support/command.h"
#include "tests/support/test.h"

static const char FIVE[] = "x,y,label\n1,0,a\n0.8,0.6,a\n0,1,b\n-0.6,0.8,b\n0,-1,c\n";

static json_t *mapped(const char *folder, const char *text, const char *options) {
    struct command c;
    char *path = test_file(folder, "v.csv", text, strlen(text));
    command_run(&c, NULL, "map --vectors %s %s --json", path, options);
    command_expect(&c, 0);
    json_t *j = command_json(&c, 0);
    command_release(&c);
    free(path);
    return j;
}

static double number(const json_t *j, const char *key) {
    if (!json_is_number(json_object_get(j, key))) fail_msg("%s is no number", key);
    return json_number_value(json_object_get(j, key));
}

/* `key` is null and the reason holds `part`. */
static void undefined(const json_t *j, const char *key, const char *part) {
    const char *why = json_string_value(json_object_get(json_object_get(j, "undefined"), key));
    assert_true(json_is_null(json_object_get(j, key)));
    if (!why || !strstr(why, part)) fail_msg("%s undefined for \"%s\", not \"%s\"", key, why ? why : "nothing", part);
}

static void test_scores(void **state) {
    (void)state;
    char *folder = test_folder();
    json_t *j = mapped(folder, FIVE, "--labels label");
    assert_true(fabs(number(j, "silhouette") - 0.614945) < 1e-6);
    assert_int_equal((int)number(j, "purity_k"), 4);
    assert_true(fabs(number(j, "purity") - 0.2) < 1e-9);
    assert_int_equal((int)number(j, "n"), 5);
    assert_true(number(j, "perplexity") < 1.34);
    assert_non_null(strstr(json_string_value(json_object_get(j, "note")), "perplexity lowered from 30"));
    const json_t *points = json_object_get(j, "points");
    assert_int_equal(json_array_size(points), 5);
    for (size_t i = 0; i < 5; i++) assert_int_equal(json_array_size(json_array_get(points, i)), 2);
    json_decref(j);
    j = mapped(folder, "x,y,label\n1,0,a\n0.8,0.6,a\n0,1,a\n-0.6,0.8,a\n0,-1,a\n", "--labels label");
    undefined(j, "silhouette", "1 class");
    assert_int_equal(json_array_size(json_object_get(j, "points")), 5);
    json_decref(j);
    j = mapped(folder, "x,y,label\n1,0,a\n0.8,0.6,b\n0,1,c\n-0.6,0.8,d\n0,-1,e\n", "--labels label");
    undefined(j, "silhouette", "5 classes for 5 points");
    json_decref(j);
    j = mapped(folder, "x,y,label\n1,0,a\n0.8,0.6,a\n0,1,b\n-0.6,0.8,b\n0,-1,c\n0,0,c\n", "--labels label");
    undefined(j, "silhouette", "example 6");
    undefined(j, "purity", "example 6");
    assert_int_equal(json_array_size(json_object_get(j, "points")), 6);
    json_decref(j);
    /* without header, without labels, by components */
    j = mapped(folder, "1,0\n0.8,0.6\n0,1\n-0.6,0.8\n0,-1\n", "--pca");
    undefined(j, "silhouette", "no labels");
    undefined(j, "kl", "pca");
    json_decref(j);
    free(folder);
}

/* What makes a map mean less than it seems is said. */
static void test_said(void **state) {
    (void)state;
    char *folder = test_folder();
    struct buf same = BUF_INIT;
    for (int i = 0; i < 30; i++) buf_printf(&same, "%d,%d\n", i < 20 ? 1 : i, i < 20 ? 2 : i * i);
    json_t *j = mapped(folder, buf_text(&same), "--perplexity 5");
    assert_int_equal(json_integer_value(json_object_get(j, "repeats")), 19);
    assert_int_equal(json_integer_value(json_object_get(j, "perplexity_unreached")), 20);
    const char *note = json_string_value(json_object_get(j, "note"));
    assert_non_null(strstr(note, "19 of 30 points are exact duplicates"));
    assert_non_null(strstr(note, "cannot be reached for 20 of 30 points"));
    json_decref(j);
    j = mapped(folder, "1,2\n1,2.0000001\n1.0000001,2\n1.0000002,2.0000002\n1,2\n", "--pca");
    assert_non_null(strstr(json_string_value(json_object_get(j, "note")), "floating-point noise"));
    json_decref(j);
    j = mapped(folder, "1e19,0\n0,2e19\n-1e19,1e19\n3e19,-1e19\n0,1e18\n", "--pca");
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 2; k++)
            assert_true(json_is_number(json_array_get(json_array_get(json_object_get(j, "points"), i), k)));
    json_decref(j);
    buf_release(&same);
    free(folder);
}

static void refused(const char *folder, const char *text, const char *options, int status, const char *part) {
    struct command c;
    char *path = test_file(folder, "v.csv", text, strlen(text));
    command_run(&c, NULL, "map --vectors %s %s --json", path, options);
    command_expect(&c, status);
    if (!strstr(buf_text(&c.err), part)) fail_msg("\"%s\" does not say \"%s\"", buf_text(&c.err), part);
    command_release(&c);
    free(path);
}

static void test_refusals(void **state) {
    (void)state;
    char *folder = test_folder();
    refused(folder, FIVE, "", 5, "line 2 (row 1), column \"label\": \"a\"");
    refused(folder, FIVE, "--labels lable", 2, "column \"lable\"");
    refused(folder, "1,2\n3,4\n5,6\n7,inf\n", "", 5, "row 4");
    refused(folder, "1,2\n3,4\n5,6\n7\n", "", 5, "line 4 (row 4): 1 column,");
    refused(folder, "x,y\n1,2\n3,nan\n5,6\n7,8\n", "", 5, "row 2), column \"y\": \"nan\"");
    refused(folder, "1,2\n1,2\n1,2\n1,2\n", "", 5, "all 4 points are identical");
    refused(folder, "1,2\n3,4\n5,6\n", "", 5, "at least 4 points");
    refused(folder, "", "", 5, "no numeric rows");
    refused(folder, FIVE, "--labels label --perplexity 0.2", 2, "perplexity");
    free(folder);
}

static void test_reading(void **state) {
    (void)state;
    struct vectors v;
    struct err e = ERR_INIT;
    char *folder = test_folder();
    const char text[] = "\xEF\xBB\xBF\"the label\",\"a,b\",c\r\nz,1,2\r\n\r\n\"y \"\"q\"\"\",3,4e-2\r\n,5,6";
    char *path = test_file(folder, "quoted.csv", text, sizeof text - 1);
    test_ok(vectors_read(&v, path, &(struct vectors_options){ .labels = "the label" }, &e), &e);
    assert_true(v.n == 3 && v.d == 2 && v.classes == 2);
    assert_string_equal(v.class_name[0], "y \"q\"");
    assert_true(v.label[0] == 1 && v.label[1] == 0 && v.label[2] == -1);
    assert_true(v.x[3] == (real)4e-2 && v.x[5] == 6);
    vectors_release(&v);
    free(path);
    path = test_file(folder, "plain.csv", "1,2,7\n3,4,a\n", 12);
    test_ok(vectors_read(&v, path, &(struct vectors_options){ .labels = "#3" }, &e), &e);
    assert_true(v.n == 2 && v.d == 2 && v.classes == 2);
    vectors_release(&v);
    free(path);
    free(folder);
}

/* What is a coordinate: of each table the columns left, the values of the first row, and what is said. */
static void test_columns(void **state) {
    (void)state;
    static const struct {
        const char *text;
        struct vectors_options o;
        int n, d;
        real first[3];
        const char *note;
    } table[] = {
        { ",x,y\n0,1.5,2\n1,3,4\n", { 0 }, 2, 2, { 1.5f, 2 }, "column 1 has no name" },
        { ",x,y\nfirst,1.5,2\nsecond,3,4\n", { 0 }, 2, 2, { 1.5f, 2 }, "column 1 has no name" },
        { ",0,1,label\n0,1.5,2,a\n1,3,4,b\n", { .labels = "label" }, 2, 2, { 1.5f, 2 }, "no name" },
        { "ID,x,y\n5,1.5,2\n9,3,4\n", { 0 }, 2, 2, { 1.5f, 2 }, "column \"ID\" is a row index" },
        { "x,Unnamed: 0,y\n1.5,0,2\n3,1,4\n", { 0 }, 2, 2, { 1.5f, 2 }, "\"Unnamed: 0\" is a row index" },
        { "index,x,y\n16777216,1.5,2\n16777217,3,4\n", { 0 }, 2, 2, { 1.5f, 2 }, "is a row index" },
        { "id,x,y\n2,1.5,2\n1,3,4\n", { 0 }, 2, 3, { 2, 1.5f, 2 }, NULL },
        { "id,x,y\n0.5,1.5,2\n1,3,4\n", { 0 }, 2, 3, { 0.5f, 1.5f, 2 }, NULL },
        { "id\n1\n2\n", { 0 }, 2, 1, { 1 }, NULL },
        { "id,x,y\n1,1.5,2\n2,3,4\n", { .columns = "id , y" }, 2, 2, { 1, 2 }, NULL },
        { "a,x,y,z\nq,1.5,2,5\nr,3,4,6\n", { .skip = "a,#4" }, 2, 2, { 1.5f, 2 }, NULL },
        { "a,x,y,z\nq,1.5,2,5\nr,3,4,6\n", { .columns = "#2-#3" }, 2, 2, { 1.5f, 2 }, NULL },
        { "0,1,2\n1.5,2,3\n3,4,5\n", { 0 }, 2, 3, { 1.5f, 2, 3 }, "first line has consecutive numbers" },
        { "1,2\n1.5,2e0\n3,4\n", { 0 }, 2, 2, { 1.5f, 2 }, "first line has consecutive numbers" },
        { "0,1,2,label\n1.5,2,3,a\n", { .labels = "#4" }, 1, 3, { 1.5f, 2, 3 }, "first line has consecutive numbers" },
        { "0,1,2\n1.5,2,3\n3,4,5\n", { .header = DATA_HEADER_NO }, 3, 3, { 0, 1, 2 }, NULL },
        { "2,1,0\n1.5,2,3\n3,4,5\n", { .header = DATA_HEADER_YES }, 2, 3, { 1.5f, 2, 3 }, NULL },
        { "0,1\n1,0\n", { 0 }, 2, 2, { 0, 1 }, NULL },
        { "2,3,4\n1,2,3\n", { 0 }, 2, 3, { 2, 3, 4 }, NULL },
    };
    char *folder = test_folder();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct vectors v;
        struct err e = ERR_INIT;
        char *path = test_file(folder, "v.csv", table[i].text, strlen(table[i].text));
        test_ok(vectors_read(&v, path, &table[i].o, &e), &e);
        const char *said = buf_text(&v.notes);
        if (v.n != table[i].n || v.d != table[i].d || memcmp(v.x, table[i].first, (size_t)v.d * sizeof *v.x) ||
            (table[i].note ? !strstr(said, table[i].note) : *said))
            fail_msg("%s: %d by %d, %g …, \"%s\"", table[i].text, v.n, v.d, (double)v.x[0], said);
        vectors_release(&v);
        free(path);
    }
    refused(folder, FIVE, "--labels label --columns lable", 2, "column \"lable\" (--columns) not found");
    refused(folder, FIVE, "--labels label --skip label", 2, "is the label column");
    refused(folder, FIVE, "--labels label --skip '#3-#2'", 2, "column \"#3-#2\" (--skip) not found");
    refused(folder, FIVE, "--columns '#1' --skip '#2'", 2, "--columns: cannot be combined with --skip");
    refused(folder, FIVE, "--header --no-header", 2, "--header: cannot be combined with --no-header");
    refused(folder, "x\n1\n", "--skip x", 5, "no numeric columns");
    free(folder);
}

/* However much there is to say of a table, each part of it is said to its end. */
static void test_long_note(void **state) {
    (void)state;
    char *folder = test_folder();
    json_t *j = mapped(folder, "x,,y,,,,\n1,5,0,5,5,5,5\n0.8,5,0.6,5,5,5,5\n0,5,1,5,5,5,5\n-0.6,5,0.8,5,5,5,5\n", "");
    const char *note = json_string_value(json_object_get(j, "note"));
    assert_non_null(strstr(note, "column 2 has no name and is ignored (--columns includes it); column 4 has"));
    assert_non_null(strstr(note, "column 7 has no name and is ignored (--columns includes it); perplexity lowered"));
    json_decref(j);
    free(folder);
}

static void test_sample(void **state) {
    (void)state;
    enum { N = 1000 };
    int32_t label[N];
    int pick[N], other[N], count[3] = { 0 };
    for (int i = 0; i < N; i++) label[i] = i < 10 ? 0 : i < 100 ? 1 : 2;
    assert_int_equal(sample_evenly(label, N, 3, 101, 1, pick), 101);
    for (int i = 0; i < 101; i++) {
        count[label[pick[i]]]++;
        assert_true(i == 0 || pick[i] > pick[i - 1]);
    }
    assert_int_equal(count[0], 10);
    assert_int_equal(count[1] + count[2], 91);
    assert_true(abs(count[1] - count[2]) == 1);
    assert_int_equal(sample_evenly(label, N, 3, 101, 1, other), 101);
    assert_memory_equal(pick, other, 101 * sizeof *pick);
    sample_evenly(label, N, 3, 101, 2, other);
    assert_true(memcmp(pick, other, 101 * sizeof *pick) != 0);
    assert_int_equal(sample_evenly(label, N, 3, 5000, 1, pick), N);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_said),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_long_note),
        cmocka_unit_test(test_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
