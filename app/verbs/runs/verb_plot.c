/* petri plot: points of runs as a chart in text, ANSI or SVG, or their numbers. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/run_table.h"
#include "app/history/series.h"
#include "app/verbs/drawing.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/plot_figure.h"

enum { PLOT_RUNS = 60 };

/* One run's curve; `data` points into the others. */
struct plotted {
    int64_t run;
    struct run_series *series;
    struct plot_data data; /* x, value */
    double *step, *value, *own;
    char *key, *name, *note;
};

struct plotting {
    struct plotted of[PLOT_RUNS];
    int count;
    const char *key;
    struct plot_look look;
};

static int plot_ask_smooth(const struct args *a, int *level, struct err *e) {
    *level = 3;
    if (a->plot.smooth < 0) return 0;
    for (*level = 0; *level <= PLOT_SMOOTH_MAX; ++*level)
        if (plot_smooth_weight(*level) == a->plot.smooth) return 0;
    struct buf known = BUF_INIT;
    for (int i = 0; i <= PLOT_SMOOTH_MAX; i++)
        buf_printf(&known, "%s%g", !i ? "" : i < PLOT_SMOOTH_MAX ? ", " : " or ", plot_smooth_weight(i));
    err_set(e, ERR_USAGE, "--smooth: must be %s, found %g", buf_text(&known), a->plot.smooth);
    buf_release(&known);
    return e->code;
}

/* Finds "dev.accuracy" for "accuracy" where the run has no points of that name. */
static int find_key(const struct store_run *r, const char *asked, char **key, struct err *e) {
    char *beside = r->decides && *r->decides ? store_name_other(r->decides, asked) : NULL;
    struct buf has = BUF_INIT;
    *key = NULL;
    for (size_t i = 0; i < r->value_count; i++) {
        const char *name = r->value[i].name;
        if (!strcmp(name, asked)) *key = xstrdup(name);
        buf_printf(&has, "%s%s", i ? ", " : "", name);
    }
    for (size_t i = 0; i < r->value_count && !*key && beside; i++)
        if (!strcmp(r->value[i].name, beside)) *key = xstrdup(beside);
    if (!*key)
        err_set(e, ERR_NOT_FOUND, "run %lld: unknown series \"%s\"; available: %s",
            (long long)r->id, asked,
                has.size ? buf_text(&has) : "none");
    free(beside);
    buf_release(&has);
    return *key ? 0 : e->code;
}

/* "last 0.4123, best 0.3801 at step 120" */
static char *plot_note(const struct store_run *r, const struct plotted *p) {
    for (size_t i = 0; i < r->value_count; i++) {
        const struct store_named_value *v = &r->value[i];
        struct buf b = BUF_INIT;
        if (strcmp(v->name, p->key)) continue;
        buf_printf(&b, "last %.4g", v->last.v);
        if (v->best.measured) buf_printf(&b, ", best %.4g at step %lld", v->best.v, (long long)v->best.step);
        return buf_take(&b);
    }
    return NULL;
}

static int plot_points_of(struct plotted *p, struct store *s, const struct store_run *r, enum plot_x x,
                          struct err *e) {
    struct store_points points;
    int rc = store_points(s, r->id, p->key, 0, &points, e);
    if (rc) return rc;
    size_t n = points.count;
    p->step = xmalloc((n + 1) * sizeof *p->step);
    p->value = xmalloc((n + 1) * sizeof *p->value);
    for (size_t i = 0; i < n; i++) {
        p->step[i] = (double)points.step[i];
        p->value[i] = points.value[i];
    }
    store_points_release(&points);
    const char *lacks = series_lacks(&p->series->view, x);
    if (lacks)
        return err_set(e, ERR_NOT_FOUND, "run %lld: --x %s is not available: %s",
            (long long)r->id, plot_x_name(x),
                       lacks);
    p->data = (struct plot_data){ series_xs(&p->series->view, x, p->step, n, &p->own), p->value, n };
    return 0;
}

static int plot_add(struct plotting *f, struct store *s, int64_t id, struct err *e) {
    struct store_run r;
    if (f->count == PLOT_RUNS)
        return err_set(e, ERR_USAGE, "petri plot: too many runs: at most %d fit in one chart", PLOT_RUNS);
    int rc = store_run(s, id, &r, e);
    if (rc) return rc;
    struct plotted *p = &f->of[f->count++];
    p->run = id;
    p->series = series_new(id);
    rc = find_key(&r, f->key, &p->key, e);
    if (!rc) rc = series_read(p->series, s, &r, e);
    if (!rc) rc = plot_points_of(p, s, &r, f->look.x, e);
    if (!rc) {
        p->name = run_table_title(&r);
        p->note = plot_note(&r, p);
    }
    store_run_release(&r);
    return rc;
}

static int plot_add_filtered(struct plotting *f, struct store *s, const char *filter, struct err *e) {
    struct store_runs list;
    int rc = store_list(s, &(struct store_list){ .filter = filter, .sort = "id" }, &list, e);
    if (rc) return rc;
    if (!list.count)
        rc = err_set(e, ERR_NOT_FOUND, "petri plot: no runs match \"%s\"; list all runs with `petri runs`",
                     filter);
    for (size_t i = 0; !rc && i < list.count; i++) rc = plot_add(f, s, list.run[i].id, e);
    store_runs_release(&list);
    return rc;
}

/* Adds the runs given by id or name, or those that match a filter. */
static int plot_add_named(struct plotting *f, struct store *s, const struct args *a, struct err *e) {
    struct err ignored = ERR_INIT;
    int64_t id;
    bool numbers = true;
    int rc = 0;
    for (int i = 0; i < a->count; i++) numbers &= !store_find(s, a->positional[i], &id, &ignored);
    for (int i = 0; i < a->count && numbers && !rc; i++) {
        rc = store_find(s, a->positional[i], &id, e);
        if (!rc) rc = plot_add(f, s, id, e);
    }
    char *filter = args_words(a);
    if (!numbers) rc = plot_add_filtered(f, s, filter, e);
    free(filter);
    return rc;
}

static double *plot_smoothed(const struct plotting *f, const struct plotted *p) {
    double *mean = xmalloc((p->data.count + 1) * sizeof *mean);
    plot_smooth(p->value, p->data.count, plot_smooth_weight(f->look.smooth), mean);
    return mean;
}

/* Writes one line per point: the plotted values, raw and smoothed. */
static void plot_csv(const struct plotting *f, struct buf *out) {
    buf_printf(out, "run,step,%s%svalue,smooth_%g\n", f->look.x ? plot_x_unit(f->look.x) : "",
               f->look.x ? "," : "", plot_smooth_weight(f->look.smooth));
    for (int i = 0; i < f->count; i++) {
        const struct plotted *p = &f->of[i];
        double *mean = plot_smoothed(f, p);
        for (size_t k = 0; k < p->data.count; k++) {
            char x[32], raw[32], smooth[32];
            text_from_double(p->data.step[k], x);
            text_from_double(p->value[k], raw);
            text_from_double(mean[k], smooth);
            buf_printf(out, "%lld,%.0f,%s%s%s,%s\n", (long long)p->run, p->step[k], f->look.x ? x : "",
                       f->look.x ? "," : "", raw, smooth);
        }
        free(mean);
    }
}

static void plot_numbers(struct buf *b, const char *key, const double *v, size_t n) {
    json_open(b, key, '[');
    for (size_t i = 0; i < n; i++) json_member_double(b, NULL, v[i]);
    buf_putc(b, ']');
}

static void plot_json(const struct plotting *f, struct buf *b) {
    json_put(b, "{key:%s,x:%s,smooth:%f,runs:[", f->key, plot_x_unit(f->look.x),
             plot_smooth_weight(f->look.smooth));
    for (int i = 0; i < f->count; i++) {
        const struct plotted *p = &f->of[i];
        double *mean = plot_smoothed(f, p);
        json_put(b, "{run:%jd,name:%s,key:%s", p->run, p->name, p->key);
        plot_numbers(b, "step", p->step, p->data.count);
        plot_numbers(b, "x", p->data.step, p->data.count);
        plot_numbers(b, "value", p->value, p->data.count);
        plot_numbers(b, "smoothed", mean, p->data.count);
        buf_putc(b, '}');
        free(mean);
    }
    buf_puts(b, "]}\n");
}

static void plot_draw(const struct plotting *f, struct canvas *c) {
    struct figure_line line[PLOT_RUNS];
    char right[120] = "";
    size_t n = 0;
    if (f->look.smooth)
        n = (size_t)snprintf(right, sizeof right, "smoothing %g%s", plot_smooth_weight(f->look.smooth),
                             f->look.raw ? ", with raw points" : "");
    if (f->look.log) n = text_more(right, sizeof right, n, "%slog", n ? " \u00B7 " : "");
    if (f->look.log_x)
        text_more(right, sizeof right, n, "%slog %s", n ? " \u00B7 " : "", plot_x_unit(f->look.x));
    if (f->count > 1) text_more(right, sizeof right, strlen(right), "%s+ several runs", *right ? "; " : "");
    for (int i = 0; i < f->count; i++)
        line[i] = (struct figure_line){ f->of[i].data, f->of[i].name, f->of[i].note };
    figure_draw(
        c, &(struct figure){
               .title = f->of[0].key, .right = right, .look = f->look, .line = line, .lines = f->count });
}

static int plot_out(const struct plotting *f, const struct args *a, enum render_form form, int w, int h,
                    struct err *e) {
    struct buf out = BUF_INIT;
    struct canvas c;
    int rc = 0;
    if (a->csv) plot_csv(f, &out);
    else if (a->json && !a->out) plot_json(f, &out);
    if (out.size) {
        fwrite(out.data, 1, out.size, stdout);
    } else {
        canvas_init(&c, w, h, a->ascii ? GLYPHS_ASCII : GLYPHS_BRAILLE,
                    form == RENDER_TEXT ? COLORS_NONE : COLORS_256);
        plot_draw(f, &c);
        render_canvas(&c, form, &out);
        rc = drawing_put(a, &out, e);
        canvas_release(&c);
    }
    buf_release(&out);
    return rc;
}

static void plot_release(struct plotting *f) {
    for (int i = 0; i < f->count; i++) {
        struct plotted *p = &f->of[i];
        series_free(p->series);
        free(p->step);
        free(p->value);
        free(p->own);
        free(p->key);
        free(p->name);
        free(p->note);
    }
}

int verb_plot(const struct args *a, struct err *e) {
    struct plotting f = { .key = a->plot.key ? a->plot.key : "loss" };
    struct store *s = NULL;
    enum render_form form;
    int w = 80, h = 24;
    f.look.log = a->plot.log;
    f.look.log_x = a->plot.log_x;
    f.look.x = (enum plot_x)a->plot.x;
    int rc = a->size ? render_size(a->size, &w, &h, e) : 0;
    if (!rc) rc = drawing_form(a, &form, e);
    if (!rc) rc = plot_ask_smooth(a, &f.look.smooth, e);
    if (!rc) rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = plot_add_named(&f, s, a, e);
    bool scored = !rc && strchr(f.of[0].key, '.') && !text_starts(f.of[0].key, "loss.");
    if (scored && a->plot.smooth < 0) f.look.smooth = 0; /* evaluations are few, and each is of many rows */
    f.look.whole = scored;
    f.look.raw = f.count == 1 || a->plot.raw;
    if (!rc) rc = plot_out(&f, a, form, w, h, e);
    plot_release(&f);
    return verb_close(s, rc, e);
}
