#include "app/sweep/halving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/sweep/tune.h"
#include "core/base/mem.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"

/* ---- what is asked for ---- */

int halving_check(const struct sweep_spec *s, struct err *e) {
    for (int i = 0; s->halving && i < SWEEP_BUDGETS; i++)
        if (i != BUDGET_TRAINED && s->budget[i] > 0)
            return err_set(
                e, ERR_USAGE,
                "--halving: cannot be combined with --budget %s: a rung waits for all cells, but the budget "
                "may "
                "skip some; use only one of the two (--budget trained=N is allowed)",
                SWEEP_BUDGET[i]);
    return 0;
}

/* Returns the first evaluation at or after that part of the steps. */
static int64_t rung_step(int64_t steps, int64_t every, int part) {
    int64_t least = (steps + part - 1) / part;
    return (least + every - 1) / every * every;
}

/* Describes the kind of a run's values. */
static char *compared_by(const struct run_config *c) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s %d %g %llu %s", c->metric ? c->metric : "", c->eval_rows, c->split,
               (unsigned long long)c->split_seed, c->episodes_sha256 ? c->episodes_sha256 : "");
    for (int i = 0; i < config_task_count(c); i++) {
        const struct run_config *rows = config_data_of(c, i);
        buf_printf(&b, " %s %s %s %s", rows->task ? rows->task : "", rows->metric ? rows->metric : "",
                   rows->dev_sha256 ? rows->dev_sha256 : "",
                   rows->split > 0 && rows->train_sha256 ? rows->train_sha256 : "");
    }
    return buf_take(&b);
}

static int find_kind(const struct sweep_plan *p, const char *compared) {
    int kinds = 0;
    for (int i = 0; i < p->cells.count; i++) {
        const struct sweep_rungs *r = p->entry[i].rungs;
        if (!r || !r->compared) continue;
        if (!strcmp(r->compared, compared)) return r->kind;
        if (r->kind >= kinds) kinds = r->kind + 1;
    }
    return kinds;
}

static struct sweep_rungs *make_rungs(const struct sweep_plan *p) {
    struct sweep_rungs *r = xcalloc(1, sizeof *r);
    r->of = xcalloc((size_t)p->spec.seeds, sizeof *r->of);
    return r;
}

int halving_prepare(struct sweep_plan *p, int cell, const struct run_config *c, struct err *e) {
    if (!p->spec.halving) return 0;
    if (!c->episodes && !config_is_meta(c) && !config_has_dev(c))
        return err_set(
            e, ERR_USAGE,
            "--halving: requires a validation set to compare cells; use --dev or --split");
    if (c->eval_every < 1)
        return err_set(
            e, ERR_USAGE,
            "--halving: requires evaluations at 1/9 and 1/3 of the %lld steps; use --eval-steps N, "
            "at most %lld",
            (long long)c->steps, (long long)((c->steps + 8) / 9));
    int64_t first = rung_step(c->steps, c->eval_every, 9), second = rung_step(c->steps, c->eval_every, 3);
    if (first >= second || second >= c->steps)
        return err_set(
            e, ERR_USAGE,
            "--halving: evaluations every %d of %lld steps are too far apart for rungs at 1/9 and 1/3%s",
            c->eval_every, (long long)c->steps, c->steps < 9 ? "" : "; use a smaller --eval-steps");
    char *compared = compared_by(c);
    int kind = find_kind(p, compared);
    struct sweep_rungs *r = p->entry[cell].rungs = make_rungs(p);
    r->step[0] = first, r->step[1] = second, r->step[2] = c->steps;
    r->compared = compared;
    r->kind = kind;
    return 0;
}

void halving_free(struct sweep_rungs *r) {
    if (!r) return;
    free(r->compared);
    free(r->of);
    free(r);
}

void halving_record(const struct sweep_rungs *r, struct buf *b) {
    if (!r) return;
    json_open(b, "rungs", '{');
    json_open(b, "steps", '[');
    for (int k = 0; k < HALVING_RUNGS; k++) buf_printf(b, "%s%lld", k ? "," : "", (long long)r->step[k]);
    json_put(b, "],compared:%s}", r->compared);
}

struct sweep_rungs *halving_read(const struct sweep_plan *p, const json_t *record) {
    const char *compared = json_string_value(json_object_get(record, "compared"));
    const json_t *steps = json_object_get(record, "steps");
    int64_t before = 0;
    if (!p->spec.halving || !compared || json_array_size(steps) != HALVING_RUNGS) return NULL;
    struct sweep_rungs *r = make_rungs(p);
    for (int k = 0; k < HALVING_RUNGS; k++) {
        r->step[k] = json_integer_value(json_array_get(steps, (size_t)k));
        if (r->step[k] <= before) return halving_free(r), NULL;
        before = r->step[k];
    }
    r->kind = find_kind(p, compared);
    r->compared = xstrdup(compared);
    return r;
}

/* ---- the best third ---- */

struct ranked {
    int kind, cell;
    double value; /* higher is better; NaN: none */
    bool on;
};

static int halving_by_rank(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    if (isnan(x->value) != isnan(y->value)) return isnan(x->value) ? 1 : -1;
    if (x->value != y->value && !isnan(x->value)) return x->value > y->value ? -1 : 1;
    return x->cell - y->cell;
}

/* Sorts them and marks the best third of each kind, rounded up. */
static void mark_best(struct ranked *r, size_t n) {
    qsort(r, n, sizeof *r, halving_by_rank);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && r[to].kind == r[from].kind;) to++;
        for (size_t i = from; i < to; i++) r[i].on = i < from + (to - from + 2) / 3;
    }
}

/* ---- reading the database ---- */

/* Reads the run's values at the rungs that it has reached. */
static int look_at_run(const struct sweep_rungs *r, struct store *s, struct halved_run *h, bool over,
                       struct err *e) {
    struct store_run run;
    struct store_points points = { 0 };
    int rc = store_run(s, h->run, &run, e);
    if (rc) return rc;
    if (*run.decides) rc = store_points(s, h->run, run.decides, 0, &points, e);
    h->direction = run.direction;
    h->reached = 0;
    for (int k = 0; !rc && k < HALVING_RUNGS; k++) {
        double best = NAN;
        bool there = over;
        for (size_t i = 0; i < points.count && points.step[i] <= r->step[k]; i++) {
            double v = points.value[i];
            there |= points.step[i] == r->step[k];
            if (isfinite(v) && (isnan(best) || run.direction * (v - best) > 0)) best = v;
        }
        if (!there) break;
        h->value[h->reached++] = run.state == STORE_FAILED ? NAN : best;
    }
    store_points_release(&points);
    store_run_release(&run);
    return rc;
}

static int look_at_cell(struct sweep_plan *p, int cell, struct store *s, struct err *e) {
    const struct sweep_entry *x = &p->entry[cell];
    struct sweep_rungs *r = x->rungs;
    for (int k = 0; k < p->spec.seeds; k++) {
        const struct sweep_found *f = &x->found[k];
        struct halved_run *h = &r->of[k];
        if (h->run != f->run) *h = (struct halved_run){ .run = f->run };
        if (!h->run || h->reached >= HALVING_RUNGS || (!f->over && f->step < r->step[h->reached])) continue;
        if (look_at_run(r, s, h, f->over, e)) return e->code;
    }
    return 0;
}

static int missing_row(void *self, int count, const struct store_cell *cells) {
    struct sweep_plan *p = self;
    (void)count;
    for (size_t i = 0; i < p->places; i++) {
        const struct sweep_place *at = &p->place[i];
        if (!p->entry[at->cell].found[at->seed].run && p->entry[at->cell].rungs &&
            !strcmp(at->key, cells[0].text))
            p->entry[at->cell].rungs->of[at->seed].missing = true;
    }
    return 0;
}

/* Marks runs that could not be started. */
static int look_for_missing(struct sweep_plan *p, struct store *s, struct err *e) {
    for (int i = 0; i < p->cells.count; i++)
        for (int k = 0; p->entry[i].rungs && k < p->spec.seeds; k++) p->entry[i].rungs->of[k].missing = false;
    char *sql = xprintf("SELECT key FROM sweep_failure WHERE sweep = %lld", (long long)p->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = p, .row = missing_row }, e);
    free(sql);
    return rc;
}

static bool takes_part(const struct sweep_plan *p, int cell) {
    return p->entry[cell].valid && p->entry[cell].rungs;
}

/* Returns whether all its runs have reached the rung, or never will; *mean: over those with a value. */
static bool has_come(const struct sweep_plan *p, int cell, int rung, double *mean) {
    const struct sweep_rungs *r = p->entry[cell].rungs;
    double sum = 0;
    int n = 0;
    for (int k = 0; k < p->spec.seeds; k++) {
        const struct halved_run *h = &r->of[k];
        bool never = h->missing || tune_has_none(p, cell);
        if (h->reached <= rung && !never) return false;
        if (h->reached > rung && isfinite(h->value[rung])) sum += h->direction * h->value[rung], n++;
    }
    *mean = n ? sum / n : NAN;
    return true;
}

/* Promotes the best third past a rung; returns false if some of its runs have not reached it. */
static bool decide_rung(struct sweep_plan *p, int rung) {
    struct ranked *r = xcalloc((size_t)p->cells.count + 1, sizeof *r);
    size_t n = 0;
    bool all = true;
    for (int i = 0; all && i < p->cells.count; i++) {
        if (!takes_part(p, i) || p->entry[i].rungs->out) continue;
        r[n] = (struct ranked){ .kind = p->entry[i].rungs->kind, .cell = i };
        all = has_come(p, i, rung, &r[n++].value);
    }
    if (all) mark_best(r, n);
    for (size_t i = 0; all && i < n; i++) {
        struct sweep_rungs *x = p->entry[r[i].cell].rungs;
        if (r[i].on && !isnan(r[i].value)) x->level = rung + 1;
        else x->out = true;
    }
    free(r);
    return all;
}

int halving_settle(struct sweep_plan *p, struct store *s, struct err *e) {
    if (!p->spec.halving) return 0;
    int rc = p->id ? look_for_missing(p, s, e) : 0;
    for (int i = 0; !rc && i < p->cells.count; i++) {
        if (!takes_part(p, i)) continue;
        p->entry[i].rungs->level = 0;
        p->entry[i].rungs->out = false;
        rc = look_at_cell(p, i, s, e);
    }
    for (int k = 0; !rc && k < HALVING_RUNGS - 1; k++)
        if (!decide_rung(p, k)) break;
    return rc;
}

/* ---- next actions ---- */

int halving_level(const struct sweep_plan *p, int cell) {
    return p->entry[cell].rungs ? p->entry[cell].rungs->level : 0;
}

int64_t halving_stop_at(const struct sweep_plan *p, int cell) {
    const struct sweep_rungs *r = p->entry[cell].rungs;
    return r && r->level < HALVING_RUNGS - 1 ? r->step[r->level] : 0;
}

bool halving_is_out(const struct sweep_plan *p, int cell) {
    return p->entry[cell].rungs && p->entry[cell].rungs->out;
}

bool halving_is_paused(const struct sweep_plan *p, int cell, int seed) {
    const struct sweep_entry *x = &p->entry[cell];
    const struct sweep_found *f = &x->found[seed];
    if (!x->rungs || !f->run || f->state != STORE_STOPPED) return false;
    int reached = x->rungs->of[seed].reached;
    return reached && f->step == x->rungs->step[reached - 1];
}

bool halving_is_open(const struct sweep_plan *p, int cell, int seed) {
    const struct sweep_entry *x = &p->entry[cell];
    const struct sweep_rungs *r = x->rungs;
    if (!r || !x->found[seed].run) return !r || !r->out;
    if (halving_is_paused(p, cell, seed)) return r->level >= r->of[seed].reached;
    /* a run that was ended at its rung has no checkpoint of it; one that went beyond before others arrived
     * stays there */
    return !r->out || x->found[seed].step <= r->step[r->level];
}

/* ---- output ---- */

/* Computes the statistics of the runs with a value at the rung. */
static struct spread values_at(const struct sweep_plan *p, const struct sweep_rungs *r, int rung) {
    double v[SWEEP_SEEDS];
    size_t n = 0;
    for (int k = 0; k < p->spec.seeds; k++)
        if (r->of[k].reached > rung && isfinite(r->of[k].value[rung])) v[n++] = r->of[k].value[rung];
    return spread_of(v, n);
}

void halving_tell(const struct sweep_plan *p, int cell, const struct side_by_side *c,
                  struct compared_group *g) {
    const struct sweep_rungs *r = p->entry[cell].rungs;
    struct buf b = BUF_INIT, line = BUF_INIT;
    int least = HALVING_RUNGS;
    bool paused = true;
    if (!r || !p->entry[cell].valid) return;
    for (int k = 0; k < p->spec.seeds; k++) {
        if (r->of[k].reached < least) least = r->of[k].reached;
        paused &= halving_is_paused(p, cell, k);
    }
    if (r->out || paused)
        g->status_text = xprintf("stopped at rung %d of %d", r->out ? r->level + 1 : least, HALVING_RUNGS);
    buf_putc(&b, '[');
    for (int rung = 0; rung < HALVING_RUNGS; rung++) {
        struct spread s = values_at(p, r, rung);
        g->rung[rung] = s.n ? s.mean : NAN;
        json_put(&b, "{step:%jd,n:%zu,mean:%g}", r->step[rung], s.n, g->rung[rung]);
        if (s.n)
            buf_printf(&line, "%smean %.2f at rung %d (step %lld, n %zu)", line.size ? ", " : "",
                       comparison_in_points(c, g->kind) ? 100 * s.mean : s.mean, rung + 1,
                       (long long)r->step[rung], s.n);
    }
    buf_putc(&b, ']');
    g->rungs = buf_take(&b);
    if (line.size) g->runged = buf_take(&line);
    buf_release(&line);
}

/* Plans the cells that train up to a rung and their steps; with cells of unequal length, the longest that
 * may remain. */
struct rung_plan {
    int cells;
    int64_t steps;
};
static void plan_rungs(const struct sweep_plan *p, struct rung_plan out[HALVING_RUNGS]) {
    struct ranked *r = xcalloc((size_t)p->cells.count + 1, sizeof *r);
    size_t n = 0;
    for (int i = 0; i < p->cells.count; i++)
        if (takes_part(p, i))
            r[n++] = (struct ranked){ .kind = p->entry[i].rungs->kind, .cell = i, .on = true };
    for (int k = 0; k < HALVING_RUNGS; k++) {
        out[k] = (struct rung_plan){ 0 };
        for (size_t i = 0; i < n; i++) {
            const struct sweep_rungs *x = p->entry[r[i].cell].rungs;
            int64_t steps = x->step[k] - (k ? x->step[k - 1] : 0);
            out[k].cells++;
            out[k].steps += steps * p->spec.seeds;
            r[i].value = k + 1 < HALVING_RUNGS ? (double)(x->step[k + 1] - x->step[k]) : 0;
        }
        mark_best(r, n);
        size_t on = 0;
        for (size_t i = 0; i < n; i++)
            if (r[i].on) r[on++] = r[i];
        n = on;
    }
    free(r);
}

double halving_share_of_steps(const struct sweep_plan *p) {
    struct rung_plan plan[HALVING_RUNGS];
    double steps = 0, all = 0;
    if (!p->spec.halving) return 1;
    plan_rungs(p, plan);
    for (int k = 0; k < HALVING_RUNGS; k++) steps += (double)plan[k].steps;
    for (int i = 0; i < p->cells.count; i++)
        if (takes_part(p, i)) all += (double)p->entry[i].rungs->step[HALVING_RUNGS - 1] * p->spec.seeds;
    return all > 0 ? steps / all : 1;
}

void halving_plan_json(const struct sweep_plan *p, struct buf *out) {
    struct rung_plan plan[HALVING_RUNGS];
    int64_t steps = 0;
    if (!p->spec.halving) return;
    plan_rungs(p, plan);
    json_open(out, "rungs", '[');
    for (int k = 0; k < HALVING_RUNGS; k++) {
        json_put(out, "{cells:%d,runs:%d,steps:%jd}", plan[k].cells, plan[k].cells * p->spec.seeds,
                 plan[k].steps);
        steps += plan[k].steps;
    }
    buf_putc(out, ']');
    json_member_int(out, "steps", steps);
}

void halving_plan_lines(const struct sweep_plan *p, struct buf *out) {
    static const char *const share[HALVING_RUNGS] = { "to 1/9 of the steps", "to 1/3", "to the end" };
    struct rung_plan plan[HALVING_RUNGS];
    int64_t steps = 0;
    if (!p->spec.halving) return;
    plan_rungs(p, plan);
    for (int k = 0; k < HALVING_RUNGS; k++) {
        buf_printf(out, "rung %d of %d, %s: %d cell%s, %d run%s, %lld steps\n", k + 1, HALVING_RUNGS,
                   share[k], plan[k].cells, plan[k].cells == 1 ? "" : "s", plan[k].cells * p->spec.seeds,
                   plan[k].cells * p->spec.seeds == 1 ? "" : "s", (long long)plan[k].steps);
        steps += plan[k].steps;
    }
    buf_printf(out, "at most %lld steps in total\n", (long long)steps);
}
