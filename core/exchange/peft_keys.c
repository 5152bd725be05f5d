/* The keys of adapter_config.json of PEFT, and what becomes of each. */
#include <stdlib.h>
#include <string.h>

#include "core/exchange/peft.h"
#include "core/exchange/reading.h"

#define OF(type) (1u << PEFT_##type)
enum {
    LOW = OF(LORA) | OF(ADALORA),
    PROMPTS = OF(PREFIX) | OF(PROMPT) | OF(P_TUNING) | OF(MULTITASK),
    MAPS = LOW | OF(IA3) | OF(VERA) | OF(LN),
    EVERY = MAPS | PROMPTS,
};

static const struct peft_key keys[] = {
    { "peft_type", EVERY, PEFT_FOLLOWED, NULL },
    { "task_type", EVERY, PEFT_FOLLOWED, NULL },
    { "auto_mapping", EVERY, PEFT_FOLLOWED, NULL },
    { "base_model_name_or_path", EVERY, PEFT_FOLLOWED, NULL },
    { "revision", EVERY, PEFT_UNUSED, NULL },
    { "inference_mode", EVERY, PEFT_UNUSED, NULL },
    { "peft_version", EVERY, PEFT_UNUSED, NULL },
    { "modules_to_save", EVERY, PEFT_IN_TENSORS, NULL },
    /* which maps */
    { "target_modules", MAPS, PEFT_FOLLOWED, NULL },
    { "exclude_modules", MAPS, PEFT_FOLLOWED, NULL },
    { "layers_to_transform", LOW | OF(VERA), PEFT_FOLLOWED, NULL },
    { "layers_pattern", LOW | OF(VERA), PEFT_FOLLOWED, NULL },
    { "target_parameters", LOW, PEFT_REFUSED, NULL },
    { "trainable_token_indices", LOW, PEFT_REFUSED, NULL },
    { "layer_replication", LOW, PEFT_REFUSED, NULL },
    { "alora_invocation_tokens", LOW, PEFT_REFUSED, NULL },
    { "feedforward_modules", OF(IA3), PEFT_IN_TENSORS, NULL },
    /* what is computed there */
    { "r", LOW | OF(VERA), PEFT_IN_TENSORS, NULL },
    { "rank_pattern", LOW, PEFT_IN_TENSORS, NULL },
    { "lora_alpha", LOW, PEFT_FOLLOWED, NULL },
    { "alpha_pattern", OF(LORA), PEFT_FOLLOWED, NULL },
    { "alpha_pattern", OF(ADALORA), PEFT_REFUSED, NULL },
    { "use_rslora", OF(LORA), PEFT_FOLLOWED, NULL },
    { "use_rslora", OF(ADALORA), PEFT_REFUSED, NULL },
    { "use_dora", OF(LORA), PEFT_FOLLOWED, NULL },
    { "use_dora", OF(ADALORA), PEFT_REFUSED, NULL },
    { "bias", LOW | OF(VERA), PEFT_IN_TENSORS, NULL },
    { "lora_bias", LOW, PEFT_REFUSED, NULL },
    { "fan_in_fan_out", LOW | OF(IA3) | OF(VERA), PEFT_REFUSED, NULL },
    { "ensure_weight_tying", LOW, PEFT_REFUSED, NULL },
    { "use_qalora", LOW, PEFT_REFUSED, NULL },
    { "qalora_group_size", LOW, PEFT_REFUSED, "16" },
    { "use_bdlora", LOW, PEFT_REFUSED, NULL },
    { "arrow_config", LOW, PEFT_REFUSED, NULL },
    { "kasa_config", LOW, PEFT_REFUSED, NULL },
    { "velora_config", LOW, PEFT_REFUSED, NULL },
    { "monteclora_config", LOW, PEFT_REFUSED, NULL },
    { "megatron_config", LOW, PEFT_REFUSED, NULL },
    { "megatron_core", LOW, PEFT_REFUSED, "\"megatron.core\"" },
    { "runtime_config", LOW, PEFT_REFUSED, "{\"ephemeral_gpu_offload\":false}" },
    { "projection_prng_key", OF(VERA), PEFT_FOLLOWED, NULL },
    { "save_projection", OF(VERA), PEFT_IN_TENSORS, NULL },
    /* starts: some change the base model's weights */
    { "init_lora_weights", LOW, PEFT_FOLLOWED, NULL },
    { "loftq_config", LOW, PEFT_REFUSED, NULL },
    { "eva_config", LOW, PEFT_REFUSED, NULL },
    { "corda_config", LOW, PEFT_REFUSED, NULL },
    { "lora_ga_config", LOW, PEFT_REFUSED, NULL },
    { "init_ia3_weights", OF(IA3), PEFT_UNUSED, NULL },
    { "d_initial", OF(VERA), PEFT_UNUSED, NULL },
    { "init_weights", OF(VERA) | PROMPTS, PEFT_UNUSED, NULL },
    { "prompt_tuning_init", PROMPTS, PEFT_UNUSED, NULL },
    { "prompt_tuning_init_text", PROMPTS, PEFT_UNUSED, NULL },
    { "prompt_tuning_init_state_dict_path", PROMPTS, PEFT_UNUSED, NULL },
    { "prompt_tuning_init_task", PROMPTS, PEFT_UNUSED, NULL },
    { "tokenizer_name_or_path", PROMPTS, PEFT_UNUSED, NULL },
    { "tokenizer_kwargs", PROMPTS, PEFT_UNUSED, NULL },
    /* training */
    { "lora_dropout", LOW, PEFT_FOLLOWED, NULL },
    { "vera_dropout", OF(VERA), PEFT_FOLLOWED, NULL },
    { "target_r", OF(ADALORA), PEFT_UNUSED, NULL },
    { "init_r", OF(ADALORA), PEFT_UNUSED, NULL },
    { "tinit", OF(ADALORA), PEFT_UNUSED, NULL },
    { "tfinal", OF(ADALORA), PEFT_UNUSED, NULL },
    { "deltaT", OF(ADALORA), PEFT_UNUSED, NULL },
    { "beta1", OF(ADALORA), PEFT_UNUSED, NULL },
    { "beta2", OF(ADALORA), PEFT_UNUSED, NULL },
    { "orth_reg_weight", OF(ADALORA), PEFT_UNUSED, NULL },
    { "total_step", OF(ADALORA), PEFT_UNUSED, NULL },
    /* rows of prompts, and the network behind them, which is not in the folder */
    { "num_virtual_tokens", PROMPTS, PEFT_FOLLOWED, NULL },
    { "prefix_projection", PROMPTS, PEFT_FOLLOWED, NULL },
    { "token_dim", PROMPTS, PEFT_IN_TENSORS, NULL },
    { "num_layers", PROMPTS, PEFT_IN_TENSORS, NULL },
    { "num_attention_heads", PROMPTS, PEFT_IN_TENSORS, NULL },
    { "num_transformer_submodules", PROMPTS, PEFT_IN_TENSORS, NULL },
    { "num_ranks", PROMPTS, PEFT_IN_TENSORS, NULL },
    { "num_tasks", PROMPTS, PEFT_IN_TENSORS, NULL },
    { "encoder_hidden_size", PROMPTS, PEFT_UNUSED, NULL },
    { "encoder_num_layers", PROMPTS, PEFT_UNUSED, NULL },
    { "encoder_dropout", PROMPTS, PEFT_UNUSED, NULL },
    { "encoder_reparameterization_type", PROMPTS, PEFT_UNUSED, NULL },
    { NULL, 0, PEFT_REFUSED, NULL },
};

const struct peft_key *peft_keys(void) { return keys; }

static const struct peft_key *find_key(enum peft_type type, const char *name) {
    for (const struct peft_key *k = keys; k->name; k++)
        if (k->types >> type & 1 && !strcmp(k->name, name)) return k;
    return NULL;
}

/* Switches that are read: Python takes 1 for true, which is not followed blindly. */
static bool is_switch(const char *name) {
    return !strcmp(name, "use_rslora") || !strcmp(name, "use_dora") || !strcmp(name, "prefix_projection");
}

int peft_check_keys(const struct peft *p, struct err *e) {
    const char *name;
    json_t *v;
    json_object_foreach(p->config, name, v) {
        const struct peft_key *k = find_key(p->type, name);
        if (reading_is_nothing(v)) continue;
        if (k && k->use == PEFT_FOLLOWED && is_switch(name) && !json_is_true(v))
            return reading_refuse_key(p->path, name, v, "neither true nor false", e);
        if (k && k->use != PEFT_REFUSED) continue;
        char *value = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        bool usual = k && k->usual && value && !strcmp(value, k->usual);
        free(value);
        if (!usual) return reading_refuse_key(p->path, name, v, "petri does not know how to compute that", e);
    }
    return 0;
}
