/* What the stacks of the transformer are made of: weights by their place, taps, dropout,
 * norms, and the two kinds of sublayer.  Only the files of the forward pass, transformer.c and
 * sublayer.c, use this.
 *
 * Everything runs on the forward pass's tape at once.  A site is filled as the sublayer
 * goes on; the caller sets stack, sublayer, layer and rows. */
#ifndef CORE_MODEL_SUBLAYER_H
#define CORE_MODEL_SUBLAYER_H

#include "core/model/model.h"

/* The tensor with a role at a place; NODE_NONE where the family has none (T5's biases). */
node weight_at(const struct forward *f, enum tensor_role role, const struct site *s);
/* The family's norm over x (+ residual). */
node sublayer_norm(const struct forward *f, const struct site *s, node x, node residual,
                   enum tensor_role w, enum tensor_role b);
/* Whether a method reads or writes the tap there. */
bool sublayer_wants(const struct forward *f, const struct site *s, enum tap tap);
/* What a method makes of a tap's value; notes the value in the site. */
node sublayer_offer(const struct forward *f, struct site *s, enum tap tap, enum tap_stage stage,
                    node value);
/* Dropout with probability p at a named place of the site. */
node sublayer_drop(const struct forward *f, const struct site *s, const char *what, double p,
                   node x);

/* Attention of the stream x, and back into it: n×d.  `keys`: the encoder's output, which
 * cross-attention reads; self-attention reads its own input. */
node sublayer_attend(const struct forward *f, struct site *s, node x, node keys);
node sublayer_feed_forward(const struct forward *f, struct site *s, node x);

#endif
