/* The modules below a wire: on lanes with their shapes, or as numbers on one row. */
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "views/block_wire.h"
#include "views/keys.h"
#include "views/phrase.h"
#include "views/zone.h"

/* A module at one sublayer of the wire's stack. */
struct lane_item {
    int module, site;
    const struct module *m;
};

enum { ITEMS = METHOD_MODULES * 2, GONE = -100 };

static int block_lanes_gather(const struct wire *d, const struct method *m, struct lane_item item[ITEMS]) {
    int n = 0;
    for (int i = 0; i < m->count; i++)
        for (int site = SUB_SELF; site <= SUB_EMBED; site++) {
            int from, to;
            bool there = site == SUB_EMBED || wire_sublayer(d, site, &from, &to);
            const struct module *k = &m->module[i];
            if (k->target != TARGET_NONE || !there || !module_is_at(k, d->stack, site)) continue;
            BUG_IF(n == ITEMS);
            item[n++] = (struct lane_item){ i, site, k };
        }
    return n;
}

struct lane {
    int x0, x1;         /* columns taken, the label's included */
    int label, label_w; /* first column of the label */
    int row;            /* 1: right under the wire; 0: no room */
    int from, to;       /* where it reads and writes */
};

static void find_ends(const struct wire *d, const struct lane_item *i, struct lane *l) {
    const struct module *m = i->m;
    bool from_encoder = i->site == SUB_CROSS && m->read == TAP_A_IN &&
                        (m->write == TAP_A_K || m->write == TAP_A_V);
    l->from = from_encoder ? d->at[PART_CROSS + PART_K]
                           : wire_read(d, m->read == TAP_NONE ? m->write : m->read, i->site);
    l->to = wire_write(d, m->write, i->site);
    if (l->to <= l->from) l->to = l->from + 1;
    if (module_is_in_place(m)) l->from = l->to = wire_read(d, m->write, i->site);
}

/* Returns the first column from x where a label of this width covers no end of a lane. */
static int clear_from(const struct lane *lane, int n, int x, int w) {
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++) {
                int end = k ? lane[i].to : lane[i].from;
                if (end < x - 1 || end > x + w) continue;
                x = end + 2;
                moved = true;
            }
    }
    return x;
}

/* Places the label of the lane: between its ends if it fits, else next to them. */
static void block_lanes_measure(const struct wire *d, const struct lane *all, int n, const char *text,
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

static void block_lanes_find_row(struct lane *lane, int n, int i, int rows) {
    struct lane *own = &lane[i];
    for (own->row = 1; own->row <= rows; own->row++) {
        bool free_row = true;
        for (const struct lane *l = lane; l < lane + n; l++)
            if (l != own && l->row == own->row && l->x0 <= own->x1 + 1 && own->x0 <= l->x1 + 1)
                free_row = false;
        if (free_row) return;
    }
    own->row = 0;
}

/* Returns the style of a module; only the one in focus is bold. */
static struct style module_style(const struct canvas *c, int index, bool focus) {
    struct style style = canvas_style(c, module_ink(index));
    if (!focus) style.attr &= (uint8_t)~ATTR_BOLD;
    return style;
}

static void draw_lane(const struct wire *d, const struct lane *l, int index, bool focus,
                      const char *text) {
    struct canvas *c = d->c;
    struct style style = module_style(c, index, focus);
    int y = d->y + l->row;
    for (int i = 1; i < l->row; i++) {
        const struct cell *at = canvas_at(c, l->from, d->y + i);
        if (l->from != l->to)
            canvas_put(c, l->from, d->y + i, style, at && at->cp == 0x2500 ? 0x253C : 0x2502);
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
    if (m->comp == COMP_CHANNEL) snprintf(scale, sizeof scale, " \u2299s");
    if (comp_gates(m->comp)) snprintf(scale, sizeof scale, " \u00D7g");
    snprintf(out, 96, "%d: %s%s%s", number,
             m->read == TAP_F_NORM || m->read == TAP_A_NORM || m->norm_before ? "LN " : "", shape, scale);
}

int lanes_draw(const struct wire *d, const struct method *m, int rows, int focus) {
    struct lane_item item[ITEMS];
    struct lane lane[ITEMS];
    char text[ITEMS][96];
    int n = block_lanes_gather(d, m, item), deepest = 0, hidden = 0;
    for (int i = 0; i < n; i++) {
        memset(&lane[i], 0, sizeof lane[i]);
        lane[i].x0 = GONE;
        lane_text(item[i].m, d->a, item[i].module + 1, text[i]);
        find_ends(d, &item[i], &lane[i]);
        lane[i].x1 = lane[i].to;
    }
    for (int i = 0; i < n; i++) block_lanes_measure(d, lane, n, text[i], &lane[i]);
    for (int k = 0; k < 2 * n; k++) { /* first those of the module in focus: it is always in sight */
        int i = k % n;
        if ((item[i].module == focus) == (k >= n)) continue;
        block_lanes_find_row(lane, n, i, rows);
        if (lane[i].row > deepest) deepest = lane[i].row;
        if (!lane[i].row) hidden++;
    }
    for (int i = 0; i < n; i++)
        if (lane[i].row) draw_lane(d, &lane[i], item[i].module, item[i].module == focus, text[i]);
    for (int i = 0; i < n; i++) { /* labels last: no line runs through them */
        struct style style = module_style(d->c, item[i].module, item[i].module == focus);
        if (lane[i].row) canvas_styled(d->c, lane[i].label, d->y + lane[i].row, style, text[i]);
    }
    if (hidden && rows > 0) {
        struct phrase more = phrase("+%d more: Tab", hidden);
        int w = canvas_width(d->c, more.text);
        canvas_text(d->c, d->x1 - w, d->y - 1, INK_DIM, more.text);
        zone_add(d->c, (struct zone){ .at = { d->x1 - w, d->y - 1, w, 1 }, .key = PRESS_TAB });
    }
    return deepest;
}

void lanes_marks(const struct wire *d, const struct method *m, int focus) {
    struct lane_item item[ITEMS];
    int n = block_lanes_gather(d, m, item);
    for (int i = 0; i < n; i++) {
        char number[16];
        struct lane l;
        struct style style = module_style(d->c, item[i].module, item[i].module == focus);
        find_ends(d, &item[i], &l);
        snprintf(number, sizeof number, "%d", item[i].module + 1);
        int w = canvas_width(d->c, number), x = l.to, y = d->y + 1;
        bool line = l.to - l.from > w + 4 && wire_blank(d, l.from - 1, l.to - l.from + 2, y);
        if (line) {
            for (int k = l.from; k <= l.to; k++)
                canvas_put(d->c, k, y, style,
                           k == l.from ? 0x2570 : k == l.to ? 0x25B2 : 0x2500);
            x = l.from + 1 + (l.to - l.from - 1 - w) / 2;
        } else {
            while (!wire_blank(d, x, 1, y)) x++;
        }
        canvas_styled(d->c, x, y, style, number);
    }
}
