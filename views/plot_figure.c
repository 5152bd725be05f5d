#include "views/plot_figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/plot_many.h"
#include "views/scatter.h"

/* The least and greatest x of all lines; of a logarithmic axis those above 0. */
static void fit_window(const struct figure *f, struct plot_look *look) {
    double from = INFINITY, to = -INFINITY;
    for (int i = 0; i < f->lines; i++) {
        const struct plot_data *d = &f->line[i].data;
        for (size_t k = 0; k < d->count; k++) {
            if (!isfinite(d->step[k]) || (look->log_x && !(d->step[k] > 0))) continue;
            from = fmin(from, d->step[k]);
            to = fmax(to, d->step[k]);
        }
    }
    if (look->to > look->from) return;
    look->from = look->log_x && isfinite(from) ? from : 0;
    look->to = isfinite(to) && to > look->from ? to : look->from + 1;
}

static void figure_legend(struct canvas *c, const struct figure *f, int y, int rows) {
    for (int i = 0; i < rows; i++, y++) {
        const struct figure_line *l = &f->line[i];
        if (i + 1 == rows && f->lines > rows) {
            canvas_printf(c, 3, y, INK_DIM, "and %d more", f->lines - i);
            return;
        }
        if (f->lines > 1) canvas_put(c, 1, y, scatter_style(c, i), plot_mark(i));
        int room = c->w - 4, note = l->note ? canvas_width(c, l->note) : 0;
        if (note > room / 2) note = room / 2;
        canvas_fit(c, 3, y, room - note - 2, INK_TEXT, l->name);
        if (note) canvas_fit(c, c->w - 1 - note, y, note, INK_DIM, l->note);
    }
}

void figure_draw(struct canvas *c, const struct figure *f) {
    struct plot_look look = f->look;
    int rows = f->lines > c->h / 3 ? c->h / 3 : f->lines;
    struct rect chart = { 0, 1, c->w, c->h - 1 - rows };
    canvas_clear(c);
    canvas_rule(c, 0, 0, c->w, f->title, f->right);
    fit_window(f, &look);
    if (f->lines == 1) {
        plot_curve(c, chart, &f->line[0].data, &look, -1, true);
    } else {
        struct plot_line *line = xcalloc((size_t)f->lines + 1, sizeof *line);
        for (int i = 0; i < f->lines; i++)
            line[i] = (struct plot_line){ f->line[i].data, plot_mark(i), scatter_style(c, i), i, 0 };
        plot_lines(c, chart, line, f->lines, &look, -1, true);
        free(line);
    }
    figure_legend(c, f, c->h - rows, rows);
}
