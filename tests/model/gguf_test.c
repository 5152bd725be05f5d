/* GGUF files: blocks by their definition and by another writer, models equal to those in folders, and what is
 * refused, with its place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/model/gguf.h"
#include "core/model/model.h"
#include "tests/support/test.h"
#include "tests/text/support.h"

/* ---- blocks ---- */

/* Byte i is 37·i + 11, then d = 0.25 and m = -0.125 in their places. */
static void blocks_by_definition(void **state) {
    (void)state;
    static const struct {
        enum st_type type;
        int d, m; /* positions; -1: none */
        double sum, first[4], at16, at31, at100, at255;
    } cases[] = {
        { ST_Q8_0, 0, -1, -44, { 21.25, 30.5, -24.25, -15 }, -22.75, -12, 0, 0 },
        { ST_Q4_0, 0, -1, -5.25, { -0.75, 0.5, 1.75, -1 }, -0.75, 0, 0, 0 },
        { ST_Q4_1, 0, 2, 57.25, { 3.625, 0.875, 2.125, 3.375 }, 2.125, 2.875, 0, 0 },
        { ST_Q5_0, 0, -1, 3.75, { 2.25, -0.5, 0.75, -2 }, 3.5, 0.25, 0, 0 },
        { ST_Q5_1, 0, 2, 122.25, { 4.625, 5.875, 7.125, 4.375 }, 4.625, 1.125, 0, 0 },
        { ST_Q4_K, 0, 2, 15722, { 91.625, 6.375, 45.125, 83.875 }, 91.625, 52.875, 32.25, 20.875 },
        { ST_Q5_K, 0, 2, 31166, { 215.625, 6.375, 169.125, 83.875 }, 215.625, 52.875, 67.25, 35.875 },
        { ST_Q6_K, 208, -1, 1153, { -357.75, 424, 145.75, -132.5 }, -108, -24, 630.75, -15 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t n = st_block_values(cases[i].type);
        unsigned char block[256];
        real v[256];
        double sum = 0;
        for (size_t k = 0; k < st_block_bytes(cases[i].type); k++) block[k] = (unsigned char)(37 * k + 11);
        memcpy(block + cases[i].d, "\x00\x34", 2);
        if (cases[i].m >= 0) memcpy(block + cases[i].m, "\x00\xb0", 2);
        gguf_unpack(cases[i].type, block, n, v);
        for (size_t k = 0; k < n; k++) sum += (double)v[k];
        bool right = sum == cases[i].sum && (double)v[16] == cases[i].at16 && (double)v[31] == cases[i].at31;
        for (size_t k = 0; k < 4; k++) right &= (double)v[k] == cases[i].first[k];
        if (n > 32) right &= (double)v[100] == cases[i].at100 && (double)v[255] == cases[i].at255;
        if (!right) fail_msg("%s: sum %g, values %g %g %g %g", st_type_name(cases[i].type), sum, (double)v[0],
                             (double)v[1], (double)v[2], (double)v[3]);
    }
}

static void blocks_of_another_writer(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *path = test_path("tests/reference/gguf/blocks.gguf"),
         *values = test_path("tests/reference/gguf/blocks.safetensors");
    struct st_file *f = st_open(path, &e), *right = st_open(values, &e);
    if (!f || !right) fail_msg("%s", e.text);
    assert_int_equal(st_count(f), 10);
    for (size_t i = 0; i < st_count(right); i++) {
        const struct st_tensor *y = st_at(right, i), *x = st_find(f, y->name);
        assert_non_null(x);
        assert_int_equal(x->rank, 2);
        assert_memory_equal(x->shape, y->shape, 2 * sizeof *x->shape);
        assert_string_equal(st_type_name(x->type), y->name);
        real *v = xcalloc(x->count, sizeof *v), *w = xcalloc(x->count, sizeof *w);
        test_ok(st_read(f, x, v, &e), &e);
        test_ok(st_read(right, y, w, &e), &e);
        assert_memory_equal(v, w, x->count * sizeof *v);
        free(v);
        free(w);
    }
    st_close(f);
    st_close(right);
    free(path);
    free(values);
}

/* ---- a writer ---- */

static void put(struct buf *b, const void *bytes, size_t n) { buf_add(b, bytes, n); }
static void put_u32(struct buf *b, uint32_t v) { put(b, &v, sizeof v); }
static void put_u64(struct buf *b, uint64_t v) { put(b, &v, sizeof v); }
static void put_string(struct buf *b, const char *s) {
    put_u64(b, strlen(s));
    put(b, s, strlen(s));
}

/* A file in three parts. */
struct written {
    uint32_t version;
    uint64_t metas, tensors;
    struct buf meta, info, data;
};

static void put_key(struct written *w, const char *key, uint32_t kind) {
    w->metas++;
    put_string(&w->meta, key);
    put_u32(&w->meta, kind);
}
static void put_int(struct written *w, const char *key, uint32_t v) {
    put_key(w, key, 4);
    put_u32(&w->meta, v);
}
static void put_float(struct written *w, const char *key, float v) {
    put_key(w, key, 6);
    put(&w->meta, &v, sizeof v);
}
static void put_text(struct written *w, const char *key, const char *v) {
    put_key(w, key, 8);
    put_string(&w->meta, v);
}

/* Appends a tensor's description at an offset. */
static void put_info(struct written *w, const char *name, int dims, const uint64_t *dim, uint32_t format,
                     uint64_t offset) {
    w->tensors++;
    put_string(&w->info, name);
    put_u32(&w->info, (uint32_t)dims);
    for (int i = 0; i < dims; i++) put_u64(&w->info, dim[i]);
    put_u32(&w->info, format);
    put_u64(&w->info, offset);
}

static void pad(struct buf *b) {
    while (b->size % 32) put(b, "", 1);
}

static struct buf join(struct written *w) {
    struct buf b = BUF_INIT;
    put(&b, "GGUF", 4);
    put_u32(&b, w->version);
    put_u64(&b, w->tensors);
    put_u64(&b, w->metas);
    put(&b, w->meta.data, w->meta.size);
    put(&b, w->info.data, w->info.size);
    pad(&b);
    put(&b, w->data.data, w->data.size);
    buf_release(&w->meta);
    buf_release(&w->info);
    buf_release(&w->data);
    return b;
}

static void refused_bytes(struct written *w, const char *part) {
    struct err e = ERR_INIT;
    struct buf b = join(w);
    struct st_file *f = st_open_memory("file", b.data, b.size, &e);
    if (f) fail_msg("read, but \"%s\" was expected", part);
    test_refused(e.code, ERR_INPUT, &e, part);
    buf_release(&b);
}

/* ---- hostile files ---- */

static void hostile_headers(void **state) {
    (void)state;
    static const struct {
        uint32_t version;
        uint64_t tensors, metas;
        const char *part;
    } cases[] = {
        { 3, 1ull << 60, 0, "file: header (before byte 24): 1152921504606846976 tensors do not fit" },
        { 3, 0, 1ull << 60, "file: header (before byte 24): 1152921504606846976 metadata keys do not fit" },
        { 1, 0, 0, "version 1 is not supported; supported: 2 and 3" },
        { 4, 0, 0, "version 4 is not supported" },
        { 3u << 24, 0, 0, "a big-endian file is not supported" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        refused_bytes(&(struct written){ cases[i].version, cases[i].metas, cases[i].tensors, BUF_INIT, BUF_INIT,
                                         BUF_INIT }, cases[i].part);
    struct err e = ERR_INIT;
    assert_null(st_open_memory("file", "GGUF\3\0\0", 7, &e));
    test_refused(e.code, ERR_INPUT, &e, "file: header (before byte 4): the file is truncated: 1 bytes are missing");
}

/* The bytes of one pair of metadata, or of its value after the key "k". */
static void hostile_metadata(void **state) {
    (void)state;
#define CASE(whole, bytes, part) { whole, bytes, sizeof(bytes) - 1, part }
#define HUGE_COUNT "\0\0\0\0\0\0\0\x20"
    static const struct {
        bool whole;
        const char *bytes;
        size_t n;
        const char *part;
    } cases[] = {
        CASE(true, "\0\0\0\0\0\0\0\x40" "abcdefgh", "metadata key 1 (before byte 32): a string of 4611686018427387904"),
        CASE(true, "\0\0\0\0\0\0\0\0\4\0\0\0\1\0\0\0", "metadata key 1 (before byte 32): the name is empty"),
        CASE(true, "\2\0\0\0\0\0\0\0a\n\4\0\0\0\1\0\0\0", "a control character in the name"),
        CASE(false, "\x0d\0\0\0\0", "metadata \"k\" (before byte 37): unknown type 13"),
        CASE(false, "\7\0\0\0\2", "metadata \"k\" (before byte 38): a boolean of value 2; must be 0 or 1"),
        CASE(false, "\x08\0\0\0\0\0\0\0\0\0\0\x40", "metadata \"k\" (before byte 45): a string of 4611686018427387904"),
        CASE(false, "\x09\0\0\0\4\0\0\0" HUGE_COUNT, "metadata \"k\" (before byte 49): an array of 2305843009213693952"),
        CASE(false, "\x09\0\0\0\x08\0\0\0" HUGE_COUNT, "an array of 2305843009213693952 elements"),
        CASE(false, "\x09\0\0\0\x08\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x40", "a string of 4611686018427387904"),
        CASE(false, "\x09\0\0\0\x09\0\0\0\1\0\0\0\0\0\0\0", "metadata \"k\" (before byte 41): an array of arrays"),
        CASE(false, "\x09\0\0\0\7\0\0\0\2\0\0\0\0\0\0\0\1\3", "a boolean of value 3"),
    };
#undef CASE
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct written w = { .version = 3, .metas = 1 };
        if (!cases[i].whole) put_string(&w.meta, "k");
        put(&w.meta, cases[i].bytes, cases[i].n);
        refused_bytes(&w, cases[i].part);
    }
    struct written twice = { .version = 3 };
    put_int(&twice, "a.b", 1);
    put_int(&twice, "a.a", 1);
    put_int(&twice, "a.b", 1);
    refused_bytes(&twice, "metadata \"a.b\" (before byte 81): the key occurs twice");
    static const uint32_t alignments[] = { 0, 3, 1 << 21 };
    for (size_t i = 0; i < COUNT_OF(alignments); i++) {
        struct written w = { .version = 3 };
        put_int(&w, "general.alignment", alignments[i]);
        refused_bytes(&w, "metadata \"general.alignment\" (before byte 57): must be a power of two");
    }
}

static void hostile_tensors(void **state) {
    (void)state;
    static const char longest[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl";
    static const struct {
        const char *name;
        int dims;
        uint64_t dim[5];
        uint32_t format;
        uint64_t offset;
        const char *part;
    } cases[] = {
        { "t", 5, { 1, 1, 1, 1, 1 }, 0, 0, "tensor \"t\" (before byte 37): 5 dimensions; must be between 1 and 4" },
        { "t", 0, { 0 }, 0, 0, "0 dimensions" },
        { "t", 4, { 1ull << 32, 1ull << 32, 1ull << 32, 2 }, 0, 0, "the product of the dimensions exceeds 64 bits" },
        { "t", 2, { 1ull << 32, 1ull << 31 }, 0, 0, "its size exceeds 64 bits" },
        { "t", 2, { 4, 0 }, 0, 0, "tensor \"t\" (before byte 53): a dimension of 0" },
        { "t", 1, { 33 }, 8, 0, "tensor \"t\" (before byte 49): rows of 33 values, but Q8_0 has blocks of 32" },
        { "t", 1, { 32 }, 99, 0, "format 99 (unknown) is not supported; supported: F32" },
        { "t", 1, { 256 }, 10, 0, "format 10 (Q2_K) is not supported" },
        { "t", 1, { 32 }, 39, 0, "format 39 (MXFP4) is not supported" },
        { "t", 1, { 4 }, 0, 4, "tensor \"t\" (before byte 57): offset 4; must be a multiple of 32" },
        { "t", 1, { 4 }, 0, 64, "16 bytes at offset 64 extend past the end of the file" },
        { "t", 1, { 17 }, 0, 0, "68 bytes at offset 0 extend past the end of the file" },
        { "t", 1, { 4 }, 0, 1ull << 63, "16 bytes at offset 9223372036854775808 extend past" },
        { "", 1, { 4 }, 0, 0, "tensor 1 (before byte 32): the name is empty" },
        { longest, 1, { 4 }, 0, 0, "tensor 1 (before byte 32): a name of 64 bytes; at most 63 are allowed" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct written w = { .version = 3 };
        put_info(&w, cases[i].name, cases[i].dims, cases[i].dim, cases[i].format, cases[i].offset);
        for (int k = 0; k < 64; k++) put(&w.data, "", 1);
        refused_bytes(&w, cases[i].part);
    }
    static const struct {
        const char *name;
        uint64_t offset;
        const char *part;
    } second[] = { { "t", 32, "tensor \"t\" is stored twice" },
                   { "u", 0, "tensor \"u\" overlaps tensor \"t\"" },
                   { "u", 64, "extend past the end" } };
    for (size_t i = 0; i < COUNT_OF(second); i++) {
        struct written w = { .version = 2 };
        put_info(&w, "t", 1, (const uint64_t[]){ 8 }, 0, 0);
        put_info(&w, second[i].name, 1, (const uint64_t[]){ 8 }, 0, second[i].offset);
        for (int k = 0; k < 64; k++) put(&w.data, "", 1);
        refused_bytes(&w, second[i].part);
    }
}

/* Truncated or modified files are refused, or read within bounds. */
static void damage_is_refused(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf b;
    char *path = test_path("tests/reference/gguf/blocks.gguf");
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    for (size_t n = 0; n + 32 < b.size; n += 7) { /* the end is padding */
        struct err why = ERR_INIT;
        assert_null(st_open_memory("cut", b.data, n, &why));
    }
    for (uint64_t i = 0; i < 2000; i++) {
        struct err why = ERR_INIT;
        struct rng_key key = rng_key(i, RNG_INIT, 0, 0);
        size_t at = (size_t)(rng_uniform(key, 0) * 1000);
        char was = b.data[at];
        b.data[at] = (char)(rng_uniform(key, 1) * 256);
        struct st_file *f = st_open_memory("changed", b.data, b.size, &why);
        for (size_t j = 0; f && j < st_count(f); j++) {
            real *v = xcalloc(st_at(f, j)->count, sizeof *v);
            st_read(f, st_at(f, j), v, &why);
            free(v);
        }
        st_close(f);
        b.data[at] = was;
    }
    buf_release(&b);
    free(path);
}

/* ---- models ---- */

/* Names of a folder and of a GGUF file. */
static const char *const part_names[][2] = {
    { "input_layernorm", "attn_norm" },   { "self_attn.q_proj", "attn_q" }, { "self_attn.k_proj", "attn_k" },
    { "self_attn.v_proj", "attn_v" },     { "self_attn.o_proj", "attn_output" },
    { "self_attn.q_norm", "attn_q_norm" }, { "self_attn.k_norm", "attn_k_norm" },
    { "post_attention_layernorm", "ffn_norm" }, { "mlp.gate_proj", "ffn_gate" }, { "mlp.up_proj", "ffn_up" },
    { "mlp.down_proj", "ffn_down" },      { "ln_1", "attn_norm" },          { "c_attn.q", "attn_qkv" },
    { "attn.c_proj", "attn_output" },     { "ln_2", "ffn_norm" },           { "mlp.c_fc", "ffn_up" },
    { "mlp.c_proj", "ffn_down" },
};

static char *written_name(const struct tensor_info *t) {
    if (t->role == ROLE_EMBED_WORD) return xstrdup("token_embd.weight");
    if (t->role == ROLE_EMBED_POSITION) return xstrdup("position_embd.weight");
    if (t->role == ROLE_FINAL_NORM_W) return xstrdup("output_norm.weight");
    if (t->role == ROLE_FINAL_NORM_B) return xstrdup("output_norm.bias");
    if (t->role == ROLE_LM_HEAD) return xstrdup("output.weight");
    for (size_t i = 0; i < COUNT_OF(part_names); i++)
        if (strstr(t->name, part_names[i][0]))
            return xprintf("blk.%d.%s%s", t->layer, part_names[i][1], strrchr(t->name, '.'));
    fail_msg("%s", t->name);
    return NULL;
}

static void put_tensor(struct written *w, const char *name, const float *v, int rows, int cols, bool vector) {
    uint64_t dim[2] = { (uint64_t)cols, (uint64_t)rows };
    pad(&w->data);
    put_info(w, name, vector ? 1 : 2, dim, 0, w->data.size);
    put(&w->data, v, (size_t)rows * (size_t)cols * sizeof *v);
}

/* Row g of a head in the file is this row of the folder's. */
static int folder_row(int g, int head) { return g / head * head + (g % head % 2 ? g % head / 2 + head / 2 : g % head / 2); }

/* Queries, keys and values of a GPT-2 are one tensor. */
static void put_fused(struct written *w, const struct model *m, int i) {
    const struct tensor_info *t = &m->tensor[i];
    size_t n = (size_t)t->rows * (size_t)t->cols;
    float *v = xcalloc(3 * n, sizeof *v);
    for (size_t part = 0; part < 3; part++) /* weights and biases alternate */
        for (size_t k = 0; k < n; k++) v[part * n + k] = (float)m->weight[i + 2 * (int)part][k];
    char *name = written_name(t);
    put_tensor(w, name, v, t->vector ? 1 : 3 * t->rows, t->vector ? 3 * t->cols : t->cols, t->vector);
    free(name);
    free(v);
}

static void put_weights(struct written *w, const struct model *m) {
    for (int i = 0; i < m->tensors; i++) {
        const struct tensor_info *t = &m->tensor[i];
        if (strstr(t->name, "c_attn.q")) put_fused(w, m, i);
        if (strstr(t->name, "c_attn.")) continue;
        bool turned = m->arch.family == FAMILY_LLAMA && (t->role == ROLE_Q_W || t->role == ROLE_K_W);
        float *v = xcalloc((size_t)t->rows * (size_t)t->cols, sizeof *v);
        for (int r = 0; r < t->rows; r++)
            for (int c = 0; c < t->cols; c++)
                v[r * t->cols + c] =
                    (float)m->weight[i][(turned ? folder_row(r, m->arch.head_width) : r) * t->cols + c];
        char *name = written_name(t);
        put_tensor(w, name, v, t->rows, t->cols, t->vector);
        free(name);
        free(v);
    }
}

static void put_arch_int(struct written *w, const char *kind, const char *key, int v) {
    char *whole = xprintf("%s.%s", kind, key);
    put_int(w, whole, (uint32_t)v);
    free(whole);
}

static void put_arch_float(struct written *w, const char *kind, const char *key, double v) {
    char *whole = xprintf("%s.%s", kind, key);
    put_float(w, whole, (float)v);
    free(whole);
}

static void put_config(struct written *w, const char *kind, const struct arch *a) {
    put_text(w, "general.architecture", kind);
    put_arch_int(w, kind, "block_count", a->encoder_layers);
    put_arch_int(w, kind, "embedding_length", a->width);
    put_arch_int(w, kind, "feed_forward_length", a->inner);
    put_arch_int(w, kind, "attention.head_count", a->heads);
    put_arch_int(w, kind, "context_length", arch_max_length(a));
    if (a->positions) {
        put_arch_float(w, kind, "attention.layer_norm_epsilon", a->norm_eps);
        return;
    }
    put_arch_int(w, kind, "attention.head_count_kv", a->key_heads);
    put_arch_int(w, kind, "attention.key_length", a->head_width);
    put_arch_int(w, kind, "attention.value_length", a->head_width);
    put_arch_int(w, kind, "rope.dimension_count", a->head_width);
    put_arch_float(w, kind, "attention.layer_norm_rms_epsilon", a->norm_eps);
    put_arch_float(w, kind, "rope.freq_base", a->rope.theta);
    if (a->rope.kind == ROPE_LINEAR || a->rope.kind == ROPE_YARN) {
        put_text(w, "llama.rope.scaling.type", a->rope.kind == ROPE_LINEAR ? "linear" : "yarn");
        put_arch_float(w, kind, "rope.scaling.factor", a->rope.factor);
        put_arch_int(w, kind, "rope.scaling.original_context_length", a->rope.original);
    }
}

/* Frequencies of Llama 3 are in a tensor that divides the plain ones. */
static void put_divisor(struct written *w, const struct arch *a) {
    struct arch plain = *a;
    double to[64], from[64];
    float by[64];
    if (a->rope.kind != ROPE_LLAMA3) return;
    plain.rope.kind = ROPE_DEFAULT;
    arch_rope(a, to);
    arch_rope(&plain, from);
    for (int i = 0; i < a->head_width / 2; i++) by[i] = (float)(from[i] / to[i]);
    put_tensor(w, "rope_freqs.weight", by, 1, a->head_width / 2, true);
}

static char *save(struct written *w) {
    struct err e = ERR_INIT;
    struct buf b = join(w);
    char *parent = test_folder(), *path = file_join(parent, "model.gguf");
    test_ok(file_write(path, b.data, b.size, &e), &e);
    buf_release(&b);
    free(parent);
    return path;
}

static struct model *read_model(const char *path) {
    struct err e = ERR_INIT;
    struct model *m = model_load(path, &e);
    if (!m) fail_msg("%s", e.text);
    return m;
}

/* Returns the logits of n tokens; caller frees. */
static real *logits_of(const struct model *m, const int32_t *ids, int n) {
    int start[2] = { 0, n };
    int32_t types[32] = { 0 }, positions[32];
    uint64_t example = 0;
    assert_true(n <= 32);
    arch_positions(&m->arch, ids, (size_t)n, positions);
    struct batch b = { .examples = 1, .tokens = n, .ids = (int32_t *)(uintptr_t)ids, .types = types,
                       .positions = positions, .start = start, .example_id = &example };
    struct arena *arena = arena_new();
    struct tape *tape = tape_new(arena);
    struct forward f;
    forward_init(&f, tape, m, &b, NULL);
    node out = forward_logits(&f, forward_encode(&f));
    size_t size = (size_t)n * (size_t)m->arch.vocabulary;
    real *copy = xcalloc(size, sizeof *copy);
    memcpy(copy, tape_value(tape, out), size * sizeof *copy);
    tape_free(tape);
    arena_free(arena);
    return copy;
}

static void same_model(const struct model *a, const struct model *b, double limit) {
    static const int32_t ids[] = { 1, 8, 21, 48, 89, 144, 213, 296, 80, 191 };
    assert_string_equal(a->sha256, b->sha256);
    assert_int_equal(a->arch.eos_id == -1 ? b->arch.eos_id : a->arch.eos_id, b->arch.eos_id);
    assert_true(a->arch.tied == b->arch.tied);
    real *x = logits_of(a, ids, COUNT_OF(ids)), *y = logits_of(b, ids, COUNT_OF(ids));
    double most = 0;
    for (size_t i = 0; i < COUNT_OF(ids) * (size_t)a->arch.vocabulary; i++)
        most = fmax(most, fabs((double)(x[i] - y[i])));
    if (!(most <= limit)) fail_msg("logits differ by %g", most);
    free(x);
    free(y);
}

/* Packed weights that nothing has read in float32 are released, and read again, here for the hash. */
static void hash_after_packing(const char *path) {
    char hash[65];
    struct model *m = read_model(path);
    size_t before = model_bytes(m), packed = 0;
    for (int i = 0; i < m->tensors; i++)
        if (arch_is_map(&m->arch, m->tensor[i].role)) packed += packed_bytes(model_packed(m, i));
    assert_true(model_bytes(m) < before + packed);
    model_hash(m, hash);
    assert_string_equal(hash, m->sha256);
    model_release(m);
}

/* Without its weights in memory, a model computes the same; what is read in float32 stays. */
static void weights_in_the_file(void **state) {
    (void)state;
    static const char *const models[] = { "tests/reference/gguf/llama.gguf", "tests/reference/causal/qwen3" };
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        struct err e = ERR_INIT;
        char *path = test_path(models[i]), hash[65];
        struct model *a = model_load_as(path, WEIGHTS_PACKED, &e), *b = model_load_as(path, WEIGHTS_FILE, &e);
        if (!a || !b) fail_msg("%s", e.text);
        assert_true(a->weights_in == WEIGHTS_PACKED && b->weights_in == WEIGHTS_FILE && !b->values);
        assert_int_equal(model_bytes(b), 0);
        same_model(a, b, 0);
        assert_true(model_bytes(b) < 0.75 * (double)model_bytes(a));
        for (int k = 0; k < a->tensors; k++) {
            size_t n = (size_t)a->tensor[k].rows * (size_t)a->tensor[k].cols;
            real *own = xcalloc(n, sizeof *own);
            model_read_weight(b, k, own);
            assert_memory_equal(own, model_weight(a, k), n * sizeof *own);
            assert_memory_equal(own, model_weight(b, k), n * sizeof *own);
            free(own);
        }
        assert_true(model_bytes(b) >= model_bytes(a));
        same_model(b, a, 0);
        model_hash(b, hash);
        assert_string_equal(hash, a->sha256);
        model_release(a);
        model_release(b);
        free(path);
    }
}

static void only_of_decoders(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *path = test_path("assets/models/petri-mini");
    assert_null(model_load_as(path, WEIGHTS_FILE, &e));
    test_refused(e.code, ERR_USAGE, &e, "is not a decoder-only model; use --weights-in packed");
    free(path);
}

static void model_of_another_writer(void **state) {
    (void)state;
    char *path = test_path("tests/reference/gguf/llama.gguf"), *folder = test_path("tests/reference/causal/llama");
    struct model *a = read_model(path), *b = read_model(folder);
    same_model(a, b, 0);
    assert_int_equal(tokenizer_size(a->tokenizer), tokenizer_size(b->tokenizer));
    assert_non_null(strstr(a->facts, " tokenizer="));
    assert_int_equal(tokenizer_eos(a->tokenizer), 2);
    struct chat_template chat;
    struct err e = ERR_INIT;
    test_ok(model_chat_template(path, &chat, &e), &e);
    assert_string_equal(chat_template_name(&chat), "chatml");
    chat_template_release(&chat);
    assert_int_equal(a->arch.eos_id, 2);
    hash_after_packing(path);
    model_release(a);
    model_release(b);
    free(path);
    free(folder);
}

static void models_equal_folders(void **state) {
    (void)state;
    static const char *const names[] = { "llama", "llama3", "linear", "yarn", "qwen2", "qwen3", "gpt2" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *inside = xprintf("tests/reference/causal/%s", names[i]), *folder = test_path(inside);
        struct model *b = read_model(folder);
        struct written w = { .version = 3 };
        put_config(&w, b->arch.model_type, &b->arch);
        put_weights(&w, b);
        put_divisor(&w, &b->arch);
        char *path = save(&w);
        struct model *a = read_model(path);
        assert_true((a->rope_divisor != NULL) == (b->arch.rope.kind == ROPE_LLAMA3));
        assert_true(!a->rope_divisor == !strstr(a->facts, "rope_divisor="));
        assert_null(strstr(buf_text(&a->report), "hidden_act")); /* the architecture defines it */
        assert_null(strstr(buf_text(&a->report), "activation_function"));
        same_model(a, b, a->rope_divisor ? 2e-5 : a->arch.positions ? 1e-6 : 0);
        model_release(a);
        model_release(b);
        free(path);
        free(folder);
        free(inside);
    }
}

/* ---- models that are refused ---- */

enum { TINY = 8 }; /* vocabulary, width, inner width; one layer, two heads */

/* Writes a tiny model; `without` is a tensor or key to be left out, or NULL. */
static void put_tiny(struct written *w, const char *kind, const char *without) {
    static const char *const matrices[] = { "token_embd", "blk.0.attn_q", "blk.0.attn_k", "blk.0.attn_v",
                                            "blk.0.attn_output", "blk.0.ffn_gate", "blk.0.ffn_up", "blk.0.ffn_down" };
    static const char *const norms[] = { "blk.0.attn_norm", "blk.0.ffn_norm", "output_norm" };
    static const char *const keys[] = { "embedding_length", "feed_forward_length" };
    const float zeros[TINY * TINY] = { 0 };
    put_text(w, "general.architecture", kind);
    if (strcmp(without, "block_count")) put_arch_int(w, kind, "block_count", 1);
    for (size_t i = 0; i < COUNT_OF(keys); i++) put_arch_int(w, kind, keys[i], TINY);
    put_arch_int(w, kind, "attention.head_count", 2);
    put_arch_float(w, kind, "attention.layer_norm_rms_epsilon", 1e-5);
    for (size_t i = 0; i < COUNT_OF(matrices) + COUNT_OF(norms); i++) {
        bool vector = i >= COUNT_OF(matrices);
        char *name = xprintf("%s.weight", vector ? norms[i - COUNT_OF(matrices)] : matrices[i]);
        if (strcmp(without, name)) put_tensor(w, name, zeros, vector ? 1 : TINY, TINY, vector);
        free(name);
    }
}

static void refused_model(struct written *w, const char *part) {
    struct err e = ERR_INIT;
    char *path = save(w);
    struct model *m = model_load(path, &e);
    if (m) fail_msg("loaded, but \"%s\" was expected", part);
    test_refused(e.code, ERR_INPUT, &e, part);
    if (!text_starts(e.text, path)) fail_msg("no path in: %s", e.text);
    free(path);
}

static void models_that_are_refused(void **state) {
    (void)state;
    const float values[TINY * TINY] = { 1 };
    static const struct {
        const char *key;
        int v;
        const char *part;
    } keys[] = {
        { "llama.expert_count", 8, "metadata \"llama.expert_count\": above 0; mixtures of experts are not supported" },
        { "llama.logit_scale", 2, "metadata \"llama.logit_scale\": unknown key" },
        { "llama.attention.value_length", 2, "metadata \"llama.attention.value_length\": 2; must equal" },
        { "llama.rope.dimension_count", 2, "metadata \"llama.rope.dimension_count\": 2; only rotation of whole heads" },
        { "llama.vocab_size", 9, "metadata \"llama.vocab_size\": differs from the rows of token_embd.weight" },
        { "llama.attention.head_count_kv", 3, "\"num_key_value_heads\": 3; must divide the 2 heads" },
        { "split.count", 2, "metadata \"split.count\": one of several files" },
        { "tokenizer.ggml.bos_token_id", 8, "metadata \"tokenizer.ggml.bos_token_id\": 8; must be the id of a token" },
        { "tokenizer.ggml.padding_token_id", 9, "\"tokenizer.ggml.padding_token_id\": 9; must be the id" },
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct written w = { .version = 3 };
        put_tiny(&w, "llama", "");
        put_int(&w, keys[i].key, (uint32_t)keys[i].v);
        refused_model(&w, keys[i].part);
    }
    static const struct {
        const char *key, *v, *part;
    } texts[] = {
        { "general.type", "adapter", "metadata \"general.type\": not a model" },
        { "llama.rope.scaling.type", "longrope", "metadata \"llama.rope.scaling.type\": longrope; supported: none" },
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct written w = { .version = 3 };
        put_tiny(&w, "llama", "");
        put_text(&w, texts[i].key, texts[i].v);
        refused_model(&w, texts[i].part);
    }
    static const struct {
        const char *name;
        int rows, cols;
        const char *part;
    } tensors[] = {
        { "blk.0.attn_sinks.weight", 1, 8, "tensor \"blk.0.attn_sinks.weight\": not part of this architecture" },
        { "layers.0.self_attn.q_proj.weight", 8, 8, "\"layers.0.self_attn.q_proj.weight\": not part" },
        { "blk.1.attn_q.weight", 8, 8, "tensor \"blk.1.attn_q.weight\": not part of this architecture" },
        { "blk.0.attn_q_norm.weight", 1, 4, "tensor \"blk.0.attn_q_norm.weight\": not part" },
        { "blk.0.attn_k.bias", 1, 8, "tensor \"blk.0.attn_k.bias\": not part" },
        { "output.weight", 7, 8, "tensor \"output.weight\" is 7×8, but the metadata requires 8×8" },
        { "rope_freqs.weight", 1, 4, "tensor \"rope_freqs.weight\" is 4, but the metadata requires 2" },
        { "rope_freqs.weight", 1, 2, "tensor \"rope_freqs.weight\": 0 at index 1; must be above 0" },
    };
    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        struct written w = { .version = 3 };
        put_tiny(&w, "llama", "");
        put_tensor(&w, tensors[i].name, values, tensors[i].rows, tensors[i].cols, tensors[i].rows == 1);
        refused_model(&w, tensors[i].part);
    }
    static const struct {
        const char *kind, *without, *part;
    } missing[] = {
        { "gemma2", "", "metadata \"general.architecture\": gemma2; supported: llama, qwen2, qwen3 and gpt2" },
        { "llama", "block_count", "metadata \"llama.block_count\": missing" },
        { "llama", "token_embd.weight", "the tensor \"token_embd.weight\" is missing" },
        { "llama", "blk.0.ffn_up.weight", "\"layers.0.mlp.up_proj.weight\" is missing" },
    };
    for (size_t i = 0; i < COUNT_OF(missing); i++) {
        struct written w = { .version = 3 };
        put_tiny(&w, missing[i].kind, missing[i].without);
        refused_model(&w, missing[i].part);
    }
    struct written w = { .version = 3 };
    put_tiny(&w, "llama", "");
    put_key(&w, "tokenizer.ggml.tokens", 9);
    put_u32(&w.meta, 8);
    put_u64(&w.meta, 1);
    put_string(&w.meta, "a");
    refused_model(&w, "metadata \"tokenizer.ggml.tokens\": 1; must have one element per row");
    struct written ends = { .version = 3 };
    struct err e = ERR_INIT;
    struct arch a;
    put_tiny(&ends, "llama", "");
    put_int(&ends, "tokenizer.ggml.eos_token_id", 2);
    put_int(&ends, "tokenizer.ggml.eot_token_id", 5);
    put_int(&ends, "tokenizer.ggml.eom_token_id", 2);
    char *path = save(&ends);
    test_ok(arch_read(path, &a, NULL, &e), &e);
    assert_true(a.eos_id == 2 && a.ends == 2 && a.end[0] == 2 && a.end[1] == 5);
    arch_release(&a);
    free(path);
    struct written layers = { .version = 3 };
    put_tiny(&layers, "llama", "");
    put_key(&layers, "llama.attention.head_count_kv", 9);
    put_u32(&layers.meta, 4);
    put_u64(&layers.meta, 2);
    put_u32(&layers.meta, 1);
    put_u32(&layers.meta, 2);
    refused_model(&layers, "metadata \"llama.attention.head_count_kv\": differs between layers");
}

/* ---- arrays ---- */

/* The key "a" of a file with nothing else; the caller releases *b and closes *f. */
static json_t *array_of(struct written *w, struct buf *b, struct st_file **f, struct err *e) {
    put_tensor(w, "x", (float[8]){ 0 }, 1, 8, true);
    *b = join(w);
    *f = st_open_memory("file", b->data, b->size, e);
    if (!*f) fail_msg("%s", e->text);
    e->code = 0;
    return gguf_array(st_gguf(*f), "a", e);
}

static void arrays_are_read(void **state) {
    (void)state;
    struct written w = { .version = 3 };
    struct err e = ERR_INIT;
    struct buf b;
    struct st_file *f;
    put_key(&w, "a", 9);
    put_u32(&w.meta, 8);
    put_u64(&w.meta, 3);
    put_string(&w.meta, "a b");
    put_string(&w.meta, "");
    put_string(&w.meta, "\u0120");
    json_t *list = array_of(&w, &b, &f, &e), *right = json_pack("[s,s,s]", "a b", "", "\u0120");
    assert_true(json_equal(list, right));
    assert_null(gguf_array(st_gguf(f), "b", &e));
    assert_int_equal(e.code, 0);
    json_decref(list);
    json_decref(right);
    st_close(f);
    buf_release(&b);
}

/* Arrays of one element, each refused with its place. */
static void arrays_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *part;
        uint32_t kind;
        uint64_t bytes; /* of a string; otherwise the value */
        char fill;
    } cases[] = {
        { "metadata \"a\": element 0 (before byte", 8, 5000, 'a' }, { "a string of 5000 bytes; at most 4096", 8, 5000, 'a' },
        { "not valid UTF-8", 8, 2, '\xff' }, { "NaN, infinite, or too large", 6, 0x7FC00000, 0 },
        { "metadata \"a\": one value; must be an array", 0, 0, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct written w = { .version = 3 };
        struct err e = ERR_INIT;
        struct buf b;
        struct st_file *f;
        uint32_t number = (uint32_t)cases[i].bytes;
        if (cases[i].kind) {
            put_key(&w, "a", 9);
            put_u32(&w.meta, cases[i].kind);
            put_u64(&w.meta, 1);
        } else {
            put_int(&w, "a", 1);
        }
        if (cases[i].kind == 6) put(&w.meta, &number, sizeof number);
        if (cases[i].kind == 8) put_u64(&w.meta, cases[i].bytes);
        for (uint64_t k = 0; cases[i].kind == 8 && k < cases[i].bytes; k++) put(&w.meta, &cases[i].fill, 1);
        assert_null(array_of(&w, &b, &f, &e));
        test_refused(e.code, ERR_INPUT, &e, cases[i].part);
        st_close(f);
        buf_release(&b);
    }
}

/* ---- SmolLM2-135M-Instruct in Q4_1, as it is published ---- */

#define SMOLLM2 "assets/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

/* The ids of the lines of a fixture, by tokenizers. */
static void smollm2_ids(void **state) {
    (void)state;
    test_needs(SMOLLM2);
    char *path = test_path(SMOLLM2);
    struct err e = ERR_INIT;
    struct buf text = fixture("tests/reference/smollm2_ids.txt"), got = BUF_INIT;
    struct tokenizer *t = model_tokenizer(path, NULL, &e);
    if (!t) fail_msg("%s", e.text);
    int32_t *ids = NULL;
    size_t room = 0, lines = 0;
    for (char *rest = text.data, *line; (line = strsep(&rest, "\n")) && rest; lines++) {
        char *expected = strchr(line, '\t');
        *expected++ = '\0';
        size_t n = tokenizer_ids(t, line, unescape(line), &ids, &room);
        buf_clear(&got);
        for (size_t i = 0; i < n; i++) buf_printf(&got, i ? " %d" : "%d", ids[i]);
        if (strcmp(buf_text(&got), expected)) fail_msg("line %zu: %s, not %s", lines + 1, buf_text(&got), expected);
    }
    assert_int_equal(lines, 96);
    free(ids);
    tokenizer_free(t);
    buf_release(&text);
    buf_release(&got);
    free(path);
}

/* The logits of transformers after "The capital of France is". */
static void smollm2_logits(void **state) {
    (void)state;
    static const int32_t ids[] = { 504, 3575, 282, 4649, 314 }, best[] = { 7042, 260, 4528, 2250, 1315 };
    static const double right[] = { 17.3713, 14.8886, 13.245, 13.0095, 12.9515 };
    test_needs(SMOLLM2);
    if (!test_slow()) test_skip("loads 135 million parameters three times; make test-slow");
    char *path = test_path(SMOLLM2);
    struct model *m = read_model(path);
    assert_int_equal(arch_parameters(&m->arch), 134515008);
    real *x = logits_of(m, ids, COUNT_OF(ids));
    for (size_t i = 0; i < COUNT_OF(best); i++) {
        double got = (double)x[4 * (size_t)m->arch.vocabulary + (size_t)best[i]];
        if (!(fabs(got - right[i]) < 2e-4)) fail_msg("logit of %d: %.5f, not %.5f", best[i], got, right[i]);
    }
    free(x);
    model_release(m);
    hash_after_packing(path);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_by_definition),  cmocka_unit_test(blocks_of_another_writer),
        cmocka_unit_test(hostile_headers),       cmocka_unit_test(hostile_metadata),
        cmocka_unit_test(hostile_tensors),       cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(weights_in_the_file), cmocka_unit_test(only_of_decoders),
        cmocka_unit_test(model_of_another_writer), cmocka_unit_test(models_equal_folders),
        cmocka_unit_test(models_that_are_refused), cmocka_unit_test(arrays_are_read),
        cmocka_unit_test(arrays_that_are_refused), cmocka_unit_test(smollm2_ids),
        cmocka_unit_test(smollm2_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
