/* Building blocks of the transformer stacks: weights by location, taps, dropout, norms, and the two kinds of
 * sublayer.  Only the files of the forward pass, transformer.c and sublayer.c, use this.
 *
 * Everything is recorded on the tape of the forward pass.  A site is filled while the sublayer runs; the
 * caller sets stack, sublayer, layer and rows. */
#ifndef CORE_MODEL_SUBLAYER_H
#define CORE_MODEL_SUBLAYER_H

#include "core/model/model.h"

/* Returns the tensor with a role at a location; NODE_NONE if the family has none (T5's biases). */
node weight_at(const struct forward *f, enum tensor_role role, const struct site *s);
/* Likewise for a matrix that examples are multiplied by: in the precision of the pass. */
node map_at(const struct forward *f, enum tensor_role role, const struct site *s);
/* Applies the family's norm to x (+ residual). */
node sublayer_norm(const struct forward *f, const struct site *s, node x, node residual,
                   enum tensor_role w, enum tensor_role b);
/* Returns whether a method reads or writes the tap there. */
bool sublayer_wants(const struct forward *f, const struct site *s, enum tap tap);
/* Offers the value of a tap to the method, stores the result in the site and returns it. */
node sublayer_offer(const struct forward *f, struct site *s, enum tap tap, enum tap_stage stage,
                    node value);
/* Applies dropout with probability p at a named position of the site. */
node sublayer_drop(const struct forward *f, const struct site *s, const char *what, double p,
                   node x);

/* Runs an attention sublayer on the stream x: n×d.  `keys`: the encoder's output for cross-attention;
 * self-attention uses its own input. */
node sublayer_attend(const struct forward *f, struct site *s, node x, node keys);
node sublayer_feed_forward(const struct forward *f, struct site *s, node x);

#endif
