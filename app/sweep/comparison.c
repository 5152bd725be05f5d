#include "app/sweep/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

static void group_release(struct compared_group *g, int axes) {
    for (int i = 0; i < axes && g->axis; i++) free(g->axis[i]);
    free(g->axis), free(g->name), free(g->reason), free(g->run);
}

void comparison_release(struct side_by_side *c) {
    for (int i = 0; i < c->groups; i++) group_release(&c->group[i], c->axes);
    for (int i = 0; i < c->axes; i++) free(c->axis[i]);
    free(c->group), free(c->axis), free(c->title), free(c->metric), free(c->rows), free(c->mixed);
    *c = (struct side_by_side){ 0 };
}

struct compared_group *comparison_add(struct side_by_side *c, const char *name) {
    c->group = xrealloc(c->group, (size_t)c->groups + 1, sizeof *c->group);
    struct compared_group *g = &c->group[c->groups++];
    *g = (struct compared_group){ .name = xstrdup(name),
                                  .valid = true,
                                  .axis = xcalloc((size_t)c->axes + 1, sizeof *g->axis),
                                  .value = spread_of(NULL, 0),
                                  .final = spread_of(NULL, 0) };
    return g;
}

/* What a value is of: equal texts, and they may be averaged. */
static char *rows_of(const struct store_run *r) {
    return xprintf("%s of %s (sha256 %.8s…), %lld rows", r->decides, r->task,
                   r->dev_sha256 ? r->dev_sha256 : "not known", (long long)r->rows);
}

/* The first run says what all are of. */
static void check_alike(struct side_by_side *c, const struct store_run *r) {
    char *rows = rows_of(r);
    if (!c->rows) {
        c->rows = rows;
        c->metric = xstrdup(r->metric);
        c->direction = r->direction;
        return;
    }
    if (strcmp(rows, c->rows) && !c->mixed)
        c->mixed = xprintf("run %lld is measured by %s, others by %s: no rank, difference or mean over them",
                           (long long)r->id, rows, c->rows);
    free(rows);
}

static int last_value(struct store *s, const struct store_run *r, double *out, struct err *e) {
    struct store_points p;
    *out = NAN;
    if (!*r->decides) return 0;
    int rc = store_points(s, r->id, r->decides, 0, &p, e);
    if (rc) return rc;
    if (p.count) *out = p.value[p.count - 1];
    store_points_release(&p);
    return 0;
}

bool comparison_counts(const struct compared_run *r) { return r->state == STORE_FINISHED && isfinite(r->value); }

static struct spread spread_of_runs(const struct compared_group *g, bool final) {
    double *v = xmalloc(((size_t)g->runs + 1) * sizeof *v);
    size_t n = 0;
    for (int i = 0; i < g->runs; i++) {
        double x = final ? g->run[i].final : g->run[i].value;
        if (comparison_counts(&g->run[i]) && isfinite(x)) v[n++] = x;
    }
    struct spread s = spread_of(v, n);
    free(v);
    return s;
}

int comparison_take(struct side_by_side *c, struct compared_group *g, struct store *s, const struct store_run *run,
                    struct err *e) {
    struct compared_run x = {
        .id = run->id, .seed = run->seed, .value = NAN, .seconds = run->seconds, .state = run->state
    };
    if (run->best.measured && !run->best.undefined) x.value = run->best.v;
    if (last_value(s, run, &x.final, e)) return e->code;
    if (isfinite(x.value)) check_alike(c, run);
    g->trained = run->trained;
    g->run = xrealloc(g->run, (size_t)g->runs + 1, sizeof *g->run);
    g->run[g->runs++] = x;
    g->value = spread_of_runs(g, false);
    g->final = spread_of_runs(g, true);
    return 0;
}

struct spread comparison_pair(const struct compared_group *a, const struct compared_group *b) {
    double *v = xmalloc(((size_t)a->runs + 1) * sizeof *v);
    size_t n = 0;
    for (int i = 0; i < a->runs; i++) {
        for (int k = 0; k < b->runs; k++) {
            const struct compared_run *x = &a->run[i], *y = &b->run[k];
            if (x->seed != y->seed || !comparison_counts(x) || !comparison_counts(y)) continue;
            v[n++] = x->value - y->value;
            break;
        }
    }
    struct spread s = spread_of(v, n);
    free(v);
    return s;
}
