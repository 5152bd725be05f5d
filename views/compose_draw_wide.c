/* Compose on a large window: what else there is to choose, what holds, what is near. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/compose_edit.h"
#include "views/ui.h"

/* One axis with its choices on a line, the current one marked, those that are not allowed dim. */
static void axis_line(const struct compose_view *of, struct canvas *c, struct rect r, int y, enum axis a) {
    int x = r.x + 18, last = r.x + r.w - 1;
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
        if (v->facts.preset) return; /* what is nearest to it but itself */
        but = method_nearest_preset_except(&v->config.method, but);
        if (!but) return;
    }
}

/* The other axes of the module, then the rules that have a say, then the methods that are nearest. */
void compose_draw_all_axes(const struct compose_view *v, struct canvas *c, struct rect r) {
    int y = r.y, last = r.y + r.h;
    struct compose_view *of = xmalloc(
        sizeof *of); /* a look at another axis: nothing of it is kept or let go */
    *of = *v;
    for (int a = 0; a < axis_count() && y < last && v->part < v->config.method.count; a++) {
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
        y += canvas_wrap(c, (struct rect){ r.x + 18, y, r.w - 20, last - y },
                         f->level == LEVEL_INFO ? INK_TEXT : f->level == LEVEL_WARNING ? INK_WARN : INK_BAD,
                         f->text);
    }
    if (v->config.method.count && ++y < last) draw_near(v, c, rect_down(r, y - r.y));
}
