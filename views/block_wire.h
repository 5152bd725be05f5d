/* A stack's layer as parts along a wire, and where a module leaves and joins it.  Private to
 * the block diagram.
 *
 * In block_wire.c; which module runs beside which part in block_lanes.c. */
#ifndef VIEWS_BLOCK_WIRE_H
#define VIEWS_BLOCK_WIRE_H

#include "views/block.h"

/* PART_CROSS + PART_Q … PART_CROSS + PART_LN_A are cross-attention's own. */
enum part_id { PART_X, PART_Q, PART_K, PART_V, PART_HEADS, PART_WO, PART_ADD_A, PART_LN_A, PART_W1,
               PART_ACT, PART_W2, PART_ADD_F, PART_LN_F, PART_CROSS,
               PART_COUNT = PART_CROSS + PART_LN_A + 1 };

struct wire {
    struct canvas *c;
    const struct arch *a;          /* NULL: not known, drawn as an encoder */
    int stack;
    int y;                         /* its row */
    int x0, x1;                    /* columns there are */
    int order[PART_COUNT], parts;  /* along the wire */
    int at[PART_COUNT];            /* first column of each part */
    int end[PART_COUNT];           /* column behind it */
    int gap;                       /* the least between two parts */
    const char *text[PART_COUNT];
};

/* Puts the stack's parts on row y between x0 and x0+w. */
void wire_lay(struct wire *d, struct canvas *c, const struct arch *a, int stack, int x0, int w);
void wire_draw(const struct wire *d, const struct method *m);
/* The residual streams, `above` rows over the wire; not where parts stand too close. */
void wire_residuals(const struct wire *d, int above);
/* Shapes on the wires, where they are long enough. */
void wire_shapes(const struct wire *d);

/* Columns where a module leaves the wire, and where it comes back. */
int wire_read(const struct wire *d, enum tap t, int site);
int wire_write(const struct wire *d, enum tap t, int site);
/* First column of a sublayer and the one behind it; false where the stack has none. */
bool wire_sublayer(const struct wire *d, int site, int *from, int *to);
/* Is nothing drawn on w columns from x of row y?  Columns outside the canvas count as blank. */
bool wire_blank(const struct wire *d, int x, int w, int y);

/* The modules below the wire on at most `rows` lanes; returns the deepest used. */
int lanes_draw(const struct wire *d, const struct method *m, int rows, int focus);
/* The same on one row: the number of each module where it writes. */
void lanes_marks(const struct wire *d, const struct method *m, int focus);

#endif
