#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/method/classifier.h"
#include "core/model/gguf.h"
#include "core/model/gguf_folder.h"
#include "core/model/safetensors.h"
#include "core/train/run/predictor.h"

enum { CONFIG_BYTES = 1 << 20, COPY_BYTES = 64 << 20 };

static const char *const export_copied[] = {
    "vocab.txt",         "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.json",     "merges.txt",           "generation_config.json",
    "spiece.model",      "sentencepiece.bpe.model", "chat_template.jinja", "tokenizer.model",
};

/* ---- the folder ---- */

static void remove_folder(const char *folder) {
    static const char *const ours[] = { "config.json", "model.safetensors" };
    for (size_t i = 0; i < COUNT_OF(ours) + COUNT_OF(export_copied); i++) {
        char *path = file_join(folder, i < COUNT_OF(ours) ? ours[i] : export_copied[i - COUNT_OF(ours)]);
        remove(path);
        free(path);
    }
    rmdir(folder);
}

static int copy_tokenizer(const char *from, const char *to, struct err *e) {
    int rc = 0;
    for (size_t i = 0; i < COUNT_OF(export_copied) && !rc; i++) {
        struct buf bytes = BUF_INIT;
        char *source = file_join(from, export_copied[i]), *target = file_join(to, export_copied[i]);
        if (file_exists(source)) {
            rc = file_read(source, COPY_BYTES, &bytes, e);
            if (!rc) rc = file_write(target, buf_text(&bytes), bytes.size, e);
        }
        buf_release(&bytes);
        free(source);
        free(target);
    }
    return rc;
}

/* ---- config.json ---- */

/* Writes a label as JSON text; bytes that are not UTF-8 are replaced. */
static json_t *export_label_text(const char *s) {
    json_t *v = json_string(s);
    if (v) return v;
    struct buf b = BUF_INIT;
    json_add_string(&b, s);
    v = json_loads(buf_text(&b), JSON_DECODE_ANY, NULL);
    buf_release(&b);
    return v ? v : json_string("?");
}

static void set_labels(json_t *config, const struct predictor *p) {
    json_t *names = json_object(), *ids = json_object();
    int n = predictor_is_regression(p) ? 1 : predictor_labels(p);
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        json_t *label = predictor_is_regression(p)
            ? json_string("LABEL_0") : export_label_text(predictor_label(p, i));
        json_object_set_new(ids, json_string_value(label), json_integer(i));
        json_object_set_new(names, id, label);
    }
    json_object_set_new(config, "id2label", names);
    json_object_set_new(config, "label2id", ids);
}

/* transformers finds the last token of a decoder-only model's text by the padding after it. */
static void set_padding(json_t *config, const struct arch *a) {
    if (a->causal && !json_is_integer(json_object_get(config, "pad_token_id")) && a->eos_id >= 0)
        json_object_set_new(config, "pad_token_id", json_integer(a->eos_id));
}

static void set_head(json_t *config, const struct predictor *p) {
    set_padding(config, &p->m->arch);
    const char *kind = predictor_is_regression(p) ? "regression" : "single_label_classification";
    json_object_set_new(config, "problem_type", json_string(kind));
    json_object_del(config, "num_labels");
    set_labels(config, p);
}

/* Sets tie_word_embeddings from the weights; a T5 whose output scale differs from that of tied embeddings
 * writes them separately. */
static void set_tie(json_t *config, const struct arch *a) {
    bool scaled = a->decoded_scale != 1;
    json_object_set_new(config, "tie_word_embeddings", json_boolean(a->tied));
    if (a->family == FAMILY_T5 && scaled != a->tied)
        json_object_set_new(config, "scale_decoder_outputs", json_boolean(scaled));
}

/* Writes a file with JSON or, if that is NULL, with a text; no file if both are NULL. */
static int write_made(const char *folder, const char *name, const json_t *json, const char *text,
                      struct err *e) {
    char *path = file_join(folder, name), *made = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    if (made) text = made;
    int rc = text ? file_write(path, text, strlen(text), e) : 0;
    free(made);
    free(path);
    return rc;
}

/* Writes the tokenizer of a GGUF file. */
static int write_tokenizer(const struct gguf_folder *from, const char *folder, struct err *e) {
    int rc = write_made(folder, "tokenizer.json", from->tokenizer, NULL, e);
    if (!rc) rc = write_made(folder, "tokenizer_config.json", from->settings, NULL, e);
    if (!rc) rc = write_made(folder, "generation_config.json", from->generation, NULL, e);
    return rc ? rc : write_made(folder, "chat_template.jinja", NULL, from->chat, e);
}

/* Writes config.json; takes ownership of config, that of the model. */
static int write_config(const struct predictor *p, json_t *config, const char *folder, bool half,
                        struct err *e) {
    const char *type = half ? "float16" : "float32";
    char *target = file_join(folder, "config.json");
    int rc = config ? 0 : e->code;
    if (config) {
        const char *end = p->plan->words     ? "ForMaskedLM"
                          : p->plan->classes ? "ForSequenceClassification"
                          : p->m->arch.causal ? "ForCausalLM"
                                              : "ForConditionalGeneration";
        char *class = arch_class(&p->m->arch, end);
        json_object_set_new(config, "architectures", json_pack("[s]", class));
        free(class);
        json_object_set_new(config, "torch_dtype", json_string(type));
        if (json_object_get(config, "dtype"))
            json_object_set_new(config, "dtype", json_string(type));
        json_object_del(config, "_name_or_path");
        if (p->plan->classes) set_head(config, p);
        else set_tie(config, &p->m->arch);
        /* 15 digits reproduce numbers as written (1e-12), 17 do not. */
        char *text = json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        rc = text ? file_write(target, text, strlen(text), e)
                  : err_set(e, ERR_FAILED, "%s: cannot write JSON", target);
        free(text);
        json_decref(config);
    }
    free(target);
    return rc;
}

/* Writes the config and the files of the tokenizer: copies, or made from a GGUF file. */
static int write_others(const struct predictor *p, const char *folder, bool half, struct err *e) {
    if (gguf_is_file(p->m->folder)) {
        struct gguf_folder from;
        int rc = gguf_folder_make(p->m, &from, e);
        if (!rc) rc = write_config(p, json_incref(from.config), folder, half, e);
        if (!rc) rc = write_tokenizer(&from, folder, e);
        gguf_folder_release(&from);
        return rc;
    }
    char *source = file_join(p->m->folder, "config.json");
    int rc = write_config(p, json_read(source, CONFIG_BYTES, e), folder, half, e);
    free(source);
    return rc ? rc : copy_tokenizer(p->m->folder, folder, e);
}

/* ---- model.safetensors ---- */

/* Returns whether a tensor belongs to the head; so does the pooler where the model has none. */
static const struct plan_tensor *head_tensor(const struct plan *p, const char *name) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].kind == PLAN_HEAD && !strcmp(p->tensor[i].name, name))
            return &p->tensor[i];
    return NULL;
}

static void set_tensor(struct st_write *t, char *name, int rows, int cols, bool vector,
                       const real *data) {
    *t = (struct st_write){ .name = name, .type = ST_F32, .rank = vector ? 1 : 2, .data = data };
    t->shape[0] = (size_t)(vector ? cols : rows);
    t->shape[1] = vector ? 0 : (size_t)cols;
}

/* Writes the classifier; RoBERTa's has an additional dense layer, that of a decoder-only model no bias. */
static size_t export_add_head(const struct predictor *p, struct st_write *list) {
    static const char *const parts[][2] = { { "head.dense.weight", "classifier.dense.weight" },
                                           { "head.dense.bias", "classifier.dense.bias" },
                                           { "head.weight", "classifier.weight" },
                                           { "head.bias", "classifier.bias" } };
    bool two = head_tensor(p->plan, parts[0][0]) &&
               !p->m->arch.pooler; /* BERT's is written as the pooler */
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const struct plan_tensor *t = head_tensor(p->plan, parts[i][0]);
        bool last = i >= 2;
        if (!t || (!two && !last)) continue;
        char *name = p->m->arch.causal ? xstrdup("score.weight")
                     : two && last     ? xprintf("classifier.out_proj.%s", strrchr(parts[i][1], '.') + 1)
                                       : xstrdup(parts[i][1]);
        set_tensor(&list[n++], name, t->rows, t->cols, i % 2, p->params + t->offset);
    }
    return n;
}

/* Writes a masked language modeling head; the output embeddings are tied and not written. */
static size_t export_add_words(const struct predictor *p, struct st_write *list) {
    static const char *const parts[][2] = {
        { "head.words.weight", "cls.predictions.transform.dense.weight" },
        { "head.words.bias", "cls.predictions.transform.dense.bias" },
        { "head.words.norm.weight", "cls.predictions.transform.LayerNorm.weight" },
        { "head.words.norm.bias", "cls.predictions.transform.LayerNorm.bias" },
        { "head.words.vocabulary.bias", "cls.predictions.bias" },
    };
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(parts) && p->plan->words; i++) {
        const struct plan_tensor *t = head_tensor(p->plan, parts[i][0]);
        BUG_IF(!t);
        set_tensor(&list[n++], xstrdup(parts[i][1]), t->rows, t->cols, t->rows == 1, p->params + t->offset);
    }
    return n;
}

/* Converts all tensors to F16. */
static int export_halve(struct st_write *list, size_t n, const char *folder, struct err *e) {
    for (size_t i = 0; i < n; i++) {
        size_t values = list[i].shape[0] * (list[i].rank > 1 ? list[i].shape[1] : 1);
        real bad;
        if (!st_fits_half(list[i].data, values, &bad))
            return err_set(e, ERR_USAGE, "%s: %s: %g exceeds the range of F16 (65504); export as F32",
                           folder, list[i].name, (double)bad);
        list[i].type = ST_F16;
    }
    return 0;
}

static const real *values_of(const struct predictor *p, real **merged, int i) {
    const struct model *m = p->m;
    enum tensor_role role = m->tensor[i].role;
    bool pooler = role == ROLE_POOLER_W || role == ROLE_POOLER_B;
    const struct plan_tensor *dense =
        pooler ? head_tensor(p->plan, role == ROLE_POOLER_W ? "head.dense.weight" : "head.dense.bias") : NULL;
    if (dense) return p->params + dense->offset;
    if (merged[i] || m->weight[i]) return merged[i] ? merged[i] : model_weight(m, i);
    if (!pooler) return NULL;
    const struct plan_tensor *made =
        head_tensor(p->plan, role == ROLE_POOLER_W ? "head.pooler.weight" : "head.pooler.bias");
    return made ? p->params + made->offset : NULL;
}

/* Returns the values of a map or bias of GPT-2 as files have them, that of the queries joined with those of the keys and
 * values: maps as inputs × outputs.  *parts: how many are joined, 0 for keys and values themselves. */
static real *gpt2_values(const struct predictor *p, real **merged, int i, int *parts) {
    const struct tensor_info *t = &p->m->tensor[i];
    *parts = t->role == ROLE_Q_W || t->role == ROLE_Q_B ? 3 : strstr(t->name, ".c_attn.") ? 0 : 1;
    size_t rows = (size_t)(t->vector ? t->cols : t->rows), cols = (size_t)(t->vector ? 1 : t->cols),
           width = (size_t)*parts * rows;
    real *to = *parts ? xcalloc(width * cols, sizeof *to) : NULL;
    for (int k = 0; k < *parts; k++) { /* weights and biases alternate */
        const real *from = values_of(p, merged, i + 2 * k);
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++) to[c * width + (size_t)k * rows + r] = from[r * cols + c];
    }
    return to;
}

/* Appends a map or its bias of GPT-2, and keeps its values in `merged`; false for another tensor. */
static bool add_gpt2(const struct predictor *p, real **merged, int i, struct st_write *list, size_t *n) {
    const struct tensor_info *t = &p->m->tensor[i];
    const char *part = strstr(t->name, ".q.");
    int parts;
    if (p->m->arch.family != FAMILY_GPT2 || !strstr(t->name, ".c_")) return false;
    real *data = gpt2_values(p, merged, i, &parts);
    size_t before = part ? (size_t)(part - t->name) : strlen(t->name);
    if (!data) return true;
    free(merged[i]);
    merged[i] = data;
    set_tensor(&list[(*n)++],
               xprintf("%s%.*s%s", family_prefix(FAMILY_GPT2), (int)before, t->name, part ? part + 2 : ""),
               t->vector ? 1 : t->cols, parts * (t->vector ? t->cols : t->rows), t->vector, data);
    return true;
}

static int write_weights(const struct predictor *p, real **merged, const char *folder, bool half,
                         struct err *e) {
    const struct model *m = p->m;
    struct st_write *list = xcalloc((size_t)m->tensors + 10, sizeof *list);
    size_t n = 0;
    int rc = 0;
    for (int i = 0; i < m->tensors && !rc; i++) {
        const struct tensor_info *t = &m->tensor[i];
        const char *prefix = t->role == ROLE_LM_HEAD ? "" : family_prefix(m->arch.family);
        const real *data = values_of(p, merged, i);
        bool pooler = tensor_is_pooler(t);
        if (add_gpt2(p, merged, i, list, &n)) continue;
        if (!data && pooler && p->plan->words) continue; /* it has no trained parameters */
        if (t->role == ROLE_LM_HEAD && p->plan->classes) continue;
        if (!data) rc = err_set(e, ERR_FAILED, "tensor %s: missing in the model and in the run", t->name);
        else set_tensor(&list[n++], xprintf("%s%s", prefix, t->name), t->rows, t->cols, t->vector, data);
    }
    n += export_add_head(p, list + n);
    n += export_add_words(p, list + n);
    if (m->logits_bias)
        set_tensor(&list[n++], xstrdup("final_logits_bias"), 1, m->arch.vocabulary, false, m->logits_bias);
    const struct st_pair meta = { "format", "pt" };
    char *path = file_join(folder, "model.safetensors");
    if (!rc && half) rc = export_halve(list, n, folder, e);
    if (!rc) rc = st_save(path, list, n, &meta, 1, e);
    for (size_t i = 0; i < n; i++) free((char *)(uintptr_t)list[i].name);
    free(list);
    free(path);
    return rc;
}

static int fill_folder(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                       struct crew *crew, double *worst, struct err *e) {
    real **merged = xcalloc((size_t)p->m->tensors, sizeof *merged);
    int rc = attach_merge(p->plan, p->m, p->params, merged, e);
    if (!rc) rc = write_weights(p, merged, folder, half, e);
    if (!rc) rc = write_others(p, folder, half, e);
    for (int i = 0; i < p->m->tensors; i++) free(merged[i]);
    free(merged);
    if (!rc && probe) rc = export_compare(p, folder, half, probe, crew, worst, e);
    return rc;
}

int predictor_export(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                     struct crew *crew, double *worst, struct err *e) {
    struct err own = ERR_INIT;
    const char *why;
    double difference = 0;
    if (!e) e = &own;
    if (predictor_needs_head(p, e)) return e->code;
    if (!attach_can_merge(p->plan, &why))
        return err_set(e, ERR_USAGE, "cannot export a plain model: %s", why);
    if (!classifier_is_standard(&p->plan->method, &p->m->arch))
        return err_set(
            e, ERR_USAGE,
            "cannot export a plain model: the classifier differs from that of the model family");
    if (file_exists(folder) && !file_is_empty_folder(folder))
        return err_set(e, ERR_USAGE, "%s: the folder is not empty; use a new folder", folder);
    char *aside = xprintf("%s.tmp-%ld", folder, (long)getpid());
    int rc = file_make_folder(aside, e);
    if (!rc) rc = fill_folder(p, aside, half, probe, crew, &difference, e);
    if (!rc && rename(aside, folder))
        rc = err_set(e, ERR_SYSTEM, "%s: cannot create the folder: %s", folder, strerror(errno));
    if (rc) remove_folder(aside);
    free(aside);
    if (worst) *worst = difference;
    return rc;
}
