/* RoBERTas by other names, XLM-R and CamemBERT: tokens and answers of tiny ones as transformers has them (make_xlm.py). */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/adapter.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static const char *const NAMES[] = { "xlm-roberta", "camembert" };

static char *model_of(const char *name) {
    char *inside = xprintf("tests/reference/xlm/%s", name), *path = test_path(inside);
    free(inside);
    return path;
}

/* A file's line i from 0, in place. */
static char *line_of(char *text, int i) {
    while (i--) text = strchr(text, '\n') + 1;
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void tokens_and_answers_are_the_librarys(void **state) {
    (void)state;
    char *xlm = test_path("tests/reference/xlm");
    for (size_t k = 0; k < COUNT_OF(NAMES); k++) {
        char *folder = model_of(NAMES[k]);
        for (int i = 0; i < 12; i++) {
            char *expected = test_text(folder, "expected.tsv"), *texts = test_text(xlm, "rows.tsv"), *want = line_of(expected, i),
                 *a = line_of(texts, i + 1), *b = strchr(a, '\t');
            *b++ = '\0';
            char *second = *b ? xprintf("--text-b '%s'", b) : xstrdup("");
            json_t *v = stage_json("encode --model '%s' --text '%s' %s --tokens --json", folder, a, second),
                   *answer = stage_json("predict --model '%s' --text '%s' %s --json", folder, a, second), *p;
            json_t *ids = stage_at(v, "ids"), *id;
            size_t at;
            json_array_foreach(ids, at, id) {
                long got = strtol(want, &want, 10);
                if (got != json_integer_value(id)) fail_msg("%s: token %zu of \"%s\" is %lld, not %ld", NAMES[k], at, a,
                                                            (long long)json_integer_value(id), got);
            }
            assert_int_equal(*want, '\t');
            const char *label;
            json_object_foreach(stage_at(answer, "probabilities"), label, p) {
                double x = strtod(want, &want);
                if (!(fabs(x - json_number_value(p)) < 1e-6))
                    fail_msg("%s: \"%s\": %s %g, not %g", NAMES[k], a, label, json_number_value(p), x);
            }
            json_decref(v);
            json_decref(answer);
            free(second);
            free(expected);
            free(texts);
        }
        free(folder);
    }
    free(xlm);
}

static void they_are_trained_and_exported_by_their_name(void **state) {
    (void)state;
    static const char *const class[] = { "XLMRobertaForSequenceClassification", "CamembertForSequenceClassification" };
    char *task = stage_task(&stage, "names", 0);
    for (size_t k = 0; k < COUNT_OF(NAMES); k++) {
        char *folder = model_of(NAMES[k]), *db = xprintf("%s/%s.db", stage.folder, NAMES[k]),
             *out = xprintf("%s/%s", stage.folder, NAMES[k]);
        free(stage_out(0, "train --model '%s' --task '%s' --method 'lora(r=2)' --steps 2 --batch 4 --precision f32 --db '%s'", folder, task, db));
        free(stage_out(0, "export 1 --to hf '%s' --db '%s'", out, db));
        char *config = test_text(out, "config.json"), *a = stage_out(0, "predict 1 --text 'the dog' --db '%s'", db),
             *b = stage_out(0, "predict --model '%s' --text 'the dog'", out);
        assert_non_null(strstr(config, class[k]));
        assert_string_equal(a, b);
        char *xl = model_copy(folder, stage.folder, k ? "xl-c" : "xl", NAMES[k], "xlm-roberta-xl");
        stage_refused(5, "\"model_type\": \"xlm-roberta-xl\" is not supported", "predict --model '%s' --text x", xl);
        free(config);
        free(a);
        free(b);
        free(xl);
        free(folder);
        free(db);
        free(out);
    }
    free(task);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_and_answers_are_the_librarys),
        cmocka_unit_test(they_are_trained_and_exported_by_their_name),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
