/* docs/counts.md: published parameter counts. The page is generated here from petri's counts:
 * PETRI_GOLDEN=update writes it, otherwise it must be equal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/plan.h"
#include "tests/method/published.h"
#include "tests/support/test.h"

enum shape { SHAPE_BERT, SHAPE_ROBERTA, SHAPE_ROBERTA_LARGE, SHAPE_BART, SHAPE_BART_LARGE, SHAPE_T5, SHAPE_FLAN_LARGE,
             SHAPE_SMOLLM2, SHAPE_QWEN2, SHAPE_QWEN3, SHAPE_LLAMA, SHAPE_TINYLLAMA, SHAPES };
static const struct {
    const char *name, *config;
} shapes[SHAPES] = {
    [SHAPE_BERT] = { "BERT-base",
                     "{\"model_type\":\"bert\",\"hidden_size\":768,\"num_hidden_layers\":12,\"num_attention_heads\":12,"
                     "\"intermediate_size\":3072,\"vocab_size\":30522,\"max_position_embeddings\":512,\"type_vocab_size\":2,"
                     "\"pad_token_id\":0,\"layer_norm_eps\":1e-12,\"hidden_act\":\"gelu\"}" },
    [SHAPE_ROBERTA] = { "RoBERTa-base", ROBERTA_BASE }, [SHAPE_ROBERTA_LARGE] = { "RoBERTa-large", ROBERTA_LARGE },
    [SHAPE_BART] = { "BART-base", BART_BASE },          [SHAPE_BART_LARGE] = { "BART-large", BART_LARGE },
    [SHAPE_T5] = { "T5-small", T5_SMALL },              [SHAPE_FLAN_LARGE] = { "flan-t5-large", FLAN_T5_LARGE },
    [SHAPE_SMOLLM2] = { "SmolLM2-135M", SMOLLM2 },
    [SHAPE_QWEN2] = { "Qwen2.5-0.5B", QWEN2 },
    [SHAPE_QWEN3] = { "Qwen3-0.6B", QWEN3 },
    [SHAPE_LLAMA] = { "Llama-3.2-1B", LLAMA },
    [SHAPE_TINYLLAMA] = { "TinyLlama-1.1B", TINYLLAMA },
};

/* One published count: `number`, or (share) a percentage of the model with the printed decimals. It equals
 * `times` the trainable parameters of the first text plus `times2` those of the second, plus `heads` heads of
 * two classes. */
struct claim {
    enum shape shape;
    const char *who;
    size_t number;
    const char *share;
    const char *text;
    int times;
    const char *text2;
    int times2, heads;
    const char *why; /* why the number differs: it counts something else, or is wrong */
};
#define IS(n, t) .number = n, .text = t, .times = 1
#define PEFT .who = "PEFT 0.11.1"
#define PEFT_21 .who = "PEFT 0.21.2"
#define HUB .who = "AdapterHub 3.2.1"
#define HE .who = "He et al. 2022"

static const struct claim libraries[] = {
#include "tests/method/counts.h"
};

static const struct claim papers[] = {
    { SHAPE_BART_LARGE, HE ", Tables 5 and 12", .share = "3.6", .text = "prefix(l=200)", .times = 1 },
    { SHAPE_BART_LARGE, HE, .share = "3.6", .text = "parallel-adapter-attn(r=200,biases=no)", .times = 1 },
    { SHAPE_BART_LARGE, HE, .share = "2.4", .text = "parallel-adapter-ffn(r=200,biases=no)", .times = 1 },
    { SHAPE_BART_LARGE, HE, .share = "12.3", .text = "parallel-adapter-ffn(r=1024,biases=no)", .times = 1,
      .why = "12.4 when rounded; truncated after one decimal 12.3" },
    { SHAPE_BART_LARGE, HE, .share = "7.2", .text = "adapter-pfeiffer(r=600,biases=no)", .times = 1,
      .why = "7.3 when rounded; truncated after one decimal 7.2" },
    { SHAPE_BART_LARGE, HE ", Tables 5 and 12", .share = "6.1", .text = "lora-ffn(r=102)", .times = 1,
      .why = "6.2 when rounded; truncated after one decimal 6.1" },
    { SHAPE_BART_LARGE, HE ", Table 6", .share = "7.2", .text = "lora-ffn(r=102)", .times = 1,
      .why = "an error: the same paper has 6.1 elsewhere" },
    { SHAPE_BART_LARGE, HE, .share = "6.7", .text = "mam(l=30,r=512,s=4,biases=no)", .times = 1 },
    { SHAPE_BART_LARGE, HE ", Table 4", .share = "0.1", .text = "prefix(l=30)", .times = 1,
      .why = "the label is wrong: attention with l = r = 30 is 0.54" },
    { SHAPE_BART_LARGE, HE ", Table 4", .share = "0.1", .text = "parallel-adapter-ffn(r=30,biases=no)", .times = 1,
      .why = "the label is wrong: the FFN with r = 30 is 0.36" },
    { SHAPE_BART_LARGE, HE, .share = "0.1", .text = "bitfit", .times = 1 },
    { SHAPE_ROBERTA, HE, .share = "0.5", .text = "mam(l=16,r=16,biases=no)", .times = 1 },
    { SHAPE_ROBERTA, HE, .share = "0.5", .text = "lora(r=16)", .times = 1 },
    { SHAPE_ROBERTA, HE, .share = "0.5", .text = "adapter-houlsby(r=16,norms=no,biases=no)", .times = 1 },
    { SHAPE_ROBERTA, .who = "He et al. 2022, the authors' code", .number = 46783200, .text = "prefix(l=16,mlp=800)", .times = 3,
      .text2 = "parallel-adapter-ffn(r=16)", .times2 = 2,
      .why = "three prefix networks, of which two have no effect on an encoder, two adapters per layer, of which one has no "
             "effect, and a head that is not trained" },
    { SHAPE_ROBERTA, .who = "the same without the two networks", .number = 16000160, .text = "prefix(l=16,mlp=800)", .times = 1,
      .text2 = "parallel-adapter-ffn(r=16)", .times2 = 2, .why = "the second adapter of each layer is still counted" },
    { SHAPE_BERT, .who = "PEFT's documentation, LoRA with a head", IS(296450, "lora(r=8)"), .heads = 1 },
    { SHAPE_ROBERTA, .who = "PEFT's documentation, VeRA with a head", IS(647714, "vera(r=8,at=q+v+w1)"), .heads = 1 },
    { SHAPE_ROBERTA_LARGE, .who = "PEFT's documentation, IA3 with a head", IS(2275332, "ia3(peft)"), .heads = 2,
      .why = "the library counts the classifier twice: its copy and the untrained original" },
    { SHAPE_FLAN_LARGE, .who = "PEFT's documentation, LoRA on flan-t5-large", IS(4718592, "lora(r=16)") },
    { SHAPE_FLAN_LARGE, .who = "PEFT's documentation, LoRA on mt0-large, of the same shape", IS(2359296, "lora(r=8)") },
    { SHAPE_FLAN_LARGE, .who = "PEFT's documentation, IA3 on mt0-large", IS(282624, "ia3") },
    { SHAPE_FLAN_LARGE, .who = "PEFT's documentation, a prompt on t5-large", IS(40960, "prompt(l=20; rows=peft)") },
};

static struct arch counts_shape(enum shape s) {
    struct arch a;
    struct err e = ERR_INIT;
    test_ok(arch_parse("config.json", shapes[s].config, strlen(shapes[s].config), &a, NULL, &e), &e);
    return a;
}

static struct plan *counts_plan(const char *text, const struct arch *a) {
    struct err e = ERR_INIT;
    struct method m;
    if (method_parse(text, &m, &e)) fail_msg("%s: %s", text, e.text);
    struct plan *p = plan_new(&m, a, arch_generates(a) ? 0 : 2, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    return p;
}

/* Returns petri's count for a claim, and the size of the model. */
static size_t counted_of(const struct claim *c, size_t *model) {
    struct arch a = counts_shape(c->shape);
    struct plan *p = counts_plan(c->text, &a);
    size_t n = (size_t)c->times * p->trained_method + (size_t)c->heads * p->head;
    *model = p->model;
    plan_free(p);
    if (c->text2) {
        p = counts_plan(c->text2, &a);
        n += (size_t)c->times2 * p->trained_method;
        plan_free(p);
    }
    arch_release(&a);
    return n;
}

static void counts_add_row(struct buf *b, const struct claim *c) {
    size_t model, n = counted_of(c, &model);
    char own[64], said[40], grouped[40];
    const char *point = c->share ? strchr(c->share, '.') : NULL;
    double share = 100 * (double)n / (double)model;
    text_thousands((int64_t)n, grouped);
    if (c->share) snprintf(own, sizeof own, "%s, %.2f%%", grouped, share);
    else snprintf(own, sizeof own, "%s", grouped);
    if (c->share) snprintf(said, sizeof said, "%s%%", c->share);
    else text_thousands((int64_t)c->number, said);
    char rounded[40];
    snprintf(rounded, sizeof rounded, "%.*f", point ? (int)strlen(point + 1) : 0, share);
    bool same = c->share ? !strcmp(rounded, c->share) : n == c->number;
    if (!same && !c->why) fail_msg("%s: %s on %s: petri counts %zu, %s has %s", c->who, c->text, shapes[c->shape].name, n, c->who, said);
    buf_printf(b, "| %s | %s | %s | ", shapes[c->shape].name, c->who, said);
    if (c->times != 1) buf_printf(b, "%d × ", c->times);
    buf_printf(b, "`%s`", c->text);
    if (c->text2) buf_printf(b, " + %d × `%s`", c->times2, c->text2);
    if (c->heads) buf_printf(b, " + %s", c->heads == 1 ? "the head" : "the head twice");
    buf_printf(b, " | %s | %s%s%s |\n", own, same ? "equal" : "differs", c->why ? ": " : "", c->why ? c->why : "");
}

static void add_table(struct buf *b, const char *title, const struct claim *c, size_t n) {
    buf_printf(b, "\n## %s\n\n| model | source | published | method in petri | count | |\n|---|---|---|---|---|---|\n", title);
    for (size_t i = 0; i < n; i++) counts_add_row(b, &c[i]);
}

static void the_page_is_what_petri_counts(void **state) {
    (void)state;
    const char *mode = getenv("PETRI_GOLDEN");
    struct err e = ERR_INIT;
    struct buf made = BUF_INIT, is = BUF_INIT;
    buf_puts(&made, "# Published parameter counts\n\n"
                    "Generated by `tests/method/counts_test.c` from `petri count`, and compared with it. Counts are trainable parameters,\n"
                    "without the head unless it is named. A library's name of a method often denotes another point of the design space\n"
                    "than the paper's; the method in petri is the exact one. `rows=peft` counts a prompt as PEFT stores it for a model with\n"
                    "a decoder, where half of it is unused.\n");
    add_table(&made, "Libraries, executed", libraries, COUNT_OF(libraries));
    add_table(&made, "Papers and documentation", papers, COUNT_OF(papers));
    char *path = test_path("docs/counts.md");
    if (mode && !strcmp(mode, "update")) test_ok(file_write(path, made.data, made.size, &e), &e);
    test_ok(file_read(path, 1 << 20, &is, &e), &e);
    assert_string_equal(buf_text(&is), buf_text(&made));
    buf_release(&made);
    buf_release(&is);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_page_is_what_petri_counts) };
    return cmocka_run_group_tests_name("counts", tests, NULL, NULL);
}
