/* Published methods: the files of assets/presets, embedded at build time and read on first use. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/method/space.h"

/* Embeds the bytes of one file between two symbols. */
#define EMBED(symbol, file)                                                                        \
    __asm__(".section .rodata\n"                                                                   \
            "preset_" #symbol ":\n"                                                                \
            ".incbin \"assets/presets/" file ".json\"\n"                                           \
            "preset_" #symbol "_end:\n"                                                            \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char preset_##symbol[] __attribute__((visibility("hidden")));                     \
    extern const char preset_##symbol##_end[] __attribute__((visibility("hidden")));

EMBED(lora, "lora")
EMBED(lora_ffn, "lora-ffn")
EMBED(adapter_pfeiffer, "adapter-pfeiffer")
EMBED(adapter_houlsby, "adapter-houlsby")
EMBED(compacter, "compacter")
EMBED(compacter_pp, "compacter++")
EMBED(prefix, "prefix")
EMBED(prefix_mlp, "prefix-mlp")
EMBED(parallel_adapter_attn, "parallel-adapter-attn")
EMBED(parallel_adapter_ffn, "parallel-adapter-ffn")
EMBED(multi_head_parallel_adapter, "multi-head-parallel-adapter")
EMBED(scaled_parallel_adapter, "scaled-parallel-adapter")
EMBED(mam, "mam")
EMBED(ia3, "ia3")
EMBED(prompt_tuning, "prompt-tuning")
EMBED(p_tuning, "p-tuning")
EMBED(p_tuning_v2, "p-tuning-v2")
EMBED(bitfit, "bitfit")
EMBED(head, "head")
EMBED(full, "full")
EMBED(shared_ft, "shared-ft")
EMBED(shared_adapter, "shared-adapter")
EMBED(adapter_per_task, "adapter-per-task")
EMBED(adapters_dagger, "adapters-dagger")
EMBED(hyperformer, "hyperformer")
EMBED(hyperformer_pp, "hyperformer++")
EMBED(hyperdecoder, "hyperdecoder")
EMBED(pha, "pha")
EMBED(hyperprompt_share, "hyperprompt-share")
EMBED(hyperprompt_sep, "hyperprompt-sep")
EMBED(hyperprompt_global, "hyperprompt-global")
EMBED(meta_adapters, "meta-adapters")
EMBED(meta_adapters_sandwich, "meta-adapters-sandwich")
EMBED(maml_adapters, "maml-adapters")
EMBED(hybrid_smlmt, "hybrid-smlmt")
EMBED(leopard, "leopard")
EMBED(rslora, "rslora")
EMBED(dora, "dora")
EMBED(vera, "vera")
EMBED(ln_tuning, "ln-tuning")
EMBED(adalora, "adalora")
EMBED(unipelt, "unipelt")
EMBED(mpt, "mpt")
EMBED(diff_pruning, "diff-pruning")

#define ROW(symbol, file) { file, preset_##symbol, preset_##symbol##_end }
static const struct {
    const char *name, *start, *end;
} files[] = {
    ROW(lora, "lora"),
    ROW(lora_ffn, "lora-ffn"),
    ROW(adapter_pfeiffer, "adapter-pfeiffer"),
    ROW(adapter_houlsby, "adapter-houlsby"),
    ROW(compacter, "compacter"),
    ROW(compacter_pp, "compacter++"),
    ROW(prefix, "prefix"),
    ROW(prefix_mlp, "prefix-mlp"),
    ROW(parallel_adapter_attn, "parallel-adapter-attn"),
    ROW(parallel_adapter_ffn, "parallel-adapter-ffn"),
    ROW(multi_head_parallel_adapter, "multi-head-parallel-adapter"),
    ROW(scaled_parallel_adapter, "scaled-parallel-adapter"),
    ROW(mam, "mam"),
    ROW(ia3, "ia3"),
    ROW(prompt_tuning, "prompt-tuning"),
    ROW(p_tuning, "p-tuning"),
    ROW(p_tuning_v2, "p-tuning-v2"),
    ROW(bitfit, "bitfit"),
    ROW(head, "head"),
    ROW(full, "full"),
    ROW(shared_ft, "shared-ft"),
    ROW(shared_adapter, "shared-adapter"),
    ROW(adapter_per_task, "adapter-per-task"),
    ROW(adapters_dagger, "adapters-dagger"),
    ROW(hyperformer, "hyperformer"),
    ROW(hyperformer_pp, "hyperformer++"),
    ROW(hyperdecoder, "hyperdecoder"),
    ROW(pha, "pha"),
    ROW(hyperprompt_share, "hyperprompt-share"),
    ROW(hyperprompt_sep, "hyperprompt-sep"),
    ROW(hyperprompt_global, "hyperprompt-global"),
    ROW(meta_adapters, "meta-adapters"),
    ROW(meta_adapters_sandwich, "meta-adapters-sandwich"),
    ROW(maml_adapters, "maml-adapters"),
    ROW(hybrid_smlmt, "hybrid-smlmt"),
    ROW(leopard, "leopard"),
    ROW(rslora, "rslora"),
    ROW(dora, "dora"),
    ROW(vera, "vera"),
    ROW(ln_tuning, "ln-tuning"),
    ROW(adalora, "adalora"),
    ROW(unipelt, "unipelt"),
    ROW(mpt, "mpt"),
    ROW(diff_pruning, "diff-pruning"),
};
enum { PRESETS = COUNT_OF(files) };

static struct preset presets[PRESETS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The files are part of the program, so that an error in one is a bug. */
static const char *text_member(const json_t *o, const char *file, const char *key) {
    struct err e = ERR_INIT;
    const char *s = NULL;
    if (!json_get_string(o, file, key, &s, &e)) BUG("preset %s: missing \"%s\"", file, key);
    return xstrdup(s);
}

static void load_one(int i) {
    struct err e = ERR_INIT;
    const char *file = files[i].name;
    struct preset *p = &presets[i];
    json_t *o = json_parse(file, files[i].start, (size_t)(files[i].end - files[i].start), &e);
    if (!o) BUG("preset %s: %s", file, e.text);
    p->name = text_member(o, file, "name");
    p->title = text_member(o, file, "title");
    p->family = text_member(o, file, "family");
    p->paper = text_member(o, file, "paper");
    p->sizes = text_member(o, file, "sizes");
    p->note = text_member(o, file, "note");
    if (json_object_get(o, "regime")) p->regime = text_member(o, file, "regime");
    if (json_object_get(o, "released")) p->released = text_member(o, file, "released");
    if (json_object_get(o, "same_as")) p->same_as = text_member(o, file, "same_as");
    p->root_alpha = (int)json_integer_value(json_object_get(o, "root_alpha"));
    if (!json_get_double(o, file, "lr", &p->lr, &e)) BUG("preset %s: missing \"lr\"", file);
    char *method = json_dumps(json_object_get(o, "method"), JSON_COMPACT);
    if (!method || method_from_json(method, strlen(method), &p->method, &e))
        BUG("preset %s: %s", file, e.text);
    if (strcmp(p->name, file)) BUG("preset %s: the name in the file is %s", file, p->name);
    free(method);
    json_decref(o);
}

static void load_all(void) {
    for (int i = 0; i < PRESETS; i++) load_one(i);
}

int preset_count(void) { return PRESETS; }

const struct preset *preset_at(int i) {
    pthread_once(&once, load_all);
    return i >= 0 && i < PRESETS ? &presets[i] : NULL;
}

double preset_scale(const struct preset *p, const struct module *m) {
    return p->root_alpha ? p->root_alpha / sqrt(m->size) : p->method.count ? p->method.module[0].scale : 0;
}

const struct preset *preset_find(const char *name) {
    for (int i = 0; i < PRESETS; i++)
        if (!strcmp(files[i].name, name)) return preset_at(i);
    return NULL;
}
