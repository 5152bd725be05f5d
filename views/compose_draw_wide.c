/* Compose on a large window: the other axes, notes, the nearest methods, and the methods to choose from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

static const struct canvas compose_draw_plain = { .glyphs = GLYPHS_BRAILLE }; /* to measure texts */

/* One axis with its choices on a line, the current one marked, those that are not allowed dim. */
static void axis_line(const struct compose_view *of, struct canvas *c, struct rect r, int y, enum axis a) {
    int x = r.x + 18, last = r.x + r.w - 1;
    zone_pick(c, r.x, y, r.w, PICK_CELL + of->part * PICK_AXES + (int)a);
    canvas_text(c, r.x + 3, y, INK_DIM, axis_name(a));
    if (!of->choice_count) {
        canvas_text(c, x, y, INK_TEXT, axis_value(&of->config.method.module[of->part], a).text);
        return;
    }
    for (int i = 0; i < of->choice_count; i++) {
        const struct choice *k = &of->choices[i];
        int w = canvas_width(c, k->name);
        if (x + w + 3 > last && i + 1 < of->choice_count) {
            canvas_printf(c, x, y, INK_DIM, "+%d", of->choice_count - i);
            return;
        }
        canvas_cursor(c, x - 1, y, k->current);
        x += canvas_text(c, x, y, k->current ? INK_ACCENT : k->allowed ? INK_TEXT : INK_DIM, k->name) + 3;
    }
}

/* The published methods that are nearest, and what differs. */
static void draw_near(const struct compose_view *v, struct canvas *c, struct rect r) {
    const struct preset *but = v->facts.preset;
    canvas_title(c, r, "nearest methods", NULL);
    for (int i = 0; i < 2 && i + 1 < r.h; i++) {
        char *near = method_nearest_except(&v->config.method, but);
        if (near) canvas_fit(c, r.x + 3, r.y + 1 + i, r.w - 4, INK_TEXT, near);
        free(near);
        if (v->facts.preset) return; /* the nearest one besides itself */
        but = method_nearest_preset_except(&v->config.method, but);
        if (!but) return;
    }
}

static struct rect finding_rect(struct rect r, int y) {
    return (struct rect){ r.x + 18, y, r.w - 20, r.y + r.h - y };
}

int compose_all_axes(const struct compose_view *v, int w) {
    int rows = 0;
    for (int a = 0; a < axis_count(); a++) rows += a != (int)v->axis && compose_axis_applies(v, (enum axis)a);
    if (v->facts.findings) rows += 2;
    for (int i = 0; i < v->facts.findings; i++)
        rows += canvas_wrap_rows(&compose_draw_plain, w - 20, v->facts.finding[i].text);
    return rows + (v->facts.preset ? 3 : 4);
}

void compose_draw_all_axes(const struct compose_view *v, struct canvas *c, struct rect r) {
    int y = r.y, last = r.y + r.h;
    struct compose_view *of = xmalloc(sizeof *of); /* a copy with another axis, which owns nothing */
    *of = *v;
    for (int a = 0; a < axis_count() && y < last; a++) {
        if (a == (int)v->axis || !compose_axis_applies(v, (enum axis)a)) continue;
        of->axis = (enum axis)a;
        compose_list(of);
        axis_line(of, c, r, y++, (enum axis)a);
    }
    free(of);
    static const char *const levels[] = { "note", "warning", "error" };
    if (v->facts.findings && ++y < last) canvas_rule(c, r.x, y++, r.w, "notes", NULL);
    for (int i = 0; i < v->facts.findings && y < last; i++) {
        const struct finding *f = &v->facts.finding[i];
        canvas_printf(c, r.x + 3, y, INK_DIM, "%s %s", levels[f->level], f->rule);
        y += canvas_wrap(c, finding_rect(r, y),
                         f->level == LEVEL_INFO ? INK_TEXT : f->level == LEVEL_WARNING ? INK_WARN : INK_BAD,
                         f->text);
    }
    if (++y < last) draw_near(v, c, rect_down(r, y - r.y));
}

/* ---- the methods at the side ---- */

/* An entry of the list: a heading, a method that the user saved, or a published one. */
struct side_entry {
    const char *heading;
    int own, preset; /* below 0: neither */
    int x, y, w;     /* place, from the first row of the list */
};
enum { SIDE_ENTRIES = 512 };

static int side_gather(const struct compose_view *v, struct side_entry entry[SIDE_ENTRIES]) {
    int order[COMPOSE_PRESETS], presets = compose_by_family(order), n = 0;
    if (v->owns) entry[n++] = (struct side_entry){ "Saved", -1, -1, 0, 0, 0 };
    for (int i = 0; i < v->owns && n < SIDE_ENTRIES / 2; i++)
        entry[n++] = (struct side_entry){ NULL, i, -1, 0, 0, 0 };
    for (int i = 0; i < presets; i++) {
        const char *family = preset_at(order[i])->family;
        if (!i || strcmp(family, preset_at(order[i - 1])->family) != 0)
            entry[n++] = (struct side_entry){ family, -1, -1, 0, 0, 0 };
        entry[n++] = (struct side_entry){ NULL, -1, order[i], 0, 0, 0 };
    }
    return n;
}

static const char *side_name(const struct compose_view *v, const struct side_entry *e) {
    return e->heading ? e->heading : e->own >= 0 ? v->own[e->own].name : preset_at(e->preset)->name;
}

/* In a wide pane two columns with a line per method, else the names of a family one after the other.  Returns
 * the rows. */
static int side_lay(const struct compose_view *v, struct side_entry *entry, int n, int w) {
    int x = 0, y = -1;
    for (int i = 0; i < n; i++) {
        int wide = canvas_width(&compose_draw_plain, side_name(v, &entry[i]));
        if (w >= SIDE_COLUMNS) {
            int half = (n + 1) / 2;
            entry[i].x = i < half ? 0 : w / 2;
            entry[i].y = i % half;
            entry[i].w = w / 2;
            y = half - 1;
            continue;
        }
        if (entry[i].heading || (i && entry[i - 1].heading) || x + wide > w - 2) x = 0, y++;
        entry[i].x = x;
        entry[i].y = y;
        entry[i].w = wide + 2 < w - x ? wide + 2 : w - x;
        x += wide + 2;
    }
    return y + 1;
}

static void side_draw_entry(const struct compose_view *v, struct canvas *c, struct rect r, int y,
                            const struct side_entry *e) {
    const struct preset *p = e->preset >= 0 ? preset_at(e->preset) : NULL;
    int x = r.x + e->x, room = e->w - 2;
    if (e->heading) {
        canvas_fit(c, x, y, r.w - e->x, INK_KEY, e->heading);
        return;
    }
    bool here = p && p == v->facts.preset;
    bool bad = p ? v->bad[e->preset] != NULL : v->own[e->own].why != NULL;
    canvas_cursor(c, x + 1, y, here);
    zone_pick(c, x, y, e->w, PICK_PRESET_AT + (p ? e->preset : COMPOSE_PRESETS + e->own));
    int used = canvas_fit(c, x + 2, y, room, here ? INK_ACCENT : bad ? INK_DIM : INK_TEXT, side_name(v, e));
    if (r.w >= SIDE_COLUMNS)
        canvas_fit(c, x + 4 + used, y, room - used - 3, INK_DIM, p ? p->sizes : v->own[e->own].text);
}

void compose_draw_presets(const struct compose_view *v, struct canvas *c, struct rect r) {
    struct side_entry *entry = xmalloc(SIDE_ENTRIES * sizeof *entry);
    struct buf right = BUF_INIT;
    int n = side_gather(v, entry), rows = side_lay(v, entry, n, r.w), seen = r.h - 1, top = 0;
    for (int i = 0; i < n; i++)
        if (entry[i].preset >= 0 && preset_at(entry[i].preset) == v->facts.preset)
            ui_in_sight(&top, entry[i].y, seen);
    if (rows > seen) buf_printf(&right, "%d\u2013%d of %d: ", top + 1, top + seen, rows);
    buf_puts(&right, "P");
    canvas_title(c, r, "Presets", buf_text(&right));
    for (int i = 0; i < n; i++)
        if (entry[i].y >= top && entry[i].y < top + seen)
            side_draw_entry(v, c, r, r.y + 1 + entry[i].y - top, &entry[i]);
    int y = r.y + rows + 2, last = r.y + r.h;
    free(entry);
    buf_release(&right);
    if (!v->facts.preset || y + 2 > last) return;
    y += canvas_wrap(c, rect_down(r, y - r.y), INK_TEXT, v->facts.preset->title);
    y += canvas_wrap(c, rect_down(r, y - r.y), INK_DIM, v->facts.preset->paper);
    if (y + 1 < last) canvas_wrap(c, rect_down(r, y + 1 - r.y), INK_TEXT, v->facts.preset->note);
}
