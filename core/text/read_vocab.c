#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

/* One token per line; its id is the line number from 0. */
static int read_vocab_read_lines(struct tokenizer *t, const char *path, struct err *e) {
    struct buf text;
    if (file_read(path, TOKENIZER_FILE, &text, e)) return e->code;
    const char *s = buf_text(&text);
    size_t at = 0;
    int64_t id = 0;
    int rc = 0;
    while (!rc && at < text.size) {
        const char *end = memchr(s + at, '\n', text.size - at);
        size_t n = end ? (size_t)(end - (s + at)) : text.size - at, whole = n;
        if (n && s[at + n - 1] == '\r') n--;
        if (!utf8_valid(s + at, n) || memchr(s + at, '\0', n))
            rc = err_set(e, ERR_INPUT, "%s: line %lld: not UTF-8 text", path, (long long)id + 1);
        else if (n) rc = vocab_add(&t->vocab, path, s + at, n, id, e);
        at += whole + 1;
        id++;
    }
    buf_release(&text);
    if (!rc && !t->vocab.count) rc = err_set(e, ERR_INPUT, "%s: the vocabulary is empty", path);
    return rc;
}

int tokenizer_read_vocab(struct tokenizer *t, const char *path, const struct reading *r,
                         struct err *e) {
    static const char *const key[] = { "unk_token", "sep_token", "pad_token", "cls_token",
                                      "mask_token" };
    const char *text[] = { "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" };
    struct bert_normalizer z = { true, true, true, true };
    e->code = 0;
    if (r->settings) {
        json_get_bool(r->settings, r->settings_path, "do_lower_case", &z.lowercase, e);
        json_get_bool(r->settings, r->settings_path, "tokenize_chinese_chars", &z.ideographs, e);
        z.strip_accents = z.lowercase;
        json_get_bool(r->settings, r->settings_path, "strip_accents", &z.strip_accents, e);
        if (e->code) return e->code;
    } else {
        text_line(r->report, "tokenizer_config.json is missing: text is lowercased, as for uncased models");
    }
    t->normalizer.count = 1;
    t->normalizer.step[0] = (struct normalizer_step){ .kind = NORMALIZER_BERT, .bert = z };
    t->pretokenizer.count = 1;
    t->pretokenizer.step[0] = (struct cut){ .kind = CUT_BERT };
    if (read_vocab_read_lines(t, path, e)) return e->code;
    for (size_t i = 0; i < COUNT_OF(key); i++)
        if (tokenizer_special(t, path, r, key[i], &text[i], false, e)) return e->code;
    if (tokenizer_added_decoder(t, r, e)) return e->code;
    t->wordpiece.prefix = xstrdup("##");
    t->wordpiece.prefix_size = 2;
    t->wordpiece.most_chars = 100;
    t->wordpiece.unknown = vocab_find(&t->vocab, text[0], strlen(text[0]));
    if (t->wordpiece.unknown < 0)
        return err_set(e, ERR_INPUT, "%s: the unknown token \"%s\" is not in the vocabulary", path,
                       text[0]);
    decoder_wordpiece(&t->decoder, "##");
    return tokenizer_bert_templates(t, path, text[3], text[1], e);
}
