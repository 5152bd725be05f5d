/* A comparison as JSON, CSV and Markdown: cells, pairs, effects, the front of the small and good (comparison.h). */
#include "app/sweep/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/axis_effects.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { PAIR_GROUPS = 40 }; /* of more only those with the best are compared */

static void interval_json(struct buf *b, struct spread s) {
    struct interval i = spread_interval(s, 0.95);
    json_member_measured(b, "low", i.low);
    json_member_measured(b, "high", i.high);
}

/* "finished" where all are, else the state of the first that is not; "waiting" where a seed has no run. */
static const char *state_of(const struct compared_group *g) {
    for (int i = 0; i < g->runs; i++)
        if (g->run[i].state != STORE_FINISHED) return store_state_name(g->run[i].state);
    return !g->valid ? "invalid" : g->runs < g->wanted ? "waiting" : "finished";
}

static double seconds_of(const struct compared_group *g) {
    double sum = 0;
    for (int i = 0; i < g->runs; i++) sum += g->run[i].seconds;
    return g->runs ? sum / g->runs : NAN;
}

static void cell_json(const struct side_by_side *c, const struct compared_group *g, struct buf *b) {
    struct spread s = g->value;
    json_add_key(b, NULL);
    buf_putc(b, '{');
    json_member_string(b, "name", g->name);
    json_add_key(b, "axes");
    buf_putc(b, '{');
    for (int i = 0; i < c->axes; i++) json_member_string(b, c->axis[i], g->axis[i]);
    buf_putc(b, '}');
    json_member_bool(b, "valid", g->valid);
    json_member_string(b, "reason", g->reason);
    json_member_string(b, "state", state_of(g));
    json_add_key(b, "runs");
    buf_putc(b, '[');
    for (int i = 0; i < g->runs; i++) json_member_int(b, NULL, (long long)g->run[i].id);
    buf_puts(b, "]");
    json_add_key(b, "seeds");
    buf_putc(b, '[');
    for (int i = 0; i < g->runs; i++) json_member_int(b, NULL, (long long)g->run[i].seed);
    buf_puts(b, "]");
    json_member_int(b, "n", (long long)s.n);
    json_member_measured(b, "mean", c->mixed ? NAN : s.mean);
    json_member_measured(b, "sd", c->mixed ? NAN : s.sd);
    interval_json(b, c->mixed ? (struct spread){ 0 } : s);
    json_member_measured(b, "final", c->mixed ? NAN : g->final.mean);
    json_member_int(b, "trained", (long long)g->trained);
    json_member_measured(b, "seconds", seconds_of(g));
    buf_putc(b, '}');
}

/* ---- pairs ---- */

struct compared_pair {
    const struct compared_group *a, *b;
    struct spread s;
    bool differs, equal; /* by Holm's correction over all pairs */
};

static int best_of(const struct side_by_side *c) {
    int best = -1;
    double most = 0;
    for (int i = 0; i < c->groups; i++) {
        struct spread s = c->group[i].value;
        if (!s.n || (best >= 0 && c->direction * s.mean <= c->direction * most)) continue;
        best = i;
        most = s.mean;
    }
    return best;
}

static size_t find_pairs(const struct side_by_side *c, double margin, struct compared_pair **out) {
    size_t n = 0, room = (size_t)c->groups * (size_t)c->groups + 1;
    struct compared_pair *pair = xcalloc(c->groups > PAIR_GROUPS ? (size_t)c->groups + 1 : room, sizeof *pair);
    int best = c->groups > PAIR_GROUPS ? best_of(c) : -1;
    for (int i = 0; !c->mixed && i < c->groups; i++) {
        for (int k = 0; k < c->groups; k++) {
            if (best >= 0 ? i != best || k == i : k <= i) continue;
            struct spread s = comparison_pair(&c->group[i], &c->group[k]);
            if (s.n) pair[n++] = (struct compared_pair){ &c->group[i], &c->group[k], s, false, false };
        }
    }
    double *p = xcalloc(n + 1, sizeof *p);
    bool *falls = xcalloc(n + 1, sizeof *falls);
    for (size_t i = 0; i < n; i++) p[i] = spread_p(pair[i].s);
    holm(p, n, 0.05, falls);
    for (size_t i = 0; i < n; i++) pair[i].differs = falls[i];
    for (size_t i = 0; i < n; i++) p[i] = margin > 0 ? spread_p_within(pair[i].s, margin) : NAN;
    holm(p, n, 0.05, falls);
    for (size_t i = 0; i < n; i++) pair[i].equal = falls[i];
    free(p);
    free(falls);
    *out = pair;
    return n;
}

/* "lora > bitfit: +1.8 [0.4, 3.2], 5 pairs"; points where the metric is a share. */
static char *claim_of(const struct side_by_side *c, const struct compared_pair *p, size_t k, double margin) {
    bool share = fabs(p->a->value.mean) <= 1 && fabs(p->b->value.mean) <= 1;
    double by = share ? 100 : 1;
    struct interval i = spread_interval(p->s, 0.95);
    bool better = c->direction * p->s.mean > 0;
    if (p->differs)
        return xprintf("%s > %s: %+.2f [%.2f, %.2f]%s, %zu pairs of runs, one of %zu comparisons (Holm)",
                       better ? p->a->name : p->b->name, better ? p->b->name : p->a->name,
                       by * (better ? p->s.mean : -p->s.mean), by * (better ? i.low : -i.high),
                       by * (better ? i.high : -i.low), share ? " points" : "", p->s.n, k);
    if (p->equal)
        return xprintf("%s and %s are equal within %g%s, %zu pairs of runs, one of %zu comparisons (Holm)", p->a->name,
                       p->b->name, by * margin, share ? " points" : "", p->s.n, k);
    return xprintf("%s and %s: no difference shown, %zu pair%s of runs", p->a->name, p->b->name, p->s.n,
                   p->s.n == 1 ? "" : "s");
}

static void pairs_json(const struct side_by_side *c, double margin, struct buf *b) {
    struct compared_pair *pair;
    size_t n = find_pairs(c, margin, &pair);
    json_add_key(b, "pairs");
    buf_putc(b, '[');
    for (size_t i = 0; i < n; i++) {
        char *claim = claim_of(c, &pair[i], n, margin);
        json_add_key(b, NULL);
        buf_putc(b, '{');
        json_member_string(b, "a", pair[i].a->name);
        json_member_string(b, "b", pair[i].b->name);
        json_member_int(b, "n", (long long)pair[i].s.n);
        json_member_measured(b, "diff", pair[i].s.mean);
        interval_json(b, pair[i].s);
        json_member_string(b, "claim", claim);
        buf_putc(b, '}');
        free(claim);
    }
    buf_putc(b, ']');
    free(pair);
}

/* ---- what each axis is worth ---- */

/* The rows of the model: finished runs with a value, their levels by axis, seeds as a block. */
struct effect_rows {
    size_t rows;
    double *y, *x;     /* x: axes × rows, of lines */
    int *level, *seed; /* level: axes × rows */
    int levels[64], seeds;
    char ***name; /* of each axis its levels' names, borrowed */
    struct effects_factor factor[64], block;
};

static int level_of(char ***names, int *count, const char *value) {
    for (int i = 0; i < *count; i++)
        if (!strcmp((*names)[i], value)) return i;
    *names = xrealloc(*names, (size_t)*count + 1, sizeof **names);
    (*names)[*count] = (char *)value;
    return (*count)++;
}

static void rows_release(struct effect_rows *r, int axes) {
    for (int i = 0; i < axes; i++) free(r->name[i]);
    free(r->name), free(r->y), free(r->x), free(r->level), free(r->seed);
}

/* Axes with more than five values that are all numbers are lines. */
static bool is_line(char **name, int levels) {
    double v;
    for (int i = 0; i < levels; i++)
        if (!text_to_double(name[i], &v)) return false;
    return levels > 5;
}

static void gather(const struct side_by_side *c, struct effect_rows *r) {
    size_t room = 1;
    for (int g = 0; g < c->groups; g++) room += (size_t)c->group[g].runs;
    *r = (struct effect_rows){ .y = xcalloc(room, sizeof *r->y),
                               .x = xcalloc(room * ((size_t)c->axes + 1), sizeof *r->x),
                               .level = xcalloc(room * ((size_t)c->axes + 1), sizeof *r->level),
                               .seed = xcalloc(room, sizeof *r->seed),
                               .name = xcalloc((size_t)c->axes + 1, sizeof *r->name) };
    uint64_t seen[512];
    for (int g = 0; g < c->groups; g++) {
        for (int k = 0; k < c->group[g].runs; k++) {
            const struct compared_run *run = &c->group[g].run[k];
            if (!comparison_counts(run)) continue;
            int at = 0;
            while (at < r->seeds && seen[at] != run->seed) at++;
            if (at == 512) continue;
            if (at == r->seeds) seen[r->seeds++] = run->seed;
            r->seed[r->rows] = at;
            for (int i = 0; i < c->axes; i++)
                r->level[(size_t)i * room + r->rows] =
                    level_of(&r->name[i], &r->levels[i], c->group[g].axis[i] ? c->group[g].axis[i] : "none");
            r->y[r->rows++] = run->value;
        }
    }
    for (int i = 0; i < c->axes; i++) {
        bool line = is_line(r->name[i], r->levels[i]);
        for (size_t k = 0; line && k < r->rows; k++)
            text_to_double(r->name[i][r->level[(size_t)i * room + k]], &r->x[(size_t)i * room + k]);
        r->factor[i] = (struct effects_factor){ c->axis[i], line ? 0 : r->levels[i], r->level + (size_t)i * room,
                                                r->x + (size_t)i * room };
    }
    r->block = (struct effects_factor){ "seed", r->seeds, r->seed, NULL };
}

static void effect_json(const struct side_by_side *c, const struct effect_rows *r, const struct axis_effects *f,
                        const struct axis_effect *x, struct buf *b) {
    json_add_key(b, NULL);
    buf_putc(b, '{');
    json_member_string(b, "axis", c->axis[x->factor]);
    json_member_string(b, "level", x->level < 0 ? NULL : r->name[x->factor][x->level]);
    if (x->other >= 0) {
        json_member_string(b, "axis2", c->axis[x->other]);
        json_member_string(b, "level2", r->name[x->other][x->level2]);
    }
    json_member_int(b, "n", (long long)x->n);
    json_member_measured(b, x->other >= 0 ? "beyond" : x->level < 0 ? "slope" : "mean", x->value);
    json_member_measured(b, "low", x->low);
    json_member_measured(b, "high", x->high);
    if (x->open) json_member_string(b, "aliased", f->alias[x->factor] ? f->alias[x->factor] : "other levels");
    buf_putc(b, '}');
}

static void effects_json(const struct side_by_side *c, struct buf *b) {
    struct effect_rows r;
    struct axis_effects f;
    struct err e = ERR_INIT;
    json_add_key(b, "effects");
    buf_putc(b, '[');
    if (c->axes && c->axes <= 64 && !c->mixed) {
        gather(c, &r);
        const struct effects_model m = {
            .rows = r.rows, .y = r.y, .factors = c->axes, .factor = r.factor, .blocks = r.seeds > 1, .block = &r.block
        };
        if (!axis_effects_fit(&m, &f, &e)) {
            for (size_t i = 0; i < f.count; i++) effect_json(c, &r, &f, &f.effect[i], b);
            axis_effects_release(&f);
        }
        rows_release(&r, c->axes);
    }
    buf_putc(b, ']');
}

/* ---- small and good ---- */

/* Nothing is as good with fewer trained values. */
static bool on_front(const struct side_by_side *c, int at) {
    struct spread me = c->group[at].value;
    for (int i = 0; me.n && i < c->groups; i++) {
        struct spread s = c->group[i].value;
        if (i == at || !s.n) continue;
        bool better = c->direction * s.mean > c->direction * me.mean, as_good = better || s.mean == me.mean;
        bool smaller = c->group[i].trained < c->group[at].trained,
             as_small = smaller || c->group[i].trained == c->group[at].trained;
        if (as_good && as_small && (better || smaller)) return false;
    }
    return me.n > 0;
}

/* 1 for the best; equal means share the mean of their places. */
static double rank_of(const struct side_by_side *c, int at) {
    double me = c->group[at].value.mean, before = 0, same = 0;
    for (int i = 0; i < c->groups; i++) {
        struct spread s = c->group[i].value;
        if (!s.n) continue;
        before += c->direction * s.mean > c->direction * me;
        same += s.mean == me;
    }
    return before + (same + 1) / 2;
}

static void front_json(const struct side_by_side *c, struct buf *b) {
    json_add_key(b, "pareto");
    buf_putc(b, '[');
    for (int i = 0; !c->mixed && i < c->groups; i++)
        if (on_front(c, i)) json_member_string(b, NULL, c->group[i].name);
    buf_putc(b, ']');
    json_add_key(b, "ranks");
    buf_putc(b, '{');
    for (int i = 0; !c->mixed && i < c->groups; i++)
        if (c->group[i].value.n) json_member_double(b, c->group[i].name, rank_of(c, i));
    buf_putc(b, '}');
}

void comparison_json(const struct side_by_side *c, double margin, struct buf *out) {
    buf_putc(out, '{');
    if (c->id)
        json_member_int(out, "id", (long long)c->id);
    else
        json_member_string(out, "id", NULL);
    json_member_string(out, "spec", c->title);
    json_member_string(out, "metric", c->mixed ? NULL : c->metric);
    json_member_string(out, "rows", c->mixed ? NULL : c->rows);
    json_member_string(out, "mixed", c->mixed);
    json_add_key(out, "cells");
    buf_putc(out, '[');
    for (int i = 0; i < c->groups; i++) cell_json(c, &c->group[i], out);
    buf_putc(out, ']');
    pairs_json(c, margin, out);
    effects_json(c, out);
    front_json(c, out);
    buf_putc(out, '}');
}

/* ---- tables ---- */

static void text_number(char out[32], double v) {
    if (isfinite(v))
        snprintf(out, 32, "%.4f", v);
    else
        strcpy(out, "");
}

void comparison_csv(const struct side_by_side *c, struct buf *out) {
    buf_puts(out, "name");
    for (int i = 0; i < c->axes; i++) buf_putc(out, ','), text_csv(out, c->axis[i]);
    buf_puts(out, ",state,n,mean,sd,low,high,trained,seconds\n");
    for (int i = 0; i < c->groups; i++) {
        const struct compared_group *g = &c->group[i];
        struct spread s = c->mixed ? (struct spread){ .mean = NAN, .sd = NAN } : g->value;
        struct interval v = spread_interval(s, 0.95);
        const double values[] = { s.mean, s.sd, v.low, v.high };
        text_csv(out, g->name);
        for (int k = 0; k < c->axes; k++) buf_putc(out, ','), text_csv(out, g->axis[k] ? g->axis[k] : "");
        buf_printf(out, ",%s,%zu", state_of(g), g->value.n);
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            char text[32] = "";
            if (isfinite(values[k])) text_from_double(values[k], text);
            buf_printf(out, ",%s", text);
        }
        buf_printf(out, ",%lld,%.1f\n", (long long)g->trained, seconds_of(g));
    }
}

void comparison_markdown(const struct side_by_side *c, double margin, struct buf *out) {
    if (c->title) buf_printf(out, "`%s`\n\n", c->title);
    if (c->mixed)
        buf_printf(out, "%s.\n\n", c->mixed);
    else if (c->rows)
        buf_printf(out, "Best of %s, chosen on the same rows: %s.\n\n", c->metric, c->rows);
    buf_puts(out, "| |");
    for (int i = 0; i < c->axes; i++) buf_printf(out, " %s |", c->axis[i]);
    buf_puts(out, " state | n | mean | sd | 95 % | trained |\n|---|");
    for (int i = 0; i < c->axes; i++) buf_puts(out, "---|");
    buf_puts(out, "---|---|---|---|---|---|\n");
    for (int i = 0; i < c->groups; i++) {
        const struct compared_group *g = &c->group[i];
        struct spread s = c->mixed ? (struct spread){ .mean = NAN, .sd = NAN } : g->value;
        struct interval v = spread_interval(s, 0.95);
        char mean[32], sd[32], low[32], high[32], trained[32];
        text_number(mean, s.mean), text_number(sd, s.sd), text_number(low, v.low), text_number(high, v.high);
        text_thousands(g->trained, trained);
        buf_printf(out, "| %s%s |", g->name, !c->mixed && on_front(c, i) ? " *" : "");
        for (int k = 0; k < c->axes; k++) buf_printf(out, " %s |", g->axis[k] ? g->axis[k] : "–");
        buf_printf(out, " %s | %zu | %s | %s | %s%s%s | %s |\n", g->valid ? state_of(g) : g->reason,
                   g->value.n, mean, sd, low, *low ? " … " : "", high, trained);
    }
    struct compared_pair *pair;
    size_t n = find_pairs(c, margin, &pair);
    size_t shown = 0;
    buf_puts(out, "\n`*`: nothing as good has fewer trained values.\n");
    for (size_t i = 0; i < n; i++) {
        if (!pair[i].differs && !pair[i].equal) continue;
        char *claim = claim_of(c, &pair[i], n, margin);
        buf_printf(out, "%s- %s\n", shown++ ? "" : "\n", claim);
        free(claim);
    }
    if (n > shown) buf_printf(out, "\nNo difference shown in %zu of %zu pairs of cells.\n", n - shown, n);
    free(pair);
}
