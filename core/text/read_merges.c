#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

/* One "a b" per line after an optional first line that starts with "#version". */
static int read_merges_read_line(struct tokenizer *t, const char *path, size_t line, const char *s, size_t n,
                                 struct err *e) {
    const char *blank = memchr(s, ' ', n);
    size_t left = blank ? (size_t)(blank - s) : n;
    if (!left || left + 1 >= n || memchr(blank + 1, ' ', n - left - 1)) {
        char *shown = text_visible(s, n > 80 ? 80 : n);
        err_set(e, ERR_INPUT, "%s: line %zu: \"%s\": expected two tokens separated by a space", path, line,
                shown);
        free(shown);
        return e->code;
    }
    char *where = xprintf("%s: line %zu", path, line);
    int rc = bpe_add(&t->bpe, &t->vocab, where, s, left, blank + 1, n - left - 1, e);
    free(where);
    return rc;
}

static int read_merges_read_lines(struct tokenizer *t, const char *path, struct err *e) {
    struct buf text;
    if (file_read(path, TOKENIZER_FILE, &text, e)) return e->code;
    const char *s = buf_text(&text);
    size_t lines = 0, line = 0, at = 0;
    for (size_t i = 0; i < text.size; i++) lines += s[i] == '\n';
    if (lines >= VOCAB_IDS) {
        buf_release(&text);
        return err_set(e, ERR_INPUT, "%s: more than %d merges", path, VOCAB_IDS);
    }
    bpe_init(&t->bpe, lines + 1);
    t->bpe.point = t->vocab.point;
    int rc = 0;
    while (!rc && at < text.size) {
        const char *stop = memchr(s + at, '\n', text.size - at);
        size_t n = stop ? (size_t)(stop - s) - at : text.size - at, whole = n;
        line++;
        if (n && s[at + n - 1] == '\r') n--;
        bool version = n >= 8 && !memcmp(s + at, "#version", 8);
        if (n && !version) rc = read_merges_read_line(t, path, line, s + at, n, e);
        at += whole + 1;
    }
    buf_release(&text);
    if (!rc) bpe_ready(&t->bpe, &t->vocab);
    return rc;
}

/* GPT-2 has one special token and adds none around a text; RoBERTa and BART have <s> and </s>; Qwen2 adds
 * none, normalizes a text and splits it by its own expression. */
enum merges_family { FAMILY_GPT2, FAMILY_ROBERTA, FAMILY_QWEN2 };

static enum merges_family family_of(const struct tokenizer *t, const struct reading *r) {
    const char *class = json_string_value(json_object_get(r->settings, "tokenizer_class"));
    if (class)
        return !strncmp(class, "GPT2", 4)    ? FAMILY_GPT2
               : !strncmp(class, "Qwen2", 5) ? FAMILY_QWEN2
                                             : FAMILY_ROBERTA;
    bool gpt2 = vocab_find(&t->vocab, "<s>", 3) < 0 && vocab_find(&t->vocab, "<|endoftext|>", 13) >= 0;
    return gpt2 ? FAMILY_GPT2 : FAMILY_ROBERTA;
}

static int specials(struct tokenizer *t, const char *path, bool gpt2, const struct reading *r,
                    struct err *e) {
    static const struct {
        const char *key, *gpt2, *roberta;
    } token[] = {
        { "cls_token", NULL, "<s>" }, { "sep_token", NULL, "</s>" },
        { "bos_token", "<|endoftext|>", "<s>" }, { "eos_token", "<|endoftext|>", "</s>" },
        { "unk_token", "<|endoftext|>", "<unk>" }, { "pad_token", NULL, "<pad>" },
        { "mask_token", NULL, "<mask>" },
    };
    const char *cls = NULL, *sep = NULL;
    for (size_t i = 0; i < COUNT_OF(token); i++) {
        const char *text = gpt2 ? token[i].gpt2 : token[i].roberta;
        if (!text) continue;
        if (tokenizer_special(t, path, r, token[i].key, &text, !strcmp(token[i].key, "mask_token"),
                              e))
            return e->code;
        if (i == 0) cls = text;
        if (i == 1) sep = text;
        if (!strcmp(token[i].key, "unk_token"))
            t->bpe.unknown = vocab_find(&t->vocab, text, strlen(text));
    }
    if (tokenizer_added_decoder(t, r, e)) return e->code;
    if (!gpt2) return tokenizer_roberta_templates(t, path, cls, sep, e);
    tokenizer_plain_templates(t);
    return 0;
}

int tokenizer_read_merges(struct tokenizer *t, const char *vocab_path, const char *merges_path,
                          const struct reading *r, struct err *e) {
    bool prefix = false;
    e->code = 0;
    if (r->settings)
        json_get_bool(r->settings, r->settings_path, "add_prefix_space", &prefix, e);
    if (e->code) return e->code;
    json_t *vocab = json_read(vocab_path, TOKENIZER_FILE, e);
    if (!vocab) return e->code;
    int rc = tokenizer_read_ids(t, vocab_path, "must be an object", vocab, e);
    json_decref(vocab);
    t->kind = MODEL_BPE;
    if (rc || read_merges_read_lines(t, merges_path, e)) return e->code;
    enum merges_family family = family_of(t, r);
    decoder_byte_level(&t->decoder);
    if (family != FAMILY_QWEN2) {
        pretokenizer_byte_level(&t->pretokenizer, prefix);
        return specials(t, vocab_path, family == FAMILY_GPT2, r, e);
    }
    t->normalizer.count = 1;
    t->normalizer.step[0] = (struct normalizer_step){ .kind = NORMALIZER_FORM, .compose = true };
    pretokenizer_qwen2(&t->pretokenizer, prefix);
    tokenizer_plain_templates(t);
    return tokenizer_added_decoder(t, r, e);
}
