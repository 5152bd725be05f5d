/* Every key of PEFT's configs: followed, in the tensors, of training alone, or refused unless it is off. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/exchange/peft.h"
#include "tests/support/adapter.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static bool takes(enum peft_type type, const char *key, const char *value, struct err *e) {
    char *text = xprintf("{\"%s\": %s}", key, value);
    struct peft p = { .path = (char *)(uintptr_t) "c.json", .config = json_loads(text, 0, NULL), .type = type };
    assert_non_null(p.config);
    int rc = peft_check_keys(&p, e);
    json_decref(p.config);
    free(text);
    return !rc;
}

static void each_key_is_taken_or_refused(void **state) {
    (void)state;
    static const char *const off[] = { "null", "false", "[]", "{}", "\"\"" };
    struct err e = ERR_INIT;
    for (const struct peft_key *k = peft_keys(); k->name; k++)
        for (int type = 0; type < PEFT_TYPES; type++) {
            if (!(k->types >> type & 1)) continue;
            bool is_switch = !strncmp(k->name, "use_", 4) || !strcmp(k->name, "prefix_projection");
            const char *value = is_switch && k->use == PEFT_FOLLOWED ? "true" : "7";
            if (takes((enum peft_type)type, k->name, value, &e) != (k->use != PEFT_REFUSED))
                fail_msg("%s of %s is %s", k->name, peft_type_name((enum peft_type)type), k->use == PEFT_REFUSED ? "taken" : e.text);
            for (size_t i = 0; i < COUNT_OF(off); i++)
                if (!takes((enum peft_type)type, k->name, off[i], &e)) fail_msg("%s: %s", k->name, e.text);
            if (k->usual && !takes((enum peft_type)type, k->name, k->usual, &e)) fail_msg("%s: %s", k->name, e.text);
            if (is_switch) assert_false(takes((enum peft_type)type, k->name, "7", &e));
        }
    assert_true(takes(PEFT_LORA, "of_a_later_version", "null", &e));
    assert_false(takes(PEFT_LORA, "of_a_later_version", "0.5", &e));
    assert_non_null(strstr(e.text, "\"of_a_later_version\" is 0.5"));
    assert_false(takes(PEFT_IA3, "lora_alpha", "3", &e)); /* another type's */
}

/* What a followed key changes: the method, what is told of the run, or that it is refused. */
static const struct {
    const char *key, *fixture, *from, *to, *part;
    bool refused;
} followed[] = {
    { "peft_type", "lora", "\"LORA\"", "\"LOHA\"", "unsupported \"peft_type\": \"LOHA\"", true },
    { "task_type", "lora", "\"SEQ_CLS\"", "\"TOKEN_CLS\"", "\"task_type\"", true },
    { "auto_mapping", "lora", "\"auto_mapping\": null", "\"auto_mapping\": {\"base_model_class\": \"BertForTokenClassification\"}",
      "BertForTokenClassification", true },
    { "base_model_name_or_path", "lora", "\"bert-tiny\"", "\"org/other\"", "\"model\":\"org/other\"", false },
    { "target_modules", "lora", "\"query\",\n    \"value\"", "\"query\"",
      "excludes bert.encoder.layer.0.attention.self.value, but the file has tensors for it", true },
    { "exclude_modules", "lora", "\"exclude_modules\": null", "\"exclude_modules\": [\"layer.1.attention.self.value\"]",
      "excludes bert.encoder.layer.1.attention.self.value,", true },
    { "exclude_modules", "lora", "\"exclude_modules\": null", "\"exclude_modules\": \".*layer.2.*query\"",
      "excludes bert.encoder.layer.2.attention.self.query,", true },
    { "layers_to_transform", "lora", "\"layers_to_transform\": null", "\"layers_to_transform\": [0, 2]",
      "\"layers_to_transform\" is [0,2]: excludes bert.encoder.layer.1.", true },
    { "layers_to_transform", "lora", "\"layers_to_transform\": null", "\"layers_to_transform\": 1",
      "excludes bert.encoder.layer.0.", true },
    { "layers_to_transform", "lora", "\"layers_to_transform\": null", "\"layers_to_transform\": [2, 1, 0]",
      "\"method\":\"lora(r=2,s=2.5,dropout=0.1)\"", false },
    { "layers_pattern", "lora-layers", "\"layers_pattern\": \"layer\"", "\"layers_pattern\": [\"block\", \"layer\"]",
      "\"state\":\"finished\"", false },
    { "layers_pattern", "lora-layers", "\"layers_pattern\": \"layer\"", "\"layers_pattern\": [\"block\"]",
      "\"layers_to_transform\" is [0,2]", true },
    { "lora_alpha", "lora", "\"lora_alpha\": 5", "\"lora_alpha\": 9", "\"method\":\"lora(r=2,s=4.5,dropout=0.1)\"", false },
    { "alpha_pattern", "lora", "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"query\": 8, \"value\": 3}", "s=4,", false },
    { "use_rslora", "lora", "\"use_rslora\": false", "\"use_rslora\": true", "s=3.5355", false },
    { "use_rslora", "lora", "\"use_rslora\": false", "\"use_rslora\": 1", "\"use_rslora\" is 1: must be true or false", true },
    { "use_dora", "lora", "\"use_dora\": false", "\"use_dora\": true", "lora_magnitude_vector is missing", true },
    { "projection_prng_key", "vera-seed", "\"projection_prng_key\": 0", "\"projection_prng_key\": 3", "seed=3", false },
    { "init_lora_weights", "lora", "\"init_lora_weights\": true", "\"init_lora_weights\": \"olora\"", "\"olora\"", true },
    { "lora_dropout", "lora", "\"lora_dropout\": 0.1", "\"lora_dropout\": 0.25", "dropout=0.25", false },
    { "vera_dropout", "vera", "\"vera_dropout\": 0.0", "\"vera_dropout\": 0.25", "dropout=0.25", false },
    { "num_virtual_tokens", "prompt", "\"num_virtual_tokens\": 3", "\"num_virtual_tokens\": 4", "the "
                                                                                                "number of "
                                                                                                "virtual "
                                                                                                "tokens is "
                                                                                                "4 in the "
                                                                                                "config", false },
    { "prefix_projection", "prefix", "\"prefix_projection\": false", "\"prefix_projection\": true", "the reparameterization MLP of a prefix",
      false },
};

static void each_followed_key_changes_the_run(void **state) {
    (void)state;
    char *base = test_path("tests/reference/bert-tiny");
    for (const struct peft_key *k = peft_keys(); k->name; k++) {
        size_t i = 0;
        while (i < COUNT_OF(followed) && strcmp(followed[i].key, k->name)) i++;
        if (k->use == PEFT_FOLLOWED && i == COUNT_OF(followed)) fail_msg("no case shows that %s is followed", k->name);
    }
    for (size_t i = 0; i < COUNT_OF(followed); i++) {
        char *folder = adapter_copy(stage.folder, followed[i].fixture, followed[i].from, followed[i].to);
        if (followed[i].refused) {
            stage_refused(5, followed[i].part, "import '%s' --model '%s' --db '%s'", folder, base, stage.db);
        } else {
            json_t *run = stage_json("import '%s' --model '%s' --json --db '%s'", folder, base, stage.db);
            char *text = json_dumps(run, JSON_COMPACT);
            if (!strstr(text, followed[i].part)) fail_msg("%s: %s is not in %s", followed[i].key, followed[i].part, text);
            free(text);
            json_decref(run);
        }
        free(folder);
    }
    free(base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_is_taken_or_refused),
        cmocka_unit_test(each_followed_key_changes_the_run),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
