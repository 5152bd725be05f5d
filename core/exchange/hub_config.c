/* Reads adapter_config.json of AdapterHub and refuses unsupported settings. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub.h"

/* Known config kinds by architecture, with their keys and defaults. */
static const struct {
    const char *architecture, *usual;
    size_t offset; /* in struct hub */
} kinds[] = {
    { "",
      "{\"adapter_residual_before_ln\":false,\"cross_adapter\":false,\"dropout\":0.0,"
      "\"factorized_phm_W\":true,\"factorized_phm_rule\":false,"
      "\"hypercomplex_nonlinearity\":\"glorot-uniform\",\"init_weights\":\"bert\","
      "\"init_weights_seed\":null,\"inv_adapter\":null,\"inv_adapter_reduction_factor\":null,"
      "\"is_parallel\":false,\"learn_phm\":true,\"leave_out\":[],\"ln_after\":false,\"ln_before\":false,"
      "\"mh_adapter\":false,\"non_linearity\":\"relu\",\"original_ln_after\":true,"
      "\"original_ln_before\":true,\"output_adapter\":true,\"phm_bias\":true,\"phm_c_init\":\"normal\","
      "\"phm_dim\":4,\"phm_init_range\":0.0001,\"phm_layer\":false,\"phm_rank\":1,"
      "\"reduction_factor\":16,\"residual_before_ln\":true,\"scaling\":1.0,\"shared_W_phm\":false,"
      "\"shared_phm_rule\":true,\"stochastic_depth\":0.0,\"use_gating\":false}",
      offsetof(struct hub, bottleneck) },
    { "lora",
      "{\"alpha\":8,\"architecture\":\"lora\",\"attn_matrices\":[\"q\",\"v\"],"
      "\"composition_mode\":\"add\",\"dropout\":0.0,\"dtype\":null,\"init_weights\":\"lora\","
      "\"init_weights_seed\":null,\"intermediate_lora\":false,\"leave_out\":[],\"output_lora\":false,"
      "\"r\":8,\"selfattn_lora\":true,\"use_dora\":false,\"use_gating\":false,\"vera_b\":null,"
      "\"vera_d\":null}",
      offsetof(struct hub, lora) },
    { "prefix_tuning",
      "{\"architecture\":\"prefix_tuning\",\"bottleneck_size\":512,\"cross_prefix\":true,\"dropout\":0.0,"
      "\"encoder_prefix\":true,\"flat\":true,\"init_weights_seed\":null,\"leave_out\":[],"
      "\"non_linearity\":\"tanh\",\"prefix_length\":30,\"shared_gating\":true,\"use_gating\":false}",
      offsetof(struct hub, prefix) },
    { "prompt_tuning",
      "{\"architecture\":\"prompt_tuning\",\"combine\":\"prefix\",\"init_weights_seed\":null,"
      "\"prompt_init\":\"random_uniform\",\"prompt_init_text\":null,\"prompt_length\":10}",
      offsetof(struct hub, prompt) },
};

/* Further keys that are read for all kinds, or that do not affect the computation. */
static const char *const read_too[] = { "architecture",
                                        "leave_out",
                                        "init_weights",
                                        "init_weights_seed",
                                        "dropout",
                                        "use_gating",
                                        "invertible_adapter",
                                        "random_uniform_scale",
                                        NULL };

json_t *hub_defaults(const char *architecture, json_t *own) {
    size_t i = 0;
    while (strcmp(kinds[i].architecture, architecture)) i++;
    json_t *c = json_loads(kinds[i].usual, 0, NULL);
    BUG_IF(!c || !own || json_object_update_new(c, own));
    return c;
}

static bool is_on(const json_t *c, const char *key) { return json_is_true(json_object_get(c, key)); }

static int take_config(struct hub *h, const json_t *c, struct err *e) {
    const json_t *of = json_object_get(c, "architecture");
    const char *name = !of || json_is_null(of) ? "" : json_string_value(of);
    size_t i = 0;
    if (!json_is_object(c))
        return reading_refuse_key(h->path, "config", c, "must be an object; names of configs, which older "
                                                        "versions of adapter-transformers wrote, are not "
                                                        "supported", e);
    while (i < COUNT_OF(kinds) && (!name || strcmp(kinds[i].architecture, name))) i++;
    if (i == COUNT_OF(kinds))
        return reading_refuse_key(
            h->path, "architecture", of,
            "not supported; supported: bottlenecks (null), lora, prefix_tuning, prompt_tuning and unions "
            "of them",
            e);
    const json_t **to = (const json_t **)(void *)((char *)h + kinds[i].offset);
    if (*to) return reading_refuse_key(h->path, "configs", of, "a union with two configs of one "
                                                               "architecture is not supported", e);
    *to = c;
    return reading_check_keys(h->path, c, kinds[i].usual, read_too, e);
}

static int take_configs(struct hub *h, struct err *e) {
    const json_t *c = json_object_get(h->config, "config"), *list = json_object_get(c, "configs"), *v;
    const char *name = json_string_value(json_object_get(c, "architecture"));
    size_t i;
    if (!name || strcmp(name, "union")) return take_config(h, c, e);
    if (!json_is_array(list) || json_array_size(list) > HUB_PARTS)
        return err_set(e, ERR_INPUT, "%s: \"configs\" must be a list of configs", h->path);
    json_array_foreach(list, i, v) {
        int rc = take_config(h, v, e);
        if (rc) return rc;
    }
    return 0;
}

int hub_takes(const struct model *m, struct err *e) {
    if (!m->arch.causal) return 0;
    return err_set(e, ERR_USAGE,
                   "adapters of decoder-only models are not exchanged with AdapterHub; PEFT folders are "
                   "supported");
}

int hub_open(const char *folder, struct hub *out, struct err *e) {
    *out = (struct hub){ .version = "" };
    out->config = reading_config(folder, ADAPTER_CONFIG, &out->path, &out->text, e);
    int rc = out->config ? 0 : e->code;
    if (!rc && (!json_get_string(out->config, out->path, "name", &out->name, e) || !*out->name))
        rc = err_set(e, ERR_INPUT, "%s: missing \"name\"", out->path);
    if (!rc && !json_get_string(out->config, out->path, "version", &out->version, e)) rc = e->code;
    if (!rc) rc = take_configs(out, e);
    if (rc) hub_close(out);
    return rc;
}

void hub_close(struct hub *h) {
    json_decref(h->config);
    free(h->path);
    free(h->text);
    *h = (struct hub){ 0 };
}

/* ---- module settings ---- */

/* The first name of an activation is the one written. */
static const struct {
    const char *name;
    enum act act;
} acts[] = { { "relu", ACT_RELU },
             { "gelu", ACT_GELU },
             { "gelu_orig", ACT_GELU },
             { "gelu_new", ACT_GELU_TANH },
             { "swish", ACT_SILU },
             { "silu", ACT_SILU },
             { "tanh", ACT_TANH },
             { "sigmoid", ACT_SIGMOID },
             { "gelu_python", ACT_GELU },
             { "gelu_pytorch_tanh", ACT_GELU_TANH },
             { "gelu_python_tanh", ACT_GELU_TANH },
             { "gelu_fast", ACT_GELU_TANH } };

const char hub_no_activation[] = "not supported; supported: relu, gelu, gelu_new, silu, tanh and sigmoid";

/* Without a version, "gelu" was a different function. */
int hub_activation(const struct hub *h, const char *name, enum act *out) {
    for (size_t i = 0; name && i < COUNT_OF(acts); i++) {
        if (strcmp(acts[i].name, name)) continue;
        *out = !*h->version && !strcmp(name, "gelu") ? ACT_GELU_TANH : acts[i].act;
        return 0;
    }
    return -1;
}

const char *hub_activation_name(enum act act) {
    size_t i = 0;
    while (i < COUNT_OF(acts) && acts[i].act != act) i++;
    return i < COUNT_OF(acts) ? acts[i].name : NULL;
}

/* Where a sequential adapter reads and writes. */
static int take_order(const struct hub *h, const json_t *c, const struct arch *a, struct module *out,
                      struct err *e) {
    const json_t *residual = json_object_get(c, "residual_before_ln");
    bool attention = out->write == TAP_A_OUT, before = is_on(c, "original_ln_before");
    if (before) out->read = attention ? TAP_A_NORM : TAP_F_NORM;
    if (json_is_false(residual)) out->residual = RESIDUAL_READ;
    if (!json_is_string(residual)) return 0;
    if (strcmp(json_string_value(residual), "post_add") || !before || a->pre_norm)
        return reading_refuse_key(h->path, "residual_before_ln", residual,
                                  "must be true or false, or post_add with original_ln_before on a "
                                  "post-norm model", e);
    out->residual = RESIDUAL_STREAM;
    return 0;
}

/* Adapters with their own layer norms. */
static void take_norms(const json_t *c, struct module *out) {
    out->norm_before = is_on(c, "ln_before");
    if (is_on(c, "ln_after"))
        out->norm = is_on(c, "adapter_residual_before_ln") && !is_on(c, "is_parallel") ? NORM_SUM
                                                                                       : NORM_SCALED;
    const json_t *after = json_object_get(c, "original_ln_after");
    if (after && !json_is_true(after)) out->ending = END_BARE;
}

/* Kronecker products. */
static int take_products(const struct hub *h, const json_t *c, struct module *out, struct err *e) {
    json_int_t n = 4, k = 1;
    if (!is_on(c, "phm_layer")) return 0;
    if (!json_get_int(c, h->path, "phm_dim", &n, e) && e->code) return e->code;
    if (!json_get_int(c, h->path, "phm_rank", &k, e) && e->code) return e->code;
    if (n < 1 || n > 1 << 10 || k < 1 || k > 1 << 10)
        return reading_refuse_key(h->path, "phm_dim", json_object_get(c, "phm_dim"),
                                  "phm_dim and phm_rank must be between 1 and 1024", e);
    const json_t *factors = json_object_get(c, "factorized_phm_W"),
                 *rule = json_object_get(c, "shared_phm_rule"), *bias = json_object_get(c, "phm_bias");
    out->source = SOURCE_KRONECKER;
    out->mid = (int)n;
    out->factor = json_is_false(factors) ? 0 : (int)k;
    out->own_rule = json_is_false(rule);
    out->biases = !json_is_false(bias);
    if (hub_shares_factors(c) && !out->biases)
        return reading_refuse_key(h->path, "phm_bias", bias,
                                  "with shared_W_phm, petri needs the biases to locate the adapters", e);
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

int hub_bottleneck(const struct hub *h, const struct arch *a, bool attention, struct module *out,
                   struct err *e) {
    const json_t *c = h->bottleneck, *scaling = json_object_get(c, "scaling");
    const char *learned = json_string_value(scaling);
    bool parallel = is_on(c, "is_parallel");
    *out = module_default(FN_BOTTLENECK);
    if (hub_activation(h, json_string_value(json_object_get(c, "non_linearity")), &out->act))
        return reading_refuse_key(h->path, "non_linearity", json_object_get(c, "non_linearity"),
                                  hub_no_activation, e);
    if (scaling && !json_is_number(scaling) &&
        (!learned || (strcmp(learned, "learned") && !scales_channels(c))))
        return reading_refuse_key(h->path, "scaling", scaling,
                                  "must be a number, \"learned\" or \"channel\"",
                                  e);
    out->write = attention ? TAP_A_OUT : TAP_F_OUT;
    out->read = out->write;
    /* the residual stream before the sublayer, which a post-norm block reads unnormalized */
    if (parallel && attention) out->read = a->pre_norm ? TAP_A_RES : TAP_A_IN;
    else if (parallel) out->read = a->pre_norm ? TAP_F_RES : TAP_F_IN;
    else if (take_order(h, c, a, out, e)) return e->code;
    take_norms(c, out);
    if (take_products(h, c, out, e)) return e->code;
    if (hub_scale_is_folded(c) && out->source == SOURCE_KRONECKER)
        return reading_refuse_key(h->path, "scaling", scaling,
                                  "a trainable scale of Kronecker products is not supported with a gate, "
                                  "or per channel inside a norm",
                                  e);
    out->scale = json_is_number(scaling) ? json_number_value(scaling) : 1;
    out->comp = hub_config_comp(c, out->scale);
    return 0;
}

/* Returns whether the library version trained LoRA without scaling. */
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
    if (!assumed->count)
        notes_add(assumed, "%s ignored the scale of LoRA in training, so alpha = r is used", h->version);
    *out = 1;
    return 0;
}
