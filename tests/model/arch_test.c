/* Shapes of the families from configs alone, and refused configs. */
#include "tests/support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/model/arch.h"
#include "core/model/taps.h"

#define BERT_REST                                                                                  \
    "\"max_position_embeddings\":512,\"type_vocab_size\":2,\"layer_norm_eps\":1e-12,"              \
    "\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,\"attention_probs_dropout_prob\":0.1,"    \
    "\"pad_token_id\":0}"
#define BERT_BASE                                                                                  \
    "{\"model_type\":\"bert\",\"hidden_size\":768,\"num_hidden_layers\":12,"                       \
    "\"num_attention_heads\":12,\"intermediate_size\":3072,\"vocab_size\":30522," BERT_REST
#define ROBERTA_BASE                                                                               \
    "{\"model_type\":\"roberta\",\"hidden_size\":768,\"num_hidden_layers\":12,"                    \
    "\"num_attention_heads\":12,\"intermediate_size\":3072,\"vocab_size\":50265,"                  \
    "\"max_position_embeddings\":514,\"type_vocab_size\":1,\"layer_norm_eps\":1e-5,"               \
    "\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.1,\"attention_probs_dropout_prob\":0.1,"    \
    "\"pad_token_id\":1}"
#define BART_BASE                                                                                  \
    "{\"model_type\":\"bart\",\"d_model\":768,\"encoder_layers\":6,\"decoder_layers\":6,"          \
    "\"encoder_attention_heads\":12,\"decoder_attention_heads\":12,\"encoder_ffn_dim\":3072,"      \
    "\"decoder_ffn_dim\":3072,\"vocab_size\":50265,\"max_position_embeddings\":1024,"              \
    "\"activation_function\":\"gelu\",\"pad_token_id\":1}"
#define T5_SMALL                                                                                   \
    "{\"model_type\":\"t5\",\"d_model\":512,\"d_kv\":64,\"d_ff\":2048,\"num_layers\":6,"           \
    "\"num_heads\":8,\"vocab_size\":32128,\"feed_forward_proj\":\"relu\"}"

static int read_text(const char *text, struct arch *a, struct buf *report, struct err *e) {
    static char *folder;
    if (!folder) folder = test_folder();
    free(test_file(folder, "config.json", text, strlen(text)));
    return arch_read(folder, a, report, e);
}

static void read_ok(const char *text, struct arch *a, struct buf *report) {
    struct err e = ERR_INIT;
    test_ok(read_text(text, a, report, &e), &e);
}

static long values(const struct arch *a) {
    struct tensor_info *list;
    int n = arch_tensors(a, &list);
    long sum = 0;
    for (int i = 0; i < n; i++) sum += (long)list[i].rows * list[i].cols;
    free(list);
    return sum;
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *config;
        long values;
    } cases[] = {
        {BERT_BASE, 109482240},
        {ROBERTA_BASE, 124645632 - 768 * 769}, /* without the pooler */
        {BART_BASE, 139420416},
        {T5_SMALL, 60506624},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arch a;
        read_ok(cases[i].config, &a, NULL);
        assert_int_equal(values(&a), cases[i].values);
        arch_release(&a);
    }
}

static void test_bert_fields(void **state) {
    (void)state;
    struct arch a;
    struct buf report = BUF_INIT;
    read_ok(BERT_BASE, &a, &report);
    assert_int_equal(a.family, FAMILY_BERT);
    assert_int_equal(a.head_width, 64);
    assert_int_equal(a.act, ACT_GELU);
    assert_int_equal(arch_max_length(&a), 512);
    assert_true(a.biases && a.embed_norm && a.scale_scores && a.pooler);
    assert_false(a.pre_norm || a.rms_norm || a.gated || a.embed_scale);
    assert_true(a.norm_eps == 1e-12 && a.dropout == 0.1);
    assert_string_equal(buf_text(&report), "");
    buf_release(&report);
    arch_release(&a);

    read_ok(ROBERTA_BASE, &a, NULL);
    assert_int_equal(a.position_offset, 2);
    assert_int_equal(arch_max_length(&a), 512);
    arch_release(&a);
}

/* A family without a position table, and a table larger than attention supports. */
static void test_longest_text(void **state) {
    (void)state;
    struct arch a;
    read_ok(T5_SMALL, &a, NULL);
    assert_int_equal(arch_max_length(&a), MAX_TEXT_TOKENS);
    a.positions = 1 << 20;
    assert_int_equal(arch_max_length(&a), MAX_TEXT_TOKENS);
    arch_release(&a);
}

static void test_tensor_list(void **state) {
    (void)state;
    struct arch a;
    read_ok(BERT_BASE, &a, NULL);
    struct tensor_info *list;
    int n = arch_tensors(&a, &list);
    assert_int_equal(n, 5 + 12 * 16 + 2);
    int biases = 0;
    for (int i = 0; i < n; i++) {
        biases += list[i].bias ? list[i].cols : 0;
        assert_int_equal(list[i].vector, list[i].rows == 1);
        assert_int_equal(
            arch_find(list, n, list[i].role, list[i].stack, list[i].sublayer, list[i].layer), i);
    }
    assert_int_equal(biases, 102912);
    int i = arch_find(list, n, ROLE_V_W, STACK_ENCODER, SUB_SELF, 11);
    assert_string_equal(list[i].name, "encoder.layer.11.attention.self.value.weight");
    i = arch_find(list, n, ROLE_F1_W, STACK_ENCODER, SUB_FFN, 0);
    assert_string_equal(list[i].name, "encoder.layer.0.intermediate.dense.weight");
    assert_int_equal(list[i].rows, 3072);
    assert_int_equal(list[i].cols, 768);
    assert_int_equal(arch_find(list, n, ROLE_LM_HEAD, STACK_ENCODER, SUB_EMBED, -1), -1);
    free(list);
    arch_release(&a);
}

static void test_defaults_are_said(void **state) {
    (void)state;
    struct arch a;
    struct buf report = BUF_INIT;
    read_ok("{\"architectures\":[\"BertModel\"],\"hidden_size\":8,\"num_hidden_layers\":2,"
            "\"num_attention_heads\":2,\"intermediate_size\":16,\"vocab_size\":32,"
            "\"max_position_embeddings\":16,\"foo\":{\"bar\":[1,2]},\"torch_dtype\":\"float16\"}",
            &a, &report);
    assert_int_equal(a.types, 2);
    assert_true(a.norm_eps == 1e-12);
    assert_string_equal(a.torch_dtype, "float16");
    assert_non_null(strstr(buf_text(&report), "\"type_vocab_size\" is missing; using 2"));
    assert_non_null(strstr(buf_text(&report), "\"layer_norm_eps\" is missing; using 1e-12"));
    assert_non_null(strstr(buf_text(&report), "\"model_type\" is missing; using bert"));
    buf_release(&report);
    arch_release(&a);
}

static void test_labels(void **state) {
    (void)state;
    struct arch a;
    read_ok("{\"id2label\":{\"1\":\"fresh\",\"0\":\"rotten\"},\"model_type\":\"bert\",\"hidden_"
            "size\":8,"
            "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"intermediate_size\":16,"
            "\"vocab_size\":32," BERT_REST,
            &a, NULL);
    assert_int_equal(a.labels, 2);
    assert_string_equal(a.label[0], "rotten");
    assert_string_equal(a.label[1], "fresh");
    arch_release(&a);
}

/* BERT_BASE with one piece of text replaced. */
static char *with(const char *from, const char *to) {
    return test_with(BERT_BASE, from, to);
}

static void test_broken(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"_heads\":12", "_heads\":5", "\"num_attention_heads\": 5; must divide the hidden size 768"},
        {"\"bert\"", "\"gpt_neox\"", "\"gpt_neox\" is not supported; supported: bert, roberta, bart, mbart, t5"},
        {"\"model_type\":\"bert\",", "", "\"model_type\" is missing"},
        {"\"gelu\"", "\"swishish\"", "\"hidden_act\": \"swishish\"; supported: gelu"},
        {"\"gelu\"", "3", "\"hidden_act\" must be a string"},
        {"_id\":0}", "_id\":0,}", "line 1"},
        {"_layers\":12", "_layers\":257", "\"num_hidden_layers\": 257 is not between 1 and 256"},
        {"_layers\":12", "_layers\":0", "\"num_hidden_layers\": 0"},
        {"_layers\":12", "_layers\":-3", "\"num_hidden_layers\": -3"},
        {"_layers\":12", "_layers\":1.5", "\"num_hidden_layers\" must be an integer"},
        {"_layers\":12", "_layers\":\"12\"", "\"num_hidden_layers\" must be an integer"},
        {"\"hidden_size\":768,", "", "\"hidden_size\" is missing"},
        {"\"hidden_size\":768", "\"hidden_size\":null", "\"hidden_size\" is missing"},
        {"\"hidden_size\":768", "\"hidden_size\":9223372036854775807",
         "\"hidden_size\": 9223372036854775807"},
        {"\"hidden_size\":768", "\"hidden_size\":99999999999999999999", "\"hidden_size\" must be an integer"},
        {"vocab_size\":30522", "vocab_size\":4194305", "\"vocab_size\": 4194305"},
        {"embeddings\":512", "embeddings\":1048577", "\"max_position_embeddings\": 1048577"},
        {"embeddings\":512", "embeddings\":2", "\"max_position_embeddings\": too small"},
        {"eps\":1e-12", "eps\":-1", "\"layer_norm_eps\": -1"},
        {"_prob\":0.1", "_prob\":1.0", "\"hidden_dropout_prob\": 1"},
        {"_id\":0}", "_id\":0,\"position_embedding_type\":\"relative_key\"}",
         "only absolute positions"},
        {"_id\":0}", "_id\":0,\"is_decoder\":true}", "\"is_decoder\": true"},
        {"_id\":0}", "_id\":0,\"id2label\":{\"0\":\"a\",\"2\":\"b\"}}",
         "\"id2label\": invalid at the key \"2\""},
        {"_id\":0}", "_id\":0,\"id2label\":{\"0\":7}}", "\"id2label\": invalid at the key \"0\""},
        {"_id\":0}", "_id\":0,\"problem_type\":\"tagging\"}", "\"problem_type\": \"tagging\"; must be single_label"},
        {"_id\":0}", "_id\":0,\"id2label\":[1]}", "\"id2label\": invalid"},
        {"_id\":0}", "_id\":0,\"vocab_size\":5}", "not valid JSON"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arch a;
        struct err e = ERR_INIT;
        char *text = with(cases[i].from, cases[i].to);
        int rc = read_text(text, &a, NULL, &e);
        test_refused(rc, ERR_INPUT, &e, cases[i].part);
        free(text);
    }
    struct arch a;
    struct err e = ERR_INIT;
    test_refused(read_text("[1]", &a, NULL, &e), ERR_INPUT, &e, "must be a JSON object");
    test_refused(read_text("", &a, NULL, &e), ERR_INPUT, &e, "not valid JSON");
    char *deep = xmalloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    test_refused(read_text(deep, &a, NULL, &e), ERR_INPUT, &e, "nested deeper");
    free(deep);
    assert_int_equal(arch_read("/nonexistent/config.json", &a, NULL, &e), ERR_NOT_FOUND);
}

static void test_tap_names(void **state) {
    (void)state;
    for (int i = TAP_NONE + 1; i < TAP_COUNT; i++) {
        assert_non_null(tap_name((enum tap)i));
        for (int k = TAP_NONE; k < i; k++) assert_string_not_equal(tap_name((enum tap)i), tap_name((enum tap)k));
    }
    assert_string_equal(tap_name(TAP_F_NORM), "f.norm");
}

/* Models that only resemble those of a family, by their type or by the class of a config without type. */
static void test_resembling(void **state) {
    (void)state;
    static const char *const types[] = {
        "gemma", "gemma2", "gemma3", "phi", "phi3", "olmo", "olmo2", "exaone4", "smollm3", "granite", "minicpm",
        "stablelm", "gpt_neox", "gptj", "cohere", "opt", "falcon", "bloom", "starcoder2", "nemotron", "internlm2",
        "baichuan", "mixtral", "qwen2_moe", "qwen3_moe", "llama4", "gpt_oss", "deepseek_v2", "deepseek_v3", "ministral",
        "qwen3_5", "gpt_neo", "gpt_bigcode",
    };
    static const char *const classes[] = { "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "Qwen3NextForCausalLM",
                                           "Llama4ForCausalLM", "Mistral3ForConditionalGeneration", "BertGenerationDecoder",
                                           "T5GemmaForConditionalGeneration" };
    struct arch a;
    for (size_t i = 0; i < COUNT_OF(types) + COUNT_OF(classes); i++) {
        struct err e = ERR_INIT;
        bool class = i >= COUNT_OF(types);
        char *config = class ? xprintf("{\"architectures\":[\"%s\"]}", classes[i - COUNT_OF(types)])
                             : xprintf("{\"model_type\":\"%s\"}", types[i]),
             *part = class ? xstrdup("\"model_type\" is missing")
                           : xprintf("\"model_type\": \"%s\" is not supported; supported: ", types[i]);
        test_refused(read_text(config, &a, NULL, &e), ERR_INPUT, &e, part);
        free(config);
        free(part);
    }
}

#define LLAMA                                                                                                        \
    "{\"model_type\":\"llama\",\"hidden_size\":8,\"num_hidden_layers\":1,\"num_attention_heads\":2,\"vocab_size\":9," \
    "\"intermediate_size\":8,\"max_position_embeddings\":16,"

/* Dynamic scaling begins beyond the context, which is the longest text. */
static void test_dynamic(void **state) {
    (void)state;
    struct arch plain, a;
    struct err e = ERR_INIT;
    struct buf report = BUF_INIT;
    double f[2], g[2];
    test_ok(read_text(LLAMA "\"eos_token_id\":[2,5]}", &plain, NULL, &e), &e);
    assert_true(plain.eos_id == 2 && plain.ends == 2 && plain.end[1] == 5);
    test_ok(read_text(LLAMA "\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}}", &a, &report, &e), &e);
    arch_rope(&plain, f);
    arch_rope(&a, g);
    assert_memory_equal(f, g, sizeof f);
    assert_int_equal(arch_max_length(&a), 16);
    assert_non_null(strstr(buf_text(&report), "dynamic: texts of more than 16 tokens"));
    arch_release(&plain);
    arch_release(&a);
    test_ok(read_text(LLAMA "\"sliding_window\":4}", &a, &report, &e), &e);
    assert_int_equal(a.window, 0);
    assert_non_null(strstr(buf_text(&report), "\"sliding_window\" is ignored"));
    arch_release(&a);
    test_refused(read_text(LLAMA "\"eos_token_id\":9}", &a, NULL, &e), ERR_INPUT, &e, "\"eos_token_id\": invalid");
    test_refused(read_text(LLAMA "\"eos_token_id\":[1,9]}", &a, NULL, &e), ERR_INPUT, &e, "\"eos_token_id\": invalid");
    test_refused(read_text(LLAMA "\"auto_map\":{}}", &a, NULL, &e), ERR_INPUT, &e, "custom code");
    buf_release(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),        cmocka_unit_test(test_bert_fields),
        cmocka_unit_test(test_tensor_list),  cmocka_unit_test(test_defaults_are_said),
        cmocka_unit_test(test_labels),       cmocka_unit_test(test_broken),
        cmocka_unit_test(test_tap_names),    cmocka_unit_test(test_longest_text),
        cmocka_unit_test(test_resembling),
        cmocka_unit_test(test_dynamic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
