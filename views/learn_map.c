/* Draws the maps of a step side by side, each with a title, and a common legend. */
#include <stdio.h>

#include "core/base/text.h"
#include "views/learn.h"
#include "views/learn_parts.h"
#include "views/scatter.h"

enum { MAP_ROWS = 14, MAP_ROWS_SMALL = 9 /* where three or more share the width */ };

int learn_map_rows(const struct lesson_step *s) { return 2 + (s->maps > 2 ? MAP_ROWS_SMALL : MAP_ROWS); }

static void learn_map_legend(struct canvas *c, int x, int y, int end, const struct lesson_map *m) {
    for (int i = 0; i < m->classes && x + 2 < end; i++) {
        bool letters = scatter_letters(c, m->classes);
        canvas_put(c, x, y, scatter_mark_style(c, m->classes, i),
                   letters                     ? scatter_mark(c, m->classes, i)
                   : c->glyphs == GLYPHS_ASCII ? '*'
                                               : 0x25CF);
        x += 4 + canvas_fit(c, x + 2, y, end - x - 2, INK_TEXT, m->class_name[i]);
    }
}

void learn_draw_map(struct canvas *c, struct rect r, const struct lesson_step *s,
                    const struct lesson_map *m) {
    struct scatter_look look;
    int w = r.w / s->maps;
    scatter_look_init(&look);
    for (int i = 0; i < s->maps; i++) {
        const struct scatter_data d = { m->n, m->xy[i], m->label, m->classes, NULL };
        struct phrase title = phrase("perplexity %g", s->map[i].perplexity);
        if (s->map[i].seed >= 0)
            phrase_add(&title, ", seed %lld", (long long)s->map[i].seed);
        canvas_fit(c, r.x + i * w, r.y, w - 2, INK_TITLE, title.text);
        scatter_draw(c, (struct rect){ r.x + i * w, r.y + 1, w - 2, r.h - 2 }, &d, &look, -1, false);
    }
    learn_map_legend(c, r.x, r.y + r.h - 1, r.x + r.w, m);
}
