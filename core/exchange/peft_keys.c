/* The keys of adapter_config.json of PEFT: how each is read and written. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/exchange/peft.h"
#include "core/exchange/reading.h"
#include "core/method/keys.h"

#define OF(type) (1u << PEFT_##type)
enum {
    LOW = OF(LORA) | OF(ADALORA),
    PROMPTS = OF(PREFIX) | OF(PROMPT) | OF(P_TUNING) | OF(MULTITASK),
    MAPS = LOW | OF(IA3) | OF(VERA) | OF(LN),
    EVERY = MAPS | PROMPTS,
};

#define AT(of, member) .kind = PEFT_##of, .offset = offsetof(struct peft_values, member)

static const struct peft_key keys[] = {
    { "peft_type", EVERY, .use = PEFT_FOLLOWED },
    { "task_type", EVERY, .use = PEFT_FOLLOWED },
    { "auto_mapping", EVERY, .use = PEFT_FOLLOWED, .written = "null" },
    { "base_model_name_or_path", EVERY, .use = PEFT_FOLLOWED },
    { "revision", EVERY, .use = PEFT_UNUSED, .written = "null" },
    { "inference_mode", EVERY, .use = PEFT_UNUSED, .written = "true" },
    { "peft_version", EVERY, .use = PEFT_UNUSED },
    { "modules_to_save", EVERY, .use = PEFT_IN_TENSORS },
    /* target modules */
    { "target_modules", MAPS, .use = PEFT_FOLLOWED },
    { "exclude_modules", MAPS, .use = PEFT_FOLLOWED },
    { "layers_to_transform", LOW | OF(VERA), .use = PEFT_FOLLOWED, .written = "null" },
    { "layers_pattern", LOW | OF(VERA), .use = PEFT_FOLLOWED, .written = "null" },
    { "target_parameters", LOW, .use = PEFT_REFUSED },
    { "trainable_token_indices", LOW, .use = PEFT_REFUSED },
    { "layer_replication", LOW, .use = PEFT_REFUSED, .written = "null" },
    { "alora_invocation_tokens", LOW, .use = PEFT_REFUSED },
    { "feedforward_modules", OF(IA3), .use = PEFT_IN_TENSORS },
    /* computation */
    { "r", LOW | OF(VERA), .use = PEFT_IN_TENSORS },
    { "rank_pattern", LOW, .use = PEFT_IN_TENSORS },
    { "lora_alpha", LOW, .use = PEFT_FOLLOWED, AT(NUMBER, alpha) },
    { "alpha_pattern", OF(LORA), .use = PEFT_FOLLOWED },
    { "alpha_pattern", OF(ADALORA), .use = PEFT_REFUSED },
    { "use_rslora", OF(LORA), .use = PEFT_FOLLOWED, AT(FLAG, root) },
    { "use_rslora", OF(ADALORA), .use = PEFT_REFUSED },
    { "use_dora", OF(LORA), .use = PEFT_FOLLOWED, AT(FLAG, dora) },
    { "use_dora", OF(ADALORA), .use = PEFT_REFUSED },
    { "bias", LOW | OF(VERA), .use = PEFT_IN_TENSORS },
    { "lora_bias", LOW, .use = PEFT_REFUSED },
    { "fan_in_fan_out", LOW | OF(IA3) | OF(VERA), .use = PEFT_REFUSED, .written = "false" },
    { "ensure_weight_tying", LOW, .use = PEFT_REFUSED },
    { "use_qalora", LOW, .use = PEFT_REFUSED },
    { "qalora_group_size", LOW, .use = PEFT_REFUSED, .usual = "16" },
    { "use_bdlora", LOW, .use = PEFT_REFUSED },
    { "arrow_config", LOW, .use = PEFT_REFUSED },
    { "kasa_config", LOW, .use = PEFT_REFUSED },
    { "velora_config", LOW, .use = PEFT_REFUSED },
    { "monteclora_config", LOW, .use = PEFT_REFUSED },
    { "megatron_config", LOW, .use = PEFT_REFUSED, .written = "null" },
    { "megatron_core", LOW, .use = PEFT_REFUSED, .usual = "\"megatron.core\"",
      .written = "\"megatron.core\"" },
    { "runtime_config", LOW, .use = PEFT_REFUSED, .usual = "{\"ephemeral_gpu_offload\":false}" },
    { "projection_prng_key", OF(VERA), .use = PEFT_FOLLOWED, AT(WHOLE, seed) },
    { "save_projection", OF(VERA), .use = PEFT_IN_TENSORS, .written = "true" },
    /* initialization; some settings change the base weights */
    { "init_lora_weights", LOW, .use = PEFT_FOLLOWED, .written = "true" },
    { "loftq_config", LOW, .use = PEFT_REFUSED, .written = "{}" },
    { "eva_config", LOW, .use = PEFT_REFUSED },
    { "corda_config", LOW, .use = PEFT_REFUSED },
    { "lora_ga_config", LOW, .use = PEFT_REFUSED },
    { "init_ia3_weights", OF(IA3), .use = PEFT_UNUSED, .written = "true" },
    { "d_initial", OF(VERA), .use = PEFT_UNUSED, .written = "0.1" },
    { "init_weights", OF(VERA), .use = PEFT_UNUSED, .written = "true" },
    { "init_weights", PROMPTS, .use = PEFT_UNUSED },
    { "prompt_tuning_init", PROMPTS, .use = PEFT_UNUSED },
    { "prompt_tuning_init_text", PROMPTS, .use = PEFT_UNUSED },
    { "prompt_tuning_init_state_dict_path", PROMPTS, .use = PEFT_UNUSED },
    { "prompt_tuning_init_task", PROMPTS, .use = PEFT_UNUSED },
    { "tokenizer_name_or_path", PROMPTS, .use = PEFT_UNUSED },
    { "tokenizer_kwargs", PROMPTS, .use = PEFT_UNUSED },
    /* training */
    { "lora_dropout", LOW, .use = PEFT_FOLLOWED, AT(NUMBER, dropout) },
    { "vera_dropout", OF(VERA), .use = PEFT_FOLLOWED, AT(NUMBER, dropout) },
    { "target_r", OF(ADALORA), .use = PEFT_UNUSED },
    { "init_r", OF(ADALORA), .use = PEFT_UNUSED },
    { "tinit", OF(ADALORA), .use = PEFT_UNUSED },
    { "tfinal", OF(ADALORA), .use = PEFT_UNUSED },
    { "deltaT", OF(ADALORA), .use = PEFT_UNUSED },
    { "beta1", OF(ADALORA), .use = PEFT_UNUSED },
    { "beta2", OF(ADALORA), .use = PEFT_UNUSED },
    { "orth_reg_weight", OF(ADALORA), .use = PEFT_UNUSED },
    { "total_step", OF(ADALORA), .use = PEFT_UNUSED },
    /* prompt rows and their MLP, which the folder does not contain */
    { "num_virtual_tokens", PROMPTS, .use = PEFT_FOLLOWED, AT(WHOLE, rows) },
    { "prefix_projection", OF(PREFIX), .use = PEFT_FOLLOWED, AT(FLAG, projected) },
    { "token_dim", PROMPTS, .use = PEFT_IN_TENSORS },
    { "num_layers", PROMPTS, .use = PEFT_IN_TENSORS },
    { "num_attention_heads", PROMPTS, .use = PEFT_IN_TENSORS },
    { "num_transformer_submodules", PROMPTS, .use = PEFT_IN_TENSORS },
    { "num_ranks", PROMPTS, .use = PEFT_IN_TENSORS },
    { "num_tasks", PROMPTS, .use = PEFT_IN_TENSORS },
    { "encoder_hidden_size", PROMPTS, .use = PEFT_UNUSED },
    { "encoder_num_layers", PROMPTS, .use = PEFT_UNUSED },
    { "encoder_dropout", PROMPTS, .use = PEFT_UNUSED },
    { "encoder_reparameterization_type", PROMPTS, .use = PEFT_UNUSED },
    { NULL },
};

const struct peft_key *peft_keys(void) { return keys; }

static const struct peft_key *find_key(enum peft_type type, const char *name) {
    for (const struct peft_key *k = keys; k->name; k++)
        if (k->types >> type & 1 && !strcmp(k->name, name)) return k;
    return NULL;
}

int peft_check_keys(const struct peft *p, struct err *e) {
    const char *name;
    json_t *v;
    json_object_foreach(p->config, name, v) {
        const struct peft_key *k = find_key(p->type, name);
        if (reading_is_nothing(v)) continue;
        /* Python accepts 1 for true; petri does not. */
        if (k && k->kind == PEFT_FLAG && !json_is_true(v))
            return reading_refuse_key(p->path, name, v, "must be true or false", e);
        if (k && k->use != PEFT_REFUSED) continue;
        char *value = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        bool usual = k && k->usual && value && !strcmp(value, k->usual);
        free(value);
        if (!usual) return reading_refuse_key(p->path, name, v, "not supported", e);
    }
    return 0;
}

int peft_read_values(struct peft *p, struct err *e) {
    json_int_t whole;
    p->values = (struct peft_values){ .alpha = 8 };
    for (const struct peft_key *k = keys; k->name; k++) {
        void *at = (char *)&p->values + k->offset;
        if (!(k->types >> p->type & 1)) continue;
        if (k->kind == PEFT_FLAG) *(bool *)at = json_is_true(json_object_get(p->config, k->name));
        if (k->kind == PEFT_NUMBER && !json_get_double(p->config, p->path, k->name, at, e) && e->code)
            return e->code;
        if (k->kind != PEFT_WHOLE) continue;
        if (json_get_int(p->config, p->path, k->name, &whole, e)) {
            if (whole < 0 || whole > SIZE_LIMIT)
                return reading_refuse_key(p->path, k->name, json_object_get(p->config, k->name),
                                          "must be between 0 and 1000000", e);
            *(int *)at = (int)whole;
        }
        if (e->code) return e->code;
    }
    return 0;
}

json_t *peft_number(double x) {
    return fabs(x - round(x)) < 1e-9 * fabs(x) ? json_integer((json_int_t)round(x)) : json_real(x);
}

json_t *peft_write_values(enum peft_type type, const struct peft_values *values) {
    json_t *out = json_object();
    for (const struct peft_key *k = keys; k->name; k++) {
        const void *at = (const char *)values + k->offset;
        if (!(k->types >> type & 1) || (!k->written && k->kind == PEFT_NONE)) continue;
        json_object_set_new(out, k->name,
                            k->kind == PEFT_FLAG     ? json_boolean(*(const bool *)at)
                            : k->kind == PEFT_WHOLE  ? json_integer(*(const int *)at)
                            : k->kind == PEFT_NUMBER ? peft_number(*(const double *)at)
                                                     : json_loads(k->written, JSON_DECODE_ANY, NULL));
    }
    return out;
}
