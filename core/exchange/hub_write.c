/* A run as a folder of AdapterHub: what can go there, and its tensors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/exchange/export.h"
#include "core/exchange/hub_out.h"
#include "core/method/classifier.h"
#include "core/method/keys.h"
#include "core/method/slots.h"

static int layer_of_all(const struct hub_out *o, int stack, int layer) {
    return layer + (stack == STACK_DECODER ? o->m->arch.encoder_layers : 0);
}

int hub_layers(const struct hub_out *o) { return o->m->arch.encoder_layers + o->m->arch.decoder_layers; }

bool hub_has_bottlenecks(const struct hub_out *o, enum hub_site site) {
    for (int i = 0; i < hub_layers(o); i++)
        if (o->width[site][i]) return true;
    return false;
}

/* ---- what can be written ---- */

bool hub_is_parallel(const struct module *m) {
    return m->read == TAP_F_IN || m->read == TAP_F_RES || m->read == TAP_A_IN || m->read == TAP_A_RES;
}

bool hub_is_behind_norm(const struct module *m) { return m->read == TAP_F_NORM || m->read == TAP_A_NORM; }

static const char *bottleneck_trouble(const struct module *m, const struct arch *a) {
    bool sequential = m->read == m->write || hub_is_behind_norm(m), scaled = m->comp != COMP_ADD;
    if (m->write != TAP_A_OUT && m->write != TAP_F_OUT)
        return "the library has bottlenecks only after attention and FFN";
    if (!sequential && !hub_is_parallel(m)) return "no adapter of the library reads there";
    if (a->pre_norm && (m->read == TAP_A_IN || m->read == TAP_F_IN))
        return "the library's parallel adapter reads the residual stream before the norm: use read=f.res or "
               "read=a.res";
    if (m->heads != HEADS_SHARED || (!m->biases && m->source != SOURCE_KRONECKER))
        return "the library's bottlenecks have biases and do not work per head";
    if (m->norm == NORM_SHARED || (m->norm == NORM_OWN && scaled))
        return "the library applies the norm after the scale";
    if (m->residual != RESIDUAL_WRITTEN && !hub_is_behind_norm(m))
        return "the library adds to the adapter's input only after a norm";
    if (m->residual == RESIDUAL_STREAM && a->pre_norm)
        return "the library has such a residual only with a norm";
    if (m->norm == NORM_SUM && !sequential)
        return "the library does not normalize the sum of a parallel adapter and its sublayer";
    return m->act == ACT_NONE ? "it has no activation" : NULL;
}

static const char *low_trouble(const struct module *m, const struct arch *a) {
    if (!module_is_map(m)) return "it spans more than one map, and LoRA is parallel to exactly one";
    if (m->write == TAP_A_OUT) return "the library supports q, k, v and the FFN's maps, not W_o";
    if (m->write == TAP_F_PRE && a->gated)
        return "in a gated FFN the library changes the other map, the second branch of W_1";
    if (m->fn == FN_DECOMPOSED && m->length != LENGTH_OUTPUT)
        return "the library's norm includes the bias (length=output); --to peft supports length=map";
    return m->comp != COMP_ADD && m->comp != COMP_SCALED && m->comp != COMP_GATE ? "its scale is learned"
                                                                                 : NULL;
}

static const char *prompt_trouble(const struct module *m, const struct arch *a) {
    if (a->decoder_layers) return "the library has prompts only in encoders";
    if (m->source != SOURCE_FREE) return "a network generates its rows";
    if (m->write != TAP_EMBED)
        return "the library inserts the rows after the norm of the embedding (write=embed); --to peft "
               "supports write=embed.words";
    return m->place == PLACE_FIRST && m->pool != POOL_ROW0
               ? "in the library the classifier reads row 0 of the prompt (pool=row0)"
               : NULL;
}

static const char *prefix_trouble(const struct module *m, const struct arch *a) {
    if (m->shift) return "the library's prefix does not shift the positions of the text; --to peft supports "
                         "shift=yes";
    if (a->buckets) return "on T5 the library shifts the relative positions by the prefix length";
    return m->comp != COMP_GATED && !comp_gates(m->comp)
               ? "the library's prefix is always gated, in the joint softmax of the attention"
               : NULL;
}

/* Whether a module is of the adapter that is written. */
static bool is_part(const struct hub_out *o, int module) {
    return !o->job->parts || o->job->parts->of[module] == o->job->part;
}

static const char *trouble(const struct module *m, const struct arch *a, bool fused) {
    if (fused && m->source == SOURCE_FUSION && hub_is_parallel(m))
        return "the library adds the residual stream twice when it fuses such adapters";
    if (fused && m->source == SOURCE_FUSION) return bottleneck_trouble(m, a);
    if (m->source != SOURCE_FREE && m->source != SOURCE_SHARED && m->source != SOURCE_KRONECKER)
        return "a network generates its weights";
    switch (m->fn) {
    case FN_BOTTLENECK: return bottleneck_trouble(m, a);
    case FN_LINEAR: case FN_DECOMPOSED: return low_trouble(m, a);
    case FN_SCALE:
        if (m->write == TAP_F_PRE && a->gated) return "in a gated FFN the library scales the other branch";
        return m->write == TAP_A_K || m->write == TAP_A_V || m->write == TAP_A_Q || m->write == TAP_F_PRE ||
                       m->write == TAP_F_OUT
                   ? NULL
                   : "the library scales q, k, v, the output of W_1 before the activation, and the output "
                     "of W_2";
    case FN_SOFTMAX: return prefix_trouble(m, a);
    case FN_PROMPT: return prompt_trouble(m, a);
    default:
        return module_in_weight(m) && m->target == TARGET_POOLER && a->pooler
                   ? NULL
                   : "the library has no equivalent; use --to petri";
    }
}

/* Bottlenecks are of one config: alike but for where they are and how wide. */
static bool same_config(const struct module *a, const struct module *b) {
    static const char *const own[] = { "r",     "read", "write", "init",   "dropout",
                                       "stack", "site", "learn", "source", "heads" };
    struct module x = *b;
    for (size_t i = 0; i < COUNT_OF(own); i++) key_copy(key_find(own[i]), &x, a);
    x.first = a->first;
    x.last = a->last;
    x.from_run = a->from_run;
    return hub_is_parallel(a) == hub_is_parallel(b) && hub_is_behind_norm(a) == hub_is_behind_norm(b) &&
           (a->source == SOURCE_KRONECKER) == (b->source == SOURCE_KRONECKER) && module_equal(a, &x);
}

/* The first module of each kind, or NULL: such ones have no config. */
static int *first_of(struct hub_out *o, enum fn fn) {
    switch (fn) {
    case FN_BOTTLENECK: return &o->bottleneck;
    case FN_LINEAR: case FN_DECOMPOSED: return &o->low;
    case FN_SCALE: return &o->scale;
    case FN_SOFTMAX: return &o->prefix;
    default: return fn == FN_PROMPT ? &o->prompt : NULL;
    }
}

/* Why a module cannot be of the config of an earlier one, or NULL. */
static const char *unlike(const struct module *m, const struct module *first) {
    bool low = m->fn == FN_LINEAR || m->fn == FN_DECOMPOSED;
    if (m->fn == FN_BOTTLENECK && !same_config(m, first))
        return "its settings differ from those of the first bottleneck";
    if (m->fn == FN_SOFTMAX && (first->size != m->size || first->comp != m->comp))
        return "the library has one prefix, of one length";
    if (low &&
        (first->fn != m->fn || first->size != m->size || first->scale != m->scale || first->comp != m->comp))
        return "the library's LoRA has one rank and scale";
    return NULL;
}

static int note_module(struct hub_out *o, int module, struct err *e) {
    const struct module *m = &o->plan->method.module[module];
    const char *why = trouble(m, &o->m->arch, o->job->parts != NULL);
    int *first = first_of(o, m->fn);
    if (first && *first < 0) *first = module;
    if (first && !why) why = unlike(m, &o->plan->method.module[*first]);
    if (why)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: module %d (%s): %s", module + 1,
                       function_of(m)->name, why);
    struct span span[SPANS];
    int n = first && m->fn != FN_PROMPT ? module_spans(m, &o->m->arch, span) : 0;
    for (int k = 0; k < n; k++)
        for (int i = span[k].first; i < span[k].end; i++) {
            bool cross = span[k].site == SUB_CROSS;
            int layer = layer_of_all(o, span[k].stack, i);
            if (m->fn == FN_BOTTLENECK)
                o->width[span[k].site == SUB_FFN ? HUB_FFN : cross ? HUB_CROSS : HUB_SELF][layer] = m->size;
            else if (m->fn == FN_SOFTMAX) o->keys[span[k].stack][cross][i] = module + 1;
            else o->low_at[layer] = true;
        }
    return 0;
}

/* A config that has bottlenecks at several sites has them in the same layers: one that is not among the
 * tensors would be made up. */
static int check_layers(const struct hub_out *o, struct err *e) {
    static const char *const sites[] = { "after attention", "after cross-attention", "after the FFN" };
    for (int a = 0; a < HUB_SITES; a++)
        for (int b = a + 1; b < HUB_SITES; b++)
            for (int i = 0; i < hub_layers(o) && hub_has_bottlenecks(o, a) && hub_has_bottlenecks(o, b);
                 i++) {
                if (b == HUB_CROSS && i < o->m->arch.encoder_layers) continue;
                if (a == HUB_CROSS && i < o->m->arch.encoder_layers) continue;
                if (o->width[a][i] == o->width[b][i]) continue;
                return err_set(e, ERR_USAGE,
                               "cannot be written for AdapterHub: layer %d has bottlenecks of width %d %s "
                               "and %d %s (0: none), but the library has one width for both",
                               i + 1, o->width[a][i], sites[a], o->width[b][i], sites[b]);
            }
    return 0;
}

/* Of a model with a decoder prefixes are in all layers of an attention, and at the decoder's own. */
static int check_prefix(const struct hub_out *o, struct err *e) {
    if (o->prefix < 0 || !o->m->arch.decoder_layers) return 0;
    for (int stack = 0; stack < 2; stack++)
        for (int cross = 0; cross < 2; cross++)
            for (int i = 0; i < arch_layers(&o->m->arch, stack); i++)
                if (!o->keys[stack][cross][i] != !o->keys[stack][cross][0])
                    return err_set(e, ERR_USAGE,
                                   "cannot be written for AdapterHub: on a model with a decoder the "
                                   "library's prefix is in all layers");
    if (!o->keys[STACK_DECODER][0][0])
        return err_set(e, ERR_USAGE,
                       "cannot be written for AdapterHub: the library always has a prefix at the decoder's "
                       "self-attention, and this method has none");
    return 0;
}

static int hub_write_check(struct hub_out *o, struct err *e) {
    if (o->m->arch.encoder_layers > HUB_LAYERS || o->m->arch.decoder_layers > HUB_LAYERS)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: the model has more than %d layers",
                       HUB_LAYERS);
    if (o->job->parts && o->m->arch.decoder_layers)
        return err_set(e, ERR_USAGE,
                       "cannot be written for AdapterHub: a fusion needs an encoder (BERT, RoBERTa)");
    if (o->plan->by_row)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: weights are generated per example");
    for (int i = 0; i < o->plan->method.count; i++)
        if (is_part(o, i) && note_module(o, i, e)) return e->code;
    if (check_layers(o, e) || check_prefix(o, e)) return e->code;
    if (o->low >= 0 && o->scale >= 0)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: LoRA and scales in one adapter");
    if (o->bottleneck < 0 && o->low < 0 && o->scale < 0 && o->prefix < 0 && o->prompt < 0)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: the method has no adapter");
    return 0;
}

/* ---- tensors ---- */

/* A place of a module. */
struct hub_place {
    int module, stack, site, layer;
};

static const real *values(const struct hub_out *o, const struct hub_place *at, enum slot slot) {
    const struct plan_tensor *t = plan_slot(o->plan, at->module, slot, at->stack, at->site, at->layer);
    BUG_IF(!t);
    return o->params + t->offset;
}

static const struct module *module_of(const struct hub_out *o, const struct hub_place *at) {
    return &o->plan->method.module[at->module];
}

/* What a module has of a table, at a place whose name is taken over. */
static void add_parts(struct hub_out *o, const struct file_part *rows, char *place,
                      const struct hub_place *at) {
    const struct module *m = module_of(o, at);
    for (const struct file_part *p = rows; p->name; p++) {
        const struct plan_tensor *t =
            plan_slot(o->plan, at->module, hub_part_slot(p, m), at->stack, at->site, at->layer);
        if (t && hub_part_fits(p, m))
            writing_part(&o->to, hub_part_name(place, p, m), p, t, o->params, m->mid);
    }
    free(place);
}

/* The set of A_i that all have. */
static void add_rule(struct hub_out *o) {
    static const struct file_part rule = { .rows = SIZE_NN, .split = true };
    for (int i = 0; i < o->plan->tensors; i++) {
        const struct plan_tensor *t = &o->plan->tensor[i];
        if (t->kind == PLAN_OWN && t->role == SLOT_KRON_A)
            writing_part(&o->to,
                         xprintf("%sshared_parameters.%s.phm_rule", family_prefix(o->m->arch.family),
                                 o->job->name),
                         &rule, t, o->params, (int)t->cols);
    }
}

/* The library keeps one vector for each kind of attention, under all of them: for each row of the prefix the
 * keys and values of all layers. */
static void add_keys(struct hub_out *o, const struct hub_attention *of) {
    const struct arch *a = &o->m->arch;
    const int *module = o->keys[of->stack][of->site == SUB_CROSS];
    size_t l = (size_t)o->plan->method.module[o->prefix].size, d = (size_t)tap_width(a, TAP_A_K), layers = 0,
           i = 0;
    for (int layer = 0; layer < arch_layers(a, of->stack); layer++) layers += module[layer] > 0;
    size_t n = 2 * d * layers;
    if (!layers) return;
    real *flat = writing_room(&o->to, l * n);
    for (int layer = 0; layer < arch_layers(a, of->stack); layer++) {
        const struct hub_place at = { module[layer] - 1, of->stack, of->site, layer };
        if (at.module < 0) continue;
        for (size_t t = 0; t < l; t++)
            for (size_t k = 0; k < 2; k++)
                memcpy(flat + t * n + (2 * i + k) * d, values(o, &at, k ? SLOT_VALUE : SLOT_KEY) + t * d,
                       d * sizeof *flat);
        char *name = hub_attention_name(o->m, of, layer);
        add_parts(o, hub_gate_parts, xprintf("%s.prefix_tuning.prefix_gates.%s.", name, o->job->name), &at);
        free(name);
        i++;
    }
    for (const struct hub_attention *x = hub_attentions(a); x->key; x++)
        for (int layer = 0; layer < arch_layers(a, x->stack); layer++) {
            char *name = hub_attention_name(o->m, x, layer);
            writing_add(&o->to,
                        xprintf("%s.prefix_tuning.pool.prefix_tunings.%s.%s.control_trans", name,
                                o->job->name, of->key),
                        0, l * n, flat);
            free(name);
        }
    writing_add(&o->to,
                xprintf("%sprefix_tuning.prefix_tunings.%s.%s.control_trans", family_prefix(a->family),
                        o->job->name, of->key),
                0, l * n, flat);
}

static void add_prompt(struct hub_out *o) {
    const struct hub_place at = { o->prompt, STACK_ENCODER, SUB_EMBED, -1 };
    writing_add(&o->to,
                xprintf("%sprompt_tuning.prompt_tunings.%s.prompt_embedding.weight",
                        family_prefix(o->m->arch.family), o->job->name),
                (size_t)module_of(o, &at)->size, (size_t)o->m->arch.width, values(o, &at, SLOT_OWN));
}

static void add_modules(struct hub_out *o) {
    for (int i = 0; i < o->plan->method.count; i++) {
        const struct module *m = &o->plan->method.module[i];
        struct span span[SPANS];
        int n = is_part(o, i) ? module_spans(m, &o->m->arch, span) : 0;
        for (int k = 0; k < n; k++)
            for (int layer = span[k].first; layer < span[k].end; layer++) {
                const struct hub_place at = { i, span[k].stack, span[k].site, layer };
                bool low = m->fn == FN_LINEAR || m->fn == FN_DECOMPOSED || m->fn == FN_SCALE;
                if (m->fn != FN_BOTTLENECK && !low) continue;
                char *place = (low ? writing_map : hub_place)(o->m, m->write, at.stack, at.site, layer);
                add_parts(o, low ? hub_low_parts : hub_bottleneck_parts,
                          xprintf("%s.%s.%s.", place, low ? "loras" : "adapters", o->job->name), &at);
                free(place);
            }
    }
    for (const struct hub_attention *x = hub_attentions(&o->m->arch); x->key && o->prefix >= 0; x++)
        add_keys(o, x);
    if (o->prompt >= 0) add_prompt(o);
    add_rule(o);
}

/* ---- the head: the dense map that a first token goes through, where there is one, and the classifier ----
 */

static const real *dense(const struct hub_out *o, bool bias) {
    const struct plan_tensor *own = plan_head(o->plan, 0, bias ? SLOT_POOLER_B : SLOT_POOLER_W);
    int i = arch_find(o->m->tensor, o->m->tensors, bias ? ROLE_POOLER_B : ROLE_POOLER_W, STACK_ENCODER,
                      SUB_EMBED, -1);
    if (own) return o->params + own->offset;
    for (int k = 0; k < o->plan->tensors; k++)
        if (o->plan->tensor[k].kind == PLAN_MODEL && o->plan->tensor[k].tensor == i)
            return o->params + o->plan->tensor[k].offset;
    return i < 0 ? NULL : o->m->weight[i];
}

static int write_head(const struct hub_out *o, const char *path, struct err *e) {
    size_t d = (size_t)o->m->arch.width, n = (size_t)predictor_classes(o->p);
    const struct plan_tensor *w = plan_head(o->plan, 0, SLOT_HEAD_W), *b = plan_head(o->plan, 0, SLOT_HEAD_B);
    const struct classifier *c = classifier_of(&o->plan->method, &o->m->arch);
    bool two = !c || c->layers == 2;
    if (classifier_width(c, &o->m->arch) != (int)d)
        return err_set(
            e, ERR_USAGE,
            "cannot be written for AdapterHub: the inner layers of its heads have the model width, %zu; "
            "this head has %d",
            d, classifier_width(c, &o->m->arch));
    if ((two && (!dense(o, false) || !dense(o, true))) || !w || !b)
        return err_set(e, ERR_USAGE, "cannot be written for AdapterHub: no classification head");
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
    return (struct hub_out){ .p = job->p,
                             .plan = predictor_plan(job->p),
                             .m = predictor_model(job->p),
                             .params = predictor_params(job->p),
                             .job = job,
                             .bottleneck = -1,
                             .low = -1,
                             .scale = -1,
                             .prefix = -1,
                             .prompt = -1 };
}

/* A file in the folder, not left there when it cannot be whole. */
static int save_text(const char *folder, const char *name, const char *text, struct err *e) {
    char *path = file_join(folder, name);
    int rc = file_write(path, text, strlen(text), e);
    free(path);
    return rc;
}

/* Whether a config, or one of its union, is of what is made into other tensors here: a prefix behind a
 * network, VeRA, scales times alpha, a scale that became part of a map, factors that were shared. */
static bool is_made_otherwise(const json_t *c) {
    const json_t *list = json_object_get(c, "configs"), *one;
    size_t i;
    json_array_foreach(list, i, one)
        if (is_made_otherwise(one)) return true;
    const char *of = json_string_value(json_object_get(c, "architecture"));
    bool network = of && !strcmp(of, "prefix_tuning") && !json_is_true(json_object_get(c, "flat"));
    const char *mode = json_string_value(json_object_get(c, "composition_mode"));
    const json_t *alpha = json_object_get(c, "alpha");
    if (mode && !strcmp(mode, "scale") && json_is_number(alpha) && json_number_value(alpha) != 1) return true;
    if (!of && (hub_scale_is_folded(c) || hub_shares_factors(c) || hub_factors_rule(c))) return true;
    return network || json_is_number(json_object_get(c, "vera_d")) ||
           json_is_number(json_object_get(c, "vera_b"));
}

/* `came`: the config that came with the values, or NULL. */
static char *config_text(const struct hub_out *o, const char *came) {
    json_t *was = came ? json_loads(came, 0, NULL) : NULL;
    bool holds = was && !is_made_otherwise(json_object_get(was, "config"));
    json_decref(was);
    return holds ? xstrdup(came) : hub_describe(o);
}

int hub_writer_adapter(const struct hub_job *job, const char *config, const char *folder, struct err *e) {
    struct hub_out o = out_of(job);
    int rc = hub_write_check(&o, e);
    if (rc) return rc;
    add_modules(&o);
    char *text = config_text(&o, config), *path = file_join(folder, "adapter.safetensors");
    rc = writing_order(&o.to, "AdapterHub", e);
    if (!rc) rc = st_save(path, o.to.tensor, o.to.tensors, NULL, 0, e);
    if (!rc) rc = save_text(folder, "adapter_config.json", text, e);
    free(text);
    free(path);
    writing_release(&o.to);
    return rc;
}

int hub_writer_head(const struct hub_job *job, const char *folder, struct err *e) {
    struct hub_out o = out_of(job);
    char *path = file_join(folder, "model_head.safetensors"), *text = hub_describe_head(&o);
    int rc = write_head(&o, path, e);
    if (!rc) rc = save_text(folder, "head_config.json", text, e);
    free(text);
    free(path);
    return rc;
}

static int hub_export_one(struct predictor *p, const char *base, const char *folder, struct err *e) {
    static const char *const files[] = { "adapter.safetensors", "model_head.safetensors", "head_config.json",
                                         ADAPTER_CONFIG, NULL };
    const char *origin = predictor_origin(p);
    json_t *came = origin ? json_loads(origin, 0, NULL) : NULL;
    const json_t *was = json_is_string(json_object_get(came, "model_type")) ? came : NULL;
    const char *name = json_string_value(json_object_get(was, "name"));
    const struct hub_job job = { .p = p, .name = name ? name : "petri", .base = base };
    struct hub_out looked = out_of(&job);
    int rc = hub_write_check(&looked, e), made = rc ? rc : export_folder(folder, e);
    if (!made) rc = hub_writer_adapter(&job, was ? origin : NULL, folder, e);
    if (!made && !rc && !arch_generates(&predictor_model(p)->arch)) rc = hub_writer_head(&job, folder, e);
    if (made) rc = made;
    if (rc && !made) export_undo(folder, files);
    json_decref(came);
    return rc;
}

int export_hub(struct predictor *p, const char *base, const char *folder, struct err *e) {
    int rc = predictor_needs_head(p, e) ? e->code : predictor_make_plain(p, e);
    if (rc) return rc;
    return (predictor_plan(p)->method.fusion.on ? hub_export_fusion : hub_export_one)(p, base, folder, e);
}
