/* Writes the configs of an AdapterHub folder from a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/exchange/hub_out.h"
#include "core/method/classifier.h"

/* Returns a reduction factor that gives this width: the library computes ⌊d / factor⌋. */
static json_t *factor_of(int d, int width) {
    return d % width ? json_real(d / (width + 0.5)) : json_integer(d / width);
}

static json_t *factors(const struct hub_out *o, json_t *left_out) {
    int d = o->m->arch.width, usual = 0;
    json_t *map = json_object();
    for (int i = 0; i < hub_layers(o); i++) {
        char layer[16];
        int width = 0;
        for (int site = 0; site < HUB_SITES; site++) width = width ? width : o->width[site][i];
        snprintf(layer, sizeof layer, "%d", i);
        if (!width) json_array_append_new(left_out, json_integer(i));
        else if (!usual) usual = width;
        if (width && width != usual) json_object_set_new(map, layer, factor_of(d, width));
    }
    if (!json_object_size(map)) {
        json_decref(map);
        return factor_of(d, usual);
    }
    json_object_set_new(map, "default", factor_of(d, usual));
    return map;
}

static json_t *bottleneck_config(const struct hub_out *o) {
    const struct module *m = &o->plan->method.module[o->bottleneck];
    json_t *left_out = json_array(), *by_width = factors(o, left_out);
    bool given = m->comp == COMP_SCALED || m->comp == COMP_GATE, products = m->source == SOURCE_KRONECKER;
    json_t *scaling = m->comp == COMP_LEARNED   ? json_string("learned")
                      : m->comp == COMP_CHANNEL ? json_string("channel")
                                                : json_real(given ? m->scale : 1);
    json_t *residual = m->residual == RESIDUAL_STREAM ? json_string("post_add")
                                                      : json_boolean(m->residual == RESIDUAL_WRITTEN);
    json_t *own =
        json_pack("{s:b,s:b,s:b,s:b,s:o,s:s,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:b,s:o,s:o,s:o,s:b}", "mh_adapter",
                  hub_has_bottlenecks(o, HUB_SELF), "cross_adapter", hub_has_bottlenecks(o, HUB_CROSS),
                  "output_adapter", hub_has_bottlenecks(o, HUB_FFN), "is_parallel", hub_is_parallel(m),
                  "leave_out", left_out, "non_linearity", hub_activation_name(m->act), "original_ln_before",
                  hub_is_behind_norm(m), "phm_layer", products, "phm_bias", m->biases, "factorized_phm_W",
                  !products || m->factor, "shared_phm_rule", !m->own_rule, "original_ln_after",
                  m->ending == END_MODEL, "ln_before", m->norm_before, "ln_after", m->norm != NORM_NONE,
                  "residual_before_ln", residual, "reduction_factor", by_width, "scaling", scaling,
                  "use_gating", m->comp == COMP_GATE);
    json_object_set_new(own, "adapter_residual_before_ln", json_boolean(m->norm == NORM_SUM));
    if (products) json_object_set_new(own, "phm_dim", json_integer(m->mid));
    if (products && m->factor) json_object_set_new(own, "phm_rank", json_integer(m->factor));
    return hub_defaults("", own);
}

/* Places of LoRA or IA3 in the form of the library. */
static json_t *lora_config(const struct hub_out *o) {
    static const struct {
        enum tap tap;
        const char *word;
    } of[] = { { TAP_A_Q, "q" }, { TAP_A_K, "k" }, { TAP_A_V, "v" }, { TAP_A_OUT, "o" } };
    bool scale = o->scale >= 0, at[COUNT_OF(of)] = { false }, inner = false, outer = false;
    const struct module *first = &o->plan->method.module[scale ? o->scale : o->low];
    json_t *maps = json_array(), *left_out = json_array();
    for (int i = 0; i < o->plan->method.count; i++) {
        const struct module *m = &o->plan->method.module[i];
        if (m->fn != FN_LINEAR && m->fn != FN_DECOMPOSED && m->fn != FN_SCALE) continue;
        inner = inner || m->write == TAP_F_PRE;
        outer = outer || m->write == TAP_F_OUT;
        for (size_t k = 0; k < COUNT_OF(of); k++) at[k] = at[k] || m->write == of[k].tap;
    }
    for (size_t k = 0; k < COUNT_OF(of); k++)
        if (at[k]) json_array_append_new(maps, json_string(of[k].word));
    for (int i = 0; i < hub_layers(o); i++)
        if (!o->low_at[i]) json_array_append_new(left_out, json_integer(i));
    double alpha = scale ? 1 : (first->comp == COMP_SCALED ? first->scale : 1) * first->size;
    return hub_defaults("lora",
                     json_pack("{s:o,s:o,s:s,s:f,s:s,s:b,s:o,s:b,s:i,s:b,s:b,s:b}", "alpha",
                               alpha == (double)(int)alpha ? json_integer((int)alpha) : json_real(alpha),
                               "attn_matrices", maps, "composition_mode", scale ? "scale" : "add", "dropout",
                               first->dropout, "init_weights", scale ? "ia3" : "lora", "intermediate_lora",
                               inner, "leave_out", left_out, "output_lora", outer, "r",
                               scale ? 1 : first->size, "selfattn_lora", json_array_size(maps) > 0,
                               "use_dora", first->fn == FN_DECOMPOSED, "use_gating",
                               first->comp == COMP_GATE));
}

static json_t *prefix_config(const struct hub_out *o) {
    const struct module *m = &o->plan->method.module[o->prefix];
    bool decoder = o->m->arch.decoder_layers > 0;
    json_t *left_out = json_array();
    for (int i = 0; i < o->m->arch.encoder_layers && !decoder; i++)
        if (!o->keys[STACK_ENCODER][0][i]) json_array_append_new(left_out, json_integer(i));
    return hub_defaults("prefix_tuning",
                     json_pack("{s:b,s:b,s:o,s:i,s:b,s:b}", "cross_prefix",
                               !decoder || o->keys[STACK_DECODER][1][0], "encoder_prefix",
                               !decoder || o->keys[STACK_ENCODER][0][0], "leave_out", left_out,
                               "prefix_length", m->size, "shared_gating", m->comp != COMP_GATES, "use_gating",
                               comp_gates(m->comp) > 0));
}

static json_t *prompt_config(const struct hub_out *o) {
    const struct module *m = &o->plan->method.module[o->prompt];
    return hub_defaults("prompt_tuning", json_pack("{s:s,s:i}", "combine",
                                                m->place == PLACE_FIRST ? "prefix" : "prefix_after_bos",
                                                "prompt_length", m->size));
}

static json_t *adapter_config(const struct hub_out *o) {
    json_t *list = json_array(), *one;
    if (o->low >= 0 || o->scale >= 0) json_array_append_new(list, lora_config(o));
    if (o->prefix >= 0) json_array_append_new(list, prefix_config(o));
    if (o->bottleneck >= 0) json_array_append_new(list, bottleneck_config(o));
    if (o->prompt >= 0) json_array_append_new(list, prompt_config(o));
    if (json_array_size(list) > 1) return json_pack("{s:s,s:o}", "architecture", "union", "configs", list);
    one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

char *hub_writer_wrapped(const struct hub_job *job, json_t *config, const char *const *names, int count) {
    const struct arch *a = &predictor_model(job->p)->arch;
    char *class = arch_class(a, arch_generates(a) ? "ForConditionalGeneration" : "AdapterModel");
    json_t *all = json_pack("{s:o,s:i,s:s,s:s,s:s,s:s,s:s}", "config", config, "hidden_size", a->width,
                            "model_class", class, "model_name", job->base, "model_type", a->model_type,
                            "name", job->name, "version", "adapters.1.3.0");
    free(class);
    BUG_IF(!all);
    json_t *list = count ? json_array() : NULL;
    for (int i = 0; i < count; i++) json_array_append_new(list, json_string(names[i]));
    if (list) json_object_set_new(all, "adapter_names", list);
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

char *hub_describe(const struct hub_out *o) { return hub_writer_wrapped(o->job, adapter_config(o), NULL, 0); }

char *hub_describe_head(const struct hub_out *o) {
    json_t *ids = json_object();
    const struct classifier *c = classifier_of(&o->plan->method, &o->m->arch);
    int n = predictor_classes(o->p);
    for (int i = 0; i < n; i++)
        json_object_set_new(ids, predictor_labels(o->p) ? predictor_label(o->p, i) : "LABEL_0",
                            json_integer(i));
    return hub_writer_wrapped(o->job,
                              json_pack("{s:s,s:b,s:n,s:s,s:o,s:i,s:i,s:b}", "activation_function",
                                        hub_activation_name(c ? c->act : ACT_TANH), "bias", 1, "dropout_prob",
                                        "head_type", "classification", "label2id", ids, "layers",
                                        c ? c->layers : 2, "num_labels", n, "use_pooler", c && c->pooler),
                              NULL, 0);
}
