#include "views/block_wire.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"

static int block_tap_width(const struct arch *a, enum tap t) {
    if (t == TAP_F_PRE || t == TAP_F_UP || t == TAP_F_ACT) return a->inner;
    if (t == TAP_A_Q || t == TAP_A_K || t == TAP_A_V || t == TAP_A_CTX || t == TAP_A_HEAD)
        return a->heads * a->head_width;
    return a->width;
}

/* ---- parts ---- */

static int cross(int site) { return site == SUB_CROSS ? PART_CROSS : 0; }

/* Returns the part of self-attention for a part of cross-attention; else the part itself. */
static int own_part(int part) { return part > PART_CROSS ? part - PART_CROSS : part; }

static int block_wire_site_of(int part) {
    if (part == PART_X) return SUB_EMBED;
    if (part > PART_CROSS) return SUB_CROSS;
    return part <= PART_LN_A ? SUB_SELF : SUB_FFN;
}

static void add_attention(struct wire *d, int site, bool norm_first) {
    if (norm_first) d->order[d->parts++] = cross(site) + PART_LN_A;
    for (int p = PART_Q; p <= PART_ADD_A; p++) d->order[d->parts++] = cross(site) + p;
    if (!norm_first) d->order[d->parts++] = cross(site) + PART_LN_A;
}

/* Pre-norm families have the norm at the start of a sublayer. */
static void set_order(struct wire *d) {
    bool first = d->a && d->a->pre_norm;
    d->parts = 0;
    d->order[d->parts++] = PART_X;
    add_attention(d, SUB_SELF, first);
    if (d->stack == STACK_DECODER) add_attention(d, SUB_CROSS, first);
    if (first) d->order[d->parts++] = PART_LN_F;
    for (int p = PART_W1; p <= PART_ADD_F; p++) d->order[d->parts++] = p;
    if (!first) d->order[d->parts++] = PART_LN_F;
}

static void set_texts(struct wire *d, bool narrow) {
    static const char *const names[] = { "x",  "q",   "k",    "v",   "heads", "W_o", "(+)",
                                        "LN", "W_1", "relu", "W_2", "(+)",   "LN" };
    memcpy(d->text, names, sizeof names);
    if (d->a)
        d->text[PART_ACT] =
            d->a->act == ACT_GELU_TANH ? "gelu" : method_act_name(d->a->act);
    if (narrow) d->text[PART_ADD_A] = d->text[PART_ADD_F] = "+";
    for (int p = PART_X; p <= PART_LN_A; p++) d->text[PART_CROSS + p] = d->text[p];
    d->text[PART_CROSS + PART_K] = "E\u25B8k";
}

/* Returns whether the next part follows without a wire: q, k and v. */
static bool follows_closely(int part) {
    int own = own_part(part);
    return own == PART_Q || own == PART_K;
}

/* Returns the columns left over with minimum gaps. */
static int spare(const struct wire *d, int w, int *gaps) {
    int left = w;
    *gaps = 0;
    for (int i = 0; i < d->parts; i++) {
        left -= canvas_width(d->c, d->text[d->order[i]]);
        if (follows_closely(d->order[i])) left--;
        else ++*gaps;
    }
    return left - d->gap * *gaps;
}

void wire_lay(struct wire *d, struct canvas *c, const struct arch *a, int stack, int x0, int w) {
    int gaps;
    *d = (struct wire){ .c = c, .a = a, .stack = stack, .x0 = x0, .x1 = x0 + w, .gap = 3 };
    set_order(d);
    set_texts(d, false);
    int left = spare(d, w, &gaps);
    if (left < 0 && stack == STACK_DECODER) {
        d->gap = 1;
        set_texts(d, true);
        left = spare(d, w, &gaps);
    }
    int extra = left > 0 ? left / gaps : 0, gap = d->gap + (extra > 9 ? 9 : extra);
    int more = left - extra * gaps, x = x0;
    if (gap == 12) more = 0;
    for (int i = 0; i < d->parts; i++) {
        int p = d->order[i];
        d->at[p] = x;
        x += canvas_width(c, d->text[p]);
        d->end[p] = x;
        if (follows_closely(p)) x += 1;
        else x += gap + (more-- > 0 ? 1 : 0);
    }
}

/* Returns the part before another along the wire. */
static int block_wire_before(const struct wire *d, int part) {
    for (int i = 1; i < d->parts; i++)
        if (d->order[i] == part) return d->order[i - 1];
    return PART_X;
}

bool wire_sublayer(const struct wire *d, int site, int *from, int *to) {
    *from = *to = -1;
    for (int i = 0; i < d->parts; i++) {
        int p = d->order[i];
        if (block_wire_site_of(p) != site || p == PART_X) continue;
        if (*from < 0) *from = d->at[p];
        *to = d->end[p];
    }
    return *from >= 0;
}

bool wire_blank(const struct wire *d, int x, int w, int y) {
    for (int i = x; i < x + w; i++) {
        const struct cell *at = canvas_at(d->c, i, y);
        if (at && at->cp != ' ' && at->cp != 0) return false;
    }
    return true;
}

/* ---- taps ---- */

/* Returns the column of the input of a sublayer, before or after its norm. */
static int entrance(const struct wire *d, int norm, int first, bool normed) {
    bool norm_first = block_wire_before(d, first) == norm;
    int part = norm_first && normed ? norm : block_wire_before(d, norm_first ? norm : first);
    return d->end[part] + 1;
}

int wire_read(const struct wire *d, enum tap t, int site) {
    int k = cross(site);
    switch (t) {
    case TAP_A_RES:
    case TAP_A_IN: return entrance(d, k + PART_LN_A, k + PART_Q, t == TAP_A_IN);
    case TAP_A_Q: return d->at[k + PART_Q];
    case TAP_A_K: return d->end[k + PART_K] - 1;
    case TAP_A_V: return d->at[k + PART_V];
    case TAP_A_HEAD:
    case TAP_A_CTX: return d->end[k + PART_HEADS] + 1;
    case TAP_A_OUT:
    case TAP_A_NORM: return d->end[k + PART_WO] + 1;
    case TAP_A_END: return d->end[k + PART_LN_A] + 1;
    case TAP_F_RES:
    case TAP_F_IN: return entrance(d, PART_LN_F, PART_W1, t == TAP_F_IN);
    case TAP_F_PRE:
    case TAP_F_UP: return d->end[PART_W1] + 1;
    case TAP_F_ACT: return d->end[PART_ACT] + 1;
    case TAP_F_OUT:
    case TAP_F_NORM: return d->end[PART_W2] + 1;
    case TAP_F_END: return d->end[PART_LN_F] + 1;
    case TAP_EMBED: return d->at[PART_X];
    default: return d->end[PART_X] + 1;
    }
}

int wire_write(const struct wire *d, enum tap t, int site) {
    int x = wire_read(d, t, site);
    if (t == TAP_A_Q || t == TAP_A_K || t == TAP_A_V || t == TAP_EMBED) return x;
    return x + (d->gap >= 3);
}

/* ---- drawing ---- */

/* Returns the module that trains a part in place, or -1. */
static int trained_by(const struct wire *d, const struct method *m, int part) {
    static const enum tap out[PART_CROSS] = {
        [PART_Q] = TAP_A_Q,  [PART_K] = TAP_A_K,  [PART_V] = TAP_A_V, [PART_WO] = TAP_A_OUT,
        [PART_W1] = TAP_F_PRE, [PART_W2] = TAP_F_OUT };
    int own = own_part(part);
    bool norm = own == PART_LN_A || own == PART_LN_F;
    for (int i = 0; i < m->count; i++) {
        const struct module *k = &m->module[i];
        if (k->target == TARGET_NONE || !module_is_at(k, d->stack, block_wire_site_of(part))) continue;
        if (k->target == TARGET_ALL && (norm || out[own] != TAP_NONE || own == PART_X)) return i;
        if (k->target == TARGET_NORMS && norm) return i;
        enum tap write = k->write == TAP_F_UP ? TAP_F_PRE : k->write;
        if (k->target == TARGET_TAP && out[own] == write && write != TAP_NONE) return i;
        if (k->target == TARGET_EMBEDDINGS && own == PART_X) return i;
    }
    return -1;
}

void wire_draw(const struct wire *d, const struct method *m) {
    struct style dim = canvas_style(d->c, INK_DIM);
    for (int i = 0; i < d->parts; i++) {
        int p = d->order[i], owner = trained_by(d, m, p);
        canvas_text(d->c, d->at[p], d->y, owner >= 0 ? module_ink(owner) : INK_TEXT, d->text[p]);
        if (follows_closely(p)) continue;
        bool last = i + 1 == d->parts;
        int room = last ? 4 : d->at[d->order[i + 1]] - d->end[p], blank = room >= 3;
        int to = d->end[p] + room - blank;
        for (int x = d->end[p] + blank; x < to; x++)
            canvas_put(d->c, x, d->y, dim, x == to - 1 ? 0x25B8 : 0x2500);
    }
}

static void residual(const struct wire *d, int from, int to, int above) {
    struct style dim = canvas_style(d->c, INK_DIM);
    int x0 = d->end[from] + 1, x1 = d->at[to] + 1, y = d->y - above;
    canvas_put(d->c, x0, d->y, dim, 0x2534);
    canvas_put(d->c, x0, y, dim, 0x256D);
    canvas_put(d->c, x1, y, dim, 0x256E);
    for (int x = x0 + 1; x < x1; x++) canvas_put(d->c, x, y, dim, 0x2500);
    for (int i = 1; i < above; i++) {
        canvas_put(d->c, x0, d->y - i, dim, 0x2502);
        canvas_put(d->c, x1, d->y - i, dim, 0x2502);
    }
    const char *says = " residual ";
    if (x1 - x0 > 16) canvas_text(d->c, x0 + 3, y, INK_DIM, says);
}

void wire_residuals(const struct wire *d, int above) {
    int from = PART_X;
    if (d->gap < 3) return;
    for (int i = 0; i < d->parts; i++) {
        int p = d->order[i], own = own_part(p);
        bool norm_first = d->a && d->a->pre_norm;
        if (own == PART_ADD_A || own == PART_ADD_F) {
            residual(d, from, p, above);
            from = p;
        } else if (!norm_first && (own == PART_LN_A || own == PART_LN_F)) {
            from = p;
        }
    }
}

void wire_shapes(const struct wire *d) {
    char text[32];
    for (int i = 0; i < d->parts; i++) {
        int p = d->order[i], own = own_part(p);
        bool last = i + 1 == d->parts;
        int next = last ? p : d->order[i + 1], to = own_part(next);
        enum tap tap = own == PART_V       ? TAP_A_Q
                       : own == PART_HEADS ? TAP_A_CTX
                       : own == PART_W1    ? TAP_F_PRE
                       : own == PART_ACT   ? TAP_F_ACT
                                           : TAP_A_OUT;
        bool sum = own == PART_ADD_A || own == PART_ADD_F;
        if (follows_closely(p) || own == PART_X || (sum && !last)) continue;
        bool arc = own == PART_LN_A && !d->a->pre_norm; /* a residual stream starts there */
        int x = d->end[p] + (arc ? 2 : 1);
        /* up to the residual's end, or the next wire */
        int end = last                                   ? x + 8
                  : to == PART_ADD_A || to == PART_ADD_F ? d->at[next] + 1
                                                         : d->end[next] + 1;
        snprintf(text, sizeof text, "n\u00D7%d", block_tap_width(d->a, tap));
        if (x + canvas_width(d->c, text) >= end)
            snprintf(text, sizeof text, "%d", block_tap_width(d->a, tap));
        if (x + canvas_width(d->c, text) < end) canvas_text(d->c, x, d->y - 1, INK_DIM, text);
    }
}
