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

/* A map with LoRA or IA3. */
struct wrapped {
    char *module; /* its name in the base model */
    int rank;
    double alpha;
    bool input; /* of IA3: size of the layer's input */
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
    char **saved; /* modules that are stored in full */
    size_t saves, saves_room;
    bool biases, other_biases; /* rank and alpha of wrapped maps, and of anything else */
    struct peft_values values;
    bool vectors; /* without a head: for a model class without one */
};

/* ---- what can be written ---- */

/* Returns the form in which a module is written: that of its map, or any of its function; NULL: none. */
static const struct peft_form *form_of(const struct module *m, bool any) {
    for (int i = 0; peft_form_at(i); i++) {
        const struct peft_form *f = peft_form_at(i);
        if (f->fn == m->fn && (any || f->fn == FN_LOOKUP || peft_form_map(f, m->write) != TAP_NONE)) return f;
    }
    return NULL;
}

static const char *why_not(const struct module *m) {
    if (m->source != SOURCE_FREE && m->source != SOURCE_SHARED) return "its weights are generated";
    if (m->fn == FN_SCALE)
        return form_of(m, false) ? NULL : "IA3 scales the input or output of a linear layer";
    if (m->fn == FN_LOOKUP || (module_in_weight(m) && m->fn != FN_MASKED)) return NULL;
    if (!form_of(m, true)) return "PEFT has no equivalent; use --to petri";
    if (m->comp == COMP_CHANNEL || m->comp == COMP_GATE)
        return "its scale is per channel or depends on the input";
    if (m->length != LENGTH_MAP)
        return "its norm includes the bias (length=output), which PEFT does not support; use --to hub";
    return module_is_map(m) ? NULL
                            : "it spans more than one linear layer, and LoRA is parallel to exactly one";
}

static bool is_of_norms(const struct module *m) {
    bool tap = m->target == TARGET_TAP &&
               (m->write == TAP_A_END || m->write == TAP_F_END || m->write == TAP_EMBED);
    return m->fn == FN_FULL && (m->target == TARGET_NORMS || tap);
}

static bool norms_alone(const struct plan *p) {
    for (int i = 0; i < p->method.count; i++)
        if (!is_of_norms(&p->method.module[i])) return false;
    return p->method.count > 0;
}

static int check_written_prompt(struct out *o, int module, struct err *e) {
    const char *why = peft_prompt_why_not(&o->plan->method, &o->m->arch);
    if (!why && !classifier_is_standard(&o->plan->method, &o->m->arch))
        why = "the classifier differs from that of the model's class";
    if (why) return err_set(e, ERR_USAGE, "cannot be written for PEFT: module %d (%s): %s", module + 1,
                            function_of(&o->plan->method.module[module])->name, why);
    o->type = o->plan->method.module[module].fn == FN_SOFTMAX ? PEFT_PREFIX : PEFT_PROMPT;
    return 0;
}

static int peft_write_check(struct out *o, struct err *e) {
    bool dora[2] = { false }; /* low-rank changes without and with decomposition */
    unsigned types = 0;
    int prompt = peft_prompt_of(&o->plan->method);
    if (prompt >= 0) return check_written_prompt(o, prompt, e);
    for (int i = 0; i < o->plan->method.count; i++) {
        const struct module *m = &o->plan->method.module[i];
        const struct peft_form *f = form_of(m, true);
        const char *why = why_not(m);
        if (why)
            return err_set(e, ERR_USAGE, "cannot be written for PEFT: module %d (%s): %s", i + 1,
                           function_of(m)->name, why);
        if (!f) continue;
        o->type = f->type;
        types |= 1u << f->type;
        if (f->type == PEFT_LORA) dora[f->fn == FN_DECOMPOSED] = true;
    }
    if (o->plan->per_example)
        return err_set(e, ERR_USAGE, "cannot be written for PEFT: weights are generated per example");
    if (!classifier_is_standard(&o->plan->method, &o->m->arch))
        return err_set(
            e, ERR_USAGE,
            "cannot be written for PEFT: the classifier differs from that of the model's class");
    if ((types & (types - 1)) || (dora[0] && dora[1]))
        return err_set(
            e, ERR_USAGE,
            "cannot be written for PEFT: one adapter cannot combine %s; train and export them as two runs",
            types >> PEFT_IA3 & 1 ? "LoRA and IA3" : "two forms of low-rank changes");
    if (!types && !norms_alone(o->plan))
        return err_set(
            e, ERR_USAGE,
            "cannot be written for PEFT: no LoRA and no scale in the method; use --to hf for a merged model");
    if (!types) o->type = PEFT_LN;
    o->values.dora = dora[1];
    return 0;
}

/* ---- tensors ---- */

static struct wrapped *wrap(struct out *o, char *module) {
    GROW(o->wrapped, o->wrapped_room, o->count + 1);
    struct wrapped *w = &o->wrapped[o->count++];
    *w = (struct wrapped){ .module = module };
    return w;
}

/* Returns the word embedding of a stack, by its name in the base model. */
static char *words_name(const struct out *o, int stack) {
    int i = arch_find(o->m->tensor, o->m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    const char *name = o->m->tensor[i].name, *before = family_prefix(o->m->arch.family);
    if (arch_generates(&o->m->arch))
        return xprintf("%s%s.embed_tokens", before, stack_name(stack)); /* one name per stack */
    return xprintf("%s%.*s", before, (int)(strlen(name) - strlen(".weight")), name);
}

static void add_place(struct out *o, const struct peft_form *f, int module, int stack, int site, int layer) {
    const struct module *m = &o->plan->method.module[module];
    const struct plan_tensor *learned = plan_slot(o->plan, module, SLOT_SCALE, stack, site, layer);
    struct wrapped *w = wrap(o, f->fn == FN_LOOKUP ? words_name(o, stack)
                                                   : writing_map(o->m, peft_form_map(f, m->write),
                                                                 stack, site, layer));
    double s = m->comp == COMP_SCALED ? m->scale : learned ? (double)o->params[learned->offset] : 1;
    w->input = f->input;
    w->rank = m->size;
    w->alpha = s * peft_over(o->type, m->size, false);
    if (f->fn == FN_LOOKUP && o->m->arch.embed_scale) w->alpha /= sqrt(o->m->arch.width);
    if (m->dropout > o->values.dropout) o->values.dropout = m->dropout;
    o->values.seed = m->seed;
    for (const struct file_part *p = f->part; p < f->part + FORM_PARTS && p->name; p++)
        writing_part(&o->to, xprintf("base_model.model.%s.%s", w->module, p->name), p,
                     plan_slot(o->plan, module, p->slot, stack, site, layer), o->params, 0);
}

/* Writes shared tensors, unless the config stored at import excludes them. */
static void add_vera_projection(struct out *o, const char *origin) {
    static const char *const names[] = { "base_model.vera_A", "base_model.vera_B" };
    json_t *c = origin ? json_loads(origin, 0, NULL) : NULL;
    for (int i = 0; i < 2 && o->type == PEFT_VERA && !json_is_false(json_object_get(c, "save_projection"));
         i++) {
        const struct plan_tensor *t = plan_network(o->plan, i ? SLOT_PROJECTION_B : SLOT_PROJECTION_A);
        writing_add(&o->to, xstrdup(names[i]), (size_t)t->rows, (size_t)t->cols, o->params + t->offset);
    }
    json_decref(c);
}

static void add_module(struct out *o, int module) {
    const struct module *m = &o->plan->method.module[module];
    const struct peft_form *f = form_of(m, false);
    struct span span[SPANS];
    int n = f ? module_spans(m, &o->m->arch, span) : 0;
    for (int k = 0; k < n; k++)
        for (int layer = span[k].first; layer < span[k].end; layer++)
            add_place(o, f, module, span[k].stack, span[k].site, layer);
}

static bool is_name(const char *x, const char *name, size_t n) {
    return strlen(x) == n && !strncmp(x, name, n);
}

static bool is_wrapped(const struct out *o, const char *name, size_t n) {
    for (size_t i = 0; i < o->count; i++)
        if (is_name(o->wrapped[i].module, name, n)) return true;
    return false;
}

static void save_module(struct out *o, const char *name, size_t n) {
    for (size_t i = 0; i < o->saves; i++)
        if (is_name(o->saved[i], name, n)) return;
    GROW(o->saved, o->saves_room, o->saves + 1);
    o->saved[o->saves++] = xstrndup(name, n);
}

static void add_norm(struct out *o, const struct tensor_info *of, const real *v) {
    char *name = xprintf("%s%s", family_prefix(o->m->arch.family), of->name), *part = strrchr(name, '.');
    size_t module = (size_t)(part - name);
    writing_add(&o->to, xprintf("base_model.model.%.*s.ln_tuning_layers.%s", (int)module, name, part + 1), 0,
                (size_t)of->cols, v);
    if (!is_wrapped(o, name, module)) wrap(o, xstrndup(name, module));
    free(name);
}

/* Writes a tensor of the model that a bias or full module trains; unchanged tensors are omitted, except
 * biases. */
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
    char *own = wrapped ? xprintf("base_model.model.%.*s.base_layer.bias", (int)module, name)
                        : xprintf("base_model.model.%s", name);
    writing_add(&o->to, own, of->vector ? 0 : (size_t)of->rows, (size_t)of->cols, v);
    free(name);
}

/* Writes the other tensor of a map that is stored in full. */
static void add_halves(struct out *o) {
    const char *before = family_prefix(o->m->arch.family);
    for (int i = 0; i < o->m->tensors; i++) {
        const struct tensor_info *t = &o->m->tensor[i];
        char *name = xprintf("%s%s", before, t->name), *full = xprintf("base_model.model.%s", name);
        bool saved = false;
        for (size_t k = 0; k < o->saves; k++)
            saved = saved || is_name(o->saved[k], name, (size_t)(strrchr(name, '.') - name));
        for (size_t k = 0; k < o->to.tensors && saved; k++) saved = strcmp(o->to.tensor[k].name, full) != 0;
        if (saved)
            writing_add(&o->to, full, t->vector ? 0 : (size_t)t->rows, (size_t)t->cols, o->m->weight[i]);
        else free(full);
        free(name);
    }
}

static void add_head(struct out *o) {
    bool two = plan_head(o->plan, 0, SLOT_POOLER_W) && !o->m->arch.pooler;
    for (int i = 0; i < o->plan->tensors; i++) {
        const struct plan_tensor *t = &o->plan->tensor[i];
        const char *name = t->kind == PLAN_HEAD ? writing_head(t->name, two) : NULL;
        if (!name) continue;
        const char *module = strstr(name, "pooler") ? "pooler" : "classifier";
        save_module(o, module, strlen(module));
        writing_add(&o->to, xprintf("base_model.%s%s", peft_is_prompt(o->type) ? "" : "model.", name),
                    text_ends(name, ".bias") ? 0 : (size_t)t->rows, (size_t)t->cols, o->params + t->offset);
    }
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

/* Returns whether α is relative to the root of r: if it is then an integer at every place, and otherwise
 * not. */
static bool is_by_root(const struct out *o) {
    bool plain = true, root = true;
    for (size_t i = 0; i < o->count; i++) {
        plain = plain && is_whole(o->wrapped[i].alpha);
        root = root && is_whole(o->wrapped[i].alpha / sqrt(o->wrapped[i].rank));
    }
    return root && !plain;
}

static const char *bias_word(const struct out *o) {
    return o->other_biases ? "all" : o->biases ? "lora_only" : "none";
}

static json_t *lora_keys(struct out *o) {
    json_t *ranks = json_object(), *alphas = json_object();
    const struct wrapped *first = &o->wrapped[0];
    bool root = o->values.root = is_by_root(o);
    double alpha = o->values.alpha = first->alpha / (root ? sqrt(first->rank) : 1);
    for (size_t i = 1; i < o->count; i++) {
        const struct wrapped *w = &o->wrapped[i];
        double own = w->alpha / (root ? sqrt(w->rank) : 1);
        if (w->rank != first->rank) json_object_set_new(ranks, w->module, json_integer(w->rank));
        if (root ? fabs(own - alpha) > 1e-9 * fabs(alpha) : own != alpha)
            json_object_set_new(alphas, w->module, peft_number(own));
    }
    return json_pack("{s:i,s:o,s:o}", "r", first->rank, "rank_pattern", ranks, "alpha_pattern", alphas);
}

/* Places with different ranks are distinguished by their patterns. */
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

static json_t *adalora_keys(struct out *o) {
    const struct budget none = { .every = 1, .beta1 = 0.85, .beta2 = 0.85, .orthogonal = 0.5 },
                        *own = &o->plan->method.budget, *b = own->on ? own : &none;
    int most = 0;
    bool alike = true;
    for (size_t i = 0; i < o->count; i++) {
        most = o->wrapped[i].rank > most ? o->wrapped[i].rank : most;
        alike = alike && o->wrapped[i].rank == o->wrapped[0].rank;
    }
    o->values.alpha = o->wrapped[0].alpha;
    return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:f,s:f,s:f,s:i,s:o}", "r", 8, "init_r", most, "target_r",
                     b->on ? b->target : most, "tinit", own->begin, "tfinal", own->end, "deltaT", b->every,
                     "beta1", b->beta1, "beta2", b->beta2, "orth_reg_weight", b->orthogonal, "total_step",
                     own->begin + own->end + 1, /* required by the library */
                     "rank_pattern", alike ? json_null() : masks(o, most));
}

/* One alpha for all places. */
static int check_alphas(const struct out *o, struct err *e) {
    for (size_t i = 1; i < o->count && o->type == PEFT_ADALORA; i++)
        if (fabs(o->wrapped[i].alpha - o->wrapped[0].alpha) > 1e-6 * fabs(o->wrapped[0].alpha))
            return err_set(e, ERR_USAGE,
                           "cannot be written for PEFT: AdaLoRA has one lora_alpha for all target modules, "
                           "but %s has %g and %s has "
                           "%g",
                           o->wrapped[i].module, o->wrapped[i].alpha, o->wrapped[0].module,
                           o->wrapped[0].alpha);
    return 0;
}

/* The config of methods that change maps. */
static json_t *map_keys(struct out *o) {
    json_t *c = o->type == PEFT_LORA      ? lora_keys(o)
                : o->type == PEFT_ADALORA ? adalora_keys(o)
                : o->type == PEFT_VERA    ? json_pack("{s:i}", "r", o->wrapped[0].rank)
                : o->type == PEFT_IA3 ? json_pack("{s:o}", "feedforward_modules", peft_write_names(o, true))
                                      : json_object();
    if (o->type != PEFT_LN && o->type != PEFT_IA3) json_object_set_new(c, "bias", json_string(bias_word(o)));
    json_object_set_new(c, "modules_to_save", saved(o));
    json_object_set_new(c, "target_modules", peft_write_names(o, false));
    return c;
}

/* Removes `before` from a name where it follows `root`. */
static void cut_name(char *name, const char *root, const char *before) {
    size_t n = strlen(root), m = strlen(before);
    if (text_starts(name, root) && text_starts(name + n, before))
        memmove(name + n, name + n + m, strlen(name + n + m) + 1);
}

/* A model class without a head has tensor names without the family's prefix: rename tensors, wrapped and
 * stored modules. */
static void drop_prefix(struct out *o) {
    const char *before = family_prefix(o->m->arch.family);
    for (size_t i = 0; i < o->to.tensors; i++)
        cut_name((char *)(uintptr_t)o->to.tensor[i].name, "base_model.model.", before);
    for (size_t i = 0; i < o->count; i++) cut_name(o->wrapped[i].module, "", before);
    for (size_t i = 0; i < o->saves; i++) cut_name(o->saved[i], "", before);
}

static char *config_text(struct out *o) {
    const char *task = arch_generates(&o->m->arch) ? "SEQ_2_SEQ_LM"
                       : o->vectors                ? "FEATURE_EXTRACTION"
                                                   : "SEQ_CLS";
    if (peft_is_prompt(o->type)) o->values.rows = o->plan->method.module[0].size;
    json_t *own = peft_is_prompt(o->type) ? peft_prompt_keys(o->plan, o->m) : map_keys(o),
           *c = peft_write_values(o->type, &o->values);
    json_object_update_new(c, own);
    json_object_update_new(c, json_pack("{s:s,s:s,s:s*}", "peft_type", peft_type_name(o->type), "task_type",
                                        task, "base_model_name_or_path", o->base));
    char *text = json_dumps(c, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(c);
    return text;
}

/* ---- writing ---- */

/* Writes the class names, which such a folder has nowhere else. */
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
    static const char *const files[] = { "adapter_model.safetensors", ADAPTER_CONFIG, NULL };
    char *path = file_join(folder, files[0]), *json = file_join(folder, files[1]);
    const struct st_pair meta = { "format", "pt" };
    int rc = writing_order(&o->to, "PEFT", e);
    if (!rc) rc = export_folder(folder, e);
    if (!rc) rc = st_save(path, o->to.tensor, o->to.tensors, &meta, 1, e);
    if (!rc) rc = file_write(json, config, strlen(config), e);
    if (rc && rc != ERR_USAGE) export_undo(folder, files);
    free(path);
    free(json);
    return rc;
}

/* Returns whether the config stored at import still describes the values; it does not if a pooler's LoRA was
 * merged into the pooler. */
static bool origin_holds(const struct out *o, const char *origin) {
    json_t *c = origin ? json_loads(origin, 0, NULL) : NULL;
    const char *type = json_string_value(json_object_get(c, "peft_type"));
    bool flat = o->type == PEFT_PROMPT && type && !strcmp(type, peft_type_name(PEFT_P_TUNING)),
         pooler = false;
    bool holds = type && (flat || !strcmp(type, peft_type_name(o->type)));
    const json_t *list = json_object_get(c, "modules_to_save"), *v;
    size_t i;
    json_array_foreach(list, i, v)
        pooler = pooler || (json_is_string(v) && strstr(json_string_value(v), "pooler"));
    const char *task = json_string_value(json_object_get(c, "task_type"));
    if (o->vectors) holds = holds && task && !strcmp(task, "FEATURE_EXTRACTION");
    for (size_t k = 0; k < o->saves; k++) holds = holds && (pooler || !strstr(o->saved[k], "pooler"));
    json_decref(c);
    return holds;
}

int export_peft(struct predictor *p, const char *base, const char *folder, struct err *e) {
    const char *origin = predictor_origin(p);
    int rc = predictor_make_plain(p, e);
    int prompt = rc ? -1 : peft_prompt_of(&predictor_plan(p)->method);
    if (rc) return rc;
    struct out o = { .plan = predictor_plan(p),
                     .m = predictor_model(p),
                     .params = predictor_params(p),
                     .base = base,
                     .vectors = predictor_is_headless(p) };
    rc = peft_write_check(&o, e);
    if (rc) return rc;
    if (prompt >= 0) peft_prompt_write(&o.to, o.plan, o.m, o.params);
    for (int i = 0; i < o.plan->method.count && prompt < 0; i++) add_module(&o, i);
    for (int i = 0; i < o.plan->tensors; i++)
        if (o.plan->tensor[i].kind == PLAN_MODEL) add_own(&o, &o.plan->tensor[i]);
    add_halves(&o);
    add_vera_projection(&o, origin);
    add_head(&o);
    if (o.vectors) drop_prefix(&o);
    rc = check_alphas(&o, e);
    char *config = origin_holds(&o, origin) ? xstrdup(origin) : config_text(&o);
    if (!rc) rc = peft_write_files(&o, config, folder, e);
    if (!rc) rc = peft_write_classes(p, folder, e);
    free(config);
    for (size_t i = 0; i < o.count; i++) free(o.wrapped[i].module);
    for (size_t i = 0; i < o.saves; i++) free(o.saved[i]);
    writing_release(&o.to);
    free(o.wrapped);
    free(o.saved);
    return rc;
}
