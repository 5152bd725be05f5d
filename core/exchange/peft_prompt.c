#include "core/exchange/peft_prompt.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

bool peft_is_prompt(enum peft_type type) { return type == PEFT_PROMPT || type == PEFT_P_TUNING || type == PEFT_MULTITASK; }

/* ---- reading ---- */

static int config_count(const struct peft *p, const char *key, int otherwise) {
    const json_t *v = json_object_get(p->config, key);
    return json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) < 1 << 20 ? (int)json_integer_value(v)
                                                                                              : otherwise;
}

/* A copy that the library writes of what is there under its own name too. */
static bool is_second(struct adapter_reading *in, struct bag_tensor *t, const char *name) {
    static const char *const parts[] = { ".original_module.", ".modules_to_save." };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *at = strstr(name, parts[i]);
        if (!at) continue;
        char *own = xprintf("base_model.%.*s.%s", (int)(at - name), name, at + strlen(parts[i]));
        bool there = bag_find(&in->bag, own) != NULL;
        free(own);
        if (!there) return false;
        t->used = true;
        notes_add(&in->out->ignored, "%s", t->name);
        return true;
    }
    return false;
}

/* What stands beside the prompt: a head, or tensors of the model's own. */
static int take_other(struct adapter_reading *in, struct bag_tensor *t, struct err *e) {
    if (t->used) return 0;
    if (!text_starts(t->name, "base_model.")) return reading_refuse(in, t, "no tensor of a prompt", e);
    const char *name = t->name + strlen("base_model.");
    if (is_second(in, t, name)) return 0;
    const char *head = reading_head_name(name);
    return head ? reading_head(in, t, head, e) : reading_base(in, t, name, e);
}

/* Rows of one prompt in the file, and how many of them act. */
static int find_length(struct adapter_reading *in, const struct peft *p, const struct bag_tensor *t, struct module *m,
                       struct err *e) {
    int rows = t->rank == 2 && t->shape[0] && t->shape[0] < 1 << 20 ? (int)t->shape[0] : 0, d = in->m->arch.width;
    if (!rows || t->shape[1] != (size_t)d) return reading_refuse(in, t, "its shape is not rows × the model's width", e);
    bool decoder = in->m->arch.decoder_layers > 0;
    int said = config_count(p, "num_virtual_tokens", decoder && rows % 2 == 0 ? rows / 2 : rows);
    bool twice = decoder && rows == 2 * said;
    m->size = twice ? said : rows;
    m->rows = twice ? ROWS_PEFT : ROWS_ACTING;
    if (said != m->size)
        notes_add(&in->out->assumed, "the config has %d virtual tokens, the tensor %d rows, which are used", said, rows);
    return 0;
}

/* Makes the rows what they are times u v.  Of several tasks the file does not say which one a text is of. */
static int take_product(struct adapter_reading *in, struct bag_tensor *rows, struct err *e) {
    struct bag_tensor *u = bag_find(&in->bag, "prefix_task_cols"), *v = bag_find(&in->bag, "prefix_task_rows");
    if (!u || !v) return err_set(e, ERR_INPUT, "%s: has no prefix_task_cols and prefix_task_rows", in->bag.path);
    size_t l = rows->shape[0], d = rows->shape[1];
    if (in->m->arch.decoder_layers)
        return reading_refuse(in, u, "of a model with a decoder the library puts such prompts into the decoder too, which petri "
                                     "does not", e);
    if (u->rank == 3 && u->shape[0] != 1) return reading_refuse(in, u, "is of several tasks; petri reads that of one", e);
    if (u->rank != 3 || u->shape[1] != l || !u->shape[2] || u->shape[2] > 1 << 16)
        return reading_refuse(in, u, "its shape is not 1 × rows × rank", e);
    size_t rank = u->shape[2];
    if (v->rank != 3 || v->shape[0] != 1 || v->shape[1] != rank || v->shape[2] != d)
        return reading_refuse(in, v, "its shape is not 1 × rank × the model's width", e);
    u->used = v->used = true;
    for (size_t i = 0; i < l; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = 0; k < rank; k++) sum += (double)u->values[i * rank + k] * (double)v->values[k * d + j];
            rows->values[i * d + j] = (real)(sum * (double)rows->values[i * d + j]);
        }
    notes_add(&in->out->assumed, "the prompt is made once of what all tasks have and this one's product, and free from then on");
    return 0;
}

int peft_prompt_read(struct adapter_reading *in, const struct peft *p, struct err *e) {
    struct bag_tensor *rows = bag_find(&in->bag, "prompt_embeddings");
    if (!rows) return err_set(e, ERR_INPUT, "%s: has no prompt_embeddings", in->bag.path);
    struct module m = module_default(FN_PROMPT);
    if (find_length(in, p, rows, &m, e)) return e->code;
    m.pool = POOL_ROW0;
    module_normalise(&m);
    rows->used = true;
    struct placed *at = assembly_piece(&in->to, &m, STACK_ENCODER, SUB_EMBED, -1);
    if (p->type == PEFT_MULTITASK && take_product(in, rows, e)) return e->code;
    piece_add(at, SLOT_OWN, rows->values, rows->count);
    if (p->type == PEFT_P_TUNING)
        notes_add(&in->out->assumed, "the network behind the prompt is not in such a file: its rows are free");
    for (size_t i = 0; i < in->bag.count; i++)
        if (take_other(in, &in->bag.tensor[i], e)) return e->code;
    return 0;
}

/* ---- writing ---- */

int peft_prompt_of(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == FN_PROMPT) return i;
    return -1;
}

const char *peft_prompt_why_not(const struct method *method, const struct arch *a) {
    const struct module *m = &method->module[peft_prompt_of(method)];
    if (method->count > 1) return "PEFT has a prompt by itself, not beside other modules";
    if (m->source != SOURCE_FREE) return "its rows are made by a network";
    if (m->write != TAP_EMBED_WORDS) return "PEFT's rows join the word embeddings (write=embed.words); --to hub has write=embed";
    if (m->place != PLACE_FIRST) return "PEFT's rows stand before the text (place=first)";
    if (m->pool != POOL_ROW0 && !a->decoder_layers) return "PEFT's classifier reads row 0, the prompt's (pool=row0)";
    return NULL;
}

void peft_prompt_write(struct adapter_writing *to, const struct plan *p, const struct model *model, const real *params) {
    const struct module *m = &p->method.module[peft_prompt_of(&p->method)];
    const struct plan_tensor *t = plan_slot(p, 0, SLOT_OWN, STACK_ENCODER, SUB_EMBED, -1);
    size_t kept = (size_t)m->size * (m->rows == ROWS_PEFT && model->arch.decoder_layers ? 2 : 1);
    BUG_IF(!t || t->count != kept * (size_t)model->arch.width);
    writing_add(to, xstrdup("prompt_embeddings"), kept, (size_t)model->arch.width, params + t->offset);
}

void peft_prompt_keys(json_t *c, const struct plan *p, const struct model *model) {
    const struct module *m = &p->method.module[peft_prompt_of(&p->method)];
    const struct arch *a = &model->arch;
    static const char *const nothing[] = { "prompt_tuning_init_text", "tokenizer_kwargs", "tokenizer_name_or_path" };
    json_object_set_new(c, "num_virtual_tokens", json_integer(m->size));
    json_object_set_new(c, "token_dim", json_integer(a->width));
    json_object_set_new(c, "num_layers", json_integer(a->encoder_layers));
    json_object_set_new(c, "num_attention_heads", json_integer(a->heads));
    json_object_set_new(c, "num_transformer_submodules", json_integer(m->rows == ROWS_PEFT && a->decoder_layers ? 2 : 1));
    json_object_set_new(c, "prompt_tuning_init", json_string("RANDOM"));
    for (size_t i = 0; i < COUNT_OF(nothing); i++) json_object_set_new(c, nothing[i], json_null());
}
