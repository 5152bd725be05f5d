#include "views/few.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "views/phrase.h"
#include "views/plot_errors.h"

enum { FEW_NAME = 30, FEW_TASK = 22 };

/* h: the window's rows: a chart takes more where there are more. */
static int chart_rows(int h) { return h >= 40 ? 14 : 9; }
static struct style line_style(const struct canvas *c, int i) {
    return canvas_style(c, (enum ink)(INK_MODULE_1 + i % 3));
}

static struct phrase number(double v) { return isfinite(v) ? phrase("%.4f", v) : phrase("-"); }

/* ---- few shots ---- */

int few_rows(const struct few_view *v, int h) {
    return v->lines ? chart_rows(h) + 1 + v->lines + (v->gains ? 2 + v->gains : 0) : 0;
}

static void draw_scores(struct canvas *c, struct rect r, const struct few_view *v) {
    struct plot_errors *line = xcalloc((size_t)v->lines, sizeof *line);
    for (int i = 0; i < v->lines; i++)
        line[i] = (struct plot_errors){ v->line[i].name,  (uint32_t)('a' + i % 26),
                                        line_style(c, i), v->line[i].points,
                                        v->line[i].k,     v->line[i].mean,
                                        v->line[i].sd };
    plot_errors(c, r, line, v->lines, true, "k");
    free(line);
}

/* "mean ± sd over 10 draws", "… over 5–10 draws" where they differ. */
static void numbers_title(const struct few_view *v, char out[64]) {
    int least = INT_MAX, most = 0;
    for (int i = 0; i < v->lines; i++) {
        for (int p = 0; p < v->line[i].points; p++) {
            int n = v->line[i].draws[p];
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
    }
    if (least < most) snprintf(out, 64, "bars: mean \u00B1 sd over %d\u2013%d support sets", least, most);
    else snprintf(out, 64, "bars: mean \u00B1 sd over %d support set%s", most, most == 1 ? "" : "s");
}

static void draw_numbers(struct canvas *c, struct rect r, const struct few_view *v) {
    const struct few_line *first = &v->line[0];
    char title[64];
    numbers_title(v, title);
    canvas_text(c, r.x, r.y, INK_DIM, title);
    for (int p = 0; p < first->points; p++) {
        canvas_right(c, r.x + FEW_NAME - 1 + 18 * p, r.y, 16, INK_DIM, phrase("k=%g", first->k[p]).text);
    }
    for (int i = 0; i < v->lines; i++) {
        const struct few_line *l = &v->line[i];
        canvas_put(c, r.x, r.y + 1 + i, line_style(c, i), (uint32_t)('a' + i % 26));
        canvas_fit(c, r.x + 2, r.y + 1 + i, FEW_NAME - 4, INK_TEXT, l->name);
        for (int p = 0; p < l->points; p++) {
            canvas_right(c, r.x + FEW_NAME - 1 + 18 * p, r.y + 1 + i, 16, INK_TEXT,
                         phrase("%s \u00B1 %s", number(l->mean[p]).text, number(l->sd[p]).text).text);
        }
    }
}

static void draw_gains(struct canvas *c, struct rect r, const struct few_view *v) {
    canvas_fit(c, r.x, r.y, r.w, INK_DIM,
               phrase("tasks by gain at k = %d: %.120s", v->k, v->less).text);
    canvas_fit(c, r.x, r.y + 1, FEW_TASK, INK_DIM, "task");
    for (int i = 0; i < v->lines; i++) {
        char mark[2] = { (char)('a' + i % 26), 0 };
        canvas_right(c, r.x + FEW_TASK + 9 * i, r.y + 1, 8, INK_DIM, mark);
    }
    int at = r.x + FEW_TASK + 9 * v->lines;
    canvas_right(c, at, r.y + 1, 9, INK_DIM, "majority");
    canvas_right(c, at + 10, r.y + 1, 9, INK_DIM, "gain");
    for (int g = 0; g < v->gains; g++) {
        const struct few_gain *x = &v->gain[g];
        int y = r.y + 2 + g;
        canvas_fit(c, r.x, y, FEW_TASK, INK_TEXT, x->task);
        for (int i = 0; i < v->lines; i++)
            canvas_right(c, r.x + FEW_TASK + 9 * i, y, 8, INK_TEXT, number(x->value[i]).text);
        canvas_right(c, at, y, 9, INK_DIM, number(x->majority).text);
        canvas_right(c, at + 10, y, 9, x->gain > 0 ? INK_GOOD : x->gain < 0 ? INK_BAD : INK_TEXT,
                     phrase(isfinite(x->gain) ? "%+.4f" : "-", x->gain).text);
    }
}

void few_draw(struct canvas *c, struct rect r, const struct few_view *v, int h) {
    int chart = chart_rows(h);
    if (!v->lines) return;
    draw_scores(c, (struct rect){ r.x, r.y, r.w, chart }, v);
    r = rect_in(r, PANE_EDGE, 0);
    draw_numbers(c, (struct rect){ r.x, r.y + chart, r.w, 1 + v->lines }, v);
    if (v->gains) draw_gains(c, (struct rect){ r.x, r.y + chart + 1 + v->lines, r.w, 2 + v->gains }, v);
}

/* ---- episodes ---- */

int episode_rows(const struct episode_view *v, int h) {
    int loop = v->steps ? chart_rows(h) + 1 + v->steps + 1 : 0;
    return loop + (v->rates ? 1 + v->rates : 0);
}

static void draw_loop(struct canvas *c, struct rect r, const struct episode_view *v, int h) {
    int n = v->steps, chart = chart_rows(h);
    double *x = xmalloc((size_t)(n + 1) * sizeof *x);
    for (int i = 0; i <= n; i++) x[i] = i;
    const struct plot_errors line[] = {
        { "query", 'q', line_style(c, 0), n + 1, x, v->query, NULL },
        { "support before the step", 'b', line_style(c, 1), n, x, v->before, NULL },
        { "support after the step", 'a', line_style(c, 2), n, x + 1, v->after, NULL },
    };
    plot_errors(c, (struct rect){ r.x, r.y, r.w, chart }, line, 3, false, "step");
    free(x);
    r = rect_in(r, PANE_EDGE, 0);
    canvas_text(c, r.x, r.y + chart, INK_DIM,
                "steps    q query   b support before   a support after   (loss)");
    for (int i = 0; i <= n; i++) {
        canvas_printf(c, r.x, r.y + chart + 1 + i, INK_TEXT, "%5d  %9s  %17s  %17s", i,
                      number(v->query[i]).text, number(i < n ? v->before[i] : NAN).text,
                      number(i ? v->after[i - 1] : NAN).text);
    }
}

static void draw_rates(struct canvas *c, struct rect r, const struct episode_view *v) {
    double most = 0;
    r = rect_in(r, PANE_EDGE, 0);
    canvas_text(c, r.x, r.y, INK_DIM, "learned learning rates of the inner loop");
    for (int i = 0; i < v->rates; i++) most = v->rate[i] > most ? v->rate[i] : most;
    for (int i = 0; i < v->rates; i++) {
        canvas_fit(c, r.x, r.y + 1 + i, 14, INK_TEXT, v->rate_name[i]);
        canvas_printf(c, r.x + 15, r.y + 1 + i, INK_TEXT, "%10.4g", v->rate[i]);
        if (r.w > 44 && most > 0)
            canvas_bar(c, r.x + 27, r.y + 1 + i, r.w > 80 ? 48 : r.w - 32, v->rate[i] / most);
    }
}

void episode_draw(struct canvas *c, struct rect r, const struct episode_view *v, int h) {
    int loop = v->steps ? chart_rows(h) + 1 + v->steps + 1 : 0;
    if (v->steps) draw_loop(c, r, v, h);
    if (v->rates) draw_rates(c, (struct rect){ r.x, r.y + loop, r.w, 1 + v->rates }, v);
}
