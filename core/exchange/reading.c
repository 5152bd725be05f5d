#include "core/exchange/reading.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/writing.h"
#include "core/method/carry.h"
#include "core/method/classifier.h"
#include "core/train/run/head.h"

/* Returns the model's tensor with a name of the base model, or -1. */
static int find_tensor(const struct model *m, const char *name) {
    static const char *const before[] = { "", "bert.", "roberta.", "model.", "transformer." };
    for (size_t k = 0; k < COUNT_OF(before); k++) {
        if (!text_starts(name, before[k])) continue;
        for (int i = 0; i < m->tensors; i++)
            if (!strcmp(m->tensor[i].name, name + strlen(before[k]))) return i;
    }
    return -1;
}

/* Returns the map with this module name: the place of its weight, or NULL. */
const struct tensor_info *reading_map(const struct model *m, const char *module) {
    char *name = xprintf("%s.weight", module);
    int i = find_tensor(m, name);
    free(name);
    return i < 0 ? NULL : &m->tensor[i];
}

enum tap reading_tap(const struct tensor_info *t) {
    static const enum tap maps[] = { TAP_A_Q, TAP_A_K, TAP_A_V, TAP_A_OUT, TAP_F_PRE, TAP_F_UP, TAP_F_OUT };
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        if (tap_weight_role(maps[i]) == t->role) return maps[i];
    return TAP_NONE;
}

int reading_refuse(const struct adapter_reading *r, const struct bag_tensor *t, const char *why,
                   struct err *e) {
    return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\": %s", r->bag.path, t->name, why);
}

int reading_refuse_shape(const struct adapter_reading *r, const struct bag_tensor *t, const char *right,
                         struct err *e) {
    struct buf why = BUF_INIT;
    buf_puts(&why, t->rank ? "shape " : "a scalar");
    for (int i = 0; i < t->rank; i++) buf_printf(&why, "%s%zu", i ? " × " : "", t->shape[i]);
    buf_printf(&why, "; must be %s", right);
    if (text_ends(right, "hidden size")) buf_printf(&why, " (%d)", r->m->arch.width);
    int rc = reading_refuse(r, t, buf_text(&why), e);
    buf_release(&why);
    return rc;
}

void reading_release(struct adapter_reading *r) {
    for (int i = 0; r->label && i < r->classes; i++) free(r->label[i]);
    free(r->label);
    for (size_t i = 0; i < r->mades; i++) free(r->made[i]);
    free(r->made);
    assembly_release(&r->to);
    bag_release(&r->bag);
}

real *reading_room(struct adapter_reading *r, size_t n) {
    real *x = mem_try(n ? n : 1, sizeof *x);
    if (!x) return NULL;
    GROW(r->made, r->made_room, r->mades + 1);
    return r->made[r->mades++] = x;
}

int reading_shape(const struct adapter_reading *r, const struct bag_tensor *t, size_t rows, size_t cols,
                  struct err *e) {
    if (t->rank == 2 && t->shape[0] == rows && t->shape[1] == cols) return 0;
    if (!rows && t->rank == 1 && t->shape[0] == cols) return 0;
    if (!rows)
        return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\": must be a vector of size %zu, as in the model",
                       r->bag.path, t->name, cols);
    return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\": must be %zu × %zu, as in the model",
                   r->bag.path, t->name, rows, cols);
}

bool reading_copy(struct adapter_reading *r, struct bag_tensor *t) {
    static const char *const parts[] = { ".original_module.", ".modules_to_save." };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *at = strstr(t->name, parts[i]);
        if (!at) continue;
        char *own = xprintf("%.*s.%s", (int)(at - t->name), t->name, at + strlen(parts[i]));
        bool there = bag_find(&r->bag, own) != NULL;
        free(own);
        if (!there) return false;
        t->used = true;
        notes_add(&r->out->ignored, "%s", t->name);
        return true;
    }
    return false;
}

/* Layers of a head: one, one after a dense layer, one without a bias. */
enum head_layout { LAYOUT_LINEAR, LAYOUT_DENSE, LAYOUT_SCORE };

/* Names of the head's tensors in model classes with a head and in a plan. */
static const struct {
    const char *name, *as;
    enum head_layout layout;
    bool own; /* the model's tensor, which is not read as part of the head */
} heads[] = {
    { "classifier.weight", "head.weight", LAYOUT_LINEAR, false },
    { "classifier.bias", "head.bias", LAYOUT_LINEAR, false },
    { "classifier.out_proj.weight", "head.weight", LAYOUT_DENSE, false },
    { "classifier.out_proj.bias", "head.bias", LAYOUT_DENSE, false },
    { "classifier.dense.weight", "head.dense.weight", LAYOUT_DENSE, false },
    { "classifier.dense.bias", "head.dense.bias", LAYOUT_DENSE, false },
    { "bert.pooler.dense.weight", "head.pooler.weight", LAYOUT_LINEAR, true },
    { "bert.pooler.dense.bias", "head.pooler.bias", LAYOUT_LINEAR, true },
    { "score.weight", "head.weight", LAYOUT_SCORE, false },
};

const char *reading_head_name(const char *name) {
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        if (!strcmp(name, heads[i].name)) return heads[i].own ? NULL : heads[i].as;
    return NULL;
}

const char *writing_head(const char *as, const struct plan *p, const struct arch *a) {
    bool dense = plan_head(p, 0, SLOT_POOLER_W) && !a->pooler;
    enum head_layout layout = a->causal ? LAYOUT_SCORE : dense ? LAYOUT_DENSE : LAYOUT_LINEAR;
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        if (!strcmp(as, heads[i].as) && heads[i].layout == layout) return heads[i].name;
    return NULL;
}

int reading_head(struct adapter_reading *r, struct bag_tensor *t, const char *as, struct err *e) {
    if (arch_generates(&r->m->arch)) return reading_refuse(r, t, "belongs to a classification head, but "
                                                                 "the model generates text", e);
    if (!strcmp(as, "head.weight")) {
        if (t->rank != 2 || t->shape[1] != (size_t)r->m->arch.width || !t->shape[0] || t->shape[0] > 1 << 20)
            return reading_refuse_shape(r, t, "classes × hidden size", e);
        r->classes = (int)t->shape[0];
    }
    assembly_head(&r->to, as, t->values, t->count);
    t->used = true;
    return 0;
}

int reading_base(struct adapter_reading *r, struct bag_tensor *t, const char *name, struct err *e) {
    int i = find_tensor(r->m, name);
    if (i < 0) return reading_refuse(r, t, "the model has no such tensor", e);
    const struct tensor_info *at = &r->m->tensor[i];
    bool pooler = tensor_is_pooler(at);
    if (t->count != (size_t)at->rows * (size_t)at->cols || t->rank != (at->vector ? 1 : 2) ||
        (!at->vector && t->shape[0] != (size_t)at->rows))
        return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\": the shape must be %d × %d, as in the model",
                       r->bag.path, t->name, at->rows, at->cols);
    t->used = true;
    if (pooler && r->m->arch.pooler_absent)
        assembly_head(&r->to, at->role == ROLE_POOLER_W ? "head.pooler.weight" : "head.pooler.bias",
                      t->values, t->count);
    else if (!r->to.weight[i]) r->to.weight[i] = t->values;
    return 0;
}

/* ---- configs ---- */

json_t *reading_config(const char *folder, const char *file, char **path, char **text, struct err *e) {
    struct buf bytes = BUF_INIT;
    *path = file_join(folder, file);
    json_t *config = file_read(*path, CONFIG_BYTES, &bytes, e)
                         ? NULL
                         : json_parse(*path, buf_text(&bytes), bytes.size, e);
    *text = text_string(buf_text(&bytes), bytes.size);
    buf_release(&bytes);
    if (!config || json_is_object(config)) return config;
    err_set(e, ERR_INPUT, "%s: not a JSON object", *path);
    json_decref(config);
    return NULL;
}

char *reading_member(const char *folder, const char *file, const char *key) {
    struct err ignored = ERR_INIT;
    char *path = file_join(folder, file);
    json_t *config = file_exists(path) ? json_read(path, CONFIG_BYTES, &ignored) : NULL;
    const char *value = json_string_value(json_object_get(config, key));
    char *out = value ? xstrdup(value) : NULL;
    json_decref(config);
    free(path);
    return out;
}

int reading_tensors(const char *folder, const char *file, const char *pickled, struct bag *out,
                    struct notes *read, struct err *e) {
    char *path = file_join(folder, file);
    if (!file_exists(path)) {
        free(path);
        path = file_join(folder, file = pickled);
    }
    int rc = bag_open(path, out, e);
    if (!rc) notes_add(read, "%s", file);
    free(path);
    return rc;
}

bool reading_is_nothing(const json_t *v) {
    return !v || json_is_null(v) || json_is_false(v) || (json_is_string(v) && !*json_string_value(v)) ||
           (json_is_array(v) && !json_array_size(v)) || (json_is_object(v) && !json_object_size(v));
}

int reading_refuse_key(const char *path, const char *key, const json_t *v, const char *why, struct err *e) {
    char *value = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
    int rc = err_set(e, ERR_INPUT, "%s: \"%.60s\" is %.100s: %s", path, key, value ? value : "?", why);
    free(value);
    return rc;
}

static bool is_listed(const char *const *list, const char *name) {
    for (; *list; list++)
        if (!strcmp(*list, name)) return true;
    return false;
}

int reading_check_keys(const char *path, const json_t *config, const char *known, const char *const *more,
                       struct err *e) {
    const char *key;
    json_t *v, *usual = json_loads(known, 0, NULL);
    int rc = 0;
    json_object_foreach((json_t *)config, key, v)
        if (!rc && !reading_is_nothing(v) && !json_object_get(usual, key) && !is_listed(more, key))
            rc = reading_refuse_key(path, key, v, "not supported", e);
    json_decref(usual);
    return rc;
}

/* ---- the run ---- */

static bool has_head(const struct adapter_reading *r, const char *name) {
    for (int i = 0; i < r->to.heads; i++)
        if (!strcmp(r->to.head[i].name, name)) return true;
    return false;
}

/* A head in the file must be complete. */
static int check_head(const struct adapter_reading *r, struct err *e) {
    static const char *const parts[] = { "head.weight", "head.bias", "head.dense.weight", "head.dense.bias",
                                         "head.pooler.weight", "head.pooler.bias" };
    const struct arch *a = &r->m->arch;
    const struct method m = { .classifier = r->to.classifier };
    const struct classifier *c = classifier_of(&m, a);
    bool dense = c ? c->layers == 2 : a->family == FAMILY_ROBERTA;
    for (size_t i = 0; i < COUNT_OF(parts) && r->to.heads; i++) {
        bool needed = !i || (i == 1 ? c || !a->causal : i < 4 ? dense : a->pooler_absent && !c);
        if (needed && !has_head(r, parts[i]))
            return err_set(e, ERR_INPUT,
                           "%s: incomplete head: %s is neither in the file nor in the model folder",
                           r->bag.path, parts[i] + strlen("head."));
    }
    return 0;
}

static int describe(struct adapter_reading *r, const char *base, char ***label, struct err *e) {
    struct run_config *c = &r->out->config;
    bool writes = arch_generates(&r->m->arch) || r->language;
    config_init(c);
    c->form = writes ? FORM_TEXT : FORM_CLASSES;
    c->prefix = false;
    c->precision = PRECISION_F32;
    if (base && *base) c->model = xstrdup(base);
    if (writes) return assembly_method(&r->to, r->bag.path, &c->method, e);
    if (!r->classes && (!r->m->head_w || r->vectors || head_other(&r->m->arch, r->m->head_rows))) {
        notes_add(&r->out->assumed,
                  "the adapter has no head: `petri train --from` adds one; embed, map and similarity need "
                  "none");
        return assembly_method(&r->to, r->bag.path, &c->method, e);
    }
    if (!r->classes) {
        r->classes = r->m->head_rows;
        notes_add(&r->out->assumed, "the classification head of the model is used");
    }
    if (check_head(r, e)) return e->code;
    const char *other = r->single ? NULL : head_other(&r->m->arch, r->classes);
    if (other)
        return err_set(e, ERR_INPUT,
                       "%s: according to %s/config.json the adapter's head %s, which petri does not support; "
                       "if this is wrong, "
                       "remove \"problem_type\" from the model's config",
                       r->bag.path, r->m->folder, other);
    *label = xcalloc((size_t)r->classes + 1, sizeof **label);
    bool named = !r->label && r->m->arch.labels == r->classes;
    for (int i = 0; i < r->classes && r->classes > 1; i++)
        (*label)[i] = r->label ? xstrdup(r->label[i])
                      : named  ? xstrdup(r->m->arch.label[i])
                               : xprintf("LABEL_%d", i);
    if (r->label) return assembly_method(&r->to, r->bag.path, &c->method, e);
    if (r->classes > 1)
        notes_add(&r->out->assumed,
                  named
                      ? "the classes are those of the model's config"
                      : "the classes have no names: LABEL_0, LABEL_1, … are used; name them with --classes");
    else notes_add(&r->out->assumed, "the head has one output, which is used as a regression score");
    r->out->named = r->classes > 1 ? r->out->assumed.count : 0;
    return assembly_method(&r->to, r->bag.path, &c->method, e);
}

/* Copies the values to a method whose modules do not depend on run ids (assembly_method). */
static int reading_untell(struct adapter_reading *r, const struct predictor_parts *parts, struct err *e) {
    struct method *m = &r->out->config.method;
    int run[METHOD_MODULES];
    if (!method_runs(m, run)) return 0;
    method_forget_runs(m);
    struct predictor *told = r->out->predictor;
    r->out->predictor = predictor_new(parts, e);
    if (r->out->predictor)
        memcpy(predictor_values(r->out->predictor), predictor_params(told),
               predictor_plan(told)->trained * sizeof(real));
    predictor_free(told);
    return r->out->predictor ? 0 : e->code;
}

int reading_build(struct adapter_reading *r, const char *base, struct err *e) {
    char **label = NULL;
    int rc = describe(r, base, &label, e);
    bool writes = r->out->config.form == FORM_TEXT;
    const struct predictor_parts parts = {
        .m = r->m, .c = &r->out->config,
        .label_kind = writes ? DATA_TEXT : r->classes == 1 ? DATA_REGRESSION : DATA_CLASSES,
        .labels = !writes && r->classes > 1 ? r->classes : 0, .label = label,
    };
    if (!rc) {
        r->out->config.max_len = method_max_length(&r->out->config.method, &r->m->arch);
        r->out->predictor = predictor_new(&parts, e);
        rc = r->out->predictor ? 0 : err_prefix(e, "%s", r->bag.path);
    }
    if (!rc)
        rc = assembly_fill(&r->to, r->bag.path, predictor_plan(r->out->predictor),
                           predictor_values(r->out->predictor), e);
    if (!rc) rc = reading_untell(r, &parts, e);
    for (int i = 0; label && i < r->classes; i++) free(label[i]);
    free(label);
    return rc;
}

