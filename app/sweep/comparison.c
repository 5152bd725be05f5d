#include "app/sweep/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/sweep/tune.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/metrics.h"
#include "core/train/config/evidence.h"

static void group_release(struct compared_group *g, int axes) {
    for (int i = 0; i < axes && g->axis; i++) free(g->axis[i]);
    for (int i = 0; i < g->runs; i++) free(g->run[i].kernel), free(g->run[i].weights);
    free(g->axis), free(g->name), free(g->reason), free(g->run), free(g->tune), free(g->tuned);
    free(g->status_text), free(g->rungs), free(g->runged);
    free(g->size), free(g->sized);
}

void comparison_release(struct side_by_side *c) {
    for (int i = 0; i < c->groups; i++) group_release(&c->group[i], c->axes);
    for (int i = 0; i < c->axes; i++) free(c->axis[i]);
    for (int i = 0; i < c->kinds; i++)
        free(c->kind[i].metric), free(c->kind[i].split), free(c->kind[i].task), free(c->kind[i].rows);
    free(c->group), free(c->axis), free(c->log), free(c->inner), free(c->kind), free(c->title),
        free(c->asked), free(c->mixed);
    *c = (struct side_by_side){ 0 };
}

void comparison_axis(struct side_by_side *c, const char *name, bool log) {
    c->axis = xrealloc(c->axis, (size_t)c->axes + 1, sizeof *c->axis);
    c->log = xrealloc(c->log, (size_t)c->axes + 1, sizeof *c->log);
    c->inner = xrealloc(c->inner, (size_t)c->axes + 1, sizeof *c->inner);
    c->inner[c->axes] = false;
    c->axis[c->axes] = xstrdup(name);
    c->log[c->axes++] = log;
    for (int i = 0; i < c->groups; i++) {
        struct compared_group *g = &c->group[i];
        g->axis = xrealloc(g->axis, (size_t)c->axes, sizeof *g->axis);
        g->axis[c->axes - 1] = NULL;
    }
}

bool comparison_is_of_tasks(const struct side_by_side *c, int axis) {
    return !strcmp(c->axis[axis], "task") || !strcmp(c->axis[axis], "tasks");
}

struct compared_group *comparison_add(struct side_by_side *c, const char *name) {
    c->group = xrealloc(c->group, (size_t)c->groups + 1, sizeof *c->group);
    struct compared_group *g = &c->group[c->groups++];
    *g = (struct compared_group){ .name = xstrdup(name),
                                  .valid = true,
                                  .axis = xcalloc((size_t)c->axes + 1, sizeof *g->axis),
                                  .kind = KIND_NONE,
                                  .value = spread_of(NULL, 0),
                                  .interval = { NAN, NAN },
                                  .final = spread_of(NULL, 0) };
    return g;
}

/* ---- kinds ---- */

/* Returns "dev" for "dev.accuracy". */
static char *split_of(const char *decides) {
    const char *dot = strrchr(decides, '.');
    return dot ? xstrndup(decides, (size_t)(dot - decides)) : xstrdup(decides);
}

static char *comparison_rows_of(const struct store_run *r, const char *split, const char *metric) {
    return xprintf("%s.%s of %s (sha256 %.8s\u2026), %lld examples", split, metric, r->task,
                   r->dev_sha256 ? r->dev_sha256 : "unknown", (long long)r->examples);
}

/* Returns in one line the difference between the first kind and another. */
static char *why_mixed(const struct compared_kind *a, const struct compared_kind *b) {
    return xprintf(
        "ranks, differences and means are not computed: run %lld was evaluated with %s, run %lld with %s",
        (long long)b->first, b->rows, (long long)a->first, a->rows);
}

/* Returns the kind of the run's metric; adds it if it is new. */
static int comparison_kind_of(struct side_by_side *c, const struct store_run *r, const char *metric,
                              int direction, bool *other) {
    char *split = split_of(r->decides), *rows = comparison_rows_of(r, split, metric);
    int at = 0;
    for (; at < c->kinds; at++) {
        const struct compared_kind *k = &c->kind[at];
        bool same = !strcmp(k->metric, metric) && !strcmp(k->split, split) && !strcmp(k->task, r->task);
        if (same && (c->allow_rows || !strcmp(k->rows, rows))) break;
    }
    if (at < c->kinds) {
        *other = strcmp(c->kind[at].rows, rows) != 0;
        free(split), free(rows);
        return at;
    }
    c->kind = xrealloc(c->kind, (size_t)c->kinds + 1, sizeof *c->kind);
    c->kind[c->kinds++] = (struct compared_kind){ xstrdup(metric), split, xstrdup(r->task), rows,
                                                  direction,       r->id };
    if (at && !c->mixed) c->mixed = why_mixed(&c->kind[0], &c->kind[at]);
    return at;
}

char *comparison_no_blocks(const struct side_by_side *c) {
    for (int i = 1; i < c->kinds; i++) {
        for (int k = 0; k < i; k++) {
            const struct compared_kind *a = &c->kind[k], *b = &c->kind[i];
            if (strcmp(a->metric, b->metric) || strcmp(a->split, b->split) || !strcmp(a->task, b->task))
                return why_mixed(a, b);
        }
    }
    return NULL;
}

/* ---- runs ---- */

static int last_value(struct store *s, const struct store_run *r, const char *name, double *out,
                      struct err *e) {
    struct store_points p;
    *out = NAN;
    int rc = store_points(s, r->id, name, 0, &p, e);
    if (rc) return rc;
    if (p.count) *out = p.value[p.count - 1];
    store_points_release(&p);
    return 0;
}

/* Reads the requested metric on the run's primary split. */
static int asked_value(const struct side_by_side *c, const struct store_run *r, const char *name,
                       double *best, struct err *e) {
    struct buf has = BUF_INIT;
    bool found = false;
    *best = NAN;
    for (size_t i = 0; i < r->value_count; i++) {
        const struct store_named_value *v = &r->value[i];
        if (strchr(v->name, '.')) buf_printf(&has, "%s%s", has.size ? ", " : "", v->name);
        if (strcmp(v->name, name)) continue;
        found = true;
        if (v->best.measured && !v->best.undefined) *best = v->best.v;
    }
    int rc = found ? 0
                   : err_set(e, ERR_NOT_FOUND, "--metric %s: run %lld has no %s; available: %s", c->asked,
                             (long long)r->id, name, has.size ? buf_text(&has) : "none (not evaluated)");
    buf_release(&has);
    return rc;
}

int comparison_read(struct side_by_side *c, struct store *s, const struct store_run *run,
                    struct compared_run *out, int *kind, struct err *e) {
    *out = (struct compared_run){ .id = run->id,
                                  .trained = run->trained,
                                  .seed = run->seed,
                                  .value = NAN,
                                  .final = NAN,
                                  .seconds = run->seconds,
                                  .done = run->steps > 0 ? (double)run->step / (double)run->steps : 0,
                                  .peak = run->peak,
                                  .state = run->state,
                                  .ended = run->ended };
    *kind = KIND_NONE;
    bool evaluated = *run->decides && run->best.measured && !tune_is_tagged(run->tags);
    if (!evaluated) { /* an import, or not evaluated yet: no value */
        out->kernel = xcopy(run->kernel);
        return 0;
    }
    if (evidence_key(run->config, run->parent, EVIDENCE_RUN, out->evidence, e)) return e->code;
    int id = c->asked ? metric_find(c->asked) : -1;
    const char *metric = id >= 0 ? metric_name((enum metric_id)id) : c->asked ? c->asked : run->metric;
    char *split = split_of(run->decides),
         *name = c->asked ? xprintf("%s.%s", split, metric) : xstrdup(run->decides);
    int direction = c->asked && strcmp(metric, run->metric)
                        ? id >= 0 ? metric_direction((enum metric_id)id) : 1
                        : run->direction;
    int rc = 0;
    if (c->asked) rc = asked_value(c, run, name, &out->value, e);
    else if (!run->best.undefined) out->value = run->best.v;
    if (!rc) rc = last_value(s, run, name, &out->final, e);
    if (!rc) {
        out->kernel = xcopy(run->kernel);
        out->weights = xcopy(run->weights_sha256);
        if (isfinite(comparison_value(c, out)))
            *kind = comparison_kind_of(c, run, metric, direction, &out->other_rows);
    }
    free(split);
    free(name);
    return rc;
}

double comparison_value(const struct side_by_side *c, const struct compared_run *r) {
    return c->final ? r->final : r->value;
}

static bool is_evidence(const struct side_by_side *c, const struct compared_run *r) {
    return r->state == STORE_FINISHED && isfinite(comparison_value(c, r));
}

bool comparison_counts(const struct side_by_side *c, const struct compared_run *r) {
    return is_evidence(c, r) && r->counted == r->id;
}

/* Decides which of the runs with the evidence of the last one counts. */
static void comparison_settle(const struct side_by_side *c, struct compared_group *g) {
    const struct compared_run *last = &g->run[g->runs - 1];
    struct evidence *of = xcalloc((size_t)g->runs, sizeof *of);
    int *at = xcalloc((size_t)g->runs, sizeof *at);
    size_t n = 0;
    for (int i = 0; i < g->runs; i++) {
        const struct compared_run *r = &g->run[i];
        if (!is_evidence(c, r) || strcmp(r->evidence, last->evidence)) continue;
        at[n] = i;
        of[n++] =
            (struct evidence){ .key = r->evidence, .weights = r->weights, .run = r->id, .ended = r->ended };
    }
    evidence_settle(of, n);
    for (size_t i = 0; i < n; i++)
        g->run[at[i]].counted = of[i].counted, g->run[at[i]].differs = of[i].differs;
    free(of), free(at);
}

static struct spread spread_of_runs(const struct side_by_side *c, const struct compared_group *g,
                                    bool final) {
    double *v = xmalloc(((size_t)g->runs + 1) * sizeof *v);
    size_t n = 0;
    for (int i = 0; i < g->runs && g->kind != KIND_SEVERAL; i++) {
        double x = final ? g->run[i].final : comparison_value(c, &g->run[i]);
        if (comparison_counts(c, &g->run[i]) && isfinite(x)) v[n++] = x;
    }
    struct spread s = spread_of(v, n);
    free(v);
    return s;
}

void comparison_failed(struct compared_group *g, uint64_t seed, const char *reason) {
    char *text = xprintf("%s%sseed %llu: %s", g->reason ? g->reason : "", g->reason ? "; " : "",
                         (unsigned long long)seed, reason ? reason : "failed");
    free(g->reason);
    g->reason = text;
}

void comparison_take(struct side_by_side *c, struct compared_group *g, const struct compared_run *run,
                     int kind) {
    if (kind != KIND_NONE) g->kind = g->kind == KIND_NONE || g->kind == kind ? kind : KIND_SEVERAL;
    g->trained = run->trained;
    g->other_rows |= run->other_rows;
    g->run = xrealloc(g->run, (size_t)g->runs + 1, sizeof *g->run);
    g->run[g->runs++] = *run;
    comparison_settle(c, g);
    g->value = spread_of_runs(c, g, false);
    g->interval = spread_interval(g->value, 0.95);
    g->final = spread_of_runs(c, g, true);
}

const char *comparison_state(const struct compared_group *g) {
    if (g->status_text) return g->status_text;
    for (int i = 0; i < g->runs; i++)
        if (g->run[i].state != STORE_FINISHED) return store_state_name(g->run[i].state);
    return !g->valid ? "invalid" : g->runs < g->wanted ? g->reason ? "failed" : "waiting" : "finished";
}

bool comparison_repeated(const struct compared_run *r) { return r->counted && r->counted != r->id; }

/* Means over finished runs, if there are any: others are incomplete. */
static double mean_cost(const struct compared_group *g, double (*of)(const struct compared_run *r)) {
    double sum = 0;
    int finished = 0, n = 0;
    for (int i = 0; i < g->runs; i++) finished += g->run[i].state == STORE_FINISHED;
    for (int i = 0; i < g->runs; i++) {
        if (comparison_repeated(&g->run[i]) || (finished && g->run[i].state != STORE_FINISHED)) continue;
        sum += of(&g->run[i]);
        n++;
    }
    return n ? sum / n : NAN;
}

static double seconds_of(const struct compared_run *r) { return r->seconds; }
static double memory_of(const struct compared_run *r) { return r->peak ? (double)r->peak : NAN; }
double comparison_seconds(const struct compared_group *g) { return mean_cost(g, seconds_of); }
double comparison_memory(const struct compared_group *g) { return mean_cost(g, memory_of); }

bool comparison_in_points(const struct side_by_side *c, int kind) {
    return kind >= 0 && metric_in_points(c->kind[kind].metric);
}

/* ---- pairs ---- */

/* Returns the mean over the group's counted runs of that seed; NaN if there are none. */
static double value_of_seed(const struct side_by_side *c, const struct compared_group *g, uint64_t seed) {
    double sum = 0;
    int n = 0;
    for (int i = 0; i < g->runs; i++) {
        if (g->run[i].seed != seed || !comparison_counts(c, &g->run[i])) continue;
        sum += comparison_value(c, &g->run[i]);
        n++;
    }
    return n ? sum / n : NAN;
}

bool comparison_counts_seed(const struct side_by_side *c, const struct compared_group *g, int run) {
    for (int i = 0; i < run; i++)
        if (g->run[i].seed == g->run[run].seed && comparison_counts(c, &g->run[i])) return false;
    return comparison_counts(c, &g->run[run]);
}

/* Collects the differences over the common seeds. */
static struct spread comparison_pair(const struct side_by_side *c, const struct compared_group *a,
                                     const struct compared_group *b) {
    double *of_a = xmalloc(((size_t)a->runs + 1) * sizeof *of_a),
           *of_b = xmalloc(((size_t)a->runs + 1) * sizeof *of_b);
    size_t n = 0;
    for (int i = 0; i < a->runs && a->kind >= 0 && a->kind == b->kind; i++) {
        if (!comparison_counts_seed(c, a, i)) continue;
        of_a[n] = value_of_seed(c, a, a->run[i].seed), of_b[n] = value_of_seed(c, b, a->run[i].seed);
        n += isfinite(of_b[n]);
    }
    struct spread s = spread_of_differences(of_a, of_b, n);
    free(of_a), free(of_b);
    return s;
}

static bool is_better(const struct side_by_side *c, const struct compared_group *a,
                      const struct compared_group *b) {
    return c->kind[a->kind].direction * value_order(a->value.mean, b->value.mean) > 0;
}

/* Returns whether both have comparable values. */
static bool are_alike(const struct compared_group *a, const struct compared_group *b) {
    return a->kind >= 0 && a->kind == b->kind && a->value.n && b->value.n;
}

/* Returns the best group of the group's kind. */
static bool is_best(const struct side_by_side *c, int at) {
    const struct compared_group *g = &c->group[at];
    for (int i = 0; i < c->groups; i++) {
        if (i == at || !are_alike(g, &c->group[i])) continue;
        if (is_better(c, &c->group[i], g) || (i < at && !is_better(c, g, &c->group[i]))) return false;
    }
    return g->kind >= 0 && g->value.n;
}

size_t comparison_pairs(const struct side_by_side *c, double margin, struct compared_pair **out) {
    size_t n = 0, room = 0;
    bool many = c->groups > COMPARISON_PAIRS_OF;
    struct compared_pair *pair = NULL;
    for (int i = 0; i < c->groups; i++) {
        if (many && !is_best(c, i)) continue;
        for (int k = many ? 0 : i + 1; k < c->groups; k++) {
            struct spread s = comparison_pair(c, &c->group[i], &c->group[k]);
            if (k == i || !s.n) continue;
            GROW(pair, room, n + 1);
            pair[n++] = (struct compared_pair){
                .a = i, .b = k, .s = s, .interval = spread_interval(s, 0.95)
            };
        }
    }
    double *p = xcalloc(n + 1, sizeof *p), *adjusted = xcalloc(n + 1, sizeof *adjusted);
    for (size_t i = 0; i < n; i++) p[i] = spread_p(pair[i].s);
    holm(p, n, adjusted);
    for (size_t i = 0; i < n; i++) pair[i].p = adjusted[i], pair[i].differs = adjusted[i] <= 0.05;
    for (size_t i = 0; i < n; i++) p[i] = margin > 0 ? spread_p_within(pair[i].s, margin) : NAN;
    holm(p, n, adjusted);
    for (size_t i = 0; i < n; i++) pair[i].p_equal = adjusted[i], pair[i].equal = adjusted[i] <= 0.05;
    free(p);
    free(adjusted);
    *out = pair;
    return n;
}

char *comparison_unpaired(const struct side_by_side *c, int a, int b) {
    const struct compared_group *x = &c->group[a], *y = &c->group[b];
    if (!are_alike(x, y) || comparison_pair(c, x, y).n) return NULL;
    return xprintf("%s and %s: no common seeds, so their difference is not tested", x->name, y->name);
}

/* ---- Pareto fronts and ranks ---- */

/* Returns the machine of all its runs except repeats; "" if they differ. */
static const char *kernel_of(const struct compared_group *g) {
    const char *first = NULL;
    for (int i = 0; i < g->runs; i++) {
        const char *own = g->run[i].kernel ? g->run[i].kernel : "";
        if (comparison_repeated(&g->run[i])) continue;
        if (first && strcmp(own, first)) return "";
        first = own;
    }
    return first ? first : "";
}

char *comparison_no_cost(const struct side_by_side *c, enum compared_cost cost) {
    const struct compared_group *first = NULL;
    for (int i = 0; cost != COST_TRAINED && i < c->groups; i++) {
        const struct compared_group *g = &c->group[i];
        if (!g->value.n) continue;
        if (!*kernel_of(g))
            return xprintf("the runs of %s were trained on different or unknown machines or kernels",
                           g->name);
        if (!first) first = g;
        if (strcmp(kernel_of(g), kernel_of(first)))
            return xprintf("%s ran on \"%s\", %s on \"%s\": their %s cannot be compared", first->name,
                           kernel_of(first), g->name, kernel_of(g), cost == COST_MEMORY ? "memory" : "time");
        if (cost == COST_MEMORY && isnan(comparison_memory(g)))
            return xprintf("the peak memory of the runs of %s is unknown", g->name);
    }
    return NULL;
}

static double cost_of(const struct compared_group *g, enum compared_cost cost) {
    return cost == COST_TRAINED  ? (double)g->trained
           : cost == COST_MEMORY ? comparison_memory(g)
                                 : comparison_seconds(g);
}

bool comparison_on_front(const struct side_by_side *c, int at, enum compared_cost cost) {
    const struct compared_group *me = &c->group[at];
    for (int i = 0; i < c->groups; i++) {
        const struct compared_group *g = &c->group[i];
        if (i == at || !are_alike(g, me)) continue;
        bool better = is_better(c, g, me), as_good = better || !is_better(c, me, g);
        bool cheaper = cost_of(g, cost) < cost_of(me, cost),
             as_cheap = cheaper || cost_of(g, cost) == cost_of(me, cost);
        if (as_good && as_cheap && (better || cheaper)) return false;
    }
    return me->kind >= 0 && me->value.n > 0;
}

double comparison_rank(const struct side_by_side *c, int at) {
    const struct compared_group *me = &c->group[at];
    double before = 0, same = 0;
    for (int i = 0; i < c->groups; i++) {
        if (!are_alike(&c->group[i], me)) continue;
        before += is_better(c, &c->group[i], me);
        same += !value_order(c->group[i].value.mean, me->value.mean);
    }
    return same > 0 ? before + (same + 1) / 2 : NAN;
}

/* Returns whether they agree in every axis except the task. */
static bool same_treatment(const struct side_by_side *c, const struct compared_group *a,
                           const struct compared_group *b) {
    for (int i = 0; i < c->axes; i++) {
        if (comparison_is_of_tasks(c, i)) continue;
        if (strcmp(a->axis[i] ? a->axis[i] : "", b->axis[i] ? b->axis[i] : "")) return false;
    }
    return true;
}

double comparison_rank_of_tasks(const struct side_by_side *c, int at, bool *first) {
    double sum = 0;
    int met = 0;
    char *why = comparison_no_blocks(c);
    *first = true;
    for (int k = 0; k < c->kinds && !why; k++) {
        int found = 0;
        for (int i = 0; i < c->groups; i++) {
            if (c->group[i].kind != k || !c->group[i].value.n ||
                !same_treatment(c, &c->group[i], &c->group[at]))
                continue;
            if (!found++) sum += comparison_rank(c, i);
            if (i < at) *first = false;
        }
        met += found == 1; /* two of the same task: the axes do not distinguish them */
    }
    free(why);
    return met && met == c->kinds ? sum / met : NAN;
}
