#include "core/exchange/peft_prompt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/slots.h"

bool peft_is_prompt(enum peft_type type) {
    return type == PEFT_PREFIX || type == PEFT_PROMPT || type == PEFT_P_TUNING || type == PEFT_MULTITASK;
}

/* ---- reading ---- */

/* Tensors other than the prompt: a head, or tensors of the model. */
static int take_other(struct adapter_reading *in, struct bag_tensor *t, struct err *e) {
    if (t->used) return 0;
    if (!text_starts(t->name, "base_model.")) return reading_refuse(in, t, "not a tensor of a prompt", e);
    const char *name = t->name + strlen("base_model.");
    if (reading_copy(in, t)) return 0;
    const char *head = reading_head_name(name);
    return head ? reading_head(in, t, head, e) : reading_base(in, t, name, e);
}

/* Number of prompt rows in the file, and of those in use. */
static int find_length(struct adapter_reading *in, const struct peft *p, const struct bag_tensor *t,
                       struct module *m, struct err *e) {
    int rows = t->rank == 2 && t->shape[0] && t->shape[0] < 1 << 20 ? (int)t->shape[0] : 0,
        d = in->m->arch.width;
    if (!rows || t->shape[1] != (size_t)d)
        return reading_refuse_shape(in, t, "virtual tokens × hidden size", e);
    bool decoder = in->m->arch.decoder_layers > 0;
    int said = p->values.rows ? p->values.rows : decoder && rows % 2 == 0 ? rows / 2 : rows;
    bool twice = decoder && rows == 2 * said;
    m->size = twice ? said : rows;
    m->rows = twice ? ROWS_PEFT : ROWS_ACTING;
    if (said != m->size)
        notes_add(&in->out->assumed,
                  "the number of virtual tokens is %d in the config and %d in the tensor; that of the "
                  "tensor is used", said, rows);
    return 0;
}

/* Multiplies the rows by u v. With several tasks, the file does not tell the task of an input. */
static int take_product(struct adapter_reading *in, struct bag_tensor *rows, struct err *e) {
    struct bag_tensor *u = bag_find(&in->bag, "prefix_task_cols"),
                      *v = bag_find(&in->bag, "prefix_task_rows");
    if (!u || !v)
        return err_set(e, ERR_INPUT, "%s: prefix_task_cols or prefix_task_rows is missing", in->bag.path);
    size_t l = rows->shape[0], d = rows->shape[1];
    if (in->m->arch.decoder_layers)
        return reading_refuse(
            in, u,
            "on encoder–decoder models PEFT also adds such prompts to the decoder, which petri does not "
            "support",
            e);
    if (u->rank == 3 && u->shape[0] != 1)
        return reading_refuse(in, u, "several tasks are not supported", e);
    if (u->rank != 3 || u->shape[1] != l || !u->shape[2] || u->shape[2] > 1 << 16)
        return reading_refuse_shape(in, u, "1 × virtual tokens × rank", e);
    size_t rank = u->shape[2];
    if (v->rank != 3 || v->shape[0] != 1 || v->shape[1] != rank || v->shape[2] != d)
        return reading_refuse_shape(in, v, "1 × rank × hidden size", e);
    u->used = v->used = true;
    for (size_t i = 0; i < l; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = 0; k < rank; k++)
                sum += (double)u->values[i * rank + k] * (double)v->values[k * d + j];
            rows->values[i * d + j] = (real)(sum * (double)rows->values[i * d + j]);
        }
    notes_add(
        &in->out->assumed,
        "the prompt was computed from the shared prompt and the low-rank product of the task; its virtual "
        "tokens are trained directly");
    return 0;
}

/* ---- keys and values of all layers: l rows of 2·layers·d, per layer its keys, then its values ---- */

/* Converts between row-major over everything and rows per layer's keys and values. */
static void prefix_reorder(const real *from, size_t l, size_t parts, size_t d, bool by_part, real *to) {
    for (size_t k = 0; k < parts; k++)
        for (size_t t = 0; t < l; t++) {
            size_t whole = (t * parts + k) * d, part = (k * l + t) * d;
            memcpy(to + (by_part ? part : whole), from + (by_part ? whole : part), d * sizeof *to);
        }
}

static const char window_prefix[] = "in PEFT a prefix leaves the window of sliding-window attention, which petri "
                                    "does not support";
static const char decoder_prefix[] =
    "on encoder–decoder models, decoder layer i of PEFT reads the prefix of layer 2i, which petri does not "
    "support";

static int take_prefix(struct adapter_reading *in, const struct peft *p, struct bag_tensor *rows,
                       struct err *e) {
    const struct arch *a = &in->m->arch;
    size_t parts = 2 * (size_t)a->encoder_layers, d = (size_t)arch_key_width(a),
           l = rows->rank == 2 ? rows->shape[0] : 0;
    if (a->decoder_layers)
        return reading_refuse(in, rows,
                              decoder_prefix,
                              e);
    if (a->window) return reading_refuse(in, rows, window_prefix, e);
    if (!l || l > 1 << 16 || rows->shape[1] != parts * d)
        return reading_refuse(in, rows, "the shape must be virtual tokens × (2 · layers · width of keys)",
                              e);
    real *made = reading_room(in, rows->count);
    if (!made) return err_set(e, ERR_SYSTEM, "out of memory for a prefix");
    prefix_reorder(rows->values, l, parts, d, true, made);
    struct module m = module_default(FN_SOFTMAX);
    m.size = (int)l;
    m.shift = true;
    for (size_t i = 0; i < parts / 2; i++) {
        struct placed *at = assembly_piece(&in->to, &m, STACK_ENCODER, SUB_SELF, (int)i);
        piece_add(at, SLOT_KEY, made + 2 * i * l * d, l * d);
        piece_add(at, SLOT_VALUE, made + (2 * i + 1) * l * d, l * d);
    }
    if (p->values.projected)
        notes_add(
            &in->out->assumed,
            "PEFT does not save the reparameterization MLP of a prefix: its keys and values are trained "
            "directly");
    rows->used = true;
    return 0;
}

static int take_others(struct adapter_reading *in, struct err *e) {
    for (size_t i = 0; i < in->bag.count; i++)
        if (take_other(in, &in->bag.tensor[i], e)) return e->code;
    return 0;
}

int peft_prompt_read(struct adapter_reading *in, const struct peft *p, struct err *e) {
    struct bag_tensor *rows = bag_find(&in->bag, "prompt_embeddings");
    if (!rows) return err_set(e, ERR_INPUT, "%s: missing prompt_embeddings", in->bag.path);
    if (p->type == PEFT_PREFIX)
        return take_prefix(in, p, rows, e) ? e->code : take_others(in, e);
    struct module m = module_default(FN_PROMPT);
    if (find_length(in, p, rows, &m, e)) return e->code;
    if (!in->m->arch.causal) m.pool = POOL_ROW0;
    module_normalize(&m);
    rows->used = true;
    struct placed *at = assembly_piece(&in->to, &m, STACK_ENCODER, SUB_EMBED, -1);
    if (p->type == PEFT_MULTITASK && take_product(in, rows, e)) return e->code;
    piece_add(at, SLOT_OWN, rows->values, rows->count);
    if (p->type == PEFT_P_TUNING)
        notes_add(&in->out->assumed,
                  "PEFT does not save the prompt encoder: the virtual tokens are trained directly");
    return take_others(in, e);
}

/* ---- writing ---- */

int peft_prompt_of(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == FN_PROMPT || m->module[i].fn == FN_SOFTMAX) return i;
    return -1;
}

static const char *prefix_why_not(const struct method *method, const struct arch *a, bool language) {
    const struct module *m = &method->module[0];
    if (a->decoder_layers)
        return decoder_prefix;
    if (a->causal && !language) return "PEFT supports prefixes of decoder-only models only for language models";
    if (a->window) return window_prefix;
    if (m->comp != COMP_GATED)
        return "PEFT supports only prefixes with comp=gated";
    if (m->first != 1 || (m->last && m->last != a->encoder_layers))
        return "PEFT supports prefixes only in all layers; --to hub supports a subset of the layers (with "
               "shift=no)";
    return m->shift || a->rope.theta > 0 ? NULL
                    : "PEFT's prefix shifts the positions of the text (shift=yes); --to hub supports "
                      "shift=no";
}

const char *peft_prompt_why_not(const struct method *method, const struct arch *a, bool language) {
    const struct module *m = &method->module[peft_prompt_of(method)];
    bool prefix = m->fn == FN_SOFTMAX;
    if (method->count > 1)
        return prefix ? "PEFT cannot combine a prefix with other modules"
                      : "PEFT cannot combine a prompt with other modules";
    if (m->source != SOURCE_FREE)
        return "PEFT supports only prefixes and prompts with source=free";
    if (prefix) return prefix_why_not(method, a, language);
    if (m->write != TAP_EMBED_WORDS)
        return "PEFT inserts virtual tokens before the norm of the embedding (write=embed.words); --to hub "
               "supports write=embed";
    if (m->place != PLACE_FIRST) return "PEFT inserts virtual tokens before the text (place=first)";
    if (m->pool != POOL_ROW0 && !a->decoder_layers && !a->causal)
        return "in PEFT the classifier reads virtual token 0 (pool=row0)";
    return NULL;
}

/* Turns keys by `rows` positions: positions of the text then start after them, as in PEFT, with the same
 * scores. */
static void turn_keys(const struct model *m, int rows, real *keys, size_t n) {
    size_t width = (size_t)m->arch.head_width, half = width / 2;
    double *frequency = xcalloc(half, sizeof *frequency);
    model_rope(m, frequency);
    for (real *k = keys; k < keys + n; k += width)
        for (size_t i = 0; i < half; i++) {
            double c = cos(rows * frequency[i]), s = sin(rows * frequency[i]), x = (double)k[i],
                   y = (double)k[half + i];
            k[i] = (real)(x * c - y * s);
            k[half + i] = (real)(y * c + x * s);
        }
    free(frequency);
}

static void write_prefix(struct adapter_writing *to, const struct plan *p, const struct model *model,
                         const real *params) {
    const struct arch *a = &model->arch;
    size_t l = (size_t)p->method.module[0].size, d = (size_t)tap_width(a, TAP_A_K),
           parts = 2 * (size_t)a->encoder_layers;
    real *own = writing_room(to, l * parts * d), *rows = writing_room(to, l * parts * d);
    for (size_t k = 0; k < parts; k++) {
        const struct plan_tensor *t = plan_slot(p, 0, k % 2 ? SLOT_VALUE : SLOT_KEY, STACK_ENCODER, SUB_SELF,
                                                (int)(k / 2));
        BUG_IF(!t || t->count != l * d);
        memcpy(own + k * l * d, params + t->offset, l * d * sizeof *own);
        if (k % 2 == 0 && !p->method.module[0].shift && a->rope.theta > 0)
            turn_keys(model, (int)l, own + k * l * d, l * d);
    }
    prefix_reorder(own, l, parts, d, false, rows);
    writing_add(to, xstrdup("prompt_embeddings"), l, parts * d, rows);
}

void peft_prompt_write(struct adapter_writing *to, const struct plan *p, const struct model *model,
                       const real *params) {
    if (p->method.module[0].fn == FN_SOFTMAX) {
        write_prefix(to, p, model, params);
        return;
    }
    const struct plan_tensor *t = plan_slot(p, 0, SLOT_OWN, STACK_ENCODER, SUB_EMBED, -1);
    BUG_IF(!t);
    writing_add(to, xstrdup("prompt_embeddings"), (size_t)t->rows, (size_t)t->cols, params + t->offset);
}

json_t *peft_prompt_keys(const struct plan *p, const struct model *model) {
    const struct module *m = &p->method.module[0];
    const struct arch *a = &model->arch;
    int stacks = m->rows == ROWS_PEFT && a->decoder_layers ? 2 : 1;
    bool keys = m->fn == FN_SOFTMAX; /* the library counts the heads of keys there */
    json_t *c = json_pack("{s:i,s:i,s:i,s:i}", "token_dim", keys ? arch_key_width(a) : a->width, "num_layers",
                          a->encoder_layers, "num_attention_heads", keys ? arch_key_width(a) / a->head_width
                                                                         : a->heads,
                          "num_transformer_submodules", stacks);
    json_t *more = m->fn == FN_SOFTMAX
                       ? json_pack("{s:i}", "encoder_hidden_size", a->width)
                       : json_pack("{s:s,s:n,s:n,s:n}", "prompt_tuning_init", "RANDOM",
                                   "prompt_tuning_init_text", "tokenizer_kwargs", "tokenizer_name_or_path");
    json_object_update_new(c, more);
    return c;
}
