/* One transformer block as a line of parts with its wires, and the modules of a method on
 * lanes below: each leaves the wire where it reads and comes back where it writes. */
#ifndef VIEWS_BLOCK_H
#define VIEWS_BLOCK_H

#include "core/method/space.h"
#include "core/model/arch.h"
#include "views/canvas.h"

/* Draws into r; a may be NULL (then without shapes).  Module `focus` is drawn bold.
 * Returns the rows used. */
int block_draw(struct canvas *c, struct rect r, const struct method *m, const struct arch *a,
               int focus);

/* The module's own shape: "384→16→384", "P 16×384", "⊙ 1536". */
void block_shape(const struct module *m, const struct arch *a, char out[64]);
enum ink module_ink(int index);

#endif
