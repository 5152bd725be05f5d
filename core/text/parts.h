/* The components of a tokenizer, private to core/text.
 *
 * Encoding: added tokens written in the text are cut out; the rest is normalized (normalizer.c), split into
 * pieces (pretokenizer.c) and converted to ids (wordpiece.c, bpe.c, unigram.c); then special tokens of
 * the model are added around it (template.c).  Decoding: decoder.c.
 *
 * The files of a tokenizer are read in read_*.c, and written as metadata of GGUF files in write_gguf.c; added
 * tokens are in added.c. */
#ifndef CORE_TEXT_PARTS_H
#define CORE_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/bpe.h"
#include "core/text/decoder.h"
#include "core/text/normalizer.h"
#include "core/text/pretokenizer.h"
#include "core/text/tokenizer.h"
#include "core/text/unigram.h"
#include "core/text/vocab.h"

/* ---- a growing list of ids ---- */
struct id_list {
    int32_t *ids;
    size_t n, room;
};
void id_list_add(struct id_list *l, int32_t id);

/* ---- WordPiece (Schuster and Nakajima 2012; greedy longest match first) ---- */
struct wordpiece {
    char *prefix;       /* "##": the prefix of continuing pieces */
    size_t prefix_size;
    int32_t unknown;    /* id */
    size_t most_chars;  /* a word with more code points is unknown */
};
/* Appends the ids of one word; returns the number of unknown tokens among them (0 or 1). */
size_t wordpiece_word(const struct wordpiece *w, const struct vocab *v, const char *s, size_t n,
                      struct id_list *out);

/* ---- added tokens ---- */
struct added_token {
    char *text; /* the searched form: normalized when `normalized` */
    size_t size;
    int32_t id;
    bool special, single_word, lstrip, rstrip, normalized;
};
struct added_set {
    struct added_token *token; /* sorted by bytes after added_sort */
    size_t count, room;
    bool first[256];           /* first bytes of the tokens */
};
void added_add(struct added_set *a, const struct added_token *t); /* takes ownership of t->text */
void added_sort(struct added_set *a);
void added_release(struct added_set *a);
/* Control tokens, which are not recognized in a text: special tokens and those of a list. */
struct added_off {
    const int32_t *id;
    size_t n;
    size_t found; /* occurrences that were passed over */
};
/* Returns whether a token is one of these; false when off is NULL. */
bool added_is_off(const struct added_off *off, int32_t id, bool special);
/* Finds the next added token in s at or after *at, leftmost and longest: true with its span (widened by
 * lstrip and rstrip) and *token.  `floor`: lstrip does not extend before it.  `off` may be NULL. */
bool added_next(const struct added_set *a, struct added_off *off, const char *s, size_t n, size_t at,
                size_t floor, size_t *from, size_t *to, const struct added_token **token);

/* ---- special tokens around texts ---- */
enum { TEMPLATE_PIECES = TOKENIZER_LEAD };
struct template_piece {
    int text;    /* 0: first text, 1: second, -1: the token `id` */
    int32_t id;
    uint8_t type;
};
struct template {
    int pieces;
    int tokens;  /* number of special tokens among the pieces */
    struct template_piece piece[TEMPLATE_PIECES];
};
/* Computes how many tokens of each side remain when both share `room`: the longer side is truncated first;
 * when both are, the side that was longer (on a tie the second) keeps the odd token. */
void template_cut(size_t room, size_t *a, size_t *b);

/* ---- the tokenizer ---- */
enum model_kind { MODEL_WORDPIECE, MODEL_BPE, MODEL_UNIGRAM };
struct tokenizer {
    struct vocab vocab;
    struct normalizer normalizer;
    struct pretokenizer pretokenizer;
    enum model_kind kind;
    struct wordpiece wordpiece; /* the member selected by `kind` is used */
    struct bpe bpe;
    struct unigram unigram;
    struct added_set raw, normalized; /* searched before and after normalization */
    struct template single, pair;
    struct decoder decoder;
    int32_t bos, eos; /* of tokenizer_config.json; -1: none */
    const char *file[4]; /* names of the files read from the folder, in order; then NULL */
};

/* Further input of a reader. */
struct reading {
    const char *folder;
    const char *settings_path;
    const json_t *settings; /* tokenizer_config.json, or NULL */
    struct buf *report;     /* or NULL */
};
/* Appends the ids of a text in which control tokens are off (struct added_off), so that they are encoded as
 * ordinary characters.  Other added tokens are recognized.  Returns the number of unknown tokens. */
size_t tokenizer_plain_ids(const struct tokenizer *t, const char *s, size_t n, enum text_place place,
                           struct added_off *off, struct id_list *out);

/* Returns the name of the i-th kind of byte-level tokenizers in GGUF files; NULL past the last. */
const char *tokenizer_gguf_pre(int i);

/* Readers of complete tokenizers: tokenizer.json; vocab.txt; vocab.json with merges.txt. */
int tokenizer_read_json(struct tokenizer *t, const char *path, const struct reading *r,
                        struct err *e);
int tokenizer_read_root(struct tokenizer *t, const char *path, const json_t *root, const struct reading *r,
                        struct err *e);
int tokenizer_read_vocab(struct tokenizer *t, const char *path, const struct reading *r,
                         struct err *e);
int tokenizer_read_merges(struct tokenizer *t, const char *vocab_path, const char *merges_path,
                          const struct reading *r, struct err *e);

/* Readers of their parts. */
enum { TOKENIZER_FILE = 64 << 20, TOKENIZER_ADDED = 1 << 16, TOKENIZER_ADDED_SIZE = 512 };
/* Reads "model" of tokenizer.json: vocabulary and the settings of its kind. */
int tokenizer_read_model(struct tokenizer *t, const char *path, const json_t *root,
                         struct buf *report, struct err *e);
/* Reads an object {"token": id}; `where` identifies it in messages. */
int tokenizer_read_ids(struct tokenizer *t, const char *path, const char *where,
                       const json_t *vocab, struct err *e);
/* Reads "post_processor" of tokenizer.json. */
int tokenizer_read_templates(struct tokenizer *t, const char *path, const json_t *part,
                             struct buf *report, struct err *e);
/* Reads "added_tokens" of tokenizer.json. */
int tokenizer_read_added(struct tokenizer *t, const char *path, const json_t *root,
                         struct buf *report, struct err *e);
/* Reads a special token of tokenizer_config.json (a string, or an object with flags): *text and `lstrip` are
 * the defaults; *text becomes the name.  A token missing from the vocabulary is only reported. */
int tokenizer_special(struct tokenizer *t, const char *path, const struct reading *r,
                      const char *key, const char **text, bool lstrip, struct err *e);
/* Returns the id of a token that tokenizer_config.json names as a string or an object, or -1. */
int32_t tokenizer_named(const struct tokenizer *t, const json_t *settings, const char *key);
/* Reads "added_tokens_decoder" of tokenizer_config.json. */
int tokenizer_added_decoder(struct tokenizer *t, const struct reading *r, struct err *e);

/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP]. */
int tokenizer_bert_templates(struct tokenizer *t, const char *file, const char *cls,
                             const char *sep, struct err *e);
/* <s> A </s> and <s> A </s> </s> B </s>, all of type 0. */
int tokenizer_roberta_templates(struct tokenizer *t, const char *file, const char *cls,
                                const char *sep, struct err *e);
/* BOS A EOS and BOS A EOS BOS B EOS, the second half of type 1; an id of -1 is left out. */
void tokenizer_end_templates(struct tokenizer *t, int32_t bos, int32_t eos);
/* A, and A B: without special tokens. */
void tokenizer_plain_templates(struct tokenizer *t);

#endif
