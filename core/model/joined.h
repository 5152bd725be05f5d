/* Rows that a method joins to every sequence of the encoder (struct joined_rows, taps.h): where they and the
 * tokens stand in the stack's matrices.  Without such rows all of this is the tokens alone.
 *
 * For the files of the forward pass, and for who looks at what a layer made. */
#ifndef CORE_MODEL_JOINED_H
#define CORE_MODEL_JOINED_H

#include "core/model/model.h"

/* Sets f->rows, of f->tokens and the hooks' rows. */
void joined_init(struct forward *f);
/* Whether rows join this pass's sequences. */
bool joined_on(const struct forward *f);
/* x, a row a token of the batch, with the method's rows put in: a row for each of f->rows.  `words` is what
 * the hooks are given. */
node joined_put(const struct forward *f, node x, node words);
/* Positions and types of all rows; valid until the step's end or the next recycling. */
const int32_t *joined_positions(const struct forward *f);
const int32_t *joined_types(const struct forward *f);

/* The row of a sequence's token in the encoder's matrices, and how many tokens it has. */
int joined_token(const struct forward *f, int sequence, int token);
int joined_tokens(const struct forward *f, int sequence);
/* The row of a sequence that the classifier reads. */
int joined_read(const struct forward *f, int sequence);
/* The mean over each sequence's own tokens; sequences × d. */
node joined_mean(const struct forward *f, node x);

#endif
