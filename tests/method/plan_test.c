/* Counts compared with papers and libraries; rules; initial values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/method/plan.h"
#include "tests/method/published.h"
#include "tests/method/shapes.h"
#include "tests/support/test.h"

static struct plan *planned(const char *text, const struct arch *a, int classes) {
    struct method m;
    struct err e = ERR_INIT;
    struct plan *p = NULL;
    if (method_parse(text, &m, &e) == 0) p = plan_new(&m, a, classes, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    return p;
}

/* ---- counts ---- */

struct row {
    const char *text;
    size_t trained, kept;
};

static void counts_are(const struct arch *a, const struct row *row, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct plan *p = planned(row[i].text, a, 2);
        size_t kept = row[i].kept ? row[i].kept : row[i].trained;
        if (p->trained_method != row[i].trained || p->stored_method != kept)
            fail_msg("%s: trained %zu kept %zu, not %zu and %zu", row[i].text, p->trained_method,
                     p->stored_method, row[i].trained, kept);
        /* The block contains exactly the listed tensors, without gaps. */
        size_t at = 0, made = 0, fixed = 0;
        for (int k = 0; k < p->tensors; k++) {
            fixed += p->tensor[k].fixed ? p->tensor[k].count : 0;
            assert_int_equal(p->tensor[k].offset, at);
            assert_int_equal(p->tensor[k].count,
                             (size_t)p->tensor[k].rows * (size_t)p->tensor[k].cols);
            at += p->tensor[k].count;
            for (int l = 0; l < k; l++)
                assert_string_not_equal(p->tensor[k].name, p->tensor[l].name);
        }
        for (int k = 0; k < p->generated; k++) {
            assert_int_equal(p->generated_tensor[k].offset, made);
            made += p->generated_tensor[k].count;
        }
        assert_int_equal(at, p->trained);
        assert_int_equal(made, p->generated_size);
        assert_int_equal(p->trained, p->trained_method + fixed + p->head);
        plan_free(p);
    }
}
#define COUNTS_ARE(a, rows) counts_are(a, rows, COUNT_OF(rows))

/* PEFT 0.11.1 and adapter-transformers 3.2.1, run on both; the last block from papers. */
static const struct row base_rows[] = {
    {"lora(r=8)", 294912, 0},
    {"ia3(peft)", 64512, 0},
    {"prefix(l=30)", 552960, 0},
    {"prefix(l=30,mlp=512)", 9872384, 552960},
    {"adapter-pfeiffer(r=48)", 894528, 0},
    {"adapter-houlsby(r=48,norms=no)", 1789056, 0},
    {"parallel-adapter-ffn(r=384)", 7091712, 0},
    {"scaled-parallel-adapter(r=384,s=4)", 7091712, 0},
    {"parallel-adapter-ffn(r=384,s=learned)", 7091724, 0},
    {"compacter(norms=no)", 57088, 0},
    {"compacter++(norms=no)", 28576, 0},
    {"ia3", 55296, 0},
    {"ia3(at=k+v+pre)", 55296, 0},
    {"mam(l=30,r=384,s=4,mlp=800)", 22493984, 552960 + 7091712},
    {"prefix(l=16,mlp=800)", 15391520, 294912},
    {"parallel-adapter-ffn(r=16)", 304320, 0},
    {"mam(l=16,r=16,mlp=800)", 15391520 + 304320, 294912 + 304320},
    {"mam(l=16,r=16,biases=no)", 589824, 0},
    {"lora(r=16)", 589824, 0},
    {"adapter-houlsby(r=16,norms=no,biases=no)", 589824, 0},
    {"unipelt", 1410672, 0},
    {"adapter-pfeiffer(source=fusion) + adapter-pfeiffer(r=16,source=fusion) + fusion", 21252096, 21252096 + 894528 + 304320},
    {"prompt(l=100,source=fusion) + prompt(l=100,source=fusion) + prompt(l=100) + attempt", 231936, 231936 + 2 * 76800},
        /* the paper's 232 K */
    {"prompt(l=100,source=fusion) + prompt(l=100) + attempt(norm=frozen)", 230400, 231936 + 76800}, /* as released */
    {"mpt", 16148, 0},        /* as PEFT counts one task */
    {"mpt(l=100)", 77668, 0}, /* of the paper's T5-base, which has the same width */
    {"unipelt(mlp=512)", 11083376, 1410672},
    {"masked(target=norms) + pruning(groups=no)", 2 * 25 * 2 * 768, 0},
    {"head", 0, 0},
};

static void base_models_count_like_the_libraries(void **state) {
    (void)state;
    struct arch bert = shape_bert_base(), roberta = shape_roberta(768, 12, 12);
    static const struct row bert_rows[] = {
        {"bitfit", 102912, 0},
        {"full", 109482240, 0},
        {"adapter-houlsby(r=64)", 24 * (2 * 64 * 768 + 64 + 768) + 25 * 2 * 768, 0},
    };
    static const struct row roberta_rows[] = {{"bitfit", 102144, 0}};
    COUNTS_ARE(&bert, base_rows);
    COUNTS_ARE(&roberta, base_rows);
    COUNTS_ARE(&bert, bert_rows);
    COUNTS_ARE(&roberta, roberta_rows);
    struct plan *p = planned("lora(r=8)", &bert, 2);
    assert_int_equal(p->head, 1538);
    assert_int_equal(p->trained, 296450);
    assert_int_equal(p->model, 109482240);
    plan_free(p);
    p = planned("lora(r=8)", &roberta, 2);
    assert_int_equal(p->head, 592130);
    assert_int_equal(p->model, 124645632 - (768 * 768 + 768)); /* a classifier has no pooler */
    plan_free(p);
    struct arch large = shape_roberta(1024, 16, 24);
    static const struct row large_rows[] = {{"ia3(peft)", 172032, 0},
                                            {"ia3", 172032 - 24 * 1024, 0}};
    COUNTS_ARE(&large, large_rows);
}

static void a_tiny_model_counts_by_hand(void **state) {
    (void)state;
    struct arch tiny = shape_tiny();
    static const struct row rows[] = {
        {"lora(r=2)", 128, 0},
        {"lora(r=2,at=q+k+v+o)", 256, 0},
        {"adapter-houlsby(r=4,norms=no)", 304, 0},
        {"adapter-pfeiffer(r=4)", 152, 0},
        {"prefix(l=5)", 160, 0},
        {"prefix(l=5,mlp=6)", 318, 160},
        {"bitfit", 160, 0},
        {"bias(target=norms)", 40, 0},
        {"mam(l=5,r=4)", 312, 0},
        {"full", 1688, 0},
        {"multi-head-parallel-adapter(r=4)", 2 * 2 * 4 * 8, 0},
        {"multi-head-parallel-adapter(r=4,heads=free,read=a.in)", 2 * 4 * 8 * (2 + 1), 0},
        {"lora-ffn(r=2)", 2 * 2 * 2 * (8 + 16), 0},
        {"parallel-adapter-attn(r=3)", 2 * (2 * 3 * 8 + 3 + 8), 0},
        {"linear(r=2; write=a.q, source=shared)", 32, 0},
        {"lora(r=2,layers=2)", 64, 0},
        {"prefix(l=5,mlp=6,layers=2)", 5 * 8 + 8 * 6 + 6 + 6 * 16 + 16, 80},
        {"bitfit(layers=1)", 72, 0},
        {"full(target=embeddings)", 8 * (32 + 16 + 2) + 16, 0},
        {"full(write=f.out, layers=2)", 8 * 16 + 8, 0},
        {"full(write=embed)", 16, 0},
        {"linear(r=2; write=embed)", 32, 0},
        {"scale(write=embed)", 8, 0},
    };
    COUNTS_ARE(&tiny, rows);
    struct plan *p = planned("lora(r=2)", &tiny, 3);
    assert_int_equal(p->head, 27);
    assert_int_equal(p->lowest_layer, 0);
    plan_free(p);
    tiny.pooler_absent = true;
    p = planned("bitfit", &tiny, 3);
    assert_int_equal(p->head, 27 + 72);
    assert_int_equal(p->trained_method, 152);
    assert_int_equal(p->model, 1688 - 72);
    plan_free(p);
}

static void the_lowest_layer_is_known(void **state) {
    (void)state;
    struct arch a = shape_bert_base();
    static const struct {
        const char *text;
        int lowest;
    } rows[] = {{"head", 12},
                {"lora(layers=7-)", 6},
                {"bitfit", -1},
                {"full(target=embeddings)", -1},
                {"scale(write=embed)", -1},
                {"prefix(l=2,mlp=4,layers=3-4)", 2},
                {"linear(r=2; write=a.q, source=shared, layers=5-)", 4}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct plan *p = planned(rows[i].text, &a, 2);
        assert_int_equal(p->lowest_layer, rows[i].lowest);
        plan_free(p);
    }
}

static void counts_are_written_with_their_arithmetic(void **state) {
    (void)state;
    struct arch a = shape_bert(384, 12, 1536, 6, 30522, 512);
    struct err e = ERR_INIT;
    struct plan *p = planned("lora(r=8)", &a, 2);
    char *text = plan_counts_json(p, &a);
    json_t *o = json_parse("counts", text, strlen(text), &e);
    assert_non_null(o);
    assert_int_equal(json_integer_value(json_object_get(o, "trained")), 73728);
    assert_int_equal(json_integer_value(json_object_get(o, "kept")), 73728);
    assert_int_equal(json_integer_value(json_object_get(o, "head")), 770);
    assert_int_equal(json_array_size(json_object_get(o, "modules")), 2);
    const json_t *module = json_array_get(json_object_get(o, "modules"), 1);
    assert_int_equal(json_integer_value(json_object_get(module, "trained")), 36864);
    assert_string_equal(json_string_value(json_object_get(module, "where")),
                        "encoder layers 1-6: a.in to a.v");
    json_decref(o);
    free(text);
    plan_free(p);
    static const struct {
        const char *text, *sum;
    } rows[] = {
        {"lora(r=8)", "2·r·d·L = 2·8·384·6 = 36,864"},
        {"lora-ffn(r=8)", "r·(d+f)·L = 8·(384+1536)·6 = 92,160"},
        {"adapter-pfeiffer(r=24)", "(2·r·d + r + d)·L = (2·24·384 + 24 + 384)·6 = 113,040"},
        {"prefix(l=5)", "2·l·d·L = 2·5·384·6 = 23,040"},
        {"prefix(l=5,mlp=7)",
         "l·d + (d+1)·mid + (mid+1)·2·L·d = 5·384 + 385·7 + 8·2·6·384 = 41,479; "
         "stored 2·l·d·L = 23,040"},
        {"ia3", "d·L = 384·6 = 2,304"},
        {"bitfit", "total size of 50 existing tensors = 26,112"},
        {"linear(r=2; write=a.q, source=shared)", "2·r·d = 2·2·384 = 1,536, shared across all layers"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        p = planned(rows[i].text, &a, 2);
        text = plan_arithmetic(p, &a, 0);
        assert_string_equal(text, rows[i].sum);
        free(text);
        plan_free(p);
    }
}

static void names_are_readable_and_stable(void **state) {
    (void)state;
    struct arch a = shape_tiny();
    struct plan *p = planned(
        "lora(r=2) + linear(r=3; write=a.q) + scale(write=embed) + bias(write=a.k)", &a, 2);
    assert_string_equal(p->tensor[0].name, "enc.0.self/linear.q.W_d");
    assert_string_equal(p->tensor[3].name, "enc.1.self/linear.q.W_u");
    assert_string_equal(p->tensor[8].name, "enc.0.self/linear.q.2.W_d");
    assert_string_equal(p->tensor[12].name, "enc.embed/scale.l");
    assert_string_equal(p->tensor[13].name, "encoder.layer.0.attention.self.key.bias");
    assert_string_equal(p->tensor[15].name, "head.weight");
    assert_int_equal(p->tensors, 17);
    plan_free(p);
}

/* ---- weight decay, and tensors without a gradient ---- */

static void vectors_do_not_decay(void **state) {
    (void)state;
    struct arch a = shape_tiny();
    struct plan *p = planned("full", &a, 2);
    int decays = 0, still = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        assert_int_equal(t->decays, t->rows > 1);
        decays += t->decays;
        still += !t->decays;
    }
    assert_int_equal(decays, 17); /* 16 matrices and classifier.weight */
    assert_int_equal(still, 24);
    plan_free(p);
    p = planned("ia3 + lora(r=1) + bottleneck(r=1; s=learned)", &a, 2);
    for (int i = 0; i < p->tensors; i++) {
        const char *last = strrchr(p->tensor[i].name, '.') + 1;
        assert_int_equal(p->tensor[i].decays, *last == 'W' || !strcmp(last, "weight"));
    }
    plan_free(p);
}

static void stuck(const char *text, int count) {
    struct arch a = shape_tiny();
    struct plan *p = planned(text, &a, 2);
    int n = 0;
    for (int i = 0; i < p->tensors; i++) n += p->tensor[i].no_gradient;
    if (n != count) fail_msg("%s: %d tensors cannot move, not %d", text, n, count);
    plan_free(p);
}

static void what_cannot_move_is_listed(void **state) {
    (void)state;
    stuck("bitfit", 2);
    stuck("full", 2);
    stuck("bitfit + prefix(l=2)", 0);
    stuck("bitfit + prefix(l=2,layers=2)", 1);
    stuck("bitfit + prefix(l=2,comp=add)", 2);
    stuck("bias(write=a.q)", 0);
    stuck("bottleneck(r=2; write=a.k)", 2);
    stuck("bottleneck(r=2; write=a.k, biases=no)", 0);
    stuck("bottleneck(r=2; write=a.k) + bottleneck(r=2; read=a.k, write=a.k, biases=no)", 0);
    stuck("bottleneck(r=2; read=a.k, write=a.k) + bitfit", 2); /* its own b_u, not b_k */
    stuck("bitfit + linear(r=2; read=a.k, write=a.k)", 2);
    stuck("bitfit + linear(r=2; read=a.k, write=a.out)", 0);
    stuck("prefix(l=1,comp=add)", 2);
    stuck("prefix(l=1)", 0);
    stuck("prefix(l=2,comp=add)", 0);
    stuck("linear(r=2; write=a.q, s=learned(0))", 6);
    stuck("lora + head(frozen)", 2);
}

/* ---- rules ---- */

static struct arch rule_shape(const char *name) {
    if (!strcmp(name, "t5")) return shape_t5();
    struct arch a = shape_bert_base();
    if (!strcmp(name, "huge")) a.vocabulary = 2000000000;
    return a;
}

/* What reads a whole example would read the tokens that a language model predicts; a classifier may. */
static void language_models_do_not_look_ahead(void **state) {
    (void)state;
    static const char *const texts[] = { "adapter-pfeiffer(comp=input-gate)", "unipelt", "hyperdecoder",
                                         "prompt(l=3, source=fusion) + prompt(l=3) + attempt" };
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", SMOLLM2, strlen(SMOLLM2), &a, NULL, &e), &e);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct method m;
        test_ok(method_parse(texts[i], &m, &e), &e);
        struct plan *classes = plan_new(&m, &a, 2, &e);
        assert_non_null(classes);
        assert_null(plan_new(&m, &a, 0, &e));
        if (strncmp(e.text, "V73: ", 5)) fail_msg("%s: %s", texts[i], e.text);
        plan_free(classes);
        e = (struct err)ERR_INIT;
    }
    arch_release(&a);
}

static void rules_fire(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule;
        enum level level;
        const char *shape;
    } rows[] = {
        {"bottleneck(r=4; comp=gated)", "V1", LEVEL_ERROR, ""},
        {"linear(r=4; comp=gated)", "V1", LEVEL_ERROR, ""},
        {"softmax(l=4; write=f.out)", "V1", LEVEL_ERROR, ""},
        {"softmax(l=4; write=a.out, comp=add)", "V2", LEVEL_ERROR, ""},
        {"linear(r=4; read=f.in, write=f.out)", "V3", LEVEL_INFO, ""},
        {"linear(r=4; read=a.out, write=a.out)", "V4", LEVEL_WARNING, ""},
        {"bottleneck(r=4; write=f.out, read=f.in, heads=free)", "V5", LEVEL_ERROR, ""},
        {"bottleneck(r=4; read=f.out, write=f.pre)", "V6", LEVEL_ERROR, ""},
        {"bottleneck(r=4; read=f.norm, write=f.act)", "V6", LEVEL_ERROR, ""},
        {"linear(r=4; read=a.end, write=a.out)", "V6", LEVEL_ERROR, ""},
        {"lora(stack=decoder)", "V7", LEVEL_ERROR, ""},
        {"linear(r=4; write=a.q, site=cross)", "V7", LEVEL_ERROR, ""},
        {"scale(write=a.q)", "V8", LEVEL_WARNING, ""},
        {"scale(write=a.k, comp=add)", "V9", LEVEL_ERROR, ""},
        {"scale(write=a.k, comp=gated)", "V9", LEVEL_ERROR, ""},
        {"scale(write=f.pre)", "V10", LEVEL_WARNING, ""},
        {"bitfit", "V11", LEVEL_ERROR, "t5"},
        {"full(target=embeddings, layers=2-3)", "V11", LEVEL_ERROR, ""},
        {"full + bitfit", "V12", LEVEL_ERROR, ""},
        {"full + lora", "V12", LEVEL_ERROR, ""},
        {"lora + full(write=a.v)", "V12", LEVEL_ERROR, ""},
        {"adapter-houlsby + bitfit", "V12", LEVEL_ERROR, ""},
        {"scale(write=embed, layers=2-3)", "V13", LEVEL_ERROR, ""},
        {"prompt(stack=decoder)", "V14", LEVEL_ERROR, "t5"},
        {"lookup(layers=2-3)", "V13", LEVEL_ERROR, ""},
        {"prompt(l=511)", "V19", LEVEL_ERROR, ""},
        {"prompt(pool=row0)", "V31", LEVEL_WARNING, ""},
        {"p-tuning", "V35", LEVEL_INFO, ""},
        {"lookup(r=768)", "V17", LEVEL_WARNING, ""},
        {"lookup(write=embed)", "V38", LEVEL_ERROR, ""},
        {"lora(s=0)", "V16", LEVEL_ERROR, ""},
        {"lora(r=768)", "V17", LEVEL_WARNING, ""},
        {"linear(r=384; write=a.q)", "V17", LEVEL_WARNING, ""},
        {"parallel-adapter-ffn(r=4000)", "V18", LEVEL_WARNING, ""},
        {"prefix(l=65)", "V20", LEVEL_INFO, ""},
        {"linear(r=4; s=learned(4))", "V22", LEVEL_WARNING, ""},
        {"linear(r=4; s=learned(0))", "V24", LEVEL_WARNING, ""},
        {"lora + linear(r=4; write=a.q, s=2)", "V28", LEVEL_WARNING, ""},
        {"prefix + prefix(l=3)", "V29", LEVEL_WARNING, ""},
        {"bitfit + adapter-pfeiffer", "V30", LEVEL_WARNING, ""},
        {"adapter-pfeiffer + bias(write=f.out)", "V30", LEVEL_WARNING, ""},
        {"lora + head(frozen)", "V32", LEVEL_WARNING, ""},
        {"bottleneck(r=4; write=a.ctx, end=bare)", "V61", LEVEL_ERROR, ""},
        {"compacter(r=6)", "V25", LEVEL_ERROR, ""},
        {"linear(r=4; write=a.q, source=kronecker)", "V25", LEVEL_ERROR, ""},
        {"bottleneck(r=4; read=f.act, write=f.out, residual=read)", "V61", LEVEL_ERROR, ""},
        {"lora + classifier(layers=3)", "V60", LEVEL_ERROR, ""},
        {"lora + classifier(layers=1,hidden=8)", "V60", LEVEL_ERROR, ""},
        {"lora + classifier + generated-head", "V60", LEVEL_ERROR, ""},
        {"full", "V33", LEVEL_WARNING, "huge"},
        {"diff-pruning", "V33", LEVEL_INFO, ""}, /* reported on every machine */
        {"bottleneck(r=4; read=a.q, write=a.head, heads=factorised, norm=own)", "V48", LEVEL_ERROR, ""},
        {"lora + retriever(instance=none)", "V49", LEVEL_WARNING, ""},
        {"hyperdecoder", "V53", LEVEL_INFO, ""},
        {"prompt(l=3) + prompt(l=4)", "V55", LEVEL_ERROR, ""},
        {"decomposed(r=4; read=f.in, write=f.out)", "V70", LEVEL_ERROR, ""},
        {"dora + lora", "V71", LEVEL_ERROR, ""},
        {"vera(r=4) + projected(r=5; write=a.k)", "V72", LEVEL_ERROR, ""},
        {"adapter-pfeiffer(comp=input-gate)", "V73", LEVEL_ERROR, "t5"},
        {"lora + budget", "V74", LEVEL_ERROR, ""},
        {"adapter-pfeiffer(source=fusion) + fusion", "V75", LEVEL_ERROR, ""},
        {"prefix(l=3, shift=yes) + prefix(l=4, shift=yes)", "V76", LEVEL_ERROR, ""},
        {"masked(target=norms) + masked(write=a.q) + pruning", "V77", LEVEL_ERROR, ""},
        {"masked + pruning(keep=2)", "V77", LEVEL_ERROR, ""},
        {"masked + lora + pruning", "V12", LEVEL_ERROR, ""},
        {"prompt(l=3, source=fusion) + attempt", "V78", LEVEL_ERROR, ""},
        {"prompt(l=3, source=fusion) + prompt(l=4) + attempt", "V78", LEVEL_ERROR, ""},
        {"mam", "V34", LEVEL_WARNING, ""},
        {"bottleneck(r=4; read=a.in, write=a.in)", "V38", LEVEL_ERROR, ""},
        {"linear(r=4; read=f.in, write=f.end)", "V38", LEVEL_ERROR, ""},
        {"full(write=a.ctx)", "V38", LEVEL_ERROR, ""},
        {"linear(r=4; read=a.in, write=f.out)", "V39", LEVEL_ERROR, ""},
        {"linear(r=4; read=a.k, write=a.q)", "V39", LEVEL_ERROR, ""},
        {"lora(layers=3-13)", "V40", LEVEL_ERROR, ""},
        {"lora(layers=13-)", "V40", LEVEL_ERROR, ""},
        {"head(frozen)", "V41", LEVEL_ERROR, ""},
        {"linear(r=4; comp=multiply)", "V42", LEVEL_ERROR, ""},
        {"bottleneck(r=4; comp=in-weight)", "V42", LEVEL_ERROR, ""},
        {"linear(r=4; write=a.head, heads=free)", "V42", LEVEL_ERROR, ""},
        {"prefix(init=lora)", "V42", LEVEL_ERROR, ""},
        {"bottleneck(r=4; read=a.in, write=a.out, heads=free)", "V43", LEVEL_ERROR, ""},
        {"bottleneck(r=4; read=a.in, write=a.head, heads=factorised)", "V43", LEVEL_ERROR, ""},
        {"ia3 + scale(write=a.k)", "V44", LEVEL_WARNING, ""},
        {"prefix+prefix+prefix+prefix+prefix+prefix+prefix+prefix+prefix", "V45", LEVEL_ERROR, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arch a = rule_shape(rows[i].shape);
        struct finding f[32];
        struct method m;
        struct err e = ERR_INIT;
        test_ok(method_parse(rows[i].text, &m, &e), &e);
        int n = method_check(&m, &a, f, 32);
        bool found = false, error = false;
        for (int k = 0; k < n && k < 32; k++) {
            found |= !strcmp(f[k].rule, rows[i].rule) && f[k].level == rows[i].level;
            error |= f[k].level == LEVEL_ERROR;
            assert_in_range(strlen(f[k].text), 20, sizeof f[k].text - 2); /* complete, not truncated */
            if (k) assert_true(f[k].level <= f[k - 1].level);
        }
        if (!found)
            fail_msg("%s: %s is silent (%d findings, first %s %s)", rows[i].text, rows[i].rule, n,
                     n ? f[0].rule : "", n ? f[0].text : "");
        if (error != (rows[i].level == LEVEL_ERROR))
            fail_msg("%s: %s: %s", rows[i].text, f[0].rule, f[0].text);
        if (!strcmp(rows[i].shape, "huge")) continue;
        struct plan *p = plan_new(&m, &a, 2, &e);
        assert_int_equal(p == NULL, error);
        if (!p) assert_non_null(strstr(e.text, f[0].rule));
        plan_free(p);
    }
}

static void presets_are_valid_everywhere(void **state) {
    (void)state;
    struct arch a = shape_bert_base();
    a.attention_dropout = 0;
    for (int i = 0; i < preset_count(); i++) {
        struct finding f[8];
        int n = method_check(&preset_at(i)->method, &a, f, 8);
        if (n > 0 && f[0].level > LEVEL_INFO) fail_msg("%s: %s %s", preset_at(i)->name, f[0].rule, f[0].text);
    }
}

/* ---- initial values ---- */

static void moments(const real *x, size_t n, double *mean, double *sigma, double *most) {
    *mean = *sigma = *most = 0;
    for (size_t i = 0; i < n; i++) *mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        *sigma += (x[i] - *mean) * (x[i] - *mean) / (double)n;
        if (fabs((double)x[i]) > *most) *most = fabs((double)x[i]);
    }
    *sigma = sqrt(*sigma);
}

static void inits_follow_their_rules(void **state) {
    (void)state;
    struct arch a = shape_bert(64, 4, 128, 1, 10, 8);
    static const struct {
        const char *text;
        double sigma, most; /* of the first tensor; 0: no bound */
    } rows[] = {
        {"linear(r=64; write=a.q)", 1 / sqrt(3 * 64.0), 0.125},
        {"bottleneck(r=64)", 0.02, 0},
        {"bottleneck(r=64; init=houlsby)", 0.0088, 0.02},
        {"bottleneck(r=64; init=hyperformer)", 0.01, 0},
        {"prefix(l=64)", 0.02, 0},
        {"prefix(l=64,init=normal)", 1, 0},
    };
    struct model m = {.arch = a};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct plan *p = planned(rows[i].text, &a, 2);
        real *x = xcalloc(p->trained, sizeof *x), *y = xcalloc(p->trained, sizeof *y);
        double mean, sigma, most;
        plan_init(p, &m, 1, x);
        plan_init(p, &m, 1, y);
        assert_memory_equal(x, y, p->trained * sizeof *x);
        plan_init(p, &m, 2, y);
        assert_memory_not_equal(x, y, p->trained * sizeof *x);
        moments(x, p->tensor[0].count, &mean, &sigma, &most);
        assert_true(fabs(mean) < 0.1 * sigma && fabs(sigma / rows[i].sigma - 1) < 0.05);
        if (rows[i].most > 0) assert_true(most <= rows[i].most);
        for (int k = 0; k < p->tensors; k++) {
            const struct plan_tensor *t = &p->tensor[k];
            const char *last = strrchr(t->name, '.') + 1;
            moments(x + t->offset, t->count, &mean, &sigma, &most);
            bool zero = *last == 'b' || (i == 0 && !strcmp(last, "W_u"));
            assert_int_equal(most == 0, zero);
        }
        free(x);
        free(y);
        plan_free(p);
    }
}

static void a_tensor_starts_the_same_in_any_company(void **state) {
    (void)state;
    struct arch a = shape_tiny();
    struct model m = {.arch = a};
    struct plan *p = planned("prefix(l=3)", &a, 2), *q = planned("lora + prefix(l=3)", &a, 2);
    real *x = xcalloc(p->trained, sizeof *x), *y = xcalloc(q->trained, sizeof *y);
    plan_init(p, &m, 5, x);
    plan_init(q, &m, 5, y);
    assert_string_equal(p->tensor[0].name, q->tensor[8].name);
    assert_memory_equal(x, y + q->tensor[8].offset, p->trained * sizeof *x);
    free(x);
    free(y);
    plan_free(p);
    plan_free(q);
}

/* The published counts of parameters trained over episodes and adapted to a task. */
static void what_episodes_learn_is_counted(void **state) {
    (void)state;
    static const struct {
        const char *method;
        size_t trained, adapted;
        int rates;
    } rows[] = {
        {"meta-adapters(m=8)", 1453588, 351936, 19},
        {"meta-adapters(m=16)", 2043796, 647040, 19},
        {"maml-adapters(m=16)", 2043796 - 608640, 647040, 19},
        {"hybrid-smlmt", 110270354, 53582721, 17},
        {"lora + generated-head", 294912 + 788097 + 13, 294912, 13}, /* 12 layers, and the label vectors */
    };
    struct arch a = shape_bert_base();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct plan_meta meta = {.on = true, .shared = true, .start = true, .learned = true, .rate = 0.01};
        const struct plan_tasks one = {1, (const char *const[]){""}, (const int[]){0}, &meta};
        struct method m;
        struct err e = ERR_INIT;
        test_ok(method_parse(rows[i].method, &m, &e), &e);
        struct plan *p = plan_new_tasks(&m, &a, &one, &e);
        assert_non_null(p);
        assert_int_equal(p->meta_trained, rows[i].trained);
        assert_int_equal(p->adapted, rows[i].adapted);
        assert_int_equal(p->rates, rows[i].rates);
        assert_int_equal(p->label_width, 257);
        plan_free(p);
    }
}

/* A classifier other than the family's; the adapter baseline of Meta-Adapters has the published count. */
static void a_classifier_is_counted_as_the_head(void **state) {
    (void)state;
    static const struct {
        const char *method;
        bool roberta;
        size_t method_count, head;
    } rows[] = {
        {"adapter-pfeiffer(r=48)", false, 894528, 1538},
        {"adapter-pfeiffer(r=48) + classifier(layers=2)", false, 1486658 - 592130, 592130},
        {"lora + classifier(layers=1)", false, 294912, 1538},
        {"lora + classifier(layers=1, pooler=yes)", false, 294912, 1538},
        {"lora + classifier(layers=2, pooler=yes)", false, 294912, 592130},
        {"lora + classifier(hidden=384)", false, 294912, 384 * 769 + 2 * 385},
        {"lora", true, 294912, 592130},
        {"lora + classifier", true, 294912, 592130},
        {"lora + classifier(layers=1)", true, 294912, 1538},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arch a = rows[i].roberta ? shape_roberta(768, 12, 12) : shape_bert_base();
        struct method m;
        struct err e = ERR_INIT;
        test_ok(method_parse(rows[i].method, &m, &e), &e);
        struct plan *p = plan_new(&m, &a, 2, &e);
        if (!p) fail_msg("%s: %s", rows[i].method, e.text);
        assert_int_equal(p->trained_method, rows[i].method_count);
        assert_int_equal(p->head, rows[i].head);
        plan_free(p);
    }
}

/* Products of sizes above 2^31 are counted and shown, but cannot be trained; counts above 63 bits are
 * refused. */
static void the_largest_sizes_are_counted(void **state) {
    (void)state;
    const struct arch tiny = shape_bert(128, 4, 4096, 3, 2000, 128), widest = shape_bert(65536, 65536, 65536, 256, 2000, 128);
    static const struct {
        const char *text;
        bool widest, fits;
        size_t trained;
        const char *part; /* of the arithmetic */
    } rows[] = {
        {"bottleneck(r=1000000; source=hyper, write=f.pre, read=f.in) + hyper", false, false, 274625299648,
         "4096000000\u00B764 + 4096000000"},
        {"bottleneck(r=1000000; source=hyper, write=a.q, read=a.in) + hyper", false, true, 16705041728, "128000000\u00B764"},
        {"multi-head-parallel-adapter(r=1000000,heads=free,read=a.in)", true, false, 1099528404992000000, "65536\u00B71000000\u00B765536"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct arch *a = rows[i].widest ? &widest : &tiny;
        struct err e = ERR_INIT;
        struct plan *p = planned(rows[i].text, a, 2);
        if (p->trained_method != rows[i].trained) fail_msg("%s: %zu", rows[i].text, p->trained_method);
        char *json = plan_counts_json(p, a);
        if (!strstr(json, rows[i].part)) fail_msg("%s", json);
        assert_null(strstr(json, " -"));
        assert_true(!plan_fits(p, &e) == rows[i].fits);
        if (!rows[i].fits) assert_non_null(strstr(e.text, "use a smaller size"));
        free(json);
        plan_free(p);
    }
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse("bottleneck(r=1000000; source=hyper, write=f.pre, read=f.in) + bottleneck(r=1000000; source=hyper) + "
                         "hyper(inner=65536, hidden=65536, net=layer)", &m, &e), &e);
    assert_null(plan_new(&m, &widest, 2, &e));
    test_refused(e.code, ERR_USAGE, &e, "more parameters on this model");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_episodes_learn_is_counted),
        cmocka_unit_test(a_classifier_is_counted_as_the_head),
        cmocka_unit_test(base_models_count_like_the_libraries),
        cmocka_unit_test(a_tiny_model_counts_by_hand),
        cmocka_unit_test(the_lowest_layer_is_known),
        cmocka_unit_test(counts_are_written_with_their_arithmetic),
        cmocka_unit_test(the_largest_sizes_are_counted),
        cmocka_unit_test(names_are_readable_and_stable),
        cmocka_unit_test(vectors_do_not_decay),
        cmocka_unit_test(what_cannot_move_is_listed),
        cmocka_unit_test(language_models_do_not_look_ahead),
        cmocka_unit_test(rules_fire),
        cmocka_unit_test(presets_are_valid_everywhere),
        cmocka_unit_test(inits_follow_their_rules),
        cmocka_unit_test(a_tensor_starts_the_same_in_any_company),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
