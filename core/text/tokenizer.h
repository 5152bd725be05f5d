/* Text to token ids and back, as the model's own folder says.
 *
 * A tokenizer is read once and then only read: any number of threads may use it. */
#ifndef CORE_TEXT_TOKENIZER_H
#define CORE_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct tokenizer;

/* Reads the tokenizer of a model folder: tokenizer.json (WordPiece, BPE, Unigram), or
 * vocab.json with merges.txt, or vocab.txt, these two with tokenizer_config.json.
 * `report` (may be NULL) gets a line for each thing worth saying: which file won where
 * two disagree, truncation or padding baked in and ignored, added tokens.  NULL on
 * failure; *e names file and reason. */
struct tokenizer *tokenizer_read(const char *folder, struct buf *report, struct err *e);
void tokenizer_free(struct tokenizer *t);
/* The files of the folder that it was read from, by name; NULL past the last, i from 0 to there. */
const char *tokenizer_file(const struct tokenizer *t, int i);

/* Ids of a text without the special tokens around it, but with special tokens that
 * are written in the text recognised as the reference library does.  *ids is grown
 * with xrealloc; *room its capacity.  Returns the count. */
size_t tokenizer_ids(const struct tokenizer *t, const char *text, size_t n, int32_t **ids,
                     size_t *room);

/* What a model takes: [CLS] a [SEP] or [CLS] a [SEP] b [SEP] (or as the folder says), cut to max_len by
 * shortening the longer side first; when both must give, each keeps half and the side that
 * was longer (on a tie the second) the odd token, as the reference does.  End tokens stay. */
struct encoded {
    int32_t *ids, *types; /* n each, owned (encoded_release) */
    size_t n;
    size_t cut_a, cut_b;  /* tokens cut from each side */
    bool vanished;        /* one text had tokens and kept none */
    size_t unknown;       /* unknown tokens among ids, before cutting */
    size_t plain;         /* tokens of the texts before cutting, without special ones */
    bool special_in_text; /* the text spells a special token */
    int32_t greatest;     /* greatest id among ids (-1 when n is 0) */
};
/* b may be NULL (a single text).  ERR_USAGE when max_len cannot hold the special
 * tokens (2, or 3 for a pair). */
int tokenizer_encode(const struct tokenizer *t, const char *a, size_t a_size, const char *b,
                     size_t b_size, size_t max_len, struct encoded *out, struct err *e);
void encoded_release(struct encoded *x);

/* Appends the text of n ids to out, as the folder's decoder makes it; ids that no token has
 * give nothing, nor do special tokens when `skip_special`.  The text is UTF-8 where the
 * tokens are: bytes that are none become U+FFFD.  It may hold control characters. */
void tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n, bool skip_special,
                      struct buf *out);

/* One more than the greatest id; name of an id ("?" when there is none) and back
 * (-1 when there is none). */
int32_t tokenizer_size(const struct tokenizer *t);
const char *tokenizer_token(const struct tokenizer *t, int32_t id);
int32_t tokenizer_id(const struct tokenizer *t, const char *token);
/* Whether an id is a token that a text may be cut into, and none of the special ones, the unknown one among
 * them. */
bool tokenizer_is_word(const struct tokenizer *t, int32_t id);

#endif
