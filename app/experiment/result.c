/* Results of an experiment: means and contrasts, as JSON (written and read) and as a section of a page. */
#include "app/experiment/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void experiment_result_release(struct experiment_result *r) {
    for (int i = 0; i < EXPERIMENT_CELLS; i++)
        for (int s = 0; s < EXPERIMENT_SEEDS; s++) {
            struct experiment_tasks *t = &r->of_task[i][s];
            for (int k = 0; k < t->count; k++) free(t->name[k]);
            free(t->name);
            free(t->value);
            *t = (struct experiment_tasks){ 0 };
        }
}

void experiment_add_task(struct experiment_tasks *t, const char *name, double value) {
    t->name = xrealloc(t->name, (size_t)t->count + 1, sizeof *t->name);
    t->value = xrealloc(t->value, (size_t)t->count + 1, sizeof *t->value);
    t->name[t->count] = xstrdup(name);
    t->value[t->count++] = value;
}

void experiment_result_init(struct experiment_result *r) {
    experiment_result_release(r);
    for (int i = 0; i < EXPERIMENT_CELLS; i++)
        for (int s = 0; s < EXPERIMENT_SEEDS; s++) r->value[i][s] = NAN, r->run[i][s] = 0;
}

struct spread experiment_cell_spread(const struct experiment *x, const struct experiment_result *r,
                                     int cell) {
    double v[EXPERIMENT_SEEDS];
    size_t n = 0;
    for (int s = 0; s < x->seeds; s++)
        if (isfinite(r->value[cell][s])) v[n++] = r->value[cell][s];
    return spread_of(v, n);
}

/* For one seed: the difference, or the least-squares slope of the differences against ln x. */
static double contrast_of_seed(const struct experiment_contrast *c, const struct experiment_result *r,
                               int s) {
    double d[EXPERIMENT_TERMS], at[EXPERIMENT_TERMS], mean_d = 0, mean_at = 0, up = 0, down = 0;
    for (int i = 0; i < c->terms; i++) {
        d[i] = r->value[c->term[i].a][s] - (c->term[i].b < 0 ? 0 : r->value[c->term[i].b][s]);
        at[i] = log(c->term[i].x);
        mean_d += d[i] / c->terms;
        mean_at += at[i] / c->terms;
    }
    if (c->terms == 1) return d[0];
    for (int i = 0; i < c->terms; i++)
        up += (at[i] - mean_at) * (d[i] - mean_d), down += (at[i] - mean_at) * (at[i] - mean_at);
    return up / down;
}

static double value_of_task(const struct experiment_tasks *t, const char *name) {
    for (int i = 0; i < t->count; i++)
        if (!strcmp(t->name[i], name)) return t->value[i];
    return NAN;
}

/* For one task: the mean over the seeds that have it in both cells; NaN: none. */
static double contrast_of_task(const struct experiment *x, const struct experiment_contrast *c,
                               const struct experiment_result *r, const char *task) {
    double sum = 0;
    int n = 0;
    for (int s = 0; s < x->seeds; s++) {
        double d = value_of_task(&r->of_task[c->term[0].a][s], task) -
                   value_of_task(&r->of_task[c->term[0].b][s], task);
        if (!isfinite(d)) continue;
        sum += d;
        n++;
    }
    return n ? sum / n : NAN;
}

/* Over the tasks of the first seed that has any. */
static struct experiment_shown contrast_over_tasks(const struct experiment *x,
                                                   const struct experiment_contrast *c,
                                                   const struct experiment_result *r) {
    struct experiment_shown out = { 0 };
    const struct experiment_tasks *t = NULL;
    for (int s = x->seeds - 1; s >= 0; s--)
        if (r->of_task[c->term[0].a][s].count) t = &r->of_task[c->term[0].a][s];
    double *v = xcalloc(t ? (size_t)t->count + 1 : 1, sizeof *v);
    size_t n = 0;
    for (int i = 0; t && i < t->count; i++) {
        double d = contrast_of_task(x, c, r, t->name[i]), beyond = d - c->direction * c->margin;
        if (!isfinite(d)) continue;
        v[n++] = d;
        out.up += beyond > 0;
        out.down += beyond < 0;
    }
    out.spread = spread_of(v, n);
    free(v);
    return out;
}

struct experiment_shown experiment_contrast_of(const struct experiment *x, const struct experiment_result *r,
                                               int contrast) {
    const struct experiment_contrast *c = &x->contrast[contrast];
    if (c->over_tasks) return contrast_over_tasks(x, c, r);
    double v[EXPERIMENT_SEEDS];
    size_t n = 0;
    for (int s = 0; s < x->seeds; s++) {
        double one = contrast_of_seed(c, r, s);
        if (isfinite(one)) v[n++] = one;
    }
    return (struct experiment_shown){ .spread = spread_of(v, n) };
}

const char *experiment_verdict(const struct experiment_contrast *c, const struct experiment_shown *shown) {
    struct spread s = shown->spread;
    struct interval i = spread_interval(s, 0.95);
    double low = c->direction > 0 ? i.low : -i.high, high = c->direction > 0 ? i.high : -i.low;
    if (!s.n) return "not run";
    if (c->over_tasks) {
        if (sign_test(shown->up, shown->down) > 0.05) return "not shown";
        return (shown->up > shown->down) == (c->direction > 0) ? "as claimed" : "contradicted";
    }
    if (!c->direction) {
        if (spread_p_within(s, c->margin) <= 0.05) return "as claimed";
        return i.low > c->margin || i.high < -c->margin ? "contradicted" : "not shown";
    }
    if (low > c->margin) return "as claimed";
    if (high < -c->margin) return "contradicted";
    return "not shown";
}

/* ---- JSON ---- */

/* Writes, for few-shot runs, the tasks of each seed with their values. */
static void result_tasks_json(const struct experiment *x, const struct experiment_tasks *of, struct buf *b) {
    bool any = false;
    for (int s = 0; s < x->seeds; s++) any |= of[s].count > 0;
    if (!any) return;
    json_open(b, "tasks", '[');
    for (int s = 0; s < x->seeds; s++) {
        json_open(b, NULL, '{');
        for (int i = 0; i < of[s].count; i++) json_member_measured(b, of[s].name[i], of[s].value[i]);
        buf_putc(b, '}');
    }
    buf_putc(b, ']');
}

static void result_cell_json(const struct experiment *x, const struct experiment_result *r, int i,
                             struct buf *b) {
    const struct experiment_cell *c = &x->cell[i];
    struct spread s = experiment_cell_spread(x, r, i);
    json_put(b, "{id:%s,text:%s,published:%g,status:%s,source:%s", c->id, c->text, c->published, c->status,
             c->source);
    json_member_doubles(b, "values", r->value[i], x->seeds);
    json_member_ints(b, "runs", r->run[i], x->seeds);
    json_put(b, "n:%zu,mean:%g,sd:%g", s.n, s.mean, s.sd);
    result_tasks_json(x, r->of_task[i], b);
    buf_putc(b, '}');
}

const struct report_column experiment_cell_columns[] = {
    { "cell", REPORT_TEXT, .offset = offsetof(struct experiment_cell_line, id) },
    { "published", REPORT_DOUBLE, .offset = offsetof(struct experiment_cell_line, published) },
    { "mean", REPORT_DOUBLE, offsetof(struct experiment_cell_line, of.mean), .decimals = 2,
      .none = "not run" },
    { "sd", REPORT_DOUBLE, offsetof(struct experiment_cell_line, of.sd), .decimals = 2, .none = "" },
    { "n", REPORT_SIZE, .offset = offsetof(struct experiment_cell_line, of.n) },
    { 0 },
};

const struct report_column experiment_contrast_columns[] = {
    { "id", REPORT_TEXT, offsetof(struct experiment_contrast_line, id), .heading = "contrast" },
    { "direction", REPORT_TEXT, offsetof(struct experiment_contrast_line, direction), .heading = "claimed" },
    { "published", REPORT_SIGNED, .offset = offsetof(struct experiment_contrast_line, published) },
    { "n", REPORT_SIZE, offsetof(struct experiment_contrast_line, of.n), .heading = "pairs" },
    { "mean", REPORT_SIGNED, offsetof(struct experiment_contrast_line, of.mean), .decimals = 2 },
    { "low", REPORT_SIGNED, offsetof(struct experiment_contrast_line, interval.low), .decimals = 2 },
    { "high", REPORT_SIGNED, offsetof(struct experiment_contrast_line, interval.high), .decimals = 2 },
    { "up", REPORT_DOUBLE, offsetof(struct experiment_contrast_line, up), .optional = true },
    { "down", REPORT_DOUBLE, offsetof(struct experiment_contrast_line, down), .optional = true },
    { "sign_p", REPORT_DOUBLE, offsetof(struct experiment_contrast_line, sign_p), .decimals = 3,
      .optional = true },
    { "verdict", REPORT_TEXT, .offset = offsetof(struct experiment_contrast_line, verdict) },
    { 0 },
};

struct experiment_contrast_line experiment_contrast_line(const struct experiment *x,
                                                         const struct experiment_result *r, int i) {
    const struct experiment_contrast *c = &x->contrast[i];
    struct experiment_shown shown = experiment_contrast_of(x, r, i);
    return (struct experiment_contrast_line){
        .id = c->id,
        .direction = c->direction > 0   ? ">"
                     : c->direction < 0 ? "<"
                                        : "=",
        .published = c->published,
        .of = shown.spread,
        .interval = spread_interval(shown.spread, 0.95),
        .verdict = experiment_verdict(c, &shown),
        .up = c->over_tasks ? (double)shown.up : NAN,
        .down = c->over_tasks ? (double)shown.down : NAN,
        .sign_p = c->over_tasks ? sign_test(shown.up, shown.down) : NAN,
    };
}

void experiment_result_json(const struct experiment *x, const struct experiment_result *r, struct buf *out) {
    json_put(out, "{experiment:%s,seeds:[", x->name);
    for (int k = 0; k < x->seeds; k++) json_member_int(out, NULL, x->seed[k]);
    json_put(out, "],cells:[");
    for (int i = 0; i < x->cells; i++) result_cell_json(x, r, i, out);
    json_put(out, "],contrasts:[");
    for (int i = 0; i < x->contrasts; i++) {
        struct experiment_contrast_line line = experiment_contrast_line(x, r, i);
        report_object(experiment_contrast_columns, NULL, &line, out);
    }
    buf_puts(out, "]}");
}

/* Maps the file's seeds to those of the experiment; −1: none of them. */
static void seeds_of(const struct experiment *x, const json_t *one, int at[EXPERIMENT_SEEDS]) {
    const json_t *list = json_object_get(one, "seeds");
    for (int i = 0; i < EXPERIMENT_SEEDS; i++) {
        at[i] = -1;
        for (int k = 0; k < x->seeds && (size_t)i < json_array_size(list); k++)
            if ((uint64_t)json_integer_value(json_array_get(list, (size_t)i)) == x->seed[k]) at[i] = k;
    }
}

static void read_tasks_of(json_t *o, struct experiment_tasks *t) {
    const char *name;
    json_t *v;
    json_object_foreach(o, name, v) {
        if (json_is_number(v)) experiment_add_task(t, name, json_number_value(v));
    }
}

int experiment_result_read(const struct experiment *x, const char *path, struct experiment_result *r,
                           struct err *e) {
    experiment_result_init(r);
    json_t *root = json_read(path, 1 << 22, e);
    if (!root) return e->code;
    bool found = false;
    size_t i, k;
    json_t *one, *cell;
    json_array_foreach(root, i, one) {
        const char *name = json_string_value(json_object_get(one, "experiment"));
        if (!name || strcmp(name, x->name)) continue;
        int at[EXPERIMENT_SEEDS];
        found = true;
        seeds_of(x, one, at);
        json_array_foreach(json_object_get(one, "cells"), k, cell) {
            const char *id = json_string_value(json_object_get(cell, "id"));
            const char *text = json_string_value(json_object_get(cell, "text"));
            for (int c = 0; id && text && c < x->cells; c++) {
                if (strcmp(id, x->cell[c].id) || strcmp(text, x->cell[c].text)) continue;
                for (int s = 0; s < EXPERIMENT_SEEDS; s++) {
                    const json_t *v = json_array_get(json_object_get(cell, "values"), (size_t)s);
                    if (at[s] < 0 || !json_is_number(v)) continue;
                    r->value[c][at[s]] = json_number_value(v);
                    r->run[c][at[s]] = json_integer_value(
                        json_array_get(json_object_get(cell, "runs"), (size_t)s));
                    read_tasks_of(json_array_get(json_object_get(cell, "tasks"), (size_t)s),
                                  &r->of_task[c][at[s]]);
                }
            }
        }
    }
    json_decref(root);
    return found ? 0 : err_set(e, ERR_INPUT, "%s: contains no result of the experiment %s", path, x->name);
}

/* ---- a page ---- */

static void page_cells(const struct experiment *x, const struct experiment_result *r, struct buf *out) {
    buf_puts(out, "| cell | options | published | petri: mean ± sd (n) |\n|---|---|---|---|\n");
    for (int i = 0; i < x->cells; i++) {
        const struct experiment_cell *c = &x->cell[i];
        struct spread s = experiment_cell_spread(x, r, i);
        buf_printf(out, "| %s | `%s%s", c->id, c->verb ? c->verb : "", c->verb ? " " : "");
        text_markdown(out, c->text);
        buf_puts(out, "` | ");
        if (isfinite(c->published)) buf_printf(out, "%g", c->published);
        else buf_puts(out, "–");
        if (c->status) buf_printf(out, " (%s)", c->status);
        if (!s.n) buf_puts(out, " | not run |\n");
        else if (s.n < 2) buf_printf(out, " | %.2f (1) |\n", s.mean);
        else buf_printf(out, " | %.2f ± %.2f (%zu) |\n", s.mean, s.sd, s.n);
    }
}

static void page_contrasts(const struct experiment *x, const struct experiment_result *r, struct buf *out) {
    if (!x->contrasts) return;
    buf_puts(out, "\n| contrast | claimed | published | petri: mean [95% interval], pairs | verdict "
                  "|\n|---|---|---|---|---|\n");
    for (int i = 0; i < x->contrasts; i++) {
        const struct experiment_contrast *c = &x->contrast[i];
        struct experiment_shown shown = experiment_contrast_of(x, r, i);
        struct spread s = shown.spread;
        struct interval v = spread_interval(s, 0.95);
        const char *over = c->terms > 1 ? " (slope against ln x)" : c->over_tasks ? " (over tasks)" : "";
        const char *claimed = c->direction > 0 ? "above" : c->direction < 0 ? "below" : "within \u00B1";
        double margin = c->margin > 0 || c->margin < 0 ? (c->direction ? c->direction : 1) * c->margin : 0.0;
        buf_printf(out, "| %s%s | %s %g | ", c->id, over, claimed, margin);
        if (isfinite(c->published)) buf_printf(out, "%+g", c->published);
        else buf_puts(out, "–");
        if (!s.n) buf_puts(out, " | – | ");
        else if (c->over_tasks)
            buf_printf(out, " | %+.2f, %zu of %zu tasks above, sign test p %.3f | ", s.mean, shown.up, s.n,
                       sign_test(shown.up, shown.down));
        else if (isfinite(v.low))
            buf_printf(out, " | %+.2f [%+.2f, %+.2f], %zu | ", s.mean, v.low, v.high, s.n);
        else buf_printf(out, " | %+.2f, no interval, %zu | ", s.mean, s.n);
        buf_printf(out, "%s |\n", experiment_verdict(c, &shown));
    }
}

void experiment_page(const struct experiment *x, const struct experiment_result *r, struct buf *out) {
    buf_printf(out, "\n## %s\n\n%s%s%s: %s\n", x->name, x->paper, x->table ? ", " : "",
               x->table ? x->table : "", x->claim);
    if (x->about) buf_printf(out, "\n%s\n", x->about);
    buf_printf(out, "\nBase command of the runs: `petri train %s`; seed%s", x->base,
               x->seeds == 1 ? "" : "s");
    for (int k = 0; k < x->seeds; k++)
        buf_printf(out, "%s %llu", k ? "," : "", (unsigned long long)x->seed[k]);
    buf_puts(out, ".\n\n");
    page_cells(x, r, out);
    page_contrasts(x, r, out);
    if (x->reported) buf_puts(out, x->reported);
}
