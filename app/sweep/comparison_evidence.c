/* What the runs of a comparison show, in words: differences of pairs, and the evidence on each group. */
#include "app/sweep/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

/* ---- pairs ---- */

struct shown_number {
    char text[32];
};

/* Returns the number as shown: in percentage points with two digits, else with three significant ones. */
static struct shown_number shown_number(const struct side_by_side *c, int kind, double v, bool sign) {
    struct shown_number out;
    bool points = comparison_in_points(c, kind);
    if (fabs(v) < (points ? 0.00005 : 1e-9)) v = 0; /* never -0.00 */
    const char *plus = sign && v > 0 ? "+" : "";
    if (points) snprintf(out.text, sizeof out.text, "%s%.2f", plus, 100 * v);
    else snprintf(out.text, sizeof out.text, "%s%.3g", plus, v);
    return out;
}

static const char *unit_of(const struct side_by_side *c, int kind) {
    return comparison_in_points(c, kind) ? " percentage points" : "";
}

/* A pair as the difference of group `of` from group `from`. */
struct shown_difference {
    int of, from;
    struct interval interval;
    struct shown_number mean, low, high;
};

static struct shown_difference difference_of(const struct side_by_side *c, const struct compared_pair *p,
                                             int of) {
    int kind = c->group[of].kind, sign = of == p->a ? 1 : -1;
    struct shown_difference d = { .of = of, .from = of == p->a ? p->b : p->a, .interval = p->interval };
    if (sign < 0) d.interval = (struct interval){ -p->interval.high, -p->interval.low };
    d.mean = shown_number(c, kind, sign * p->s.mean, true);
    d.low = shown_number(c, kind, d.interval.low, false);
    d.high = shown_number(c, kind, d.interval.high, false);
    return d;
}

/* Returns whether the mean of the pair's first group is the better one. */
static bool is_better_by(const struct side_by_side *c, const struct compared_pair *p) {
    return c->kind[c->group[p->a].kind].direction * p->s.mean > 0;
}

/* Returns "adjusted p 0.012 (Holm, 3 comparisons)", or the reason for a missing test. */
static char *adjusted_p(const struct compared_pair *p, size_t k, bool of_equality) {
    double value = of_equality ? p->p_equal : p->p;
    if (isnan(value))
        return xprintf("no test: %s",
                       p->s.n < 2 ? "needs at least 2 shared seeds" : "all differences are equal");
    char *text = value < 0.0001 ? xstrdup("below 0.0001") : xprintf("%.2g", value);
    char *out = xprintf("adjusted p %s (Holm, %zu %s%s%s)", text, k,
                        of_equality ? "equality test" : "comparison", k == 1 ? "" : "s",
                        of_equality ? " as a separate family" : "");
    free(text);
    return out;
}

char *comparison_claim(const struct side_by_side *c, const struct compared_pair *p, size_t k, double margin) {
    const struct compared_group *a = &c->group[p->a], *b = &c->group[p->b];
    const char *seeds = p->s.n == 1 ? "shared seed" : "shared seeds", *unit = unit_of(c, a->kind);
    struct shown_difference d = difference_of(c, p, is_better_by(c, p) ? p->a : p->b);
    bool equal = p->equal && !p->differs;
    char *tested = adjusted_p(p, k, equal), *out;
    if (p->differs)
        out = xprintf("%s > %s: %s%s, 95%% interval [%s, %s], not adjusted, %zu %s; %s",
                      c->group[d.of].name, c->group[d.from].name, d.mean.text, unit, d.low.text, d.high.text,
                      p->s.n, seeds, tested);
    else if (equal)
        out = xprintf("%s and %s are equal within %g%s, %zu %s; %s", a->name, b->name,
                      margin * (comparison_in_points(c, a->kind) ? 100 : 1), unit, p->s.n, seeds, tested);
    else out = xprintf("%s and %s: no difference shown, %zu %s; %s", a->name, b->name, p->s.n, seeds, tested);
    free(tested);
    return out;
}

/* ---- evidence ---- */

/* Returns the best other group of its kind, the first of equal ones; -1 if there is none. */
static int best_other(const struct side_by_side *c, const double *rank, int group) {
    int best = -1;
    for (int i = 0; i < c->groups; i++)
        if (i != group && c->group[i].kind == c->group[group].kind && isfinite(rank[i]) &&
            (best < 0 || rank[i] < rank[best]))
            best = i;
    return best;
}

static char *mean_line(const struct side_by_side *c, const struct compared_group *g) {
    struct spread s = g->value;
    char seeds[96];
    comparison_seeds(c, g, seeds, sizeof seeds);
    struct buf b = BUF_INIT;
    buf_printf(&b, "mean %s", shown_number(c, g->kind, s.mean, false).text);
    if (s.n > 1) buf_printf(&b, " \u00B1 %s sd", shown_number(c, g->kind, s.sd, false).text);
    buf_printf(&b, " of %zu seed%s (%s)", s.n, s.n == 1 ? "" : "s", seeds);
    if (isfinite(g->interval.low))
        buf_printf(&b, ", 95%% CI [%s, %s]", shown_number(c, g->kind, g->interval.low, false).text,
                   shown_number(c, g->kind, g->interval.high, false).text);
    return buf_take(&b);
}

static char *difference_line(const struct side_by_side *c, const struct compared_pair *p,
                             const struct shown_difference *d, size_t pairs) {
    struct buf b = BUF_INIT;
    char *tested = adjusted_p(p, pairs, false);
    buf_printf(&b, "paired difference from %s: %s%s, ", c->group[d->from].name, d->mean.text,
               unit_of(c, c->group[d->of].kind));
    if (isfinite(d->interval.low)) buf_printf(&b, "95%% CI [%s, %s], ", d->low.text, d->high.text);
    buf_printf(&b, "%zu shared seed%s; %s", p->s.n, p->s.n == 1 ? "" : "s", tested);
    free(tested);
    return buf_take(&b);
}

/* Returns the sentence on what follows from a tested pair. */
static char *conclusion(const struct side_by_side *c, const struct compared_pair *p,
                        const struct shown_difference *d, size_t pairs) {
    const char *of = c->group[d->of].name, *from = c->group[d->from].name,
               *unit = unit_of(c, c->group[d->of].kind);
    if (p->s.n < 2)
        return xprintf("No conclusion about %s and %s from one shared seed: train both with more seeds.", of,
                       from);
    if (isnan(d->interval.low))
        return xprintf(
            "No conclusion about %s and %s: their difference is the same for all %zu shared seeds, "
            "so its uncertainty is unknown.",
            of, from, p->s.n);
    if (p->differs) {
        struct shown_difference won = difference_of(c, p, is_better_by(c, p) ? p->a : p->b);
        bool lower = c->kind[c->group[p->a].kind].direction < 0;
        return xprintf("%s is better than %s: its %s is %s by %s to %s%s.", c->group[won.of].name,
                       c->group[won.from].name, c->kind[c->group[p->a].kind].metric,
                       lower ? "lower" : "higher",
                       shown_number(c, c->group[p->a].kind, lower ? -won.interval.high : won.interval.low,
                                    false).text,
                       shown_number(c, c->group[p->a].kind, lower ? -won.interval.low : won.interval.high,
                                    false).text,
                       unit);
    }
    if (d->interval.low > 0 || d->interval.high < 0)
        return xprintf("No difference is shown after adjustment for %zu comparisons, although the interval "
                       "excludes 0: compare fewer groups, or train more seeds.", pairs);
    return xprintf("No difference is shown: differences from %s to %s%s are compatible with these runs; more "
                   "seeds narrow the interval.", d->low.text, d->high.text, unit);
}

static char *runs_line(const struct side_by_side *c, const struct compared_group *g) {
    enum { LISTED = 12 };
    struct buf b = BUF_INIT;
    for (int i = 0; i < g->runs && i < LISTED; i++) {
        double v = comparison_value(c, &g->run[i]);
        buf_printf(&b, "%s#%lld", i ? ", " : g->runs == 1 ? "run " : "runs ", (long long)g->run[i].id);
        if (isfinite(v)) buf_printf(&b, " %s", shown_number(c, g->kind, v, false).text);
        if (g->run[i].state != STORE_FINISHED)
            buf_printf(&b, " %s at %.0f%%", store_state_name(g->run[i].state), 100 * g->run[i].done);
    }
    if (g->runs > LISTED) buf_printf(&b, ", \u2026 %d more", g->runs - LISTED);
    return g->runs ? buf_take(&b) : NULL;
}

struct compared_evidence *comparison_evidence(const struct side_by_side *c) {
    struct compared_evidence *out = xcalloc((size_t)c->groups + 1, sizeof *out);
    double *rank = xcalloc((size_t)c->groups + 1, sizeof *rank);
    struct compared_pair *pair;
    size_t pairs = comparison_pairs(c, 0, &pair);
    for (int i = 0; i < c->groups; i++) rank[i] = comparison_rank(c, i);
    for (int i = 0; i < c->groups; i++) {
        struct compared_evidence *e = &out[i];
        *e = (struct compared_evidence){
            .rank = rank[i], .against = -1, .runs = runs_line(c, &c->group[i])
        };
        if (!c->group[i].value.n || c->group[i].kind < 0) continue;
        e->mean = mean_line(c, &c->group[i]);
        e->against = best_other(c, rank, i);
        for (size_t k = 0; k < pairs; k++) {
            const struct compared_pair *p = &pair[k];
            if ((p->a != i || p->b != e->against) && (p->b != i || p->a != e->against)) continue;
            struct shown_difference d = difference_of(c, p, i);
            e->difference = difference_line(c, p, &d, pairs);
            e->follows = conclusion(c, p, &d, pairs);
        }
        if (!e->follows && e->against >= 0) e->follows = comparison_unpaired(c, i, e->against);
    }
    free(rank), free(pair);
    return out;
}

void comparison_evidence_release(struct compared_evidence *e, int groups) {
    for (int i = 0; e && i < groups; i++)
        free(e[i].mean), free(e[i].difference), free(e[i].follows), free(e[i].runs);
    free(e);
}

/* ---- main effects ---- */

/* Appends an effect to the line of its axis: "0.001 51.98 [50.87, 53.08]". */
static void effect_part(const struct side_by_side *c, const struct compared_effect *x, struct buf *b) {
    if (x->open) {
        if (!b->size) buf_printf(b, "main effect of %s: aliased with %s", c->axis[x->axis], x->aliased);
        return;
    }
    if (b->size) buf_puts(b, ", ");
    else buf_printf(b, "main effect of %s: ", c->axis[x->axis]);
    buf_printf(b, "%s ", x->level ? x->level : x->log ? "slope (log scale)" : "slope");
    buf_puts(b, shown_number(c, 0, x->value, false).text);
    if (isfinite(x->low))
        buf_printf(b, " [%s, %s]", shown_number(c, 0, x->low, false).text,
                   shown_number(c, 0, x->high, false).text);
}

void comparison_effect_lines(const struct side_by_side *c, char **line) {
    struct compared_effects f;
    struct buf *b = xcalloc((size_t)c->axes + 1, sizeof *b);
    comparison_effects(c, &f);
    for (int i = 0; i < f.count; i++)
        if (f.effect[i].axis2 < 0) effect_part(c, &f.effect[i], &b[f.effect[i].axis]);
    for (int i = 0; i < c->axes; i++) {
        if (b[i].size) buf_printf(&b[i], "; 95%% CI, %s", f.about);
        line[i] = b[i].size ? buf_take(&b[i]) : NULL;
    }
    comparison_effects_release(&f);
    free(b);
}

/* ---- the best so far ---- */

struct finished_run {
    int64_t ended, id;
    int group;
    double value;
};

static int by_end(const void *pa, const void *pb) {
    const struct finished_run *a = pa, *b = pb;
    if (a->ended != b->ended) return a->ended < b->ended ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Returns the group with the best mean of the runs so far. */
static int leader_of(const struct side_by_side *c, const double *sum, const int *n) {
    int best = -1;
    for (int i = 0; i < c->groups; i++) {
        if (!n[i]) continue;
        double mean = sum[i] / n[i];
        if (best < 0 || c->kind[0].direction * value_order(mean, sum[best] / n[best]) > 0) best = i;
    }
    return best;
}

char *comparison_leader(const struct side_by_side *c) {
    struct finished_run *run = NULL;
    size_t count = 0, room = 0, since = 0;
    for (int i = 0; i < c->groups && c->kinds == 1; i++) {
        for (int k = 0; k < c->group[i].runs; k++) {
            const struct compared_run *r = &c->group[i].run[k];
            if (!comparison_counts(c, r)) continue;
            GROW(run, room, count + 1);
            run[count++] = (struct finished_run){ r->ended, r->id, i, comparison_value(c, r) };
        }
    }
    if (!count) return NULL;
    qsort(run, count, sizeof *run, by_end);
    double *sum = xcalloc((size_t)c->groups, sizeof *sum);
    int *n = xcalloc((size_t)c->groups, sizeof *n), leader = -1;
    for (size_t i = 0; i < count; i++) {
        sum[run[i].group] += run[i].value, n[run[i].group]++;
        int now = leader_of(c, sum, n);
        if (now != leader) leader = now, since = i + 1;
    }
    const struct compared_group *g = &c->group[leader];
    struct buf b = BUF_INIT;
    buf_printf(&b, "best: %s, mean %s", g->name, shown_number(c, 0, g->value.mean, false).text);
    if (g->value.n > 1) buf_printf(&b, " \u00B1 %s sd", shown_number(c, 0, g->value.sd, false).text);
    buf_printf(&b, "; has led since run %zu of %zu", since, count);
    free(run), free(sum), free(n);
    return buf_take(&b);
}
