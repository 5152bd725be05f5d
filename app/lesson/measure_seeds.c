/* Quantities of a run's seeds, and of two runs over their common seeds, as app/sweep compares them; and the
 * diagnostics of app/why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/lesson/measure_private.h"
#include "app/sweep/comparison.h"
#include "app/why/why.h"

/* Adds the step's seeds first … first + most - 1, counted from 0, as another group. */
static int seeds_group(struct lesson_play *p, const struct expression_argument *a, int first, double most,
                       struct side_by_side *c, struct err *e) {
    const struct lesson_result *r;
    int rc = lesson_measure_runs_of(p, a, &r, e);
    if (rc) return rc;
    struct compared_group *g = comparison_add(c, p->lesson->step[a->run].name);
    for (int i = first; !rc && i < r->runs && i < first + most; i++) {
        struct store_run run;
        struct compared_run one;
        int kind;
        rc = store_run(p->store, r->run[i], &run, e);
        if (rc) break;
        rc = comparison_read(c, p->store, &run, &one, &kind, e);
        if (!rc) comparison_take(c, g, &one, kind);
        store_run_release(&run);
    }
    return rc;
}

/* Returns the least or greatest value of a group. */
static double seeds_end(const struct side_by_side *c, bool greatest) {
    const struct compared_group *g = &c->group[0];
    double out = NAN;
    for (int i = 0; i < g->runs; i++) {
        double v = comparison_counts(c, &g->run[i]) ? comparison_value(c, &g->run[i]) : NAN;
        if (isnan(out) || (greatest ? v > out : v < out)) out = v;
    }
    return out;
}

static double seeds_wins(const struct side_by_side *c) {
    const struct compared_group *a = &c->group[0], *b = &c->group[1];
    int n = 0;
    for (int i = 0; i < a->runs; i++)
        for (int k = 0; k < b->runs; k++)
            if (a->run[i].seed == b->run[k].seed && comparison_counts(c, &a->run[i]) &&
                comparison_counts(c, &b->run[k]))
                n += c->kind[a->kind].direction *
                         (comparison_value(c, &a->run[i]) - comparison_value(c, &b->run[k])) >
                     0;
    return n;
}

static int seeds_apart(const struct side_by_side *c, enum quantity q, double *out, struct err *e) {
    struct compared_pair *pair;
    if (!comparison_pairs(c, 0, &pair)) {
        free(pair);
        return err_set(e, ERR_USAGE, "\"%s\" and \"%s\" have no common seeds with comparable values",
                       c->group[0].name, c->group[1].name);
    }
    const struct spread s = pair[0].s;
    const struct interval i = pair[0].interval;
    int direction = c->kind[c->group[0].kind].direction;
    free(pair);
    if (q == QUANTITY_WINS) *out = seeds_wins(c);
    else if (q == QUANTITY_GAP) *out = direction * s.mean;
    else if (isnan(i.low))
        return err_set(e, ERR_USAGE,
                       "the confidence interval of %zu paired difference%s is undefined: at least two "
                       "distinct ones are required", s.n,
                       s.n == 1 ? "" : "s");
    else *out = direction * ((q == QUANTITY_GAP_LOW) == (direction > 0) ? i.low : i.high);
    return 0;
}

/* Returns the mean width of the interval over groups of `most` seeds; the remaining seeds are ignored. */
static int seeds_width(struct lesson_play *p, const struct expression_argument *a, double most, double *out,
                       struct err *e) {
    const struct lesson_result *r;
    int rc = lesson_measure_runs_of(p, &a[0], &r, e), groups = 0;
    *out = 0;
    for (int first = 0; !rc && first + most <= r->runs; first += (int)most, groups++) {
        struct side_by_side c = { 0 };
        double low = 0, high = 0;
        rc = seeds_group(p, &a[0], first, most, &c, e);
        if (!rc) rc = seeds_group(p, &a[1], first, most, &c, e);
        if (!rc) rc = seeds_apart(&c, QUANTITY_GAP_LOW, &low, e);
        if (!rc) rc = seeds_apart(&c, QUANTITY_GAP_HIGH, &high, e);
        *out += high - low;
        comparison_release(&c);
    }
    if (!rc && !groups) rc = err_set(e, ERR_USAGE, "%g seeds: too many; the run has %d", most, r->runs);
    *out /= groups;
    return rc;
}

int lesson_measure_seeds(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                         double most, double *out, struct err *e) {
    struct side_by_side c = { 0 };
    bool one = q == QUANTITY_LOWEST || q == QUANTITY_HIGHEST;
    if (most < 1) return err_set(e, ERR_USAGE, "%g seeds: must be at least 1", most);
    if (q == QUANTITY_GAP_WIDTH) return seeds_width(p, a, floor(most), out, e);
    int rc = seeds_group(p, &a[0], 0, most, &c, e);
    if (!rc && !one) rc = seeds_group(p, &a[1], 0, most, &c, e);
    if (!rc && one) *out = seeds_end(&c, q == QUANTITY_HIGHEST);
    else if (!rc) rc = seeds_apart(&c, q, out, e);
    comparison_release(&c);
    return rc;
}

int lesson_measure_why(struct lesson_play *p, const struct expression_argument *a, double *out,
                       struct err *e) {
    const struct lesson_result *r;
    struct store_run run;
    struct why w;
    int rc = lesson_measure_runs_of(p, a, &r, e);
    if (!rc) rc = store_run(p->store, r->run[0], &run, e);
    if (rc) return rc;
    rc = why_of_run(p->store, &run, &w, e);
    store_run_release(&run);
    if (rc) return rc;
    *out = 0;
    for (int i = 0; i < w.count; i++)
        if (!strcmp(w.of[i].kind, a[1].text)) *out = 1;
    why_release(&w);
    return 0;
}
