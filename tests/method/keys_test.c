/* The table of fields: from its row alone a field is written, read, compared, described and documented. */
#include "core/method/keys.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/method/network.h"
#include "tests/support/test.h"

static struct buf file_text(const char *name) {
    struct buf b;
    struct err e = ERR_INIT;
    char *path = test_path(name);
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    free(path);
    return b;
}

static void is_said(const struct key *k) {
    assert_non_null(k->description);
    assert_true(k->description[strlen(k->description) - 1] == '.' || k->description[strlen(k->description) - 1] == ')');
    int offered = 0, values = k->kind == KEY_FLAG ? 2 : k->count;
    for (int i = k->first; k->each && i < values; i++) offered += k->each[i] != NULL;
    if (k->each) assert_true(offered > 1);
}

static void every_field_has_a_sentence(void **state) {
    (void)state;
    const struct key *k;
    const struct network *n;
    for (int i = 0; (k = key_at(i)); i++) is_said(k);
    for (int i = 0; (n = network_at(i)); i++)
        for (int j = 0; j < n->keys; j++) is_said(&n->key[j]);
}

/* Writes the module as text and as JSON, and reads both back. */
static void comes_back(const struct module *m, const char *field) {
    struct method x = { .count = 1, .module = { *m } }, back;
    struct err e = ERR_INIT;
    char *form[] = { method_canonical(&x), method_json(&x, true), method_text(&x) };
    for (size_t i = 0; i < COUNT_OF(form); i++) {
        if (method_parse(form[i], &back, &e)) fail_msg("%s: %s: %s", field, form[i], e.text);
        if (back.count != 1) fail_msg("%s: %s", field, form[i]);
        module_normalize(&back.module[0]);
        if (!module_equal(&back.module[0], m)) fail_msg("%s does not come back from %s", field, form[i]);
        free(form[i]);
    }
}

/* Uses only the rows, so that a new field is tested too. */
static void a_row_is_all_that_a_field_needs(void **state) {
    (void)state;
    const struct key *k;
    int tried = 0;
    for (int fn = 0; fn < FN_COUNT; fn++)
        for (int i = 0; (k = key_at(i)); i++) {
            const struct module usual = module_default((enum fn)fn);
            int values = k->kind == KEY_FLAG ? 2 : k->kind == KEY_WHOLE ? 4 : k->count;
            if (!key_takes(k, &usual) || k->kind == KEY_LAYERS) continue;
            for (int value = k->kind == KEY_WHOLE ? k->least : k->first; value < values; value++) {
                struct module m = usual;
                key_choose(k, &m, value);
                module_normalize(&m);
                if (key_number(k, &m) != value || (k->words == source_names && m.mid)) continue;
                /* other fields follow from the place */
                if (k->words == tap_names || k->words == target_names) continue;
                if (module_equal(&m, &usual) != key_same(k, &m, &usual)) fail_msg("%s is not compared", k->name);
                comes_back(&m, k->name);
                tried++;
            }
        }
    assert_true(tried > 200);
}

/* Returns the number of files that would no longer compile if the member were renamed. */
static int files_that_name(const char *member) {
    static const char *const files[] = {
        "core/method/keys.c", "core/method/space.c", "core/method/format.c", "core/method/json.c",
        "core/method/parse.c", "core/method/match.c", "core/method/nearest.c", "core/method/check.c",
        "core/method/distance.c", "views/compose.c", "views/compose_choose.c", "views/compose_edit.c",
        "views/compose_draw.c", "views/compose_sweep.c"
    };
    int found = 0;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct buf b = file_text(files[i]);
        char *row = xprintf("AT(%s)", member), *arrow = xprintf("m->%s", member), *dot = xprintf("n.%s", member);
        const char *const marks[] = { row, arrow, dot };
        bool named = false;
        for (size_t j = 0; j < COUNT_OF(marks); j++)
            for (const char *at = buf_text(&b); (at = strstr(at, marks[j])); at++)
                named |= !strchr("_abcdefghijklmnopqrstuvwxyz", at[strlen(marks[j])]) || j == 0;
        found += named;
        free(row);
        free(arrow);
        free(dot);
        buf_release(&b);
    }
    return found;
}

static void a_setting_is_named_in_few_files(void **state) {
    (void)state;
    static const char *const settings[] = { "act", "biases", "factor", "own_rule", "norm_before", "norm",
                                            "residual", "ending", "shift", "length", "seed", "dropout",
                                            "place", "pool", "rows", "learn" };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        int files = files_that_name(settings[i]);
        if (files < 1 || files > 4) fail_msg("%s is named in %d files", settings[i], files);
    }
}

static bool has_word(const json_t *of, const char *word) {
    const json_t *any = json_object_get(of, "anyOf");
    const json_t *list = json_object_get(any ? json_array_get(any, json_array_size(any) - 1) : of, "enum");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_array_get(list, i)), word)) return true;
    return false;
}

/* The page contains the name of each field, and the schema each member with its words and minimum. */
static void every_field_is_documented(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf page = file_text("docs/methods.md");
    const char *keys = strstr(buf_text(&page), "## Text form");
    char *path = test_path("docs/method.schema.json");
    json_t *o = json_read(path, 1 << 20, &e);
    const json_t *all = json_object_get(o, "properties"), *m;
    const struct network *n;
    const struct key *k;
    m = json_object_get(json_object_get(json_object_get(all, "modules"), "items"), "properties");
    for (int i = 0; (k = key_at(i)); i++) {
        char *name = xprintf("`%s`", k->name);
        if (!strstr(keys, name)) fail_msg("docs/methods.md lacks %s", k->name);
        free(name);
        const json_t *member = k->member ? json_object_get(m, k->member) : NULL;
        if (k->member && !member) fail_msg("the schema lacks \"%s\"", k->member);
        for (int w = k->first; k->member && w < k->count; w++)
            if (k->words != init_names && !has_word(member, k->words[w]))
                fail_msg("the schema's \"%s\" lacks %s", k->member, k->words[w]);
        if (member && k->kind == KEY_WHOLE && json_integer_value(json_object_get(member, "minimum")) > k->least)
            fail_msg("the schema's \"%s\" begins above %d", k->member, k->least);
    }
    for (int i = 0; (n = network_at(i)); i++)
        for (k = n->key; k < n->key + n->keys; k++) {
            char *name = xprintf("`%s`", k->name);
            if (!strstr(buf_text(&page), name)) fail_msg("docs/methods.md lacks %s of %s", k->name, n->name);
            const json_t *own = json_object_get(json_object_get(all, n->name), "properties");
            if (own && !json_object_get(own, k->name)) fail_msg("the schema's \"%s\" lacks %s", n->name, k->name);
            free(name);
        }
    json_decref(o);
    free(path);
    buf_release(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_a_sentence),
        cmocka_unit_test(a_row_is_all_that_a_field_needs),
        cmocka_unit_test(a_setting_is_named_in_few_files),
        cmocka_unit_test(every_field_is_documented),
    };
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
