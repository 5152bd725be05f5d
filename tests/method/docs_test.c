/* Compares docs/methods.md and docs/method.schema.json with the program. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/distance.h"
#include "core/method/equal.h"
#include "core/method/plan.h"
#include "tests/method/shapes.h"
#include "tests/support/test.h"

static struct buf page; /* docs/methods.md */

static struct buf file_text(const char *name) {
    struct buf b;
    struct err e = ERR_INIT;
    char *path = test_path(name);
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    free(path);
    return b;
}

static int open_page(void **state) {
    (void)state;
    page = file_text("docs/methods.md");
    return 0;
}

static int close_page(void **state) {
    (void)state;
    buf_release(&page);
    return 0;
}

/* Returns the text of the fenced block of this kind; caller frees. */
static char *block(const char *kind) {
    char *mark = xprintf("```%s\n", kind);
    const char *start = strstr(buf_text(&page), mark);
    assert_non_null(start);
    start += strlen(mark);
    const char *end = strstr(start, "```");
    assert_non_null(end);
    free(mark);
    return xstrndup(start, (size_t)(end - start));
}

static void examples_are_read(void **state) {
    (void)state;
    struct arch a = shape_bert_base();
    char *text = block("methods"), *rest = text;
    int n = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *comment = strchr(line, '#');
        struct method m;
        struct err e = ERR_INIT;
        if (comment) *comment = 0;
        if (!*line) continue;
        if (method_parse(line, &m, &e)) fail_msg("%s: %s", line, e.text);
        struct finding f;
        if (method_check(&m, &a, &f, 1) && f.level == LEVEL_ERROR) fail_msg("%s: %s", line, f.text);
        n++;
    }
    assert_true(n > 20);
    free(text);
    struct method m, lora;
    struct err e = ERR_INIT;
    text = block("json");
    test_ok(method_from_json(text, strlen(text), &m, &e), &e);
    test_ok(method_parse("linear(r=8; write=a.q, s=2)", &lora, &e), &e);
    assert_true(module_equal(&m.module[0], &lora.module[0]));
    free(text);
}

/* Marks the V-numbers between `before` and `after` in a text. */
static void rules_in(const char *text, const char *before, const char *after, bool found[100]) {
    size_t n = strlen(before);
    for (const char *p = text; (p = strstr(p, before)); p += n) {
        const char *digits = p + n;
        size_t length = strspn(digits, "0123456789");
        if (length && length <= 2 && text_starts(digits + length, after))
            found[strtol(digits, NULL, 10)] = true;
    }
}

static void every_rule_is_listed(void **state) {
    (void)state;
    bool listed[100] = {false}, used[100] = {false};
#define FILE_OF(constant, file) "core/method/fn_" #file ".c",
    static const char *const sources[] = {"core/method/parse.c", "core/method/check.c", "core/method/hyper.c",
                                          "core/method/kronecker.c",
                                          FUNCTIONS(FILE_OF)};
    rules_in(buf_text(&page), "\n| V", " |", listed);
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        struct buf b = file_text(sources[i]);
        /* parse.c writes them at the start of its message */
        rules_in(buf_text(&b), "\"V", i ? "\"" : ":", used);
        buf_release(&b);
    }
    struct buf budget = file_text("core/method/budget.c");
    rules_in(buf_text(&budget), "\"V", ":", used);
    buf_release(&budget);
    for (int i = 0; i < 100; i++)
        if (listed[i] != used[i])
            fail_msg("V%d is %s", i, used[i] ? "not listed" : "listed but not used");
    assert_true(used[1] && used[21] && used[45]);
}

static void every_preset_is_listed_with_its_values(void **state) {
    (void)state;
    const char *table = strstr(buf_text(&page), "## Presets");
    for (int i = 0; i < preset_count(); i++) {
        const struct preset *p = preset_at(i);
        char *mark = xprintf("\n| `%s` |", p->name);
        const char *row = strstr(table, mark);
        if (!row) fail_msg("%s is not listed", p->name);
        char *line = xstrndup(row + 1, strcspn(row + 1, "\n"));
        char rate[32], *cell[8], *rest = line;
        for (int k = 0; k < 8; k++) {
            cell[k] = strsep(&rest, "|");
            assert_non_null(cell[k]);
            while (*cell[k] == ' ') cell[k]++;
        }
        double lr;
        snprintf(rate, sizeof rate, "%.*s", (int)strcspn(cell[4], " "), cell[4]);
        assert_true(text_to_double(rate, &lr) && lr == p->lr);
        /* "l=16, r=16" in the page, "l=16,r=16" in the program */
        char *sizes = cell[3], *to = sizes;
        for (const char *c = sizes; *c; c++)
            if (*c != ' ') *to++ = *c;
        *to = 0;
        assert_string_equal(sizes, p->sizes);
        free(line);
        free(mark);
    }
}

/* Compares the table of equivalent methods with that of `petri explain`. */
static void every_equality_is_listed(void **state) {
    (void)state;
    const struct equality *q;
    int listed = 0, known = 0;
    for (const char *p = strstr(buf_text(&page), "## Equalities"); (p = strstr(p, "\n| E")); p++) listed++;
    for (; (q = equality_at(known)); known++) {
        char *row = xprintf("\n| %s | %s |\n", q->id, q->text);
        if (!strstr(buf_text(&page), row)) fail_msg("not listed:%s", row);
        free(row);
    }
    assert_int_equal(listed, known);
}

static bool holds(const json_t *schema, const char *key, const char *word) {
    size_t i;
    json_t *v;
    const json_t *of = json_object_get(schema, key), *any = json_object_get(of, "anyOf");
    const json_t *list = json_object_get(any ? json_array_get(any, json_array_size(any) - 1) : of, "enum");
    json_array_foreach((json_t *)list, i, v)
        if (!strcmp(json_string_value(v), word)) return true;
    return false;
}

static void the_schema_has_every_word(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *path = test_path("docs/method.schema.json");
    json_t *o = json_read(path, 1 << 20, &e);
    assert_non_null(o);
    const json_t *m = json_object_get(
        json_object_get(json_object_get(json_object_get(o, "properties"), "modules"), "items"),
        "properties");
    for (int i = 0; i < FN_COUNT; i++) assert_true(holds(m, "function", fn_name((enum fn)i)));
    for (int i = 0; i < COMP_COUNT; i++)
        assert_true(holds(m, "composition", comp_name((enum comp)i)));
    for (int i = 0; i < SOURCE_COUNT; i++)
        assert_true(holds(m, "source", source_name((enum source)i)));
    for (int i = 0; i < NORM_COUNT; i++) assert_true(holds(m, "norm", norm_name((enum norm)i)));
    for (int i = 0; i < HEADS_COUNT; i++)
        assert_true(holds(m, "heads", heads_name((enum head_form)i)));
    for (int i = 0; i < INIT_COUNT; i++) assert_true(holds(m, "init", init_name((enum init)i)));
    for (int i = 0; i < TARGET_COUNT; i++)
        assert_true(holds(m, "target", target_name((enum target)i)));
    for (int i = 0; i < TAP_COUNT; i++) assert_true(holds(m, "read", tap_name((enum tap)i)));
    for (int i = 0; i < ACT_COUNT; i++)
        assert_true(holds(m, "activation", method_act_name((enum act)i)));
    /* All written keys are in the schema. */
    for (int i = 0; i < preset_count(); i++) {
        char *text = method_json(&preset_at(i)->method, true);
        json_t *written = json_parse("written", text, strlen(text), &e);
        size_t k;
        json_t *module;
        json_array_foreach(json_object_get(written, "modules"), k, module) {
            const char *key;
            json_t *value;
            json_object_foreach(module, key, value) {
                (void)value;
                if (!json_object_get(m, key)) fail_msg("the schema lacks \"%s\"", key);
            }
        }
        json_decref(written);
        free(text);
    }
    json_decref(o);
    free(path);
}

/* "| `prefix` | `lora` | 2: function, composition |": the difference of two methods. */
static void distances_are_as_listed(void **state) {
    (void)state;
    const char *table = strstr(buf_text(&page), "| from | to | apart |");
    int rows = 0;
    assert_non_null(table);
    for (const char *line = strstr(table, "\n| `"); line && line[1] == '|'; line = strchr(line + 1, '\n')) {
        char from[64], to[64], apart[96];
        struct method a, b;
        struct err e = ERR_INIT;
        if (sscanf(line, "\n| `%63[^`]` | `%63[^`]` | %95[^|]", from, to, apart) != 3) break;
        apart[strlen(apart) - 1] = '\0';
        test_ok(method_parse(from, &a, &e), &e);
        test_ok(method_parse(to, &b, &e), &e);
        int n = (int)strtol(apart, NULL, 10);
        char *said = method_difference(&a, &b), *back = method_difference(&b, &a),
             *want = xprintf("%d %s apart%s", n, n == 1 ? "axis" : "axes", strchr(apart, ':'));
        assert_string_equal(said, want);
        assert_string_equal(back, want);
        assert_int_equal(method_distance(&a, &b), n);
        free(said);
        free(back);
        free(want);
        rows++;
    }
    assert_int_equal(rows, 5);
    struct method a, b;
    struct err e = ERR_INIT;
    test_ok(method_parse("mam", &a, &e), &e);
    test_ok(method_parse("mam(r=3)", &b, &e), &e);
    char *same = method_difference(&a, &b);
    assert_string_equal(same, "equal on all axes");
    free(same);
    test_ok(method_parse("prefix", &b, &e), &e);
    same = method_difference(&a, &b);
    assert_string_equal(same, "with an additional bottleneck module at f.out");
    free(same);
}

/* The tests of rules and equalities that no test names by their own number. */
static const struct {
    const char *id, *file, *test;
} held[] = {
    {"V15", "tests/method/plan_test.c", "\"V75\""}, /* a fusion of fewer than two adapters */
    {"V26", "tests/train/regime_test.c", "its schedule is longer"},
    /* a projection that was not saved is recomputed from its seed */
    {"V27", "tests/app/adapters_test.c", "vera-seed"},
    {"V36", "tests/app/adapters_test.c", "hub-unipelt"},
    {"V37", "tests/model/cache_cases.h", "prefix"},
    {"E1", "tests/method/equivalence_dtest.c", "a_joined_softmax_is_the_gate"},
    {"E14", "tests/method/equivalence_dtest.c", "a_prompt_depends_on_the_text"},
    {"E21", "tests/method/prompt_dtest.c", "a_task_alone_has_its_prefix"},
    {"E22", "tests/method/hyper_dtest.c", "same_alone"},
};

/* Returns whether a test's source contains "V23" or a string that begins with V23, or the list above has
 * it. */
static bool is_held(char letter, int number) {
    static const char *const files[] = {"tests/method/plan_test.c", "tests/method/family_test.c", "tests/method/text_test.c",
                                        "tests/method/equivalence_dtest.c", "tests/method/equivalence_maps_dtest.c",
                                        "tests/method/hyper_dtest.c", "tests/method/prompt_dtest.c"};
    char id[8], marks[3][16];
    bool found = false;
    snprintf(id, sizeof id, "%c%d", letter, number);
    snprintf(marks[0], sizeof marks[0], "\"%s\"", id);
    snprintf(marks[1], sizeof marks[1], "\"%s:", id);
    snprintf(marks[2], sizeof marks[2], "\"%s ", id);
    for (size_t i = 0; i < COUNT_OF(files) && !found; i++) {
        struct buf b = file_text(files[i]);
        for (int k = 0; k < 3; k++) found |= strstr(buf_text(&b), marks[k]) != NULL;
        buf_release(&b);
    }
    for (size_t i = 0; i < COUNT_OF(held) && !found; i++) {
        if (strcmp(held[i].id, id)) continue;
        struct buf b = file_text(held[i].file);
        found = strstr(buf_text(&b), held[i].test) != NULL;
        if (!found) fail_msg("%s: %s does not say %s", id, held[i].file, held[i].test);
        buf_release(&b);
    }
    return found;
}

/* All rules and equalities on the page and in the catalog: V1 to V37, E1 to E20. */
static void every_rule_and_equality_has_a_test(void **state) {
    (void)state;
    bool rules[100] = {false}, equal[100] = {false};
    rules_in(buf_text(&page), "\n| V", " |", rules);
    rules_in(buf_text(&page), "\n| E", " |", equal);
    for (int i = 1; i < 100; i++) {
        if ((rules[i] || i <= 37) && !is_held('V', i)) fail_msg("no test of V%d", i);
        if ((equal[i] || i <= 20) && !is_held('E', i)) fail_msg("no test of E%d", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_read),
        cmocka_unit_test(every_rule_is_listed),
        cmocka_unit_test(every_equality_is_listed),
        cmocka_unit_test(every_rule_and_equality_has_a_test),
        cmocka_unit_test(every_preset_is_listed_with_its_values),
        cmocka_unit_test(the_schema_has_every_word),
        cmocka_unit_test(distances_are_as_listed),
    };
    return cmocka_run_group_tests_name("method docs", tests, open_page, close_page);
}
