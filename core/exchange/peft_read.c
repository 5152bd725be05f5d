/* Reads the tensors of a PEFT folder into pieces at places of the model. */
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
#include "core/method/functions.h"

struct reader {
    struct adapter_reading in;
    struct peft peft;
    const char **module; /* modules with an adapter, by their names in the base model; owned */
    int *rank;
    size_t modules, module_room, rank_room;
    real *folded;        /* the pooler's map with its change merged */
    bool looked_up[2];   /* stacks with a changed word embedding */
};

/* ---- names ---- */

/* Returns "x.lora_A.weight" without ".lora_A.weight"; NULL without that suffix; caller frees. */
static char *without(const char *name, const char *end) {
    return text_ends(name, end) ? xstrndup(name, strlen(name) - strlen(end)) : NULL;
}

static void know_module(struct reader *r, char *module, int rank) {
    GROW(r->module, r->module_room, r->modules + 1);
    GROW(r->rank, r->rank_room, r->modules + 1);
    r->rank[r->modules] = rank;
    r->module[r->modules++] = module;
}

/* ---- a module at a place ---- */

/* Computes the norm of each row of w. */
static int set_lengths(struct reader *r, real *w, size_t cols, struct bag_tensor *length, struct err *e) {
    for (size_t i = 0; i < length->count; i++) {
        double sum = 0;
        for (size_t j = 0; j < cols; j++) sum += (double)w[i * cols + j] * (double)w[i * cols + j];
        if (!(sum > 0))
            return reading_refuse(&r->in, length, "a row of the adapted weight is zero, so its DoRA norm "
                                                  "is undefined", e);
        for (size_t j = 0; j < cols; j++)
            w[i * cols + j] = (real)((double)w[i * cols + j] * (double)length->values[i] / sqrt(sum));
    }
    length->used = true;
    return 0;
}

/* Merges a change of the pooler's map into the map, since no method changes it. `length`: DoRA's magnitudes,
 * or NULL. */
static int fold_pooler(struct reader *r, const struct tensor_info *t, const struct bag_tensor *a,
                       const struct bag_tensor *b, double s, struct bag_tensor *length, struct err *e) {
    int i = (int)(t - r->in.m->tensor), rank = (int)a->shape[0];
    if (r->in.m->arch.pooler_absent || r->folded)
        return reading_refuse(&r->in, a, r->folded ? "the adapter changes the pooler twice"
                                                   : "the model folder has no pooler to adapt",
                              e);
    size_t n = (size_t)t->rows * (size_t)t->cols;
    real *w = r->folded = reading_room(&r->in, n);
    if (!w) return err_set(e, ERR_SYSTEM, "out of memory for the pooler");
    memcpy(w, model_weight(r->in.m, i), n * sizeof *w);
    blas_gemm(false, false, t->rows, t->cols, rank, (real)s, b->values, rank, a->values, t->cols, 1, w,
              t->cols);
    if (length && set_lengths(r, w, (size_t)t->cols, length, e)) return e->code;
    r->in.to.weight[i] = w;
    notes_add(&r->in.out->assumed,
              "the %s of the pooler was merged into its weight, which is trained in full",
              length ? "DoRA" : "LoRA");
    return 0;
}

/* Returns the stack whose word embedding has that name, with the model's embeddings in *t; -1: none, so the
 * library does not change anything either (as for the table shared by both stacks, which has another name in
 * each); -2: not a word embedding. */
static int peft_words_of(const struct model *m, const char *module, const struct tensor_info **t) {
    const char *before = family_prefix(m->arch.family);
    size_t skip = text_starts(module, before) ? strlen(before) : 0;
    int i = arch_find(m->tensor, m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1);
    *t = i < 0 ? NULL : &m->tensor[i];
    if (!arch_generates(&m->arch)) return *t && reading_map(m, module) == *t ? STACK_ENCODER : -2;
    if (!strcmp(module + skip, "shared")) return -1;
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        if (text_starts(module + skip, stack_name(stack)) &&
            !strcmp(module + skip + strlen(stack_name(stack)), ".embed_tokens"))
            return stack;
    return -2;
}

/* Returns a tensor of a place, by either name in the library. */
static struct bag_tensor *beside(struct reader *r, const char *module, const char *part) {
    char *longer = xprintf("base_model.model.%s.%s.weight", module, part);
    struct bag_tensor *t = bag_find(&r->in.bag, longer);
    longer[strlen(longer) - strlen(".weight")] = 0;
    if (!t) t = bag_find(&r->in.bag, longer);
    free(longer);
    return t;
}

/* Takes all tensors of a form, checking the shapes for a map of these sizes. */
static int find_parts(struct reader *r, const struct peft_form *f, const char *module,
                      const size_t size[PART_SIZES], struct bag_tensor *out[FORM_PARTS], struct err *e) {
    for (int i = 0; i < FORM_PARTS && f->part[i].name; i++) {
        const struct file_part *p = &f->part[i];
        out[i] = beside(r, module, p->name);
        if (!out[i]) {
            char *why = xprintf("%s%s%s is missing", p->key ? p->key : "",
                                p->key ? " is true, but " : "", p->name);
            int rc = reading_refuse(&r->in, out[0], why, e);
            free(why);
            return rc;
        }
        if (reading_shape(&r->in, out[i], size[p->rows], size[p->cols], e)) return e->code;
        out[i]->used = true;
    }
    return 0;
}

/* Returns the values in the layout of the slot. */
static const real *part_values(struct reader *r, const struct file_part *p, const struct bag_tensor *t,
                               struct err *e) {
    real *turned = p->turned ? reading_room(&r->in, t->count) : NULL;
    for (size_t i = 0; turned && i < t->count; i++)
        turned[i % t->shape[1] * t->shape[0] + i / t->shape[1]] = t->values[i];
    if (p->turned && !turned) err_set(e, ERR_SYSTEM, "out of memory for the values of %s", t->name);
    return p->turned ? turned : t->values;
}

static int take_form(struct reader *r, const struct peft_form *f, struct bag_tensor *first,
                     const char *module, struct err *e) {
    const struct peft_values *v = &r->peft.values;
    const struct tensor_info *t = reading_map(r->in.m, module);
    const bool lookup = f->fn == FN_LOOKUP;
    const int stack = lookup ? peft_words_of(r->in.m, module, &t) : t ? t->stack : 0;
    struct module m = module_default(f->fn);
    struct bag_tensor *part[FORM_PARTS] = { first };
    if (stack == -2) return reading_refuse(&r->in, first, "petri supports LoRA of an embedding only for the "
                                                          "word embeddings", e);
    if (stack == -1) {
        struct bag_tensor *other = beside(r, module, f->part[1].name);
        first->used = true;
        if (other) other->used = true;
        notes_add(&r->in.out->ignored,
                  "%s: ignored, as in PEFT: no layer reads this embedding", first->name);
        return 0;
    }
    if (!t) return reading_refuse(&r->in, first, "the model has no such layer", e);
    if (lookup && v->dora)
        return reading_refuse(&r->in, first, "petri does not support DoRA of an embedding", e);
    if (f->fn == FN_LINEAR && beside(r, module, "lora_magnitude_vector"))
        return reading_refuse(&r->in, first, "the layer has a lora_magnitude_vector, but use_dora is not "
                                             "true",
                              e);
    const size_t rows = (size_t)t->rows, cols = (size_t)t->cols, rank = first->shape[0];
    const size_t size[PART_SIZES] = { [SIZE_ONE] = 1,
                            [SIZE_RANK] = rank,
                            [SIZE_IN] = lookup ? rows : cols,
                            [SIZE_OUT] = lookup ? cols : rows };
    bool ranked = module_takes(&m, TAKES_R),
         drawn = module_takes(&m, TAKES_SEED); /* with random factors of any rank */
    bool pruned = f->fn == FN_SVD && !rank && first->rank == 2;
    if (ranked && !pruned &&
        (!rank || rank > (drawn ? 1 << 20 : rows + cols)))
        return reading_refuse(&r->in, first, "the rank is 0 or too large for a layer of this size", e);
    if (lookup && r->looked_up[stack])
        return reading_refuse(&r->in, first, "the adapter changes the word embeddings twice", e);
    if (find_parts(r, f, module, size, part, e)) return e->code;
    if (pruned) return 0;
    if (ranked) m.size = (int)rank;
    if (module_takes(&m, TAKES_ALPHA)) {
        m.comp = COMP_SCALED;
        if (peft_scale(&r->peft, module, m.size, &m.scale, e)) return e->code;
    }
    if (t->role == ROLE_POOLER_W && f->type == PEFT_LORA)
        return fold_pooler(r, t, part[0], part[1], m.scale, part[2], e);
    if (lookup && r->in.m->arch.embed_scale)
        m.scale *= sqrt(r->in.m->arch.width); /* the library scales the added rows like the embedding */
    enum tap tap = lookup ? m.write : peft_form_write(f, reading_tap(t));
    if (tap == TAP_NONE)
        return reading_refuse(&r->in, first, "petri does not support adapting this layer", e);
    m.write = tap;
    if (module_takes(&m, TAKES_READ)) m.read = tap_map_input(tap);
    if (module_takes(&m, TAKES_DROPOUT) && v->dropout > 0 && v->dropout < 1) m.dropout = v->dropout;
    if (drawn) m.seed = v->seed;
    if (lookup) r->looked_up[stack] = true;
    struct placed *p =
        assembly_piece(&r->in.to, &m, stack, lookup ? SUB_EMBED : t->sublayer, lookup ? -1 : t->layer);
    for (int i = 0; i < FORM_PARTS && f->part[i].name && !e->code; i++)
        piece_add(p, f->part[i].slot, part_values(r, &f->part[i], part[i], e), part[i]->count);
    return e->code;
}

/* Returns the form whose first tensor this is, and its place; NULL: none. Caller frees. */
static char *place_of(const struct reader *r, const struct bag_tensor *t, const char *name,
                      const struct peft_form **out) {
    bool one = t->rank == 2 && t->shape[0] == 1;
    for (int i = 0; (*out = peft_form_at(i)); i++) {
        const struct peft_form *f = *out;
        size_t n = strlen(name), k = strlen(f->part[0].name) + 1;
        if (f->type != r->peft.type || n <= k || name[n - k] != '.' ||
            strcmp(name + n - k + 1, f->part[0].name))
            continue;
        if ((f->fn == FN_LINEAR && r->peft.values.dora) || (f->fn == FN_SCALE && f->input != one)) continue;
        return xstrndup(name, n - k);
    }
    return NULL;
}

/* Returns whether it is a further tensor of a form, which is read with the first, or is unused. */
static bool is_other_part(const char *name) {
    for (int i = 0; peft_form_at(i); i++)
        for (int k = 1; k < FORM_PARTS && peft_form_at(i)->part[k].name; k++) {
            const char *part = peft_form_at(i)->part[k].name, *at = strstr(name, part);
            if (at && at > name && at[-1] == '.' &&
                (!at[strlen(part)] || !strcmp(at + strlen(part), ".weight")))
                return true;
        }
    return false;
}

/* ---- VeRA ---- */

/* Without a stored projection, the folder refers to the one generated from its seed. */
static int take_projection(struct reader *r, struct err *e) {
    static const char *const names[] = { "base_model.vera_A", "base_model.vera_B" };
    static const enum slot slots[] = { SLOT_PROJECTION_A, SLOT_PROJECTION_B };
    struct bag_tensor *t[] = { bag_find(&r->in.bag, names[0]), bag_find(&r->in.bag, names[1]) };
    if (r->peft.type != PEFT_VERA) return 0;
    if (!t[0] && !t[1])
        notes_add(&r->in.out->assumed,
                  "the projection is not in the folder and was generated from projection_prng_key");
    else if (!t[0] || !t[1])
        return reading_refuse(&r->in, t[t[0] == NULL], "the other matrix of the projection is missing", e);
    for (int i = 0; i < 2 && t[i]; i++) {
        if (t[i]->rank != 2) return reading_refuse(&r->in, t[i], "must be a matrix", e);
        t[i]->used = true;
        assembly_value(&r->in.to, &(struct method_value){ slots[i], t[i]->values, t[i]->count, 0, 0, 0, 0 });
    }
    return 0;
}

/* ---- norms ---- */

static const char NORM_PART[] = ".ln_tuning_layers.";

static int take_norm(struct reader *r, struct bag_tensor *t, const char *name, struct err *e) {
    const char *part = strstr(name, NORM_PART);
    char *module = xstrndup(name, (size_t)(part - name)),
         *own = xprintf("%s.%s", module, part + strlen(NORM_PART));
    if (text_ends(own, ".weight")) know_module(r, xstrdup(module), 0);
    int rc = reading_base(&r->in, t, own, e);
    free(module);
    free(own);
    return rc;
}

/* ---- all ---- */

/* Word embeddings are stored with LoRA on them (save_embedding_layers): copies equal to the model's are
 * ignored. */
static bool is_the_models(struct reader *r, struct bag_tensor *t, const char *name) {
    char *module = xstrndup(name, strlen(name) - strlen(".weight"));
    const struct tensor_info *of = reading_map(r->in.m, module);
    free(module);
    if (!of || t->count != (size_t)of->rows * (size_t)of->cols) return false;
    const real *own = model_weight(r->in.m, of - r->in.m->tensor);
    for (size_t i = 0; i < t->count; i++)
        if (t->values[i] != own[i]) return false;
    t->used = true;
    notes_add(&r->in.out->ignored, "%s: identical to the tensor of the model", t->name);
    return true;
}

static int take_tensor(struct reader *r, struct bag_tensor *t, struct err *e) {
    static const char *const refused[][2] = {
        { ".lora_B.bias", "petri does not support LoRA biases (lora_bias)" },
        { ".trainable_tokens_delta",
          "petri does not support trainable tokens (trainable_token_indices)" },
    };
    const char *name = t->name;
    if (t->used || (r->peft.type == PEFT_VERA && text_starts(name, "base_model.vera_"))) return 0;
    if (!text_starts(name, "base_model.model."))
        return reading_refuse(&r->in, t, "the name does not start with base_model.model.", e);
    name += strlen("base_model.model.");
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        if (text_ends(name, refused[i][0])) return reading_refuse(&r->in, t, refused[i][1], e);
    if (reading_copy(&r->in, t)) return 0;
    const struct peft_form *f;
    char *module = place_of(r, t, name, &f);
    if (module) {
        know_module(r, module, (int)t->shape[0]);
        return take_form(r, f, t, module, e);
    }
    if (r->peft.type == PEFT_LN && strstr(name, NORM_PART)) return take_norm(r, t, name, e);
    if (is_other_part(name)) return 0;
    const char *head = reading_head_name(name);
    if (head) return reading_head(&r->in, t, head, e);
    static const char *const wraps[][2] = { { ".base_layer.bias", ".bias" },
                                            { ".base_layer.weight", ".weight" } };
    char *own = xstrdup(name);
    for (size_t i = 0; i < COUNT_OF(wraps); i++) {
        char *wrapped = without(name, wraps[i][0]);
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

/* Reads the class names, where petri wrote the folder. */
static int take_classes(struct reader *r, const char *folder, struct err *e) {
    char *path = file_join(folder, PEFT_NAMES_FILE);
    json_t *all = file_exists(path) ? json_read(path, CONFIG_BYTES, e) : NULL,
           *names = json_object_get(all, "id2label");
    int rc = file_exists(path) && !all ? e->code : 0, n = r->in.classes;
    if (all && json_object_size(names) != (size_t)n)
        rc = err_set(e, ERR_INPUT, "%s: \"id2label\" has %zu classes, but the head has %d", path,
                     json_object_size(names), n);
    if (all && !rc) r->in.label = xcalloc((size_t)n + 1, sizeof *r->in.label);
    for (int i = 0; all && !rc && i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        const char *name = json_string_value(json_object_get(names, id));
        if (name && *name) r->in.label[i] = xstrdup(name);
        else rc = err_set(e, ERR_INPUT, "%s: \"id2label\" has no name for class %d", path, i);
    }
    if (all && !rc) notes_add(&r->in.out->read, "%s", PEFT_NAMES_FILE);
    r->in.single = all != NULL;
    json_decref(all);
    free(path);
    return rc;
}

static int peft_read_folder(struct reader *r, const char *folder, struct err *e) {
    int rc = peft_open(folder, &r->peft, e);
    if (!rc) rc = peft_check_task(&r->peft, &r->in.m->arch, e);
    if (rc) return rc;
    notes_add(&r->in.out->read, ADAPTER_CONFIG);
    if (reading_tensors(folder, "adapter_model.safetensors", "adapter_model.bin", &r->in.bag,
                        &r->in.out->read, e))
        return e->code;
    if (peft_plain_names(&r->in.bag, &r->in.out->assumed, e)) return e->code;
    r->in.vectors = peft_is_for_vectors(&r->peft);
    r->in.language = peft_is_for_language(&r->peft, r->in.m);
    const char *version = json_string_value(json_object_get(r->peft.config, "peft_version"));
    if (version) r->in.out->version = xstrdup(version);
    bool prompt = peft_is_prompt(r->peft.type);
    if (prompt) rc = peft_prompt_read(&r->in, &r->peft, e);
    for (size_t i = 0; i < r->in.bag.count && !rc && !prompt; i++)
        rc = take_tensor(r, &r->in.bag.tensor[i], e);
    if (!rc) rc = take_projection(r, e);
    /* a pooler with a merged map keeps its bias unless the file has one */
    int b = arch_find(r->in.m->tensor, r->in.m->tensors, ROLE_POOLER_B, STACK_ENCODER, SUB_EMBED, -1);
    if (r->folded && b >= 0 && !r->in.to.weight[b]) r->in.to.weight[b] = model_weight(r->in.m, b);
    if (!rc) rc = bag_check_used(&r->in.bag, e);
    if (!rc && !prompt && !r->modules)
        rc = err_set(e, ERR_INPUT, "%s: no adapter tensors found", r->in.bag.path);
    if (!rc && !prompt) rc = peft_compare(&r->peft, r->module, r->rank, r->modules, &r->in.out->assumed, e);
    if (!rc && r->in.classes > 1) rc = take_classes(r, folder, e);
    if (!rc)
        rc = reading_build(&r->in,
                           json_string_value(json_object_get(r->peft.config, "base_model_name_or_path")), e);
    return rc;
}

int import_peft(const char *folder, struct model *m, struct imported *out, struct err *e) {
    struct reader r = { .in = { .m = m, .out = out } };
    *out = (struct imported){ .format = "peft", .model = m };
    assembly_init(&r.in.to, m);
    int rc = peft_takes(m, e);
    if (!rc) rc = peft_read_folder(&r, folder, e);
    if (!rc) out->origin = xstrdup(r.peft.text);
    if (!rc) curve_read(folder, &out->curve, &out->read, &out->ignored);
    for (size_t i = 0; i < r.modules; i++) free((char *)(uintptr_t)r.module[i]);
    free(r.module);
    free(r.rank);
    reading_release(&r.in);
    peft_close(&r.peft);
    if (rc) import_release(out);
    return rc;
}
