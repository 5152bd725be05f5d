/* The text and JSON forms: accepted and refused inputs, and round trips. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/network.h"
#include "tests/support/test.h"

static struct method parsed(const char *text) {
    struct method m;
    struct err e = ERR_INIT;
    int rc = method_parse(text, &m, &e);
    if (rc) fail_msg("%s: %s", text, e.text);
    return m;
}

static void assert_same(const char *a, const char *b) {
    struct method x = parsed(a), y = parsed(b);
    char *p = method_canonical(&x), *q = method_canonical(&y);
    assert_string_equal(p, q);
    free(p);
    free(q);
}

static void assert_written(const char *text, const char *shortest) {
    struct method m = parsed(text);
    char *s = method_text(&m);
    assert_string_equal(s, shortest);
    free(s);
}

static void refused(const char *text, const char *part) {
    struct method m;
    struct err e = ERR_INIT;
    test_refused(method_parse(text, &m, &e), ERR_USAGE, &e, part);
}

static void sizes_are_set_in_place(void **state) {
    (void)state;
    struct method m = parsed("lora(r=8)");
    assert_int_equal(m.count, 2);
    assert_int_equal(m.module[0].size, 8);
    assert_true(m.module[0].comp == COMP_SCALED && m.module[0].scale == 2);
    assert_int_equal(parsed("adapter-pfeiffer(r=48)").module[0].read, TAP_F_NORM);
    assert_int_equal(parsed("prefix(l=30)").module[0].size, 30);
    m = parsed(" mam ( l=16 , r=4 ) ");
    assert_int_equal(m.module[0].size, 16);
    assert_int_equal(m.module[1].size, 4);
    assert_true(parsed("scaled-parallel-adapter(s=0.5)").module[0].scale == 0.5);
    m = parsed("prefix(l=30,mlp=512)");
    assert_true(m.module[0].source == SOURCE_MLP && m.module[0].mid == 512);
    assert_same("prefix(l=30,mlp=512)", "prefix-mlp");
    assert_true(parsed("lora(r=2,alpha=16)").module[1].scale == 8);
    assert_true(parsed("lora(alpha=16,r=2)").module[0].scale == 8);
    assert_same("lora(r=4,at=w1+w2)", "lora-ffn(r=4)");
    assert_same("lora(r=4,at=gate,down)", "lora-ffn(r=4)");
    assert_same("lora(r=4,at=all-linear)", "lora(r=4,at=q,k,v,o,gate,up,down)");
    assert_written("lora(r=4,at=all-linear)", "lora(at=all-linear,r=4)");
    assert_same("ia3(at=k,v,down)", "ia3");
    assert_same("lora(at=v,q)", "lora");
    assert_same("vera(backbone=full,at=q)", "vera(at=q,backbone=full)");
    assert_int_equal(parsed("lora(r=2,at=q+k+v+o)").count, 4);
    assert_same("full", "full(target=all)");
    assert_same("bitfit", "bias");
    assert_int_equal(parsed("adapter-houlsby").count, 3);
    assert_int_equal(parsed("adapter-houlsby(r=4,norms=no)").count, 2);
    assert_int_equal(parsed("ia3(peft)").count, 4);
    assert_int_equal(parsed("head").count, 0);
    assert_int_equal(parsed("lora + head(frozen)").head, METHOD_HEAD_FROZEN);
    assert_true(parsed("parallel-adapter-ffn(s=learned)").module[0].comp == COMP_LEARNED);
    assert_same("mam", "prefix(l=16) + scaled-parallel-adapter(r=16,s=2)");
    assert_same("lora", "linear(r=8; write=a.v, s=2) + linear(r=8; read=a.in, write=a.q, "
                        "comp=scaled(2), init=lora)");
}

static void a_point_is_written_short(void **state) {
    (void)state;
    assert_written("linear(r=8;write=a.q,s=2)+linear(r=8;write=a.v,s=2)", "lora");
    assert_written("lora(r=2, alpha=16)", "lora(r=2,s=8)");
    assert_written("prefix(l=16)+scaled-parallel-adapter(s=4)", "mam(s=4)");
    assert_written("lora(layers=4-6)", "lora(layers=4-6)");
    assert_written("lora(at=q+k+v+o)", "lora(at=q+k+v+o)");
    assert_written("ia3(peft)", "ia3(peft)");
    assert_written("adapter-houlsby(norms=no)", "adapter-houlsby(norms=no)");
    assert_written("prefix-mlp(l=5)", "prefix-mlp(l=5)");
    assert_written("mam(mlp=800)", "mam(mlp=800)");
    assert_written("bias(target=all)", "bitfit");
    assert_written("lora+prefix(l=5)", "lora + prefix(l=5)");
    assert_written("head(frozen)+bottleneck(r=3;write=a.q)",
                   "bottleneck(r=3; read=a.in, write=a.q) + head(frozen)");
    assert_written("prefix(comp=add)", "prefix(comp=add)");
    assert_written("multi-head-parallel-adapter(heads=free,read=a.in)",
                   "multi-head-parallel-adapter(heads=free,read=a.in)");
    struct method m = parsed("lora(r=8)");
    char *s = method_canonical(&m);
    assert_string_equal(s, "linear(r=8; read=a.in, write=a.q, comp=scaled(2), init=lora) + "
                           "linear(r=8; read=a.in, write=a.v, comp=scaled(2), init=lora)");
    free(s);
}

static void places_are_narrowed(void **state) {
    (void)state;
    assert_written("lora(stack=decoder)", "lora(stack=decoder)");
    assert_written("lora(stack=all,site=all)", "lora");
    assert_written("mam(site=cross)", "mam(site=cross)");
    assert_written("adapter-houlsby(site=self,stack=decoder)",
                   "adapter-houlsby(stack=decoder,site=self)");
    assert_written("linear(r=8; write=a.q, s=2, site=cross) + lora(at=v,site=cross)",
                   "lora(site=cross)");
    assert_written("bitfit(site=ffn)", "bitfit(site=ffn)");
    assert_written("bottleneck(r=3; site=ffn, write=f.out)", "parallel-adapter-ffn(r=3)");
    assert_written("linear(r=3; site=cross)",
                   "lora(at=q,r=3,comp=add,site=cross)");
    struct method m = parsed("adapter-houlsby(site=cross)");
    assert_int_equal(m.module[0].site, SITE_ALL); /* LayerNorms are at all sites */
    assert_int_equal(m.module[1].site, SUB_CROSS);
    assert_int_equal(m.module[2].site, SUB_FFN);
    /* Modules that never meet have a canonical order; others keep theirs. */
    assert_same("bottleneck(r=2; stack=decoder) + bottleneck(r=3; stack=encoder)",
                "bottleneck(r=3; stack=encoder) + bottleneck(r=2; stack=decoder)");
    struct method x = parsed("bottleneck(r=2; stack=decoder) + bottleneck(r=3)");
    struct method y = parsed("bottleneck(r=3) + bottleneck(r=2; stack=decoder)");
    char *p = method_canonical(&x), *q = method_canonical(&y);
    assert_string_not_equal(p, q);
    free(p);
    free(q);
}

/* The older form, without decoders, as stored in records of runs. */
static void the_older_json_form_is_read_and_written(void **state) {
    (void)state;
    static const char old[] =
        "{\"version\":1,\"head\":\"trained\",\"modules\":[{\"function\":\"scale\",\"read\":\"a.k\","
        "\"write\":\"a.k\",\"insertion\":\"sequential\",\"composition\":\"multiply\","
        "\"heads\":\"shared\",\"source\":\"free\",\"layers\":[1,null],\"stack\":\"encoder\"},"
        "{\"function\":\"scale\",\"read\":\"a.v\",\"write\":\"a.v\",\"insertion\":"
        "\"sequential\",\"composition\":\"multiply\",\"heads\":\"shared\",\"source\":\"free\","
        "\"layers\":[1,null],\"stack\":\"encoder\"},{\"function\":\"scale\",\"read\":\"f.act\","
        "\"write\":\"f.act\",\"insertion\":\"sequential\",\"composition\":\"multiply\","
        "\"heads\":\"shared\",\"source\":\"free\",\"layers\":[1,null],\"stack\":\"encoder\"}]}";
    assert_written(old, "ia3");
    struct method m = parsed("ia3");
    char *json = method_json(&m, false);
    assert_string_equal(json, old);
    free(json);
    json = method_json(&m, true);
    assert_non_null(strstr(json, "{\"version\":2,"));
    assert_non_null(strstr(json, "\"stack\":\"all\""));
    free(json);
    /* In the newer form "encoder" is a restriction. */
    assert_written("{\"version\":2,\"modules\":[{\"function\":\"bias\",\"stack\":\"encoder\"}]}",
                   "bitfit(stack=encoder)");
}

static void faults_are_refused_by_name(void **state) {
    (void)state;
    refused("", "missing");
    refused("lorra(r=8)", "did you mean lora?");
    refused("lora(rr=8)", "did you mean r?");
    refused("lora(l=8)", "lora: unknown setting 'l'");
    refused("lora(r=0)", "r=0");
    refused("lora(r=8.5)", "must be an integer between 1 and 1000000");
    refused("lora(r=8", "missing ')'");
    refused("lorra", "unknown method 'lorra'; did you mean lora?");
    refused("zzzzzz", "unknown method 'zzzzzz'; list the presets with `petri methods`; ");
    refused("lora(r=8) lora", "'+'");
    refused("lora(r=8)+", "missing");
    refused("lora(r=)", "key=value");
    refused("lora(r)", "missing value of r");
    refused("lora(r=8,r=9)", "r is repeated");
    refused("lora(at=kk)", "at=kk: unknown value; did you mean k? (known: q, k, v, o, w1, w2, gate, up, down, all-linear)");
    refused("lora(at=q+all-linear)", "at=q+all-linear: use all-linear alone");
    refused("lora(at=w1+gate)", "gate is repeated");
    refused("ia3(at=all-linear)", "at=all-linear");
    refused("lora(at=q+zz)", "at=zz");
    refused("lora(at=q+q)", "q is repeated");
    refused("lora(alpha=16,s=2)", "V21");
    refused("linear(r=2; alpha=16, comp=scaled(2))", "V21");
    refused("prefix(s=2)", "prefix: unknown setting 's'");
    refused("softmax(l=3; read=a.q)", "softmax: unknown setting 'read'");
    refused("scale", "missing write=");
    refused("bottleneck(r=3; write=a.kk)", "did you mean a.k?");
    refused("bottleneck(r=3; act=rulu)", "did you mean relu?");
    refused("linear(r=3; s=nan)", "finite");
    refused("linear(r=3; s=1,5)", "linear: unknown setting '5'");
    refused("linear(r=3; dropout=1)", "below 1");
    refused("linear(r=3; layers=6-4)", "layers=6-4");
    refused("linear(r=3; comp=scaled)", "missing factor");
    refused("mam(init=lora)", "write the modules out");
    refused("lora(init=run(0))", "expected a run id");
    refused("ia3(init=run(3))", "init");
    refused("head(warm)", "frozen");
    refused("lora\x1b[31m", "expected");
}

/* ---- 10,000 random methods ---- */

struct dice {
    struct rng_key key;
    uint64_t count;
};
static int roll(struct dice *d, int n) { return (int)rng_below(d->key, d->count++, (uint64_t)n); }

static struct module random_module(struct dice *d) {
    struct module m = {
        .fn = (enum fn)roll(d, FN_COUNT),
        .act = (enum act)roll(d, ACT_COUNT),
        .read = (enum tap)(1 + roll(d, TAP_COUNT - 1)),
        .write = (enum tap)(1 + roll(d, TAP_COUNT - 1)),
        .target = (enum target)(1 + roll(d, TARGET_COUNT - 1)),
        .comp = (enum comp)roll(d, COMP_COUNT),
        .heads = (enum head_form)roll(d, HEADS_COUNT),
        .source = (enum source)roll(d, SOURCE_COUNT),
        .size = 1 + roll(d, roll(d, 2) ? 64 : 1000000),
        .mid = 1 + roll(d, 1000),
        .mid_act = roll(d, 2) ? ACT_TANH : ACT_RELU,
        .biases = roll(d, 2),
        .norm = (enum norm)roll(d, NORM_COUNT),
        .norm_before = roll(d, 2),
        .residual = (enum residual)roll(d, RESIDUAL_COUNT),
        .ending = (enum ending)roll(d, END_COUNT),
        .factor = roll(d, 3),
        .own_rule = roll(d, 2),
        .init = (enum init)roll(d, INIT_COUNT),
        .from_run = roll(d, 4) ? 0 : 1 + roll(d, 99),
        .dropout = roll(d, 2) ? 0 : rng_uniform(d->key, d->count++),
        .first = 1 + roll(d, 3),
        .stack = roll(d, 2) ? STACK_ALL : roll(d, STACK_ALL),
        .site = roll(d, 2) ? SITE_ALL : roll(d, SITE_ALL),
        .learn = (enum learn)roll(d, LEARN_COUNT),
    };
    m.scale = roll(d, 2) ? 4 : rng_normal(d->key, 1000000 + d->count++) * 1e-7;
    m.last = roll(d, 2) ? 0 : m.first + roll(d, 3);
    if (source_width(m.source) && m.fn != FN_SOFTMAX) m.source = SOURCE_FREE;
    return m;
}

/* Presets with changed sizes among the modules, so that both forms of text occur. */
static struct method random_method(struct dice *d) {
    struct method m = {.head = roll(d, 6) == 0};
    if (roll(d, 4) == 0)
        m.retriever = (struct retriever){.on = true, .hidden = roll(d, 3) * 64, .width = roll(d, 3) * 32,
                                         .instance = (enum instance_loss)roll(d, INSTANCE_COUNT),
                                         .prototype = (enum prototype_loss)roll(d, PROTOTYPE_COUNT), .tap = roll(d, 3),
                                         .weight = roll(d, 2) ? 0.1 : 0.25, .temperature = roll(d, 2) ? 0.1 : 0.5};
    for (int g = 0; g < GENERATORS; g++)
        if (roll(d, 4) == 0)
            m.hyper[g] = (struct hyper){.on = true, .task = roll(d, 3) * 32, .prototype = roll(d, 2) * 64, .layer = roll(d, 2) * 64,
                                     .place = roll(d, 3) * 32, .hidden = 128 >> roll(d, 2), .inner = roll(d, 3) * 32,
                                     .norm = roll(d, 2), .net = (enum hyper_net)roll(d, 3),
                                     .start = (enum hyper_start)roll(d, 2), .biases = roll(d, 3) != 0,
                                     .instance = (enum hyper_instance)roll(d, EXAMPLE_COUNT), .tap = roll(d, 3),
                                     .passes = 1 + roll(d, 2)};
    if (roll(d, 4) == 0)
        m.generated = (struct generated_head){.on = true, .hidden = 384 >> roll(d, 2), .width = 256 >> roll(d, 2),
                                         .learn = (enum learn)roll(d, LEARN_COUNT), .rates = (enum rates)roll(d, 2)};
    if (roll(d, 4) == 0)
        m.classifier = (struct classifier){true, 1 + roll(d, 2), (enum act)roll(d, ACT_COUNT), roll(d, 2), roll(d, 2) * 64};
    if (roll(d, 8) == 0)
        m.fusion = (struct fusion){.on = true, .query = roll(d, 2), .key = roll(d, 2), .value = roll(d, 2),
                                   .of = (enum fusion_of)roll(d, 2), .residual = (enum fusion_residual)roll(d, 2),
                                   .start = (enum fusion_start)roll(d, 2), .weight = roll(d, 3) * 0.01};
    int parts = roll(d, 5);
    for (int i = 0; i < parts; i++) {
        if (roll(d, 2)) {
            m.module[m.count++] = random_module(d);
            continue;
        }
        struct method p = preset_at(roll(d, preset_count()))->method;
        int size = 1 + roll(d, 100), layers = roll(d, 4);
        for (int j = 0; j < p.count; j++) {
            p.module[j].size = size;
            if (layers == 0) p.module[j].first = 2;
            m.module[m.count++] = p.module[j];
        }
    }
    return m;
}

static void ten_thousand_come_back(void **state) {
    (void)state;
    int named = 0;
    for (uint64_t i = 0; i < 10000 / TEST_PATIENCE; i++) {
        struct dice d = {rng_key(7, RNG_TEST, i, 0), 0};
        struct method m = random_method(&d), back;
        struct err e = ERR_INIT;
        char *canonical = method_canonical(&m), *text = method_text(&m), *json = method_json(&m, true);
        char *forms[] = {canonical, text, json};
        for (int k = 0; k < 3; k++) {
            if (method_parse(forms[k], &back, &e)) fail_msg("%s\n%s", forms[k], e.text);
            char *again = method_canonical(&back);
            if (strcmp(again, canonical))
                fail_msg("%s\n%s\n%s", forms[k], canonical, again);
            free(again);
        }
        struct method x = back, y = m;
        method_normalize(&x);
        method_normalize(&y);
        assert_int_equal(x.count, y.count);
        assert_int_equal(x.head, y.head);
        for (int k = 0; k < x.count; k++) assert_true(module_equal(&x.module[k], &y.module[k]));
        assert_true(networks_equal(&x, &y));
        named += method_preset(&m) != NULL;
        free(canonical);
        free(text);
        free(json);
    }
    assert_in_range(named, 300 / TEST_PATIENCE, 9000 / TEST_PATIENCE);
}

/* Any input is parsed or refused with a reason. */
static void mangled_texts_are_no_danger(void **state) {
    (void)state;
    static const char alphabet[] = "lora(r=8),;+ at=q-.e19{}\"[]:\n\x01\xc3";
    int read = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        struct dice d = {rng_key(8, RNG_TEST, i, 0), 0};
        struct method m = random_method(&d), back;
        struct err e = ERR_INIT;
        char *text = roll(&d, 2) ? method_text(&m) : method_json(&m, true);
        size_t n = strlen(text);
        for (int k = roll(&d, 4); k >= 0 && n; k--) {
            size_t at = (size_t)roll(&d, (int)n);
            if (roll(&d, 3)) text[at] = alphabet[roll(&d, sizeof alphabet - 1)];
            else text[n = at] = 0;
        }
        if (method_parse(text, &back, &e) == 0) read++;
        else assert_true(e.code < 0 && *e.text);
        free(text);
    }
    assert_in_range(read, 50, 19000);
}

static void decimal_comma_changes_nothing(void **state) {
    (void)state;
    const char *set = setlocale(LC_NUMERIC, "de_DE.UTF-8");
    assert_written("scaled-parallel-adapter(s=0.5)", "scaled-parallel-adapter(s=0.5)");
    setlocale(LC_NUMERIC, "C");
    if (!set) test_skip("no locale with a decimal comma here");
}

/* ---- presets and recognition ---- */

static void presets_are_named_and_recognized(void **state) {
    (void)state;
    static const char *const names[] = {
        "full", "head", "bitfit", "adapter-houlsby", "adapter-pfeiffer", "prefix", "prefix-mlp",
        "lora", "lora-ffn", "parallel-adapter-attn", "parallel-adapter-ffn",
        "multi-head-parallel-adapter", "scaled-parallel-adapter", "mam", "ia3",
        "adapter-per-task", "adapters-dagger", "hyperformer", "hyperformer++", "hyperdecoder", "pha",
        "meta-adapters", "meta-adapters-sandwich", "maml-adapters", "hybrid-smlmt", "leopard",
        "hyperprompt-share", "hyperprompt-sep", "hyperprompt-global", "prompt-tuning", "p-tuning", "dora", "vera", "ln-tuning", "adalora",
        "compacter", "compacter++", "unipelt", "mpt", "diff-pruning"};
    int other_words = 0;
    for (int i = 0; i < preset_count(); i++) other_words += preset_at(i)->same_as != NULL;
    assert_int_equal(preset_count(), (int)COUNT_OF(names) + other_words);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct preset *p = preset_find(names[i]);
        assert_non_null(p);
        struct method m = parsed(names[i]);
        assert_ptr_equal(method_preset(&m), p);
        assert_written(names[i], names[i]);
        assert_true(p->lr > 0 && *p->paper && *p->title && *p->note);
        /* The sizes shown are those that it has. */
        if (*p->sizes) {
            char *text = xprintf("%s(%s)", names[i], p->sizes);
            assert_written(text, names[i]);
            free(text);
        }
        char *near = method_nearest(&m);
        if (m.count) assert_string_equal(near, names[i]);
        else assert_null(near);
        free(near);
    }
}

/* Another word for a point: read as such, and written by the name that records have. */
static void other_words_keep_the_first_name(void **state) {
    (void)state;
    static const char *const words[][2] = {{"shared-ft", "full"}, {"shared-adapter", "parallel-adapter-ffn"}};
    assert_written("rslora", "lora(s=5.65685424949238)");
    assert_same("rslora(r=32)", "lora(r=32,rsalpha=16)");
    assert_same("rslora(r=4,alpha=6)", "lora(r=4,s=3)");
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const struct preset *p = preset_find(words[i][0]), *first = preset_find(words[i][1]);
        assert_non_null(p);
        assert_string_equal(p->same_as, words[i][1]);
        assert_same(words[i][0], words[i][1]);
        assert_written(words[i][0], words[i][1]);
        assert_true(p->lr == first->lr);
        assert_string_equal(p->sizes, first->sizes);
        struct method m = parsed(words[i][0]);
        assert_ptr_equal(method_preset(&m), first);
        char *near = method_nearest(&m);
        assert_string_equal(near, words[i][1]);
        free(near);
    }
    assert_written("shared-adapter(r=3)", "parallel-adapter-ffn(r=3)");
    assert_written("parallel-adapter-ffn(source=shared)", "parallel-adapter-ffn(source=shared)");
    assert_written("parallel-adapter-ffn(source=task)", "adapter-per-task");
    assert_written("lora(r=3,init=run(12))", "lora(r=3,init=run(12))");
    assert_written("shared-adapter(source=task,r=3,init=lora)", "adapter-per-task(r=3,init=lora)");
    assert_written("adapter-per-task(r=3,source=hyper,init=lora) + hyper", "parallel-adapter-ffn(r=3,source=hyper,init=lora) + hyper");
    assert_written("adapter-houlsby(site=self,act=gelu-tanh,norm=own,init=hyperformer)",
                   "adapter-houlsby(act=gelu-tanh,norm=own,init=hyperformer,site=self)");
    assert_written("adapters-dagger(r=8)", "adapters-dagger(r=8)");
    assert_written("adapters-dagger(norm=own)", "adapters-dagger(norm=own)");
    assert_written("adapters-dagger(norms=no)", "adapters-dagger(norms=no)");
}

/* Behind a preset its network says what is otherwise; such a method is not the published one. */
static void a_presets_networks_are_changed(void **state) {
    (void)state;
    static const char *const written[] = {
        "pha + retriever(instance=negatives)", "pha(r=8) + retriever(prototype=softmax, weight=0.01)",
        "pha + hyper(task=0, instance=retriever) + retriever(prototype=none)", "pha + hyper(task=768) + retriever(width=0)",
        "pha + hyper(task=0, instance=pooled) + retriever(width=0, prototype=none)", "hyperformer++ + hyper(place=0, net=site)",
        "hyperdecoder + retriever(hidden=0)", "hyperdecoder(r=8) + hyper(instance=pooled) + head(frozen)"};
    for (size_t i = 0; i < COUNT_OF(written); i++) {
        struct method m = parsed(written[i]);
        assert_written(written[i], written[i]);
        assert_null(method_preset(&m));
    }
    assert_written("pha + retriever(weight=0.1)", "pha");
    refused("pha + retriever(weight=0.2) + retriever(weight=0.1)", "one retriever");
    refused("hyper(task=3) + pha", "one generator");
    refused("pha + hyper(tap=x)", "tap=x");
}

static void recognized(const char *text, const char *name) {
    struct method m = parsed(text);
    const struct preset *p = method_preset(&m);
    if (!name) {
        if (p) fail_msg("%s taken for %s", text, p->name);
        return;
    }
    if (!p) fail_msg("%s not recognized", text);
    assert_string_equal(p->name, name);
}

/* The backbone in a preset's call. */
static void backbones_are_words_of_presets(void **state) {
    (void)state;
    assert_same("hyperformer(backbone=norms)", "hyperformer");
    assert_same("hyperprompt-sep(backbone=full)", "hyperprompt-sep");
    assert_same("adapter-houlsby(backbone=frozen)", "adapter-houlsby(norms=no)");
    assert_written("adapters-dagger(backbone=frozen)", "adapters-dagger(norms=no)");
    assert_written("hyperformer++(backbone=full) + head(frozen)", "hyperformer++(backbone=full) + head(frozen)");
    assert_written("pha(backbone=norms)", "pha(backbone=norms)");
    assert_written("hyperprompt-share(backbone=frozen,l=2)", "hyperprompt-share(backbone=frozen,l=2)");
    assert_written("hyperprompt-global(backbone=norms,b=3)", "hyperprompt-global(backbone=norms,b=3)");
    assert_written("hyperprompt-global(stack=all)", "hyperprompt-global(stack=all)");
    assert_written("softmax(l=4; source=prompt-share, site=self)", "hyperprompt-share(backbone=frozen,l=4,stack=all)");
    assert_written("hyperprompt-global(backbone=frozen) + softmax(l=4; source=prompt-global, stack=decoder, site=self)",
                   "softmax(l=16; source=prompt-global(48), stack=encoder, site=self) + "
                   "softmax(l=4; source=prompt-global(48), stack=decoder, site=self) + "
                   "hyper(place=0, hidden=64, inner=32, norm=no, start=hyperfan, biases=no)");
    assert_written("prefix(backbone=norms)", "ln-tuning + prefix");
    struct method canonical = parsed("hyperprompt-sep(backbone=norms)"); /* in the canonical order: a plan's is the same */
    assert_int_equal(canonical.module[0].target, TARGET_NORMS);
    recognized("hyperprompt-sep(l=3,b=7)", "hyperprompt-sep");
    recognized("hyperprompt-sep(backbone=norms)", NULL);
    refused("lora(backbone=norm)", "did you mean norms");
    refused("head(backbone=full)", "frozen");
    refused("shared-ft(backbone=norms)", "modules other than full: omit it");
    refused("prefix(b=3)", "source=prompt-share");
}

static void recognition_looks_past_sizes(void **state) {
    (void)state;
    recognized("lora(r=64,s=1)", "lora");
    recognized("mam(l=30,r=512,s=4)", "mam");
    recognized("prefix(mlp=100)", "prefix-mlp");
    recognized("scaled-parallel-adapter(r=3,s=7) + prefix(l=2)", "mam");
    recognized("lora(dropout=0.1)", "lora");
    recognized("lora(layers=1-2)", NULL);
    recognized("lora(at=q)", NULL);
    recognized("linear(r=8;write=a.q,s=2)+linear(r=4;write=a.v,s=2)", NULL);
    recognized("parallel-adapter-ffn(s=4)", NULL);
    recognized("lora + head(frozen)", NULL);
    recognized("bias(target=norms)", NULL);
}

static void nearest(const char *text, const char *phrase) {
    struct method m = parsed(text);
    char *s = method_nearest(&m);
    assert_string_equal(s, phrase);
    free(s);
}

static void the_nearest_says_what_differs(void **state) {
    (void)state;
    nearest("prefix(l=16) + bottleneck(r=16; read=f.out, write=f.out, comp=scaled(4), init=lora)",
            "mam, but sequential at f.out");
    nearest("lora(layers=4-6)", "lora, but a.q in layers 4 to 6, a.v in layers 4 to 6");
    nearest("lora(at=q,layers=1)", "lora, but a.q in layer 1, without its module at a.v");
    nearest("mam + scale(write=a.k)", "mam, but with an additional scale module at a.k");
    nearest("parallel-adapter-ffn(act=gelu)", "parallel-adapter-ffn, but gelu at f.out");
    nearest("lora + head(frozen)", "lora, but a frozen head");
    nearest("adapter-houlsby(site=self)", "adapter-houlsby, but a.out only in self-attention");
    nearest("bitfit(stack=decoder,site=ffn)", "bitfit, but all only in the FFN, all only in the decoder");
    nearest("ia3(at=k)", "ia3, but without its module at a.v, without its module at f.act");
    nearest("parallel-adapter-ffn(norm=own)", "parallel-adapter-ffn, but own norm after the bottleneck at f.out");
    nearest("adapter-per-task(act=gelu)", "adapter-per-task, but gelu at f.out");
    nearest("lora(at=v)", "lora, but without its module at a.q");
    nearest("lora(at=q+k)", "lora, but a.k instead of a.v");
}

/* A preset that is moved or thinned out by its own keys is still nearest to itself. */
static void a_changed_preset_is_nearest_to_itself(void **state) {
    (void)state;
    static const char *const places[][7] = { { "lora", "q", "k", "v", "o", NULL },
                                             { "lora-ffn", "w1", "w2", NULL },
                                             { "ia3", "k", "v", "act", NULL } };
    for (size_t i = 0; i < COUNT_OF(places); i++)
        for (unsigned set = 1; set < 1u << 6; set++) {
            struct buf text = BUF_INIT;
            bool known = true;
            buf_printf(&text, "%s(at=", places[i][0]);
            for (int k = 0, n = 0; k < 6; k++) {
                if (!(set & (1u << k))) continue;
                int words = 0;
                while (places[i][words + 1]) words++;
                if (k >= words) known = false;
                else buf_printf(&text, "%s%s", n++ ? "+" : "", places[i][k + 1]);
            }
            buf_puts(&text, ")");
            if (known) {
                struct method m = parsed(text.data);
                char *s = method_nearest(&m);
                size_t n = strlen(places[i][0]);
                if (strncmp(s, places[i][0], n) || (s[n] && s[n] != ','))
                    fail_msg("%s is called %s", text.data, s);
                free(s);
            }
            buf_release(&text);
        }
}

static void json_refused(const char *json, const char *part) {
    struct method m;
    struct err e = ERR_INIT;
    test_refused(method_from_json(json, strlen(json), &m, &e), ERR_INPUT, &e, part);
}

static void broken_json_is_refused(void **state) {
    (void)state;
    json_refused("", "method");
    json_refused("[]", "must be a JSON object");
    json_refused("{\"modules\":[]}", "\"version\" is 0");
    json_refused("{\"version\":3,\"modules\":[]}", "supported versions are 1 and 2");
    json_refused("{\"version\":1}", "must be a list");
    json_refused("{\"version\":1,\"modules\":[],\"heads\":1}", "did you mean \"head\"?");
    json_refused("{\"version\":1,\"modules\":[{}]}", "\"function\" is missing");
    json_refused("{\"version\":1,\"modules\":[7]}", "module 1: must be an object");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"linaer\"}]}", "did you mean linear?");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"linear\",\"size\":0}]}", "must be between 1 and");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"linear\",\"size\":\"8\"}]}",
                 "must be an integer");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"linear\",\"sizes\":8}]}",
                 "did you mean \"size\"");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"linear\",\"dropout\":1.5}]}",
                 "below 1");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"linear\",\"layers\":[3,2]}]}",
                 "layers");
    json_refused("{\"version\":1,\"modules\":[{\"function\":\"softmax\",\"source\":\"mlp\"}]}",
                 "\"mid\"");
    json_refused(
        "{\"version\":1,\"modules\":[{\"function\":\"linear\",\"insertion\":\"sequential\"}]}",
        "is parallel");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_set_in_place),
        cmocka_unit_test(a_point_is_written_short),
        cmocka_unit_test(places_are_narrowed),
        cmocka_unit_test(the_older_json_form_is_read_and_written),
        cmocka_unit_test(faults_are_refused_by_name),
        cmocka_unit_test(ten_thousand_come_back),
        cmocka_unit_test(mangled_texts_are_no_danger),
        cmocka_unit_test(decimal_comma_changes_nothing),
        cmocka_unit_test(presets_are_named_and_recognized),
        cmocka_unit_test(other_words_keep_the_first_name),
        cmocka_unit_test(backbones_are_words_of_presets),
        cmocka_unit_test(a_presets_networks_are_changed),
        cmocka_unit_test(recognition_looks_past_sizes),
        cmocka_unit_test(the_nearest_says_what_differs),
        cmocka_unit_test(a_changed_preset_is_nearest_to_itself),
        cmocka_unit_test(broken_json_is_refused),
    };
    return cmocka_run_group_tests_name("method text", tests, NULL, NULL);
}
