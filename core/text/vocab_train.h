/* Trains a WordPiece vocabulary: words of BERT's uncased tokenizer, split into signs, of which the most
 * frequent neighbors are merged repeatedly (ties: the token whose bytes come first).  The same texts produce
 * the same vocabulary for any order of their lines.
 *
 * The counts are those of the tokenizer that core/text reads from the resulting vocab.txt. */
#ifndef CORE_TEXT_VOCAB_TRAIN_H
#define CORE_TEXT_VOCAB_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* The first tokens: [PAD] [UNK] [CLS] [SEP] [MASK], ids 0 … 4. */
enum { VOCAB_TRAIN_SPECIAL = 5, VOCAB_TRAIN_LEAST = 16, VOCAB_TRAIN_MOST = 1 << 18 };
extern const char *const vocab_train_special[VOCAB_TRAIN_SPECIAL];
/* Maximum characters of a word; a longer one is unknown, as in the tokenizer. */
enum { VOCAB_TRAIN_WORD = 100 };

struct vocab_trainer;
struct vocab_trainer *vocab_trainer_new(void);
void vocab_trainer_free(struct vocab_trainer *t);
/* Counts the words of a text of n bytes of UTF-8.  ERR_INPUT: too many distinct words. */
int vocab_trainer_add(struct vocab_trainer *t, const char *text, size_t n, struct err *e);
/* Appends the lines of vocab.txt to `out`: `size` of them, or fewer if no two neighbors occur twice; and a
 * line to `report` (may be NULL).  Called once.  Rare signs, together less than one in 2,000, are dropped,
 * and words with them are unknown.  ERR_INPUT: the text has no words.  ERR_USAGE: the signs alone exceed
 * `size`. */
int vocab_trainer_run(struct vocab_trainer *t, int size, struct buf *out, struct buf *report, struct err *e);

#endif
