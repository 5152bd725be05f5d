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
    t->bos = t->eos = -1;
    return t;
}

void tokenizer_free(struct tokenizer *t) {
    if (!t) return;
    vocab_release(&t->vocab);
    normalizer_release(&t->normalizer);
    free(t->wordpiece.prefix);
    bpe_release(&t->bpe);
    unigram_release(&t->unigram);
    added_release(&t->raw);
    added_release(&t->normalized);
    decoder_release(&t->decoder);
    free(t);
}

const char *tokenizer_file(const struct tokenizer *t, int i) { return t->file[i]; }

/* ---- reading a folder ---- */

/* Tokenizer files that petri does not read, for the message. */
static int nothing_to_read(const char *folder, struct err *e) {
    static const char *const other[] = { "tokenizer.model", "spiece.model",
                                        "sentencepiece.bpe.model", "vocab.json", "merges.txt" };
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        char *path = file_join(folder, other[i]);
        bool there = file_exists(path);
        free(path);
        if (there)
            return err_set(
                e, ERR_NOT_FOUND,
                "%s: %s alone is not supported; expected tokenizer.json, vocab.json with merges.txt, or "
                "vocab.txt",
                folder, other[i]);
    }
    return err_set(e, ERR_NOT_FOUND,
                   "%s: tokenizer files are missing: expected tokenizer.json, vocab.json with merges.txt, "
                   "or vocab.txt", folder);
}

static int tokenizer_read_folder(struct tokenizer *t, const struct reading *r, struct err *e) {
    enum { JSON, VOCAB, MERGES, LINES, FILES };
    static const char *const name[FILES] = { "tokenizer.json", "vocab.json", "merges.txt",
                                            "vocab.txt" };
    char *path[FILES];
    bool there[FILES];
    for (int i = 0; i < FILES; i++) {
        path[i] = file_join(r->folder, name[i]);
        there[i] = file_exists(path[i]);
    }
    int first = there[JSON] ? JSON : there[VOCAB] && there[MERGES] ? VOCAB : LINES, files = 0;
    t->file[files++] = name[first];
    if (first == VOCAB) t->file[files++] = name[MERGES];
    if (r->settings) t->file[files++] = "tokenizer_config.json";
    int rc = first == JSON    ? tokenizer_read_json(t, path[JSON], r, e)
             : first == VOCAB ? tokenizer_read_merges(t, path[VOCAB], path[MERGES], r, e)
             : there[LINES]   ? tokenizer_read_vocab(t, path[LINES], r, e)
                              : nothing_to_read(r->folder, e);
    for (int i = 0; i < FILES; i++) free(path[i]);
    return rc;
}

/* Takes ownership; returns NULL if reading failed. */
static struct tokenizer *tokenizer_end(struct tokenizer *t, const json_t *settings, bool failed) {
    added_sort(&t->raw);
    added_sort(&t->normalized);
    t->bos = tokenizer_named(t, settings, "bos_token");
    t->eos = tokenizer_named(t, settings, "eos_token");
    if (!failed) return t;
    tokenizer_free(t);
    return NULL;
}

struct tokenizer *tokenizer_make(const char *name, const json_t *root, const json_t *settings,
                                 struct buf *report, struct err *e) {
    struct tokenizer *t = tokenizer_new();
    const struct reading r = { .settings_path = name, .settings = settings, .report = report };
    return tokenizer_end(t, settings, tokenizer_read_root(t, name, root, &r, e) != 0);
}

struct tokenizer *tokenizer_read(const char *folder, struct buf *report, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
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
    if (!rc) rc = tokenizer_read_folder(t, &(struct reading){ folder, settings_path, settings, report }, e);
    t = tokenizer_end(t, settings, rc != 0);
    json_decref(settings);
    free(settings_path);
    return t;
}

/* ---- text to ids ---- */

/* The state of encoding one text. */
struct tokenizer_work {
    const struct tokenizer *t;
    struct id_list *out;
    struct added_off *off; /* or NULL */
    size_t unknown, special;
    struct pretokenizer_work pretokenizer;
    struct bpe_work bpe;
    struct unigram_work unigram;
};

static void model_ids(struct tokenizer_work *w, const char *s, size_t n) {
    switch (w->t->kind) {
    case MODEL_WORDPIECE:
        w->unknown += wordpiece_word(&w->t->wordpiece, &w->t->vocab, s, n, w->out);
        break;
    case MODEL_BPE:
        w->unknown += bpe_word(&w->t->bpe, &w->t->vocab, s, n, &w->bpe);
        for (size_t i = 0; i < w->bpe.symbols; i++) id_list_add(w->out, w->bpe.symbol[i].id);
        break;
    case MODEL_UNIGRAM:
        w->unknown += unigram_piece(&w->t->unigram, &w->t->vocab, s, n, &w->unigram);
        for (size_t i = 0; i < w->unigram.count; i++) id_list_add(w->out, w->unigram.ids[i]);
        break;
    }
}

/* Returns whether the ids from `first` on include a control token that is off. */
static bool made_control(const struct tokenizer_work *w, size_t first) {
    const struct tokenizer *t = w->t;
    int32_t unknown = t->kind == MODEL_WORDPIECE ? t->wordpiece.unknown
                      : t->kind == MODEL_BPE     ? t->bpe.unknown
                                                 : t->unigram.unknown;
    for (size_t i = first; i < w->out->n; i++) {
        int32_t id = w->out->ids[i];
        if (id != unknown && added_is_off(w->off, id, t->vocab.token[id].special)) return true;
    }
    return false;
}

/* A piece whose ids would include a control token, which few vocabularies allow, is encoded by characters. */
static void piece(void *self, const char *s, size_t n) {
    struct tokenizer_work *w = self;
    size_t first = w->out->n, unknown = w->unknown;
    uint32_t cp;
    model_ids(w, s, n);
    if (!w->off || !made_control(w, first)) return;
    w->out->n = first;
    w->unknown = unknown;
    for (size_t at = 0, size; at < n; at += size) {
        size = utf8_decode(s + at, n - at, &cp);
        model_ids(w, s + at, size);
    }
}

typedef void rest_of_text(struct tokenizer_work *w, const char *s, size_t n, enum text_place place);

/* Calls `rest` for the text between tokens of `set`, and adds the ids of these. */
static void tokenizer_split(struct tokenizer_work *w, const struct added_set *set, const char *s, size_t n,
                            enum text_place place, rest_of_text *rest) {
    size_t at = 0, done = 0, from, to;
    const struct added_token *token;
    while (set->count && added_next(set, w->off, s, n, at, done, &from, &to, &token)) {
        if (from > done) rest(w, s + done, from - done, done ? TEXT_LATER : place);
        id_list_add(w->out, token->id);
        w->special += token->special;
        at = done = to;
    }
    if (n > done) rest(w, s + done, n - done, done ? TEXT_LATER : place);
}

static void tokenizer_cut(struct tokenizer_work *w, const char *s, size_t n, enum text_place place) {
    pretokenizer_run(&w->t->pretokenizer, s, n, place, &w->pretokenizer, piece, w);
}

static void normalize_and_split(struct tokenizer_work *w, const char *s, size_t n, enum text_place place) {
    struct buf text = BUF_INIT;
    normalizer_run(&w->t->normalizer, s, n, &place, &text);
    tokenizer_split(w, &w->t->normalized, buf_text(&text), text.size, place, tokenizer_cut);
    buf_release(&text);
}

struct counts {
    size_t unknown, special;
};

/* Invalid UTF-8 is read as U+FFFD, one per byte. */
static void text_ids(const struct tokenizer *t, const char *s, size_t n, enum text_place place,
                     struct added_off *off, struct id_list *out, struct counts *c) {
    struct tokenizer_work w = { .t = t, .out = out, .off = off };
    struct buf mended = BUF_INIT;
    if (!utf8_valid(s, n)) {
        for (size_t at = 0; at < n;) {
            uint32_t cp;
            at += utf8_decode(s + at, n - at, &cp);
            utf8_add(&mended, cp);
        }
        s = mended.data;
        n = mended.size;
    }
    tokenizer_split(&w, &t->raw, s, n, place, normalize_and_split);
    c->unknown += w.unknown;
    c->special += w.special;
    pretokenizer_work_release(&w.pretokenizer);
    bpe_work_release(&w.bpe);
    unigram_work_release(&w.unigram);
    buf_release(&mended);
}

size_t tokenizer_ids(const struct tokenizer *t, const char *text, size_t n, int32_t **ids,
                     size_t *room) {
    struct id_list out = { *ids, 0, *room };
    struct counts c = { 0 };
    text_ids(t, text, n, TEXT_START, NULL, &out, &c);
    *ids = out.ids;
    *room = out.room;
    return out.n;
}

size_t tokenizer_plain_ids(const struct tokenizer *t, const char *s, size_t n, enum text_place place,
                           struct added_off *off, struct id_list *out) {
    struct counts c = { 0 };
    text_ids(t, s, n, place, off, out, &c);
    return c.unknown;
}

static void tokenizer_fill(const struct template *form, const struct id_list *side, const size_t *kept,
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
        return err_set(e, ERR_USAGE,
                       "maximum length of %zu tokens: too short for the %d special tokens of a %s", max_len,
                       form->tokens, b ? "pair" : "text");
    struct id_list side[2] = { { 0 }, { 0 } };
    struct counts c = { 0 };
    text_ids(t, a, a_size, TEXT_START, NULL, &side[0], &c);
    if (b) text_ids(t, b, b_size, TEXT_START, NULL, &side[1], &c);
    size_t kept[2] = { side[0].n, side[1].n };
    template_cut(max_len - (size_t)form->tokens, &kept[0], &kept[1]);
    out->cut_a = side[0].n - kept[0];
    out->cut_b = side[1].n - kept[1];
    out->vanished = (side[0].n && !kept[0]) || (side[1].n && !kept[1]);
    out->unknown = c.unknown;
    out->plain = side[0].n + side[1].n;
    out->special_in_text = c.special > 0;
    tokenizer_fill(form, side, kept, out);
    free(side[0].ids);
    free(side[1].ids);
    return 0;
}

void encoded_release(struct encoded *x) {
    free(x->ids);
    free(x->types);
    memset(x, 0, sizeof *x);
}

/* An added token is decoded in its normalized form, as in the reference, where it is then not treated as
 * special. */
static void add_respelled(const struct tokenizer *t, int32_t id, struct buf *out) {
    for (size_t i = 0; i < t->normalized.count; i++) {
        if (t->normalized.token[i].id != id) continue;
        buf_add(out, t->normalized.token[i].text, t->normalized.token[i].size);
        return;
    }
}

void tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n, bool skip_special,
                      struct buf *out) {
    struct pieces p = { 0 };
    for (size_t i = 0; i < n; i++) {
        const char *s = vocab_text(&t->vocab, ids[i]);
        if (!s) continue;
        const struct vocab_token *token = &t->vocab.token[ids[i]];
        if (skip_special && token->special && !token->respelled) continue;
        if (token->respelled) add_respelled(t, ids[i], &p.text);
        else buf_add(&p.text, s, token->size);
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

int32_t tokenizer_eos(const struct tokenizer *t) { return t->eos; }

bool tokenizer_is_word(const struct tokenizer *t, int32_t id) {
    if (id < 0 || (size_t)id >= t->vocab.ids || !t->vocab.token[id].used || t->vocab.token[id].special)
        return false;
    return t->kind != MODEL_WORDPIECE || id != t->wordpiece.unknown;
}
