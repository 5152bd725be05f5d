/* adapter_config.json of PEFT: what is read of it, and what is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/exchange/pattern.h"
#include "core/exchange/peft.h"
#include "core/exchange/reading.h"

static const char *const type_names[PEFT_TYPES] = { [PEFT_LORA] = "LORA", [PEFT_IA3] = "IA3",
    [PEFT_PREFIX] = "PREFIX_TUNING",
    [PEFT_PROMPT] = "PROMPT_TUNING", [PEFT_P_TUNING] = "P_TUNING", [PEFT_MULTITASK] = "MULTITASK_PROMPT_TUNING",
    [PEFT_VERA] = "VERA", [PEFT_LN] = "LN_TUNING", [PEFT_ADALORA] = "ADALORA" };

const char *peft_type_name(enum peft_type t) { return type_names[t]; }

static const struct key_rule peft_config_common[] = {
    { "peft_type", NULL }, { "task_type", NULL }, { "base_model_name_or_path", NULL }, { "revision", NULL },
    { "inference_mode", NULL }, { "auto_mapping", NULL }, { "peft_version", NULL }, { "modules_to_save", NULL },
    { "target_modules", NULL }, { "exclude_modules", NULL }, { NULL, NULL },
};
static const struct key_rule peft_config_of_lora[] = {
    { "r", NULL }, { "lora_alpha", NULL }, { "lora_dropout", NULL }, { "bias", NULL }, { "use_rslora", NULL }, { "use_dora", NULL },
    { "rank_pattern", NULL }, { "alpha_pattern", NULL }, { "layers_to_transform", NULL }, { "layers_pattern", NULL },
    { "init_lora_weights", NULL }, { "megatron_core", "\"megatron.core\"" }, { "qalora_group_size", "16" },
    { NULL, NULL },
};
static const struct key_rule of_ia3[] = { { "feedforward_modules", NULL }, { "init_ia3_weights", NULL }, { NULL, NULL } };
/* Sizes that the tensors say, and how they came to be. */
static const struct key_rule of_prompt[] = {
    { "num_virtual_tokens", NULL }, { "token_dim", NULL }, { "num_layers", NULL }, { "num_attention_heads", NULL },
    { "num_transformer_submodules", NULL }, { "prompt_tuning_init", NULL }, { "prompt_tuning_init_text", NULL },
    { "prompt_tuning_init_state_dict_path", NULL }, { "prompt_tuning_init_task", NULL }, { "tokenizer_name_or_path", NULL },
    { "tokenizer_kwargs", NULL }, { "encoder_hidden_size", NULL }, { "encoder_num_layers", NULL }, { "encoder_dropout", NULL },
    { "encoder_reparameterization_type", NULL }, { "num_ranks", NULL }, { "num_tasks", NULL },
    { "prefix_projection", NULL }, { "init_weights", NULL }, { NULL, NULL },
};
static const struct key_rule of_vera[] = {
    { "r", NULL }, { "d_initial", NULL }, { "projection_prng_key", NULL }, { "save_projection", NULL }, { "vera_dropout", NULL },
    { "bias", NULL }, { "init_weights", NULL }, { "layers_to_transform", NULL }, { "layers_pattern", NULL }, { NULL, NULL },
};
static const struct key_rule of_adalora[] = {
    { "r", NULL }, { "lora_alpha", NULL }, { "lora_dropout", NULL }, { "bias", NULL }, { "rank_pattern", NULL },
    { "init_lora_weights", NULL },
    { "layers_to_transform", NULL }, { "layers_pattern", NULL }, { "megatron_core", "\"megatron.core\"" }, { "qalora_group_size", "16" },
    { "target_r", NULL }, { "init_r", NULL }, { "tinit", NULL }, { "tfinal", NULL }, { "deltaT", NULL }, { "beta1", NULL },
    { "beta2", NULL }, { "orth_reg_weight", NULL }, { "total_step", NULL }, { NULL, NULL },
};
static const struct key_rule of_norms[] = { { NULL, NULL } };
static const struct key_rule *const rules[PEFT_TYPES] = {
    [PEFT_LORA] = peft_config_of_lora, [PEFT_IA3] = of_ia3,
    [PEFT_PREFIX] = of_prompt, [PEFT_PROMPT] = of_prompt, [PEFT_P_TUNING] = of_prompt, [PEFT_MULTITASK] = of_prompt,
    [PEFT_VERA] = of_vera, [PEFT_LN] = of_norms, [PEFT_ADALORA] = of_adalora };

/* Starts that change the base's weights: without them the adapter's values mean nothing. */
static int peft_config_check_start(const struct peft *p, struct err *e) {
    static const char *const harmless[] = { "gaussian", "orthogonal", "eva" };
    const json_t *v = json_object_get(p->config, "init_lora_weights");
    if (!json_is_string(v)) return 0;
    for (size_t i = 0; i < COUNT_OF(harmless); i++)
        if (!strcmp(json_string_value(v), harmless[i])) return 0;
    return reading_refuse_key(p->path, "init_lora_weights", v, "such a start changes the base model's weights, which are not here", e);
}

static int find_type(struct peft *p, struct err *e) {
    const char *name = json_string_value(json_object_get(p->config, "peft_type"));
    for (int i = 0; name && i < PEFT_TYPES; i++)
        if (!strcmp(name, type_names[i])) {
            p->type = (enum peft_type)i;
            return 0;
        }
    struct buf known = BUF_INIT;
    for (int i = 0; i < PEFT_TYPES; i++) buf_printf(&known, "%s%s", i ? ", " : "", type_names[i]);
    int rc = err_set(e, ERR_INPUT, "%s: \"peft_type\" is %.60s; petri reads %s", p->path, name ? name : "not there",
                     buf_text(&known));
    buf_release(&known);
    return rc;
}

int peft_open(const char *folder, struct peft *out, struct err *e) {
    *out = (struct peft){ 0 };
    out->config = reading_config(folder, &out->path, &out->text, e);
    int rc = out->config ? find_type(out, e) : e->code;
    if (!rc) rc = reading_check_keys(out->path, out->config, peft_config_common, rules[out->type], e);
    if (!rc) rc = peft_config_check_start(out, e);
    if (rc) peft_close(out);
    return rc;
}

int peft_check_task(const struct peft *p, const struct arch *a, struct err *e) {
    static const struct {
        const char *name, *of_encoder, *of_decoder; /* why not; NULL: it is read */
    } task[] = {
        { "SEQ_CLS", NULL, "a classifier, where the model generates text" },
        { "SEQ_2_SEQ_LM", "for generating text, which the model does not", NULL },
        { "FEATURE_EXTRACTION", NULL, NULL },
        { "TOKEN_CLS", "its head labels each token, not a text", "its head labels each token, not a text" },
        { "QUESTION_ANS", "its head finds where an answer is in a text", "its head finds where an answer is in a text" },
        { "CAUSAL_LM", "for a language model without an encoder", "for a language model without an encoder" },
    };
    const json_t *v = json_object_get(p->config, "task_type"),
                 *class = json_object_get(json_object_get(p->config, "auto_mapping"), "base_model_class");
    const char *name = json_string_value(v), *why = "not a task type of PEFT";
    if (json_is_string(class) && arch_class_is_other(json_string_value(class)))
        return reading_refuse_key(p->path, "base_model_class", class, "its head does not label texts", e);
    if (!v || json_is_null(v)) return 0;
    for (size_t i = 0; name && i < COUNT_OF(task); i++)
        if (!strcmp(name, task[i].name)) why = arch_generates(a) ? task[i].of_decoder : task[i].of_encoder;
    return why ? reading_refuse_key(p->path, "task_type", v, why, e) : 0;
}

bool peft_is_for_vectors(const struct peft *p) {
    const char *name = json_string_value(json_object_get(p->config, "task_type"));
    return name && !strcmp(name, "FEATURE_EXTRACTION");
}

void peft_close(struct peft *p) {
    if (p->config) json_decref(p->config);
    free(p->path);
    free(p->text);
    *p = (struct peft){ 0 };
}

/* ---- ranks and scales ---- */

/* The value of the first key of a pattern object that the module's name matches, or NULL. */
static int pattern_value(const struct peft *p, const char *object, const char *module, const json_t **out, struct err *e) {
    const char *key;
    json_t *v;
    *out = NULL;
    json_object_foreach(json_object_get(p->config, object), key, v) {
        int hit = pattern_matches(key, PATTERN_END, module, e);
        if (hit < 0) return err_prefix(e, "%s: %s", p->path, object);
        if (!hit) continue;
        *out = v;
        return 0;
    }
    return 0;
}

int peft_scale(const struct peft *p, const char *module, int rank, double *out, struct err *e) {
    const json_t *alpha;
    int rc = pattern_value(p, "alpha_pattern", module, &alpha, e);
    if (rc) return rc;
    if (!alpha) alpha = json_object_get(p->config, "lora_alpha");
    if (alpha && !json_is_number(alpha)) return reading_refuse_key(p->path, "lora_alpha", alpha, "not a number", e);
    double a = alpha ? json_number_value(alpha) : 8;
    bool root = json_is_true(json_object_get(p->config, "use_rslora"));
    *out = root ? a / sqrt(rank) : a / rank;
    return isfinite(*out) ? 0 : err_set(e, ERR_INPUT, "%s: the scale of %s is not a finite number", p->path, module);
}

/* ---- the config beside the tensors ---- */

/* Whether a module's name is this, or ends in it behind a dot. */
static bool peft_config_is_named(const char *module, const char *target) {
    size_t n = strlen(module), k = strlen(target);
    return n >= k && !strcmp(module + n - k, target) && (n == k || module[n - k - 1] == '.');
}

static int in_targets(const struct peft *p, const char *module, bool *in, struct err *e) {
    const json_t *list = json_object_get(p->config, "target_modules"), *v;
    size_t i;
    *in = true;
    if (!list || json_is_null(list)) return 0;
    if (json_is_string(list)) {
        if (!strcmp(json_string_value(list), "all-linear")) return 0;
        int hit = pattern_matches(json_string_value(list), PATTERN_WHOLE, module, e);
        *in = hit > 0;
        return hit < 0 ? err_prefix(e, "%s: target_modules", p->path) : 0;
    }
    *in = false;
    json_array_foreach(list, i, v)
        if (json_is_string(v) && peft_config_is_named(module, json_string_value(v))) *in = true;
    return 0;
}

static bool has_target(const char *target, const char *const *module, size_t modules) {
    for (size_t i = 0; i < modules; i++)
        if (peft_config_is_named(module[i], target)) return true;
    return false;
}

int peft_compare(const struct peft *p, const char *const *module, const int *rank, size_t modules, struct notes *said,
                 struct err *e) {
    const json_t *list = json_object_get(p->config, "target_modules"), *v;
    size_t at;
    for (size_t i = 0; i < modules; i++) {
        const json_t *of = NULL;
        bool in;
        int rc = in_targets(p, module[i], &in, e);
        if (!rc && p->type == PEFT_LORA) rc = pattern_value(p, "rank_pattern", module[i], &of, e);
        if (rc) return rc;
        if (!of) of = json_object_get(p->config, "r");
        if (!in) notes_add(said, "target_modules does not name %s, which has tensors: they are used", module[i]);
        if (p->type == PEFT_LORA && json_is_integer(of) && json_integer_value(of) != rank[i])
            notes_add(said, "%s: the config's rank is %lld, its tensors' %d, which is used", module[i],
                      (long long)json_integer_value(of), rank[i]);
    }
    if (json_is_array(list))
        json_array_foreach(list, at, v)
            if (json_is_string(v) && !has_target(json_string_value(v), module, modules))
                notes_add(said, "target_modules names %s, for which there are no tensors", json_string_value(v));
    return 0;
}
