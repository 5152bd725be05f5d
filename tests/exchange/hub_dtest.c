/* Adapters of AdapterHub of many settings on tiny models, and of PEFT on those of other families than BERT,
    in 64 bits: what petri reads of a folder computes what the
 * library does, goes back as it does and is where it is after ten steps (tests/reference/make_hub_truth.py). */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "core/exchange/export.h"
#include "core/exchange/import.h"
#include "core/method/fusion.h"
#include "core/method/slots.h"
#include "core/train/use/predict.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

enum { STEPS = 10 };
static const double rate = 0.01;

/* T5 takes norms and softmaxes in 32 bits there; values are saved in 32 bits. */
static const double logits_apart = 1e-5, part = 2e-5;

/* The tiny model that a folder's adapter is of. */
static char *model_of(const char *folder) {
    char *base = import_is_fusion(folder) ? import_fusion_base(folder) : import_base(folder), *inside;
    assert_non_null(base);
    inside = strstr(base, "bert-tiny") == base ? xstrdup("tests/reference/bert-tiny")
             : strchr(base, '-') ? xprintf("tests/reference/families/%s", base)
                                 : xprintf("tests/reference/causal/%s", base);
    free(base);
    return inside;
}

static void read_adapter(const char *folder, struct imported *out) {
    struct err e = ERR_INIT;
    char *inside = model_of(folder), *path = test_path(inside);
    struct model *m = model_load(path, &e);
    if (!m) fail_msg("%s", e.text);
    bool fused = import_is_fusion(folder);
    int rc = fused                      ? import_fusion(folder, NULL, 0, m, out, &e)
             : import_is_peft(folder) ? import_peft(folder, m, out, &e)
                                        : import_hub(folder, m, out, &e);
    if (rc) fail_msg("%s: %s", folder, e.text);
    free(inside);
    free(path);
}

static void truth_open(const char *folder, struct fixture *out) {
    struct err e = ERR_INIT;
    char *path = file_join(folder, "truth.safetensors");
    *out = (struct fixture){ .expected = st_open(path, &e) };
    if (!out->expected) fail_msg("%s", e.text);
    free(path);
}

/* The largest difference.  Of the logits the library may have every so many. */
static double answers_alike(struct rig *r, const char *folder, const struct imported *x) {
    struct fixture truth;
    size_t n;
    truth_open(folder, &truth);
    double *want = fixture_values(&truth, "logits", &n), worst = 0;
    real *got = rig_logits(r, predictor_plan(x->predictor), predictor_params(x->predictor));
    assert_true(n && rig_logit_count(r) % n == 0);
    for (size_t i = 0, step = rig_logit_count(r) / n; i < n; i++)
        worst = fmax(worst, fabs((double)got[i * step] - want[i]));
    if (!(worst < logits_apart)) {
        char *text = method_text(&predictor_plan(x->predictor)->method);
        fail_msg("%s: %s: %g from the library's logits", folder, text, worst);
    }
    free(got);
    free(want);
    st_close(truth.expected);
    return worst;
}

/* The values of another adapter that was read into the same plan. */
static void same_values(const char *folder, const char *inner, const struct plan *p, const real *got, double allowed) {
    char *other = file_join(folder, inner);
    struct imported x;
    read_adapter(other, &x);
    const struct plan *q = predictor_plan(x.predictor);
    const real *want = predictor_params(x.predictor);
    double largest = 0;
    assert_int_equal(p->trained, q->trained);
    for (size_t i = 0; i < p->trained; i++) largest = fmax(largest, fabs((double)want[i]));
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        assert_string_equal(t->name, q->tensor[i].name);
        if (t->fixed || (t->kind == PLAN_NETWORK && t->role == SLOT_FUSION_KEY_B)) continue;
        for (size_t k = t->offset; k < t->offset + t->count; k++)
            if (!(fabs((double)(got[k] - want[k])) <= allowed * largest))
                fail_msg("%s: %s: %.9g, not %.9g", other, t->name, (double)got[k], (double)want[k]);
    }
    import_release(&x);
    free(other);
}

/* b_k moves in the library by what rounding leaves of a gradient that is 0. */
static void hold_still(const struct plan *p, real *g) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].role == SLOT_FUSION_KEY_B && p->tensor[i].kind == PLAN_NETWORK)
            for (size_t k = 0; k < p->tensor[i].count; k++) assert_true(g[p->tensor[i].offset + k] == 0);
}

static void learns_alike(struct rig *r, const char *folder, const struct imported *x) {
    const struct plan *p = predictor_plan(x->predictor);
    const struct adamw adam = { 0.9, 0.999, 1e-8, 0 };
    struct optim_group *group = xcalloc((size_t)p->tensors, sizeof *group);
    for (int i = 0; i < p->tensors; i++)
        group[i] = (struct optim_group){ p->tensor[i].offset, p->tensor[i].count, p->tensor[i].fixed ? 0 : 1, 0 };
    real *value = xcalloc(p->trained, sizeof *value), *g = xcalloc(p->trained, sizeof *g);
    real *m = xcalloc(p->trained, sizeof *m), *v = xcalloc(p->trained, sizeof *v);
    memcpy(value, predictor_params(x->predictor), p->trained * sizeof *value);
    for (int i = 1; i <= STEPS; i++) {
        rig_loss(r, p, value, g);
        if (fusion_has_identity(&p->method)) fusion_identity(p, value, g);
        hold_still(p, g);
        if (i == 1) same_values(folder, "grad", p, g, part);
        optim_adamw(&adam, rate, (uint64_t)i, (size_t)p->tensors, group, value, g, m, v);
    }
    same_values(folder, "after", p, value, part);
    free(group);
    free(value);
    free(g);
    free(m);
    free(v);
}

/* Written and read again an adapter has the same method and the same values. */
static void check_back(const char *folder) {
    struct err e = ERR_INIT;
    struct imported x;
    char *base = import_base(folder), *at, *out;
    if (!base) return; /* a fusion says nothing of its model */
    at = test_folder();
    out = file_join(at, "out");
    read_adapter(folder, &x);
    if ((import_is_peft(folder) ? export_peft : export_hub)(x.predictor, base, out, &e)) fail_msg("%s: %s", folder, e.text);
    same_values(out, ".", predictor_plan(x.predictor), predictor_params(x.predictor), 0);
    import_release(&x);
    free(base);
    free(out);
    free(at);
}

static double check_folder(const char *folder, bool whole) {
    struct rig r;
    struct imported x;
    char *inside = model_of(folder);
    rig_open_at(&r, inside);
    free(inside);
    read_adapter(folder, &x);
    if (r.m->arch.causal) r.classes = predictor_classes(x.predictor);
    double apart = answers_alike(&r, folder, &x);
    if (whole) learns_alike(&r, folder, &x);
    if (whole) check_back(folder);
    import_release(&x);
    rig_close(&r);
    return apart;
}

/* How many; the largest difference of logits in *worst. */
static int check_all(const char *folder, bool whole, double *worst) {
    DIR *d = opendir(folder);
    int n = 0;
    *worst = 0;
    if (!d) fail_msg("%s: cannot be read", folder);
    for (struct dirent *x; (x = readdir(d));) {
        if (*x->d_name == '.') continue;
        char *one = file_join(folder, x->d_name);
        *worst = fmax(*worst, check_folder(one, whole));
        free(one);
        n++;
    }
    closedir(d);
    return n;
}

static void adapters_are_the_librarys(void **state) {
    (void)state;
    char *folder = test_path("tests/reference/adapters/truth");
    double worst;
    assert_true(check_all(folder, true, &worst) > 3);
    free(folder);
}

static void fused_adapters_are_the_librarys(void **state) {
    (void)state;
    char *folder = test_path("tests/reference/adapters/fused");
    double worst;
    assert_int_equal(check_all(folder, true, &worst), 4); /* of a BERT, and one of a RoBERTa */
    free(folder);
    folder = test_path("tests/reference/adapters/fused-text");
    assert_int_equal(check_all(folder, false, &worst), 2); /* of a T5 and a BART, whose fusions only come in */
    free(folder);
}

/* Of LoRA, also of word embeddings, IA3, prompt and P-tuning on a RoBERTa, a T5 and a BART (tests/reference/make_peft_folders.py). */
static void folders_of_peft_are_the_librarys(void **state) {
    (void)state;
    static const char *const models[] = { "roberta-tiny", "t5-odd", "bart-tiny", "mbart-tiny" },
                      *const kinds[] = { "lookup", "lora", "ia3", "prompt", "p-tuning" };
    enum { ALL = 3 * COUNT_OF(kinds) + 1 }; /* of the last one, which scales what it looks up, that alone */
    for (size_t i = 0; i < ALL; i++) {
        char *inside = xprintf("tests/reference/families/peft/%s.%s", models[i / COUNT_OF(kinds)], kinds[i % COUNT_OF(kinds)]);
        char *folder = test_path(inside);
        check_folder(folder, false);
        check_back(folder);
        free(folder);
        free(inside);
    }
}

/* On decoder-only models (tests/reference/make_peft_causal.py). */
static void folders_of_decoders_are_the_librarys(void **state) {
    (void)state;
    char *folder = test_path("tests/reference/causal/peft");
    DIR *d = opendir(folder);
    int n = 0;
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));) {
        if (*x->d_name == '.') continue;
        char *one = file_join(folder, x->d_name);
        check_folder(one, false);
        check_back(one);
        free(one);
        n++;
    }
    closedir(d);
    free(folder);
    assert_int_equal(n, 20);
}

/* Written for PEFT, where the text starts after the prefix, its keys are turned by as many positions. */
static void a_prefix_without_shift_is_the_same_after_it(void **state) {
    (void)state;
    static const char *const models[] = { "llama", "qwen3", "yarn" };
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        struct err e = ERR_INIT;
        struct rig r;
        struct run_config c;
        struct imported x;
        char *inside = xprintf("tests/reference/causal/%s", models[i]), *at = test_folder(), *out = file_join(at, "out");
        rig_open_at(&r, inside);
        r.classes = 0;
        config_init(&c);
        c.form = FORM_TEXT;
        test_ok(method_parse("prefix(l=3)", &c.method, &e), &e);
        struct predictor *p = predictor_new(&(struct predictor_parts){ .m = r.fixture.model, .c = &c, .label_kind = DATA_TEXT }, &e);
        if (!p) fail_msg("%s", e.text);
        real *params = rig_params(&r, predictor_plan(p), 3, 0.5), *own = rig_logits(&r, predictor_plan(p), params),
             *bare = rig_logits(&r, NULL, NULL);
        memcpy(predictor_values(p), params, predictor_plan(p)->trained * sizeof *params);
        test_ok(export_peft(p, models[i], out, &e), &e);
        read_adapter(out, &x);
        real *back = rig_logits(&r, predictor_plan(x.predictor), predictor_params(x.predictor));
        double worst = 0, moved = 0;
        for (size_t k = 0; k < rig_logit_count(&r); k++) {
            worst = fmax(worst, fabs((double)(own[k] - back[k])));
            moved = fmax(moved, fabs((double)(own[k] - bare[k])));
        }
        if (!(worst < logits_apart && moved > 0.1)) fail_msg("%s: %g apart, moved by %g", models[i], worst, moved);
        predictor_free(p);
        import_release(&x);
        config_release(&c);
        rig_close(&r);
        free(params), free(own), free(bare), free(back), free(inside), free(at), free(out);
    }
}

static void drawn_settings_are_the_librarys(void **state) {
    (void)state;
    const char *folder = getenv("PETRI_HUB_RANDOM");
    if (!folder) return;
    double worst;
    int n = check_all(folder, false, &worst);
    print_message("%d settings agree, logits within %.3g\n", n, worst);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_are_the_librarys),
        cmocka_unit_test(fused_adapters_are_the_librarys),
        cmocka_unit_test(folders_of_peft_are_the_librarys),
        cmocka_unit_test(folders_of_decoders_are_the_librarys),
        cmocka_unit_test(a_prefix_without_shift_is_the_same_after_it),
        cmocka_unit_test(drawn_settings_are_the_librarys),
    };
    return cmocka_run_group_tests_name("hub", tests, NULL, NULL);
}
