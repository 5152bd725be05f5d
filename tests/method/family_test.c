/* Methods on every family, from configs alone: counts of libraries and papers, restriction of places, and
 * refusals. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/method/plan.h"
#include "tests/method/published.h"
#include "tests/support/test.h"

static struct arch shape(const char *config) {
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", config, strlen(config), &a, NULL, &e), &e);
    return a;
}

static struct plan *planned(const char *text, const struct arch *a, struct err *e) {
    struct method m;
    return method_parse(text, &m, e) ? NULL : plan_new(&m, a, a->decoder_layers ? 0 : 2, e);
}

static struct plan *plan_of(const char *text, const struct arch *a) {
    struct err e = ERR_INIT;
    struct plan *p = planned(text, a, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    return p;
}

struct row {
    const char *text;
    size_t trained, kept; /* kept 0: the same */
};

static void count(const char *config, const struct row *row, size_t n) {
    struct arch a = shape(config);
    for (size_t i = 0; i < n; i++) {
        struct plan *p = plan_of(row[i].text, &a);
        size_t kept = row[i].kept ? row[i].kept : row[i].trained, at = 0;
        if (p->trained_method != row[i].trained || p->stored_method != kept)
            fail_msg("%s: %s: trained %zu kept %zu, not %zu and %zu", a.model_type, row[i].text,
                     p->trained_method, p->stored_method, row[i].trained, kept);
        for (int k = 0; k < p->tensors; k++) {
            assert_int_equal(p->tensor[k].offset, at);
            at += p->tensor[k].count;
            for (int l = 0; l < k; l++)
                assert_string_not_equal(p->tensor[k].name, p->tensor[l].name);
        }
        for (int k = 0; k < p->method.count; k++) { /* the places add up to the total */
            size_t sum = 0, module = 0;
            for (int s = 0; s < 8; s++) sum += plan_trained_at(p, k, s / 4, s % 4);
            for (int l = 0; l < p->tensors; l++)
                if (p->tensor[l].module == k) module += p->tensor[l].count;
            assert_int_equal(sum, module);
        }
        plan_free(p);
    }
    arch_release(&a);
}
#define COUNT(config, rows) count(config, rows, COUNT_OF(rows))

/* ---- counts ---- */

static void models_have_their_sizes(void **state) {
    (void)state;
    static const struct {
        const char *config;
        size_t model, head;
    } rows[] = {
        /* RobertaModel's 124,645,632 include a pooler, which a classifier does not have. */
        {ROBERTA_BASE, 124645632 - (768 * 768 + 768), 592130},
        {BART_BASE, 139420416, 0},
        {T5_SMALL, 60506624, 0},
        {BART_LARGE, 406291456, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arch a = shape(rows[i].config);
        struct plan *p = plan_of("lora", &a);
        assert_int_equal(p->model, rows[i].model);
        assert_int_equal(p->head, rows[i].head);
        plan_free(p);
        arch_release(&a);
    }
}

/* Where a library counts another form under the same name, the text specifies that form. */
static void counts_are_those_of_peft(void **state) {
    (void)state;
    static const struct row roberta[] = {
        {"lora(r=8)", 294912, 0},
        {"ia3(peft)", 64512, 0}, /* also scales the input of W_o */
        {"prefix(l=30)", 552960, 0},
        {"prefix(l=30,mlp=512)", 9872384, 552960},
        {"dora(r=8)", 313344, 0},
        {"adalora(r=12)", 442656, 0},
        {"vera(r=256)", 24576, 24576 + 2 * 256 * 768}, /* a run stores the projection */
    };
    static const struct row bart[] = {
        {"dora(r=8)", 470016, 0},
        {"adalora(r=12,at=q+k+v+o+w1+w2)", 2434176, 0},
        {"vera(r=256)", 36864, 36864 + 2 * 256 * 768},
        {"lora(r=8)", 442368, 0},
        {"ia3(at=q+v+act)", 64512, 0}, /* q instead of k */
        {"prefix(l=30,stack=decoder,site=self)", 276480, 0}, /* only there */
        {"prefix(l=30,mlp=512,stack=decoder,site=self)", 5144576, 276480},
    };
    static const struct row t5[] = {
        {"dora(r=8)", 313344, 0},
        {"adalora(r=12,at=q+k+v+o+w1+w2)", 1623168, 0},
        {"vera(r=256)", 27648, 27648 + 2 * 256 * 512},
        {"lora(r=8)", 294912, 0},
        {"ia3", 43008, 0},
        {"prefix(l=30,stack=decoder,site=self)", 184320, 0},
        {"prefix(l=30,mlp=512,stack=decoder,site=self)", 3429888, 184320},
    };
    static const struct row flan[] = {{"lora(r=16)", 4718592, 0}};
    static const struct row large[] = {{"ia3(peft)", 172032, 0}};
    COUNT(ROBERTA_BASE, roberta);
    COUNT(BART_BASE, bart);
    COUNT(T5_SMALL, t5);
    COUNT(FLAN_T5_LARGE, flan);
    COUNT(ROBERTA_LARGE, large);
}

static const json_t *member_of(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    if (!v) fail_msg("no \"%s\"", key);
    return v;
}

/* Returns the counts for a number of tasks, on a text-to-text model. */
static json_t *counted(const char *text, const struct arch *a, int tasks) {
    static const char *const name[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    static const int outputs[COUNT_OF(name)] = {0};
    const struct plan_tasks all = {tasks, name, outputs, NULL};
    struct method m;
    struct err e = ERR_INIT;
    test_ok(method_parse(text, &m, &e), &e);
    struct plan *p = plan_new_tasks(&m, a, &all, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    char *json = plan_counts_json(p, a);
    json_t *o = json_parse("counts", json, strlen(json), &e);
    assert_non_null(o);
    free(json);
    plan_free(p);
    return o;
}

/* Published counts of multi-task baselines: d, L layers per stack, bottleneck b, T tasks. */
static void baselines_of_several_tasks_count_as_published(void **state) {
    (void)state;
    struct {
        const char *config;
        long long d, L, b, T;
        const char *per_task; /* % of the model, as printed; NULL: not published */
    } at[] = {{T5_BASE, 768, 12, 24, 8, "0.818"}, {T5_SMALL, 512, 6, 32, 8, NULL}, {T5_BASE, 768, 12, 24, 1, "0.865"}};
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct arch a = shape(at[i].config);
        long long d = at[i].d, L = at[i].L, b = at[i].b, T = at[i].T, one = 2 * d * b + b + d;
        long long model = i == 1 ? 60506624 : 222903552;
        struct {
            const char *text;
            long long shared, own;
        } row[] = {{"shared-ft", model, 0},
                   {"shared-adapter", 2 * L * one, 0},
                   {"adapter-per-task", 0, T * 2 * L * one},
                   {"adapters-dagger", 8 * L * d + (5 * L + 2) * d, T * 4 * L * one}};
        for (size_t k = 0; k < COUNT_OF(row); k++) {
            char *text = k ? xprintf("%s(r=%lld)", row[k].text, b) : xstrdup(row[k].text);
            json_t *o = counted(text, &a, (int)T);
            long long trained = row[k].shared + row[k].own, own = T > 1 ? row[k].own : 0;
            assert_int_equal(json_integer_value(member_of(o, "trained")), trained);
            assert_int_equal(json_integer_value(member_of(o, "tasks")), T);
            assert_int_equal(json_integer_value(member_of(o, "own")), own);
            assert_int_equal(json_integer_value(member_of(o, "shared")), trained - own);
            assert_int_equal(json_integer_value(member_of(o, "model")), model);
            double each = json_number_value(member_of(o, "per_task"));
            assert_true(each == (double)trained / (double)T);
            char shown[32];
            snprintf(shown, sizeof shown, "%.3f", 100 * each / (double)model);
            if (k == 3 && at[i].per_task) assert_string_equal(shown, at[i].per_task);
            json_decref(o);
            free(text);
        }
        arch_release(&a);
    }
}

static void the_arithmetic_of_several_tasks_is_told(void **state) {
    (void)state;
    struct arch a = shape(T5_BASE);
    json_t *o = counted("adapters-dagger", &a, 8);
    const json_t *module = json_array_get(member_of(o, "modules"), 1);
    assert_string_equal(json_string_value(member_of(module, "arithmetic")),
                        "(T·(2·r·d + r + d) + 2·d)·(L_e + L_d) = "
                        "(8·(2·24·768 + 24 + 768) + 2·768)·(12 + 12) = 7,266,816");
    json_decref(o);
    o = counted("adapter-per-task", &a, 2);
    module = json_array_get(member_of(o, "modules"), 0);
    assert_string_equal(json_string_value(member_of(module, "arithmetic")),
                        "T·(2·r·d + r + d)·(L_e + L_d) = 2·(2·16·768 + 16 + 768)·(12 + 12) = 1,217,280");
    json_decref(o);
    o = counted("parallel-adapter-ffn(norm=own)", &a, 1);
    module = json_array_get(member_of(o, "modules"), 0);
    assert_string_equal(json_string_value(member_of(module, "arithmetic")),
                        "(2·r·d + r + d + 2·d)·(L_e + L_d) = (2·16·768 + 16 + 768 + 2·768)·(12 + 12) = 645,504");
    json_decref(o);
    arch_release(&a);
}

static void counts_are_those_of_adapter_hub(void **state) {
    (void)state;
    static const struct row roberta[] = {
        {"adapter-pfeiffer(r=48)", 894528, 0},
        {"adapter-houlsby(r=48,norms=no)", 1789056, 0},
        {"parallel-adapter-ffn(r=384)", 7091712, 0},
        {"scaled-parallel-adapter(r=384,s=4)", 7091712, 0},
        {"parallel-adapter-ffn(r=384,s=learned)", 7091724, 0},
        {"prefix(l=30,mlp=512)", 9872384, 552960},
        {"prefix(l=30)", 552960, 0},
        {"lora(r=8)", 294912, 0},
        {"ia3(at=k+v+pre)", 55296, 0},
        {"mam(l=30,r=384,s=4,mlp=800)", 22493984, 552960 + 7091712},
        {"bitfit", 102144, 0},
    };
    static const struct row bart[] = {
        {"adapter-pfeiffer(r=48)", 894528, 0},
        {"adapter-houlsby(r=48,norms=no,site=self)", 1789056, 0}, /* none at cross-attention */
        {"adapter-houlsby(r=48,norms=no)", 1789056 / 24 * 30, 0},
        {"parallel-adapter-ffn(r=384)", 7091712, 0},
        {"parallel-adapter-ffn(r=384,s=learned)", 7091724, 0},
        {"prefix(l=30,mlp=512)", 15433728, 829440},
        {"prefix(l=30)", 829440, 0},
        {"lora(r=8)", 442368, 0},
        {"ia3(at=k+v+pre)", 64512, 0},
        {"mam(l=30,r=384,s=4,mlp=800)", 31152480, 829440 + 7091712},
        {"bitfit", 125952, 0},
    };
    static const struct row t5[] = {
        {"adapter-pfeiffer(r=32)", 399744, 0},
        {"adapter-houlsby(r=32,norms=no,site=self)", 799488, 0},
        {"parallel-adapter-ffn(r=256)", 3154944, 0},
        {"parallel-adapter-ffn(r=256,s=learned)", 3154956, 0},
        {"prefix(l=30,mlp=512)", 10289664, 552960},
        {"prefix(l=30)", 552960, 0},
        {"lora(r=8)", 294912, 0},
        {"ia3(at=k+v+pre)", 43008, 0},
        {"mam(l=30,r=256,s=4,mlp=800)", 19196256, 552960 + 3154944},
    };
    COUNT(ROBERTA_BASE, roberta);
    COUNT(BART_BASE, bart);
    COUNT(T5_SMALL, t5);
}

/* He et al. 2022 on BART-large and RoBERTa-base; the papers of LoRA and BitFit. */
static void counts_are_those_of_papers(void **state) {
    (void)state;
    static const struct row bart[] = {
        {"prefix(l=200)", 14745600, 0},
        {"parallel-adapter-attn(r=200,biases=no)", 14745600, 0},
        {"parallel-adapter-ffn(r=200,biases=no)", 9830400, 0},
        {"parallel-adapter-ffn(r=1024,biases=no)", 50331648, 0},
        {"adapter-pfeiffer(r=600,biases=no)", 29491200, 0},
        {"lora-ffn(r=102)", 25067520, 0},
        {"mam(l=30,r=512,s=4,biases=no)", 27377664, 0},
        {"prefix(l=30)", 2211840, 0},
        {"parallel-adapter-ffn(r=30,biases=no)", 1474560, 0},
        {"bitfit", 333824, 0},
    };
    static const struct row roberta[] = {
        {"mam(l=16,r=16,biases=no)", 589824, 0},
        {"lora(r=16)", 589824, 0},
        {"adapter-houlsby(r=16,norms=no,biases=no)", 589824, 0},
        {"lora(r=8)", 294912, 0},
        /* one of the authors' three networks, two of which generate nothing; one of the two adapters per
         * layer */
        {"prefix(l=16,mlp=800)", 15391520, 294912},
        {"parallel-adapter-ffn(r=16)", 304320, 0},
    };
    COUNT(BART_LARGE, bart);
    COUNT(ROBERTA_BASE, roberta);
}

/* Projections narrower than the model: d 512, 6 heads of 64. */
static void projections_may_be_narrower(void **state) {
    (void)state;
    static const struct row flan[] = {
        {"lora(r=8)", 24 * 2 * 8 * (512 + 384), 0},
        {"prefix(l=10)", 24 * 2 * 10 * 384, 0},
        {"ia3", 24 * 2 * 384 + 16 * 1024, 0},
        {"parallel-adapter-attn(r=4,biases=no)", 24 * 4 * (512 + 384), 0},
        {"multi-head-parallel-adapter(r=4)", 24 * 2 * 4 * 384, 0},
        {"full(write=f.pre)", 16 * 2 * 512 * 1024, 0}, /* both branches */
        {"full(write=f.up)", 16 * 512 * 1024, 0},
        {"lora-ffn(r=2)", 16 * 2 * 2 * (512 + 1024), 0},
        {"lora(r=2,at=gate+up+down)", 16 * 3 * 2 * (512 + 1024), 0},
        {"ia3(at=up)", 16 * 1024, 0},
        {"full(target=norms)", (16 * 2 + 8 + 2) * 512, 0},
    };
    COUNT(FLAN_T5_SMALL, flan);
}

/* ---- places ---- */

static void a_text_narrows_to_places(void **state) {
    (void)state;
    static const struct row bart[] = { /* 6 and 6 layers, 768 wide */
        {"prefix(l=1)", 18 * 1536, 0},
        {"prefix(l=1,stack=encoder)", 6 * 1536, 0},
        {"prefix(l=1,stack=decoder)", 12 * 1536, 0},
        {"prefix(l=1,site=cross)", 6 * 1536, 0},
        {"prefix(l=1,site=self)", 12 * 1536, 0},
        {"prefix(l=1,layers=1-3)", 9 * 1536, 0},
        {"prefix(l=1,stack=decoder,layers=2)", 2 * 1536, 0},
        {"prefix(l=1,source=shared)", 3 * 1536, 0},
        {"prefix(l=1) + prefix(l=1,stack=decoder)", 30 * 1536, 0},
        {"mam(l=1,r=1,biases=no,site=cross)", 6 * 1536 + 12 * 1536, 0},
        {"adapter-houlsby(r=1,biases=no,norms=no,stack=decoder)", 18 * 1536, 0},
        {"ia3(stack=encoder)", 6 * (2 * 768 + 3072), 0},
        {"scale(write=embed)", 2 * 768, 0},
        {"scale(write=embed, stack=decoder)", 768, 0},
        {"full(target=norms, site=cross)", 6 * 2 * 768, 0},
        {"full(target=norms, site=embed)", 2 * 2 * 768, 0},
        {"bias(site=ffn, stack=encoder)", 6 * (3072 + 768 + 768), 0},
        {"bias(write=a.q, site=cross)", 6 * 768, 0},
        {"bitfit(layers=6)", 3 * 5 * 768 + 2 * (3072 + 768 + 768), 0},
        {"linear(r=1; write=a.k, site=cross)", 6 * 1536, 0},
    };
    COUNT(BART_BASE, bart);
}

/* On a text-to-text model the empty method is valid: the model is used unchanged. */
static void without_a_head_there_may_be_nothing(void **state) {
    (void)state;
    struct arch a = shape(T5_SMALL);
    struct plan *p = plan_of("head", &a);
    assert_int_equal(p->tensors, 0);
    assert_int_equal(p->trained + p->head, 0);
    plan_free(p);
    arch_release(&a);
}

static void places_have_names(void **state) {
    (void)state;
    struct arch a = shape(BART_BASE);
    struct plan *p = plan_of("lora(r=1,at=k) + linear(r=1; write=a.k, stack=decoder)", &a);
    static const struct {
        int tensor;
        const char *name;
    } rows[] = {{0, "enc.0.self/linear.k.W_d"},     {12, "dec.0.self/linear.k.W_d"},
                {24, "dec.0.cross/linear.k.W_d"},   {35, "dec.5.cross/linear.k.W_u"},
                {36, "dec.0.self/linear.k.2.W_d"},  {48, "dec.0.cross/linear.k.2.W_d"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(p->tensor[rows[i].tensor].name, rows[i].name);
    assert_int_equal(p->tensors, 60); /* no head */
    assert_int_equal(p->classes, 0);
    plan_free(p);
    p = plan_of("prefix-mlp(l=2,stack=decoder)", &a);
    assert_string_equal(p->tensor[0].name, "dec.all.self/softmax.head.E");
    assert_string_equal(p->tensor[5].name, "dec.all.cross/softmax.head.E");
    assert_string_equal(p->generated_tensor[12].name, "dec.0.cross/softmax.head.P_k");
    assert_int_equal(p->generated, 24);
    plan_free(p);
    arch_release(&a);
}

static void the_first_adapted_layer_is_known(void **state) {
    (void)state;
    struct arch a = shape(BART_BASE);
    static const struct {
        const char *text;
        int lowest;
    } rows[] = {{"lora", 0},
                {"lora(stack=decoder)", 7},
                {"lora(stack=decoder,layers=3-)", 9},
                {"scale(write=embed, stack=decoder)", 6},
                {"full(target=embeddings, stack=decoder)", 6},
                {"prefix-mlp(l=1,stack=decoder,layers=4-)", 10},
                {"bitfit", -1}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct plan *p = plan_of(rows[i].text, &a);
        assert_int_equal(p->lowest_layer, rows[i].lowest);
        plan_free(p);
    }
    arch_release(&a);
}

static void counts_are_written_by_place(void **state) {
    (void)state;
    struct arch a = shape(T5_SMALL);
    static const struct {
        const char *text, *sum, *where, *sites;
    } rows[] = {
        {"lora(r=8)", "2·r·d·(L_e + 2·L_d) = 2·8·512·(6 + 2·6) = 147,456",
         "encoder layers 1-6 and decoder layers 1-6 self and cross: a.in to a.q",
         "{\"encoder self\":49152,\"decoder self\":49152,\"decoder cross\":49152}"},
        {"lora(r=8,site=cross)", "2·r·d·L = 2·8·512·6 = 49,152",
         "decoder layers 1-6 cross: a.in to a.q", "{\"decoder cross\":49152}"},
        {"adapter-pfeiffer(r=32)",
         "(2·r·d + r + d)·(L_e + L_d) = (2·32·512 + 32 + 512)·(6 + 6) = 399,744",
         "encoder layers 1-6 and decoder layers 1-6: f.norm to f.out",
         "{\"encoder ffn\":199872,\"decoder ffn\":199872}"},
        {"prefix(l=5,stack=decoder)", "2·l·d·2·L = 2·5·512·2·6 = 61,440",
         "decoder layers 1-6 self and cross: a.q to a.head",
         "{\"decoder self\":30720,\"decoder cross\":30720}"},
        {"prefix(l=5,mlp=7)",
         "3·l·d + 3·(d+1)·mid + (mid+1)·2·L·d = 3·5·512 + 3·513·7 + 8·2·18·512 = 165,909; "
         "stored 2·l·d·L = 92,160",
         "encoder layers 1-6 and decoder layers 1-6 self and cross: a.q to a.head",
         "{\"encoder self\":55303,\"decoder self\":55303,\"decoder cross\":55303}"},
        {"lora(r=1,source=shared)", "2·r·d·3 = 2·1·512·3 = 3,072, shared across layers, once per stack and "
                                    "site",
         "encoder layers 1-6 and decoder layers 1-6 self and cross: a.in to a.q",
         "{\"encoder self\":1024,\"decoder self\":1024,\"decoder cross\":1024}"},
        {"full(target=norms, stack=decoder)", "total size of 19 existing tensors = 9,728",
         "the decoder: norms",
         "{\"decoder self\":3072,\"decoder cross\":3072,\"decoder ffn\":3072,"
         "\"decoder embed\":512}"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err e = ERR_INIT;
        struct plan *p = plan_of(rows[i].text, &a);
        char *sum = plan_arithmetic(p, &a, 0), *text = plan_counts_json(p, &a);
        assert_string_equal(sum, rows[i].sum);
        json_t *o = json_parse("counts", text, strlen(text), &e);
        const json_t *module = json_array_get(json_object_get(o, "modules"), 0);
        assert_string_equal(json_string_value(json_object_get(module, "where")), rows[i].where);
        char *sites = json_dumps(json_object_get(module, "sites"), JSON_COMPACT);
        assert_string_equal(sites, rows[i].sites);
        free(sites);
        json_decref(o);
        free(text);
        free(sum);
        plan_free(p);
    }
    arch_release(&a);
}

/* ---- modules without a place in a family ---- */

static void what_is_not_there_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *config, *why;
    } rows[] = {
        {"lora(stack=decoder)", ROBERTA_BASE, "V7: module 1: this model has no decoder: omit stack="},
        {"prefix(site=cross)", ROBERTA_BASE, "V7: module 1: this model has no cross-attention: omit"},
        {"prefix(stack=encoder,site=cross)", BART_BASE, "V7: module 1: an encoder has no cross-attention"},
        {"bitfit", T5_SMALL, "V11: module 1: this model has no bias vectors"},
        {"bitfit", T5_SMALL, "is an embedding of relative positions"},
        {"bias(write=a.q, site=cross)", T5_SMALL, "V11"},
        {"lora(layers=5-7)", BART_BASE, "V40: module 1: layers=5-7: the encoder has layers 1 to 6"},
        {"lora(layers=7-,stack=decoder)", BART_BASE, "V40: module 1: layers=7-: the decoder"},
        {"head(frozen)", T5_SMALL, "V41"},
        {"linear(r=2; read=a.k, write=a.out)", BART_BASE, "V46"},
        {"bottleneck(r=2; read=a.res, write=a.v)", T5_SMALL, "V46"},
        {"linear(r=2; write=a.q, site=ffn)", BART_BASE, "site=ffn: a.q is not in that sublayer: use self"},
        {"linear(r=2; site=cross, write=f.out)", BART_BASE, "f.out is not in that sublayer: omit site="},
        {"full(target=embeddings, site=cross)", BART_BASE, "embeddings is not in that sublayer"},
        {"lora(site=embed)", BART_BASE, "a.q is not in that sublayer"},
        {"lora-ffn(site=self)", BART_BASE, "lora-ffn: unknown setting 'site'"},
        {"lora(stack=both)", BART_BASE, "stack=both: unknown value (known: encoder, decoder, all)"},
        {"full + lora(site=cross)", T5_SMALL, "V12"},
        {"prefix+prefix+prefix+prefix+prefix+prefix+prefix+prefix+prefix(site=cross)", BART_BASE,
         "V45: 9 prefixes"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct arch a = shape(rows[i].config);
        struct err e = ERR_INIT;
        struct plan *p = planned(rows[i].text, &a, &e);
        if (p) fail_msg("%s is not refused", rows[i].text);
        if (!strstr(e.text, rows[i].why)) fail_msg("%s: %s", rows[i].text, e.text);
        arch_release(&a);
    }
}

/* Modules refused elsewhere are valid where they have an effect. */
static void what_is_there_is_allowed(void **state) {
    (void)state;
    static const char *const texts[] = {
        "linear(r=2; read=a.k, write=a.out, site=self)",
        "linear(r=2; read=a.k, write=a.out, stack=encoder)",
        "bottleneck(r=2; read=a.res, write=a.v, site=self)",
        "linear(r=2; write=a.k, site=cross)",
        "bottleneck(r=2; read=a.v, write=a.v)",
        "full(stack=encoder) + lora(stack=decoder)",
        "prefix+prefix+prefix+prefix+prefix(stack=encoder)+prefix+prefix+prefix+prefix(site=cross)",
    };
    struct arch a = shape(BART_BASE);
    for (size_t i = 0; i < COUNT_OF(texts); i++) plan_free(plan_of(texts[i], &a));
    arch_release(&a);
}

static void presets_adapt_to_each_family(void **state) {
    (void)state;
    static const char *const configs[] = {ROBERTA_BASE, BART_BASE, T5_SMALL, FLAN_T5_SMALL};
    for (size_t c = 0; c < COUNT_OF(configs); c++) {
        struct arch a = shape(configs[c]);
        a.attention_dropout = 0;
        for (int i = 0; i < preset_count(); i++) {
            const struct preset *p = preset_at(i);
            struct finding f[8];
            int n = method_check(&p->method, &a, f, 8);
            /* no biases to train; gates that read whole sequences */
            bool none = (!a.biases && !strcmp(p->name, "bitfit")) || (a.decoder_layers && !strcmp(p->name, "unipelt"));
            if ((n > 0 && f[0].level > LEVEL_INFO) != none)
                fail_msg("%s on %s: %s %s", p->name, a.model_type, n ? f[0].rule : "",
                         n ? f[0].text : "is silent");
        }
        arch_release(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_their_sizes),
        cmocka_unit_test(counts_are_those_of_peft),
        cmocka_unit_test(counts_are_those_of_adapter_hub),
        cmocka_unit_test(baselines_of_several_tasks_count_as_published),
        cmocka_unit_test(the_arithmetic_of_several_tasks_is_told),
        cmocka_unit_test(counts_are_those_of_papers),
        cmocka_unit_test(projections_may_be_narrower),
        cmocka_unit_test(a_text_narrows_to_places),
        cmocka_unit_test(without_a_head_there_may_be_nothing),
        cmocka_unit_test(places_have_names),
        cmocka_unit_test(the_first_adapted_layer_is_known),
        cmocka_unit_test(counts_are_written_by_place),
        cmocka_unit_test(what_is_not_there_is_refused),
        cmocka_unit_test(what_is_there_is_allowed),
        cmocka_unit_test(presets_adapt_to_each_family),
    };
    return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
