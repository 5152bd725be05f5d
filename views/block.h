/* One layer of each stack as a line of parts with its wires, and the modules of a method on
 * lanes below: each leaves the wire where it reads and comes back where it writes.  E is
 * the encoder's output, from which cross-attention makes its keys and values. */
#ifndef VIEWS_BLOCK_H
#define VIEWS_BLOCK_H

#include "core/method/space.h"
#include "core/model/arch.h"
#include "views/canvas.h"

/* Values trained at each enum stack and enum sublayer. */
struct block_counts {
    size_t trained[2][4];
};
/* Draws into r; a may be NULL (then as an encoder without shapes), n too (then without
 * counts; they are shown where there are two stacks).  Module `focus` is drawn bold.
 * Returns the rows used. */
int block_draw(struct canvas *c, struct rect r, const struct method *m, const struct arch *a,
               int focus, const struct block_counts *n);

/* The module's own shape: "384→16→384", "P 16×384", "⊙ 1536". */
void block_shape(const struct module *m, const struct arch *a, char out[64]);
enum ink module_ink(int index);

#endif
