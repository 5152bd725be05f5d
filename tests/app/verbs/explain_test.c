/* petri explain: every published method on a page, whose numbers are those of petri count. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/space.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* Some line of a section holds the text. */
static bool says(json_t *page, const char *section, const char *part) {
    size_t i;
    json_t *line;
    json_array_foreach(stage_at(page, section), i, line)
        if (strstr(json_string_value(line), part)) return true;
    return false;
}

static void every_preset_has_its_page(void **state) {
    (void)state;
    static const char *const sections[] = {"about", "axes", "formula", "equals", "released"};
    for (int i = 0; i < preset_count(); i++) {
        const char *name = preset_at(i)->name;
        json_t *page = stage_json("explain '%s' --model '%s' --json", name, stage.model);
        assert_string_equal(stage_text(page, "name"), name);
        assert_non_null(strstr(stage_text(page, "title"), preset_at(i)->paper));
        for (size_t k = 0; k < COUNT_OF(sections); k++)
            if (!json_array_size(stage_at(page, sections[k])) && strcmp(name, "head"))
                fail_msg("%s says nothing of %s", name, sections[k]);
        assert_true(says(page, "about", preset_at(i)->note));
        assert_true(says(page, "released", preset_at(i)->released ? preset_at(i)->released : "no known differences"));
        json_t *counts = stage_at(page, "counts");
        if (!json_is_null(counts)) {
            char trained[32];
            json_t *count = stage_json("count --method '%s' --model '%s' --json", name, stage.model);
            json_object_del(count, "memory_need"), json_object_del(count, "memory_free"); /* not a count of the method */
            assert_true(json_equal(count, counts));
            text_thousands(json_integer_value(stage_at(count, "trained")), trained);
            if (!says(page, "costs", trained)) fail_msg("%s: %s values are not on the page", name, trained);
            json_decref(count);
        }
        json_decref(page);
    }
}

static void a_page_of_several_tasks(void **state) {
    (void)state;
    json_t *page = stage_json("explain 'hyperprompt-global(l=2,b=3)' --model '%s' --tasks 3 --json", stage.model);
    assert_true(says(page, "trains", "specific to one task"));
    assert_true(says(page, "costs", "per task, for 3 tasks"));
    assert_true(says(page, "formula", "P = relu(P_τ Dᵀ) Uᵀ") &&
                says(page, "formula", "generator: I = W_2 relu(W_1 [z_τ; e_ℓ]), weights = A I"));
    assert_true(says(page, "equals", "E21") && says(page, "equals", "hyperprompt-share"));
    json_decref(page);
    char *text = stage_out(0, "explain shared-adapter --model '%s'", stage.model);
    assert_non_null(strstr(text, "same method as parallel-adapter-ffn"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) assert_true(text_width(line) <= 96);
    free(text);
}

/* A run has the counts that were shown before it, also of a folder whose weights lack the pooler. */
static void a_run_has_the_counts_of_count(void **state) {
    (void)state;
    char *mini = test_path("assets/models/petri-mini");
    const char *const models[] = {stage.model, mini};
    static const char *const keys[][2] = {{"trained", "trained"}, {"kept", "kept"}, {"head", "head"}, {"model_values", "model"}};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        json_t *count = stage_json("count --method 'lora(r=2)' --classes 2 --model '%s' --json", models[i]);
        free(stage_out(0, "train --model '%s' --train '%s' --text text --label label --db '%s' --method 'lora(r=2)' --steps 1",
                       models[i], stage.toy, stage.db));
        json_t *run = stage_json("sql 'SELECT trained, kept, head, model_values FROM v_runs ORDER BY id DESC LIMIT 1' --json --db '%s'",
                                 stage.db);
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            assert_int_equal(json_integer_value(json_object_get(run, keys[k][0])), json_integer_value(stage_at(count, keys[k][1])));
        if (i) assert_int_equal(json_integer_value(stage_at(count, "head")), (128 + 1) * (128 + 2)); /* pooler and classifier */
        json_decref(run);
        json_decref(count);
    }
    json_t *page = stage_json("explain lora --model '%s' --json", mini);
    char *screen = stage_out(0, "render --screen compose --method lora --model '%s'", mini);
    assert_true(says(page, "costs", "1,187,712") && strstr(screen, "1,187,712"));
    free(screen);
    json_decref(page);
    free(mini);
}

/* T5 does not divide attention scores by the root of a head's width, other families do. */
static void a_formula_is_that_of_the_model(void **state) {
    (void)state;
    static const char *const methods[] = {"prefix(l=2)", "multi-head-parallel-adapter(r=2)"};
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        for (int t5 = 0; t5 < 2; t5++) {
            char *folder = t5 ? test_path("tests/reference/families/t5-tiny") : xstrdup(stage.model);
            json_t *page = stage_json("explain '%s' --model '%s' --json", methods[i], folder);
            if (says(page, "formula", "/√d_h") == t5) fail_msg("%s on %s", methods[i], folder);
            json_decref(page);
            free(folder);
        }
}

/* Presets of one name are one point only where the scale is the same. */
static void other_words_have_the_same_scale(void **state) {
    (void)state;
    static const struct {
        const char *method, *line;
    } rows[] = {
        {"lora", "rslora is lora with s = 5.65685 instead of 2"},
        {"rslora", "lora with s = 5.65685 instead of 2"},
        {"lora(r=64)", "rslora is another name for lora"},
        {"full", "shared-ft is another name for full"},
        {"shared-ft", "same method as full"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        json_t *page = stage_json("explain '%s' --model '%s' --json", rows[i].method, stage.model);
        if (!says(page, "equals", rows[i].line)) fail_msg("%s: no \"%s\"", rows[i].method, rows[i].line);
        json_decref(page);
    }
}

/* What cannot be there is explained with the reason; what is no method is refused. */
static void what_cannot_be(void **state) {
    (void)state;
    char *text = stage_out(0, "explain 'scale(write=a.k,comp=add)' --model '%s'", stage.model);
    assert_non_null(strstr(text, "error V9"));
    assert_null(strstr(text, "trainable parameters"));
    free(text);
    stage_refused(2, "did you mean pha", "explain phaa --model '%s'", stage.model);
    stage_refused(2, "--tasks", "explain pha --tasks 0 --model '%s'", stage.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_has_its_page),
        cmocka_unit_test(a_page_of_several_tasks),
        cmocka_unit_test(a_run_has_the_counts_of_count),
        cmocka_unit_test(a_formula_is_that_of_the_model),
        cmocka_unit_test(other_words_have_the_same_scale),
        cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests_name("explain", tests, stage_make, stage_drop);
}
