#include "core/model/gguf_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/model/gguf.h"

/* The published models with rope_type llama3 differ in the factor only. */
static bool is_llama3(const struct model *m, double factor) {
    struct arch a = m->arch;
    int half = a.head_width / 2;
    double *f = xcalloc((size_t)half, sizeof *f);
    bool same = true;
    a.rope.kind = ROPE_LLAMA3;
    a.rope.factor = factor;
    a.rope.low = 1;
    a.rope.high = 4;
    a.rope.original = 8192;
    arch_rope(&a, f);
    for (int i = 0; i < half; i++) {
        double divisor = pow(a.rope.theta, -2.0 * i / a.head_width) / f[i];
        same &= fabs(divisor / (double)m->rope_divisor[i] - 1) < 1e-4;
    }
    free(f);
    return same;
}

/* Describes the divisors of the frequencies, which a config has no place for. */
static int describe_rope(json_t *config, const struct model *m, struct err *e) {
    static const double factors[] = { 8, 16, 32 };
    if (!m->rope_divisor) return 0;
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        if (!is_llama3(m, factors[i])) continue;
        json_object_set_new(config, "rope_scaling",
                            json_pack("{s:s,s:f,s:f,s:f,s:i}", "rope_type", "llama3", "factor", factors[i],
                                      "low_freq_factor", 1.0, "high_freq_factor", 4.0,
                                      "original_max_position_embeddings", 8192));
        return 0;
    }
    return err_set(e, ERR_USAGE, "%s: rope_freqs.weight: not the frequencies of Llama 3, which a config.json could "
                                 "describe; use --to gguf-merged", m->folder);
}

int gguf_folder_make(const struct model *m, struct gguf_folder *out, struct err *e) {
    static const char *const ids[] = { "bos_token_id", "eos_token_id" };
    *out = (struct gguf_folder){ .config = gguf_config(m->folder, e) };
    int rc = out->config ? describe_rope(out->config, m, e) : e->code;
    struct st_file *f = rc ? NULL : st_open(m->folder, e);
    if (!f) return e->code;
    json_t *meta = gguf_tokenizer(st_gguf(f), e);
    if (meta) out->tokenizer = tokenizer_from_gguf(m->folder, meta, &out->settings, e);
    json_decref(meta);
    json_t *chat = e->code ? NULL : gguf_value(st_gguf(f), "tokenizer.chat_template", e);
    if (json_is_string(chat)) out->chat = xstrdup(json_string_value(chat));
    json_decref(chat);
    out->generation = json_object();
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (json_object_get(out->config, ids[i]))
            json_object_set(out->generation, ids[i], json_object_get(out->config, ids[i]));
    st_close(f);
    return e->code;
}

void gguf_folder_release(struct gguf_folder *x) {
    json_decref(x->config);
    json_decref(x->tokenizer);
    json_decref(x->settings);
    json_decref(x->generation);
    free(x->chat);
    *x = (struct gguf_folder){ 0 };
}
