/* adapter_config.json of AdapterHub: what is read of it, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub.h"

static const struct key_rule hub_config_common[] = {
    { "architecture", NULL }, { "leave_out", NULL }, { "init_weights", NULL }, { "init_weights_seed", NULL },
    { "dropout", NULL }, { "use_gating", NULL }, { NULL, NULL },
};
static const struct key_rule of_bottleneck[] = {
    { "mh_adapter", NULL }, { "output_adapter", NULL }, { "cross_adapter", NULL }, { "reduction_factor", NULL },
    { "non_linearity", NULL }, { "original_ln_before", NULL }, { "original_ln_after", NULL }, { "residual_before_ln", NULL },
    { "ln_before", NULL }, { "ln_after", NULL }, { "adapter_residual_before_ln", NULL },
    { "is_parallel", NULL }, { "scaling", NULL }, { "stochastic_depth", NULL },
    { "phm_layer", NULL }, /* without it those that follow are without effect */
    { "factorized_phm_W", NULL }, { "factorized_phm_rule", NULL }, { "hypercomplex_nonlinearity", NULL },
    { "learn_phm", NULL }, { "phm_bias", NULL }, { "phm_c_init", NULL }, { "phm_dim", NULL }, { "phm_init_range", NULL },
    { "phm_rank", NULL }, { "shared_W_phm", NULL }, { "shared_phm_rule", NULL },
    /* that has tensors of its own, which are refused */
    { "inv_adapter", NULL }, { "inv_adapter_reduction_factor", NULL }, { "invertible_adapter", NULL }, { NULL, NULL },
};
static const struct key_rule hub_config_of_lora[] = {
    { "r", NULL }, { "alpha", NULL }, { "attn_matrices", NULL }, { "selfattn_lora", NULL }, { "intermediate_lora", NULL },
    { "output_lora", NULL }, { "composition_mode", NULL }, { "dtype", NULL }, { "use_dora", NULL },
    { "vera_d", NULL }, { "vera_b", NULL }, { NULL, NULL },
};
static const struct key_rule of_prefix[] = {
    { "prefix_length", NULL }, { "bottleneck_size", NULL }, { "flat", NULL }, { "non_linearity", NULL },
    { "encoder_prefix", NULL }, { "cross_prefix", NULL }, { "shared_gating", NULL }, { NULL, NULL },
};

static const struct key_rule hub_config_of_prompt[] = {
    { "prompt_length", NULL }, { "prompt_init", NULL }, { "prompt_init_text", NULL }, { "random_uniform_scale", NULL },
    { "combine", NULL }, { NULL, NULL },
};

static bool is_on(const json_t *c, const char *key) { return json_is_true(json_object_get(c, key)); }

static int hub_config_take_config(struct hub *h, const json_t *c, struct err *e) {
    const json_t *of = json_object_get(c, "architecture");
    const char *name = json_string_value(of);
    const struct key_rule *rules = NULL;
    const json_t **to = NULL;
    if (!json_is_object(c)) return reading_refuse_key(h->path, "config", c, "not an object: older libraries name one here", e);
    if (!of || json_is_null(of)) rules = of_bottleneck, to = &h->bottleneck;
    else if (name && !strcmp(name, "lora")) rules = hub_config_of_lora, to = &h->lora;
    else if (name && !strcmp(name, "prefix_tuning")) rules = of_prefix, to = &h->prefix;
    else if (name && !strcmp(name, "prompt_tuning")) rules = hub_config_of_prompt, to = &h->prompt;
    if (!rules)
        return reading_refuse_key(h->path, "architecture", of,
                                  "petri reads bottlenecks, lora, prefix_tuning, prompt_tuning and their union", e);
    if (*to) return reading_refuse_key(h->path, "configs", of, "a union of two of one kind", e);
    *to = c;
    return reading_check_keys(h->path, c, hub_config_common, rules, e);
}

static int take_configs(struct hub *h, struct err *e) {
    const json_t *c = json_object_get(h->config, "config"), *list = json_object_get(c, "configs"), *v;
    const char *name = json_string_value(json_object_get(c, "architecture"));
    size_t i;
    if (!name || strcmp(name, "union")) return hub_config_take_config(h, c, e);
    if (!json_is_array(list) || json_array_size(list) > HUB_PARTS)
        return err_set(e, ERR_INPUT, "%s: \"configs\" is no list of configs", h->path);
    json_array_foreach(list, i, v) {
        int rc = hub_config_take_config(h, v, e);
        if (rc) return rc;
    }
    return 0;
}

int hub_open(const char *folder, struct hub *out, struct err *e) {
    *out = (struct hub){ .version = "" };
    out->config = reading_config(folder, &out->path, &out->text, e);
    int rc = out->config ? 0 : e->code;
    if (!rc && (!json_get_string(out->config, out->path, "name", &out->name, e) || !*out->name))
        rc = err_set(e, ERR_INPUT, "%s: \"name\" is not there", out->path);
    if (!rc && !json_get_string(out->config, out->path, "version", &out->version, e)) rc = e->code;
    if (!rc) rc = take_configs(out, e);
    if (rc) hub_close(out);
    return rc;
}

void hub_close(struct hub *h) {
    if (h->config) json_decref(h->config);
    free(h->path);
    free(h->text);
    *h = (struct hub){ 0 };
}

/* ---- what it says of modules ---- */

/* Without a version "gelu" was another curve than today's. */
int hub_activation(const struct hub *h, const char *name, enum act *out) {
    static const struct {
        const char *name;
        enum act act;
    } known[] = { { "relu", ACT_RELU }, { "gelu", ACT_GELU }, { "gelu_orig", ACT_GELU }, { "gelu_new", ACT_GELU_TANH },
                  { "swish", ACT_SILU }, { "silu", ACT_SILU }, { "tanh", ACT_TANH }, { "sigmoid", ACT_SIGMOID },
                  { "gelu_python", ACT_GELU }, { "gelu_pytorch_tanh", ACT_GELU_TANH }, { "gelu_python_tanh", ACT_GELU_TANH },
                  { "gelu_fast", ACT_GELU_TANH } };
    for (size_t i = 0; name && i < COUNT_OF(known); i++) {
        if (strcmp(known[i].name, name)) continue;
        *out = known[i].act == ACT_GELU && !*h->version && !strcmp(name, "gelu") ? ACT_GELU_TANH : known[i].act;
        return 0;
    }
    return -1;
}

/* What a sequential adapter reads and is added to. */
static int take_order(const struct hub *h, const json_t *c, const struct arch *a, struct module *out, struct err *e) {
    const json_t *residual = json_object_get(c, "residual_before_ln");
    bool attention = out->write == TAP_A_OUT, before = is_on(c, "original_ln_before");
    if (before) out->read = attention ? TAP_A_NORM : TAP_F_NORM;
    if (json_is_false(residual)) out->residual = RESIDUAL_READ;
    if (!json_is_string(residual)) return 0;
    if (strcmp(json_string_value(residual), "post_add") || !before || a->pre_norm)
        return reading_refuse_key(h->path, "residual_before_ln", residual, "the library has post_add where it reads behind a norm", e);
    out->residual = RESIDUAL_STREAM;
    return 0;
}

/* Norms of its own. */
static void hub_config_take_norms(const json_t *c, struct module *out) {
    out->norm_before = is_on(c, "ln_before");
    if (is_on(c, "ln_after")) out->norm = is_on(c, "adapter_residual_before_ln") && !is_on(c, "is_parallel") ? NORM_SUM : NORM_SCALED;
    const json_t *after = json_object_get(c, "original_ln_after");
    if (after && !json_is_true(after)) out->ending = END_BARE;
}

/* Maps of Kronecker products. */
static int take_products(const struct hub *h, const json_t *c, struct module *out, struct err *e) {
    json_int_t n = 4, k = 1;
    if (!is_on(c, "phm_layer")) return 0;
    if (!json_get_int(c, h->path, "phm_dim", &n, e) && e->code) return e->code;
    if (!json_get_int(c, h->path, "phm_rank", &k, e) && e->code) return e->code;
    if (n < 1 || n > 1 << 10 || k < 1 || k > 1 << 10)
        return reading_refuse_key(h->path, "phm_dim", json_object_get(c, "phm_dim"), "no size of Kronecker products", e);
    const json_t *factors = json_object_get(c, "factorized_phm_W"), *rule = json_object_get(c, "shared_phm_rule"),
                 *bias = json_object_get(c, "phm_bias");
    out->source = SOURCE_KRONECKER;
    out->mid = (int)n;
    out->factor = json_is_false(factors) ? 0 : (int)k;
    out->own_rule = json_is_false(rule);
    out->biases = !json_is_false(bias);
    if (hub_shares_factors(c) && !out->biases)
        return reading_refuse_key(h->path, "phm_bias", bias, "with shared_W_phm no tensor says where such adapters are", e);
    return 0;
}

static bool learns_scale(const json_t *c) { return json_is_string(json_object_get(c, "scaling")); }

static bool scales_channels(const json_t *c) {
    return learns_scale(c) && !strcmp(json_string_value(json_object_get(c, "scaling")), "channel");
}

bool hub_scale_is_folded(const json_t *c) {
    return learns_scale(c) && (is_on(c, "use_gating") || (scales_channels(c) && is_on(c, "ln_after")));
}

bool hub_shares_factors(const json_t *c) { return is_on(c, "phm_layer") && is_on(c, "shared_W_phm"); }

bool hub_factors_rule(const json_t *c) { return is_on(c, "phm_layer") && is_on(c, "factorized_phm_rule"); }

static enum comp hub_config_comp(const json_t *c, double s) {
    if (is_on(c, "use_gating")) return COMP_GATE;
    if (!learns_scale(c) || hub_scale_is_folded(c)) return s == 1 ? COMP_ADD : COMP_SCALED;
    return scales_channels(c) ? COMP_CHANNEL : COMP_LEARNED;
}

int hub_bottleneck(const struct hub *h, const struct arch *a, bool attention, struct module *out, struct err *e) {
    const json_t *c = h->bottleneck, *scaling = json_object_get(c, "scaling");
    const char *learned = json_string_value(scaling);
    bool parallel = is_on(c, "is_parallel");
    *out = module_default(FN_BOTTLENECK);
    if (hub_activation(h, json_string_value(json_object_get(c, "non_linearity")), &out->act))
        return reading_refuse_key(h->path, "non_linearity", json_object_get(c, "non_linearity"), "petri has no such activation", e);
    if (scaling && !json_is_number(scaling) && (!learned || (strcmp(learned, "learned") && !scales_channels(c))))
        return reading_refuse_key(h->path, "scaling", scaling, "petri scales by a number, given or learned, or by one of each channel", e);
    out->write = attention ? TAP_A_OUT : TAP_F_OUT;
    out->read = out->write;
    /* the stream before the sublayer, which a post-norm block reads as it is */
    if (parallel && attention) out->read = a->pre_norm ? TAP_A_RES : TAP_A_IN;
    else if (parallel) out->read = a->pre_norm ? TAP_F_RES : TAP_F_IN;
    else if (take_order(h, c, a, out, e)) return e->code;
    hub_config_take_norms(c, out);
    if (take_products(h, c, out, e)) return e->code;
    if (hub_scale_is_folded(c) && out->source == SOURCE_KRONECKER)
        return reading_refuse_key(h->path, "scaling", scaling, "petri learns no scale of Kronecker products beside a gate, nor one of "
                                  "channels below a norm", e);
    out->scale = json_is_number(scaling) ? json_number_value(scaling) : 1;
    out->comp = hub_config_comp(c, out->scale);
    return 0;
}

/* Whether the library is one that trained LoRA without its scale. */
static bool is_unscaled(const char *version) {
    int64_t major = 0, minor = 0;
    if (!text_starts(version, "adapters.")) return false;
    version += strlen("adapters.");
    size_t n = strcspn(version, ".");
    const char *rest = version[n] ? version + n + 1 : "";
    char *first = xstrndup(version, n), *second = xstrndup(rest, strcspn(rest, "."));
    bool read = text_to_int(first, &major) && text_to_int(second, &minor);
    free(first);
    free(second);
    return read && (major < 1 || (major == 1 && minor < 1));
}

int hub_lora_scale(const struct hub *h, int rank, struct notes *assumed, double *out, struct err *e) {
    double a = 8;
    if (!json_get_double(h->lora, h->path, "alpha", &a, e) && e->code) return e->code;
    *out = a / rank;
    if (!is_unscaled(h->version) || a == rank) return 0;
    if (!assumed->count) notes_add(assumed, "%s trained LoRA without its scale: \u03b1 is taken as r", h->version);
    *out = 1;
    return 0;
}
