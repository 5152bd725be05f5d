#include "core/model/fresh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/model/arch.h"
#include "core/model/safetensors.h"

enum { LAYERS = 48, WIDTH = 4096, LEAST_POSITIONS = 8 };

static const char tokenizer_config[] =
    "{\n  \"cls_token\": \"[CLS]\",\n  \"do_lower_case\": true,\n  \"mask_token\": \"[MASK]\",\n  "
    "\"model_max_length\": %d,\n"
    "  \"pad_token\": \"[PAD]\",\n  \"sep_token\": \"[SEP]\",\n  \"strip_accents\": null,\n  "
    "\"tokenize_chinese_chars\": true,\n"
    "  \"tokenizer_class\": \"BertTokenizer\",\n  \"unk_token\": \"[UNK]\"\n}\n";

int fresh_check(const struct fresh *f, struct err *e) {
    if (f->layers < 1 || f->layers > LAYERS)
        return err_set(e, ERR_USAGE, "--layers %d: must be between 1 and %d", f->layers, LAYERS);
    if (f->width < 4 || f->width > WIDTH)
        return err_set(e, ERR_USAGE, "--width %d: must be between 4 and %d", f->width, WIDTH);
    if (f->heads < 1 || f->width % f->heads)
        return err_set(e, ERR_USAGE, "--heads %d: must divide the width, %d", f->heads, f->width);
    if (f->positions < LEAST_POSITIONS)
        return err_set(e, ERR_USAGE, "--max-length %d: must be at least %d", f->positions, LEAST_POSITIONS);
    return 0;
}

static void config_text(const struct fresh *f, int vocabulary, struct buf *out) {
    buf_printf(
        out,
        "{\n  \"architectures\": [\"BertModel\"],\n  \"model_type\": \"bert\",\n  \"hidden_size\": %d,\n"
        "  \"num_hidden_layers\": %d,\n  \"num_attention_heads\": %d,\n  \"intermediate_size\": %d,\n"
        "  \"vocab_size\": %d,\n  \"max_position_embeddings\": %d,\n  \"type_vocab_size\": 2,\n  "
        "\"hidden_act\": \"gelu\",\n"
        "  \"hidden_dropout_prob\": 0.1,\n  \"attention_probs_dropout_prob\": 0.1,\n  \"layer_norm_eps\": "
        "1e-12,\n"
        "  \"initializer_range\": 0.02,\n  \"pad_token_id\": 0,\n  \"position_embedding_type\": "
        "\"absolute\",\n"
        "  \"torch_dtype\": \"float32\"\n}\n",
        f->width, f->layers, f->heads, f->inner, vocabulary, f->positions);
}

static void fresh_start(const struct fresh *f, const struct tensor_info *t, real *out) {
    size_t n = (size_t)t->rows * (size_t)t->cols;
    struct rng_key key = rng_key(f->seed, RNG_INIT, 0, rng_site(t->name));
    for (size_t i = 0; i < n; i++) out[i] = (real)(t->bias ? 0 : t->vector ? 1 : 0.02 * rng_normal(key, i));
}

static int fresh_weights(const struct fresh *f, const struct arch *a, const char *folder, struct err *e) {
    struct tensor_info *list;
    int n = arch_tensors(a, &list), rc = 0;
    struct st_write *w = xcalloc((size_t)n, sizeof *w);
    size_t count = 0;
    for (int i = 0; i < n && !rc; i++) {
        const struct tensor_info *t = &list[i];
        if (tensor_is_pooler(t)) continue;
        real *v = mem_try((size_t)t->rows * (size_t)t->cols, sizeof *v);
        if (!v) {
            rc = err_set(e, ERR_SYSTEM, "out of memory for the parameters of %s", t->name);
            break;
        }
        fresh_start(f, t, v);
        w[count] = (struct st_write){ .name = t->name, .type = ST_F32, .rank = t->vector ? 1 : 2, .data = v };
        w[count].shape[0] = (size_t)(t->vector ? t->cols : t->rows);
        w[count++].shape[1] = t->vector ? 0 : (size_t)t->cols;
    }
    const struct st_pair meta = { "format", "pt" };
    char *path = file_join(folder, "model.safetensors");
    if (!rc) rc = st_save(path, w, count, &meta, 1, e);
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)w[i].data);
    free(path);
    free(w);
    free(list);
    return rc;
}

static int fresh_file(const char *folder, const char *name, const char *bytes, size_t n, struct err *e) {
    char *path = file_join(folder, name);
    int rc = file_write(path, bytes, n, e);
    free(path);
    return rc;
}

static int fresh_fill(const struct fresh *f, const char *vocab, size_t n, const char *folder, struct err *e) {
    struct buf config = BUF_INIT, settings = BUF_INIT;
    struct arch a = { 0 };
    int lines = 0;
    for (size_t i = 0; i < n; i++) lines += vocab[i] == '\n';
    config_text(f, lines, &config);
    buf_printf(&settings, tokenizer_config, f->positions);
    int rc = arch_parse("config.json", buf_text(&config), config.size, &a, NULL, e);
    if (!rc) rc = fresh_file(folder, "config.json", buf_text(&config), config.size, e);
    if (!rc) rc = fresh_file(folder, "tokenizer_config.json", buf_text(&settings), settings.size, e);
    if (!rc) rc = fresh_file(folder, "vocab.txt", vocab, n, e);
    if (!rc) rc = fresh_weights(f, &a, folder, e);
    arch_release(&a);
    buf_release(&config);
    buf_release(&settings);
    return rc;
}

void fresh_remove(const char *folder) {
    static const char *const ours[] = { "config.json", "tokenizer_config.json", "vocab.txt",
                                        "model.safetensors" };
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        char *path = file_join(folder, ours[i]);
        remove(path);
        free(path);
    }
    rmdir(folder);
}

int fresh_write(const struct fresh *f, const char *vocab, size_t n, const char *folder, struct err *e) {
    int rc = fresh_check(f, e);
    if (rc) return rc;
    if (file_exists(folder)) return err_set(e, ERR_USAGE, "%s: already exists; use a new folder", folder);
    char *aside = xprintf("%s.tmp-%ld", folder, (long)getpid());
    rc = file_make_folder(aside, e);
    if (!rc) rc = fresh_fill(f, vocab, n, aside, e);
    if (!rc && rename(aside, folder))
        rc = err_set(e, ERR_SYSTEM, "%s: cannot be created: %s", folder, strerror(errno));
    if (rc) fresh_remove(aside);
    free(aside);
    return rc;
}
