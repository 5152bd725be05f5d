/* A comparison as JSON, CSV and Markdown: cells, pairs, effects, Pareto front (comparison.h). */
#include "app/sweep/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static const char *const cost_name[] = { "trained", "seconds", "memory" };

/* ---- JSON ---- */

/* Returns whether no run before it has its seed. */
static bool is_new_seed(const struct compared_group *g, int run) {
    for (int i = 0; i < run; i++)
        if (g->run[i].seed == g->run[run].seed) return false;
    return true;
}

/* Appends "runs 1, 3 repeat run 4 (…)" for a run that others repeat. */
static void repeats_of(const struct compared_group *g, const struct compared_run *counted, struct buf *b) {
    int n = 0;
    for (int i = 0; i < g->runs; i++)
        n += comparison_repeated(&g->run[i]) && g->run[i].counted == counted->id;
    if (!n) return;
    buf_printf(b, "%srun%s", b->size ? "; " : "", n > 1 ? "s" : "");
    for (int i = 0, k = 0; i < g->runs; i++)
        if (comparison_repeated(&g->run[i]) && g->run[i].counted == counted->id)
            buf_printf(b, "%s %lld", k++ ? "," : "", (long long)g->run[i].id);
    buf_printf(b, " repeat%s run %lld (same configuration, seed and data; %s)", n > 1 ? "" : "s",
               (long long)counted->id,
               counted->differs ? "different weights, only the newest is used" : "used once");
}

char *comparison_repeats(const struct compared_group *g) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < g->runs; i++) repeats_of(g, &g->run[i], &b);
    if (b.size) return buf_take(&b);
    buf_release(&b);
    return NULL;
}

static void repeats_json(const struct compared_group *g, struct buf *b) {
    json_open(b, "repeats", '[');
    for (int i = 0; i < g->runs; i++) {
        const struct compared_run *r = &g->run[i];
        if (!comparison_repeated(r)) continue;
        json_put(b, "{run:%jd,counted:%jd,weights_differ:%i}", r->id, r->counted, r->differs);
    }
    buf_putc(b, ']');
}

static void comparison_output_cell_json(const struct side_by_side *c, const struct compared_group *g,
                                        struct buf *b) {
    struct spread s = g->value;
    const struct compared_kind *kind = g->kind >= 0 ? &c->kind[g->kind] : NULL;
    json_put(b, "{name:%s,axes:{", g->name);
    for (int i = 0; i < c->axes; i++) json_member_string(b, c->axis[i], g->axis[i]);
    json_put(b, "},valid:%i,reason:%s,state:%s,runs:[", g->valid, g->reason, comparison_state(g));
    for (int i = 0; i < g->runs; i++) json_member_int(b, NULL, g->run[i].id);
    json_put(b, "],seeds:[");
    for (int i = 0; i < g->runs; i++)
        if (is_new_seed(g, i)) json_member_int(b, NULL, g->run[i].seed);
    buf_putc(b, ']');
    repeats_json(g, b);
    if (c->kinds > 1) json_put(b, "metric:%s,rows:%s", kind ? kind->metric : NULL, kind ? kind->rows : NULL);
    if (g->other_rows) json_member_bool(b, "other_rows", true);
    json_put(b, "n:%zu,mean:%g,sd:%g", s.n, s.mean, s.sd);
    json_put(b, "low:%g,high:%g", g->interval.low, g->interval.high);
    json_put(b, "final:%g,trained:%jd,seconds:%g,memory:%g,size:%1p,rungs:%1p,tune:%1p}", g->final.mean,
             g->trained, comparison_seconds(g), comparison_memory(g), g->size, g->rungs, g->tune);
}

static void pairs_json(const struct side_by_side *c, double margin, struct buf *b) {
    struct compared_pair *pair;
    size_t n = comparison_pairs(c, margin, &pair);
    json_open(b, "pairs", '[');
    for (size_t i = 0; i < n; i++) {
        char *claim = comparison_claim(c, &pair[i], n, margin);
        json_put(b, "{a:%s,b:%s,n:%zu,diff:%g,low:%g,high:%g", c->group[pair[i].a].name,
                 c->group[pair[i].b].name, pair[i].s.n, pair[i].s.mean, pair[i].interval.low,
                 pair[i].interval.high);
        json_member_measured(b, "p", pair[i].p);
        if (margin > 0) json_member_measured(b, "p_equal", pair[i].p_equal);
        json_put(b, "claim:%s}", claim);
        free(claim);
    }
    json_put(b, "],unpaired:[");
    free(pair);
    for (int i = 0; i < c->groups; i++) {
        for (int k = i + 1; k < c->groups && c->groups <= COMPARISON_PAIRS_OF; k++) {
            char *why = comparison_unpaired(c, i, k);
            if (why) json_member_string(b, NULL, why);
            free(why);
        }
    }
    buf_putc(b, ']');
}

static void effect_json(const struct side_by_side *c, const struct compared_effect *x, struct buf *b) {
    json_put(b, "{axis:%s,level:%s", c->axis[x->axis], x->level);
    if (x->axis2 >= 0) json_put(b, "axis2:%s,level2:%s", c->axis[x->axis2], x->level2);
    json_member_int(b, "n", x->n);
    json_member_measured(b,
                         x->axis2 >= 0 ? "beyond"
                         : x->level    ? "mean"
                         : x->log      ? "slope_of_log"
                                       : "slope",
                         x->value);
    json_put(b, "low:%g,high:%g,aliased:%1s}", x->low, x->high, x->open ? x->aliased : NULL);
}

static void effects_json(const struct side_by_side *c, struct buf *b) {
    struct compared_effects f;
    comparison_effects(c, &f);
    json_open(b, "effects", '[');
    for (int i = 0; i < f.count; i++) effect_json(c, &f.effect[i], b);
    json_put(b, "],effects_of:%s,no_effects:%s", f.about, f.why);
    comparison_effects_release(&f);
}

static void front_json(const struct side_by_side *c, enum compared_cost cost, struct buf *b) {
    char *why = comparison_no_cost(c, cost);
    json_open(b, "pareto", '[');
    for (int i = 0; !why && i < c->groups; i++)
        if (comparison_on_front(c, i, cost)) json_member_string(b, NULL, c->group[i].name);
    json_put(b, "],cost:%s,no_pareto:%1s,ranks:{", cost_name[cost], why);
    for (int i = 0; i < c->groups; i++) {
        bool first = true;
        double rank = c->kinds > 1 ? comparison_rank_of_tasks(c, i, &first) : comparison_rank(c, i);
        if (first && isfinite(rank)) json_member_double(b, c->group[i].name, rank);
    }
    buf_putc(b, '}');
    free(why);
}

void comparison_json(const struct side_by_side *c, const struct compared_options *o, struct buf *out) {
    const struct compared_kind *all = c->kinds == 1 ? &c->kind[0] : NULL;
    json_put(out, "{id:%+jd,spec:%s,metric:%s,rows:%s,value:%s,mixed:%s,cells:[", c->id, c->title,
             all ? all->metric : NULL, all ? all->rows : NULL, c->final ? "final" : "best", c->mixed);
    for (int i = 0; i < c->groups; i++) comparison_output_cell_json(c, &c->group[i], out);
    buf_putc(out, ']');
    pairs_json(c, o->margin, out);
    effects_json(c, out);
    front_json(c, o->cost, out);
    buf_putc(out, '}');
}

/* ---- tables ---- */

int64_t *comparison_run_ids(const struct compared_group *g) {
    int64_t *id = xcalloc((size_t)g->runs + 1, sizeof *id);
    for (int i = 0; i < g->runs; i++) id[i] = g->run[i].id;
    return id;
}

static int comparison_output_by_seed(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void comparison_seeds(const struct side_by_side *c, const struct compared_group *g, char *out, size_t room) {
    uint64_t *seed = xcalloc((size_t)g->runs + 1, sizeof *seed);
    size_t at = 0, seeds = 0;
    *out = 0;
    for (int i = 0; i < g->runs; i++)
        if (comparison_counts_seed(c, g, i)) seed[seeds++] = g->run[i].seed;
    qsort(seed, seeds, sizeof *seed, comparison_output_by_seed);
    for (size_t i = 0; i < seeds; i++) {
        char one[32];
        size_t n = (size_t)snprintf(one, sizeof one, "%s%llu", at ? ", " : "", (unsigned long long)seed[i]);
        if (at + n + 4 >= room) {
            snprintf(out + at, room - at, "\u2026");
            break;
        }
        memcpy(out + at, one, n + 1);
        at += n;
    }
    free(seed);
}

void comparison_csv(const struct side_by_side *c, struct buf *out) {
    buf_puts(out, "name");
    for (int i = 0; i < c->axes; i++) buf_putc(out, ','), text_csv(out, c->axis[i]);
    buf_puts(out, ",state,metric,rows,runs,seeds,n,mean,sd,low,high,final,trained,seconds,memory\n");
    for (int i = 0; i < c->groups; i++) {
        const struct compared_group *g = &c->group[i];
        struct interval v = g->interval;
        const double values[] = { g->value.mean, g->value.sd, v.low, v.high, g->final.mean };
        text_csv(out, g->name);
        for (int k = 0; k < c->axes; k++) buf_putc(out, ','), text_csv(out, g->axis[k] ? g->axis[k] : "");
        buf_printf(out, ",%s,%s,", comparison_state(g), g->kind >= 0 ? c->kind[g->kind].metric : "");
        text_csv(out, g->kind >= 0 ? c->kind[g->kind].rows : "");
        buf_putc(out, ',');
        for (int k = 0; k < g->runs; k++) buf_printf(out, "%s%lld", k ? " " : "", (long long)g->run[k].id);
        buf_putc(out, ',');
        for (int k = 0; k < g->runs; k++)
            if (is_new_seed(g, k))
                buf_printf(out, "%s%llu", k ? " " : "", (unsigned long long)g->run[k].seed);
        buf_printf(out, ",%zu", g->value.n);
        for (size_t k = 0; k < COUNT_OF(values); k++) {
            char text[32] = "";
            if (isfinite(values[k])) text_from_double(values[k], text);
            buf_printf(out, ",%s", text);
        }
        buf_printf(out, ",%lld,", (long long)g->trained);
        if (isfinite(comparison_seconds(g))) buf_printf(out, "%.1f", comparison_seconds(g));
        buf_putc(out, ',');
        if (isfinite(comparison_memory(g))) buf_printf(out, "%.0f", comparison_memory(g));
        buf_putc(out, '\n');
    }
}

static void comparison_output_number(char out[32], double v, bool points) {
    if (isfinite(v)) snprintf(out, 32, points ? "%.2f" : "%.4f", points ? 100 * v : v);
    else strcpy(out, "");
}

/* Describes the values of a kind: "Best accuracy (×100), selected on the same set: dev.accuracy of …". */
static void about_kind(const struct side_by_side *c, int kind, struct buf *out) {
    const struct compared_kind *k = &c->kind[kind];
    buf_printf(out, "%s %s%s%s: %s.\n\n", c->final ? "Last" : "Best", k->metric,
               comparison_in_points(c, kind) ? " (\u00D7100)" : "",
               c->final ? "" : ", selected on the same set", k->rows);
}

static void comparison_output_head(const struct side_by_side *c, const char *cost, struct buf *out) {
    buf_puts(out, "| |");
    for (int i = 0; i < c->axes; i++) buf_printf(out, " %s |", c->axis[i]);
    buf_printf(out, " state | n | seeds | mean | sd | 95%% CI | trainable |%s\n|---|", cost);
    for (int i = 0; i < c->axes; i++) buf_puts(out, "---|");
    buf_printf(out, "---|---|---|---|---|---|---|%s\n", *cost ? "---|" : "");
}

static void comparison_output_line(const struct side_by_side *c, int at, const struct compared_options *o,
                                   bool costs, struct buf *out) {
    const struct compared_group *g = &c->group[at];
    bool points = comparison_in_points(c, g->kind);
    struct interval v = g->interval;
    char mean[32], sd[32], low[32], high[32], trained[32], seeds[96];
    comparison_output_number(mean, g->value.mean, points), comparison_output_number(sd, g->value.sd, points);
    comparison_output_number(low, v.low, points), comparison_output_number(high, v.high, points);
    text_thousands(g->trained, trained);
    comparison_seeds(c, g, seeds, sizeof seeds);
    buf_puts(out, "| ");
    text_markdown(out, g->name);
    buf_printf(out, "%s%s |", costs && comparison_on_front(c, at, o->cost) ? " *" : "",
               g->other_rows ? " \u2260" : "");
    for (int k = 0; k < c->axes; k++) text_markdown_cell(out, g->axis[k] ? g->axis[k] : "\u2013");
    text_markdown_cell(out, g->valid ? comparison_state(g) : g->reason);
    buf_printf(out, " %zu | %s | %s | %s | %s%s%s | %s |", g->value.n,
               seeds, mean, sd, low, *low ? " \u2026 " : "", high, trained);
    double paid = o->cost == COST_MEMORY ? comparison_memory(g) / 1048576 : comparison_seconds(g);
    if (o->cost != COST_TRAINED) buf_printf(out, isfinite(paid) ? " %.1f |" : " |", paid);
    buf_putc(out, '\n');
}

/* Writes the groups of a kind; of KIND_NONE, those without a value. */
static void comparison_output_table(const struct side_by_side *c, int kind,
                                    const struct compared_options *o, bool costs, struct buf *out) {
    int n = 0;
    bool rows = false;
    for (int i = 0; i < c->groups; i++)
        n += c->group[i].kind == kind || (kind == KIND_NONE && c->group[i].kind < 0);
    if (!n) return;
    if (kind >= 0) about_kind(c, kind, out);
    else if (c->kinds) buf_puts(out, "Without a score:\n\n");
    static const char *const paid[] = { "", " seconds |", " MB peak |" };
    comparison_output_head(c, paid[o->cost], out);
    for (int i = 0; i < c->groups; i++) {
        if (c->group[i].kind != kind && !(kind == KIND_NONE && c->group[i].kind < 0)) continue;
        comparison_output_line(c, i, o, costs, out);
        rows |= c->group[i].other_rows;
    }
    buf_putc(out, '\n');
    if (rows) buf_puts(out, "\u2260: evaluated on other examples of the task.\n\n");
    for (int i = 0; i < c->groups; i++) {
        char *repeats = c->group[i].kind == kind ? comparison_repeats(&c->group[i]) : NULL;
        if (repeats) buf_printf(out, "%s: %s.\n\n", c->group[i].name, repeats);
        free(repeats);
    }
}

static void claims(const struct side_by_side *c, double margin, struct buf *out) {
    struct compared_pair *pair;
    size_t n = comparison_pairs(c, margin, &pair), shown = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (!pair[i].differs && !pair[i].equal) continue;
        char *claim = comparison_claim(c, &pair[i], n, margin);
        buf_printf(out, "- %s\n", claim);
        shown++;
        any = true;
        free(claim);
    }
    for (int i = 0; i < c->groups; i++) {
        for (int k = i + 1; k < c->groups && c->groups <= COMPARISON_PAIRS_OF; k++) {
            char *why = comparison_unpaired(c, i, k);
            if (why) buf_printf(out, "- %s\n", why);
            any |= why != NULL;
            free(why);
        }
    }
    if (any && n > shown) buf_putc(out, '\n');
    if (n > shown) buf_printf(out, "No difference shown in %zu of %zu pairs of cells.\n", n - shown, n);
    free(pair);
}

static void effects(const struct side_by_side *c, struct buf *out) {
    struct compared_effects f;
    comparison_effects(c, &f);
    bool points = c->kinds && comparison_in_points(c, 0);
    if (f.count)
        buf_printf(out, "\nMain effect of each axis (%s; %.0f residual degrees of freedom):\n\n", f.about,
                   f.df);
    const char *unit = points ? " (\u00D7100)" : "";
    if (f.count) buf_printf(out, "| axis | level | n | mean%s | 95%% CI |\n|---|---|---|---|---|\n", unit);
    for (int i = 0; i < f.count; i++) {
        const struct compared_effect *x = &f.effect[i];
        char value[32], low[32], high[32];
        if (x->axis2 >= 0) continue;
        comparison_output_number(value, x->value, points);
        comparison_output_number(low, x->low, points);
        comparison_output_number(high, x->high, points);
        const char *level = x->level ? x->level : x->log ? "slope (log scale)" : "slope";
        buf_printf(out, "| %s |", c->axis[x->axis]);
        text_markdown_cell(out, level);
        buf_printf(out, " %zu | %s%s | %s%s%s |\n", x->n, x->open ? "aliased with " : value,
                   x->open ? x->aliased : "", low, *low ? " \u2026 " : "", high);
    }
    comparison_effects_release(&f);
}

void comparison_markdown(const struct side_by_side *c, const struct compared_options *o, struct buf *out) {
    char *why = comparison_no_cost(c, o->cost);
    if (c->title) buf_printf(out, "`%s`\n\n", c->title);
    if (c->mixed) buf_printf(out, "%s.\n\n", c->mixed);
    for (int k = 0; k < c->kinds; k++) comparison_output_table(c, k, o, !why, out);
    comparison_output_table(c, KIND_NONE, o, false, out);
    for (int i = 0; i < c->groups; i++)
        if (c->group[i].sized) buf_printf(out, "%s: %s\n\n", c->group[i].name, c->group[i].sized);
    for (int i = 0; i < c->groups; i++)
        if (c->group[i].runged) buf_printf(out, "%s: %s\n\n", c->group[i].name, c->group[i].runged);
    for (int i = 0; i < c->groups; i++)
        if (c->group[i].tuned) buf_printf(out, "%s: %s\n\n", c->group[i].name, c->group[i].tuned);
    static const char *const cheaper[] = { "has fewer trainable parameters", "took less time",
                                            "took less memory" };
    if (why) buf_printf(out, "No Pareto front: %s.\n\n", why);
    else if (c->kinds)
        buf_printf(out, "`*`: on the Pareto front: no cell with an equal or better score %s.\n\n",
                   cheaper[o->cost]);
    claims(c, o->margin, out);
    effects(c, out);
    free(why);
}
