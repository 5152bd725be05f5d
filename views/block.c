#include "views/block.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/compose_edit.h"

/* The parts along the wire; `gap` is the wire behind a part, `tap` what flows there. */
enum part_id { PART_X, PART_Q, PART_K, PART_V, PART_HEADS, PART_WO, PART_ADD_A, PART_LN_A, PART_W1,
               PART_ACT, PART_W2, PART_ADD_F, PART_LN_F, PART_COUNT };

struct drawing {
    struct canvas *c;
    const struct arch *a;
    int y;                 /* row of the wire */
    int at[PART_COUNT];    /* first column of each part */
    int end[PART_COUNT];   /* column behind it */
    int lanes;             /* rows below the wire */
    int x0, x1;            /* columns there are */
    const char *text[PART_COUNT];
};

enum ink module_ink(int index) { return (enum ink)(INK_MODULE_1 + index % 3); }

static int tap_width(const struct arch *a, enum tap t) {
    if (t == TAP_F_PRE || t == TAP_F_ACT) return a->inner;
    if (t == TAP_A_Q || t == TAP_A_K || t == TAP_A_V || t == TAP_A_CTX || t == TAP_A_HEAD)
        return a->heads * a->head_width;
    return a->width;
}

void block_shape(const struct module *m, const struct arch *a, char out[64]) {
    *out = 0;
    switch (m->fn) {
    case FN_BOTTLENECK:
    case FN_LINEAR:
        if (!a) snprintf(out, 64, "r %d", m->size);
        else if (m->heads != HEADS_SHARED)
            snprintf(out, 64, "%d heads \u00D7 %d\u2192%d\u2192%d", a->heads,
                     m->read == TAP_A_Q ? a->head_width : a->width, m->size, a->head_width);
        else
            snprintf(out, 64, "%d\u2192%d\u2192%d", tap_width(a, m->read), m->size, tap_width(a, m->write));
        return;
    case FN_SOFTMAX:
        if (a) snprintf(out, 64, "P %d\u00D7%d", m->size, tap_width(a, TAP_A_HEAD));
        else snprintf(out, 64, "P l %d", m->size);
        return;
    case FN_SCALE:
        if (a) snprintf(out, 64, "\u2299 %d", tap_width(a, m->write));
        else snprintf(out, 64, "\u2299 l");
        return;
    default: return;
    }
}

/* Columns where a module leaves the wire, and where it comes back. */
static int read_column(const struct drawing *d, enum tap t) {
    switch (t) {
    case TAP_A_RES:
    case TAP_A_IN: return d->end[PART_X] + 1;
    case TAP_A_Q: return d->at[PART_Q];
    case TAP_A_K: return d->at[PART_K];
    case TAP_A_V: return d->at[PART_V];
    case TAP_A_HEAD:
    case TAP_A_CTX: return d->end[PART_HEADS] + 1;
    case TAP_A_OUT: return d->end[PART_WO] + 1;
    case TAP_A_END:
    case TAP_F_RES:
    case TAP_F_IN: return d->end[PART_LN_A] + 1;
    case TAP_F_PRE: return d->end[PART_W1] + 1;
    case TAP_F_ACT: return d->end[PART_ACT] + 1;
    case TAP_F_OUT:
    case TAP_F_NORM: return d->end[PART_W2] + 1;
    case TAP_F_END: return d->end[PART_LN_F] + 1;
    case TAP_EMBED: return d->at[PART_X];
    default: return d->end[PART_X] + 1;
    }
}

static int write_column(const struct drawing *d, enum tap t) {
    int x = read_column(d, t);
    if (t == TAP_A_Q || t == TAP_A_K || t == TAP_A_V || t == TAP_EMBED) return x;
    return x + 1;
}

static void place(struct drawing *d, int x0, int w) {
    int sum = 0, gaps = 0;
    for (int i = 0; i < PART_COUNT; i++) sum += canvas_width(d->c, d->text[i]);
    /* q k v stand close; every other part has a wire behind it */
    gaps = PART_COUNT - 2;
    int spare = w - sum - 2 - 3 * gaps, extra = spare > 0 ? spare / gaps : 0;
    int gap = 3 + (extra > 9 ? 9 : extra), more = spare - extra * gaps, x = x0;
    if (gap == 12) more = 0;
    for (int i = 0; i < PART_COUNT; i++) {
        d->at[i] = x;
        x += canvas_width(d->c, d->text[i]);
        d->end[i] = x;
        if (i == PART_Q || i == PART_K) x += 1;
        else x += gap + (more-- > 0 ? 1 : 0);
    }
}

/* Is a part trained in its place by some module? */
static int trained_by(const struct method *m, enum part_id part) {
    static const enum tap out[PART_COUNT] = {
        [PART_Q] = TAP_A_Q,  [PART_K] = TAP_A_K,  [PART_V] = TAP_A_V, [PART_WO] = TAP_A_OUT,
        [PART_W1] = TAP_F_PRE, [PART_W2] = TAP_F_OUT};
    bool norm = part == PART_LN_A || part == PART_LN_F;
    for (int i = 0; i < m->count; i++) {
        const struct module *k = &m->module[i];
        if (k->target == TARGET_NONE) continue;
        if (k->target == TARGET_ALL && (norm || out[part] != TAP_NONE || part == PART_X)) return i;
        if (k->target == TARGET_NORMS && norm) return i;
        if (k->target == TARGET_TAP && out[part] == k->write && out[part] != TAP_NONE) return i;
        if (k->target == TARGET_EMBEDDINGS && part == PART_X) return i;
    }
    return -1;
}

static void wire(const struct drawing *d, const struct method *m) {
    struct style dim = canvas_style(d->c, INK_DIM);
    for (int i = 0; i < PART_COUNT; i++) {
        int owner = trained_by(m, (enum part_id)i);
        canvas_text(d->c, d->at[i], d->y, owner >= 0 ? module_ink(owner) : INK_TEXT, d->text[i]);
        if (i == PART_Q || i == PART_K) continue;
        int to = i + 1 < PART_COUNT ? d->at[i + 1] - 1 : d->end[i] + 3;
        for (int x = d->end[i] + 1; x < to; x++)
            canvas_put(d->c, x, d->y, dim, x == to - 1 ? 0x25B8 : 0x2500);
    }
}

/* The residual stream, over the sublayer. */
static void residual(const struct drawing *d, enum part_id from, enum part_id to, int above) {
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

/* Shapes on the wires, where they are long enough. */
static void shapes(const struct drawing *d) {
    static const struct {
        enum part_id part;
        enum tap tap;
    } wires[] = {{PART_V, TAP_A_Q}, {PART_HEADS, TAP_A_CTX}, {PART_WO, TAP_A_OUT},
                 {PART_LN_A, TAP_F_IN}, {PART_W1, TAP_F_PRE}, {PART_ACT, TAP_F_ACT},
                 {PART_W2, TAP_F_OUT}, {PART_LN_F, TAP_F_END}};
    char text[32];
    for (size_t i = 0; i < COUNT_OF(wires); i++) {
        enum part_id next = wires[i].part + 1;
        int x = d->end[wires[i].part] + (wires[i].part == PART_LN_A ? 2 : 1);
        /* up to the residual's end, or the next wire */
        int end = next >= PART_COUNT                           ? x + 8
                  : next == PART_ADD_A || next == PART_ADD_F ? d->at[next] + 1
                                                             : d->end[next] + 1;
        snprintf(text, sizeof text, "n\u00D7%d", tap_width(d->a, wires[i].tap));
        if (x + canvas_width(d->c, text) >= end)
            snprintf(text, sizeof text, "%d", tap_width(d->a, wires[i].tap));
        if (x + canvas_width(d->c, text) < end) canvas_text(d->c, x, d->y - 1, INK_DIM, text);
    }
}

struct lane {
    int x0, x1;         /* columns taken, the label's included */
    int label, label_w; /* first column of the label */
    int row;            /* 1: right under the wire; 0: no room */
    int from, to;       /* where it reads and writes */
};

static void find_ends(const struct drawing *d, const struct module *m, struct lane *l) {
    l->from = read_column(d, m->read == TAP_NONE ? m->write : m->read);
    l->to = write_column(d, m->write);
    if (l->to <= l->from) l->to = l->from + 1;
    if (m->fn == FN_SCALE) l->from = l->to = read_column(d, m->write);
}

/* The first column from x on where a label of this width covers no end of any lane. */
static int clear_from(const struct lane *lane, int n, int x, int w) {
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++) {
                int end = k ? lane[i].to : lane[i].from;
                if (lane[i].x1 == -100 || end < x - 1 || end > x + w) continue;
                x = end + 2;
                moved = true;
            }
    }
    return x;
}

/* Where the lane's text stands: between its ends when it fits, else beside them. */
static void measure(const struct drawing *d, const struct lane *all, int n, const char *text,
                    struct lane *l) {
    l->label_w = canvas_width(d->c, text);
    int beside = clear_from(all, n, l->to + 2, l->label_w);
    if (l->to - l->from - 1 >= l->label_w + 2) {
        l->label = l->from + 1 + (l->to - l->from - 1 - l->label_w) / 2;
        l->x0 = l->from;
        l->x1 = l->to;
    } else if (beside + l->label_w <= d->x1) {
        l->label = beside;
        l->x0 = l->from;
        l->x1 = l->label + l->label_w;
    } else {
        l->label = l->from - 1 - l->label_w;
        if (l->label < d->x0) l->label = d->x0;
        l->x0 = l->label;
        l->x1 = l->to;
    }
}

static void find_row(struct lane *lane, int i, int rows) {
    for (lane[i].row = 1; lane[i].row <= rows; lane[i].row++) {
        bool free_row = true;
        for (int j = 0; j < i; j++)
            if (lane[j].row == lane[i].row && lane[j].x0 <= lane[i].x1 + 1 && lane[i].x0 <= lane[j].x1 + 1)
                free_row = false;
        if (free_row) return;
    }
    lane[i].row = 0;
}

static void draw_lane(const struct drawing *d, const struct lane *l, int index, bool focus,
                      const char *text) {
    struct canvas *c = d->c;
    struct style style = canvas_style(c, module_ink(index));
    int y = d->y + l->row;
    if (!focus) style.attr &= (uint8_t)~ATTR_BOLD;
    for (int i = 1; i < l->row; i++) {
        const struct cell *at = canvas_at(c, l->from, d->y + i);
        if (l->from != l->to) canvas_put(c, l->from, d->y + i, style, at && at->cp == 0x2500 ? 0x253C : 0x2502);
        canvas_put(c, l->to, d->y + i, style, i == 1 ? 0x25B2 : 0x2502);
    }
    if (l->from == l->to) {
        canvas_put(c, l->to, y, style, l->row == 1 ? 0x25B2 : 0x2502);
    } else {
        canvas_put(c, l->from, y, style, 0x2570);
        for (int x = l->from + 1; x < l->to; x++) canvas_put(c, x, y, style, 0x2500);
        canvas_put(c, l->to, y, style, l->row == 1 ? 0x25B2 : 0x256F);
    }
    if (l->label > l->from && l->label < l->to) { /* blanks on both sides */
        canvas_put(c, l->label - 1, y, style, ' ');
        canvas_put(c, l->label + l->label_w, y, style, ' ');
    }
    canvas_styled(c, l->label, y, style, text);
}

static void lane_text(const struct module *m, const struct arch *a, int number, char out[96]) {
    char shape[64], scale[32] = "";
    block_shape(m, a, shape);
    if (m->comp == COMP_SCALED) snprintf(scale, sizeof scale, " \u00D7%g", m->scale);
    if (m->comp == COMP_LEARNED) snprintf(scale, sizeof scale, " \u00D7s");
    snprintf(out, 96, "%d: %s%s%s", number, m->read == TAP_F_NORM ? "LN " : "", shape, scale);
}

static int lanes(struct drawing *d, const struct method *m, int rows, int focus) {
    struct lane lane[METHOD_MODULES];
    char text[METHOD_MODULES][96];
    int deepest = 0, hidden = 0;
    for (int i = 0; i < m->count; i++) {
        const struct module *k = &m->module[i];
        memset(&lane[i], 0, sizeof lane[i]);
        lane[i].x0 = lane[i].x1 = -100;
        if (k->target != TARGET_NONE) continue;
        lane_text(k, d->a, i + 1, text[i]);
        find_ends(d, k, &lane[i]);
        lane[i].x1 = lane[i].to;
    }
    for (int i = 0; i < m->count; i++) {
        if (m->module[i].target != TARGET_NONE) continue;
        measure(d, lane, m->count, text[i], &lane[i]);
        find_row(lane, i, rows);
        if (lane[i].row > deepest) deepest = lane[i].row;
        if (!lane[i].row) hidden++;
    }
    for (int i = 0; i < m->count; i++)
        if (lane[i].row) draw_lane(d, &lane[i], i, i == focus, text[i]);
    for (int i = 0; i < m->count; i++) { /* labels last: no line runs through them */
        struct style style = canvas_style(d->c, module_ink(i));
        if (i != focus) style.attr &= (uint8_t)~ATTR_BOLD;
        if (lane[i].row) canvas_styled(d->c, lane[i].label, d->y + lane[i].row, style, text[i]);
    }
    if (hidden && rows > 0)
        canvas_printf(d->c, d->x1 - 9, d->y - 1, INK_DIM, "+%d more", hidden);
    return deepest;
}

int block_draw(struct canvas *c, struct rect r, const struct method *m, const struct arch *a,
               int focus) {
    if (r.h < 3) return 0;
    struct drawing d = {.c = c, .a = a, .x0 = r.x + 3, .x1 = r.x + r.w - 1};
    static const char *const names[PART_COUNT] = {"x", "q", "k", "v", "heads", "W_o", "(+)", "LN",
                                                  "W_1", "relu", "W_2", "(+)", "LN"};
    memcpy(d.text, names, sizeof names);
    if (a) d.text[PART_ACT] = a->act == ACT_GELU_TANH ? "gelu" : method_act_name(a->act);
    bool large = r.w >= 84 && r.h >= 7 && a;
    place(&d, d.x0, r.w - 5);
    d.y = r.y + (large ? 2 : 1);
    canvas_push_clip(c, r);
    wire(&d, m);
    residual(&d, PART_X, PART_ADD_A, d.y - r.y);
    residual(&d, PART_LN_A, PART_ADD_F, d.y - r.y);
    if (large) shapes(&d);
    int room = r.y + r.h - d.y - 1;
    int used = lanes(&d, m, room, focus);
    canvas_pop_clip(c);
    return d.y - r.y + 1 + used;
}
