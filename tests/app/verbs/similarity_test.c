/* embed, map and similarity on a tiny model and its runs, as a user types them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/command.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

/* A model, rows, and four runs: two that learned, two that could not. */
static char *home, *model, *toy;

static void train(const char *options) {
    struct command c;
    command_run(&c, NULL,
                "train --model %s --train %s --dev %s --text text --label label --method 'lora(r=2)' --batch 4 "
                "--max-length 16 --workers 1 --db %s/t.db %s",
                model, toy, toy, home, options);
    command_expect(&c, 0);
    command_release(&c);
}

static int set_up(void **state) {
    (void)state;
    home = test_folder();
    model = tiny_bert(home, "base", NULL);
    toy = tiny_toy(home);
    char *folder = xprintf("%s/task", home), *words = xprintf("mkdir %s && cp %s %s/train.tsv && cp %s %s/dev.tsv",
                                                              folder, toy, folder, toy, folder);
    assert_int_equal(system(words), 0);
    free(words);
    free(folder);
    train("--steps 10 --lr 0.01");
    train("--steps 10 --lr 0.01 --seed 2");
    train("--steps 1 --lr 1e-30");
    train("--steps 1 --eval-rows 9 --lr 1e-30");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(home);
    free(model);
    free(toy);
    return 0;
}

static json_t *json_of(const char *words) {
    struct command c;
    command_run(&c, NULL, "%s --db %s/t.db --json --workers 2", words, home);
    command_expect(&c, 0);
    json_t *j = command_json(&c, 1);
    command_release(&c);
    return j;
}

static void refused(const char *words, int status, const char *part) {
    struct command c;
    command_run(&c, NULL, "%s --db %s/t.db --json", words, home);
    command_expect(&c, status);
    if (!strstr(buf_text(&c.err), part)) fail_msg("\"%s\" does not say \"%s\"", buf_text(&c.err), part);
    command_release(&c);
}

static long long whole(const json_t *j, const char *key) {
    if (!json_is_integer(json_object_get(j, key))) fail_msg("%s is no whole number", key);
    return json_integer_value(json_object_get(j, key));
}

/* Cell (row, column), NaN for null. */
static double cell(const json_t *j, size_t row, size_t column) {
    const json_t *v = json_array_get(json_array_get(json_object_get(j, "values"), row), column);
    if (json_is_null(v)) return NAN;
    assert_true(json_is_number(v));
    return json_number_value(v);
}

static void a_set_is_kept_and_mapped(void **state) {
    (void)state;
    json_t *set = json_of("embed --run 1 --rows 12 --layer 1 --pool cls");
    assert_int_equal(whole(set, "rows"), 12);
    assert_int_equal(whole(set, "columns"), 8);
    assert_int_equal(whole(set, "run"), 1);
    char *words = xprintf("map %lld", whole(set, "set"));
    json_t *map = json_of(words);
    assert_int_equal(whole(map, "n"), 12);
    assert_int_equal(json_array_size(json_object_get(map, "points")), 12);
    int first = 0;
    const json_t *labels = json_object_get(map, "labels");
    for (size_t i = 0; i < 12; i++)
        first += !strcmp(json_string_value(json_array_get(labels, i)), json_string_value(json_array_get(labels, 0)));
    assert_int_equal(first, 6); /* drawn evenly over two classes */
    json_decref(map);
    json_decref(set);
    free(words);
    words = xprintf("embed --model %s --task %s/task --text text --label label", model, home);
    set = json_of(words);
    assert_true(json_is_null(json_object_get(set, "run")));
    assert_int_equal(whole(set, "layer"), 2);
    json_decref(set);
    free(words);
    refused("map 999", 3, "set of embeddings 999 does not exist");
    refused("map reviews", 2, "SET must be the id of a set");
    refused("embed --run 1 --layer 3", 2, "--layer");
    refused("embed --run 1 --pool max", 2, "cls or mean");
    refused("embed --run 1 --split tset", 2, "no split");
}

static void tensors_are_compared_by_what_they_do(void **state) {
    (void)state;
    json_t *own = json_of("similarity 1 --of tensors"), *two = json_of("similarity 1 2 --of tensors");
    size_t n = json_array_size(json_object_get(own, "rows"));
    assert_int_equal(n, 6); /* q and v of two layers, head weight and bias */
    for (size_t i = 0; i < 4; i++) {
        assert_true(fabs(cell(own, i, i) - 1) < 1e-6);
        assert_true(cell(two, i, i) > 0 && cell(two, i, i) < 1);
        assert_true(isnan(cell(own, i, 4))); /* a product and a head */
    }
    json_decref(own);
    json_decref(two);
    /* a run that could not learn: undefined, neither 0 nor 1, and that goes last */
    json_t *zero = json_of("similarity 1 3 --of tensors --order cluster"), *itself = json_of("similarity 3 --of tensors");
    for (size_t i = 0; i < 4; i++) {
        assert_true(isnan(cell(itself, i, i)));
        for (size_t j = 0; j < n; j++) assert_true(isnan(cell(itself, i, j)));
    }
    /* what is left are the weights of the heads, which began as they are */
    assert_string_equal(json_string_value(json_array_get(json_object_get(zero, "rows"), 0)), "head.weight");
    assert_int_equal(whole(zero, "undefined"), 35);
    json_decref(zero);
    json_decref(itself);
}

static void representations_are_compared(void **state) {
    (void)state;
    json_t *j = json_of("similarity 1 2 --of layers");
    assert_int_equal(json_array_size(json_object_get(j, "rows")), 3);
    assert_true(fabs(cell(j, 0, 0) - 1) < 1e-6); /* LoRA does not reach the embeddings */
    assert_true(cell(j, 2, 2) > 0 && cell(j, 2, 2) < 1 - 1e-9);
    json_decref(j);
    j = json_of("similarity 1 4 --of layers --rows 12"); /* evaluated on fewer rows, drawn from all */
    assert_true(fabs(cell(j, 0, 0) - 1) < 1e-6);
    json_decref(j);
    char *words = xprintf("similarity 1 --model %s --of classes", model); /* on the run's own rows, which no task names */
    j = json_of(words);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), 4);
    assert_string_equal(json_string_value(json_array_get(json_object_get(j, "rows"), 0)), "model neg");
    assert_true(fabs(cell(j, 0, 0) - 1) < 1e-6 && cell(j, 0, 2) < 1 - 1e-6);
    json_decref(j);
    free(words);
    j = json_of("similarity 1 --of classes");
    assert_true(fabs(cell(j, 0, 0) - 1) < 1e-6 && fabs(cell(j, 0, 1) - cell(j, 1, 0)) < 1e-12);
    assert_true(whole(j, "matrix") > 0);
    json_decref(j);
    j = json_of("similarity 1 --of rows --rows 5 --layer 0 --order cluster");
    assert_int_equal(json_array_size(json_object_get(j, "columns")), 5);
    assert_true(fabs(cell(j, 3, 3) - 1) < 1e-12);
    json_decref(j);
    refused("similarity 1 --of words", 2, "--of: must be classes");
    refused("similarity 1 --of layers --measure cosine", 2, "--measure: must be cka or debiased-cka for --of layers");
    j = json_of("similarity 1 --of layers --rows 6");
    assert_non_null(strstr(json_string_value(json_object_get(j, "caution")), "6 examples of width"));
    json_decref(j);
    j = json_of("similarity 1 --of layers --rows 6 --measure debiased-cka");
    assert_string_equal(json_string_value(json_object_get(j, "measure")), "debiased-cka");
    assert_true(json_integer_value(json_object_get(j, "width")) > 0);
    json_decref(j);
    refused("similarity 1 9", 3, "9");
}

/* Text printed by a line; caller frees. */
static char *text_of(const char *words) {
    struct command c;
    command_run(&c, NULL, "%s --db %s/t.db", words, home);
    command_expect(&c, 0);
    char *text = buf_take(&c.out);
    command_release(&c);
    return text;
}

/* Sets kept while a run trained are mapped one after the other, the same every time, with numbers
 * of each; a run without them says how to get them. */
static void moments_are_played(void **state) {
    (void)state;
    train("--steps 10 --lr 0.02 --embed-every 4 --embed-rows 12 --eval-steps 4"); /* run 5 */
    json_t *list = json_of("embed --list --run 5");
    assert_int_equal(json_array_size(list), 4);
    static const int steps[] = { 0, 4, 8, 10 };
    for (size_t i = 0; i < 4; i++) assert_int_equal(whole(json_array_get(list, i), "step"), steps[i]);
    json_t *a = json_of("map --run 5 --steps"), *b = json_of("map --run 5 --steps");
    assert_int_equal(whole(a, "n"), 12);
    assert_true(json_equal(json_object_get(a, "steps"), json_object_get(b, "steps")));
    double moved[3];
    for (size_t i = 0; i < 4; i++) {
        const json_t *k = json_array_get(json_object_get(a, "steps"), i);
        char *words = xprintf("map %lld", whole(k, "set"));
        json_t *alone = json_of(words);
        free(words);
        assert_int_equal(whole(k, "step"), steps[i]);
        assert_true(json_equal(json_object_get(k, "silhouette"), json_object_get(alone, "silhouette")));
        assert_true(json_equal(json_object_get(k, "purity"), json_object_get(alone, "purity")));
        if (!i) assert_true(json_equal(json_object_get(k, "points"), json_object_get(alone, "points")));
        assert_true(json_is_number(json_object_get(k, "metric")) == (i > 0)); /* evaluated at 4, 8, 10 */
        json_decref(alone);
        if (!i) continue;
        const json_t *p = json_object_get(json_array_get(json_object_get(a, "steps"), i - 1), "points");
        const json_t *q = json_object_get(k, "points");
        moved[i - 1] = 0;
        for (size_t r = 0; r < 12; r++)
            for (size_t c = 0; c < 2; c++)
                moved[i - 1] += fabs(json_number_value(json_array_get(json_array_get(p, r), c)) -
                                     json_number_value(json_array_get(json_array_get(q, r), c)));
        assert_true(moved[i - 1] > 0);
    }
    json_decref(a);
    json_decref(b);
    json_decref(list);
    char *csv = text_of("map --run 5 --steps --csv"), *show = text_of("show 5"), *text = text_of("map --run 5 --steps");
    int lines = 0;
    for (char *at = csv; (at = strchr(at, '\n')); at++) lines++;
    assert_int_equal(lines, 1 + 4 * 12);
    assert_true(strstr(show, "12 examples of") && strstr(show, "step 8"));
    assert_true(strstr(text, "silhouette") && strstr(text, "each map is initialized from"));
    free(csv);
    free(show);
    free(text);
    refused("map --run 1 --steps", 3, "--embed-every");
    json_t *rows = json_of("map --run 5"); /* without --steps: its rows now, kept as a set */
    assert_true(whole(rows, "run") == 5 && whole(rows, "set") > 0);
    json_decref(rows);
    refused("map --run 5 --steps --pca", 2, "--pca");
}

/* Rows of two tasks in one set, told apart by task or by class; a set that is there is not made anew. */
static void tasks_are_embedded_together(void **state) {
    (void)state;
    char *words = xprintf("mkdir %s/other && head -16 %s > %s/other/train.tsv && cp %s/other/train.tsv %s/other/dev.tsv",
                          home, toy, home, home, home);
    assert_int_equal(system(words), 0);
    free(words);
    words = xprintf("embed --model %s --task %s/task,%s/other --text text --label label --rows 24", model, home, home);
    json_t *set = json_of(words), *again = json_of(words);
    free(words);
    assert_int_equal(whole(set, "rows"), 24);
    assert_string_equal(json_string_value(json_object_get(set, "task")), "task,other");
    assert_true(json_is_true(json_object_get(set, "new")) && json_is_false(json_object_get(again, "new")));
    assert_int_equal(whole(set, "set"), whole(again, "set"));
    for (int by = 0; by < 2; by++) {
        words = xprintf("map %lld --by %s --iterations 30", whole(set, "set"), by ? "task" : "label");
        json_t *map = json_of(words);
        const json_t *labels = json_object_get(map, "labels");
        int first = 0;
        for (size_t i = 0; i < 24; i++)
            first += !strcmp(json_string_value(json_array_get(labels, i)), json_string_value(json_array_get(labels, 0)));
        assert_int_equal(first, by ? 12 : 6); /* evenly over tasks, then over classes */
        if (!by) assert_non_null(strstr(json_string_value(json_array_get(labels, 0)), "task: "));
        assert_true(json_number_value(json_object_get(map, "preservation")) > 0);
        json_decref(map);
        free(words);
    }
    json_decref(set);
    json_decref(again);
    words = xprintf("embed --model %s --task %s/task,,x", model, home);
    refused(words, 2, "empty task name; remove a comma");
    free(words);
}

static void attention_is_a_matrix(void **state) {
    (void)state;
    json_t *heads = json_of("similarity 1 --of attention --row 3 --layer 2"),
           *one = json_of("similarity 1 --of attention --row 3 --layer 2 --head 2");
    size_t n = json_array_size(json_object_get(one, "rows"));
    assert_int_equal(json_array_size(json_object_get(heads, "rows")), 2);
    assert_int_equal(json_array_size(json_object_get(heads, "columns")), n);
    assert_string_equal(json_string_value(json_array_get(json_object_get(one, "columns"), 0)), "1 [CLS]");
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++) sum += cell(one, i, j);
        assert_true(fabs(sum - 1) < 1e-6);
    }
    for (size_t j = 0; j < n; j++) assert_true(fabs(cell(heads, 1, j) - cell(one, 0, j)) < 1e-7);
    char *words = xprintf("similarity --matrix %lld", whole(one, "matrix"));
    json_t *kept = json_of(words), *list = json_of("similarity 1 --list");
    assert_true(json_equal(json_object_get(kept, "values"), json_object_get(one, "values")));
    assert_int_equal(whole(json_array_get(list, json_array_size(list) - 1), "matrix"), whole(one, "matrix"));
    free(words);
    words = xprintf("render --screen heatmap --size 90x40 --matrix %lld", whole(one, "matrix"));
    char *drawn = text_of(words);
    assert_true(strstr(drawn, "attention") && strstr(drawn, "1 [CLS]") && strstr(drawn, "1 of 1"));
    free(drawn);
    free(words);
    refused("render --screen map --matrix 1", 2, "--matrix: requires --screen heatmap");
    refused("render --screen heatmap --matrix 999", 3, "matrix 999 does not exist");
    json_decref(heads);
    json_decref(one);
    json_decref(kept);
    json_decref(list);
    char *csv = text_of("similarity 1 --of layers --csv");
    assert_non_null(strstr(csv, ",layer 1,layer 2,"));
    free(csv);
    refused("similarity 1 --of attention", 2, "--row");
    refused("similarity 1 --of attention --row 99", 3, "--row: row 99 does not exist");
    refused("similarity 1 --of attention --row 3 --head 3", 2, "--head 3: must be between 1 and 2");
    refused("similarity 1 --of attention --row 3 --layer 0", 2, "--layer");
    refused("similarity 1 --of layers --row 3", 2, "--row");
    refused("similarity 1 2 --of attention --row 3", 2, "one run");
}

/* Two runs whose dev files have as many rows, but another text in one: the row is named. */
static void other_texts_are_refused(void **state) {
    (void)state;
    char *words = xprintf("sed 's/^\\([a-z]*\\) /\\1 \\1 /' %s > %s/changed.tsv", toy, home);
    assert_int_equal(system(words), 0);
    free(words);
    char *same = toy;
    toy = xprintf("%s/changed.tsv", home);
    train("--steps 1"); /* run 6 */
    free(toy);
    toy = same;
    refused("similarity 1 6 --of layers", 2, "the texts of example 1 differ");
    json_t *j = json_of("similarity 1 6 --of tensors"); /* weights need no rows */
    json_decref(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_kept_and_mapped),
        cmocka_unit_test(tensors_are_compared_by_what_they_do),
        cmocka_unit_test(representations_are_compared), cmocka_unit_test(moments_are_played),
        cmocka_unit_test(tasks_are_embedded_together),  cmocka_unit_test(attention_is_a_matrix),
        cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
