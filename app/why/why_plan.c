/* Diagnostics from the planned and completed amount of training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/config/sampling.h"

enum { PASSES = 100, EARLY_SHARE = 4, APART_POINTS = 10, MANY_TRIES = 10 };

/* Returns the number of training examples; 0: unknown, or none (episodes draw tasks). */
static double train_rows(const struct why_run *r) {
    double rows = 0;
    if (config_is_meta(&r->config)) return 0;
    for (int i = 0; i < r->tasks; i++) {
        if (!r->task[i].train) return 0;
        rows += (double)r->task[i].train->examples;
    }
    return rows;
}

/* Returns whether the sampler iterates over epochs, whose last step may be smaller
 * (core/train/config/sampling.h). */
static bool in_passes(const struct why_run *r) {
    return config_sampling(&r->config).rule == SAMPLING_PROPORTIONAL;
}

/* Returns the number of epochs, on average when tasks are sampled. */
static double passes(const struct why_run *r) {
    double rows = train_rows(r), batch = r->config.batch, steps = (double)r->run->step;
    if (rows <= 0 || batch < 1) return 0;
    if (!in_passes(r)) return steps * batch / rows;
    double a_pass = ceil(rows / batch), whole = floor(steps / a_pass);
    return whole + (steps - whole * a_pass) * batch / rows;
}

static bool plan_is_over(const struct why_run *r) { return !store_state_is_live(r->run->state); }

static void part_of_rows(const struct why_run *r, struct why *w) {
    double rows = train_rows(r), over = passes(r);
    char seen[32], all[32];
    if (rows <= 0 || over <= 0 || over >= 0.5 || r->run->state != STORE_FINISHED || r->config.early_stop)
        return;
    text_thousands(llround(over * rows), seen);
    text_thousands((int64_t)rows, all);
    why_add(
        w, "part-of-rows",
        xprintf("trained on at most %s of %s training examples (%.0f%%): %lld step%s \u00D7 batch size %d",
                seen, all, 100 * over, (long long)r->run->step, r->run->step == 1 ? "" : "s",
                r->config.batch),
        "seen", (double)llround(over * rows), "rows", rows, "steps", (double)r->run->step, NULL);
}

static void many_passes(const struct why_run *r, struct why *w) {
    double over = passes(r);
    if (over < PASSES) return;
    char rows[32];
    text_thousands((int64_t)train_rows(r), rows);
    why_add(w, "many-passes",
            xprintf("%.0f epochs over %s training examples%s", over, rows,
                    in_passes(r) ? "" : " (averaged over its tasks)"),
            "rows", train_rows(r), "passes", over, NULL);
}

static void batch_beyond_rows(const struct why_run *r, struct why *w) {
    double rows = train_rows(r);
    if (rows <= 0 || r->config.batch <= rows || !in_passes(r)) return;
    why_add(w, "batch-beyond-rows",
            xprintf("the batch size %d is above the %.0f training example%s: each step is a full epoch",
                    r->config.batch, rows, rows == 1 ? "" : "s"),
            "batch", (double)r->config.batch, "rows", rows, NULL);
}

static void long_warmup(const struct why_run *r, struct why *w) {
    double steps = (double)config_warmup_steps(&r->config, r->run->steps), of = (double)r->run->steps;
    if (of <= 0 || steps < 0.5 * of) return;
    why_add(w, "long-warmup",
            xprintf("%.0f of %.0f steps are warm-up: the learning rate reaches its peak at %.0f%% of the run",
                    steps, of, 100 * steps / of),
            "warmup", steps, "steps", of, NULL);
}

static void unfinished(const struct why_run *r, struct why *w) {
    double rate = r->last_rate;
    const struct store_run *x = r->run;
    if (!plan_is_over(r) || x->state == STORE_FINISHED || x->state == STORE_FAILED || x->step >= x->steps ||
        !x->step)
        return;
    struct buf b = BUF_INIT;
    buf_printf(&b, "ended at step %lld of %lld", (long long)x->step, (long long)x->steps);
    if (r->config.lr > 0 && isfinite(rate) && x->step > config_warmup_steps(&r->config, x->steps))
        buf_printf(&b, "; the learning rate was still at %.0f%% of its peak", 100 * rate / r->config.lr);
    why_add(w, "unfinished", buf_take(&b), "step", (double)x->step, "steps", (double)x->steps, "rate", rate,
            NULL);
}

static void stopped_early(const struct why_run *r, struct why *w) {
    const struct store_run *x = r->run;
    if (x->state != STORE_FINISHED || !r->config.early_stop || x->step * EARLY_SHARE > x->steps) return;
    why_add(w, "stopped-early",
            xprintf("early stopping at step %lld of %lld: %s did not improve for %d evaluations",
                    (long long)x->step, (long long)x->steps, *x->metric ? x->metric : "score",
                    r->config.early_stop),
            "step", (double)x->step, "steps", (double)x->steps, "evaluations", (double)r->config.early_stop,
            NULL);
}

static void plan_differs(const struct why_run *r, struct why *w) {
    if (!r->differs) return;
    why_add(w, "differs",
            xprintf("%lld point%s differed after resuming: another machine, kernel or version",
                    (long long)r->differs, r->differs == 1 ? "" : "s"),
            "points", (double)r->differs, NULL);
}

static void why_plan_seeds(const struct why_run *r, struct why *w) {
    const struct why_seeds *x = &r->seeds;
    const struct why_task *t = &r->task[0];
    double points = 100 * (x->high - x->low);
    if (x->seeds < 2 || r->tasks != 1 || !why_is_share(t->metric) || points < APART_POINTS - 1e-9) return;
    if (t->rows && x->high - x->low <= 2 * sqrt(2) * why_share_error(x->low, t->rows))
        return; /* sampling error of the examples */
    why_add(
        w, "seeds-apart",
        xprintf(
            "%lld seeds of this run differ by %.0f percentage points, %s %.4f to %.4f (mean %.4f): one seed "
            "is not representative",
            (long long)x->seeds, points, t->metric, x->low, x->high, x->mean),
        "seeds", (double)x->seeds, "low", x->low, "high", x->high, "mean", x->mean, NULL);
}

/* A score that was used for selection is optimistic. */
static void best_of_many(const struct why_run *r, struct why *w) {
    if (r->tries < MANY_TRIES || isfinite(r->task[0].test)) return;
    why_add(w, "best-of-many",
            xprintf("best of %lld runs of its method, selected on the same validation set: the estimate is "
                    "optimistic; use a test set",
                    (long long)r->tries),
            "runs", (double)r->tries, NULL);
}

/* Repeated runs. */
static void repeat(const struct why_run *r, struct why *w) {
    if (!r->repeats) return;
    char *text =
        r->repeats_differ
            ? xprintf("same configuration, seed and data as run %lld, but different weights (another "
                      "processor or version of petri): only the newest is used in means",
                      (long long)r->repeats)
            : xprintf("repeats run %lld: identical configuration, seed%s; they are used once in means",
                      (long long)r->repeats, r->run->weights_sha256 ? ", data and weights" : " and data");
    why_add(w, "repeat", text, "run", (double)r->repeats, "weights_differ", (double)r->repeats_differ, NULL);
}

/* Parameters of another run, possibly of another task. */
static void begun_elsewhere(const struct why_run *r, struct why *w) {
    const struct method *m = &r->config.method;
    for (int i = 0; i < m->count; i++) {
        if (!m->module[i].from_run) continue;
        why_add(w, "begun-elsewhere",
                xprintf("module %d was initialized from run %d: the steps of this run do not include "
                        "its training there",
                        i + 1, m->module[i].from_run),
                "module", i + 1.0, "run", (double)m->module[i].from_run, NULL);
    }
}

why_rule *const why_plan_rules[WHY_PLAN_KINDS + 1] = { part_of_rows, many_passes,     batch_beyond_rows,
                                                       long_warmup,  unfinished,      stopped_early,
                                                       plan_differs, why_plan_seeds,  best_of_many,
                                                       repeat,       begun_elsewhere, NULL };
