/* Token ids and vectors of texts, compared with transformers on real weights; long texts; tokens beyond the
 * embedding. */
#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/encode.h"
#include "tests/support/fixture.h"
#include "tests/support/tiny.h"

#define MINILM "assets/models/all-MiniLM-L6-v2"

static const struct {
    const char *a, *b;
} sentences[] = {
    {"A quiet, funny film that never raises its voice.", NULL},
    {"The plot is dull; the acting, worse.", "Nobody in the cinema laughed, not even once."},
    {"café naïveté & 3 unaffable cats!", NULL},
};

static void test_real(void **state) {
    (void)state;
    test_needs(MINILM);
    struct fixture f;
    fixture_open(&f, MINILM, "tests/reference/minilm/expected.safetensors");
    size_t n, d = (size_t)f.model->arch.width;
    double *last = fixture_values(&f, "cls.6", &n), *means = fixture_values(&f, "mean", &n);
    for (size_t i = 0; i < COUNT_OF(sentences); i++) {
        struct err e = ERR_INIT;
        struct encoded x;
        real *cls, *mean;
        test_ok(model_encode_text(f.model, sentences[i].a, sentences[i].b, 0, &x, &cls, &mean, &e),
                &e);
        int start = f.batch.start[i];
        assert_int_equal(x.n, f.batch.start[i + 1] - start);
        assert_memory_equal(x.ids, f.batch.ids + start, x.n * sizeof *x.ids);
        assert_memory_equal(x.types, f.batch.types + start, x.n * sizeof *x.types);
        for (size_t k = 0; k < d; k++) {
            if (fabs((double)cls[k] - last[i * d + k]) > 1e-5 ||
                fabs((double)mean[k] - means[i * d + k]) > 1e-5)
                fail_msg("sentence %zu, channel %zu: %g and %g", i, k, (double)cls[k],
                         (double)mean[k]);
        }
        free(cls);
        free(mean);
        encoded_release(&x);
    }
    free(last);
    free(means);
    fixture_close(&f);
}

/* 16 positions: 14 words and the two special tokens. */
static void test_longest(void **state) {
    (void)state;
    char *parent = test_folder(), *folder = tiny_bert(parent, "m", NULL);
    struct err e = ERR_INIT;
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    struct buf text = BUF_INIT;
    for (int words = 1; words <= 38; words++) {
        struct encoded x;
        real *cls, *mean;
        buf_puts(&text, "the ");
        test_ok(model_encode_text(m, buf_text(&text), NULL, 0, &x, &cls, &mean, &e), &e);
        assert_int_equal(x.n, words <= 14 ? words + 2 : 16);
        assert_int_equal(x.cut_a, words <= 14 ? 0 : words - 14);
        assert_int_equal(x.ids[x.n - 1], tokenizer_id(m->tokenizer, "[SEP]"));
        for (int k = 0; k < 8; k++) assert_true(isfinite(cls[k]) && isfinite(mean[k]));
        free(cls);
        free(mean);
        encoded_release(&x);
    }
    struct encoded x;
    real *cls, *mean;
    test_refused(model_encode_text(m, "the", NULL, 17, &x, &cls, &mean, &e), ERR_USAGE, &e,
                 "exceeds that of the model, 16");
    buf_release(&text);
    model_release(m);
    free(folder);
    free(parent);
}

/* Two tokens more than the embedding has rows: valid until a text uses one. */
static void test_words_without_rows(void **state) {
    (void)state;
    char *parent = test_folder(), *folder = tiny_bert(parent, "m", NULL),
         *path = file_join(folder, "vocab.txt");
    struct err e = ERR_INIT;
    struct buf words;
    test_ok(file_read(path, 1 << 20, &words, &e), &e);
    buf_puts(&words, "xone\nxtwo\n");
    test_ok(file_write(path, words.data, words.size, &e), &e);
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    assert_non_null(strstr(buf_text(&m->report), "the embedding has 32 rows: texts with \"xone\" "
                                                 "(id 32)"));
    struct encoded x;
    real *cls, *mean;
    test_ok(model_encode_text(m, "the cat", NULL, 0, &x, &cls, &mean, &e), &e);
    free(cls);
    free(mean);
    encoded_release(&x);
    test_refused(model_encode_text(m, "the xone", NULL, 0, &x, &cls, &mean, &e), ERR_INPUT, &e,
                 "\"xone\" (id 32), but the model has embeddings for only 32 tokens");
    model_release(m);
    buf_release(&words);
    free(path);
    free(folder);
    free(parent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_words_without_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
