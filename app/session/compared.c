#include "app/session/compared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static char *compared_keep(struct compared_page *p, char *text) {
    p->text = xrealloc(p->text, (size_t)p->texts + 1, sizeof *p->text);
    return p->text[p->texts++] = text;
}

/* Returns the kind of a group: without a value, the first one of its task, added if there is none. */
static int tab_of(struct compared_page *p, int group) {
    const char *task = p->groups.task[group];
    if (p->groups.of.group[group].kind >= 0) return p->groups.of.group[group].kind;
    for (int i = 0; i < p->data.kinds; i++)
        if (!strcmp(p->kind[i].task, task)) return i;
    p->kind = xrealloc(p->kind, (size_t)p->data.kinds + 1, sizeof *p->kind);
    p->kind[p->data.kinds] = (struct compare_kind){ .name = task, .task = task, .rows = "not evaluated" };
    return p->data.kinds++;
}

/* Fills the kinds of values.  Of several of a task and metric, the tab also names the examples. */
static void fill_kinds(struct compared_page *p) {
    const struct side_by_side *c = &p->groups.of;
    p->kind = xcalloc((size_t)c->kinds + 1, sizeof *p->kind);
    p->data.kinds = c->kinds;
    for (int i = 0; i < c->kinds; i++) {
        const struct compared_kind *k = &c->kind[i];
        bool several = false;
        for (int j = 0; j < c->kinds; j++)
            several |= i != j && !strcmp(k->task, c->kind[j].task) && !strcmp(k->metric, c->kind[j].metric);
        const char *examples = several ? strrchr(k->rows, ',') : NULL;
        p->kind[i] = (struct compare_kind){
            .name = compared_keep(p, xprintf("%s %s%s", k->task, k->metric, examples ? examples : "")),
            .metric = k->metric,
            .task = k->task,
            .rows = k->rows,
            .points = comparison_in_points(c, i),
        };
    }
}

static void fill_group(struct compared_page *p, int i) {
    const struct side_by_side *c = &p->groups.of;
    const struct compared_group *g = &c->group[i];
    const struct compared_evidence *e = &p->evidence[i];
    char seeds[256];
    comparison_seeds(c, g, seeds, sizeof seeds);
    p->run[i] = comparison_run_ids(g);
    char *repeats = comparison_repeats(g);
    int repeated = 0;
    for (int k = 0; k < g->runs; k++) repeated += comparison_repeated(&g->run[k]);
    p->repeated += repeated;
    p->group[i] = (struct compare_group){
        .name = g->name,
        .state = comparison_state(g),
        .seeds = compared_keep(p, xstrdup(seeds)),
        .repeats = repeats ? compared_keep(p, repeats) : NULL,
        .evidence = e->mean,
        .difference = e->difference,
        .follows = e->follows,
        .kind = tab_of(p, i),
        .other_rows = g->other_rows,
        .n = (int)g->value.n,
        .mean = g->value.mean,
        .sd = g->value.sd,
        .low = g->interval.low,
        .high = g->interval.high,
        .rank = e->rank,
        .seconds = comparison_seconds(g),
        .trained = g->trained,
        .run = p->run[i],
        .runs = g->runs,
        .repeated = repeated,
    };
}

/* Reads the points of the metric: those of the run if it is its primary metric, else by name. */
static int compared_metric_of(struct compared_page *p, struct store *s, const struct store_run *run,
                              int kind, struct run_series *r, struct err *e) {
    const struct side_by_side *c = &p->groups.of;
    if (kind < 0 || !strcmp(c->kind[kind].metric, run->metric)) return 0;
    char *name = xprintf("%s.%s", c->kind[kind].split, c->kind[kind].metric);
    struct store_points points;
    int rc = store_points(s, run->id, name, 0, &points, e);
    size_t evals = r->view.evals;
    for (size_t i = 0; !rc && i < evals; i++) {
        r->eval_value[i] = NAN;
        for (size_t k = 0; k < points.count; k++)
            if ((double)points.step[k] == r->eval_step[i]) r->eval_value[i] = points.value[k];
    }
    if (!rc) store_points_release(&points);
    free(name);
    return rc;
}

/* Returns the mean of the curves over the steps that all of them have. */
static struct plot_data mean_of(const struct plot_data *const *curve, int n) {
    size_t room = curve[0]->count, count = 0;
    double *step = xmalloc((room + 1) * sizeof *step), *value = xmalloc((room + 1) * sizeof *value);
    size_t *at = xcalloc((size_t)n, sizeof *at);
    for (size_t i = 0; i < room; i++) {
        double sum = 0, here = curve[0]->step[i];
        int found = 0;
        for (int k = 0; k < n; k++) {
            while (at[k] < curve[k]->count && curve[k]->step[at[k]] < here) at[k]++;
            if (at[k] == curve[k]->count || curve[k]->step[at[k]] > here) break;
            sum += curve[k]->value[at[k]];
            found++;
        }
        if (found == n) step[count] = here, value[count++] = sum / n;
    }
    free(at);
    return (struct plot_data){ step, value, count };
}

/* Adds the mean curves of a group: of its counted runs, or of all if none counts. */
static void fill_mean(struct compared_page *p, int group, const bool *counts) {
    const struct plot_data *loss[COMPARE_CURVES], *metric[COMPARE_CURVES];
    int n = 0, counted = 0;
    for (int i = 0; i < p->data.curves; i++) counted += p->curve[i].group == group && counts[i];
    for (int i = 0; i < p->data.curves; i++) {
        if (p->curve[i].group != group || (counted && !counts[i])) continue;
        loss[n] = &p->curve[i].loss, metric[n++] = &p->curve[i].metric;
    }
    if (!n) return;
    p->mean[p->data.means++] = (struct compare_curve){ group, n, mean_of(loss, n), mean_of(metric, n) };
}

/* Takes the first runs of each group in turn, so that each group has a curve before one has two; repeats
 * have none. */
static int fill_curves(struct compared_page *p, struct store *s, struct err *e) {
    const struct side_by_side *c = &p->groups.of;
    bool counts[COMPARE_CURVES];
    int rc = 0, done = 0, n = 0;
    for (int seed = 0; done < p->groups.runs && !rc; seed++) {
        for (int i = 0; i < c->groups && !rc; i++) {
            struct store_run run;
            if (seed >= c->group[i].runs) continue;
            done++;
            if (n == COMPARE_CURVES || comparison_repeated(&c->group[i].run[seed])) continue;
            rc = store_run(s, c->group[i].run[seed].id, &run, e);
            if (rc) break;
            struct run_series *r = p->series[n] = series_new(run.id);
            rc = series_read(r, s, &run, e);
            if (!rc) rc = compared_metric_of(p, s, &run, c->group[i].kind, r, e);
            const struct series *v = &r->view;
            p->curve[n++] = (struct compare_curve){ i, 1, { v->step, v->loss, v->count },
                                                    { v->eval_step, v->eval_value, v->evals } };
            counts[n - 1] = comparison_counts(c, &c->group[i].run[seed]);
            store_run_release(&run);
        }
    }
    p->data.curves = n;
    p->mean = xcalloc((size_t)c->groups + 1, sizeof *p->mean);
    for (int i = 0; i < c->groups && !rc; i++) fill_mean(p, i, counts);
    return rc;
}

static void compared_fill(struct compared_page *p) {
    const struct side_by_side *c = &p->groups.of;
    struct compare_data *d = &p->data;
    size_t groups = (size_t)c->groups;
    p->group = xcalloc(groups + 1, sizeof *p->group);
    p->run = xcalloc(groups + 1, sizeof *p->run);
    p->evidence = comparison_evidence(c);
    fill_kinds(p);
    for (int i = 0; i < c->groups; i++) fill_group(p, i);
    d->differences = (int)grouping_differences(&p->groups, &p->differs);
    p->difference = xcalloc((size_t)d->differences + 1, sizeof *p->difference);
    p->effect = xcalloc((size_t)c->kinds + 1, sizeof *p->effect);
    for (int k = 0; k < c->kinds; k++)
        p->effect[k] = grouping_effects(&p->groups, k, p->differs, (size_t)d->differences);
    for (int i = 0; i < d->differences; i++) {
        const char **effect = xcalloc((size_t)d->kinds + 1, sizeof *effect);
        for (int k = 0; k < c->kinds; k++) effect[k] = p->effect[k][i];
        p->difference[i] = (struct compare_difference){ p->differs[i].name, p->differs[i].value, effect };
    }
    p->metric = xcalloc(json_object_size(p->groups.metrics) + 1, sizeof *p->metric);
    const char *name;
    json_t *v;
    json_object_foreach(p->groups.metrics, name, v) p->metric[d->metrics++] = name;
    d->kind = p->kind;
    d->group = p->group, d->groups = c->groups;
    d->difference = p->difference;
    d->curve = p->curve, d->mean = p->mean;
    d->metric = p->metric;
    d->runs = p->groups.runs;
    d->curves_left = d->runs - p->repeated - d->curves;
}

int compared_page_read(struct store *s, const int64_t *run, int runs, const char *metric, bool other_rows,
                       struct compared_page **out, struct err *e) {
    struct compared_page *p = xcalloc(1, sizeof *p);
    p->curve = xcalloc(COMPARE_CURVES, sizeof *p->curve);
    p->series = xcalloc(COMPARE_CURVES, sizeof *p->series);
    int rc = grouping_begin(&p->groups, NULL, e);
    p->groups.of.allow_rows = other_rows;
    if (*metric) p->groups.of.asked = xstrdup(metric);
    for (int i = 0; i < runs && !rc; i++) rc = grouping_add(&p->groups, s, run[i], e);
    if (!rc && !runs) rc = err_set(e, ERR_NOT_FOUND,
                                   "no run is selected or listed; press 3 to list the runs");
    if (!rc) grouping_name(&p->groups);
    if (!rc) rc = fill_curves(p, s, e);
    if (!rc) {
        compared_fill(p);
        *out = p;
        return 0;
    }
    compared_page_free(p);
    return rc;
}

void compared_page_free(struct compared_page *p) {
    if (!p) return;
    for (int i = 0; i < p->groups.of.groups && p->run; i++) free(p->run[i]);
    for (int k = 0; p->effect && k < p->groups.of.kinds; k++) {
        for (int i = 0; i < p->data.differences; i++) free(p->effect[k][i]);
        free(p->effect[k]);
    }
    for (int i = 0; i < p->data.differences; i++)
        free(p->differs[i].value), free((void *)p->difference[i].effect);
    free(p->effect);
    for (int i = 0; i < COMPARE_CURVES; i++) series_free(p->series[i]);
    for (int i = 0; i < p->data.means; i++) {
        const struct plot_data *of[] = { &p->mean[i].loss, &p->mean[i].metric };
        for (int k = 0; k < 2; k++) free((double *)of[k]->step), free((double *)of[k]->value);
    }
    for (int i = 0; i < p->texts; i++) free(p->text[i]);
    free(p->run), free(p->differs), free(p->difference), free(p->series), free(p->curve), free(p->mean),
        free(p->text),
        free(p->metric);
    free(p->kind), free(p->group);
    comparison_evidence_release(p->evidence, p->groups.of.groups);
    grouping_release(&p->groups);
    free(p);
}
