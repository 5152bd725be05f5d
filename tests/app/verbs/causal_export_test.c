/* Runs on decoder-only models written for other programs, and read again. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

#define MODEL "--model tests/reference/causal/"

/* Trains a classifier; returns the run. */
static int classifier(const char *model, const char *method) {
    free(stage_out(0, "train " MODEL "%s --train '%s' --no-dev --method '%s' --lr 0.05 --steps 3 --batch 4 --max-length 24 --precision f32 --workers 1 --db '%s'",
                   model, stage.toy, method, stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db);
    int id = (int)json_integer_value(json_object_get(json_array_get(runs, 0), "id"));
    json_decref(runs);
    return id;
}

/* The probability of the first class of two texts, by a run or another source. */
static void probabilities(const char *of, double out[2]) {
    static const char *const text[] = { "one good", "one bad thing" };
    for (int i = 0; i < 2; i++) {
        json_t *said = stage_json("predict %s --text '%s' --json --db '%s'", of, text[i], stage.db),
               *all = json_object_get(said, "probabilities");
        out[i] = json_number_value(json_object_iter_value(json_object_iter(all)));
        json_decref(said);
    }
}

static void same(const char *of, const char *other) {
    double a[2], b[2];
    probabilities(of, a);
    probabilities(other, b);
    for (int i = 0; i < 2; i++)
        if (!(a[i] > 0 && fabs(a[i] - b[i]) < 1e-6)) fail_msg("%s: %.9g, %s: %.9g", of, a[i], other, b[i]);
}

/* A head without a bias, as transformers has it, goes out and comes back. */
static void classifiers_are_exchanged(void **state) {
    (void)state;
    static const char *const all[][2] = { { "llama", "lora(r=2,at=all-linear)" }, { "qwen2", "dora(r=2) + bitfit" },
                                          { "llama3", "prompt-tuning(l=2)" } };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *run = xprintf("%d", classifier(all[i][0], all[i][1])), *hf = xprintf("--model '%s/hf%zu'", stage.folder, i);
        free(stage_out(0, "export %s --to peft '%s/peft%zu' --db '%s'", run, stage.folder, i, stage.db));
        free(stage_out(0, "import '%s/peft%zu' " MODEL "%s --db '%s'", stage.folder, i, all[i][0], stage.db));
        char *back = xprintf("%d", atoi(run) + 1);
        same(run, back);
        if (i < 2) {
            free(stage_out(0, "export %s --to hf '%s/hf%zu' --db '%s'", run, stage.folder, i, stage.db));
            same(run, hf);
        }
        free(run), free(hf), free(back);
    }
}

/* The hash of the parameters of a run, and its form. */
static char *weights_of(int run, const char *form) {
    json_t *x = stage_json("show %d --json --db '%s'", run, stage.db);
    const char *hash = json_string_value(json_object_get(x, "weights_sha256"));
    assert_non_null(hash);
    assert_string_equal(json_string_value(json_object_get(json_object_get(x, "config"), "form")), form);
    char *out = xstrdup(hash);
    json_decref(x);
    return out;
}

/* A run on prompts and completions is a language model in folders of PEFT and transformers. */
static void language_models_are_exchanged(void **state) {
    (void)state;
    free(stage_out(0, "train " MODEL "llama --train tests/reference/language/pairs.jsonl --no-dev --method 'lora(r=2,at=all-linear)' --lr 0.05 "
                      "--steps 2 --batch 4 --precision f32 --workers 1 --db '%s'", stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db);
    int id = (int)json_integer_value(json_object_get(json_array_get(runs, 0), "id"));
    json_decref(runs);
    free(stage_out(0, "export %d --to peft '%s/lm' --db '%s'", id, stage.folder, stage.db));
    free(stage_out(0, "import '%s/lm' " MODEL "llama --db '%s'", stage.folder, stage.db));
    free(stage_out(0, "export %d --to peft '%s/lm2' --db '%s'", id + 1, stage.folder, stage.db));
    free(stage_out(0, "import '%s/lm2' " MODEL "llama --db '%s'", stage.folder, stage.db));
    char *on = stage_out(0, "import '%s/lm' " MODEL "qwen2 --db '%s'", stage.folder, stage.db); /* not the model of its config */
    assert_true(strstr(on, "/causal/qwen2, imported") && !strstr(on, "/causal/llama"));
    free(on);
    char *a = weights_of(id + 1, "text"), *b = weights_of(id + 2, "text"), *folder = xprintf("%s/lm", stage.folder),
         *config = test_text(folder, "adapter_config.json");
    assert_string_equal(a, b);
    assert_non_null(strstr(config, "\"task_type\": \"CAUSAL_LM\""));
    json_t *said = stage_json("export %d --to hf '%s/hf' --json --db '%s'", id, stage.folder, stage.db);
    double apart = json_number_value(json_object_get(said, "largest_logit_difference"));
    if (!(apart < 1e-4)) fail_msg("%g", apart);
    json_decref(said);
    said = stage_json("export %d --to gguf '%s/lm.gguf' --json --db '%s'", id, stage.folder, stage.db);
    char *modelfile = test_text(stage.folder, "lm.Modelfile");
    assert_non_null(strstr(json_string_value(json_object_get(said, "modelfile")), "/lm.Modelfile"));
    assert_true(!strncmp(modelfile, "FROM /", 6) && strstr(modelfile, "/tests/reference/causal/llama\nADAPTER ./lm.gguf\n"));
    json_decref(said);
    free(modelfile);
    stage_refused(2, "lm.gguf", "export %d --to gguf '%s/lm.gguf' --db '%s'", id, stage.folder, stage.db);
    free(stage_out(0, "export %d --to gguf '%s/lm.gguf' --overwrite --db '%s'", id, stage.folder, stage.db));
    free(stage_out(0, "export %d --to gguf-merged '%s/whole.gguf' --outtype q8_0 --db '%s'", id, stage.folder, stage.db));
    char *ids = stage_out(0, "encode --model '%s/whole.gguf' --text 'one good'", stage.folder),
         *same_ids = stage_out(0, "encode " MODEL "llama --text 'one good'");
    assert_string_equal(ids, same_ids);
    free(ids), free(same_ids);
    stage_refused(2, "--outtype", "export %d --to gguf '%s/x.gguf' --outtype f16 --db '%s'", id, stage.folder, stage.db);
    stage_refused(2, "missing FILE.gguf", "export %d --to gguf-merged --db '%s'", id, stage.db);
    free(a), free(b), free(folder), free(config);
}

/* Of a GGUF file the config and the tokenizer of the folder are made. */
static void gguf_models_become_folders(void **state) {
    (void)state;
    free(stage_out(0, "train --model tests/reference/gguf/llama.gguf --train tests/reference/language/pairs.jsonl --no-dev --lr 0.05 --steps 1 "
                      "--batch 4 --precision f32 --workers 1 --db '%s'", stage.db));
    json_t *runs = stage_json("runs --json --limit 1 --db '%s'", stage.db);
    int id = (int)json_integer_value(json_object_get(json_array_get(runs, 0), "id"));
    json_decref(runs);
    json_t *said = stage_json("export %d --to hf '%s/made' --json --db '%s'", id, stage.folder, stage.db);
    if (!(json_number_value(json_object_get(said, "largest_logit_difference")) < 1e-4)) fail_msg("other logits");
    json_decref(said);
    char *folder = xprintf("%s/made", stage.folder), *template = test_text(folder, "chat_template.jinja"),
         *config = test_text(folder, "config.json"), *generation = test_text(folder, "generation_config.json"),
         *a = stage_out(0, "encode --model '%s' --text 'I am 12  years'", folder),
         *b = stage_out(0, "encode --model tests/reference/gguf/llama.gguf --text 'I am 12  years'");
    assert_string_equal(a, b);
    assert_true(strstr(template, "<|im_start|>") && strstr(config, "LlamaForCausalLM") && strstr(generation, "eos_token_id"));
    free(folder), free(template), free(config), free(generation), free(a), free(b);
}

static void what_has_no_counterpart_is_refused(void **state) {
    (void)state;
    int run = classifier("llama", "prefix(l=2)");
    stage_refused(2, "adapters of decoder-only models are not exchanged with AdapterHub", "export %d --to hub '%s/hub' --db '%s'", run,
                  stage.folder, stage.db);
    stage_refused(2, "a model that generates text has no classification head",
                  "train " MODEL "llama --train tests/reference/language/pairs.jsonl --no-dev --method head --steps 1 --db '%s'", stage.db);
    stage_refused(2, "the run is not a language model", "export %d --to gguf '%s/no.gguf' --db '%s'", run, stage.folder, stage.db);
    stage_refused(2, "PEFT supports prefixes of decoder-only models only for language models", "export %d --to peft '%s/no' --db '%s'", run,
                  stage.folder, stage.db);
    stage_refused(5, "\"task_type\" is \"CAUSAL_LM\": the adapter is for a decoder-only model",
                  "import tests/reference/causal/peft/llama.lora --model tests/reference/bert-tiny --db '%s'", stage.db);
    stage_refused(5, "\"task_type\" is \"SEQ_2_SEQ_LM\"",
                  "import tests/reference/families/peft/t5-odd.lora " MODEL "llama --db '%s'", stage.db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classifiers_are_exchanged),
        cmocka_unit_test(language_models_are_exchanged),
        cmocka_unit_test(gguf_models_become_folders),
        cmocka_unit_test(what_has_no_counterpart_is_refused),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
