#include "core/text/tokenizer.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/parts.h"

enum { SETTINGS_FILE = 16 << 20 }; /* tokenizer_config.json, bytes */

static struct tokenizer *tokenizer_new(void) {
    struct tokenizer *t = xcalloc(1, sizeof *t);
    vocab_init(&t->vocab);
    return t;
}

void tokenizer_free(struct tokenizer *t) {
    if (!t) return;
    vocab_release(&t->vocab);
    free(t->model.prefix);
    added_release(&t->raw);
    added_release(&t->normalized);
    decoder_release(&t->decoder);
    free(t);
}

/* What the other files of the folder are, when there is no WordPiece file in it. */
static int nothing_to_read(const char *folder, struct err *e) {
    static const char *const other[] = {"tokenizer.model", "spiece.model",
                                        "sentencepiece.bpe.model", "vocab.json"};
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        char *path = file_join(folder, other[i]);
        bool there = file_exists(path);
        free(path);
        if (there)
            return err_set(e, ERR_NOT_FOUND,
                           "%s: no tokenizer.json or vocab.txt; %s alone is not read (petri reads "
                           "WordPiece)", folder, other[i]);
    }
    return err_set(e, ERR_NOT_FOUND, "%s: no tokenizer.json and no vocab.txt", folder);
}

struct tokenizer *tokenizer_read(const char *folder, struct buf *report, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    char *json = file_join(folder, "tokenizer.json"), *vocab = file_join(folder, "vocab.txt");
    char *settings_path = file_join(folder, "tokenizer_config.json");
    struct tokenizer *t = tokenizer_new();
    json_t *settings = NULL;
    int rc = 0;
    if (file_exists(settings_path)) {
        settings = json_read(settings_path, SETTINGS_FILE, e);
        if (!settings) rc = e->code;
        else if (!json_is_object(settings))
            rc = err_set(e, ERR_INPUT, "%s: must be a JSON object", settings_path);
    }
    if (!rc) {
        if (file_exists(json))
            rc = tokenizer_read_json(t, json, settings_path, settings, report, e);
        else if (file_exists(vocab))
            rc = tokenizer_read_vocab(t, vocab, settings_path, settings, report, e);
        else rc = nothing_to_read(folder, e);
    }
    added_sort(&t->raw);
    added_sort(&t->normalized);
    json_decref(settings);
    free(json);
    free(vocab);
    free(settings_path);
    if (!rc) return t;
    tokenizer_free(t);
    return NULL;
}

struct counts {
    size_t unknown, special;
};

static void words(const struct tokenizer *t, const char *s, size_t n, struct id_list *out,
                  struct counts *c) {
    size_t at = 0, from, to;
    while (pretokenizer_next(s, n, &at, &from, &to))
        c->unknown += wordpiece_word(&t->model, &t->vocab, s + from, to - from, out);
}

/* Calls `rest` for what lies between the tokens of `set`, and adds their ids. */
static void split(const struct tokenizer *t, const struct added_set *set, const char *s, size_t n,
                  void (*rest)(const struct tokenizer *, const char *, size_t, struct id_list *,
                               struct counts *),
                  struct id_list *out, struct counts *c) {
    size_t at = 0, done = 0, from, to;
    const struct added_token *token;
    while (set->count && added_next(set, s, n, at, done, &from, &to, &token)) {
        if (from > done) rest(t, s + done, from - done, out, c);
        id_list_add(out, token->id);
        c->special += token->special;
        at = done = to;
    }
    if (n > done) rest(t, s + done, n - done, out, c);
}

static void normalize_and_split(const struct tokenizer *t, const char *s, size_t n,
                                struct id_list *out, struct counts *c) {
    struct buf text = BUF_INIT;
    normalizer_run(&t->normalizer, s, n, &text);
    split(t, &t->normalized, buf_text(&text), text.size, words, out, c);
    buf_release(&text);
}

static void text_ids(const struct tokenizer *t, const char *s, size_t n, struct id_list *out,
                     struct counts *c) {
    split(t, &t->raw, s, n, normalize_and_split, out, c);
}

size_t tokenizer_ids(const struct tokenizer *t, const char *text, size_t n, int32_t **ids,
                     size_t *room) {
    struct id_list out = {*ids, 0, *room};
    struct counts c = {0};
    text_ids(t, text, n, &out, &c);
    *ids = out.ids;
    *room = out.room;
    return out.n;
}

static void fill(const struct template *form, const struct id_list *side, const size_t *kept,
                 struct encoded *out) {
    size_t n = (size_t)form->tokens + kept[0] + kept[1], at = 0;
    out->ids = xmalloc((n ? n : 1) * sizeof *out->ids);
    out->types = xmalloc((n ? n : 1) * sizeof *out->types);
    out->greatest = -1;
    for (int p = 0; p < form->pieces; p++) {
        const struct template_piece *piece = &form->piece[p];
        size_t count = piece->text < 0 ? 1 : kept[piece->text];
        for (size_t i = 0; i < count; i++) {
            int32_t id = piece->text < 0 ? piece->id : side[piece->text].ids[i];
            out->ids[at] = id;
            out->types[at++] = piece->type;
            if (id > out->greatest) out->greatest = id;
        }
    }
    out->n = at;
}

int tokenizer_encode(const struct tokenizer *t, const char *a, size_t a_size, const char *b,
                     size_t b_size, size_t max_len, struct encoded *out, struct err *e) {
    memset(out, 0, sizeof *out);
    const struct template *form = b ? &t->pair : &t->single;
    if (max_len < (size_t)form->tokens)
        return err_set(e, ERR_USAGE, "a length limit of %zu cannot hold the %d special tokens of a "
                       "%s", max_len, form->tokens, b ? "pair" : "text");
    struct id_list side[2] = {{0}, {0}};
    struct counts c = {0};
    text_ids(t, a, a_size, &side[0], &c);
    if (b) text_ids(t, b, b_size, &side[1], &c);
    size_t kept[2] = {side[0].n, side[1].n};
    template_cut(max_len - (size_t)form->tokens, &kept[0], &kept[1]);
    out->cut_a = side[0].n - kept[0];
    out->cut_b = side[1].n - kept[1];
    out->vanished = (side[0].n && !kept[0]) || (side[1].n && !kept[1]);
    out->unknown = c.unknown;
    out->plain = side[0].n + side[1].n;
    out->special_in_text = c.special > 0;
    fill(form, side, kept, out);
    free(side[0].ids);
    free(side[1].ids);
    return 0;
}

void encoded_release(struct encoded *x) {
    free(x->ids);
    free(x->types);
    memset(x, 0, sizeof *x);
}

void tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n, bool skip_special,
                      struct buf *out) {
    struct pieces p = {0};
    for (size_t i = 0; i < n; i++) {
        const char *s = vocab_text(&t->vocab, ids[i]);
        if (!s || (skip_special && t->vocab.token[ids[i]].special)) continue;
        buf_add(&p.text, s, t->vocab.token[ids[i]].size);
        pieces_end(&p);
    }
    decoder_run(&t->decoder, &p, out);
    pieces_release(&p);
}

int32_t tokenizer_size(const struct tokenizer *t) { return (int32_t)t->vocab.ids; }

const char *tokenizer_token(const struct tokenizer *t, int32_t id) {
    const char *s = vocab_text(&t->vocab, id);
    return s ? s : "?";
}

int32_t tokenizer_id(const struct tokenizer *t, const char *token) {
    return vocab_find(&t->vocab, token, strlen(token));
}
