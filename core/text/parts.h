/* The parts of a tokenizer, private to core/text.
 *
 * A text goes: added tokens written in it are cut out; the rest is normalised (normalizer.c),
 * cut into pieces (cutter.c), turned into ids (the model: wordpiece.c, bpe.c, unigram.c); then
 * the special tokens of the model are set around it (template.c).  Back to text: decoder.c.
 *
 * The files of a tokenizer are read in read_*.c; added tokens are in added.c. */
#ifndef CORE_TEXT_PARTS_H
#define CORE_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/bpe.h"
#include "core/text/cutter.h"
#include "core/text/decoder.h"
#include "core/text/normalizer.h"
#include "core/text/unigram.h"
#include "core/text/vocab.h"

/* ---- a list of ids that grows ---- */
struct id_list {
    int32_t *ids;
    size_t n, room;
};
void id_list_add(struct id_list *l, int32_t id);

/* ---- WordPiece (Schuster and Nakajima 2012; greedy longest match first) ---- */
struct wordpiece {
    char *prefix;       /* "##": what continuing pieces begin with */
    size_t prefix_size;
    int32_t unknown;    /* id */
    size_t most_chars;  /* a word with more code points is unknown */
};
/* Appends the ids of one word; returns how many unknown tokens that gave (0 or 1). */
size_t wordpiece_word(const struct wordpiece *w, const struct vocab *v, const char *s, size_t n,
                      struct id_list *out);

/* ---- added tokens ---- */
struct added_token {
    char *text; /* as it is looked for: normalised when `normalized` */
    size_t size;
    int32_t id;
    bool special, single_word, lstrip, rstrip, normalized;
};
struct added_set {
    struct added_token *token; /* sorted by bytes after added_sort */
    size_t count, room;
    bool first[256];           /* bytes that one begins with */
};
void added_add(struct added_set *a, const struct added_token *t); /* takes over t->text */
void added_sort(struct added_set *a);
void added_release(struct added_set *a);
/* The next added token in s at or after *at, leftmost and longest: true with its span
 * (widened by lstrip and rstrip) and *token.  `floor`: lstrip takes nothing before it. */
bool added_next(const struct added_set *a, const char *s, size_t n, size_t at, size_t floor,
                size_t *from, size_t *to, const struct added_token **token);

/* ---- what is set around texts ---- */
enum { TEMPLATE_PIECES = 16 };
struct template_piece {
    int text;    /* 0: first text, 1: second, -1: the token `id` */
    int32_t id;
    uint8_t type;
};
struct template {
    int pieces;
    int tokens;  /* special ones among the pieces */
    struct template_piece piece[TEMPLATE_PIECES];
};
/* How many tokens of each side stay when both may have `room` together: the longer side
 * gives first, and when both must give, the side that was longer (on a tie the second)
 * keeps the odd one. */
void template_cut(size_t room, size_t *a, size_t *b);

/* ---- the whole ---- */
enum model_kind { MODEL_WORDPIECE, MODEL_BPE, MODEL_UNIGRAM };
struct tokenizer {
    struct vocab vocab;
    struct normalizer normalizer;
    struct cutter cutter;
    enum model_kind kind;
    struct wordpiece wordpiece; /* the one that `kind` says is filled */
    struct bpe bpe;
    struct unigram unigram;
    struct added_set raw, normalized; /* looked for before and after normalising */
    struct template single, pair;
    struct decoder decoder;
    const char *file[4]; /* names within the folder, in the order read; then NULL */
};

/* What a reader is given beside its own file. */
struct reading {
    const char *folder;
    const char *settings_path;
    const json_t *settings; /* tokenizer_config.json, or NULL */
    struct buf *report;     /* or NULL */
};
/* Readers of whole tokenizers: tokenizer.json; vocab.txt; vocab.json with merges.txt. */
int tokenizer_read_json(struct tokenizer *t, const char *path, const struct reading *r,
                        struct err *e);
int tokenizer_read_vocab(struct tokenizer *t, const char *path, const struct reading *r,
                         struct err *e);
int tokenizer_read_merges(struct tokenizer *t, const char *vocab_path, const char *merges_path,
                          const struct reading *r, struct err *e);

/* Parts of them. */
enum { TOKENIZER_FILE = 64 << 20, TOKENIZER_ADDED = 1 << 16, TOKENIZER_ADDED_SIZE = 512 };
/* The "model" of tokenizer.json: vocabulary and what its kind needs. */
int tokenizer_read_model(struct tokenizer *t, const char *path, const json_t *root,
                         struct buf *report, struct err *e);
/* An object {"token": id}; `where` is what holds it, for messages. */
int tokenizer_read_ids(struct tokenizer *t, const char *path, const char *where,
                       const json_t *vocab, struct err *e);
/* The "post_processor" of tokenizer.json. */
int tokenizer_read_templates(struct tokenizer *t, const char *path, const json_t *part,
                             struct buf *report, struct err *e);
/* "added_tokens" of tokenizer.json. */
int tokenizer_read_added(struct tokenizer *t, const char *path, const json_t *root,
                         struct buf *report, struct err *e);
/* A special token as tokenizer_config.json names it (a string, or an object with flags):
 * *text and `lstrip` are the defaults; *text becomes the name.  One that the vocabulary lacks
 * is only said. */
int tokenizer_special(struct tokenizer *t, const char *path, const struct reading *r,
                      const char *key, const char **text, bool lstrip, struct err *e);
/* "added_tokens_decoder" of tokenizer_config.json. */
int tokenizer_added_decoder(struct tokenizer *t, const struct reading *r, struct err *e);

/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP]. */
int tokenizer_bert_templates(struct tokenizer *t, const char *file, const char *cls,
                             const char *sep, struct err *e);
/* <s> A </s> and <s> A </s> </s> B </s>, all of type 0. */
int tokenizer_roberta_templates(struct tokenizer *t, const char *file, const char *cls,
                                const char *sep, struct err *e);
/* A, and A B: no special token. */
void tokenizer_plain_templates(struct tokenizer *t);

#endif
