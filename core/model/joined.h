/* Rows that a method adds to every sequence of the encoder (struct joined_rows, taps.h): their positions and
 * those of the tokens in the matrices of the stack.  Without such rows everything refers to the tokens alone.
 *
 * Used by the forward pass and by code that inspects layer outputs. */
#ifndef CORE_MODEL_JOINED_H
#define CORE_MODEL_JOINED_H

#include "core/model/model.h"

/* Sets f->rows from f->tokens and the rows of the hooks. */
void joined_init(struct forward *f);
/* Returns whether rows are added to the sequences of this pass. */
bool joined_on(const struct forward *f);
/* Inserts the method's rows into x, which has a row per token of the batch: the result has a row for each of
 * f->rows.  `words` is passed to the hooks. */
node joined_put(const struct forward *f, node x, node words);
/* Return positions and types of all rows, valid until the end of the step or the next recycling. */
const int32_t *joined_positions(const struct forward *f);
const int32_t *joined_types(const struct forward *f);

/* Return the row of a sequence's token in the matrices of the encoder, and its number of tokens. */
int joined_token(const struct forward *f, int sequence, int token);
int joined_tokens(const struct forward *f, int sequence);
/* Returns the row of a sequence that the classifier reads: the last one of a causal stack. */
int joined_read(const struct forward *f, int sequence);
/* Computes the mean over each sequence's tokens, without added rows; sequences × d. */
node joined_mean(const struct forward *f, node x);

#endif
