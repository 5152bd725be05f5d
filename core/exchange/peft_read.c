/* The tensors of a PEFT folder, put where the model has them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/exchange/assemble.h"
#include "core/exchange/bag.h"
#include "core/exchange/peft.h"

static const char config_name[] = "adapter_config.json", weights_name[] = "adapter_model.safetensors",
                  pickled_name[] = "adapter_model.bin";

struct reader {
    struct peft peft;
    struct bag bag;
    struct assembly to;
    struct model *m;
    struct imported *out;
    const char **module; /* that have an adapter, by their names in the base model; owned */
    int *rank;
    size_t modules, module_room, rank_room;
    real *folded;        /* a pooler's map with its change, owned */
    int classes;
};

/* ---- names ---- */

/* The model's tensor of a name as the base model has it, or -1. */
static int find_tensor(const struct model *m, const char *name) {
    static const char *const before[] = { "", "bert.", "roberta.", "model.", "transformer." };
    for (size_t k = 0; k < COUNT_OF(before); k++) {
        if (!text_starts(name, before[k])) continue;
        for (int i = 0; i < m->tensors; i++)
            if (!strcmp(m->tensor[i].name, name + strlen(before[k]))) return i;
    }
    return -1;
}

/* The map of this module name: its weight's place, or NULL. */
static const struct tensor_info *find_map(const struct model *m, const char *module) {
    char *name = xprintf("%s.weight", module);
    int i = find_tensor(m, name);
    free(name);
    return i < 0 ? NULL : &m->tensor[i];
}

static enum tap tap_of_map(const struct tensor_info *t) {
    static const enum tap maps[] = { TAP_A_Q, TAP_A_K, TAP_A_V, TAP_A_OUT, TAP_F_PRE, TAP_F_OUT };
    for (size_t i = 0; i < COUNT_OF(maps); i++)
        if (tap_weight_role(maps[i]) == t->role) return maps[i];
    return TAP_NONE;
}

/* "x.lora_A.weight" without ".lora_A.weight"; NULL when it does not end so; caller frees. */
static char *without(const char *name, const char *end) {
    return text_ends(name, end) ? xstrndup(name, strlen(name) - strlen(end)) : NULL;
}

static int refuse(const struct reader *r, const struct bag_tensor *t, const char *why, struct err *e) {
    return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\": %s", r->bag.path, t->name, why);
}

static int check_shape(const struct reader *r, const struct bag_tensor *t, size_t rows, size_t cols, struct err *e) {
    if (t->rank == 2 && t->shape[0] == rows && t->shape[1] == cols) return 0;
    return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\" is not %zu × %zu, as the model's map wants", r->bag.path, t->name,
                   rows, cols);
}

static void know_module(struct reader *r, char *module, int rank) {
    GROW(r->module, r->module_room, r->modules + 1);
    GROW(r->rank, r->rank_room, r->modules + 1);
    r->rank[r->modules] = rank;
    r->module[r->modules++] = module;
}

/* ---- LoRA ---- */

/* The pooler's map has no place of its own for a change: the change goes into the map. */
static int fold_pooler(struct reader *r, const struct tensor_info *t, const struct bag_tensor *a, const struct bag_tensor *b,
                       double s, struct err *e) {
    int i = (int)(t - r->m->tensor), rank = (int)a->shape[0];
    if (r->m->arch.pooler_absent || r->folded)
        return refuse(r, a, "the model's folder has no pooler for it to change", e);
    size_t n = (size_t)t->rows * (size_t)t->cols;
    real *w = r->folded = mem_try(n, sizeof *w);
    if (!w) return err_set(e, ERR_SYSTEM, "no memory for the pooler");
    memcpy(w, r->m->weight[i], n * sizeof *w);
    blas_gemm(false, false, t->rows, t->cols, rank, (real)s, b->values, rank, a->values, t->cols, 1, w, t->cols);
    r->to.weight[i] = w;
    notes_add(&r->out->assumed, "the LoRA of the pooler is folded into its map, which a run trains whole");
    return 0;
}

static int take_lora(struct reader *r, struct bag_tensor *a, char *module, struct err *e) {
    char *other = xprintf("base_model.model.%s.lora_B.weight", module);
    struct bag_tensor *b = bag_find(&r->bag, other);
    const struct tensor_info *t = find_map(r->m, module);
    double s, dropout = 0;
    free(other);
    if (!b) return refuse(r, a, "there is no lora_B beside it", e);
    if (!t) return refuse(r, a, "the model has no such map", e);
    size_t rank = a->rank == 2 ? a->shape[0] : 0;
    if (!rank || rank > (size_t)t->rows + (size_t)t->cols) return refuse(r, a, "its rank is not one that a map may have", e);
    if (check_shape(r, a, rank, (size_t)t->cols, e) || check_shape(r, b, (size_t)t->rows, rank, e)) return e->code;
    if (peft_scale(&r->peft, module, (int)rank, &s, e)) return e->code;
    json_get_double(r->peft.config, r->peft.path, "lora_dropout", &dropout, e);
    a->used = b->used = true;
    if (t->role == ROLE_POOLER_W) return fold_pooler(r, t, a, b, s, e);
    enum tap tap = tap_of_map(t);
    if (tap == TAP_NONE) return refuse(r, a, "petri has no place for a change of this map", e);
    struct module m = module_default(FN_LINEAR);
    m.read = tap_map_input(tap);
    m.write = tap;
    m.comp = COMP_SCALED;
    m.scale = s;
    m.size = (int)rank;
    m.dropout = dropout > 0 && dropout < 1 ? dropout : 0;
    struct placed *p = assembly_piece(&r->to, &m, t->stack, t->sublayer, t->layer);
    piece_add(p, SLOT_DOWN_W, a->values, a->count);
    piece_add(p, SLOT_UP_W, b->values, b->count);
    return 0;
}

/* ---- IA3 ---- */

static int take_ia3(struct reader *r, struct bag_tensor *l, const char *module, struct err *e) {
    const struct tensor_info *t = find_map(r->m, module);
    if (!t) return refuse(r, l, "the model has no such map", e);
    enum tap out = tap_of_map(t), tap = out;
    bool input = l->rank == 2 && l->shape[0] == 1 && l->shape[1] == (size_t)t->cols;
    if (!input && check_shape(r, l, (size_t)t->rows, 1, e)) return e->code;
    if (input) tap = out == TAP_F_OUT ? TAP_F_ACT : out == TAP_A_OUT ? TAP_A_CTX : TAP_NONE;
    if (tap == TAP_NONE) return refuse(r, l, "petri has no place for a scale there", e);
    l->used = true;
    struct module m = module_default(FN_SCALE);
    m.write = tap;
    piece_add(assembly_piece(&r->to, &m, t->stack, t->sublayer, t->layer), SLOT_CHANNEL, l->values, l->count);
    return 0;
}

/* ---- the head and tensors of the base ---- */

static const char *head_name(const char *name) {
    static const char *const names[][2] = {
        { "classifier.weight", "head.weight" },          { "classifier.bias", "head.bias" },
        { "classifier.out_proj.weight", "head.weight" }, { "classifier.out_proj.bias", "head.bias" },
        { "classifier.dense.weight", "head.dense.weight" }, { "classifier.dense.bias", "head.dense.bias" },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(name, names[i][0])) return names[i][1];
    return NULL;
}

static int take_head(struct reader *r, struct bag_tensor *t, const char *as, struct err *e) {
    if (arch_generates(&r->m->arch)) return refuse(r, t, "a head, where the model writes text", e);
    if (!strcmp(as, "head.weight")) {
        if (t->rank != 2 || t->shape[1] != (size_t)r->m->arch.width || !t->shape[0] || t->shape[0] > 1 << 20)
            return refuse(r, t, "its shape is not classes × the model's width", e);
        r->classes = (int)t->shape[0];
    }
    assembly_head(&r->to, as, t->values, t->count);
    t->used = true;
    return 0;
}

static int take_base(struct reader *r, struct bag_tensor *t, const char *name, struct err *e) {
    int i = find_tensor(r->m, name);
    if (i < 0) return refuse(r, t, "the model has no such tensor", e);
    const struct tensor_info *at = &r->m->tensor[i];
    bool pooler = at->role == ROLE_POOLER_W || at->role == ROLE_POOLER_B;
    if (t->count != (size_t)at->rows * (size_t)at->cols || t->rank != (at->vector ? 1 : 2) ||
        (!at->vector && t->shape[0] != (size_t)at->rows))
        return err_set(e, ERR_INPUT, "%s: tensor \"%.200s\" has another shape than the model's %d × %d", r->bag.path, t->name,
                       at->rows, at->cols);
    t->used = true;
    if (pooler && r->m->arch.pooler_absent)
        assembly_head(&r->to, at->role == ROLE_POOLER_W ? "head.pooler.weight" : "head.pooler.bias", t->values, t->count);
    else if (!r->to.weight[i]) r->to.weight[i] = t->values;
    return 0;
}

/* A copy that the library writes of what is there under its own name too. */
static bool is_copy(struct reader *r, struct bag_tensor *t, const char *name) {
    static const char *const parts[] = { ".original_module.", ".modules_to_save." };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *at = strstr(name, parts[i]);
        if (!at) continue;
        char *own = xprintf("base_model.model.%.*s.%s", (int)(at - name), name, at + strlen(parts[i]));
        bool there = bag_find(&r->bag, own) != NULL;
        free(own);
        if (!there) return false;
        t->used = true;
        notes_add(&r->out->ignored, "%s", t->name);
        return true;
    }
    return false;
}

static int take_tensor(struct reader *r, struct bag_tensor *t, struct err *e) {
    static const char *const refused[][2] = {
        { ".lora_magnitude_vector", "DoRA's magnitudes, which petri does not have yet" },
        { ".lora_embedding_A", "LoRA on an embedding, which petri does not have yet" },
        { ".lora_embedding_B", "LoRA on an embedding, which petri does not have yet" },
        { ".lora_B.bias", "a bias behind LoRA (lora_bias), which petri does not have" },
        { ".trainable_tokens_delta", "tokens that are trained (trainable_token_indices), which petri does not have" },
    };
    const char *name = t->name;
    if (t->used) return 0;
    if (!text_starts(name, "base_model.model.")) return refuse(r, t, "its name does not begin with base_model.model.", e);
    name += strlen("base_model.model.");
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (text_ends(name, refused[i][0])) return refuse(r, t, refused[i][1], e);
    if (is_copy(r, t, name)) return 0;
    char *module;
    if (r->peft.type == PEFT_LORA && (module = without(name, ".lora_A.weight"))) {
        know_module(r, module, (int)t->shape[0]);
        return take_lora(r, t, module, e);
    }
    if (r->peft.type == PEFT_IA3 && (module = without(name, ".ia3_l"))) {
        know_module(r, module, 0);
        return take_ia3(r, t, module, e);
    }
    if (text_ends(name, ".lora_B.weight")) return 0; /* with its lora_A, or left over */
    const char *head = head_name(name);
    if (head) return take_head(r, t, head, e);
    char *wrapped = without(name, ".base_layer.bias"), *own = wrapped ? xprintf("%s.bias", wrapped) : xstrdup(name);
    int rc = take_base(r, t, own, e);
    free(wrapped);
    free(own);
    return rc;
}

/* A pooler whose map was folded keeps its own bias unless the file has one. */
static void end_pooler(struct reader *r) {
    int b = arch_find(r->m->tensor, r->m->tensors, ROLE_POOLER_B, STACK_ENCODER, SUB_EMBED, -1);
    if (r->folded && b >= 0 && !r->to.weight[b]) r->to.weight[b] = r->m->weight[b];
}

/* ---- the run ---- */

static int describe(struct reader *r, char ***label, struct err *e) {
    struct run_config *c = &r->out->config;
    bool writes = arch_generates(&r->m->arch);
    const char *base = json_string_value(json_object_get(r->peft.config, "base_model_name_or_path"));
    config_init(c);
    c->form = writes ? FORM_TEXT : FORM_CLASSES;
    c->prefix = false;
    c->max_len = arch_longest(&r->m->arch);
    if (base && *base) c->model = xstrdup(base);
    if (writes) return assembly_method(&r->to, r->bag.path, &c->method, e);
    if (!r->classes && !r->m->head_w)
        return err_set(e, ERR_INPUT, "%s: holds no head (classifier.weight), and the model's folder has none", r->bag.path);
    if (!r->classes) {
        r->classes = r->m->head_rows;
        notes_add(&r->out->assumed, "the head is the model folder's own");
    }
    *label = xcalloc((size_t)r->classes + 1, sizeof **label);
    bool named = r->m->arch.labels == r->classes;
    for (int i = 0; i < r->classes && r->classes > 1; i++)
        (*label)[i] = named ? xstrdup(r->m->arch.label[i]) : xprintf("LABEL_%d", i);
    if (r->classes > 1)
        notes_add(&r->out->assumed, named ? "the classes are those of the model's config"
                                          : "nothing names the classes: they are LABEL_0, LABEL_1, \u2026");
    else notes_add(&r->out->assumed, "one output: a score");
    return assembly_method(&r->to, r->bag.path, &c->method, e);
}

static int build(struct reader *r, struct err *e) {
    char **label = NULL;
    int rc = describe(r, &label, e);
    if (!rc) {
        bool writes = r->out->config.form == FORM_TEXT;
        const struct predictor_parts parts = {
            .m = r->m, .c = &r->out->config,
            .gold = writes ? DATA_TEXT : r->classes == 1 ? DATA_REGRESSION : DATA_CLASSES,
            .labels = !writes && r->classes > 1 ? r->classes : 0, .label = label,
        };
        r->out->predictor = predictor_new(&parts, e);
        rc = r->out->predictor ? 0 : err_prefix(e, "%s", r->bag.path);
    }
    if (!rc)
        rc = assembly_fill(&r->to, r->bag.path, predictor_plan(r->out->predictor), predictor_values(r->out->predictor), e);
    for (int i = 0; label && i < r->classes; i++) free(label[i]);
    free(label);
    return rc;
}

static int read_folder(struct reader *r, const char *folder, struct err *e) {
    char *path = file_join(folder, weights_name);
    const char *weights = file_exists(path) ? weights_name : pickled_name;
    free(path);
    path = file_join(folder, weights);
    int rc = peft_open(folder, &r->peft, e);
    if (!rc) rc = bag_open(path, &r->bag, e);
    free(path);
    if (rc) return rc;
    notes_add(&r->out->read, "%s", config_name);
    notes_add(&r->out->read, "%s", weights);
    const char *version = json_string_value(json_object_get(r->peft.config, "peft_version"));
    if (version) r->out->version = xstrdup(version);
    for (size_t i = 0; i < r->bag.count && !rc; i++) rc = take_tensor(r, &r->bag.tensor[i], e);
    end_pooler(r);
    if (!rc) rc = bag_check_used(&r->bag, e);
    if (!rc && !r->modules) rc = err_set(e, ERR_INPUT, "%s: holds no tensor of an adapter", r->bag.path);
    if (!rc) rc = peft_compare(&r->peft, r->module, r->rank, r->modules, &r->out->assumed, e);
    if (!rc) rc = build(r, e);
    return rc;
}

int import_peft(const char *folder, struct model *m, struct imported *out, struct err *e) {
    struct reader r = { .m = m, .out = out };
    *out = (struct imported){ .format = "peft", .model = m };
    assembly_init(&r.to, m);
    int rc = read_folder(&r, folder, e);
    if (!rc) out->origin = xstrdup(r.peft.text);
    for (size_t i = 0; i < r.modules; i++) free((char *)(uintptr_t)r.module[i]);
    free(r.module);
    free(r.rank);
    free(r.folded);
    assembly_release(&r.to);
    bag_release(&r.bag);
    peft_close(&r.peft);
    if (rc) import_release(out);
    return rc;
}
