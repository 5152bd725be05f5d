/* The tensors of a PEFT folder, put where the model has them. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/exchange/peft.h"
#include "core/exchange/peft_prompt.h"
#include "core/exchange/reading.h"

static const char peft_read_config_name[] = "adapter_config.json", weights_name[] = "adapter_model.safetensors",
                  pickled_name[] = "adapter_model.bin";

struct reader {
    struct adapter_reading in;
    struct peft peft;
    const char **module; /* that have an adapter, by their names in the base model; owned */
    int *rank;
    size_t modules, module_room, rank_room;
    real *folded;        /* a pooler's map with its change, owned */
    char **label;        /* names of the classes, owned */
    real *rows[2];       /* of the change of the words that a stack looks up, a row a token, owned */
};

/* ---- names ---- */

/* "x.lora_A.weight" without ".lora_A.weight"; NULL when it does not end so; caller frees. */
static char *peft_read_without(const char *name, const char *end) {
    return text_ends(name, end) ? xstrndup(name, strlen(name) - strlen(end)) : NULL;
}

static void know_module(struct reader *r, char *module, int rank) {
    GROW(r->module, r->module_room, r->modules + 1);
    GROW(r->rank, r->rank_room, r->modules + 1);
    r->rank[r->modules] = rank;
    r->module[r->modules++] = module;
}

/* ---- LoRA ---- */

/* Each row of w to its length. */
static int set_lengths(struct reader *r, real *w, size_t cols, struct bag_tensor *length, struct err *e) {
    for (size_t i = 0; i < length->count; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++) sum += (double)w[i * cols + j] * (double)w[i * cols + j];
        if (!(sum > 0)) return reading_refuse(&r->in, length, "the map that it is the length of has a row of zeros", e);
        for (size_t j = 0; j < cols; j++) w[i * cols + j] = (real)((double)w[i * cols + j] * (double)length->values[i] / sqrt(sum));
    }
    length->used = true;
    return 0;
}

/* The pooler's map has no place of its own for a change: the change goes into the map. `length`: DoRA's, or NULL. */
static int fold_pooler(struct reader *r, const struct tensor_info *t, const struct bag_tensor *a, const struct bag_tensor *b,
                       double s, struct bag_tensor *length, struct err *e) {
    int i = (int)(t - r->in.m->tensor), rank = (int)a->shape[0];
    if (r->in.m->arch.pooler_absent || r->folded)
        return reading_refuse(&r->in, a, "the model's folder has no pooler for it to change", e);
    size_t n = (size_t)t->rows * (size_t)t->cols;
    real *w = r->folded = mem_try(n, sizeof *w);
    if (!w) return err_set(e, ERR_SYSTEM, "no memory for the pooler");
    memcpy(w, r->in.m->weight[i], n * sizeof *w);
    blas_gemm(false, false, t->rows, t->cols, rank, (real)s, b->values, rank, a->values, t->cols, 1, w, t->cols);
    if (length && set_lengths(r, w, (size_t)t->cols, length, e)) return e->code;
    r->in.to.weight[i] = w;
    notes_add(&r->in.out->assumed, "the %s of the pooler is folded into its map, which a run trains whole", length ? "DoRA" : "LoRA");
    return 0;
}

/* DoRA's lengths, by their name in either form of the library. */
static struct bag_tensor *find_lora_length(struct reader *r, const char *module) {
    char *name = xprintf("base_model.model.%s.lora_magnitude_vector", module), *longer = xprintf("%s.weight", name);
    struct bag_tensor *t = bag_find(&r->in.bag, name);
    if (!t) t = bag_find(&r->in.bag, longer);
    free(name);
    free(longer);
    return t;
}

static int peft_read_take_lora(struct reader *r, struct bag_tensor *a, char *module, struct err *e) {
    char *other = xprintf("base_model.model.%s.lora_B.weight", module);
    struct bag_tensor *b = bag_find(&r->in.bag, other);
    const struct tensor_info *t = reading_map(r->in.m, module);
    double s, dropout = 0;
    free(other);
    if (!b) return reading_refuse(&r->in, a, "there is no lora_B beside it", e);
    if (!t) return reading_refuse(&r->in, a, "the model has no such map", e);
    size_t rank = a->rank == 2 ? a->shape[0] : 0;
    if (!rank || rank > (size_t)t->rows + (size_t)t->cols) return reading_refuse(&r->in, a, "its rank is not one that a map may have", e);
    if (reading_shape(&r->in, a, rank, (size_t)t->cols, e) || reading_shape(&r->in, b, (size_t)t->rows, rank, e)) return e->code;
    if (peft_scale(&r->peft, module, (int)rank, &s, e)) return e->code;
    if (!json_get_double(r->peft.config, r->peft.path, "lora_dropout", &dropout, e) && e->code) return e->code;
    struct bag_tensor *length = find_lora_length(r, module);
    bool dora = json_is_true(json_object_get(r->peft.config, "use_dora"));
    if (dora != (length != NULL))
        return reading_refuse(&r->in, a, dora ? "use_dora is true, but there is no lora_magnitude_vector beside it"
                                              : "a lora_magnitude_vector is beside it, but use_dora is not true", e);
    if (length && (length->rank != 1 || length->shape[0] != (size_t)t->rows))
        return reading_refuse(&r->in, length, "it is not one number for each output of the map", e);
    a->used = b->used = true;
    if (t->role == ROLE_POOLER_W) return fold_pooler(r, t, a, b, s, length, e);
    enum tap tap = reading_tap(t);
    if (tap == TAP_NONE) return reading_refuse(&r->in, a, "petri has no place for a change of this map", e);
    struct module m = module_default(length ? FN_DECOMPOSED : FN_LINEAR);
    m.read = tap_map_input(tap);
    m.write = tap;
    m.comp = COMP_SCALED;
    m.scale = s;
    m.size = (int)rank;
    m.dropout = dropout > 0 && dropout < 1 ? dropout : 0;
    struct placed *p = assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer);
    piece_add(p, SLOT_DOWN_W, a->values, a->count);
    piece_add(p, SLOT_UP_W, b->values, b->count);
    if (!length) return 0;
    length->used = true;
    piece_add(p, SLOT_LENGTH, length->values, length->count);
    return 0;
}

/* What looks words up under that name: the stack, the model's embeddings in *t; -1: nothing does, so the library changes nothing
 * there either (the table of both stacks, which each has under a name of its own too); -2: it is no word embedding. */
static int peft_words_of(const struct model *m, const char *module, const struct tensor_info **t) {
    const char *before = family_prefix(m->arch.family);
    size_t skip = text_starts(module, before) ? strlen(before) : 0;
    int i = arch_find(m->tensor, m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    *t = i < 0 ? NULL : &m->tensor[i];
    if (!arch_generates(&m->arch)) return *t && reading_map(m, module) == *t ? STACK_ENCODER : -2;
    if (!strcmp(module + skip, "shared")) return -1;
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        if (text_starts(module + skip, stack_name(stack)) && !strcmp(module + skip + strlen(stack_name(stack)), ".embed_tokens"))
            return stack;
    return -2;
}

/* lora_embedding_A has a column a token. */
static int peft_read_take_lookup(struct reader *r, struct bag_tensor *a, char *module, struct err *e) {
    char *other = xprintf("base_model.model.%s.lora_embedding_B", module);
    struct bag_tensor *b = bag_find(&r->in.bag, other);
    const struct tensor_info *t;
    const int stack = peft_words_of(r->in.m, module, &t);
    size_t rank = a->rank == 2 ? a->shape[0] : 0;
    double s;
    free(other);
    if (!b) return reading_refuse(&r->in, a, "there is no lora_embedding_B beside it", e);
    if (stack == -2) return reading_refuse(&r->in, a, "petri has LoRA of the word embeddings alone", e);
    if (stack == -1) {
        a->used = b->used = true;
        notes_add(&r->in.out->ignored, "%s: no layer looks words up there, so the library changes nothing by it", a->name);
        return 0;
    }
    if (json_is_true(json_object_get(r->peft.config, "use_dora")))
        return reading_refuse(&r->in, a, "DoRA of an embedding, which petri does not have", e);
    if (!rank || rank > (size_t)t->rows + (size_t)t->cols || r->rows[stack])
        return reading_refuse(&r->in, a, "its rank is not one that an embedding may have", e);
    if (reading_shape(&r->in, a, rank, (size_t)t->rows, e) || reading_shape(&r->in, b, (size_t)t->cols, rank, e)) return e->code;
    if (peft_scale(&r->peft, module, (int)rank, &s, e)) return e->code;
    if (r->in.m->arch.embed_scale) s *= sqrt(r->in.m->arch.width); /* the library scales what is added as what is looked up */
    real *rows = r->rows[stack] = mem_try(a->count, sizeof *rows);
    if (!rows) return err_set(e, ERR_SYSTEM, "no memory for the rows of the word embeddings' change");
    for (size_t i = 0; i < a->count; i++) rows[i % (size_t)t->rows * rank + i / (size_t)t->rows] = a->values[i];
    a->used = b->used = true;
    struct module m = module_default(FN_LOOKUP);
    m.comp = COMP_SCALED;
    m.scale = s;
    m.size = (int)rank;
    struct placed *p = assembly_piece(&r->in.to, &m, stack, SUB_EMBED, -1);
    piece_add(p, SLOT_DOWN_W, rows, a->count);
    piece_add(p, SLOT_UP_W, b->values, b->count);
    return 0;
}

/* ---- IA3 ---- */

static int take_ia3(struct reader *r, struct bag_tensor *l, const char *module, struct err *e) {
    const struct tensor_info *t = reading_map(r->in.m, module);
    if (!t) return reading_refuse(&r->in, l, "the model has no such map", e);
    enum tap out = reading_tap(t), tap = out;
    bool input = l->rank == 2 && l->shape[0] == 1 && l->shape[1] == (size_t)t->cols;
    if (!input && reading_shape(&r->in, l, (size_t)t->rows, 1, e)) return e->code;
    if (input) tap = out == TAP_F_OUT ? TAP_F_ACT : out == TAP_A_OUT ? TAP_A_CTX : TAP_NONE;
    if (tap == TAP_NONE) return reading_refuse(&r->in, l, "petri has no place for a scale there", e);
    l->used = true;
    struct module m = module_default(FN_SCALE);
    m.write = tap;
    piece_add(assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer), SLOT_CHANNEL, l->values, l->count);
    return 0;
}

/* ---- AdaLoRA ---- */

static struct bag_tensor *beside(struct reader *r, const char *module, const char *part) {
    char *name = xprintf("base_model.model.%s.%s", module, part);
    struct bag_tensor *t = bag_find(&r->in.bag, name);
    free(name);
    return t;
}

/* A place whose ranks were all pruned is left out. */
static int take_adalora(struct reader *r, struct bag_tensor *a, const char *module, struct err *e) {
    struct bag_tensor *b = beside(r, module, "lora_B"), *v = beside(r, module, "lora_E");
    const struct tensor_info *t = reading_map(r->in.m, module);
    const json_t *alpha = json_object_get(r->peft.config, "lora_alpha");
    enum tap tap = t ? reading_tap(t) : TAP_NONE;
    size_t rank = a->rank == 2 ? a->shape[0] : 0;
    double dropout = 0, s = json_is_number(alpha) ? json_number_value(alpha) : 8;
    if (!b || !v) return reading_refuse(&r->in, a, "there is no lora_B or lora_E beside it", e);
    if (tap == TAP_NONE)
        return reading_refuse(&r->in, a, t ? "petri has no place for a change of this map" : "the model has no such map", e);
    if (!json_get_double(r->peft.config, r->peft.path, "lora_dropout", &dropout, e) && e->code) return e->code;
    a->used = b->used = v->used = true;
    if (!rank && a->rank == 2) return 0;
    if (rank > (size_t)t->rows + (size_t)t->cols) return reading_refuse(&r->in, a, "its rank is not one that a map may have", e);
    if (reading_shape(&r->in, a, rank, (size_t)t->cols, e) || reading_shape(&r->in, b, (size_t)t->rows, rank, e) ||
        reading_shape(&r->in, v, rank, 1, e))
        return e->code;
    struct module m = module_default(FN_SVD);
    m.read = tap_map_input(tap);
    m.write = tap;
    m.comp = COMP_SCALED;
    m.scale = (s > 0 ? s : (double)rank) / ((double)rank + 1e-5);
    m.size = (int)rank;
    m.dropout = dropout > 0 && dropout < 1 ? dropout : 0;
    struct placed *p = assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer);
    piece_add(p, SLOT_DOWN_W, a->values, a->count);
    piece_add(p, SLOT_SINGULAR, v->values, v->count);
    piece_add(p, SLOT_UP_W, b->values, b->count);
    return 0;
}

/* ---- VeRA ---- */

static int take_vera(struct reader *r, struct bag_tensor *d, const char *module, struct err *e) {
    char *other = xprintf("base_model.model.%s.vera_lambda_b", module);
    struct bag_tensor *b = bag_find(&r->in.bag, other);
    const struct tensor_info *t = reading_map(r->in.m, module);
    enum tap tap = t ? reading_tap(t) : TAP_NONE;
    json_int_t seed = 0;
    double dropout = 0;
    free(other);
    if (!b || b->rank != 1 || d->rank != 1 || !d->shape[0] || (t && b->shape[0] != (size_t)t->rows))
        return reading_refuse(&r->in, d, "there is no vera_lambda_b of the map's width beside it", e);
    if (tap == TAP_NONE)
        return reading_refuse(&r->in, d, t ? "petri has no place for a change of this map" : "the model has no such map", e);
    if (!json_get_int(r->peft.config, r->peft.path, "projection_prng_key", &seed, e) && e->code) return e->code;
    if (seed < 0 || seed > 1000000)
        return reading_refuse_key(r->peft.path, "projection_prng_key", json_object_get(r->peft.config, "projection_prng_key"),
                                  "petri's seeds go from 0 to 1000000", e);
    if (!json_get_double(r->peft.config, r->peft.path, "vera_dropout", &dropout, e) && e->code) return e->code;
    d->used = b->used = true;
    struct module m = module_default(FN_PROJECTED);
    m.read = tap_map_input(tap);
    m.write = tap;
    m.size = (int)d->shape[0];
    m.seed = (int)seed;
    m.dropout = dropout > 0 && dropout < 1 ? dropout : 0;
    struct placed *p = assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer);
    piece_add(p, SLOT_INNER, d->values, d->count);
    piece_add(p, SLOT_OUTER, b->values, b->count);
    return 0;
}

/* Without its projection the folder means the one that its seed makes. */
static int take_projection(struct reader *r, struct err *e) {
    static const char *const names[] = { "base_model.vera_A", "base_model.vera_B" };
    static const enum slot slots[] = { SLOT_PROJECTION_A, SLOT_PROJECTION_B };
    struct bag_tensor *t[] = { bag_find(&r->in.bag, names[0]), bag_find(&r->in.bag, names[1]) };
    if (r->peft.type != PEFT_VERA) return 0;
    if (!t[0] && !t[1]) notes_add(&r->in.out->assumed, "the projection, which is not in the folder, is the one of projection_prng_key");
    else if (!t[0] || !t[1]) return reading_refuse(&r->in, t[t[0] == NULL], "the other half of the projection is not there", e);
    for (int i = 0; i < 2 && t[i]; i++) {
        if (t[i]->rank != 2) return reading_refuse(&r->in, t[i], "it is no matrix", e);
        t[i]->used = true;
        assembly_network(&r->in.to, slots[i], t[i]->values, t[i]->count);
    }
    return 0;
}

/* ---- norms ---- */

static const char NORM_PART[] = ".ln_tuning_layers.";

static int take_norm(struct reader *r, struct bag_tensor *t, const char *name, struct err *e) {
    const char *part = strstr(name, NORM_PART);
    char *module = xstrndup(name, (size_t)(part - name)), *own = xprintf("%s.%s", module, part + strlen(NORM_PART));
    if (text_ends(own, ".weight")) know_module(r, xstrdup(module), 0);
    int rc = reading_base(&r->in, t, own, e);
    free(module);
    free(own);
    return rc;
}

/* ---- copies ---- */

/* A copy that the library writes of what is there under its own name too. */
static bool is_copy(struct reader *r, struct bag_tensor *t, const char *name) {
    static const char *const parts[] = { ".original_module.", ".modules_to_save." };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *at = strstr(name, parts[i]);
        if (!at) continue;
        char *own = xprintf("base_model.model.%.*s.%s", (int)(at - name), name, at + strlen(parts[i]));
        bool there = bag_find(&r->in.bag, own) != NULL;
        free(own);
        if (!there) return false;
        t->used = true;
        notes_add(&r->in.out->ignored, "%s", t->name);
        return true;
    }
    return false;
}

/* Word embeddings with LoRA are saved beside it (save_embedding_layers): where they are those of the model they say nothing. */
static bool is_the_models(struct reader *r, struct bag_tensor *t, const char *name) {
    char *module = xstrndup(name, strlen(name) - strlen(".weight"));
    const struct tensor_info *of = reading_map(r->in.m, module);
    free(module);
    if (!of || t->count != (size_t)of->rows * (size_t)of->cols) return false;
    const real *own = r->in.m->weight[of - r->in.m->tensor];
    for (size_t i = 0; i < t->count; i++)
        if (t->values[i] != own[i]) return false;
    t->used = true;
    notes_add(&r->in.out->ignored, "%s: the model's own", t->name);
    return true;
}

static int peft_read_take_tensor(struct reader *r, struct bag_tensor *t, struct err *e) {
    static const char *const refused[][2] = {
        { ".lora_B.bias", "a bias behind LoRA (lora_bias), which petri does not have" },
        { ".trainable_tokens_delta", "tokens that are trained (trainable_token_indices), which petri does not have" },
    };
    const char *name = t->name;
    if (t->used || (r->peft.type == PEFT_VERA && text_starts(name, "base_model.vera_"))) return 0;
    if (!text_starts(name, "base_model.model.")) return reading_refuse(&r->in, t, "its name does not begin with base_model.model.", e);
    name += strlen("base_model.model.");
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (text_ends(name, refused[i][0])) return reading_refuse(&r->in, t, refused[i][1], e);
    if (is_copy(r, t, name)) return 0;
    char *module;
    if (r->peft.type == PEFT_LORA && (module = peft_read_without(name, ".lora_A.weight"))) {
        know_module(r, module, (int)t->shape[0]);
        return peft_read_take_lora(r, t, module, e);
    }
    if (r->peft.type == PEFT_LORA && (module = peft_read_without(name, ".lora_embedding_A"))) {
        know_module(r, module, (int)t->shape[0]);
        return peft_read_take_lookup(r, t, module, e);
    }
    if (r->peft.type == PEFT_IA3 && (module = peft_read_without(name, ".ia3_l"))) {
        know_module(r, module, 0);
        return take_ia3(r, t, module, e);
    }
    if (r->peft.type == PEFT_VERA && (module = peft_read_without(name, ".vera_lambda_d"))) {
        know_module(r, module, (int)t->shape[0]);
        return take_vera(r, t, module, e);
    }
    if (r->peft.type == PEFT_LN && strstr(name, NORM_PART)) return take_norm(r, t, name, e);
    if (r->peft.type == PEFT_ADALORA && (module = peft_read_without(name, ".lora_A"))) {
        know_module(r, module, (int)t->shape[0]);
        return take_adalora(r, t, module, e);
    }
    if (r->peft.type == PEFT_ADALORA && (text_ends(name, ".lora_B") || text_ends(name, ".lora_E"))) return 0;
    if (text_ends(name, ".vera_lambda_b")) return 0; /* with its vera_lambda_d, or left over */
    bool second = text_ends(name, ".lora_B.weight") || text_ends(name, ".lora_embedding_B");
    if (second || strstr(name, ".lora_magnitude_vector")) return 0; /* with its lora_A, or left over */
    const char *head = reading_head_name(name);
    if (head) return reading_head(&r->in, t, head, e);
    static const char *const wraps[][2] = { { ".base_layer.bias", ".bias" }, { ".base_layer.weight", ".weight" } };
    char *own = xstrdup(name);
    for (size_t i = 0; i < COUNT_OF(wraps); i++) {
        char *wrapped = peft_read_without(name, wraps[i][0]);
        if (!wrapped) continue;
        free(own);
        own = xprintf("%s%s", wrapped, wraps[i][1]);
        free(wrapped);
    }
    bool table = text_ends(name, wraps[1][0]) && is_the_models(r, t, own);
    int rc = table ? 0 : reading_base(&r->in, t, own, e);
    free(own);
    return rc;
}

/* A pooler whose map was folded keeps its own bias unless the file has one. */
static void end_pooler(struct reader *r) {
    int b = arch_find(r->in.m->tensor, r->in.m->tensors, ROLE_POOLER_B, STACK_ENCODER, SUB_EMBED, -1);
    if (r->folded && b >= 0 && !r->in.to.weight[b]) r->in.to.weight[b] = r->in.m->weight[b];
}

/* The names of the classes, where petri wrote the folder. */
static int take_classes(struct reader *r, const char *folder, struct err *e) {
    char *path = file_join(folder, PEFT_NAMES_FILE);
    json_t *all = file_exists(path) ? json_read(path, CONFIG_BYTES, e) : NULL, *names = json_object_get(all, "id2label");
    int rc = file_exists(path) && !all ? e->code : 0, n = r->in.classes;
    if (all && json_object_size(names) != (size_t)n)
        rc = err_set(e, ERR_INPUT, "%s: \"id2label\" names %zu classes, the head has %d", path, json_object_size(names), n);
    if (all && !rc) r->in.label = r->label = xcalloc((size_t)n + 1, sizeof *r->label);
    for (int i = 0; all && !rc && i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        const char *name = json_string_value(json_object_get(names, id));
        if (name && *name) r->label[i] = xstrdup(name);
        else rc = err_set(e, ERR_INPUT, "%s: \"id2label\" does not name class %d", path, i);
    }
    if (all && !rc) notes_add(&r->in.out->read, "%s", PEFT_NAMES_FILE);
    r->in.single = all != NULL;
    if (all) json_decref(all);
    free(path);
    return rc;
}

static int peft_read_folder(struct reader *r, const char *folder, struct err *e) {
    char *path = file_join(folder, weights_name);
    const char *weights = file_exists(path) ? weights_name : pickled_name;
    free(path);
    path = file_join(folder, weights);
    int rc = peft_open(folder, &r->peft, e);
    if (!rc) rc = peft_check_task(&r->peft, &r->in.m->arch, e);
    if (!rc) rc = bag_open(path, &r->in.bag, e);
    free(path);
    if (rc) return rc;
    if (peft_plain_names(&r->in.bag, &r->in.out->assumed, e)) return e->code;
    r->in.vectors = peft_is_for_vectors(&r->peft);
    notes_add(&r->in.out->read, "%s", peft_read_config_name);
    notes_add(&r->in.out->read, "%s", weights);
    const char *version = json_string_value(json_object_get(r->peft.config, "peft_version"));
    if (version) r->in.out->version = xstrdup(version);
    bool prompt = peft_is_prompt(r->peft.type);
    if (prompt) rc = peft_prompt_read(&r->in, &r->peft, e);
    for (size_t i = 0; i < r->in.bag.count && !rc && !prompt; i++) rc = peft_read_take_tensor(r, &r->in.bag.tensor[i], e);
    if (!rc) rc = take_projection(r, e);
    end_pooler(r);
    if (!rc) rc = bag_check_used(&r->in.bag, e);
    if (!rc && !prompt && !r->modules) rc = err_set(e, ERR_INPUT, "%s: holds no tensor of an adapter", r->in.bag.path);
    if (!rc && !prompt) rc = peft_compare(&r->peft, r->module, r->rank, r->modules, &r->in.out->assumed, e);
    if (!rc && r->in.classes > 1) rc = take_classes(r, folder, e);
    if (!rc) rc = reading_build(&r->in, json_string_value(json_object_get(r->peft.config, "base_model_name_or_path")), e);
    return rc;
}

int import_peft(const char *folder, struct model *m, struct imported *out, struct err *e) {
    struct reader r = { .in = { .m = m, .out = out } };
    *out = (struct imported){ .format = "peft", .model = m };
    assembly_init(&r.in.to, m);
    int rc = peft_read_folder(&r, folder, e);
    if (!rc) out->origin = xstrdup(r.peft.text);
    if (!rc) curve_read(folder, &out->curve, &out->read, &out->ignored);
    for (size_t i = 0; i < r.modules; i++) free((char *)(uintptr_t)r.module[i]);
    free(r.module);
    free(r.rank);
    free(r.folded);
    for (int i = 0; r.label && i < r.in.classes; i++) free(r.label[i]);
    free(r.label);
    for (int i = 0; i < 2; i++) free(r.rows[i]);
    assembly_release(&r.in.to);
    bag_release(&r.in.bag);
    peft_close(&r.peft);
    if (rc) import_release(out);
    return rc;
}
