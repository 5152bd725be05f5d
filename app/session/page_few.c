#include "app/session/page_few.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/run_row.h"
#include "app/sweep/shots_group.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Frees the memory of the page. */
static void *page_keep(struct page_few *p, void *memory) {
    GROW(p->memory, p->room, p->pieces + 1);
    return p->memory[p->pieces++] = memory;
}

static double *page_numbers(struct page_few *p, size_t n) {
    return page_keep(p, xcalloc(n + 1, sizeof(double)));
}

void page_few_release(struct page_few *p) {
    for (size_t i = 0; i < p->pieces; i++) free(p->memory[i]);
    free(p->memory);
    *p = (struct page_few){ 0 };
}

/* ---- few-shot runs ---- */

/* Counts the values of k that have a result. */
static struct few_line line_of_run(struct page_few *p, const struct shots_results *r) {
    size_t ks = (size_t)r->how.ks;
    double *k = page_numbers(p, ks), *mean = page_numbers(p, ks), *sd = page_numbers(p, ks);
    int *draws = page_keep(p, xcalloc(ks + 1, sizeof *draws));
    struct few_line l = {
        .name = page_keep(p, shots_label(r)), .k = k, .mean = mean, .sd = sd, .draws = draws
    };
    for (int i = 0; i < r->how.ks; i++) {
        struct shots_point v = shots_point(r, r->how.k[i]);
        if (!v.tasks) continue;
        k[l.points] = r->how.k[i];
        mean[l.points] = v.mean;
        draws[l.points] = v.draws;
        sd[l.points++] = v.sd;
    }
    return l;
}

static void fill_gains(struct page_few *p, const struct shots_group *g) {
    struct shots_gains x;
    shots_gains(g, &x);
    struct few_gain *gain = page_keep(p, xcalloc((size_t)x.count + 1, sizeof *gain));
    for (int i = 0; i < x.count; i++) {
        double *value = page_numbers(p, (size_t)g->runs);
        memcpy(value, x.of[i].value, (size_t)g->runs * sizeof *value);
        gain[i] = (struct few_gain){ page_keep(p, xstrdup(x.of[i].task)), value, x.of[i].majority,
                                     x.of[i].gain };
    }
    p->few.gain = gain;
    p->few.gains = x.count;
    p->few.k = x.k;
    p->few.less = page_keep(p, g->runs > 1
                                   ? xprintf("%s − %s", p->few.line[g->runs - 1].name, p->few.line[0].name)
                                   : xprintf("%s − majority baseline", p->few.line[0].name));
    shots_gains_release(&x);
}

static int read_few(struct store *s, const struct store_run *run, struct page_few *p, struct err *e) {
    struct shots_group g;
    if (!run_row_is_fewshot(run) || !run->config) return 0;
    if (shots_group_of(s, run->id, &g, e)) return e->code;
    struct few_line *line = page_keep(p, xcalloc((size_t)g.runs + 1, sizeof *line));
    for (int i = 0; i < g.runs; i++) line[i] = line_of_run(p, &g.of[i]);
    p->few.line = line;
    p->few.lines = g.runs;
    fill_gains(p, &g);
    shots_group_release(&g);
    return 0;
}

/* ---- episodes ---- */

/* Returns "inner.query_3" of the evaluations of a step, among count rows; NaN if missing. */
static double inner_value(const struct store_eval_row *row, size_t count, const char *what, int number,
                          const char *end) {
    char *name = xprintf("inner.%s_%d%s", what, number, end);
    double v = NAN;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(row[i].name, name) && !row[i].value.undefined) v = row[i].value.v;
    free(name);
    return v;
}

static void fill_loop(struct page_few *p, const struct store_eval_row *row, size_t count) {
    struct episode_view *v = &p->episode;
    int queries = 0;
    for (size_t i = 0; i < count; i++) queries += text_starts(row[i].name, "inner.query_");
    if (queries < 2) return;
    v->steps = queries - 1;
    double *query = page_numbers(p, (size_t)queries), *before = page_numbers(p, (size_t)queries),
           *after = page_numbers(p, (size_t)queries);
    for (int s = 0; s <= v->steps; s++) query[s] = inner_value(row, count, "query", s, "");
    for (int s = 0; s < v->steps; s++) {
        before[s] = inner_value(row, count, "support", s + 1, "_before");
        after[s] = inner_value(row, count, "support", s + 1, "_after");
    }
    v->query = query;
    v->before = before;
    v->after = after;
}

/* Sorts in the order of the database: by the number in the name. */
static void fill_rates(struct page_few *p, const struct store_eval_row *row, size_t count) {
    struct episode_view *v = &p->episode;
    const char **name = page_keep(p, xcalloc(count + 1, sizeof *name));
    double *rate = page_numbers(p, count);
    for (size_t i = 0; i < count; i++) {
        if (!text_starts(row[i].name, "rates.") || row[i].value.undefined) continue;
        name[v->rates] = page_keep(p, xstrdup(row[i].name + strlen("rates.")));
        rate[v->rates++] = row[i].value.v;
    }
    v->rate_name = name;
    v->rate = rate;
}

static int read_episode(struct store *s, const struct store_run *run, struct page_few *p, struct err *e) {
    struct store_evals all;
    if (!text_starts(run->regime, "meta(")) return 0;
    if (store_evaluations(s, run->id, &all, e)) return e->code;
    size_t first = 0, end = 0; /* the rows of the last step with an inner loop */
    for (size_t i = 0; i < all.count; i++) {
        if (!text_starts(all.row[i].name, "inner.")) continue;
        if (!end || all.row[i].step != all.row[first].step) first = i;
        end = i + 1;
    }
    while (end && first && all.row[first - 1].step == all.row[first].step) first--;
    while (end && end < all.count && all.row[end].step == all.row[first].step) end++;
    if (end) {
        p->episode.step = all.row[first].step;
        fill_loop(p, all.row + first, end - first);
        fill_rates(p, all.row + first, end - first);
    }
    store_evals_release(&all);
    return 0;
}

int page_few_read(struct store *s, const struct store_run *run, struct page_few *out, struct err *e) {
    *out = (struct page_few){ 0 };
    int rc = read_few(s, run, out, e);
    if (!rc) rc = read_episode(s, run, out, e);
    if (rc) page_few_release(out);
    return rc;
}
