/* The table of the method's modules. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "views/block.h"
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

/* Columns: the least width, and the axis that a click goes to. Those from COLUMNS_ALWAYS on are shown where
 * there is room for them. */
enum { COLUMNS_ALWAYS = 6, TABLE_COLUMNS = 9 };
static const struct {
    const char *title;
    int w;
    enum axis axis;
} table[TABLE_COLUMNS] = { { "function", 14, AXIS_FUNCTION },       { "position", 14, AXIS_POSITION },
                           { "insertion", 12, AXIS_INSERTION },     { "composition", 13, AXIS_COMPOSITION },
                           { "sizes", 14, AXIS_SIZE },              { "layers", 8, AXIS_LAYERS },
                           { "trainable", 13, AXIS_SIZE },          { "source", 12, AXIS_SOURCE },
                           { "initialization", 16, AXIS_INIT } };

/* The columns shown, and the first column of the canvas and the width of each. */
struct table_lay {
    int columns, x[TABLE_COLUMNS], w[TABLE_COLUMNS];
};

static int column_of(const struct table_lay *l, enum axis a) {
    switch (a) {
    case AXIS_FUNCTION: return 0;
    case AXIS_POSITION:
    case AXIS_SITE:
    case AXIS_HEADS: return 1;
    case AXIS_INSERTION: return 2;
    case AXIS_COMPOSITION:
    case AXIS_SCALE: return 3;
    case AXIS_STACK:
    case AXIS_LAYERS: return 5;
    default: break;
    }
    for (int k = COLUMNS_ALWAYS; k < l->columns; k++)
        if (table[k].axis == a && a != AXIS_SIZE) return k;
    return 4;
}

static struct phrase sizes_text(const struct module *m) {
    struct phrase out = axis_applies(m, NULL, AXIS_SIZE) ? axis_value(m, AXIS_SIZE) : phrase("\u2013");
    if (source_is_prompt(m->source)) phrase_add(&out, " b %d", m->mid);
    else if (m->source == SOURCE_MLP) phrase_add(&out, " mlp %d", m->mid);
    else if (axis_applies(m, NULL, AXIS_ACTIVATION)) phrase_add(&out, " %s", method_act_name(m->act));
    if (m->source == SOURCE_SHARED) phrase_add(&out, " shared");
    return out;
}

static struct phrase cell_text(const struct compose_view *v, int i, int column) {
    const struct module *m = &v->config.method.module[i];
    bool scaled = axis_applies(m, NULL, AXIS_SCALE);
    struct phrase out = axis_value(m, table[column].axis);
    switch (column) {
    case 1:
        if (axis_applies(m, NULL, AXIS_HEADS) && m->heads == HEADS_FREE) phrase_add(&out, " free");
        break;
    case 3:
        if (scaled && m->comp == COMP_LEARNED) out = phrase("learned");
        if (scaled) phrase_add(&out, " %g", m->scale);
        break;
    case 4: return sizes_text(m);
    case 6: return v->facts.counted ? show_count((int64_t)v->facts.module_trained[i]) : phrase("\u2013");
    default: break;
    }
    return out;
}

/* Columns get the width of their longest cell while there is room, then further columns are added. */
static struct table_lay lay_table(const struct compose_view *v, const struct canvas *c, struct rect r) {
    struct table_lay l = { .columns = 0 };
    int room = r.w - 7;
    for (int k = 0; k < COLUMNS_ALWAYS; k++) room -= table[k].w;
    for (int k = 0; k < TABLE_COLUMNS; k++) {
        int longest = table[k].w;
        for (int i = 0; i < v->config.method.count; i++) {
            int w = canvas_width(c, cell_text(v, i, k).text) + 2;
            longest = w > longest ? w : longest;
        }
        int more = longest - (k < COLUMNS_ALWAYS ? table[k].w : 0);
        if (more > room && k >= COLUMNS_ALWAYS) break;
        if (more > room) more = room > 0 ? room : 0;
        room -= more;
        l.w[k] = k < COLUMNS_ALWAYS ? table[k].w + more : longest;
        l.x[k] = k ? l.x[k - 1] + l.w[k - 1] : r.x + 6;
        l.columns++;
    }
    return l;
}

static void module_row(const struct compose_view *v, struct canvas *c, struct rect r,
                       const struct table_lay *l, int y, int i) {
    bool here = v->part == i;
    canvas_cursor(c, r.x + 1, y, here);
    canvas_printf(c, r.x + 3, y, module_ink(i), "%d", i + 1);
    for (int k = 0; k < l->columns; k++) {
        bool on = k == column_of(l, v->axis);
        bool changes = on && compose_reaches(v, i); /* with the one under the cursor */
        canvas_fit(c, l->x[k], y, l->w[k] - 1, here ? INK_TITLE : changes ? INK_ACCENT : INK_TEXT,
                   cell_text(v, i, k).text);
        zone_pick(c, l->x[k], y, l->w[k], PICK_CELL + i * PICK_AXES + (int)table[k].axis);
        if (here && on) canvas_paint(c, l->x[k], y, l->w[k] - 1, INK_CURSOR);
    }
}

/* A module that is switched off: no part of the method. */
static void off_row(const struct compose_view *v, struct canvas *c, struct rect r, const struct table_lay *l,
                    int y, int i) {
    bool here = compose_on_off(v) == i;
    zone_pick(c, r.x, y, r.w, PICK_PART + v->config.method.count + compose_networks(v) + 1 + i);
    canvas_cursor(c, r.x + 1, y, here);
    canvas_text(c, r.x + 3, y, INK_DIM, "\u2013");
    for (int k = 0; k < 4; k++)
        canvas_fit(c, l->x[k], y, l->w[k] - 1, INK_DIM, axis_value(&v->off.module[i], table[k].axis).text);
    canvas_text(c, l->x[4], y, here ? INK_KEY : INK_DIM, here ? "off: O on, - delete" : "off");
}

/* The name of the method, or what it is like, for the title. */
static void method_words(const struct compose_facts *f, char out[240]) {
    *out = 0;
    if (f->preset) {
        /* the authors and the year; the whole reference is in the list of methods */
        size_t n = strcspn(f->preset->paper, ",:");
        snprintf(out, 240, "%s \u00B7 %s, %.*s", f->preset->name, f->preset->title, (int)n, f->preset->paper);
    } else if (f->text && strchr(f->text, '+') && !strpbrk(f->text, "=(")) { /* a sum of named methods */
        snprintf(out, 240, "%.220s", f->text);
    } else if (f->nearest) {
        snprintf(out, 240, "like %.220s", f->nearest);
    }
}

void compose_draw_method(const struct compose_view *v, struct canvas *c, struct rect r) {
    char right[240];
    struct table_lay l = lay_table(v, c, r);
    int count = v->config.method.count, off = compose_on_off(v), rows = r.h - 2;
    method_words(&v->facts, right);
    canvas_title(c, r, "Method", right);
    if (r.h < 2) return;
    canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "#");
    for (int k = 0; k < l.columns; k++) {
        bool here = v->part < count && k == column_of(&l, v->axis);
        canvas_fit(c, l.x[k], r.y + 1, l.w[k] - 1, here ? INK_ACCENT : INK_DIM, table[k].title);
    }
    int part = off >= 0 ? count + off + 1 : v->part; /* its row */
    int top = part >= rows ? part - rows + 1 : 0;
    if (off < 0 && top > count - rows + 1) top = count - rows + 1;
    if (top < 0) top = 0;
    for (int i = 0; i < rows && top + i < count; i++) module_row(v, c, r, &l, r.y + 2 + i, top + i);
    int y = r.y + 2 + count - top;
    for (int i = 0; i < v->off.count && y + 1 + i < r.y + r.h; i++) off_row(v, c, r, &l, y + 1 + i, i);
    if (y < r.y + 2 || y >= r.y + r.h) return;
    zone_add(c, (struct zone){ .at = { r.x, y, r.w, 1 }, .key = '+' });
    int used = canvas_text(c, r.x + 3, y, INK_KEY, "+");
    canvas_text(c, r.x + 5 + used, y, INK_DIM,
                count                ? "add a module"
                : compose_outputs(v) ? "add a module (without modules, only the head is trained)"
                                     : "add a module (without modules, nothing is trained)");
}
