/* A layer of a stack as parts along a wire, and the points where a module leaves and joins it.  Private to
 * the block diagram.
 *
 * In block_wire.c; the lanes of the modules in block_lanes.c. */
#ifndef VIEWS_BLOCK_WIRE_H
#define VIEWS_BLOCK_WIRE_H

#include "views/block.h"

/* PART_CROSS + PART_Q … PART_CROSS + PART_LN_A are those of cross-attention. */
enum part_id { PART_X, PART_Q, PART_K, PART_V, PART_HEADS, PART_WO, PART_ADD_A, PART_LN_A, PART_W1,
               PART_ACT, PART_W2, PART_ADD_F, PART_LN_F, PART_CROSS,
               PART_COUNT = PART_CROSS + PART_LN_A + 1 };

struct wire {
    struct canvas *c;
    const struct arch *a;          /* NULL: unknown, drawn as an encoder */
    int stack;
    int y;                         /* its row */
    int x0, x1;                    /* available columns */
    int order[PART_COUNT], parts;  /* along the wire */
    int at[PART_COUNT];            /* first column of each part */
    int end[PART_COUNT];           /* column behind it */
    int gap;                       /* the least between two parts */
    const char *text[PART_COUNT];
};

/* Puts the stack's parts on row y between x0 and x0+w. */
void wire_lay(struct wire *d, struct canvas *c, const struct arch *a, int stack, int x0, int w);
void wire_draw(const struct wire *d, const struct method *m);
/* Draws the residual streams, `above` rows over the wire, unless parts are too close. */
void wire_residuals(const struct wire *d, int above);
/* Draws shapes on the wires that are long enough. */
void wire_shapes(const struct wire *d);

/* Return the columns where a module leaves the wire, and where it returns. */
int wire_read(const struct wire *d, enum tap t, int site);
int wire_write(const struct wire *d, enum tap t, int site);
/* Writes the first column of a sublayer and the one after it; false if the stack has none. */
bool wire_sublayer(const struct wire *d, int site, int *from, int *to);
/* Returns whether w columns from x of row y are blank.  Columns outside the canvas count as blank. */
bool wire_blank(const struct wire *d, int x, int w, int y);

/* Draws the modules below the wire on at most `rows` lanes; returns the number of lanes used. */
int lanes_draw(const struct wire *d, const struct method *m, int rows, int focus);
/* Draws the modules on one row: the number of each where it writes. */
void lanes_marks(const struct wire *d, const struct method *m, int focus);

#endif
