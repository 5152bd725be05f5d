#include "views/block.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "views/block_wire.h"

enum ink module_ink(int index) { return (enum ink)(INK_MODULE_1 + index % 3); }

void block_shape(const struct module *m, const struct arch *a, char out[64]) {
    *out = 0;
    if (function_of(m)->label) function_of(m)->label(m, a, out);
}

/* ---- an encoder alone ---- */

static int draw_encoder(struct canvas *c, struct rect r, const struct method *m,
                        const struct arch *a, int focus) {
    struct wire d;
    bool large = r.w >= 84 && r.h >= 7 && a;
    wire_lay(&d, c, a, STACK_ENCODER, r.x + 3, r.w - 5);
    d.x1 = r.x + r.w - 1;
    d.y = r.y + (large ? 2 : 1);
    wire_draw(&d, m);
    wire_residuals(&d, d.y - r.y);
    if (large) wire_shapes(&d);
    int used = lanes_draw(&d, m, r.y + r.h - d.y - 1, focus);
    return d.y - r.y + 1 + used;
}

/* ---- encoder and decoder ---- */

/* Rows of each of the two wires. */
struct wire_rows {
    int above;  /* over the wire: residual streams, shapes */
    int lanes;  /* below it */
    int counts; /* below those */
    int link;   /* between the wires: the encoder's output on its way */
};

static struct wire_rows share(struct rect r, const struct arch *a) {
    struct wire_rows k = { 0 };
    bool wide = r.w >= 120;
    k.above = r.h < 10 ? 0 : wide && a && r.h >= 14 ? 2 : 1;
    if (r.w < 84 && k.above) k.above = 1;
    k.counts = r.h >= 10;
    k.link = wide && r.h >= 16;
    k.lanes = (r.h - k.link) / 2 - 1 - k.above - k.counts;
    if (k.lanes > 1 && !k.above) k.lanes = 1; /* numbers; the rest is for the formulas */
    if (k.lanes < 0) k.lanes = 0;
    return k;
}

/* Draws the trainable parameters of each sublayer below its end. */
static void block_draw_counts(const struct wire *d, int y, const struct block_counts *n) {
    for (int site = SUB_SELF; site <= SUB_FFN; site++) {
        char text[32];
        int from, to;
        if (!wire_sublayer(d, site, &from, &to)) continue;
        text_thousands((int64_t)n->trained[d->stack][site], text);
        int x = to - canvas_width(d->c, text);
        if (n->trained[d->stack][site] && wire_blank(d, x - 1, to - x + 2, y))
            canvas_text(d->c, x, y, INK_DIM, text);
    }
}

/* Draws a wire with lanes and counts; returns the next row. */
static int draw_stack(struct wire *d, const struct method *m, const struct wire_rows *k, int y,
                      int focus, const struct block_counts *n) {
    d->y = y + k->above;
    canvas_text(d->c, d->x0 - 5, d->y, INK_DIM, d->stack == STACK_DECODER ? "dec" : "enc");
    wire_draw(d, m);
    if (k->above) wire_residuals(d, k->above);
    if (k->above > 1) wire_shapes(d);
    int used = 0;
    if (k->lanes > 1) used = lanes_draw(d, m, k->lanes, focus);
    else if (k->lanes == 1) lanes_marks(d, m, focus);
    if (k->lanes == 1) used = 1;
    y = d->y + 1 + used;
    if (n && k->counts) block_draw_counts(d, y, n);
    else if (n && k->lanes) block_draw_counts(d, y - 1, n);
    return y + k->counts;
}

/* Replaces the label of a line at this place by the line, so that none runs through a word. */
static void close_line(struct canvas *c, int x, int y) {
    const struct cell *at;
    int from = x, to = x;
    while ((at = canvas_at(c, from, y)) && at->cp < 0x2500) from--;
    while ((at = canvas_at(c, to, y)) && at->cp < 0x2500) to++;
    bool line = canvas_at(c, from, y) && canvas_at(c, from, y)->cp == 0x2500;
    for (int i = from + 1; line && at && at->cp == 0x2500 && i < to; i++)
        canvas_put(c, i, y, canvas_style(c, INK_DIM), 0x2500);
}

/* Draws the line from the end of the encoder to the keys and values of cross-attention. */
static void draw_link(const struct wire *from, const struct wire *to, int y) {
    struct canvas *c = from->c;
    struct style dim = canvas_style(c, INK_DIM);
    int x0 = to->at[PART_CROSS + PART_K], x1 = from->x1 - 1;
    for (int i = from->y + 1; i < y; i++) canvas_put(c, x1, i, dim, 0x2502);
    canvas_put(c, x1, y, dim, 0x256F);
    for (int x = x0 + 1; x < x1; x++) canvas_put(c, x, y, dim, 0x2500);
    canvas_text(c, x0 + 3, y, INK_DIM, " E, the encoder's output ");
    canvas_put(c, x0, y, dim, 0x256D);
    for (int i = y + 1; i < to->y; i++) {
        close_line(c, x0, i);
        const struct cell *at = canvas_at(c, x0, i);
        canvas_put(c, x0, i, dim, at && at->cp == 0x2500 ? 0x253C : 0x2502);
    }
}

static int draw_both(struct canvas *c, struct rect r, const struct method *m, const struct arch *a,
                     int focus, const struct block_counts *n) {
    struct wire encoder, decoder;
    struct wire_rows k = share(r, a);
    int room = r.w - 9;
    wire_lay(&encoder, c, a, STACK_ENCODER, r.x + 6, room - 3);
    wire_lay(&decoder, c, a, STACK_DECODER, r.x + 6, room);
    encoder.x1 = decoder.x1 = r.x + r.w - 1;
    int y = draw_stack(&encoder, m, &k, r.y, focus, n);
    int end = encoder.order[encoder.parts - 1];
    canvas_text(c, encoder.end[end] + 5, encoder.y, INK_TEXT, "E");
    int link = y;
    y = draw_stack(&decoder, m, &k, y + k.link, focus, n);
    if (k.link) {
        encoder.x1 = encoder.end[end] + 6;
        draw_link(&encoder, &decoder, link);
    }
    return y - r.y;
}

int block_draw(struct canvas *c, struct rect r, const struct method *m, const struct arch *a,
               int focus, const struct block_counts *n) {
    if (r.h < 3) return 0;
    canvas_push_clip(c, r);
    int used = a && a->decoder_layers ? draw_both(c, r, m, a, focus, n)
                                      : draw_encoder(c, r, m, a, focus);
    canvas_pop_clip(c);
    return used;
}
