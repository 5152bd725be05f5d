#include "tests/support/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/model/safetensors.h"
#include "tests/support/test.h"

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ntoy\ntext\n:\n0\n1\nfilm\ngood\nbad\nvery\nnot\na\nthe\ncat\n"
    "dog\nsat\nran\non\nmat\nhat\nred\nblue\nbig\nsmall\nhe\nshe\nsaw\nit\n";
enum { WORDS = 32 };

static const char *const configs[FAMILY_COUNT] = {
    [FAMILY_T5] = "\"model_type\":\"t5\",\"d_model\":16,\"num_layers\":2,\"num_decoder_layers\":2,"
                  "\"num_heads\":2,\"d_kv\":8,\"d_ff\":32,\"feed_forward_proj\":\"relu\","
                  "\"relative_attention_num_buckets\":8,\"relative_attention_max_distance\":16,"
                  "\"dropout_rate\":0.1,\"pad_token_id\":0,\"eos_token_id\":3,"
                  "\"decoder_start_token_id\":0,\"tie_word_embeddings\":true",
    [FAMILY_BART] = "\"model_type\":\"bart\",\"d_model\":16,\"encoder_layers\":2,\"decoder_layers\":2,"
                    "\"encoder_attention_heads\":2,\"decoder_attention_heads\":2,\"encoder_ffn_dim\":32,"
                    "\"decoder_ffn_dim\":32,\"max_position_embeddings\":32,\"activation_function\":\"gelu\","
                    "\"dropout\":0.1,\"attention_dropout\":0.1,\"pad_token_id\":0,\"bos_token_id\":2,"
                    "\"eos_token_id\":3,\"decoder_start_token_id\":3,\"forced_eos_token_id\":3",
};

static bool is_norm(enum tensor_role r) {
    return r == ROLE_EMBED_NORM_W || r == ROLE_A_NORM_W || r == ROLE_F_NORM_W || r == ROLE_FINAL_NORM_W;
}

/* Norms 1, biases 0, matrices N(0, 1/columns), embeddings N(0, 1). */
static void fill(const struct tensor_info *t, uint64_t number, real *out) {
    size_t n = (size_t)t->rows * (size_t)t->cols;
    bool embedding = t->role == ROLE_EMBED_WORD || t->role == ROLE_EMBED_POSITION;
    struct rng_key key = rng_key(7, RNG_INIT, 0, number);
    for (size_t i = 0; i < n; i++)
        out[i] = is_norm(t->role) ? 1 : t->bias ? 0
                 : (real)(rng_normal(key, i) * (embedding ? 1 : 1 / sqrt(t->cols)));
}

static void write_weights(const char *folder, const struct arch *a) {
    struct tensor_info *list;
    struct err e = ERR_INIT;
    int n = arch_tensors(a, &list);
    struct st_write *w = xcalloc((size_t)n, sizeof *w);
    for (int i = 0; i < n; i++) {
        real *values = xcalloc((size_t)list[i].rows * (size_t)list[i].cols, sizeof *values);
        fill(&list[i], (uint64_t)i, values);
        w[i] = (struct st_write){ .name = list[i].name, .type = ST_F32, .rank = list[i].vector ? 1 : 2,
                                  .data = values };
        w[i].shape[0] = (size_t)(list[i].vector ? list[i].cols : list[i].rows);
        w[i].shape[1] = list[i].vector ? 0 : (size_t)list[i].cols;
    }
    char *path = file_join(folder, "model.safetensors");
    test_ok(st_save(path, w, (size_t)n, NULL, 0, &e), &e);
    for (int i = 0; i < n; i++) free((void *)(uintptr_t)w[i].data);
    free(path);
    free(w);
    free(list);
}

char *writer_model(const char *parent, const char *name, enum family family, const char *config) {
    static const char lower[] = "{\"do_lower_case\":true}";
    struct err e = ERR_INIT;
    struct arch a;
    char *folder = file_join(parent, name);
    char *text = xprintf("{%s,\"vocab_size\":%d%s}", configs[family], WORDS, config ? config : "");
    test_ok(file_make_folder(folder, &e), &e);
    free(test_file(folder, "config.json", text, strlen(text)));
    free(test_file(folder, "vocab.txt", vocabulary, sizeof vocabulary - 1));
    free(test_file(folder, "tokenizer_config.json", lower, sizeof lower - 1));
    test_ok(arch_parse(folder, text, strlen(text), &a, NULL, &e), &e);
    write_weights(folder, &a);
    arch_release(&a);
    free(text);
    return folder;
}

char *writer_labels(const char *parent) {
    static const char *const who[] = { "the cat", "a dog", "the film", "he", "she" };
    struct buf b = BUF_INIT;
    buf_puts(&b, "text\tlabel\n");
    for (int i = 0; i < 20; i++)
        buf_printf(&b, "%s %s %s\t%d\n", who[i % 5], i % 4 < 2 ? "very" : "not", i % 2 ? "good" : "bad", i % 2);
    char *path = test_file(parent, "toy.tsv", b.data, b.size);
    buf_release(&b);
    return path;
}

char *writer_pairs(const char *parent) {
    static const char rows[] = "source\ttarget\nthe cat sat on the mat\tcat mat\nthe dog ran\tdog\n"
                               "a big red hat\tbig hat\nshe saw it\tit\nhe saw a small dog\tsmall dog\n"
                               "the blue film\tblue\na very good film\tgood film\nnot a bad hat\tgood hat\n"
                               "it ran on\tran\nshe sat\tshe\nthe big cat saw the small dog\tbig small\n"
                               "a red mat\tred\n";
    return test_file(parent, "pairs.tsv", rows, sizeof rows - 1);
}
