/* Diagnostics from the training points: loss, learning rate, gradient norm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"

enum { RATE_FAR = 30,      /* factor above or below the method's default learning rate */
       STEPS_TO_TELL = 100, /* fewer steps are not informative */
       STILL_STEPS = 100,  /* without a gradient */
       SPIKE = 10,         /* factor above the median */
       SPIKE_BEFORE = 20 };

static double usual_rate(const struct why_run *r) {
    bool adam = r->config.optimizer == OPTIMIZER_ADAMW;
    return adam && !config_is_meta(&r->config) ? config_default_lr(&r->config.method, NULL) : 0;
}

/* "3,333" of 10 and 0.003. */
static void times_text(double ratio, char out[32]) {
    if (ratio >= 100 && ratio < 1e15) text_thousands((int64_t)llround(ratio), out);
    else snprintf(out, 32, "%.3g", ratio);
}

/* Finds the highest value, and the lowest before it. */
static bool rise(const struct why_curve *c, size_t *low, size_t *high) {
    *high = 0;
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->value[i]) && (!isfinite(c->value[*high]) || c->value[i] > c->value[*high])) *high = i;
    *low = 0;
    for (size_t i = 0; i < *high; i++)
        if (isfinite(c->value[i]) && c->value[i] < c->value[*low]) *low = i;
    return c->count > 1 && *high > *low && isfinite(c->value[*low]) && isfinite(c->value[*high]);
}

static void rate_high(const struct why_run *r, struct why *w) {
    double own = usual_rate(r), ratio = own > 0 ? r->config.lr / own : 0;
    size_t low, high;
    char times[32];
    if (ratio < RATE_FAR || !r->loss.count) return;
    bool fell = why_last(&r->loss) < 0.9 * r->loss.value[0] && r->run->state != STORE_FAILED;
    if (fell) return;
    times_text(ratio, times);
    struct buf b = BUF_INIT;
    buf_printf(&b, "learning rate %g is %s times the default of this method (%g)", r->config.lr, times, own);
    if (rise(&r->loss, &low, &high))
        buf_printf(&b, "; the loss rose from %.3g to %.3g in %lld steps", r->loss.value[low],
                   r->loss.value[high], (long long)(r->loss.step[high] - r->loss.step[low]));
    why_add(w, "rate-high", buf_take(&b), "rate", r->config.lr, "own", own, "ratio", ratio, NULL);
}

static void rate_low(const struct why_run *r, struct why *w) {
    double own = usual_rate(r), ratio = own > 0 && r->config.lr > 0 ? own / r->config.lr : 0;
    double first = why_first(&r->loss), last = why_last(&r->loss);
    char times[32];
    if (ratio < RATE_FAR || r->loss.count < STEPS_TO_TELL / 5 || last < 0.95 * first) return;
    times_text(ratio, times);
    why_add(w, "rate-low",
            xprintf("learning rate %g is 1/%s of the default of this method (%g), and the loss went from "
                    "%.4g to %.4g",
                    r->config.lr, times, own, first, last),
            "rate", r->config.lr, "own", own, "ratio", 1 / ratio, "first", first, "last", last, NULL);
}

static void loss_rose(const struct why_run *r, struct why *w) {
    double first = why_first(&r->loss), last = why_last(&r->loss);
    size_t low, high;
    if (!(last >= 2 * first) || first <= 0 || !rise(&r->loss, &low, &high)) return;
    why_add(w, "loss-rose",
            xprintf("the training loss rose: from %.3g to %.3g, with a maximum of %.3g (step %lld)",
                    first, last, r->loss.value[high], (long long)r->loss.step[high]),
            "first", first, "last", last, "highest", r->loss.value[high], "step", (double)r->loss.step[high],
            NULL);
}

static void ran_away(const struct why_run *r, struct why *w) {
    const char *reason = r->run->reason;
    if (r->run->state != STORE_FAILED || !reason) return;
    if (!strstr(reason, "the loss is ") && !strstr(reason, "the gradient is ")) return;
    why_add(w, "diverged",
            xprintf("training diverged at learning rate %g with %s%s: %s", r->config.lr,
                    r->config.clip > 0 ? "clipped gradients" : "unclipped gradients",
                    r->config.precision == PRECISION_BF16
                        ? " in bf16 (try --precision f32 to rule it out)"
                        : "",
                    reason),
            "step", (double)r->run->step, "rate", r->config.lr, "clip", r->config.clip, NULL);
}

static void not_learning(const struct why_run *r, struct why *w) {
    double first = why_first(&r->loss), last = why_last(&r->loss);
    if (r->loss.count < STEPS_TO_TELL || !(last >= 0.99 * first) || last >= 2 * first || first <= 0) return;
    why_add(
        w, "not-learning",
        xprintf("the training loss did not decrease: %.4g at the start, %.4g at the end (means of a tenth of "
                "%zu steps each)",
                first, last, r->loss.count),
        "first", first, "last", last, "steps", (double)r->loss.count, NULL);
}

/* Returns the loss of guessing among the classes, for runs on one task with classes. */
static void guessing(const struct why_run *r, struct why *w) {
    int classes = r->tasks == 1 && r->task[0].train ? r->task[0].train->classes : 0;
    double last = why_last(&r->loss), guess = log(classes > 1 ? classes : 1);
    if (r->loss.count < STEPS_TO_TELL || classes < 2 || r->config.form == FORM_TEXT ||
        fabs(last - guess) > 0.01 * guess)
        return;
    why_add(w, "guessing",
            xprintf("the training loss ends at %.4g, the loss of guessing among %d classes (ln %d = %.4g)",
                    last, classes, classes, guess),
            "last", last, "guess", guess, "classes", (double)classes, NULL);
}

static int curve_by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *v, size_t n) {
    double *sorted = xcalloc(n + 1, sizeof *sorted), middle;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) sorted[count++] = v[i];
    qsort(sorted, count, sizeof *sorted, curve_by_value);
    middle = count ? sorted[count / 2] : NAN;
    free(sorted);
    return middle;
}

static void spike(const struct why_run *r, struct why *w) {
    const struct why_curve *c = &r->loss;
    size_t at = 0;
    double most = 0, usual_there = 0;
    for (size_t i = SPIKE_BEFORE; i + SPIKE_BEFORE < c->count; i++) {
        if (!isfinite(c->value[i]) || c->value[i] < 1 || c->value[i] <= most) continue;
        double usual = median_of(c->value + i - SPIKE_BEFORE, SPIKE_BEFORE);
        double after = median_of(c->value + i + 1, SPIKE_BEFORE);
        if (!(c->value[i] >= SPIKE * usual) || !(after < c->value[i] / 2)) continue;
        at = i;
        most = c->value[i];
        usual_there = usual;
    }
    if (!at) return;
    why_add(w, "spike",
            xprintf("the training loss spiked to %.3g at step %lld, from a median of %.3g, and recovered",
                    most, (long long)c->step[at], usual_there),
            "step", (double)c->step[at], "loss", most, "usual", usual_there, NULL);
}

static void clipped(const struct why_run *r, struct why *w) {
    size_t over = 0;
    double clip = r->config.clip, middle = median_of(r->norm.value, r->norm.count);
    if (clip <= 0 || r->norm.count < 20 || !(middle >= 10 * clip)) return;
    for (size_t i = 0; i < r->norm.count; i++) over += r->norm.value[i] > clip;
    double share = (double)over / (double)r->norm.count;
    if (share < 0.95 || why_last(&r->loss) < 0.9 * why_first(&r->loss)) return; /* it learns nevertheless */
    why_add(w, "clipped",
            xprintf("gradients were clipped to %g in %.0f%% of the steps; their median norm was %.3g", clip,
                    100 * share, middle),
            "clip", clip, "share", share, "norm", middle, NULL);
}

static void no_gradient(const struct why_run *r, struct why *w) {
    size_t streak = 0, most = 0, end = 0;
    for (size_t i = 0; i < r->norm.count; i++) {
        streak = r->norm.value[i] == 0 ? streak + 1 : 0;
        if (streak > most) most = streak, end = i;
    }
    if (most < STILL_STEPS) return;
    why_add(w, "no-gradient",
            xprintf("the gradient was exactly zero for %zu steps, up to step %lld: no parameter was trained",
                    most, (long long)r->norm.step[end]),
            "steps", (double)most, "to", (double)r->norm.step[end], NULL);
}

static void points_not_finite(const struct why_run *r, struct why *w) {
    size_t bad = 0, first = 0;
    for (size_t i = 0; i < r->loss.count; i++)
        if (!isfinite(r->loss.value[i]) && !bad++) first = i;
    if (!bad) return;
    why_add(w, "points-not-finite",
            xprintf("%zu of %zu points of the training loss are not finite, the first at step %lld",
                    bad, r->loss.count, (long long)r->loss.step[first]),
            "points", (double)bad, "of", (double)r->loss.count, "step", (double)r->loss.step[first], NULL);
}

why_rule *const why_curve_rules[WHY_CURVE_KINDS + 1] = { rate_high,    rate_low,          loss_rose, ran_away,
                                                         not_learning, guessing,          spike,     clipped,
                                                         no_gradient,  points_not_finite, NULL };
