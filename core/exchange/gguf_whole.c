/* A run merged into its model, as a GGUF file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/exchange/export.h"
#include "core/exchange/gguf_out.h"
#include "core/method/attach.h"
#include "core/model/gguf.h"

enum { CONFIG_BYTES = 16 << 20 };

/* ---- metadata of a GGUF base ---- */

static int copy_metadata(struct gguf_writing *w, const struct model *m, struct err *e) {
    struct st_file *f = st_open(m->folder, e);
    const char *key;
    if (!f) return e->code;
    int rc = 0;
    for (size_t i = 0; !rc && (key = gguf_key(st_gguf(f), i)); i++) {
        if (!strcmp(key, "general.file_type") || !strcmp(key, "general.alignment")) continue;
        rc = gguf_copy(st_gguf(f), i, &w->meta, e);
        w->metas++;
    }
    st_close(f);
    return rc;
}

/* ---- metadata made of a folder ---- */

static void add_of(struct gguf_writing *w, const struct arch *a, const char *key, double value, bool whole) {
    char *name = xprintf("%s.%s", gguf_architecture(a), key);
    if (whole) gguf_add_int(w, name, (uint32_t)value);
    else gguf_add_float(w, name, value);
    free(name);
}

static int add_rope(struct gguf_writing *w, const struct arch *a, struct err *e) {
    const struct rope *r = &a->rope;
    bool yarn = r->kind == ROPE_YARN;
    add_of(w, a, "rope.freq_base", r->theta, false);
    if (r->kind != ROPE_LINEAR && !yarn) return 0;
    double scale = 0.1 * log(r->factor) + 1;
    bool usual = r->beta_fast == 32 && r->beta_slow == 1 && fabs(r->scale - scale) < 1e-6;
    if (yarn && !usual)
        return err_set(e, ERR_USAGE, "GGUF files cannot contain these yarn settings (beta_fast, beta_slow or "
                                     "attention_factor); use --to hf");
    char *type = xprintf("%s.rope.scaling.type", gguf_architecture(a));
    gguf_add_text(w, type, yarn ? "yarn" : "linear");
    free(type);
    add_of(w, a, "rope.scaling.factor", r->factor, false);
    if (yarn) add_of(w, a, "rope.scaling.original_context_length", r->original, true);
    return 0;
}

static int add_shape(struct gguf_writing *w, const struct model *m, struct err *e) {
    const struct arch *a = &m->arch;
    char *name = file_base_name(m->folder);
    gguf_add_text(w, "general.architecture", gguf_architecture(a));
    gguf_add_text(w, "general.type", "model");
    gguf_add_text(w, "general.name", name);
    free(name);
    add_of(w, a, "block_count", a->encoder_layers, true);
    add_of(w, a, "context_length", a->context, true);
    add_of(w, a, "embedding_length", a->width, true);
    add_of(w, a, "feed_forward_length", a->inner, true);
    add_of(w, a, "attention.head_count", a->heads, true);
    add_of(w, a, "attention.head_count_kv", a->key_heads ? a->key_heads : a->heads, true);
    add_of(w, a, "attention.key_length", a->head_width, true);
    add_of(w, a, "attention.value_length", a->head_width, true);
    add_of(w, a, "attention.layer_norm_rms_epsilon", a->norm_eps, false);
    add_of(w, a, "rope.dimension_count", a->head_width, true);
    add_of(w, a, "vocab_size", a->vocabulary, true);
    return add_rope(w, a, e);
}

/* Returns the chat template of a folder, or NULL; caller frees. */
static char *template_of(const char *folder) {
    struct err ignored = ERR_INIT;
    struct buf text = BUF_INIT;
    char *file = file_join(folder, "chat_template.jinja"),
         *config = file_join(folder, "tokenizer_config.json"), *out = NULL;
    if (file_exists(file) && !file_read(file, CONFIG_BYTES, &text, &ignored)) {
        out = xstrdup(buf_text(&text));
    } else if (file_exists(config)) {
        json_t *root = json_read(config, CONFIG_BYTES, &ignored);
        const char *own = json_string_value(json_object_get(root, "chat_template"));
        if (own) out = xstrdup(own);
        json_decref(root);
    }
    buf_release(&text);
    free(file);
    free(config);
    return out;
}

static int add_tokenizer(struct gguf_writing *w, const struct model *m, struct err *e) {
    if (model_needs_tokenizer(m, e)) return e->code;
    json_t *meta = tokenizer_to_gguf(m->tokenizer, m->arch.vocabulary, e), *v;
    const char *key;
    if (!meta) return err_prefix(e, "%s", m->folder);
    if (!json_object_get(meta, "bos_token_id") && m->arch.bos_id >= 0)
        json_object_set_new(meta, "bos_token_id", json_integer(m->arch.bos_id));
    if (!json_object_get(meta, "eos_token_id") && m->arch.eos_id >= 0)
        json_object_set_new(meta, "eos_token_id", json_integer(m->arch.eos_id));
    if (m->arch.pad_id >= 0) json_object_set_new(meta, "padding_token_id", json_integer(m->arch.pad_id));
    json_object_foreach(meta, key, v) {
        char *name = xprintf("tokenizer.ggml.%s", key);
        if (json_is_string(v)) gguf_add_text(w, name, json_string_value(v));
        else if (json_is_integer(v)) gguf_add_int(w, name, (uint32_t)json_integer_value(v));
        else if (json_is_boolean(v)) gguf_add_flag(w, name, json_is_true(v));
        else gguf_add_list(w, name, v);
        free(name);
    }
    json_decref(meta);
    char *template = template_of(m->folder);
    if (template) gguf_add_text(w, "tokenizer.chat_template", template);
    free(template);
    return 0;
}

/* ---- tensors ---- */

static enum st_type type_in_file(const struct tensor_info *t, enum st_type matrices) {
    if (t->vector) return ST_F32;
    return t->cols % (int)st_block_values(matrices) ? ST_F16 : matrices;
}

static void add_tensors(struct gguf_writing *w, const struct model *m, real *const *merged,
                        enum st_type matrices) {
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        char *name = gguf_own_name(t->name);
        BUG_IF(!name);
        gguf_add_tensor(w, (struct gguf_tensor){ .name = name,
                                                 .type = type_in_file(t, matrices),
                                                 .rows = t->vector ? 0 : (size_t)t->rows,
                                                 .cols = (size_t)t->cols,
                                                 .data = merged[i] ? merged[i] : model_weight(m, i),
                                                 .pairs = gguf_pairs(&m->arch, t->role) });
    }
}

/* What the frequencies of rotary embeddings are divided by: of the file, or of Llama 3.  NULL: nothing; caller
 * frees. */
static real *divisors(const struct model *m) {
    size_t n = (size_t)m->arch.head_width / 2;
    if (!m->rope_divisor && m->arch.rope.kind != ROPE_LLAMA3) return NULL;
    real *out = xcalloc(n, sizeof *out);
    double *f = xcalloc(n, sizeof *f);
    arch_rope(&m->arch, f);
    for (size_t i = 0; i < n; i++) {
        double plain = pow(m->arch.rope.theta, -2.0 * (double)i / m->arch.head_width);
        out[i] = m->rope_divisor ? m->rope_divisor[i] : (real)(plain / f[i]);
    }
    free(f);
    return out;
}

static int whole_check(const struct predictor *p, struct err *e) {
    const char *why;
    if (gguf_takes(p, e)) return e->code;
    if (!attach_can_merge(predictor_plan(p), &why))
        return err_set(e, ERR_USAGE, "cannot export a plain model: %s", why);
    return predictor_model(p)->arch.window
               ? err_set(e, ERR_USAGE, "the model has sliding-window attention, which llama.cpp does not apply to "
                                       "this architecture; use --to hf")
               : 0;
}

int export_gguf_merged(struct predictor *p, enum st_type matrices, const char *path, struct err *e) {
    const struct model *m = predictor_model(p);
    if (whole_check(p, e)) return e->code;
    struct gguf_writing w = { .meta = BUF_INIT };
    real **merged = xcalloc((size_t)m->tensors, sizeof *merged), *divisor = divisors(m);
    bool copied = gguf_is_file(m->folder);
    int rc = copied ? copy_metadata(&w, m, e) : add_shape(&w, m, e);
    if (!rc && !copied) rc = add_tokenizer(&w, m, e);
    gguf_add_int(&w, "general.file_type", matrices == ST_F32 ? 0 : matrices == ST_F16 ? 1 : 7);
    if (!rc) rc = attach_merge(predictor_plan(p), m, predictor_params(p), merged, e);
    if (!rc) add_tensors(&w, m, merged, matrices);
    if (!rc && divisor)
        gguf_add_tensor(&w, (struct gguf_tensor){ .name = xstrdup("rope_freqs.weight"), .type = ST_F32,
                                                  .cols = (size_t)m->arch.head_width / 2, .data = divisor });
    if (!rc) rc = gguf_save(&w, path, e);
    for (int i = 0; i < m->tensors; i++) free(merged[i]);
    free(merged);
    free(divisor);
    gguf_writing_release(&w);
    return rc;
}
