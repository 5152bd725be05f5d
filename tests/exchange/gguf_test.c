/* Runs written as GGUF files: the adapter and the merged model compute the same as the run, bit for bit where they hold
 * the same numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/exchange/export.h"
#include "core/exchange/import.h"
#include "core/model/gguf_save.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct rig rig;
static char *folder;

static int open_folder(void **state) {
    (void)state;
    folder = test_folder();
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    free(folder);
    return 0;
}

/* Opens a language model of tests/reference/causal with random values of a method. */
static struct predictor *made(const char *model, const char *method) {
    struct err e = ERR_INIT;
    struct run_config c;
    char *inside = xprintf("tests/reference/causal/%s", model);
    rig_open_at(&rig, inside);
    rig.classes = 0;
    config_init(&c);
    c.form = FORM_TEXT;
    test_ok(method_parse(method, &c.method, &e), &e);
    struct predictor *p =
        predictor_new(&(struct predictor_parts){ .m = rig.fixture.model, .c = &c, .label_kind = DATA_TEXT }, &e);
    if (!p) fail_msg("%s", e.text);
    real *x = rig_params(&rig, predictor_plan(p), 5, 0.2);
    memcpy(predictor_values(p), x, predictor_plan(p)->trained * sizeof *x);
    free(x);
    config_release(&c);
    free(inside);
    return p;
}

static void end(struct predictor *p) {
    predictor_free(p);
    rig_close(&rig);
}

static double apart(const real *a, const real *b) {
    double worst = 0;
    for (size_t i = 0; i < rig_logit_count(&rig); i++) worst = fmax(worst, fabs((double)(a[i] - b[i])));
    return worst;
}

/* The merged model, read from its file, has the run's logits, tokens and end. */
static void merged_models_are_read_back(void **state) {
    (void)state;
    static const struct {
        const char *model, *method;
    } cases[] = { { "llama", "lora(r=2,at=all-linear) + ia3" }, { "llama3", "dora(r=2) + ln-tuning" },
                  { "qwen2", "bitfit + lora(r=3,at=up)" },        { "llama", "full(target=embeddings)" } };
    static const enum st_type types[] = { ST_F32, ST_F16, ST_Q8_0 };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct predictor *p = made(cases[i].model, cases[i].method);
        real *own = rig_logits(&rig, predictor_plan(p), predictor_params(p));
        for (size_t k = 0; k < COUNT_OF(types); k++) {
            struct err e = ERR_INIT;
            char *path = file_join(folder, "whole.gguf");
            test_ok(export_gguf_merged(p, types[k], path, &e), &e);
            struct model *m = model_load(path, &e);
            if (!m) fail_msg("%s", e.text);
            real *back = rig_logits_of(&rig, m, NULL, NULL);
            double worst = apart(own, back), most = k ? 0.2 : 1e-5;
            if (!(worst < most)) fail_msg("%s, %s, type %zu: %g apart", cases[i].model, cases[i].method, k, worst);
            assert_int_equal(m->arch.eos_id, rig.m->arch.eos_id);
            int32_t *a = NULL, *b = NULL;
            size_t room_a = 0, room_b = 0;
            const char *text = "I'm  7 plus 12\n\n caf\u00E9";
            size_t n = tokenizer_ids(m->tokenizer, text, strlen(text), &a, &room_a);
            assert_int_equal(n, tokenizer_ids(rig.m->tokenizer, text, strlen(text), &b, &room_b));
            assert_memory_equal(a, b, n * sizeof *a);
            free(a), free(b), free(back), free(path);
            model_release(m);
        }
        free(own);
        end(p);
    }
}

static real *raw(const struct st_file *f, const char *name, const char *part, const struct st_tensor **t) {
    char *whole = xprintf("%s%s", name, part);
    *t = st_find(f, whole);
    real *v = *t ? xcalloc((*t)->count, sizeof *v) : NULL;
    struct err e = ERR_INIT;
    float *bytes = *t ? xcalloc((*t)->count, sizeof *bytes) : NULL;
    if (*t) test_ok(st_read_raw(f, *t, bytes, &e), &e);
    for (size_t i = 0; *t && i < (*t)->count; i++) v[i] = (real)bytes[i];
    free(bytes);
    free(whole);
    return v;
}

static struct st_file *opened(const char *path) {
    struct err e = ERR_INIT;
    struct st_file *f = st_open(path, &e);
    if (!f) fail_msg("%s", e.text);
    return f;
}

/* In a file every row of the merged model is that of the base plus alpha/r · B A of the adapter, in the file's order of
 * rows. */
static void an_adapter_is_the_difference_of_two_models(void **state) {
    (void)state;
    static const char *const cases[][2] = { { "llama", "lora(r=2,at=all-linear)" }, { "qwen2", "lora(r=2,s=0.5) + lora(r=3,at=q,s=3)" },
                                            { "llama", "linear(r=3; write=a.q, comp=learned-channel(2)) + adalora(r=2,at=k+down)" },
                                            { "llama3", "rslora(r=4,alpha=3,at=k,layers=2)" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = ERR_INIT;
        char *whole = file_join(folder, "merged.gguf"), *plain = file_join(folder, "base.gguf"), *lora = file_join(folder, "lora.gguf");
        struct predictor *p = made(cases[i][0], cases[i][1]), *head;
        test_ok(export_gguf_merged(p, ST_F32, whole, &e), &e);
        test_ok(export_gguf(p, lora, &e), &e);
        end(p);
        head = made(cases[i][0], "ia3"); /* moved back to 1 */
        for (size_t k = 0; k < predictor_plan(head)->trained; k++) predictor_values(head)[k] = 1;
        test_ok(export_gguf_merged(head, ST_F32, plain, &e), &e);
        end(head);
        struct st_file *merged = opened(whole), *base = opened(plain), *adapter = opened(lora);
        double alpha = 0;
        size_t parts = 0;
        /* of the metadata the last value */
        struct buf bytes = BUF_INIT;
        test_ok(file_read(lora, 1 << 20, &bytes, &e), &e);
        for (size_t at = 0; at + 22 < bytes.size; at++)
            if (!memcmp(bytes.data + at, "adapter.lora.alpha", 18)) {
                float value;
                memcpy(&value, bytes.data + at + 18 + 4, sizeof value);
                alpha = (double)value;
            }
        buf_release(&bytes);
        for (size_t k = 0; k < st_count(merged); k++) {
            const char *name = st_at(merged, k)->name;
            const struct st_tensor *t, *u, *ta, *tb;
            real *w = raw(merged, name, "", &t), *v = raw(base, name, "", &u), *a = raw(adapter, name, ".lora_a", &ta),
                 *b = raw(adapter, name, ".lora_b", &tb);
            assert_true(t && u && !ta == !tb);
            parts += ta != NULL;
            for (size_t r = 0; ta && r < t->shape[0]; r++)
                for (size_t c = 0; c < t->shape[1]; c++) {
                    double sum = (double)v[r * t->shape[1] + c];
                    for (size_t j = 0; j < ta->shape[0]; j++)
                        sum += alpha / (double)ta->shape[0] * (double)b[r * ta->shape[0] + j] * (double)a[j * t->shape[1] + c];
                    if (!(fabs(sum - (double)w[r * t->shape[1] + c]) < 1e-5))
                        fail_msg("%s: %s: row %zu: %g, not %g", cases[i][1], name, r, (double)w[r * t->shape[1] + c], sum);
                }
            if (!ta) assert_memory_equal(w, v, t->count * sizeof *w);
            free(w), free(v), free(a), free(b);
        }
        assert_int_equal(2 * parts, st_count(adapter));
        assert_true(parts > 0 && alpha > 0);
        st_close(merged), st_close(base), st_close(adapter);
        free(whole), free(plain), free(lora);
    }
}

/* Round half away from zero, by the scale in single precision, which is stored as a half. */
static void blocks_of_bytes_by_definition(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    real v[64], back[64];
    for (int i = 0; i < 64; i++) v[i] = i < 32 ? (real)(i - 16) / 3 : (real)(0.5 * (i - 47));
    v[63] = (real)63.5; /* d = 0.5: 0.5 · (i - 47) is a whole number of them, or halfway */
    v[33] = (real)0.25, v[34] = (real)-0.25, v[35] = (real)0.75;
    struct gguf_writing w = { .meta = BUF_INIT };
    gguf_add_text(&w, "general.architecture", "llama");
    gguf_add_tensor(&w, (struct gguf_tensor){ .name = xstrdup("x"), .type = ST_Q8_0, .rows = 1, .cols = 64, .data = v });
    char *path = file_join(folder, "q8.gguf");
    test_ok(gguf_save(&w, path, &e), &e);
    struct st_file *f = opened(path);
    test_ok(st_read(f, st_at(f, 0), back, &e), &e);
    for (int i = 0; i < 32; i++) assert_true(fabs((double)(back[i] - v[i])) < 16. / 3 / 127 * 0.51);
    assert_true(back[63] == (real)63.5 && back[32] == (real)-7.5);
    assert_true(back[33] == (real)0.5 && back[34] == (real)-0.5 && back[35] == (real)1);
    st_close(f);
    free(path);
    v[5] = (real)70000;
    w.tensor[0].type = ST_F16;
    path = file_join(folder, "f16.gguf");
    test_refused(gguf_save(&w, path, &e), ERR_USAGE, &e, "x: 70000 exceeds the range of F16");
    assert_false(file_exists(path));
    free(path);
    gguf_writing_release(&w);
}

static void what_has_no_place_is_refused(void **state) {
    (void)state;
    static const char *const cases[][3] = {
        { "llama", "dora(r=2)", "module 1 (decomposed): a GGUF adapter contains only low-rank updates (LoRA); use --to gguf-merged" },
        { "llama", "lora(r=2) + prefix(l=2)", "module 3 (softmax): a GGUF adapter contains only low-rank updates (LoRA)" },
        { "llama", "ia3", "module 1 (scale)" },
        { "llama", "lora(r=2) + ln-tuning", "module 3 (full)" },
        { "llama", "linear(r=2; read=f.in, write=f.out)", "it spans more than one linear layer" },
    };
    char *path = file_join(folder, "no.gguf");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err e = ERR_INIT;
        struct predictor *p = made(cases[i][0], cases[i][1]);
        test_refused(export_gguf(p, path, &e), ERR_USAGE, &e, cases[i][2]);
        end(p);
    }
    struct err e = ERR_INIT;
    struct predictor *p = made("llama", "prefix(l=2)");
    test_refused(export_gguf_merged(p, ST_F16, path, &e), ERR_USAGE, &e, "a prefix is part of the softmax");
    end(p);
    p = made("mistral", "lora(r=2)");
    e = (struct err)ERR_INIT;
    test_refused(export_gguf_merged(p, ST_F16, path, &e), ERR_USAGE, &e, "sliding-window attention");
    end(p);
    p = made("yarn", "lora(r=2)");
    e = (struct err)ERR_INIT;
    test_refused(export_gguf_merged(p, ST_F16, path, &e), ERR_INPUT, &e, "no tokenizer");
    end(p);
    assert_false(file_exists(path));
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_models_are_read_back),
        cmocka_unit_test(an_adapter_is_the_difference_of_two_models),
        cmocka_unit_test(blocks_of_bytes_by_definition),
        cmocka_unit_test(what_has_no_place_is_refused),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
