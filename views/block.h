/* A diagram of one layer of each stack as a wire with parts, and the modules of a method on lanes
 * below: each leaves the wire where it reads and returns where it writes.  E is the output of the
 * encoder, the input of the keys and values of cross-attention. */
#ifndef VIEWS_BLOCK_H
#define VIEWS_BLOCK_H

#include "core/method/space.h"
#include "core/model/arch.h"
#include "views/canvas.h"

/* Trainable parameters at each enum stack and enum sublayer. */
struct block_counts {
    size_t trained[2][4];
};
/* Draws into r; a may be NULL (then as an encoder without shapes), n too (then without
 * counts; they are shown where there are two stacks).  Module `focus` is drawn bold.
 * Returns the rows used. */
int block_draw(struct canvas *c, struct rect r, const struct method *m, const struct arch *a,
               int focus, const struct block_counts *n);

/* Writes the shape of the module: "384→16→384", "P 16×384", "⊙ 1536". */
void block_shape(const struct module *m, const struct arch *a, char out[64]);
enum ink module_ink(int index);

#endif
