#include "core/model/facts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/generate.h"
#include "core/model/gguf.h"

static const char *const activations[ACT_COUNT] = {
    [ACT_NONE] = "none", [ACT_RELU] = "relu", [ACT_GELU] = "gelu",       [ACT_GELU_TANH] = "gelu_tanh",
    [ACT_SILU] = "silu", [ACT_TANH] = "tanh", [ACT_SIGMOID] = "sigmoid",
};

/* Generation settings decide the generated text, and so predictions and scores. */
static const char settings_file[] = "generation_config.json";

static void add_int(struct buf *b, const char *name, int v) { buf_printf(b, "%s=%d ", name, v); }

static void facts_add_double(struct buf *b, const char *name, double v) {
    char text[32];
    text_from_double(v, text);
    buf_printf(b, "%s=%s ", name, text);
}

/* Only of decoder-only models, so that the fingerprints of others stay. */
static void add_causal(struct buf *b, const struct arch *a) {
    add_int(b, "key_heads", a->key_heads);
    add_int(b, "context", a->context);
    add_int(b, "window", a->window);
    add_int(b, "qk_norm", a->qk_norm);
    add_int(b, "rope", (int)a->rope.kind);
    facts_add_double(b, "rope_theta", a->rope.theta);
    facts_add_double(b, "rope_factor", a->rope.factor);
    facts_add_double(b, "rope_scale", a->rope.scale);
    facts_add_double(b, "rope_low", a->rope.low);
    facts_add_double(b, "rope_high", a->rope.high);
    facts_add_double(b, "rope_beta_fast", a->rope.beta_fast);
    facts_add_double(b, "rope_beta_slow", a->rope.beta_slow);
    add_int(b, "rope_original", a->rope.original);
}

bool facts_are_causal(const char *facts) { return strstr(facts, " key_heads=") != NULL; }

/* Names of labels and the type of stored weights do not affect what a run computes. */
static void add_shape(struct buf *b, const struct arch *a) {
    buf_printf(b, "family=%s activation=%s ", family_name(a->family), activations[a->act]);
    add_int(b, "width", a->width);
    add_int(b, "heads", a->heads);
    add_int(b, "head_width", a->head_width);
    add_int(b, "inner_width", a->inner);
    add_int(b, "encoder_layers", a->encoder_layers);
    add_int(b, "decoder_layers", a->decoder_layers);
    add_int(b, "vocabulary", a->vocabulary);
    add_int(b, "positions", a->positions);
    add_int(b, "position_offset", a->position_offset);
    add_int(b, "types", a->types);
    add_int(b, "pad_id", a->pad_id);
    add_int(b, "bos_id", a->bos_id);
    add_int(b, "eos_id", a->eos_id);
    add_int(b, "decoder_start", a->decoder_start);
    add_int(b, "forced_bos", a->forced_bos);
    add_int(b, "forced_eos", a->forced_eos);
    add_int(b, "buckets", a->buckets);
    add_int(b, "bucket_distance", a->bucket_distance);
    facts_add_double(b, "norm_epsilon", a->norm_eps);
    add_int(b, "gated", a->gated);
    add_int(b, "pre_norm", a->pre_norm);
    add_int(b, "rms_norm", a->rms_norm);
    add_int(b, "biases", a->biases);
    add_int(b, "scaled_scores", a->scale_scores);
    add_int(b, "embedding_norm", a->embed_norm);
    add_int(b, "embedding_scale", a->embed_scale);
    add_int(b, "tied", a->tied);
    add_int(b, "final_dropout", a->final_dropout);
    facts_add_double(b, "decoded_scale", a->decoded_scale);
    facts_add_double(b, "dropout", a->dropout);
    facts_add_double(b, "attention_dropout", a->attention_dropout);
    facts_add_double(b, "activation_dropout", a->activation_dropout);
    facts_add_double(b, "classifier_dropout", a->classifier_dropout);
    if (a->causal) add_causal(b, a);
}

/* The bias of the logits is a used tensor that is not covered by the hash of the weights. */
static void add_bias(struct buf *b, const struct model *m) {
    char hash[65] = "none";
    if (m->logits_bias)
        sha256_hex(m->logits_bias, (size_t)m->arch.vocabulary * sizeof *m->logits_bias, hash);
    buf_printf(b, "logits_bias=%s", hash);
}

/* Neither is what divides the frequencies of rotary embeddings. */
static void add_divisor(struct buf *b, const struct model *m) {
    char hash[65];
    if (!m->rope_divisor) return;
    sha256_hex(m->rope_divisor, (size_t)m->arch.head_width / 2 * sizeof *m->rope_divisor, hash);
    buf_printf(b, " rope_divisor=%s", hash);
}

static int facts_add_file(struct buf *b, const char *folder, const char *name, struct err *e) {
    char *path = file_join(folder, name), hash[65];
    bool there = file_exists(path);
    int rc = there ? file_sha256(path, hash, e) : 0;
    if (there && !rc) buf_printf(b, " %s=%s", name, hash);
    free(path);
    return rc;
}

/* The metadata of a GGUF file that defines its tokenizer. */
static int facts_add_metadata(struct buf *b, const char *path, struct err *e) {
    char hash[65];
    struct st_file *f = st_open(path, e);
    if (!f) return e->code;
    int rc = gguf_hash(st_gguf(f), "tokenizer.ggml.", hash, e);
    if (!rc) buf_printf(b, " tokenizer=%s", hash);
    st_close(f);
    return rc;
}

int facts_fill(struct model *m, struct err *e) {
    struct buf b = BUF_INIT;
    add_shape(&b, &m->arch);
    add_bias(&b, m);
    add_divisor(&b, m);
    int rc = 0;
    const char *name;
    for (int i = 0; !rc && m->tokenizer && (name = tokenizer_file(m->tokenizer, i)); i++)
        rc = facts_add_file(&b, m->folder, name, e);
    if (m->tokenizer && !file_is_folder(m->folder)) rc = facts_add_metadata(&b, m->folder, e);
    if (!rc && arch_generates(&m->arch)) rc = facts_add_file(&b, m->folder, settings_file, e);
    m->facts = buf_take(&b);
    char *all = xprintf("%s\n%s", m->sha256, m->facts);
    sha256_hex(all, strlen(all), m->fingerprint);
    free(all);
    return rc;
}

/* ---- comparing ---- */

/* Returns the value of the fact whose name is the n bytes at `name`, up to the next blank; NULL if absent. */
static const char *facts_find(const char *facts, const char *name, size_t n) {
    for (const char *at = facts; *at; at += strcspn(at, " "), at += *at == ' ')
        if (!strncmp(at, name, n) && at[n] == '=') return at + n + 1;
    return NULL;
}

static bool is_file(const char *name, size_t n) { return memchr(name, '.', n) != NULL; }

static bool facts_same_value(const char *a, const char *b) {
    size_t n = strcspn(a, " "), k = strcspn(b, " ");
    return n == k && !memcmp(a, b, n);
}

/* Returns the first name in `in` whose value differs in `other`, or whose file is missing. */
static const char *first_other(const char *in, const char *other, size_t *n) {
    for (const char *at = in; *at; at += strcspn(at, " "), at += *at == ' ') {
        *n = strcspn(at, "= ");
        if (at[*n] != '=') continue;
        const char *value = facts_find(other, at, *n);
        if (value ? !facts_same_value(at + *n + 1, value) : is_file(at, *n)) return at;
    }
    return NULL;
}

/* An unsupported generation setting gives a better message than a changed one. */
static int broken_settings(const struct model *m, struct err *e) {
    struct generate_options unused;
    return arch_generates(&m->arch) ? generate_defaults(m, &unused, NULL, e) : 0;
}

int facts_check(const struct model *m, const char *was, const char *since, struct err *e) {
    size_t n = 0;
    const char *name = first_other(was, m->facts, &n);
    if (!name) name = first_other(m->facts, was, &n);
    if (!name) return 0;
    const char *then = facts_find(was, name, n), *now = facts_find(m->facts, name, n);
    if (is_file(name, n) && !strncmp(name, settings_file, n) && broken_settings(m, e)) return e->code;
    if (is_file(name, n))
        return err_set(e, ERR_INPUT, "%s/%.*s: %s since %s; restore the original model", m->folder, (int)n,
                       name,
                       !then  ? "added"
                       : !now ? "removed"
                              : "changed",
                       since);
    char *before = xstrndup(then, strcspn(then, " ")), *after = xstrndup(now, strcspn(now, " "));
    char *shown = text_visible(before, strlen(before)), *place = model_config_file(m);
    err_set(e, ERR_INPUT,
            "%s: \"%.*s\" changed since %s: from %.80s to %s; restore the original model", place, (int)n, name,
            since, shown, after);
    free(place);
    free(shown);
    free(before);
    free(after);
    return e->code;
}
