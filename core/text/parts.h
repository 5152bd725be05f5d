/* The parts of a tokenizer, private to core/text.
 *
 * A text goes: added tokens written in it are cut out; the rest is normalised (normalizer.c),
 * cut into words (pretokenizer.c), turned into ids (the model: wordpiece.c); then the special
 * tokens of the model are set around it (template.c).  Another kind of tokenizer brings
 * another normaliser, cut and model behind the same struct tokenizer. */
#ifndef CORE_TEXT_PARTS_H
#define CORE_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/text/decoder.h"
#include "core/text/vocab.h"

/* ---- a list of ids that grows ---- */
struct id_list {
    int32_t *ids;
    size_t n, room;
};
void id_list_add(struct id_list *l, int32_t id);

/* ---- normaliser (BERT's) ---- */
struct normalizer {
    bool on; /* false: text as it is */
    bool clean, ideographs, strip_accents, lowercase;
};
/* Appends the normalised form of n bytes to out. */
void normalizer_run(const struct normalizer *z, const char *s, size_t n, struct buf *out);

/* ---- words (BERT's: cut at blanks, each punctuation sign alone) ---- */
/* Finds the next word of s[*at … n): true with [*from, *to), and *at moved past it. */
bool pretokenizer_next(const char *s, size_t n, size_t *at, size_t *from, size_t *to);

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
struct tokenizer {
    struct vocab vocab;
    struct normalizer normalizer;
    struct wordpiece model;
    struct added_set raw, normalized; /* looked for before and after normalising */
    struct template single, pair;
    struct decoder decoder;
};

/* Readers (read_json.c, read_vocab.c).  `settings` is tokenizer_config.json or NULL. */
int tokenizer_read_json(struct tokenizer *t, const char *path, const char *settings_path,
                        const void *settings, struct buf *report, struct err *e);
int tokenizer_read_vocab(struct tokenizer *t, const char *path, const char *settings_path,
                         const void *settings, struct buf *report, struct err *e);
/* Adds a token: its id is `id`, or the one it has in the vocabulary, or the next free one
 * (id -1).  Refused when the id belongs to another token. */
int tokenizer_add(struct tokenizer *t, const char *file, const struct added_token *token,
                  int64_t id, struct buf *report, struct err *e);
/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP]. */
int tokenizer_bert_templates(struct tokenizer *t, const char *file, const char *cls,
                             const char *sep, struct err *e);

#endif
