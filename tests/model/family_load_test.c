/* Loading of the families: prefixes, one word embedding under several names, heads, biases of the logits, ids
 * of special tokens, and refusals. */
#include "tests/model/loading.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/model.h"
#include "tests/support/edit.h"

/* ---- folders ---- */

static void copy_file(const char *from, const char *to, const char *name) {
    struct err e = ERR_INIT;
    struct buf b;
    char *path = file_join(from, name);
    if (file_exists(path)) {
        test_ok(file_read(path, 1 << 20, &b, &e), &e);
        free(test_file(to, name, b.data, b.size));
        buf_release(&b);
    }
    free(path);
}

/* Copies the model of a fixture to a separate folder. */
static char *folder_in(const char *room, const char *name) {
    char *below = xprintf("tests/reference/%s/%s", room, name), *from = test_path(below);
    char *to = test_folder();
    copy_file(from, to, "config.json");
    copy_file(from, to, "generation_config.json");
    copy_file(from, to, "model.safetensors");
    free(below);
    free(from);
    return to;
}

static char *folder_of(const char *name) { return folder_in("families", name); }

/* Replaces a piece of the folder's config.json. */
static void change(const char *folder, const char *from, const char *to) {
    char *text = test_text(folder, "config.json"), *out = test_with(text, from, to);
    test_put(folder, "config.json", out);
    free(out);
    free(text);
}

static void refused(const char *folder, const char *part) {
    struct err e = ERR_INIT;
    struct model *m = model_load(folder, &e);
    if (m) fail_msg("loaded, but \"%s\" was expected", part);
    test_refused(e.code, ERR_INPUT, &e, part);
}

static void said(const struct model *m, const char *part) {
    if (!strstr(buf_text(&m->report), part))
        fail_msg("the report lacks \"%s\":\n%s", part, buf_text(&m->report));
}

/* ---- names ---- */

static size_t index_of(const struct edit *x, const char *name) {
    for (size_t i = 0; i < x->tensors; i++)
        if (!strcmp(x->tensor[i].name, name)) return i;
    fail_msg("no tensor %s", name);
    return 0;
}

/* A model saved without its head has names without the head's prefix. */
static void test_prefixes(void **state) {
    (void)state;
    static const struct {
        const char *model, *prefix;
    } cases[] = {{"roberta-tiny", "roberta."}, {"bart-tiny", "model."}, {"mbart-odd", "model."}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = folder_of(cases[i].model);
        struct model *m = load_ok(folder);
        char *same = xstrdup(m->sha256);
        model_release(m);
        struct edit x;
        edit_open(&x, folder);
        for (size_t k = 0; k < x.tensors; k++) {
            const char *name = x.tensor[k].name;
            if (!text_starts(name, cases[i].prefix)) continue;
            char *bare = xstrdup(name + strlen(cases[i].prefix));
            edit_rename(&x, k, bare);
            free(bare);
        }
        edit_save(&x, folder);
        m = load_ok(folder);
        assert_string_equal(m->sha256, same);
        model_release(m);
        edit_release(&x);
        free(same);
        free(folder);
    }
}

static void test_one_word_table(void **state) {
    (void)state;
    char *folder = folder_of("t5-tiny");
    struct edit x;
    struct model *m = load_ok(folder);
    char *same = xstrdup(m->sha256);
    said(m, ", 0 unused, 0 missing");
    assert_true(m->arch.tied && fabs(m->arch.decoded_scale - 0.25) < 1e-15);
    model_release(m);
    edit_open(&x, folder);
    /* Removes one name after another; whichever remains is the table. */
    static const char *const names[] = {"shared.weight", "lm_head.weight",
                                        "encoder.embed_tokens.weight"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        edit_drop(&x, names[i]);
        edit_save(&x, folder);
        m = load_ok(folder);
        assert_string_equal(m->sha256, same);
        assert_true(m->arch.tied);
        model_release(m);
    }
    edit_drop(&x, "decoder.embed_tokens.weight");
    edit_save(&x, folder);
    refused(folder, "the tensor \"shared.weight\" is missing");
    edit_release(&x);
    free(same);
    free(folder);
}

static void test_tables_that_differ(void **state) {
    (void)state;
    char *folder = folder_of("t5-tiny");
    struct edit x;
    edit_open(&x, folder);
    real *head = (real *)x.tensor[index_of(&x, "lm_head.weight")].data;
    head[5] += 1;
    edit_save(&x, folder);
    struct model *m = load_ok(folder);
    said(m, "lm_head.weight differs from shared.weight");
    assert_false(m->arch.tied);
    /* The scale is determined by the config. */
    assert_true(fabs(m->arch.decoded_scale - 0.25) < 1e-15);
    model_release(m);
    ((real *)x.tensor[index_of(&x, "decoder.embed_tokens.weight")].data)[0] += 1;
    edit_save(&x, folder);
    refused(folder, "\"shared.weight\" and \"decoder.embed_tokens.weight\" differ");
    edit_release(&x);
    free(folder);
}

static void test_head_apart(void **state) {
    (void)state;
    char *folder = folder_of("t5-odd");
    struct model *m = load_ok(folder);
    assert_false(m->arch.tied);
    assert_true(m->arch.decoded_scale == 1);
    model_release(m);
    struct edit x;
    edit_open(&x, folder);
    edit_drop(&x, "lm_head.weight");
    edit_save(&x, folder);
    m = load_ok(folder);
    assert_true(m->arch.tied && m->arch.decoded_scale == 1);
    said(m, "lm_head.weight is missing: tied to the word embeddings");
    model_release(m);
    /* Newer configs call every T5 tied and state the scale separately. */
    change(folder, "\"tie_word_embeddings\": false",
           "\"tie_word_embeddings\": true, \"scale_decoder_outputs\": false");
    m = load_ok(folder);
    assert_true(m->arch.decoded_scale == 1);
    model_release(m);
    edit_release(&x);
    free(folder);
    folder = folder_of("bart-tiny");
    change(folder, "\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false");
    refused(folder, "the tensor \"lm_head.weight\" is missing");
    free(folder);
}

/* ---- decoder-only models ---- */

/* The published files of GPT-2 have no prefix, and causal masks. */
static void test_gpt2_as_published(void **state) {
    (void)state;
    char *folder = folder_in("causal", "gpt2");
    struct model *m = load_ok(folder);
    char *same = xstrdup(m->sha256);
    assert_int_equal(arch_max_length(&m->arch), 64);
    model_release(m);
    struct edit x;
    edit_open(&x, folder);
    for (size_t k = 0; k < x.tensors; k++) {
        char *bare = xstrdup(x.tensor[k].name + strlen("transformer."));
        edit_rename(&x, k, bare);
        free(bare);
    }
    edit_add(&x, "h.0.attn.bias", ST_F32, 2, 64, 64);
    edit_add(&x, "h.0.attn.masked_bias", ST_F32, 1, 1, 1);
    edit_save(&x, folder);
    m = load_ok(folder);
    assert_string_equal(m->sha256, same);
    said(m, "unused: h.0.attn.bias (the causal mask is computed)");
    assert_string_equal(buf_text(&m->caution), "");
    model_release(m);
    edit_drop(&x, "h.1.attn.c_attn.bias");
    edit_save(&x, folder);
    refused(folder, "3 tensors are missing; the first is \"h.1.attn.c_attn.q.bias\"");
    edit_add(&x, "h.1.attn.c_attn.bias", ST_F32, 1, 100, 1);
    edit_save(&x, folder);
    refused(folder, "tensor \"h.1.attn.c_attn.bias\" is 100");
    edit_release(&x);
    change(folder, "\"scale_attn_by_inverse_layer_idx\": false", "\"scale_attn_by_inverse_layer_idx\": true");
    refused(folder, "\"scale_attn_by_inverse_layer_idx\": true; this variant");
    free(same);
    free(folder);
}

/* A head in the file counts, whatever config.json says of it; without one the model must be tied. */
static void test_heads_of_decoders(void **state) {
    (void)state;
    char *folder = folder_in("causal", "llama");
    struct edit x;
    edit_open(&x, folder);
    edit_add(&x, "lm_head.weight", ST_F32, 2, 320, 48);
    memcpy(edit_values(&x, "lm_head.weight"), edit_values(&x, "model.embed_tokens.weight"), 320 * 48 * sizeof(real));
    edit_save(&x, folder);
    struct model *m = load_ok(folder);
    assert_true(m->arch.tied);
    model_release(m);
    edit_values(&x, "lm_head.weight")[7] = 2;
    edit_save(&x, folder);
    m = load_ok(folder);
    assert_false(m->arch.tied);
    said(m, "lm_head.weight differs from embed_tokens.weight, so they are not tied, contrary to config.json");
    model_release(m);
    edit_drop(&x, "lm_head.weight");
    edit_add(&x, "model.layers.0.self_attn.rotary_emb.inv_freq", ST_F32, 1, 4, 1);
    edit_save(&x, folder);
    m = load_ok(folder);
    said(m, "inv_freq (frequencies are computed)");
    model_release(m);
    edit_release(&x);
    free(folder);
    folder = folder_in("causal", "llama3");
    edit_open(&x, folder);
    edit_drop(&x, "lm_head.weight");
    edit_save(&x, folder);
    refused(folder, "the tensor \"lm_head.weight\" is missing");
    edit_release(&x);
    free(folder);
}

/* ---- tensors besides the model ---- */

static void test_logits_bias(void **state) {
    (void)state;
    char *folder = folder_of("bart-tiny");
    struct edit x;
    struct model *m = load_ok(folder);
    assert_non_null(m->logits_bias);
    model_release(m);
    edit_open(&x, folder);
    edit_drop(&x, "final_logits_bias");
    edit_save(&x, folder);
    m = load_ok(folder);
    assert_null(m->logits_bias);
    model_release(m);
    edit_add(&x, "final_logits_bias", ST_F32, 2, 1, 60);
    edit_save(&x, folder);
    m = load_ok(folder);
    assert_null(m->logits_bias); /* zeros */
    said(m, ", 0 unused");
    model_release(m);
    edit_drop(&x, "final_logits_bias");
    edit_add(&x, "final_logits_bias", ST_F32, 2, 1, 59);
    edit_save(&x, folder);
    refused(folder, "\"final_logits_bias\" is 1×59, but config.json requires 1×60");
    edit_release(&x);
    free(folder);
}

static void test_roberta_head(void **state) {
    (void)state;
    char *folder = folder_of("roberta-tiny");
    struct edit x;
    edit_open(&x, folder);
    edit_add(&x, "lm_head.dense.weight", ST_F32, 2, 12, 12);
    edit_add(&x, "roberta.embeddings.position_ids", ST_I64, 2, 1, 26);
    edit_add(&x, "roberta.pooler.dense.bias", ST_F32, 1, 12, 0);
    edit_save(&x, folder);
    struct model *m = load_ok(folder);
    assert_int_equal(m->head_rows, 3);
    assert_non_null(m->dense_w);
    said(m, "unused: lm_head.dense.weight (pretraining head)");
    said(m, "position_ids (position ids are computed)");
    said(m, "unused: roberta.pooler.dense.bias (not used by the classification head)");
    model_release(m);
    edit_drop(&x, "classifier.dense.bias");
    edit_save(&x, folder);
    refused(folder, "incomplete head: classifier.dense.bias is missing");
    edit_drop(&x, "classifier.dense.weight");
    edit_save(&x, folder);
    refused(folder, "incomplete head: classifier.dense.weight is missing");
    edit_release(&x);
    free(folder);
}

/* ---- ids of special tokens ---- */

static void check_ids(const char *folder, int start, int eos, int first, int last) {
    struct err e = ERR_INIT;
    struct arch a;
    test_ok(arch_read(folder, &a, NULL, &e), &e);
    assert_int_equal(a.decoder_start, start);
    assert_int_equal(a.eos_id, eos);
    assert_int_equal(a.forced_bos, first);
    assert_int_equal(a.forced_eos, last);
    arch_release(&a);
}

static void test_ids(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int start, eos, first, last;
    } cases[] = {
        {"t5-tiny", 0, 1, -1, -1},
        {"bart-tiny", 2, 2, -1, 2},
        {"bart-odd", 2, 2, 0, -1}, /* the last one is null */
        {"mbart-tiny", 57, 2, -1, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = folder_of(cases[i].model);
        check_ids(folder, cases[i].start, cases[i].eos, cases[i].first, cases[i].last);
        free(folder);
    }
    /* Defaults of the families for ids missing from the config, and lists. */
    char *folder = folder_of("t5-tiny");
    change(folder, "\"decoder_start_token_id\": 0,", "");
    change(folder, "\"eos_token_id\": 1", "\"eos_token_id\": [5, 6]");
    check_ids(folder, 0, 5, -1, -1);
    free(folder);
    folder = folder_of("mbart-tiny");
    change(folder, "\"decoder_start_token_id\": 57", "\"decoder_start_token_id\": null");
    change(folder, "\"forced_eos_token_id\": 2,", "");
    check_ids(folder, -1, 2, -1, 2);
    free(folder);
}

/* ---- refused ---- */

static void test_broken_configs(void **state) {
    (void)state;
    static const struct {
        const char *model, *from, *to, *part;
    } cases[] = {
        {"t5-tiny", "\"d_kv\": 4", "\"d_kv\": 65536", "\"d_kv\": too large"},
        {"t5-tiny", "\"d_kv\": 4", "\"d_kv\": 5",
         "\"encoder.block.0.layer.0.SelfAttention.q.weight\" is 16×16, but config.json requires 20×16"},
        {"t5-tiny", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-silu\"",
         "\"feed_forward_proj\": \"gated-silu\"; supported: relu and gated-gelu"},
        {"t5-tiny", "\"feed_forward_proj\": \"relu\"", "\"feed_forward_proj\": \"gated-gelu\"",
         "8 tensors are missing; the first is \"encoder.block.0.layer.1.DenseReluDense.wi_0.weight\""},
        {"t5-tiny", "max_distance\": 20", "max_distance\": 4", "max_distance\": too small"},
        {"t5-tiny", "num_buckets\": 8", "num_buckets\": 9",
         "relative_attention_bias.weight\" is 8×4, but config.json requires 9×4"},
        {"t5-tiny", "num_buckets\": 8", "num_buckets\": 3", "num_buckets\": 3 is not between 4 and"},
        {"t5-tiny", "\"num_decoder_layers\": 2", "\"num_decoder_layers\": 3",
         "the first is \"decoder.block.2.layer.0.layer_norm.weight\""},
        {"t5-tiny", "\"num_decoder_layers\": 2", "\"num_decoder_layers\": 0",
         "\"num_decoder_layers\": 0"},
        {"t5-tiny", "\"t5\"", "\"umt5\"", "\"umt5\" is not supported; supported: bert, roberta, bart, mbart, t5"},
        {"t5-tiny", "\"t5\"", "\"bart\"", "\"encoder_layers\" is missing"},
        {"bart-tiny", "\"decoder_ffn_dim\": 20", "\"decoder_ffn_dim\": 24",
         "\"decoder_ffn_dim\": 24, which differs from 20 of the encoder"},
        {"bart-tiny", "\"decoder_attention_heads\": 3", "\"decoder_attention_heads\": 5",
         "\"decoder_attention_heads\": 5, which differs"},
        {"bart-tiny", "\"encoder_attention_heads\": 3", "\"encoder_attention_heads\": 5",
         "\"encoder_attention_heads\": 5; must divide the hidden size 12"},
        {"bart-tiny", "max_position_embeddings\": 24", "max_position_embeddings\": 25",
         "\"model.encoder.embed_positions.weight\" is 26×12, but config.json requires 27×12"},
        {"bart-tiny", "\"bart\"", "\"mbart\"",
         "4 tensors are missing; the first is \"encoder.layer_norm.weight\""},
        {"bart-tiny", "\"decoder_layers\": 2", "\"decoder_layers\": \"2\"",
         "\"decoder_layers\" must be an integer"},
        {"bart-tiny", "\"scale_embedding\": false", "\"scale_embedding\": 1",
         "\"scale_embedding\" must be"},
        {"bart-tiny", "\"activation_dropout\": 0.0", "\"activation_dropout\": 1.5",
         "\"activation_dropout\": 1.5"},
        {"bart-odd", "\"forced_bos_token_id\": 0", "\"forced_bos_token_id\": 900",
         "\"forced_bos_token_id\": 900; the vocabulary has 60 tokens"},
        {"bart-tiny", "\"eos_token_id\": 2,", "\"eos_token_id\": \"x\",",
         "\"eos_token_id\": must be a token id"},
        {"bart-tiny", "\"eos_token_id\": 2,", "\"eos_token_id\": [],",
         "\"eos_token_id\": must be a token id"},
        {"t5-tiny", "\"eos_token_id\": 1", "\"eos_token_id\": 1.5",
         "\"eos_token_id\": must be a token id"},
        {"mbart-tiny", "\"decoder_start_token_id\": 57", "\"decoder_start_token_id\": -2",
         "\"decoder_start_token_id\": must be a token id"},
        {"roberta-tiny", "\"is_decoder\": false", "\"is_decoder\": true", "\"is_decoder\": true"},
        {"roberta-tiny", "\"pad_token_id\": 1", "\"pad_token_id\": 24",
         "\"max_position_embeddings\": too small"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = folder_of(cases[i].model);
        change(folder, cases[i].from, cases[i].to);
        refused(folder, cases[i].part);
        free(folder);
    }
}

static void test_missing_tensors(void **state) {
    (void)state;
    static const struct {
        const char *model, *tensor, *part;
    } cases[] = {
        {"t5-odd", "decoder.block.1.layer.1.EncDecAttention.k.weight",
         "the tensor \"decoder.block.1.layer.1.EncDecAttention.k.weight\" is missing"},
        {"t5-odd", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
         "the tensor \"decoder.block.0.layer.0.SelfAttention.relative"},
        {"bart-odd", "model.decoder.layernorm_embedding.bias",
         "the tensor \"decoder.layernorm_embedding.bias\" is missing"},
        {"mbart-tiny", "model.decoder.layer_norm.bias",
         "the tensor \"decoder.layer_norm.bias\" is missing"},
        {"roberta-odd", "roberta.encoder.layer.2.output.dense.weight",
         "the tensor \"encoder.layer.2.output.dense.weight\" is missing"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = folder_of(cases[i].model);
        struct edit x;
        edit_open(&x, folder);
        edit_drop(&x, cases[i].tensor);
        edit_save(&x, folder);
        refused(folder, cases[i].part);
        edit_release(&x);
        free(folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),           cmocka_unit_test(test_one_word_table),
        cmocka_unit_test(test_tables_that_differ), cmocka_unit_test(test_head_apart),
        cmocka_unit_test(test_logits_bias),        cmocka_unit_test(test_roberta_head),
        cmocka_unit_test(test_ids),                cmocka_unit_test(test_broken_configs),
        cmocka_unit_test(test_missing_tensors),    cmocka_unit_test(test_gpt2_as_published),
        cmocka_unit_test(test_heads_of_decoders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
