/* A run as a folder of AdapterHub. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/exchange/export.h"
#include "core/exchange/hub.h"
#include "core/exchange/hub_writer.h"
#include "core/method/classifier.h"
#include "core/method/functions.h"
#include "core/method/slots.h"
#include "core/exchange/writing.h"

enum { LAYERS_MOST = 256 };

struct hub_out {
    const struct predictor *p;
    const struct plan *plan;
    const struct model *m;
    const real *params;
    const struct hub_job *job;
    struct adapter_writing to;
    int bottleneck, lora, scale, prefix; /* the first module of each kind, or -1 */
    bool at_attention, at_ffn;
    int attention[LAYERS_MOST], ffn[LAYERS_MOST]; /* widths of bottlenecks, by layer; 0: none there */
    real *flat;                          /* the prefix of all layers, owned */
};

static int hub_write_refuse(int module, const struct module *m, const char *why, struct err *e) {
    return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: module %d (%s): %s", module + 1, function_of(m)->name, why);
}

/* ---- what can be written ---- */

static bool is_attention(const struct module *m) { return m->write == TAP_A_OUT; }

static bool is_parallel(const struct module *m) {
    return m->read == TAP_F_IN || m->read == TAP_F_RES || m->read == TAP_A_IN || m->read == TAP_A_RES;
}

static bool is_behind_norm(const struct module *m) { return m->read == TAP_F_NORM || m->read == TAP_A_NORM; }

static const char *bottleneck_trouble(const struct module *m, const struct arch *a) {
    bool sequential = m->read == m->write || is_behind_norm(m), scaled = m->comp != COMP_ADD;
    if (m->write != TAP_A_OUT && m->write != TAP_F_OUT) return "the library has bottlenecks behind attention and FFN";
    if (!sequential && !is_parallel(m)) return "the library has no adapter that reads there";
    if (m->heads != HEADS_SHARED || (!m->biases && m->source != SOURCE_KRONECKER)) return "it works head by head or has no biases";
    if (m->norm == NORM_SHARED || (m->norm == NORM_OWN && scaled)) return "its norm is before the scale, which the library has behind it";
    if (m->residual != RESIDUAL_WRITTEN && !is_behind_norm(m)) return "the library adds to what an adapter reads behind a norm alone";
    if (m->residual == RESIDUAL_STREAM && a->pre_norm) return "the library has no such residual without a norm";
    if (m->norm == NORM_SUM && !sequential) return "the library norms no sum of an adapter beside its sublayer";
    if (m->comp == COMP_CHANNEL || m->comp == COMP_GATE) return "its scale is one for each channel, or of the input";
    return m->act == ACT_NONE ? "it has no activation" : NULL;
}

/* Whether a module is of the adapter that is written. */
static bool hub_write_is_part(const struct hub_out *o, int module) {
    return !o->job->parts || o->job->parts->of[module] == o->job->part;
}

static const char *trouble(const struct module *m, const struct arch *a, bool fused) {
    if (fused && m->source == SOURCE_FUSION && is_parallel(m)) return "the library adds the stream twice where it fuses such adapters";
    if (fused && m->source == SOURCE_FUSION) return bottleneck_trouble(m, a);
    if (m->source != SOURCE_FREE && m->source != SOURCE_SHARED && m->source != SOURCE_KRONECKER) return "its weights are made by a network";
    switch (m->fn) {
    case FN_BOTTLENECK: return bottleneck_trouble(m, a);
    case FN_LINEAR:
        if (!module_is_map(m)) return "it spans more than one map, where LoRA is beside exactly one";
        return m->comp != COMP_ADD && m->comp != COMP_SCALED ? "its scale is learned" : NULL;
    case FN_SCALE: return m->write == TAP_A_K || m->write == TAP_A_V || m->write == TAP_A_Q || m->write == TAP_F_PRE
                              ? NULL
                              : "the library scales q, k, v and what W_1 gives, before the activation";
    case FN_SOFTMAX: return m->comp == COMP_GATED && m->first == 1 && !m->last ? NULL : "the library's prefix is gated, in all layers";
    default:
        return module_in_weight(m) && m->target == TARGET_POOLER && a->pooler
                   ? NULL
                   : "the library has no form for it; --to petri keeps it whole";
    }
}

/* Bottlenecks are of one config: alike but for where they are and how wide. */
static bool same_config(const struct module *a, const struct module *b) {
    return a->act == b->act && a->comp == b->comp && a->scale == b->scale && is_parallel(a) == is_parallel(b) &&
           is_behind_norm(a) == is_behind_norm(b) && a->norm == b->norm && a->norm_before == b->norm_before &&
           a->residual == b->residual && a->ending == b->ending && (a->source == SOURCE_KRONECKER) == (b->source == SOURCE_KRONECKER) &&
           a->mid == b->mid && a->factor == b->factor && a->own_rule == b->own_rule && a->biases == b->biases;
}

static int note_bottleneck(struct hub_out *o, int module, struct err *e) {
    const struct module *m = &o->plan->method.module[module];
    struct span span[SPANS];
    int n = module_spans(m, &o->m->arch, span);
    if (o->bottleneck < 0) o->bottleneck = module;
    if (!same_config(m, &o->plan->method.module[o->bottleneck]))
        return hub_write_refuse(module, m, "its settings are others than those of the first bottleneck", e);
    *(is_attention(m) ? &o->at_attention : &o->at_ffn) = true;
    int *width = is_attention(m) ? o->attention : o->ffn;
    for (int k = 0; k < n; k++)
        for (int i = span[k].first; i < span[k].end; i++) width[i] = m->size;
    return 0;
}

/* A config that has bottlenecks behind both has them in the same layers: one that is not among the tensors would be
 * made up. */
static int hub_write_check_layers(const struct hub_out *o, struct err *e) {
    for (int i = 0; o->at_attention && o->at_ffn && i < o->m->arch.encoder_layers; i++)
        if (o->attention[i] != o->ffn[i])
            return err_set(e, ERR_USAGE,
                           "cannot be written for AdapterHub: layer %d has bottlenecks of width %d behind attention and %d behind "
                           "the FFN (0: none), where the library has one width for both", i + 1, o->attention[i], o->ffn[i]);
    return 0;
}

static int note_module(struct hub_out *o, int module, struct err *e) {
    const struct module *m = &o->plan->method.module[module];
    const char *why = trouble(m, &o->m->arch, o->job->parts != NULL);
    if (why) return hub_write_refuse(module, m, why, e);
    if (m->fn == FN_BOTTLENECK) return note_bottleneck(o, module, e);
    int *first = m->fn == FN_LINEAR ? &o->lora : m->fn == FN_SCALE ? &o->scale : m->fn == FN_SOFTMAX ? &o->prefix : NULL;
    if (!first) return 0;
    const struct module *was = *first < 0 ? m : &o->plan->method.module[*first];
    if (m->fn == FN_LINEAR && (was->size != m->size || was->scale != m->scale || was->comp != m->comp))
        return hub_write_refuse(module, m, "the library's LoRA has one rank and scale", e);
    if (m->fn == FN_SOFTMAX && *first >= 0) return hub_write_refuse(module, m, "the library has one prefix", e);
    if (*first < 0) *first = module;
    return 0;
}

static int hub_write_check(struct hub_out *o, struct err *e) {
    if (o->m->arch.decoder_layers || o->m->arch.encoder_layers > LAYERS_MOST)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: only of encoders (BERT, RoBERTa) so far");
    if (o->plan->by_row) return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: values are made for each row");
    for (int i = 0; i < o->plan->method.count; i++)
        if (hub_write_is_part(o, i) && note_module(o, i, e)) return e->code;
    if (hub_write_check_layers(o, e)) return e->code;
    if (o->lora >= 0 && o->scale >= 0) return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: LoRA and scales in one adapter");
    if (o->bottleneck < 0 && o->lora < 0 && o->scale < 0 && o->prefix < 0)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: there is no adapter in it");
    return 0;
}

/* ---- tensors ---- */

static int hub_write_site_of(const struct module *m) { return tap_is_ffn(m->write) ? SUB_FFN : SUB_SELF; }

static const real *values(const struct hub_out *o, int module, enum slot slot, int layer) {
    const struct plan_tensor *t = plan_slot(o->plan, module, slot, STACK_ENCODER,
                                            hub_write_site_of(&o->plan->method.module[module]), layer);
    BUG_IF(!t);
    return o->params + t->offset;
}

/* What Kronecker products make a map of. */
static void add_factors(struct hub_out *o, const char *at, int module, int layer, bool up) {
    const struct module *m = &o->plan->method.module[module];
    size_t n = (size_t)m->mid, k = (size_t)m->factor, r = (size_t)m->size, d = (size_t)o->m->arch.width, in = up ? r : d, out = up ? d : r;
    char *map = up ? xprintf("%s.adapter_up", at) : xprintf("%s.adapter_down.%d", at, m->norm_before);
    if (m->own_rule)
        writing_add3(&o->to, xprintf("%s.phm_rule", map), n, n, n, values(o, module, up ? SLOT_KRON_A_UP : SLOT_KRON_A_DOWN, layer));
    writing_add3(&o->to, xprintf("%s.%s", map, k ? "W_left" : "W"), n, in / n, k ? k : out / n,
                 values(o, module, up ? SLOT_KRON_L_UP : SLOT_KRON_L_DOWN, layer));
    if (k)
        writing_add3(&o->to, xprintf("%s.W_right", map), n, k, out / n,
                     values(o, module, up ? SLOT_KRON_R_UP : SLOT_KRON_R_DOWN, layer));
    if (m->biases) writing_add(&o->to, xprintf("%s.b", map), 0, out, values(o, module, up ? SLOT_UP_B : SLOT_DOWN_B, layer));
    free(map);
}

static void add_maps(struct hub_out *o, const char *at, int module, int layer) {
    const struct module *m = &o->plan->method.module[module];
    size_t r = (size_t)m->size, d = (size_t)o->m->arch.width;
    writing_add(&o->to, xprintf("%s.adapter_down.%d.weight", at, m->norm_before), r, d, values(o, module, SLOT_DOWN_W, layer));
    writing_add(&o->to, xprintf("%s.adapter_down.%d.bias", at, m->norm_before), 0, r, values(o, module, SLOT_DOWN_B, layer));
    writing_add(&o->to, xprintf("%s.adapter_up.weight", at), d, r, values(o, module, SLOT_UP_W, layer));
    writing_add(&o->to, xprintf("%s.adapter_up.bias", at), 0, d, values(o, module, SLOT_UP_B, layer));
}

/* The set of A_i that all have. */
static void add_rule(struct hub_out *o) {
    for (int i = 0; i < o->plan->tensors; i++) {
        const struct plan_tensor *t = &o->plan->tensor[i];
        size_t n = (size_t)t->cols;
        if (t->kind == PLAN_OWN && t->role == SLOT_KRON_A)
            writing_add3(&o->to, xprintf("%sshared_parameters.%s.phm_rule", family_prefix(o->m->arch.family), o->job->name), n, n, n,
                         o->params + t->offset);
    }
}

static void add_bottleneck(struct hub_out *o, int module, int layer) {
    const struct module *m = &o->plan->method.module[module];
    size_t d = (size_t)o->m->arch.width;
    char *at = xprintf("%sencoder.layer.%d.%soutput.adapters.%s", family_prefix(o->m->arch.family), layer,
                       is_attention(m) ? "attention." : "", o->job->name);
    static const char *const befores[] = { "adapter_norm_before", "adapter_down.0" }; /* the library saves it twice */
    for (int i = 0; i < 2 && m->norm_before; i++) {
        writing_add(&o->to, xprintf("%s.%s.weight", at, befores[i]), 0, d, values(o, module, SLOT_BEFORE_W, layer));
        writing_add(&o->to, xprintf("%s.%s.bias", at, befores[i]), 0, d, values(o, module, SLOT_BEFORE_B, layer));
    }
    if (m->source != SOURCE_KRONECKER) add_maps(o, at, module, layer);
    for (int up = 0; up < 2 && m->source == SOURCE_KRONECKER; up++) add_factors(o, at, module, layer, up);
    if (m->norm != NORM_NONE) {
        writing_add(&o->to, xprintf("%s.adapter_norm_after.weight", at), 0, d, values(o, module, SLOT_NORM_W, layer));
        writing_add(&o->to, xprintf("%s.adapter_norm_after.bias", at), 0, d, values(o, module, SLOT_NORM_B, layer));
    }
    if (m->comp == COMP_LEARNED) writing_add(&o->to, xprintf("%s.scaling", at), 0, 1, values(o, module, SLOT_SCALE, layer));
    free(at);
}

static void add_beside_map(struct hub_out *o, int module, int layer) {
    const struct module *m = &o->plan->method.module[module];
    const struct arch *a = &o->m->arch;
    char *map = writing_map(o->m, m->write, STACK_ENCODER, hub_write_site_of(m), layer), *at = xprintf("%s.loras.%s", map, o->job->name);
    bool scale = m->fn == FN_SCALE;
    if (!scale)
        writing_add(&o->to, xprintf("%s.lora_A", at), (size_t)m->size, (size_t)tap_width(a, m->read),
                    values(o, module, SLOT_DOWN_W, layer));
    writing_add(&o->to, xprintf("%s.lora_B", at), (size_t)tap_width(a, m->write), scale ? 1 : (size_t)m->size,
                values(o, module, scale ? SLOT_CHANNEL : SLOT_UP_W, layer));
    free(map);
    free(at);
}

/* The library keeps one vector, under every layer: for each place the keys and values of all layers. */
static void add_prefix(struct hub_out *o) {
    const struct module *m = &o->plan->method.module[o->prefix];
    const char *before = family_prefix(o->m->arch.family);
    size_t l = (size_t)m->size, d = (size_t)tap_width(&o->m->arch, TAP_A_K), n = 2 * d * (size_t)o->m->arch.encoder_layers;
    o->flat = xcalloc(l * n, sizeof *o->flat);
    for (int i = 0; i < o->m->arch.encoder_layers; i++)
        for (size_t t = 0; t < l; t++)
            for (int k = 0; k < 2; k++)
                memcpy(o->flat + t * n + (2 * (size_t)i + (size_t)k) * d, values(o, o->prefix, k ? SLOT_VALUE : SLOT_KEY, i) + t * d,
                       d * sizeof *o->flat);
    for (int i = 0; i < o->m->arch.encoder_layers; i++)
        writing_add(&o->to,
                    xprintf("%sencoder.layer.%d.attention.self.prefix_tuning.pool.prefix_tunings.%s.self_prefix.control_trans",
                            before, i, o->job->name), 0, l * n, o->flat);
    writing_add(&o->to, xprintf("%sprefix_tuning.prefix_tunings.%s.self_prefix.control_trans", before, o->job->name), 0, l * n, o->flat);
}

static void hub_write_add_modules(struct hub_out *o) {
    for (int i = 0; i < o->plan->method.count; i++) {
        const struct module *m = &o->plan->method.module[i];
        struct span span[SPANS];
        int n = hub_write_is_part(o, i) ? module_spans(m, &o->m->arch, span) : 0;
        for (int k = 0; k < n && m->fn != FN_SOFTMAX; k++)
            for (int layer = span[k].first; layer < span[k].end; layer++) {
                if (m->fn == FN_BOTTLENECK) add_bottleneck(o, i, layer);
                else if (m->fn == FN_LINEAR || m->fn == FN_SCALE) add_beside_map(o, i, layer);
            }
    }
    if (o->prefix >= 0) add_prefix(o);
    add_rule(o);
}

/* ---- configs ---- */

static const char *activation(enum act act) {
    static const char *const names[ACT_COUNT] = { [ACT_RELU] = "relu", [ACT_GELU] = "gelu", [ACT_GELU_TANH] = "gelu_new",
                                                  [ACT_SILU] = "swish", [ACT_TANH] = "tanh", [ACT_SIGMOID] = "sigmoid" };
    return names[act];
}

/* A factor that gives this width: the library takes ⌊d / factor⌋. */
static json_t *hub_write_factor(int d, int width) {
    return d % width ? json_real(d / (width + 0.5)) : json_integer(d / width);
}

static json_t *factors(const struct hub_out *o, json_t *left_out) {
    int d = o->m->arch.width, usual = 0;
    json_t *map = json_object();
    const int *width = o->at_attention ? o->attention : o->ffn;
    for (int i = 0; i < o->m->arch.encoder_layers; i++) {
        char layer[16];
        snprintf(layer, sizeof layer, "%d", i);
        if (!width[i]) json_array_append_new(left_out, json_integer(i));
        else if (!usual) usual = width[i];
        if (width[i] && width[i] != usual) json_object_set_new(map, layer, hub_write_factor(d, width[i]));
    }
    if (!json_object_size(map)) {
        json_decref(map);
        return hub_write_factor(d, usual);
    }
    json_object_set_new(map, "default", hub_write_factor(d, usual));
    return map;
}

/* The keys that are the same for all that is written. */
static const char usual_bottleneck[] =
    "{\"cross_adapter\":false,\"dropout\":0.0,"
    "\"factorized_phm_rule\":false,\"hypercomplex_nonlinearity\":\"glorot-uniform\",\"init_weights\":\"bert\","
    "\"init_weights_seed\":null,\"inv_adapter\":null,\"inv_adapter_reduction_factor\":null,\"learn_phm\":true,"
    "\"phm_c_init\":\"normal\","
    "\"phm_init_range\":0.0001,"
    "\"shared_W_phm\":false,\"stochastic_depth\":0.0,\"use_gating\":false}";

static json_t *bottleneck_config(const struct hub_out *o) {
    const struct module *m = &o->plan->method.module[o->bottleneck];
    json_t *left_out = json_array(), *by_width = factors(o, left_out);
    json_t *scaling = m->comp == COMP_LEARNED ? json_string("learned") : json_real(m->comp == COMP_SCALED ? m->scale : 1);
    json_t *c = json_loads(usual_bottleneck, 0, NULL);
    BUG_IF(!c);
    json_object_set_new(c, "mh_adapter", json_boolean(o->at_attention));
    json_object_set_new(c, "output_adapter", json_boolean(o->at_ffn));
    json_object_set_new(c, "is_parallel", json_boolean(is_parallel(m)));
    json_object_set_new(c, "leave_out", left_out);
    json_object_set_new(c, "non_linearity", json_string(activation(m->act)));
    json_object_set_new(c, "original_ln_before", json_boolean(is_behind_norm(m)));
    bool products = m->source == SOURCE_KRONECKER;
    json_object_set_new(c, "phm_layer", json_boolean(products));
    json_object_set_new(c, "phm_dim", json_integer(products ? m->mid : 4));
    json_object_set_new(c, "phm_rank", json_integer(products && m->factor ? m->factor : 1));
    json_object_set_new(c, "phm_bias", json_boolean(m->biases));
    json_object_set_new(c, "factorized_phm_W", json_boolean(!products || m->factor));
    json_object_set_new(c, "shared_phm_rule", json_boolean(!m->own_rule));
    json_object_set_new(c, "original_ln_after", json_boolean(m->ending == END_MODEL));
    json_object_set_new(c, "ln_before", json_boolean(m->norm_before));
    json_object_set_new(c, "ln_after", json_boolean(m->norm != NORM_NONE));
    json_object_set_new(c, "adapter_residual_before_ln", json_boolean(m->norm == NORM_SUM));
    json_object_set_new(c, "residual_before_ln", m->residual == RESIDUAL_STREAM ? json_string("post_add")
                                                                               : json_boolean(m->residual == RESIDUAL_WRITTEN));
    json_object_set_new(c, "reduction_factor", by_width);
    json_object_set_new(c, "scaling", scaling);
    return c;
}

/* Where LoRA or scales are, as the library asks for them. */
static json_t *lora_config(const struct hub_out *o) {
    static const struct {
        enum tap tap;
        const char *word;
    } of[] = { { TAP_A_Q, "q" }, { TAP_A_K, "k" }, { TAP_A_V, "v" }, { TAP_A_OUT, "o" } };
    bool scale = o->scale >= 0, inner = false, outer = false;
    const struct module *first = &o->plan->method.module[scale ? o->scale : o->lora];
    json_t *maps = json_array(), *left_out = json_array();
    bool at[LAYERS_MOST] = { false };
    for (int i = 0; i < o->plan->method.count; i++) {
        const struct module *m = &o->plan->method.module[i];
        struct span span[SPANS];
        if (m->fn != FN_LINEAR && m->fn != FN_SCALE) continue;
        inner = inner || m->write == TAP_F_PRE;
        outer = outer || m->write == TAP_F_OUT;
        for (size_t k = 0; k < COUNT_OF(of); k++)
            if (m->write == of[k].tap) json_array_append_new(maps, json_string(of[k].word));
        int n = module_spans(m, &o->m->arch, span);
        for (int k = 0; k < n; k++)
            for (int layer = span[k].first; layer < span[k].end; layer++) at[layer] = true;
    }
    for (int i = 0; i < o->m->arch.encoder_layers; i++)
        if (!at[i]) json_array_append_new(left_out, json_integer(i));
    double alpha = scale ? 1 : (first->comp == COMP_SCALED ? first->scale : 1) * first->size;
    return json_pack("{s:o,s:s,s:o,s:s,s:f,s:n,s:s,s:n,s:b,s:o,s:b,s:i,s:b,s:b,s:b,s:n,s:n}", "alpha",
                     alpha == (double)(int)alpha ? json_integer((int)alpha) : json_real(alpha), "architecture", "lora", "attn_matrices",
                     maps, "composition_mode", scale ? "scale" : "add", "dropout", first->dropout, "dtype", "init_weights",
                     scale ? "ia3" : "lora", "init_weights_seed", "intermediate_lora", inner, "leave_out", left_out, "output_lora", outer,
                     "r", scale ? 1 : first->size, "selfattn_lora", json_array_size(maps) > 0, "use_dora", 0, "use_gating", 0, "vera_b",
                     "vera_d");
}

static json_t *prefix_config(const struct hub_out *o) {
    return json_pack("{s:s,s:i,s:b,s:f,s:b,s:b,s:n,s:[],s:s,s:i,s:b,s:b}", "architecture", "prefix_tuning", "bottleneck_size", 512,
                     "cross_prefix", 1, "dropout", 0.0, "encoder_prefix", 1, "flat", 1, "init_weights_seed", "leave_out",
                     "non_linearity", "tanh", "prefix_length", o->plan->method.module[o->prefix].size, "shared_gating", 1, "use_gating", 0);
}

static json_t *adapter_config(const struct hub_out *o) {
    json_t *list = json_array(), *one;
    if (o->prefix >= 0) json_array_append_new(list, prefix_config(o));
    if (o->bottleneck >= 0) json_array_append_new(list, bottleneck_config(o));
    if (o->lora >= 0 || o->scale >= 0) json_array_append_new(list, lora_config(o));
    if (json_array_size(list) > 1) return json_pack("{s:s,s:o}", "architecture", "union", "configs", list);
    one = json_incref(json_array_get(list, 0));
    json_decref(list);
    return one;
}

char *hub_writer_wrapped(const struct hub_job *job, json_t *config, const char *const *names, int count) {
    const struct arch *a = &predictor_model(job->p)->arch;
    json_t *all = json_pack("{s:o,s:i,s:s,s:s,s:s,s:s,s:s}", "config", config, "hidden_size", a->width, "model_class",
                            a->family == FAMILY_BERT ? "BertAdapterModel" : "RobertaAdapterModel", "model_name", job->base,
                            "model_type", family_name(a->family), "name", job->name, "version", "adapters.1.3.0");
    BUG_IF(!all);
    json_t *list = count ? json_array() : NULL;
    for (int i = 0; i < count; i++) json_array_append_new(list, json_string(names[i]));
    if (list) json_object_set_new(all, "adapter_names", list);
    char *text = json_dumps(all, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(all);
    return text;
}

static char *head_config(const struct hub_out *o) {
    json_t *ids = json_object();
    const struct classifier *c = classifier_of(&o->plan->method, &o->m->arch);
    int n = predictor_classes(o->p);
    for (int i = 0; i < n; i++)
        json_object_set_new(ids, predictor_labels(o->p) ? predictor_label(o->p, i) : "LABEL_0", json_integer(i));
    return hub_writer_wrapped(o->job, json_pack("{s:s,s:b,s:n,s:s,s:o,s:i,s:i,s:b}", "activation_function",
                                                activation(c ? c->act : ACT_TANH), "bias", 1,
                                                "dropout_prob", "head_type", "classification", "label2id", ids, "layers",
                                                c ? c->layers : 2, "num_labels", n, "use_pooler", c && c->pooler), NULL, 0);
}

/* ---- the head: the dense map that a first token goes through, where there is one, and the classifier ---- */

static const real *dense(const struct hub_out *o, bool bias) {
    const struct plan_tensor *own = plan_head(o->plan, 0, bias ? SLOT_POOLER_B : SLOT_POOLER_W);
    int i = arch_find(o->m->tensor, o->m->tensors, bias ? ROLE_POOLER_B : ROLE_POOLER_W, STACK_ENCODER, SUB_EMBED, -1);
    if (own) return o->params + own->offset;
    for (int k = 0; k < o->plan->tensors; k++)
        if (o->plan->tensor[k].kind == PLAN_MODEL && o->plan->tensor[k].tensor == i) return o->params + o->plan->tensor[k].offset;
    return i < 0 ? NULL : o->m->weight[i];
}

static int write_head(const struct hub_out *o, const char *path, struct err *e) {
    size_t d = (size_t)o->m->arch.width, n = (size_t)predictor_classes(o->p);
    const struct plan_tensor *w = plan_head(o->plan, 0, SLOT_HEAD_W), *b = plan_head(o->plan, 0, SLOT_HEAD_B);
    const struct classifier *c = classifier_of(&o->plan->method, &o->m->arch);
    bool two = !c || c->layers == 2;
    if (classifier_width(c, &o->m->arch) != (int)d)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: its heads have inner maps of the model's width, %zu; this "
                                     "one's is %d", d, classifier_width(c, &o->m->arch));
    if ((two && (!dense(o, false) || !dense(o, true))) || !w || !b)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: it has no head");
    struct adapter_writing to = { 0 };
    if (two) writing_add(&to, xprintf("heads.%s.1.bias", o->job->name), 0, d, dense(o, true));
    if (two) writing_add(&to, xprintf("heads.%s.1.weight", o->job->name), d, d, dense(o, false));
    writing_add(&to, xprintf("heads.%s.%d.bias", o->job->name, two ? 4 : 1), 0, n, o->params + b->offset);
    writing_add(&to, xprintf("heads.%s.%d.weight", o->job->name, two ? 4 : 1), n, d, o->params + w->offset);
    int rc = st_save(path, to.tensor, to.tensors, NULL, 0, e);
    writing_release(&to);
    return rc;
}

/* ---- writing ---- */

static struct hub_out out_of(const struct hub_job *job) {
    return (struct hub_out){ .p = job->p, .plan = predictor_plan(job->p), .m = predictor_model(job->p),
                             .params = predictor_params(job->p), .job = job, .bottleneck = -1, .lora = -1, .scale = -1, .prefix = -1 };
}

/* A file in the folder, not left there when it cannot be whole. */
static int save_text(const char *folder, const char *name, const char *text, struct err *e) {
    char *path = file_join(folder, name);
    int rc = file_write(path, text, strlen(text), e);
    free(path);
    return rc;
}

/* The config that came still holds, but for a prefix behind a network, which is flat here. */
static char *hub_write_config_text(const struct hub_out *o, const char *came) {
    if (came && (o->prefix < 0 || strstr(came, "\"flat\": true"))) return xstrdup(came);
    return hub_writer_wrapped(o->job, adapter_config(o), NULL, 0);
}

int hub_writer_adapter(const struct hub_job *job, const char *config, const char *folder, struct err *e) {
    struct hub_out o = out_of(job);
    int rc = hub_write_check(&o, e);
    if (rc) return rc;
    hub_write_add_modules(&o);
    char *text = hub_write_config_text(&o, config), *path = file_join(folder, "adapter.safetensors");
    rc = writing_order(&o.to, "AdapterHub", e);
    if (!rc) rc = st_save(path, o.to.tensor, o.to.tensors, NULL, 0, e);
    if (!rc) rc = save_text(folder, "adapter_config.json", text, e);
    free(text);
    free(path);
    writing_release(&o.to);
    free(o.flat);
    return rc;
}

int hub_writer_head(const struct hub_job *job, const char *folder, struct err *e) {
    struct hub_out o = out_of(job);
    char *path = file_join(folder, "model_head.safetensors"), *text = head_config(&o);
    int rc = write_head(&o, path, e);
    if (!rc) rc = save_text(folder, "head_config.json", text, e);
    free(text);
    free(path);
    return rc;
}

static int hub_export_one(struct predictor *p, const char *base, const char *folder, struct err *e) {
    static const char *const files[] = { "adapter.safetensors", "model_head.safetensors", "head_config.json", "adapter_config.json" };
    const char *origin = predictor_origin(p);
    json_t *came = origin ? json_loads(origin, 0, NULL) : NULL;
    const json_t *was = json_is_string(json_object_get(came, "model_type")) ? came : NULL;
    const char *name = json_string_value(json_object_get(was, "name"));
    const struct hub_job job = { .p = p, .name = name ? name : "petri", .base = base };
    struct hub_out looked = out_of(&job);
    int rc = hub_write_check(&looked, e), made = rc ? rc : export_folder(folder, e);
    if (!made) rc = hub_writer_adapter(&job, was ? origin : NULL, folder, e);
    if (!made && !rc) rc = hub_writer_head(&job, folder, e);
    if (made) rc = made;
    for (size_t i = 0; rc && !made && i < COUNT_OF(files); i++) {
        char *path = file_join(folder, files[i]);
        unlink(path);
        free(path);
    }
    if (rc && !made) rmdir(folder);
    if (came) json_decref(came);
    return rc;
}

int export_hub(struct predictor *p, const char *base, const char *folder, struct err *e) {
    int rc = predictor_make_plain(p, e);
    if (rc) return rc;
    return (predictor_plan(p)->method.fusion.on ? hub_export_fusion : hub_export_one)(p, base, folder, e);
}
