/* Makes a WordPiece vocabulary of texts: BERT's uncased words, cut into signs, of which again and again the
 * commonest neighbours become one token (ties: the token whose bytes come first).  The same texts give the
 * same vocabulary, in whatever order their lines come.
 *
 * What core/text reads back from vocab.txt is the tokenizer that the counts are of. */
#ifndef CORE_TEXT_VOCAB_TRAIN_H
#define CORE_TEXT_VOCAB_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* The first tokens: [PAD] [UNK] [CLS] [SEP] [MASK], ids 0 … 4. */
enum { VOCAB_TRAIN_SPECIAL = 5, VOCAB_TRAIN_LEAST = 16, VOCAB_TRAIN_MOST = 1 << 18 };
extern const char *const vocab_train_special[VOCAB_TRAIN_SPECIAL];
/* Characters of a word at most; a longer one is unknown, as the tokenizer has it. */
enum { VOCAB_TRAIN_WORD = 100 };

struct vocab_trainer;
struct vocab_trainer *vocab_trainer_new(void);
void vocab_trainer_free(struct vocab_trainer *t);
/* Counts the words of a text of n bytes of UTF-8.  ERR_INPUT: more distinct words than are taken. */
int vocab_trainer_add(struct vocab_trainer *t, const char *text, size_t n, struct err *e);
/* Adds the lines of vocab.txt to `out`, `size` of them or, where no two neighbours are left that occur twice,
 * fewer; and a line to `report` (may be NULL).  Once.  Signs that are so rare that all together are less than
 * one in 2,000 are left out, and words with them unknown.  ERR_INPUT: there is no word.  ERR_USAGE: the signs
 * alone are more than `size`. */
int vocab_trainer_run(struct vocab_trainer *t, int size, struct buf *out, struct buf *report, struct err *e);

#endif
