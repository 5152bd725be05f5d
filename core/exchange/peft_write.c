/* A run as a folder of PEFT. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/export.h"
#include "core/exchange/peft.h"
#include "core/exchange/peft_prompt.h"
#include "core/method/classifier.h"
#include "core/method/functions.h"
#include "core/method/slots.h"
#include "core/exchange/writing.h"

/* A map with LoRA or a scale. */
struct wrapped {
    char *module; /* its name in the base model */
    int rank;
    double alpha;
    bool input; /* of a scale: of what the map reads */
};

struct out {
    const struct plan *plan;
    const struct model *m;
    const real *params;
    const char *base;
    enum peft_type type;
    struct adapter_writing to;
    struct wrapped *wrapped;
    size_t count, wrapped_room;
    char **saved; /* modules that are saved whole */
    size_t saves, saves_room;
    real *rows[2];             /* of a stack's change of the word embeddings, a column a token, owned */
    bool biases, other_biases; /* of wrapped maps; of anything else */
    double dropout;
    bool dora;
    bool vectors; /* without a head: for a model class that has none */
};

/* ---- what can be written ---- */

/* The map whose output the scale is at, or whose input (*input). */
static enum tap map_of_scale(enum tap write, bool *input) {
    *input = write == TAP_F_ACT || write == TAP_A_CTX;
    return write == TAP_F_ACT ? TAP_F_OUT : write == TAP_A_CTX ? TAP_A_OUT : write;
}

static const char *why_not(const struct module *m) {
    bool input;
    if (m->source != SOURCE_FREE && m->source != SOURCE_SHARED) return "its weights are made by a network";
    if (m->fn == FN_LINEAR || m->fn == FN_DECOMPOSED || m->fn == FN_PROJECTED || m->fn == FN_SVD) {
        if (m->comp == COMP_CHANNEL || m->comp == COMP_GATE) return "its scale is one for each channel, or of the input";
        if (m->length != LENGTH_MAP) return "its length is over the bias too (length=output), which --to hub has";
        if (!module_is_map(m)) return "it spans more than one map, where LoRA is beside exactly one";
        return NULL;
    }
    if (m->fn == FN_LOOKUP) return NULL;
    if (m->fn == FN_SCALE)
        return tap_weight_role(map_of_scale(m->write, &input)) == ROLE_COUNT || m->write == TAP_EMBED
                   ? "IA3 scales what a map gives or reads"
                   : NULL;
    if (module_in_weight(m) && m->fn != FN_MASKED) return NULL;
    return "PEFT has no form for it; --to petri keeps it whole";
}

static bool is_of_norms(const struct module *m) {
    bool tap = m->target == TARGET_TAP && (m->write == TAP_A_END || m->write == TAP_F_END || m->write == TAP_EMBED);
    return m->fn == FN_FULL && (m->target == TARGET_NORMS || tap);
}

static bool norms_alone(const struct plan *p) {
    for (int i = 0; i < p->method.count; i++)
        if (!is_of_norms(&p->method.module[i])) return false;
    return p->method.count > 0;
}

static int check_written_prompt(struct out *o, int module, struct err *e) {
    const char *why = peft_prompt_why_not(&o->plan->method, &o->m->arch);
    if (!why && !classifier_is_usual(&o->plan->method, &o->m->arch)) why = "the classifier is not the one that the model's class has";
    if (why) return err_set(e, ERR_USAGE, "cannot be written for PEFT: module %d (%s): %s", module + 1,
                            function_of(&o->plan->method.module[module])->name, why);
    o->type = o->plan->method.module[module].fn == FN_SOFTMAX ? PEFT_PREFIX : PEFT_PROMPT;
    return 0;
}

static int peft_write_check(struct out *o, struct err *e) {
    bool lora = false, ia3 = false, dora = false, vera = false, ada = false;
    int prompt = peft_prompt_of(&o->plan->method);
    if (prompt >= 0) return check_written_prompt(o, prompt, e);
    for (int i = 0; i < o->plan->method.count; i++) {
        const struct module *m = &o->plan->method.module[i];
        const char *why = why_not(m);
        if (why)
            return err_set(e, ERR_USAGE, "cannot be written for PEFT: module %d (%s): %s", i + 1, function_of(m)->name, why);
        dora = dora || m->fn == FN_DECOMPOSED;
        ada = ada || m->fn == FN_SVD;
        vera = vera || m->fn == FN_PROJECTED;
        lora = lora || m->fn == FN_LINEAR || m->fn == FN_LOOKUP;
        ia3 = ia3 || m->fn == FN_SCALE;
    }
    if (o->plan->by_row) return err_set(e, ERR_USAGE, "cannot be written for PEFT: values are made for each row");
    if (!classifier_is_usual(&o->plan->method, &o->m->arch))
        return err_set(e, ERR_USAGE, "cannot be written for PEFT: the classifier is not the one that the model's class has");
    if (lora + dora + vera + ada + ia3 > 1)
        return err_set(e, ERR_USAGE, "cannot be written for PEFT: %s in one adapter; export two runs",
                       ia3 ? "LoRA and scales" : "two forms of low-rank changes");
    bool norms = !lora && !dora && !vera && !ada && !ia3 && norms_alone(o->plan);
    if (!lora && !dora && !vera && !ada && !ia3 && !norms)
        return err_set(e, ERR_USAGE, "cannot be written for PEFT: there is neither LoRA nor a scale in it; a plain model is --to hf");
    o->dora = dora;
    o->type = norms ? PEFT_LN : ada ? PEFT_ADALORA : ia3 ? PEFT_IA3 : vera ? PEFT_VERA : PEFT_LORA;
    return 0;
}

/* ---- tensors ---- */

static const real *slot_values(const struct out *o, int module, enum slot slot, int stack, int site, int layer) {
    const struct plan_tensor *t = plan_slot(o->plan, module, slot, stack, site, layer);
    BUG_IF(!t);
    return o->params + t->offset;
}

static struct wrapped *peft_write_wrap(struct out *o, char *module) {
    GROW(o->wrapped, o->wrapped_room, o->count + 1);
    struct wrapped *w = &o->wrapped[o->count++];
    *w = (struct wrapped){ .module = module };
    return w;
}

static void add_lora(struct out *o, int module, int stack, int site, int layer) {
    const struct module *m = &o->plan->method.module[module];
    struct wrapped *w = peft_write_wrap(o, writing_map(o->m, m->write, stack, site, layer));
    double s = m->comp == COMP_SCALED    ? m->scale
               : m->comp == COMP_LEARNED ? (double)*slot_values(o, module, SLOT_SCALE, stack, site, layer)
                                         : 1;
    w->rank = m->size;
    w->alpha = s * m->size;
    if (m->dropout > o->dropout) o->dropout = m->dropout;
    writing_add(&o->to, xprintf("base_model.model.%s.lora_A.weight", w->module), (size_t)m->size,
                (size_t)tap_width(&o->m->arch, m->read), slot_values(o, module, SLOT_DOWN_W, stack, site, layer));
    writing_add(&o->to, xprintf("base_model.model.%s.lora_B.weight", w->module), (size_t)tap_width(&o->m->arch, m->write),
                (size_t)m->size, slot_values(o, module, SLOT_UP_W, stack, site, layer));
    if (m->fn == FN_DECOMPOSED)
        writing_add(&o->to, xprintf("base_model.model.%s.lora_magnitude_vector", w->module), 0,
                    (size_t)tap_width(&o->m->arch, m->write), slot_values(o, module, SLOT_LENGTH, stack, site, layer));
}

/* Its rows become columns. */
static void peft_write_add_lookup(struct out *o, int module, int stack) {
    const struct module *m = &o->plan->method.module[module];
    const struct plan_tensor *down = plan_slot(o->plan, module, SLOT_DOWN_W, stack, SUB_EMBED, -1);
    const real *scale = m->comp == COMP_LEARNED ? slot_values(o, module, SLOT_SCALE, stack, SUB_EMBED, -1) : NULL,
               *values = o->params + down->offset;
    int i = arch_find(o->m->tensor, o->m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    const char *name = o->m->tensor[i].name;
    size_t rank = (size_t)m->size, tokens = (size_t)down->rows;
    const char *before = family_prefix(o->m->arch.family);
    bool decoder = arch_generates(&o->m->arch); /* each stack looks words up under a name of its own */
    struct wrapped *w = peft_write_wrap(o, decoder ? xprintf("%s%s.embed_tokens", before, stack_name(stack))
                                                   : xprintf("%s%.*s", before, (int)(strlen(name) - strlen(".weight")), name));
    w->rank = m->size;
    w->alpha = (m->comp == COMP_SCALED ? m->scale : scale ? (double)*scale : 1) * m->size;
    if (o->m->arch.embed_scale) w->alpha /= sqrt(o->m->arch.width);
    real *rows = o->rows[stack] = xrealloc(o->rows[stack], down->count, sizeof *rows);
    for (size_t k = 0; k < down->count; k++) rows[k % rank * tokens + k / rank] = values[k];
    writing_add(&o->to, xprintf("base_model.model.%s.lora_embedding_A", w->module), rank, tokens, rows);
    writing_add(&o->to, xprintf("base_model.model.%s.lora_embedding_B", w->module), (size_t)o->m->arch.width, rank,
                slot_values(o, module, SLOT_UP_W, stack, SUB_EMBED, -1));
}

static void add_scale(struct out *o, int module, int stack, int site, int layer) {
    const struct module *m = &o->plan->method.module[module];
    bool input;
    enum tap map = map_of_scale(m->write, &input);
    struct wrapped *w = peft_write_wrap(o, writing_map(o->m, map, stack, site, layer));
    size_t n = (size_t)tap_width(&o->m->arch, m->write);
    w->input = input;
    writing_add(&o->to, xprintf("base_model.model.%s.ia3_l", w->module), input ? 1 : n, input ? n : 1,
                slot_values(o, module, SLOT_CHANNEL, stack, site, layer));
}

static void add_vera(struct out *o, int module, int stack, int site, int layer) {
    const struct module *m = &o->plan->method.module[module];
    struct wrapped *w = peft_write_wrap(o, writing_map(o->m, m->write, stack, site, layer));
    w->rank = m->size;
    if (m->dropout > o->dropout) o->dropout = m->dropout;
    writing_add(&o->to, xprintf("base_model.model.%s.vera_lambda_d", w->module), 0, (size_t)m->size,
                slot_values(o, module, SLOT_INNER, stack, site, layer));
    writing_add(&o->to, xprintf("base_model.model.%s.vera_lambda_b", w->module), 0, (size_t)tap_width(&o->m->arch, m->write),
                slot_values(o, module, SLOT_OUTER, stack, site, layer));
}

static void add_adalora(struct out *o, int module, int stack, int site, int layer) {
    const struct module *m = &o->plan->method.module[module];
    struct wrapped *w = peft_write_wrap(o, writing_map(o->m, m->write, stack, site, layer));
    double s = m->comp == COMP_SCALED    ? m->scale
               : m->comp == COMP_LEARNED ? (double)*slot_values(o, module, SLOT_SCALE, stack, site, layer)
                                         : 1;
    size_t rank = (size_t)m->size;
    w->rank = m->size;
    w->alpha = s * (m->size + 1e-5);
    if (m->dropout > o->dropout) o->dropout = m->dropout;
    writing_add(&o->to, xprintf("base_model.model.%s.lora_A", w->module), rank, (size_t)tap_width(&o->m->arch, m->read),
                slot_values(o, module, SLOT_DOWN_W, stack, site, layer));
    writing_add(&o->to, xprintf("base_model.model.%s.lora_E", w->module), rank, 1,
                slot_values(o, module, SLOT_SINGULAR, stack, site, layer));
    writing_add(&o->to, xprintf("base_model.model.%s.lora_B", w->module), (size_t)tap_width(&o->m->arch, m->write), rank,
                slot_values(o, module, SLOT_UP_W, stack, site, layer));
}

/* What is one for all places, unless the config that it came with leaves it out. */
static void add_vera_projection(struct out *o, const char *origin) {
    static const char *const names[] = { "base_model.vera_A", "base_model.vera_B" };
    json_t *c = origin ? json_loads(origin, 0, NULL) : NULL;
    for (int i = 0; i < 2 && o->type == PEFT_VERA && !json_is_false(json_object_get(c, "save_projection")); i++) {
        const struct plan_tensor *t = plan_network(o->plan, i ? SLOT_PROJECTION_B : SLOT_PROJECTION_A);
        writing_add(&o->to, xstrdup(names[i]), (size_t)t->rows, (size_t)t->cols, o->params + t->offset);
    }
    if (c) json_decref(c);
}

static void peft_write_add_module(struct out *o, int module) {
    const struct module *m = &o->plan->method.module[module];
    struct span span[SPANS];
    int n = module_spans(m, &o->m->arch, span);
    for (int k = 0; k < n; k++)
        for (int layer = span[k].first; layer < span[k].end; layer++) {
            if (m->fn == FN_LINEAR || m->fn == FN_DECOMPOSED) add_lora(o, module, span[k].stack, span[k].site, layer);
            if (m->fn == FN_LOOKUP) peft_write_add_lookup(o, module, span[k].stack);
            if (m->fn == FN_SVD) add_adalora(o, module, span[k].stack, span[k].site, layer);
            if (m->fn == FN_PROJECTED) add_vera(o, module, span[k].stack, span[k].site, layer);
            if (m->fn == FN_SCALE) add_scale(o, module, span[k].stack, span[k].site, layer);
        }
}

static bool is_wrapped(const struct out *o, const char *name, size_t n) {
    for (size_t i = 0; i < o->count; i++)
        if (strlen(o->wrapped[i].module) == n && !strncmp(o->wrapped[i].module, name, n)) return true;
    return false;
}

static void save_module(struct out *o, const char *name, size_t n) {
    for (size_t i = 0; i < o->saves; i++)
        if (strlen(o->saved[i]) == n && !strncmp(o->saved[i], name, n)) return;
    GROW(o->saved, o->saves_room, o->saves + 1);
    o->saved[o->saves++] = xstrndup(name, n);
}

static void add_norm(struct out *o, const struct tensor_info *of, const real *v) {
    char *name = xprintf("%s%s", family_prefix(o->m->arch.family), of->name), *part = strrchr(name, '.');
    size_t module = (size_t)(part - name);
    writing_add(&o->to, xprintf("base_model.model.%.*s.ln_tuning_layers.%s", (int)module, name, part + 1), 0, (size_t)of->cols, v);
    if (!is_wrapped(o, name, module)) peft_write_wrap(o, xstrndup(name, module));
    free(name);
}

/* A tensor of the model that a bias or full module trains; what is as in the base is not written, but for biases. */
static void add_own(struct out *o, const struct plan_tensor *t) {
    const struct tensor_info *of = &o->m->tensor[t->tensor];
    const real *v = o->params + t->offset;
    bool full = o->plan->method.module[t->module].fn == FN_FULL;
    if (o->type == PEFT_LN) {
        add_norm(o, of, v);
        return;
    }
    if (full && !memcmp(v, o->m->weight[t->tensor], t->count * sizeof *v)) return;
    char *name = xprintf("%s%s", family_prefix(o->m->arch.family), of->name);
    size_t module = (size_t)(strrchr(name, '.') - name);
    bool wrapped = !full && is_wrapped(o, name, module);
    if (full) save_module(o, name, module);
    else if (wrapped) o->biases = true;
    else o->other_biases = true;
    char *own = wrapped ? xprintf("base_model.model.%.*s.base_layer.bias", (int)module, name) : xprintf("base_model.model.%s", name);
    writing_add(&o->to, own, of->vector ? 0 : (size_t)of->rows, (size_t)of->cols, v);
    free(name);
}

/* The other half of a map that is saved whole. */
static void add_halves(struct out *o) {
    const char *before = family_prefix(o->m->arch.family);
    for (int i = 0; i < o->m->tensors; i++) {
        const struct tensor_info *t = &o->m->tensor[i];
        char *name = xprintf("%s%s", before, t->name), *full = xprintf("base_model.model.%s", name);
        bool saved = false;
        for (size_t k = 0; k < o->saves; k++)
            saved = saved || (strlen(o->saved[k]) == (size_t)(strrchr(name, '.') - name) &&
                              !strncmp(o->saved[k], name, strlen(o->saved[k])));
        for (size_t k = 0; k < o->to.tensors && saved; k++) saved = strcmp(o->to.tensor[k].name, full) != 0;
        if (saved) writing_add(&o->to, full, t->vector ? 0 : (size_t)t->rows, (size_t)t->cols, o->m->weight[i]);
        else free(full);
        free(name);
    }
}

static void peft_write_add_head(struct out *o) {
    bool two = plan_head(o->plan, 0, SLOT_POOLER_W) && !o->m->arch.pooler;
    const struct {
        enum slot slot;
        const char *name;
        bool vector;
    } parts[] = {
        { SLOT_POOLER_W, two ? "classifier.dense.weight" : "bert.pooler.dense.weight", false },
        { SLOT_POOLER_B, two ? "classifier.dense.bias" : "bert.pooler.dense.bias", true },
        { SLOT_HEAD_W, two ? "classifier.out_proj.weight" : "classifier.weight", false },
        { SLOT_HEAD_B, two ? "classifier.out_proj.bias" : "classifier.bias", true },
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct plan_tensor *t = plan_head(o->plan, 0, parts[i].slot);
        if (!t) continue;
        if (parts[i].slot == SLOT_POOLER_W && !two) save_module(o, "pooler", strlen("pooler"));
        writing_add(&o->to, xprintf("base_model.%s%s", peft_is_prompt(o->type) ? "" : "model.", parts[i].name),
                    parts[i].vector ? 0 : (size_t)t->rows,
                    (size_t)t->cols, o->params + t->offset);
    }
    if (plan_head(o->plan, 0, SLOT_HEAD_W)) save_module(o, "classifier", strlen("classifier"));
}

/* ---- the config ---- */

static json_t *peft_write_names(const struct out *o, bool inputs) {
    json_t *list = json_array();
    for (size_t i = 0; i < o->count; i++)
        if (!inputs || o->wrapped[i].input) json_array_append_new(list, json_string(o->wrapped[i].module));
    return list;
}

static json_t *saved(const struct out *o) {
    json_t *list = json_array();
    for (size_t i = 0; i < o->saves; i++) json_array_append_new(list, json_string(o->saved[i]));
    if (o->saves) return list;
    json_decref(list);
    return json_null();
}

static bool is_whole(double x) { return fabs(x - round(x)) < 1e-9 * fabs(x); }

/* Whether α is over the root of r: a whole number at every place then, and not as it is. */
static bool is_by_root(const struct out *o) {
    bool plain = true, root = true;
    for (size_t i = 0; i < o->count; i++) {
        plain = plain && is_whole(o->wrapped[i].alpha);
        root = root && is_whole(o->wrapped[i].alpha / sqrt(o->wrapped[i].rank));
    }
    return root && !plain;
}

/* α as a whole number where it is one but for rounding. */
static json_t *peft_write_number(double alpha) {
    return is_whole(alpha) ? json_integer((json_int_t)round(alpha)) : json_real(alpha);
}

static const char *bias_word(const struct out *o) { return o->other_biases ? "all" : o->biases ? "lora_only" : "none"; }

static void add_lora_keys(const struct out *o, json_t *c) {
    json_t *ranks = json_object(), *alphas = json_object();
    const struct wrapped *first = &o->wrapped[0];
    bool root = is_by_root(o);
    double alpha = first->alpha / (root ? sqrt(first->rank) : 1);
    for (size_t i = 1; i < o->count; i++) {
        const struct wrapped *w = &o->wrapped[i];
        double own = w->alpha / (root ? sqrt(w->rank) : 1);
        if (w->rank != first->rank) json_object_set_new(ranks, w->module, json_integer(w->rank));
        if (root ? fabs(own - alpha) > 1e-9 * fabs(alpha) : own != alpha)
            json_object_set_new(alphas, w->module, peft_write_number(own));
    }
    static const char *const nothing[] = { "layer_replication", "layers_pattern", "layers_to_transform", "megatron_config" };
    json_object_set_new(c, "r", json_integer(first->rank));
    json_object_set_new(c, "lora_alpha", peft_write_number(alpha));
    json_object_set_new(c, "lora_dropout", json_real(o->dropout));
    json_object_set_new(c, "bias", json_string(bias_word(o)));
    json_object_set_new(c, "rank_pattern", ranks);
    json_object_set_new(c, "alpha_pattern", alphas);
    json_object_set_new(c, "init_lora_weights", json_true());
    json_object_set_new(c, "loftq_config", json_object());
    json_object_set_new(c, "megatron_core", json_string("megatron.core"));
    json_object_set_new(c, "use_dora", o->dora ? json_true() : json_false());
    json_object_set_new(c, "use_rslora", root ? json_true() : json_false());
    for (size_t i = 0; i < COUNT_OF(nothing); i++) json_object_set_new(c, nothing[i], json_null());
}

static void add_vera_keys(const struct out *o, json_t *c) {
    int seed = 0;
    for (int i = 0; i < o->plan->method.count; i++)
        if (o->plan->method.module[i].fn == FN_PROJECTED) seed = o->plan->method.module[i].seed;
    json_object_set_new(c, "r", json_integer(o->wrapped[0].rank));
    json_object_set_new(c, "d_initial", json_real(0.1));
    json_object_set_new(c, "projection_prng_key", json_integer(seed));
    json_object_set_new(c, "save_projection", json_true());
    json_object_set_new(c, "vera_dropout", json_real(o->dropout));
    json_object_set_new(c, "bias", json_string(bias_word(o)));
    json_object_set_new(c, "init_weights", json_true());
    json_object_set_new(c, "layers_pattern", json_null());
    json_object_set_new(c, "layers_to_transform", json_null());
}

/* Places of several ranks are told by which of the largest rank's values each has. */
static json_t *masks(const struct out *o, int most) {
    json_t *all = json_object();
    for (size_t i = 0; i < o->count; i++) {
        json_t *mask = json_array();
        for (int k = 0; k < most; k++) json_array_append_new(mask, json_boolean(k < o->wrapped[i].rank));
        char *key = xprintf("%s.lora_E", o->wrapped[i].module);
        json_object_set_new(all, key, mask);
        free(key);
    }
    return all;
}

static void add_adalora_keys(const struct out *o, json_t *c) {
    const struct budget *b = &o->plan->method.budget;
    int most = 0;
    bool alike = true;
    for (size_t i = 0; i < o->count; i++) {
        most = o->wrapped[i].rank > most ? o->wrapped[i].rank : most;
        alike = alike && o->wrapped[i].rank == o->wrapped[0].rank;
    }
    json_object_set_new(c, "r", json_integer(8));
    json_object_set_new(c, "init_r", json_integer(most));
    json_object_set_new(c, "target_r", json_integer(b->on ? b->target : most));
    json_object_set_new(c, "tinit", json_integer(b->begin));
    json_object_set_new(c, "tfinal", json_integer(b->end));
    json_object_set_new(c, "deltaT", json_integer(b->on ? b->every : 1));
    json_object_set_new(c, "beta1", json_real(b->on ? b->beta1 : 0.85));
    json_object_set_new(c, "beta2", json_real(b->on ? b->beta2 : 0.85));
    json_object_set_new(c, "orth_reg_weight", json_real(b->on ? b->orthogonal : 0.5));
    json_object_set_new(c, "total_step", json_integer(b->begin + b->end + 1)); /* the library wants one */
    json_object_set_new(c, "lora_alpha", peft_write_number(o->wrapped[0].alpha));
    json_object_set_new(c, "lora_dropout", json_real(o->dropout));
    json_object_set_new(c, "bias", json_string(bias_word(o)));
    json_object_set_new(c, "rank_pattern", alike ? json_null() : masks(o, most));
    json_object_set_new(c, "init_lora_weights", json_true());
}

/* One alpha is for all places there. */
static int check_alphas(const struct out *o, struct err *e) {
    for (size_t i = 1; i < o->count && o->type == PEFT_ADALORA; i++)
        if (fabs(o->wrapped[i].alpha - o->wrapped[0].alpha) > 1e-6 * fabs(o->wrapped[0].alpha))
            return err_set(e, ERR_USAGE, "cannot be written for PEFT: its AdaLoRA has one alpha for all places, and %s has %g "
                                         "where %s has %g",
                           o->wrapped[i].module, o->wrapped[i].alpha, o->wrapped[0].module, o->wrapped[0].alpha);
    return 0;
}

/* Of what changes maps. */
static void add_map_keys(const struct out *o, json_t *c) {
    if (o->type != PEFT_LN) json_object_set_new(c, "fan_in_fan_out", json_false());
    json_object_set_new(c, "modules_to_save", saved(o));
    json_object_set_new(c, "target_modules", peft_write_names(o, false));
    if (o->type == PEFT_LORA) add_lora_keys(o, c);
    else if (o->type == PEFT_VERA) add_vera_keys(o, c);
    else if (o->type == PEFT_ADALORA) add_adalora_keys(o, c);
    else if (o->type == PEFT_IA3) {
        json_object_set_new(c, "feedforward_modules", peft_write_names(o, true));
        json_object_set_new(c, "init_ia3_weights", json_true());
    }
}

/* Takes `before` out of a name, where it has it after `root`. */
static void cut_name(char *name, const char *root, const char *before) {
    size_t n = strlen(root), m = strlen(before);
    if (text_starts(name, root) && text_starts(name + n, before)) memmove(name + n, name + n + m, strlen(name + n + m) + 1);
}

/* A model class without a head has its tensors' names without the family's prefix: those of the tensors, wrapped and saved modules. */
static void drop_prefix(struct out *o) {
    const char *before = family_prefix(o->m->arch.family);
    for (size_t i = 0; i < o->to.tensors; i++) cut_name((char *)(uintptr_t)o->to.tensor[i].name, "base_model.model.", before);
    for (size_t i = 0; i < o->count; i++) cut_name(o->wrapped[i].module, "", before);
    for (size_t i = 0; i < o->saves; i++) cut_name(o->saved[i], "", before);
}

static char *peft_write_config_text(const struct out *o) {
    json_t *c = json_object();
    json_object_set_new(c, "peft_type", json_string(peft_type_name(o->type)));
    const char *task = arch_generates(&o->m->arch) ? "SEQ_2_SEQ_LM" : o->vectors ? "FEATURE_EXTRACTION" : "SEQ_CLS";
    json_object_set_new(c, "task_type", json_string(task));
    json_object_set_new(c, "base_model_name_or_path", json_string(o->base));
    json_object_set_new(c, "auto_mapping", json_null());
    json_object_set_new(c, "revision", json_null());
    json_object_set_new(c, "inference_mode", json_true());
    if (peft_is_prompt(o->type)) peft_prompt_keys(c, o->plan, o->m);
    else add_map_keys(o, c);
    char *text = json_dumps(c, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(c);
    return text;
}

/* ---- writing ---- */

/* Where they have names: nothing else in such a folder tells them. */
static int peft_write_classes(const struct predictor *p, const char *folder, struct err *e) {
    int n = predictor_labels(p);
    const char **label = xcalloc((size_t)n + 1, sizeof *label);
    for (int i = 0; i < n; i++) label[i] = predictor_label(p, i);
    json_t *names = json_object();
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        json_object_set_new(names, id, json_string(label[i]));
    }
    bool all = json_object_size(names) == (size_t)n; /* a name that is not UTF-8 cannot be written */
    char *text = json_dumps(json_object_get(names, "0") ? names : NULL, 0);
    int rc = 0;
    if (n && all && text && !labels_unnamed(label, n)) {
        char *path = file_join(folder, PEFT_NAMES_FILE), *whole = xprintf("{\"id2label\": %s}\n", text);
        rc = file_write(path, whole, strlen(whole), e);
        free(path);
        free(whole);
    }
    free(text);
    free(label);
    json_decref(names);
    return rc;
}

static int peft_write_files(struct out *o, const char *config, const char *folder, struct err *e) {
    char *path = file_join(folder, "adapter_model.safetensors"), *json = file_join(folder, "adapter_config.json");
    const struct st_pair meta = { "format", "pt" };
    int rc = writing_order(&o->to, "PEFT", e);
    if (!rc) rc = export_folder(folder, e);
    if (!rc) rc = st_save(path, o->to.tensor, o->to.tensors, &meta, 1, e);
    if (!rc) rc = file_write(json, config, strlen(config), e);
    if (rc && rc != ERR_USAGE) {
        unlink(path);
        rmdir(folder);
    }
    free(path);
    free(json);
    return rc;
}

/* Whether the config that the values came with still says what they are: it does not where a pooler's LoRA was folded
 * into the pooler. */
static bool origin_holds(const struct out *o, const char *origin) {
    json_t *c = origin ? json_loads(origin, 0, NULL) : NULL;
    const char *type = json_string_value(json_object_get(c, "peft_type"));
    bool flat = o->type == PEFT_PROMPT && type && !strcmp(type, peft_type_name(PEFT_P_TUNING)), pooler = false;
    bool holds = type && (flat || !strcmp(type, peft_type_name(o->type)));
    const json_t *list = json_object_get(c, "modules_to_save"), *v;
    size_t i;
    json_array_foreach(list, i, v) pooler = pooler || (json_is_string(v) && strstr(json_string_value(v), "pooler"));
    const char *task = json_string_value(json_object_get(c, "task_type"));
    if (o->vectors) holds = holds && task && !strcmp(task, "FEATURE_EXTRACTION");
    for (size_t k = 0; k < o->saves; k++) holds = holds && (pooler || !strstr(o->saved[k], "pooler"));
    if (c) json_decref(c);
    return holds;
}

int export_peft(struct predictor *p, const char *base, const char *folder, struct err *e) {
    const char *origin = predictor_origin(p);
    int rc = predictor_make_plain(p, e);
    int prompt = rc ? -1 : peft_prompt_of(&predictor_plan(p)->method);
    if (rc) return rc;
    struct out o = { .plan = predictor_plan(p), .m = predictor_model(p), .params = predictor_params(p), .base = base,
                     .vectors = predictor_is_headless(p) };
    rc = peft_write_check(&o, e);
    if (rc) return rc;
    real *made = prompt < 0 ? NULL : peft_prompt_write(&o.to, o.plan, o.m, o.params);
    for (int i = 0; i < o.plan->method.count && prompt < 0; i++) peft_write_add_module(&o, i);
    for (int i = 0; i < o.plan->tensors; i++)
        if (o.plan->tensor[i].kind == PLAN_MODEL) add_own(&o, &o.plan->tensor[i]);
    add_halves(&o);
    add_vera_projection(&o, origin);
    peft_write_add_head(&o);
    if (o.vectors) drop_prefix(&o);
    rc = check_alphas(&o, e);
    char *config = origin_holds(&o, origin) ? xstrdup(origin) : peft_write_config_text(&o);
    if (!rc) rc = peft_write_files(&o, config, folder, e);
    if (!rc) rc = peft_write_classes(p, folder, e);
    free(config);
    free(made);
    for (size_t i = 0; i < o.count; i++) free(o.wrapped[i].module);
    for (size_t i = 0; i < o.saves; i++) free(o.saved[i]);
    writing_release(&o.to);
    free(o.wrapped);
    free(o.saved);
    for (int i = 0; i < 2; i++) free(o.rows[i]);
    return rc;
}
