/* Reads adapter_config.json of PEFT and refuses unsupported settings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/pattern.h"
#include "core/exchange/peft.h"
#include "core/exchange/reading.h"

static const char *const type_names[PEFT_TYPES] = { [PEFT_LORA] = "LORA",
                                                    [PEFT_IA3] = "IA3",
                                                    [PEFT_PREFIX] = "PREFIX_TUNING",
                                                    [PEFT_PROMPT] = "PROMPT_TUNING",
                                                    [PEFT_P_TUNING] = "P_TUNING",
                                                    [PEFT_MULTITASK] = "MULTITASK_PROMPT_TUNING",
                                                    [PEFT_VERA] = "VERA",
                                                    [PEFT_LN] = "LN_TUNING",
                                                    [PEFT_ADALORA] = "ADALORA" };

const char *peft_type_name(enum peft_type t) { return type_names[t]; }

/* Initializations that change the base weights; the adapter is useless without them. */
static int check_start(const struct peft *p, struct err *e) {
    static const char *const harmless[] = { "gaussian", "orthogonal", "eva" };
    const json_t *v = json_object_get(p->config, "init_lora_weights");
    if (!json_is_string(v)) return 0;
    for (size_t i = 0; i < COUNT_OF(harmless); i++)
        if (!strcmp(json_string_value(v), harmless[i])) return 0;
    return reading_refuse_key(p->path, "init_lora_weights", v,
                              "this initialization changes the weights of the base model, and the changed "
                              "weights are not in the folder", e);
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
    int rc = name ? err_set(e, ERR_INPUT, "%s: unsupported \"peft_type\": \"%.60s\"; supported: %s", p->path,
                            name, buf_text(&known))
                  : err_set(e, ERR_INPUT, "%s: \"peft_type\" is missing; must be one of %s", p->path,
                            buf_text(&known));
    buf_release(&known);
    return rc;
}

int peft_open(const char *folder, struct peft *out, struct err *e) {
    *out = (struct peft){ 0 };
    out->config = reading_config(folder, ADAPTER_CONFIG, &out->path, &out->text, e);
    int rc = out->config ? find_type(out, e) : e->code;
    if (!rc) rc = peft_check_keys(out, e);
    if (!rc) rc = peft_read_values(out, e);
    if (!rc) rc = check_start(out, e);
    if (rc) peft_close(out);
    return rc;
}

int peft_check_task(const struct peft *p, const struct arch *a, struct err *e) {
    enum { ENCODER, BOTH, CAUSAL, KINDS }; /* the stacks of the base model */
    static const char not_causal[] = "the adapter is for a decoder-only model, but the base model has an "
                                     "encoder",
                      tokens[] = "token classification is not supported",
                      spans[] = "extractive question answering is not supported",
                      two[] = "the adapter is for an encoder\u2013decoder model, but the base model is not one";
    static const struct {
        const char *name, *of[KINDS]; /* the reason, or NULL: supported */
    } task[] = {
        { "SEQ_CLS", { [BOTH] = "the adapter is for classification, but the base model generates text" } },
        { "SEQ_2_SEQ_LM", { [ENCODER] = two, [CAUSAL] = two } },
        { "FEATURE_EXTRACTION", { NULL } },
        { "TOKEN_CLS", { tokens, tokens, tokens } },
        { "QUESTION_ANS", { spans, spans, spans } },
        { "CAUSAL_LM", { [ENCODER] = not_causal, [BOTH] = not_causal } },
    };
    const int kind = arch_generates(a) ? BOTH : a->causal ? CAUSAL : ENCODER;
    const json_t *v = json_object_get(p->config, "task_type"),
                 *class = json_object_get(json_object_get(p->config, "auto_mapping"), "base_model_class");
    const char *name = json_string_value(v), *why = "not a task type of PEFT";
    if (json_is_string(class) && arch_class_is_other(json_string_value(class)))
        return reading_refuse_key(p->path, "base_model_class", class, "only sequence classification heads "
                                                                      "are supported", e);
    if (!v || json_is_null(v)) return 0;
    for (size_t i = 0; name && i < COUNT_OF(task); i++)
        if (!strcmp(name, task[i].name)) why = task[i].of[kind];
    return why ? reading_refuse_key(p->path, "task_type", v, why, e) : 0;
}

bool peft_is_for_vectors(const struct peft *p) {
    const char *name = json_string_value(json_object_get(p->config, "task_type"));
    return name && !strcmp(name, "FEATURE_EXTRACTION");
}

bool peft_is_for_language(const struct peft *p, const struct model *m) {
    const char *name = json_string_value(json_object_get(p->config, "task_type"));
    if (!m->arch.causal) return false;
    return name ? !strcmp(name, "CAUSAL_LM") : text_ends(m->arch.architecture, "CausalLM");
}

void peft_close(struct peft *p) {
    json_decref(p->config);
    free(p->path);
    free(p->text);
    *p = (struct peft){ 0 };
}

/* ---- ranks and scales ---- */

/* Returns the value of the first key of a pattern dictionary that matches the module's name, or NULL. */
static int pattern_value(const struct peft *p, const char *object, const char *module, const json_t **out,
                         struct err *e) {
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
    const json_t *own;
    int rc = pattern_value(p, "alpha_pattern", module, &own, e);
    if (rc) return rc;
    if (own && !json_is_number(own))
        return reading_refuse_key(p->path, "alpha_pattern", own, "must be a number", e);
    double alpha = own ? json_number_value(own) : p->values.alpha;
    if (p->type == PEFT_ADALORA && alpha <= 0) alpha = rank;
    *out = alpha / peft_over(p->type, rank, p->values.root);
    return isfinite(*out)
               ? 0
               : err_set(e, ERR_INPUT, "%s: the scale of %s is NaN or infinite", p->path, module);
}

/* ---- the config compared with the tensors ---- */

/* Returns whether a module's name equals this one, or ends with it after a dot. */
static bool is_named(const char *module, const char *target) {
    size_t n = strlen(module), k = strlen(target);
    return n >= k && !strcmp(module + n - k, target) && (n == k || module[n - k - 1] == '.');
}

/* Returns whether a value selects the module: a pattern for its whole name, or a list of names or suffixes.
 * *exact: it is listed in full. */
static int names_module(const struct peft *p, const char *key, const char *module, bool *named, bool *exact,
                        struct err *e) {
    const json_t *list = json_object_get(p->config, key), *v;
    size_t i;
    *named = *exact = false;
    if (json_is_string(list)) {
        int hit = pattern_matches(json_string_value(list), PATTERN_WHOLE, module, e);
        *named = *exact = hit > 0;
        return hit < 0 ? err_prefix(e, "%s: %s", p->path, key) : 0;
    }
    json_array_foreach(list, i, v) {
        if (!json_is_string(v) || !is_named(module, json_string_value(v))) continue;
        *named = true;
        *exact = *exact || !strcmp(module, json_string_value(v));
    }
    return 0;
}

/* Returns the layer index of a module: the first numeric component of its name, after a component that
 * matches `pattern` (NULL: any), and not last; -1: none. */
static int layer_of(const struct peft *p, const char *module, const char *pattern, int64_t *layer,
                    struct err *e) {
    const char *before = module;
    *layer = -1;
    for (const char *at; (at = strchr(before, '.')); before = at + 1) {
        const char *end = strchr(at + 1, '.');
        if (!end) return 0;
        char *number = xstrndup(at + 1, (size_t)(end - at - 1)),
             *part = xstrndup(before, (size_t)(at - before));
        bool digits = *number && strspn(number, "0123456789") == strlen(number) && text_to_int(number, layer);
        int hit = !digits ? 0 : pattern ? pattern_matches(pattern, PATTERN_WHOLE, part, e) : before > module;
        free(number);
        free(part);
        if (hit < 0) return err_prefix(e, "%s: layers_pattern", p->path);
        if (hit) return 0;
        *layer = -1;
    }
    return 0;
}

static int in_layers(const struct peft *p, const char *module, bool *in, struct err *e) {
    const json_t *layers = json_object_get(p->config, "layers_to_transform"),
                 *pattern = json_object_get(p->config, "layers_pattern"), *v;
    int64_t layer = -1;
    size_t i, patterns = json_is_array(pattern) ? json_array_size(pattern) : 0;
    int rc = 0;
    *in = true;
    if (json_is_null(layers) || !layers || (json_is_array(layers) && !json_array_size(layers))) return 0;
    if (json_is_string(pattern) && *json_string_value(pattern))
        rc = layer_of(p, module, json_string_value(pattern), &layer, e);
    else if (!patterns) rc = layer_of(p, module, NULL, &layer, e);
    for (i = 0; i < patterns && !rc && layer < 0; i++) {
        v = json_array_get(pattern, i);
        if (json_is_string(v)) rc = layer_of(p, module, json_string_value(v), &layer, e);
    }
    *in = layer >= 0 && json_is_integer(layers) && json_integer_value(layers) == layer;
    json_array_foreach(layers, i,
                       v) *in = *in || (layer >= 0 && json_is_integer(v) && json_integer_value(v) == layer);
    return rc;
}

/* Returns the key by which PEFT excludes a module, or NULL. */
static int left_out(const struct peft *p, const char *module, const char **by, struct err *e) {
    const json_t *targets = json_object_get(p->config, "target_modules");
    bool named, exact, in = true;
    *by = NULL;
    if (names_module(p, "exclude_modules", module, &named, &exact, e)) return e->code;
    if (named) {
        *by = "exclude_modules";
        return 0;
    }
    if (reading_is_nothing(targets) ||
        (json_is_string(targets) && !strcmp(json_string_value(targets), "all-linear")))
        return 0;
    if (names_module(p, "target_modules", module, &named, &exact, e)) return e->code;
    if (!named) *by = "target_modules";
    else if (!exact && in_layers(p, module, &in, e)) return e->code;
    if (!in) *by = "layers_to_transform";
    return 0;
}

static int refuse_left_out(const struct peft *p, const char *key, const char *module, struct err *e) {
    char *why = xprintf("excludes %s, but the file has tensors for it, which PEFT does not load", module);
    int rc = reading_refuse_key(p->path, key, json_object_get(p->config, key), why, e);
    free(why);
    return rc;
}

static bool has_target(const char *target, const char *const *module, size_t modules) {
    for (size_t i = 0; i < modules; i++)
        if (is_named(module[i], target)) return true;
    return false;
}

int peft_compare(const struct peft *p, const char *const *module, const int *rank, size_t modules,
                 struct notes *said, struct err *e) {
    const json_t *list = json_object_get(p->config, "target_modules"), *v;
    size_t at;
    for (size_t i = 0; i < modules; i++) {
        const json_t *of = NULL;
        const char *by;
        int rc = left_out(p, module[i], &by, e);
        if (!rc && by) rc = refuse_left_out(p, by, module[i], e);
        if (!rc && p->type == PEFT_LORA) rc = pattern_value(p, "rank_pattern", module[i], &of, e);
        if (rc) return rc;
        if (!of) of = json_object_get(p->config, "r");
        if (p->type == PEFT_LORA && json_is_integer(of) && json_integer_value(of) != rank[i])
            notes_add(said, "%s: the rank is %lld in the config and %d in the tensors; that of the tensors "
                            "is used", module[i],
                      (long long)json_integer_value(of), rank[i]);
    }
    if (json_is_array(list))
        json_array_foreach(list, at,
                           v) if (json_is_string(v) && !has_target(json_string_value(v), module, modules))
            notes_add(said, "target_modules contains %s, which has no tensors", json_string_value(v));
    return 0;
}

int peft_takes(const struct model *m, struct err *e) {
    if (m->arch.family != FAMILY_GPT2) return 0;
    return err_set(e, ERR_USAGE,
                   "PEFT adapters of GPT-2 are not supported: PEFT adapts queries, keys and values as one linear layer (c_attn)");
}
