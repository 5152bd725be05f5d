/* Loading a folder: old and new names, values, reports and refusals. */
#include <math.h>

#include "core/base/text.h"
#include "tests/model/loading.h"

/* ---- names ---- */

static void test_plain(void **state) {
    (void)state;
    char *folder = tiny();
    struct model *m = load_ok(folder);
    assert_int_equal(m->tensors, 39);
    assert_said(m, "tensors: 39 used, 0 unused, 0 missing; 1,688 parameters");
    assert_int_equal(strlen(m->sha256), 64);
    assert_int_equal(m->head_rows, 0);
    assert_true(m->weight[0][1] == (real)((37 + 4 * 101) % 201 - 100) / 256);
    for (int i = 0; i < m->tensors; i++) assert_int_equal((uintptr_t)m->weight[i] % 64, 0);
    model_release(m);
    free(folder);
}

static void test_old_names(void **state) {
    (void)state;
    struct edit t;
    char *plain = tiny(), *same = fingerprint_of(plain);
    char *folder = tiny_open(&t);
    for (size_t i = 0; i < t.tensors; i++) {
        const char *name = t.tensor[i].name;
        char *old = NULL;
        if (text_ends(name, "LayerNorm.weight"))
            old = xprintf("bert.%.*sgamma", (int)strlen(name) - 6, name);
        else if (text_ends(name, "LayerNorm.bias"))
            old = xprintf("bert.%.*sbeta", (int)strlen(name) - 4, name);
        else old = xprintf("bert.%s", name);
        edit_rename(&t, i, old);
        free(old);
    }
    edit_add(&t, "bert.embeddings.position_ids", ST_I64, 2, 1, 16);
    edit_add(&t, "cls.predictions.bias", ST_F32, 1, 32, 0);
    edit_add(&t, "cls.seq_relationship.weight", ST_F32, 2, 2, 8);
    edit_add(&t, "bert.gamma_probe.weight", ST_F32, 1, 4, 0);
    edit_save(&t, folder);
    struct model *m = load_ok(folder);
    assert_string_equal(m->sha256, same);
    assert_said(m, "tensors: 39 used, 4 unused, 0 missing");
    assert_said(m, "unused: bert.embeddings.position_ids (position ids are computed)");
    assert_said(m, "unused: cls.predictions.bias (pretraining head)");
    assert_said(m, "unused: cls.seq_relationship.weight (pretraining head)");
    assert_said(m, "unused: bert.gamma_probe.weight (not part of this architecture)");
    model_release(m);
    edit_release(&t);
    free(folder);
    free(plain);
    free(same);
}

static void test_gamma_outside_norms(void **state) {
    (void)state;
    struct edit t;
    char *folder = tiny_open(&t);
    edit_drop(&t, "encoder.layer.0.output.dense.bias");
    edit_add(&t, "encoder.layer.0.output.dense.beta", ST_F32, 1, 8, 0);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "the tensor \"encoder.layer.0.output.dense.bias\" is missing");
    edit_drop(&t, "encoder.layer.0.output.dense.beta");
    edit_add(&t, "encoder.layer.0.output.dense.bias", ST_F32, 1, 8, 0);
    edit_drop(&t, "encoder.layer.0.output.dense.weight");
    edit_add(&t, "encoder.layer.0.output.dense.gamma", ST_F32, 2, 8, 16);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "the tensor \"encoder.layer.0.output.dense.weight\" is missing");
    edit_release(&t);
    free(folder);
}

static void test_twice(void **state) {
    (void)state;
    struct edit t;
    char *folder = tiny_open(&t);
    edit_add(&t, "bert.pooler.dense.bias", ST_F32, 1, 8, 0);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "stored twice");
    edit_release(&t);
    free(folder);
}

static void test_pooler(void **state) {
    (void)state;
    struct edit t;
    char *folder = tiny_open(&t);
    edit_drop(&t, "pooler.dense.weight");
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "incomplete pooler");
    edit_drop(&t, "pooler.dense.bias");
    edit_save(&t, folder);
    struct model *m = load_ok(folder);
    assert_said(m, "initialized: pooler");
    assert_true(m->arch.pooler_absent);
    assert_null(m->weight[m->tensors - 1]);
    model_release(m);
    edit_release(&t);
    free(folder);
}

static void test_head(void **state) {
    (void)state;
    struct edit t;
    char *folder = tiny_open(&t);
    edit_add(&t, "classifier.weight", ST_F32, 2, 3, 8);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "classifier.bias is missing");
    edit_add(&t, "classifier.bias", ST_F32, 1, 3, 0);
    edit_save(&t, folder);
    struct model *m = load_ok(folder);
    assert_int_equal(m->head_rows, 3);
    assert_non_null(m->head_w);
    assert_said(m, "head: classification head of the checkpoint, 3 outputs");
    model_release(m);
    char *plain = test_text(folder, "config.json");
    char *config = xprintf("{\"id2label\":{\"0\":\"a\",\"1\":\"b\"},%s", plain + 1);
    test_put(folder, "config.json", config);
    free(plain);
    load_refused(folder, ERR_INPUT,
                 "classifier.weight has 3 outputs, but \"id2label\" in config.json has 2 labels");
    free(config);
    edit_release(&t);
    free(folder);
}

/* The same values in half precision are the same model. */
static void test_types(void **state) {
    (void)state;
    char *parent = test_folder(), *plain = tiny(), *same = fingerprint_of(plain);
    static const struct tiny half = {.type = TINY_F16, .prefix = "bert.", .old_norms = true};
    static const struct tiny brain = {.type = TINY_BF16}, other = {.mul = 103};
    char *a = tiny_bert(parent, "a", &half), *b = tiny_bert(parent, "b", &brain),
         *c = tiny_bert(parent, "c", &other);
    char *of_a = fingerprint_of(a), *of_b = fingerprint_of(b), *of_c = fingerprint_of(c);
    assert_string_equal(of_a, same);
    assert_string_equal(of_b, same);
    assert_string_not_equal(of_c, same);
    char *all[] = {parent, plain, same, a, b, c, of_a, of_b, of_c};
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
}

/* ---- configs against weights ---- */

static void test_config(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        {"\"hidden_size\":8", "\"hidden_size\":16",
         "\"embeddings.word_embeddings.weight\" is 32×8, but config.json requires 32×16"},
        {"_size\":32", "_size\":40",
         "\"embeddings.word_embeddings.weight\" is 32×8, but config.json requires 40×8"},
        {"_layers\":2", "_layers\":3",
         "16 tensors are missing; the first is \"encoder.layer.2.attention.self.query.weight\""},
        {"_embeddings\":16", "_embeddings\":17",
         "\"embeddings.position_embeddings.weight\" is 16×8"},
        {"\"bert\"", "\"t5\"", "\"d_model\" is missing"},
        {"\"bert\"", "\"gpt_neox\"", "\"gpt_neox\""},
        {"_heads\":2", "_heads\":3", "\"num_attention_heads\""},
        {"\"gelu\"", "\"swishish\"", "\"hidden_act\""},
        {"_id\":0", "_id\":0,", "line 1"},
    };
    char *folder = tiny(), *plain = test_text(folder, "config.json");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *config = test_with(plain, cases[i].from, cases[i].to);
        test_put(folder, "config.json", config);
        load_refused(folder, ERR_INPUT, cases[i].part);
        free(config);
    }
    test_put(folder, "config.json", plain);
    char *before = fingerprint_of(folder);
    char *config = test_with(plain, "\"type_vocab_size\":2,\"layer_norm_eps\":1e-12,",
                               "\"foo\":{\"bar\":[1,2]},\"torch_dtype\":\"float16\",");
    test_put(folder, "config.json", config);
    struct model *m = load_ok(folder);
    assert_said(m, "\"type_vocab_size\" is missing; using 2");
    assert_said(m, "\"layer_norm_eps\" is missing; using 1e-12");
    assert_string_equal(m->sha256, before);
    model_release(m);
    free(config);
    free(plain);
    free(before);
    free(folder);
}

/* An embedding with more rows than the vocabulary is accepted and reported. */
static void test_rows_without_words(void **state) {
    (void)state;
    struct edit t;
    char *folder = tiny_open(&t), *plain = test_text(folder, "config.json");
    char *config = test_with(plain, "\"vocab_size\":32", "\"vocab_size\":40");
    edit_drop(&t, "embeddings.word_embeddings.weight");
    edit_add(&t, "embeddings.word_embeddings.weight", ST_F32, 2, 40, 8);
    edit_save(&t, folder);
    test_put(folder, "config.json", config);
    struct model *m = load_ok(folder);
    assert_said(m, "tokenizer: 32 tokens; 8 of the 40 embedding rows are unused");
    model_release(m);
    edit_release(&t);
    free(config);
    free(plain);
    free(folder);
}

static void test_wrong_rank_and_type(void **state) {
    (void)state;
    struct edit t;
    char *folder = tiny_open(&t);
    edit_drop(&t, "pooler.dense.bias");
    edit_add(&t, "pooler.dense.bias", ST_F32, 2, 1, 8);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "\"pooler.dense.bias\" is 1×8, but config.json requires 8");
    edit_drop(&t, "pooler.dense.bias");
    edit_add(&t, "pooler.dense.bias", ST_I64, 1, 8, 0);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "\"pooler.dense.bias\": type I64");
    free(folder);
    edit_release(&t);
}

/* Unsupported types of unused tensors are no reason to refuse a folder. */
static void test_odd_types_beside(void **state) {
    (void)state;
    static const enum st_type odd[] = {ST_U16, ST_U64, ST_C64, ST_F8_E4M3, ST_F8_E5M2, ST_BOOL};
    char *folder = tiny(), *same = fingerprint_of(folder);
    struct edit t;
    edit_open(&t, folder);
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        char *name = xprintf("odd.%s", st_type_name(odd[i]));
        edit_add(&t, name, odd[i], 1, 3, 0);
        free(name);
    }
    edit_save(&t, folder);
    struct model *m = load_ok(folder);
    assert_string_equal(m->sha256, same);
    assert_said(m, "39 used, 6 unused");
    model_release(m);
    edit_drop(&t, "pooler.dense.bias");
    edit_add(&t, "pooler.dense.bias", ST_F8_E4M3, 1, 8, 0);
    edit_save(&t, folder);
    load_refused(folder, ERR_INPUT, "\"pooler.dense.bias\": type F8_E4M3");
    edit_release(&t);
    free(folder);
    free(same);
}

static void test_not_finite(void **state) {
    (void)state;
    static const struct {
        real value;
        const char *name, *part;
        size_t at;
    } cases[] = {
        {(real)NAN, "encoder.layer.1.output.dense.weight", "nan at row 2, column 1 (from 0), the first of 1 ", 33},
        {(real)INFINITY, "pooler.dense.bias", "inf at index 7 (from 0)", 7},
        {(real)-INFINITY, "embeddings.LayerNorm.bias", "-inf at index 0", 0},
        {(real)NAN, "classifier.bias", "nan at index 1", 1},
    };
    static const struct tiny with_head = {.outputs = 2};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *parent = test_folder(), *folder = tiny_bert(parent, "m", &with_head);
        struct edit t;
        edit_open(&t, folder);
        for (size_t k = 0; k < t.tensors; k++)
            if (!strcmp(t.tensor[k].name, cases[i].name)) ((real *)(uintptr_t)t.tensor[k].data)[cases[i].at] = cases[i].value;
        edit_save(&t, folder);
        load_refused(folder, ERR_INPUT, cases[i].name);
        load_refused(folder, ERR_INPUT, cases[i].part);
        edit_release(&t);
        free(folder);
        free(parent);
    }
    /* unused, so it has no effect on the model */
    struct edit t;
    char *folder = tiny_open(&t);
    edit_add(&t, "cls.predictions.bias", ST_F32, 1, 32, 0);
    ((real *)(uintptr_t)t.tensor[t.tensors - 1].data)[3] = (real)NAN;
    edit_save(&t, folder);
    model_release(load_ok(folder));
    edit_release(&t);
    free(folder);
}

static void test_wrappers(void **state) {
    (void)state;
    static const char *const prefix[] = {"module.", "_orig_mod.", "model.", "module._orig_mod.", "base_model.model.",
                                         "module.bert."};
    char *plain = tiny(), *same = fingerprint_of(plain), *parent = test_folder();
    for (size_t i = 0; i < COUNT_OF(prefix); i++) {
        char *folder = tiny_bert(parent, "m", &(struct tiny){.prefix = prefix[i]});
        struct model *m = load_ok(folder);
        assert_string_equal(m->sha256, same);
        assert_said(m, "39 used, 0 unused, 0 missing");
        char *said = xprintf("the prefix \"%s\" of all tensor names is ignored",
                             i == 5 ? "module." : prefix[i]);
        assert_said(m, said);
        model_release(m);
        free(said);
        free(folder);
    }
    /* not a wrapper's prefix if only some names have it */
    char *half = tiny_bert(parent, "m", &(struct tiny){.prefix = "module.", .outputs = 2});
    load_refused(half, ERR_INPUT, "37 tensors are missing");
    free(half);
    free(parent);
    free(plain);
    free(same);
}

/* Returns whether the masked-word head of a changed tiny model is used, and checks the report. */
static bool takes_words(const char *changed) {
    static const char *const part[] = { "transform.dense.weight", "transform.dense.bias", "transform.LayerNorm.weight",
                                        "transform.LayerNorm.bias", "bias" };
    struct edit t;
    char *folder = tiny_open(&t);
    float bad[8] = { NAN };
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        char *name = xprintf("cls.predictions.%s", part[i]);
        bool other = !strcmp(changed, "shape") && i == 4;
        if (strcmp(changed, "lacks") || i != 2) edit_add(&t, name, ST_F32, i ? 1 : 2, i == 4 ? 32 + other : 8, 8);
        free(name);
    }
    if (!strcmp(changed, "decoder")) edit_add(&t, "cls.predictions.decoder.weight", ST_F32, 2, 32, 8);
    void *data = NULL;
    for (size_t i = 0; i < t.tensors && !strcmp(changed, "nan"); i++)
        if (text_ends(t.tensor[i].name, "predictions.transform.dense.bias")) {
            data = (void *)(uintptr_t)t.tensor[i].data;
            memcpy(data, bad, sizeof bad);
        }
    edit_save(&t, folder);
    edit_release(&t);
    struct model *m = load_ok(folder);
    bool taken = m->words.w && m->words.bias;
    if (taken) assert_said(m, "head: masked language modeling");
    else assert_said(m, "unused: cls.predictions.bias (pretraining head)");
    model_release(m);
    free(folder);
    return taken;
}

/* An incomplete head, or one for another vocabulary, is ignored: the model is valid without it. */
static void a_head_of_masked_words_is_taken_where_it_fits(void **state) {
    (void)state;
    assert_true(takes_words("nothing"));
    assert_false(takes_words("lacks"));
    assert_false(takes_words("shape"));
    assert_false(takes_words("decoder"));
    if (!REAL_IS_DOUBLE) assert_false(takes_words("nan"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_of_masked_words_is_taken_where_it_fits),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_old_names),
        cmocka_unit_test(test_gamma_outside_norms),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_pooler),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_rows_without_words),
        cmocka_unit_test(test_wrong_rank_and_type),
        cmocka_unit_test(test_odd_types_beside),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_wrappers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
