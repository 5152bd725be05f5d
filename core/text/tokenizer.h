/* Text to token ids and back, as defined by the files of a model folder.
 *
 * A tokenizer is immutable after reading and can be shared by any number of threads. */
#ifndef CORE_TEXT_TOKENIZER_H
#define CORE_TEXT_TOKENIZER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct tokenizer;

/* Reads the tokenizer of a model folder: tokenizer.json (WordPiece, BPE, Unigram), or vocab.json with
 * merges.txt, or vocab.txt, the latter two with tokenizer_config.json.  `report` (may be NULL) receives a
 * line per remark: which file is used where two disagree, ignored truncation or padding, added tokens.
 * Returns NULL on failure; *e names file and reason. */
struct tokenizer *tokenizer_read(const char *folder, struct buf *report, struct err *e);
/* Likewise from the contents of tokenizer.json and of tokenizer_config.json (NULL: none); `name` is their place in
 * messages. */
struct tokenizer *tokenizer_make(const char *name, const json_t *root, const json_t *settings,
                                 struct buf *report, struct err *e);
/* Returns the content of tokenizer.json that corresponds to the metadata "tokenizer.ggml.KEY" of a GGUF file, an
 * object of KEY; *settings becomes that of tokenizer_config.json.  ERR_INPUT names the key: an unsupported kind of
 * tokenizer, lists of different lengths, … */
json_t *tokenizer_from_gguf(const char *file, const json_t *meta, json_t **settings, struct err *e);
/* Returns the opposite, the metadata of a file with this many embedding rows.  ERR_USAGE for a tokenizer that no
 * such metadata describes. */
json_t *tokenizer_to_gguf(const struct tokenizer *t, int rows, struct err *e);
void tokenizer_free(struct tokenizer *t);
/* Returns the name of the i-th file that it was read from; NULL past the last. */
const char *tokenizer_file(const struct tokenizer *t, int i);

/* Encodes a text without special tokens around it; special tokens written in the text are recognized as in
 * the reference library.  *ids is grown with xrealloc; *room is its capacity.  Returns the number of ids. */
size_t tokenizer_ids(const struct tokenizer *t, const char *text, size_t n, int32_t **ids,
                     size_t *room);

/* An encoded input: [CLS] a [SEP] or [CLS] a [SEP] b [SEP] (or as the folder defines), truncated to max_len
 * by shortening the longer side first; when both are truncated, each keeps half and the side that was longer
 * (on a tie the second) the odd token, as in the reference.  End tokens stay. */
struct encoded {
    int32_t *ids, *types; /* n each, owned (encoded_release) */
    size_t n;
    size_t cut_a, cut_b;  /* tokens truncated from each side */
    bool vanished;        /* a non-empty text was truncated to no tokens */
    size_t unknown;       /* unknown tokens among ids, before truncation */
    size_t plain;         /* tokens of the texts before truncation, without special ones */
    bool special_in_text; /* a special token is written in the text */
    int32_t greatest;     /* greatest id among ids (-1 when n is 0) */
};
/* Encodes a text, or a pair if b is not NULL.  ERR_USAGE when max_len cannot hold the special tokens (2, or 3
 * for a pair). */
int tokenizer_encode(const struct tokenizer *t, const char *a, size_t a_size, const char *b,
                     size_t b_size, size_t max_len, struct encoded *out, struct err *e);
void encoded_release(struct encoded *x);

/* Writes the special tokens that precede a single text to `ids`, which has room for TOKENIZER_LEAD, and
 * returns their number. */
enum { TOKENIZER_LEAD = 16 };
size_t tokenizer_lead(const struct tokenizer *t, int32_t *ids);

/* Appends the decoded text of n ids to out; unknown ids are skipped, as are special tokens with
 * `skip_special`.  Invalid UTF-8 becomes U+FFFD.  The text may contain control characters. */
void tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n, bool skip_special,
                      struct buf *out);

/* Return the greatest id plus 1; the name of an id ("?" for none); and the id of a name (-1 for none). */
int32_t tokenizer_size(const struct tokenizer *t);
const char *tokenizer_token(const struct tokenizer *t, int32_t id);
int32_t tokenizer_id(const struct tokenizer *t, const char *token);
/* Returns the id of the end token that the tokenizer's files name, or -1. */
int32_t tokenizer_eos(const struct tokenizer *t);
/* Returns whether an id is an ordinary token, neither special nor unknown. */
bool tokenizer_is_word(const struct tokenizer *t, int32_t id);

#endif
