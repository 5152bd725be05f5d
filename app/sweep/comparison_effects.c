/* Main effects of the axes of a comparison: its runs are the rows of a linear model (comparison.h,
 * core/analysis/axis_effects.h).
 *
 * Rows are finished runs.  Tasks are blocks, and so is each seed with a run in every group that has one;
 * incomplete seeds share a level.  An axis with more than five values, all numbers, is a linear term, in
 * its log if its values are evenly spaced in the log.  An axis that is part of another one (lora(r={r}) of
 * method) is represented by it. */
#include "app/sweep/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/axis_effects.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { EFFECT_AXES = 64, EFFECT_SEEDS = 512, LINE_FROM = 6 };

struct effect_rows {
    size_t rows, room;
    double *y, *x;            /* x: axes × room, of lines */
    int *level, *seed, *task; /* level: axes × room */
    int levels[EFFECT_AXES], seeds;
    const char **name[EFFECT_AXES]; /* names of the levels of each axis, owned by the comparison */
    int factors, axis[EFFECT_AXES]; /* the axes that are factors */
    struct effects_factor factor[EFFECT_AXES], block[2];
    int blocks;
};

static int level_of(const char ***names, int *count, const char *value) {
    for (int i = 0; i < *count; i++)
        if (!strcmp((*names)[i], value)) return i;
    *names = xrealloc(*names, (size_t)*count + 1, sizeof **names);
    (*names)[*count] = value;
    return (*count)++;
}

static bool is_line(const char *const *name, int levels) {
    double v;
    for (int i = 0; i < levels; i++)
        if (!text_to_double(name[i], &v)) return false;
    return levels >= LINE_FROM;
}

static bool has_seed(const struct side_by_side *c, const struct compared_group *g, uint64_t seed) {
    for (int i = 0; i < g->runs; i++)
        if (g->run[i].seed == seed && comparison_counts(c, &g->run[i])) return true;
    return false;
}

static bool is_complete(const struct side_by_side *c, uint64_t seed) {
    for (int i = 0; i < c->groups; i++)
        if (c->group[i].value.n && !has_seed(c, &c->group[i], seed)) return false;
    return true;
}

/* Lists the complete seeds in order of occurrence; incomplete ones share one level after them. */
static int complete_seeds(const struct side_by_side *c, uint64_t *seed, bool *others) {
    int n = 0;
    *others = false;
    for (int g = 0; g < c->groups; g++) {
        for (int k = 0; k < c->group[g].runs; k++) {
            const struct compared_run *r = &c->group[g].run[k];
            int at = 0;
            if (!comparison_counts(c, r) || c->group[g].kind < 0) continue;
            while (at < n && seed[at] != r->seed) at++;
            if (at < n) continue;
            if (n < EFFECT_SEEDS && is_complete(c, r->seed)) seed[n++] = r->seed;
            else *others = true;
        }
    }
    return n;
}

static void comparison_effects_add_row(const struct side_by_side *c, struct effect_rows *r,
                                       const struct compared_group *g,
                                       const struct compared_run *run, const uint64_t *seed, int seeds) {
    int at = 0;
    while (at < seeds && seed[at] != run->seed) at++;
    r->seed[r->rows] = at;
    r->task[r->rows] = g->kind;
    for (int i = 0; i < c->axes; i++)
        r->level[(size_t)i * r->room + r->rows] = level_of(&r->name[i], &r->levels[i],
                                                           g->axis[i] ? g->axis[i] : "none");
    r->y[r->rows++] = comparison_value(c, run);
}

static void comparison_effects_add_factor(const struct side_by_side *c, struct effect_rows *r, int axis) {
    if (comparison_is_of_tasks(c, axis) && c->kinds > 1) return; /* a block */
    if (c->inner[axis]) return;
    bool line = is_line(r->name[axis], r->levels[axis]);
    size_t from = (size_t)axis * r->room;
    for (size_t k = 0; line && k < r->rows; k++) {
        text_to_double(r->name[axis][r->level[from + k]], &r->x[from + k]);
        if (c->log[axis] && r->x[from + k] > 0) r->x[from + k] = log(r->x[from + k]);
    }
    if (!line && r->levels[axis] < 2) return; /* constant over all runs */
    r->axis[r->factors] = axis;
    r->factor[r->factors++] = (struct effects_factor){ c->axis[axis], line ? 0 : r->levels[axis],
                                                       r->level + from, r->x + from };
}

static void comparison_effects_gather(const struct side_by_side *c, struct effect_rows *r,
                                      struct buf *about) {
    uint64_t seed[EFFECT_SEEDS];
    bool others;
    int seeds = complete_seeds(c, seed, &others);
    size_t room = 1;
    for (int g = 0; g < c->groups; g++) room += (size_t)c->group[g].runs;
    r->room = room;
    r->y = xcalloc(room, sizeof *r->y);
    r->x = xcalloc(room * ((size_t)c->axes + 1), sizeof *r->x);
    r->level = xcalloc(room * ((size_t)c->axes + 1), sizeof *r->level);
    r->seed = xcalloc(room, sizeof *r->seed);
    r->task = xcalloc(room, sizeof *r->task);
    for (int g = 0; g < c->groups; g++)
        for (int k = 0; k < c->group[g].runs && c->group[g].kind >= 0; k++)
            if (comparison_counts(c, &c->group[g].run[k]))
                comparison_effects_add_row(c, r, &c->group[g], &c->group[g].run[k], seed, seeds);
    for (int i = 0; i < c->axes; i++) comparison_effects_add_factor(c, r, i);
    buf_printf(about, "%zu run%s", r->rows, r->rows == 1 ? "" : "s");
    if (c->kinds > 1) {
        r->block[r->blocks++] = (struct effects_factor){ "task", c->kinds, r->task, NULL };
        buf_printf(about, "; blocked by task (%d tasks)", c->kinds);
    }
    if (seeds + others > 1)
        r->block[r->blocks++] = (struct effects_factor){ "seed", seeds + others, r->seed, NULL };
    const char *before = seeds + others > 1 ? "; blocked by seed " : "; seed ";
    for (int i = 0; i < seeds; i++)
        buf_printf(about, "%s%llu", i ? ", " : before, (unsigned long long)seed[i]);
    if (others) buf_puts(about,
                         seeds ? ", and one block for all seeds without a run in every group"
                               : "; no seed has a run in every group");
}

static void sweep_comparison_effects_release(const struct side_by_side *c, struct effect_rows *r) {
    for (int i = 0; i < c->axes; i++) free(r->name[i]);
    free(r->y), free(r->x), free(r->level), free(r->seed), free(r->task);
}

static void comparison_effects_tell(const struct side_by_side *c, const struct effect_rows *r,
                                    const struct axis_effects *f, struct compared_effects *out) {
    out->effect = xcalloc(f->count + 1, sizeof *out->effect);
    for (size_t i = 0; i < f->count; i++) {
        const struct axis_effect *x = &f->effect[i];
        int a = r->axis[x->factor], b = x->other < 0 ? -1 : r->axis[x->other];
        out->effect[out->count++] = (struct compared_effect){
            .axis = a,
            .axis2 = b,
            .n = x->n,
            .value = x->value,
            .low = x->low,
            .high = x->high,
            .open = x->open,
            .level = x->level < 0 ? NULL : r->name[a][x->level],
            .level2 = b < 0 ? NULL : r->name[b][x->level2],
            .log = x->level < 0 && c->log[a],
            .aliased = x->open ? xstrdup(f->alias[x->factor] ? f->alias[x->factor] : "other levels") : NULL,
        };
    }
    out->df = f->df;
}

void comparison_effects(const struct side_by_side *c, struct compared_effects *out) {
    *out = (struct compared_effects){ .why = comparison_no_blocks(c) };
    if (!out->why && c->axes > EFFECT_AXES)
        out->why = xprintf("%d axes; at most %d are supported", c->axes, EFFECT_AXES);
    if (out->why) return;
    struct effect_rows *r = xcalloc(1, sizeof *r);
    struct axis_effects f = { 0 };
    struct err e = ERR_INIT;
    struct buf about = BUF_INIT;
    comparison_effects_gather(c, r, &about);
    const struct effects_model m = { .rows = r->rows, .y = r->y, .factors = r->factors, .factor = r->factor,
                                     .blocks = r->blocks, .block = r->block };
    if (!r->factors) out->why = xstrdup("the finished runs do not vary in any axis");
    else if (axis_effects_fit(&m, &f, &e)) out->why = xstrdup(e.text);
    else comparison_effects_tell(c, r, &f, out);
    out->about = buf_take(&about);
    axis_effects_release(&f);
    sweep_comparison_effects_release(c, r);
    free(r);
}

void comparison_effects_release(struct compared_effects *e) {
    for (int i = 0; i < e->count; i++) free(e->effect[i].aliased);
    free(e->effect), free(e->why), free(e->about);
    *e = (struct compared_effects){ 0 };
}
