/* Decoder-only models in the program: classification by the last token, and what is refused. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

#define MODEL "--model tests/reference/causal/"

static void classifies(const char *model, const char *method) {
    char *text[2];
    for (int workers = 1; workers <= 2; workers++) {
        char *out = stage_out(0, "train " MODEL "%s --train '%s' --no-dev --method '%s' --steps 6 --batch 4 --max-length 24 --workers %d --json --db '%s'",
                              model, stage.toy, method, workers, stage.db);
        const char *loss = strstr(out, "\"loss\":");
        assert_non_null(loss);
        text[workers - 1] = xprintf("%.*s", (int)strcspn(loss, ","), loss);
        free(out);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]), free(text[1]);
}

static void methods_train_on_decoders(void **state) {
    (void)state;
    classifies("llama", "lora(r=2)");
    classifies("mistral", "prefix(l=2, shift=yes) + full(target=norms)");
    classifies("qwen2", "bitfit");
    classifies("llama3", "prompt-tuning");
}

/* The classifier reads the last token, so that every token matters. */
static void a_last_word_changes_the_prediction(void **state) {
    (void)state;
    free(stage_out(0, "train " MODEL "llama --train '%s' --no-dev --steps 2 --batch 4 --max-length 24 --workers 1 --db '%s'",
                   stage.toy, stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db);
    int id = (int)json_integer_value(json_object_get(json_array_get(runs, 0), "id"));
    char *a = stage_out(0, "predict %d --text 'one good' --json --db '%s'", id, stage.db),
         *b = stage_out(0, "predict %d --text 'one bad' --json --db '%s'", id, stage.db);
    const char *of_a = strstr(a, "\"probabilities\""), *of_b = strstr(b, "\"probabilities\"");
    assert_true(of_a && of_b && strncmp(of_a, of_b, 60));
    stage_refused(2, "decoder-only models", "export %d --to peft '%s/peft' --db '%s'", id, stage.folder, stage.db);
    stage_refused(2, "decoder-only models", "export %d --to hub '%s/hub' --db '%s'", id, stage.folder, stage.db);
    stage_refused(2, "decoder-only models", "export %d --to hf '%s/hf' --db '%s'", id, stage.folder, stage.db);
    free(stage_out(0, "export %d --to petri '%s/own' --db '%s'", id, stage.folder, stage.db));
    free(a), free(b);
    json_decref(runs);
}

static void what_decoders_cannot_do(void **state) {
    (void)state;
    stage_refused(2, "generating text with a decoder-only model (llama) is not supported", "generate " MODEL "llama --text good");
    stage_refused(2, "llama (llama) is a decoder", "train " MODEL "llama --train '%s' --no-dev --form text --steps 1 --db '%s'", stage.toy,
                  stage.db);
    stage_refused(5, "the tokenizer of a GGUF file is not supported", "encode --model tests/reference/gguf/llama.gguf --text good");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_train_on_decoders),
        cmocka_unit_test(a_last_word_changes_the_prediction),
        cmocka_unit_test(what_decoders_cannot_do),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
