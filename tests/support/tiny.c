#include "tests/support/tiny.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

enum { VOCABULARY = 32, WIDTH = 8, LAYERS = 2, INNER = 16, POSITIONS = 16, TYPES = 2, ROOM = 64 };

struct tensor {
    char name[96];
    int rank, rows, cols;
    double *value;
};
struct list {
    int count;
    struct tensor tensor[ROOM];
};

static struct tensor *add(struct list *l, const char *prefix, const char *name, int rank, int rows,
                          int cols) {
    BUG_IF(l->count == ROOM);
    struct tensor *t = &l->tensor[l->count++];
    *t = (struct tensor){ .rank = rank, .rows = rows, .cols = cols };
    snprintf(t->name, sizeof t->name, "%s%s", prefix, name);
    t->value = xcalloc((size_t)rows * (size_t)cols, sizeof *t->value);
    return t;
}

static void add_linear(struct list *l, const char *prefix, const char *name, int out, int in) {
    char full[96];
    snprintf(full, sizeof full, "%s.weight", name);
    add(l, prefix, full, 2, out, in);
    snprintf(full, sizeof full, "%s.bias", name);
    add(l, prefix, full, 1, 1, out);
}

static void add_norm(struct list *l, const char *prefix, const char *name) {
    char full[96];
    snprintf(full, sizeof full, "%s.weight", name);
    add(l, prefix, full, 1, 1, WIDTH);
    snprintf(full, sizeof full, "%s.bias", name);
    add(l, prefix, full, 1, 1, WIDTH);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void fill(struct list *l, int mul) {
    qsort(l->tensor, (size_t)l->count, sizeof l->tensor[0], by_name);
    for (int k = 0; k < l->count; k++) {
        struct tensor *t = &l->tensor[k];
        bool norm = strcasestr(t->name, "norm") != NULL;
        for (int i = 0; i < t->rows * t->cols; i++)
            t->value[i] = norm ? (ends_with(t->name, "bias") ? 0 : 1)
                               : ((i * 37 + k * mul) % 201 - 100) / 256.0;
    }
}

static void shapes(struct list *l, const char *pre) {
    static const char *const square[] = { "self.query", "self.key", "self.value", "output.dense" };
    add(l, pre, "embeddings.word_embeddings.weight", 2, VOCABULARY, WIDTH);
    add(l, pre, "embeddings.position_embeddings.weight", 2, POSITIONS, WIDTH);
    add(l, pre, "embeddings.token_type_embeddings.weight", 2, TYPES, WIDTH);
    add_norm(l, pre, "embeddings.LayerNorm");
    add_linear(l, pre, "pooler.dense", WIDTH, WIDTH);
    for (int layer = 0; layer < LAYERS; layer++) {
        char name[96];
        for (size_t i = 0; i < COUNT_OF(square); i++) {
            snprintf(name, sizeof name, "encoder.layer.%d.attention.%s", layer, square[i]);
            add_linear(l, pre, name, WIDTH, WIDTH);
        }
        snprintf(name, sizeof name, "encoder.layer.%d.intermediate.dense", layer);
        add_linear(l, pre, name, INNER, WIDTH);
        snprintf(name, sizeof name, "encoder.layer.%d.output.dense", layer);
        add_linear(l, pre, name, WIDTH, INNER);
        snprintf(name, sizeof name, "encoder.layer.%d.attention.output.LayerNorm", layer);
        add_norm(l, pre, name);
        snprintf(name, sizeof name, "encoder.layer.%d.output.LayerNorm", layer);
        add_norm(l, pre, name);
    }
}

/* Renaming and adding come after filling: values follow the first names' order. */
static void rename_norms(struct list *l) {
    for (int k = 0; k < l->count; k++) {
        char *name = l->tensor[k].name, *norm = strstr(name, "LayerNorm.");
        if (norm) strcpy(norm, ends_with(name, "bias") ? "LayerNorm.beta" : "LayerNorm.gamma");
    }
}

static void drop_pooler(struct list *l) {
    int kept = 0;
    for (int k = 0; k < l->count; k++) {
        if (strstr(l->tensor[k].name, "pooler.")) free(l->tensor[k].value);
        else l->tensor[kept++] = l->tensor[k];
    }
    l->count = kept;
}

static void add_head(struct list *l, const struct tiny *t) {
    struct tensor *w = add(l, "", "classifier.weight", 2, t->outputs, WIDTH);
    struct tensor *b = add(l, "", "classifier.bias", 1, 1, t->outputs);
    for (int i = 0; i < t->outputs * WIDTH; i++) w->value[i] = t->head_weight;
    for (int i = 0; i < t->outputs && t->head_bias; i++) b->value[i] = t->head_bias[i];
}

/* Returns the bits of v rounded to half precision (clang 14 has no type for it on x86-64); |v| < 65504. */
static uint16_t tiny_half(float v) {
    int exponent;
    float part = frexpf(fabsf(v), &exponent);
    long bits = fabsf(v) < 0x1p-14f ? lrintf(ldexpf(fabsf(v), 24)) : ((exponent + 13L) << 10) + lrintf(ldexpf(part, 11));
    return (uint16_t)(bits | (signbit(v) ? 0x8000 : 0));
}

static void add_number(struct buf *data, double v, enum tiny_type type) {
    float f = (float)v;
    uint16_t h = tiny_half(f);
    if (type == TINY_F32) buf_add(data, &f, 4);
    else if (type == TINY_F16) buf_add(data, &h, 2);
    else buf_add(data, (const char *)&f + 2, 2); /* little-endian: the upper half */
}

void tiny_weights(const char *folder, const struct tiny *given) {
    static const char *const types[] = { "F32", "F16", "BF16" };
    struct tiny t = given ? *given : (struct tiny){ 0 };
    struct list l = { 0 };
    shapes(&l, "");
    fill(&l, t.mul ? t.mul : 101);
    if (t.no_pooler) drop_pooler(&l);
    if (t.old_norms) rename_norms(&l);
    for (int k = 0; k < l.count && t.prefix; k++) {
        char plain[96];
        strcpy(plain, l.tensor[k].name);
        snprintf(l.tensor[k].name, sizeof plain, "%s%.80s", t.prefix, plain);
    }
    if (t.outputs) add_head(&l, &t);
    qsort(l.tensor, (size_t)l.count, sizeof l.tensor[0], by_name);
    struct buf head = BUF_INIT, data = BUF_INIT;
    for (int k = 0; k < l.count; k++) {
        struct tensor *x = &l.tensor[k];
        size_t begin = data.size;
        for (int i = 0; i < x->rows * x->cols; i++) add_number(&data, x->value[i], t.type);
        buf_printf(&head, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[", k ? ',' : '{', x->name,
                   types[t.type]);
        if (x->rank == 2) buf_printf(&head, "%d,", x->rows);
        buf_printf(&head, "%d],\"data_offsets\":[%zu,%zu]}", x->cols, begin, data.size);
        free(x->value);
    }
    buf_putc(&head, '}');
    struct buf file = BUF_INIT;
    uint64_t length = head.size;
    buf_add(&file, &length, 8);
    buf_add(&file, head.data, head.size);
    buf_add(&file, data.data, data.size);
    free(test_file(folder, "model.safetensors", file.data, file.size));
    buf_release(&head);
    buf_release(&data);
    buf_release(&file);
}

static void write_config(const char *folder, const struct tiny *t) {
    static const char *const dtype[] = { "float32", "float16", "bfloat16" };
    struct buf b = BUF_INIT;
    buf_printf(
        &b,
        "{\"model_type\":\"bert\",\"architectures\":[\"BertModel\"],\"hidden_size\":8,"
        "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"intermediate_size\":16,\"vocab_size\":"
        "32,"
        "\"max_position_embeddings\":16,\"type_vocab_size\":2,\"layer_norm_eps\":1e-12,"
        "\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,\"attention_probs_dropout_prob\":0.1,"
        "\"pad_token_id\":0");
    if (t->type != TINY_F32) buf_printf(&b, ",\"torch_dtype\":\"%s\"", dtype[t->type]);
    for (int i = 0; i < t->outputs && t->labels; i++)
        buf_printf(&b, "%s\"%d\":\"%s\"", i ? "," : ",\"id2label\":{", i, t->labels[i]);
    if (t->outputs && t->labels) buf_putc(&b, '}');
    buf_printf(&b, "%s}", t->config ? t->config : "");
    free(test_file(folder, "config.json", b.data, b.size));
    buf_release(&b);
}

char *tiny_bert(const char *parent, const char *name, const struct tiny *given) {
    static const char vocabulary[] =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\nsat\non\nmat\nun\n##aff\n##able\n##"
        "s\ncafe\n.\n,\n!\n'\n"
        "\"\n我\n爱\na\n##b\n##c\nnot\ngood\nbad\nfilm\nvery\n##ly\n3\n";
    static const char lower[] = "{\"do_lower_case\":true}";
    struct tiny t = given ? *given : (struct tiny){ 0 };
    struct err e = ERR_INIT;
    char *folder = file_join(parent, name);
    test_ok(file_make_folder(folder, &e), &e);
    write_config(folder, &t);
    tiny_weights(folder, &t);
    free(test_file(folder, "vocab.txt", vocabulary, sizeof vocabulary - 1));
    free(test_file(folder, "tokenizer_config.json", lower, sizeof lower - 1));
    return folder;
}

char *tiny_toy(const char *parent) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "text\tlabel\n");
    for (int i = 0; i < 20; i++) {
        buf_puts(&b, i % 2 ? "bad film" : "good film");
        for (int j = 0; j < i % 3; j++) buf_puts(&b, " very");
        buf_puts(&b, i % 2 ? "\tneg\n" : "\tpos\n");
    }
    char *path = test_file(parent, "toy.tsv", b.data, b.size);
    buf_release(&b);
    return path;
}
