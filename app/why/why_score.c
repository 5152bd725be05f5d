/* Diagnostics from the evaluations. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/metrics.h"

enum { FEW_ROWS = 100, PART_OF_DEV = 4, ENOUGH = 5 /* evaluations, for a trend */ };

static const struct why_eval *last_of(const struct why_task *t) {
    return t->evals ? &t->eval[t->evals - 1] : NULL;
}

static bool greater_is_better(const struct why_task *t) {
    int id = t->metric ? metric_find(t->metric) : -1;
    return id >= 0 && metric_direction((enum metric_id)id) > 0;
}

/* Returns the best value by the metric's direction. */
static const struct why_eval *best_of(const struct why_task *t) {
    const struct why_eval *best = NULL;
    double sign = greater_is_better(t) ? 1 : -1;
    for (int i = 0; i < t->evals; i++) {
        const struct why_eval *e = &t->eval[i];
        if (!e->has_value || !isfinite(e->value) || !e->step) continue;
        if (!best || sign * e->value > sign * best->value) best = e;
    }
    return best;
}

static char *which_rows(const struct why_task *t) {
    return t->rows ? xprintf("%lld %s examples", (long long)t->rows, t->split) : xstrdup(t->split);
}

static void one_class(const struct why_run *r, const struct why_task *t, struct why *w) {
    int from = t->evals;
    (void)r;
    while (from > 0 && t->eval[from - 1].constant) from--;
    if (t->evals - from < 2) return;
    char *of = why_of_task(t), *rows = which_rows(t);
    why_add(w, "one-class",
            xprintf("%spredicts one class only since step %lld (%d evaluations on %s)", of,
                    (long long)t->eval[from].step, t->evals - from, rows),
            "step", (double)t->eval[from].step, "evaluations", (double)(t->evals - from), "rows",
            (double)t->rows, NULL);
    free(of), free(rows);
}

static void no_better(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *best = best_of(t), *last = last_of(t);
    (void)r;
    if (!t->metric || strcmp(t->metric, "accuracy") || !best || !isfinite(t->majority) ||
        best->value > t->majority || last->constant)
        return;
    char *of = why_of_task(t), *rows = which_rows(t);
    why_add(
        w, "no-better",
        xprintf(
            "%sthe best accuracy %.4f is not above the majority baseline %.4f (%s)",
            of, best->value, t->majority, rows),
        "best", best->value, "majority", t->majority, "rows", (double)t->rows, NULL);
    free(of), free(rows);
}

static void few_rows(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *best = best_of(t);
    (void)r;
    if (!t->rows || t->rows >= FEW_ROWS || !best) return;
    char *of = why_of_task(t),
         *rows = xprintf("%lld %s example%s", (long long)t->rows, t->split, t->rows == 1 ? "" : "s");
    double half = 1.96 * why_share_error(best->value, t->rows);
    if (why_is_share(t->metric))
        why_add(w, "few-rows",
                xprintf("%s%s: \u00B1 %.0f percentage points (95%% CI)", of, rows,
                        100 * half),
                "rows", (double)t->rows, "half_width", half, NULL);
    else
        why_add(w, "few-rows",
                xprintf("%sevaluated on %s: each is %.1f%% of the score", of, rows, 100.0 / (double)t->rows),
                "rows", (double)t->rows, "share", 1.0 / (double)t->rows, NULL);
    free(of), free(rows);
}

/* Returns the share of the last outputs that name no class, which renaming classes cannot fix. */
static double no_class(const struct why_task *t) {
    return t->rows && t->invalid > 0 ? t->invalid / (double)t->rows : 0;
}

/* With two classes, exchanging their names turns accuracy into its complement and negates Matthews'
 * coefficient. */
static void swapped(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *last = last_of(t);
    int classes = t->train ? t->train->classes : 0;
    (void)r;
    if (!last || !last->has_value || !isfinite(last->value) || classes != 2 || t->rows < 20) return;
    bool accuracy = !strcmp(t->metric, "accuracy"), matthews = !strcmp(t->metric, "matthews");
    double other = accuracy ? 1 - last->value - no_class(t) : -last->value;
    double far = (accuracy ? 0.5 : 0) - 3 * why_share_error(0.5, t->rows) * (accuracy ? 1 : 2);
    if (!(accuracy || matthews) || last->value > far) return;
    if (accuracy && (other < 1 - far || (isfinite(t->majority) && last->value >= 1 - t->majority))) return;
    char *of = why_of_task(t), *rows = which_rows(t);
    why_add(w, "swapped",
            xprintf("%sthe labels seem to be swapped: %s is %.2f, and %.2f with them exchanged (%s)", of,
                    t->metric, last->value, other, rows),
            "here", last->value, "exchanged", other, "rows", (double)t->rows, NULL);
    free(of), free(rows);
}

/* With three classes or more, a model that learned other class names is correct less often than the rarest
 * class occurs. */
static void misnamed(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *last = last_of(t);
    const struct report_facts *dev = t->dev;
    double least = 1, all = 0;
    (void)r;
    if (!last || !last->has_value || !isfinite(last->value) || !t->metric || strcmp(t->metric, "accuracy") ||
        t->rows < 20)
        return;
    for (int i = 0; dev && i < dev->classes; i++) all += (double)dev->class_examples[i];
    for (int i = 0; dev && i < dev->classes; i++) least = fmin(least, (double)dev->class_examples[i] / all);
    if (!dev || dev->classes < 3 || !(all > 0) ||
        last->value + no_class(t) > least - 3 * why_share_error(least, t->rows))
        return;
    char *of = why_of_task(t), *rows = which_rows(t);
    why_add(w, "misnamed",
            xprintf("%sthe class names seem to be exchanged: accuracy %.2f is below that of always "
                    "predicting the rarest of %d classes (%.2f; %s)",
                    of, last->value, dev->classes, least, rows),
            "here", last->value, "rarest", least, "classes", (double)dev->classes, "rows", (double)t->rows,
            NULL);
    free(of), free(rows);
}

/* Its score is not comparable with that of a run evaluated on all examples. */
static void part_of_dev(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *best = best_of(t);
    (void)r;
    if (!best || !t->dev || !t->rows || PART_OF_DEV * t->rows >= (int64_t)t->dev->split_examples) return;
    char *of = why_of_task(t), all[32], scored[32];
    text_thousands((int64_t)t->dev->split_examples, all);
    text_thousands(t->rows, scored);
    why_add(w, "part-of-dev",
            xprintf("%sevaluated on %s of %s validation examples: not ranked with runs that were evaluated "
                    "on all of them",
                    of, scored, all),
            "rows", (double)t->rows, "of", (double)t->dev->split_examples, NULL);
    free(of);
}

static void overfit(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *least = NULL, *last = last_of(t), *best = best_of(t);
    for (int i = 0; i < t->evals; i++)
        if (t->eval[i].has_loss && isfinite(t->eval[i].loss) && t->eval[i].step &&
            (!least || t->eval[i].loss < least->loss))
            least = &t->eval[i];
    if (!least || t->evals < 4 || !isfinite(last->loss) || last->loss < 1.5 * least->loss ||
        last->loss < least->loss + 0.1)
        return;
    if (!(why_last(&r->loss) < why_first(&r->loss)) || !best || last == best) return;
    char *of = why_of_task(t);
    why_add(
        w, "overfit",
        xprintf(
            "%sthe %s loss was lowest at step %lld (%.3f) and is %.3f at the end, while the training loss "
            "fell from %.3f to %.3f",
            of, t->split, (long long)least->step, least->loss, last->loss, why_first(&r->loss),
            why_last(&r->loss)),
        "step", (double)least->step, "least", least->loss, "last", last->loss, "train_first",
        why_first(&r->loss), "train_last", why_last(&r->loss), NULL);
    free(of);
}

/* Returns whether a is better than b by more than chance over so many examples. */
static bool clearly_better(const struct why_task *t, const struct why_eval *a, const struct why_eval *b) {
    if (!why_is_share(t->metric) || !t->rows) return false;
    double error = why_share_error(b->value, t->rows);
    return a->value - b->value > 2 * sqrt(2) * error;
}

static void still_rising(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *best = best_of(t), *last = last_of(t);
    if (t->evals < ENOUGH || best != last || r->run->state != STORE_FINISHED) return;
    const struct why_eval *before = &t->eval[t->evals - 1 - (t->evals - 1) / 4];
    if (before == last) before = &t->eval[t->evals - 2];
    if (!before->has_value || !clearly_better(t, last, before)) return;
    char *of = why_of_task(t);
    why_add(
        w, "still-rising",
        xprintf("%sstill improving: %s %.4f at the last evaluation, %.4f at step %lld; try more steps",
                of, t->metric, last->value, before->value, (long long)before->step),
        "last", last->value, "before", before->value, "step", (double)before->step, NULL);
    free(of);
}

static void best_first(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *best = best_of(t), *last = last_of(t);
    const struct why_eval *first = NULL;
    (void)r;
    for (int i = 0; i < t->evals && !first; i++)
        if (t->eval[i].step && t->eval[i].has_value) first = &t->eval[i];
    if (t->evals < ENOUGH || !best || best != first || !clearly_better(t, best, last)) return;
    char *of = why_of_task(t);
    why_add(w, "best-first",
            xprintf("%sno improvement after the first evaluation: %s %.4f at step %lld, %.4f at the end", of,
                    t->metric, best->value, (long long)best->step, last->value),
            "best", best->value, "step", (double)best->step, "last", last->value, NULL);
    free(of);
}

static void score_undefined(const struct why_run *r, const struct why_task *t, struct why *w) {
    int none = 0;
    const char *reason = NULL;
    (void)r;
    for (int i = 0; i < t->evals; i++)
        if (t->eval[i].undefined) none++, reason = t->eval[i].undefined;
    if (!none) return;
    char *of = why_of_task(t);
    why_add(w, "undefined",
            xprintf("%s%s is undefined at %d of %d evaluations: %s", of, t->metric, none, t->evals, reason),
            "evaluations", (double)none, "of", (double)t->evals, NULL);
    free(of);
}

static void invalid_answers(const struct why_run *r, const struct why_task *t, struct why *w) {
    double share = t->rows ? t->invalid / (double)t->rows : NAN;
    (void)r;
    if (!(share >= 0.2)) return;
    char *of = why_of_task(t);
    why_add(w, "invalid-answers",
            xprintf("%s%.0f%% of the outputs of the last evaluation do not name a class (%.0f of %lld)", of,
                    100 * share, t->invalid, (long long)t->rows),
            "invalid", t->invalid, "rows", (double)t->rows, NULL);
    free(of);
}

static void below_dev(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct why_eval *best = best_of(t);
    (void)r;
    if (!best || !isfinite(t->test) || !why_is_share(t->metric) || !t->rows) return;
    double gap = best->value - t->test, error = why_share_error(best->value, t->rows);
    if (gap <= 3 * error) return;
    char *of = why_of_task(t);
    why_add(w, "below-dev",
            xprintf("%s%s is %.4f on the test set and %.4f on %s, where it is the best of %d evaluations", of,
                    t->metric, t->test, best->value, t->split, t->evals),
            "test", t->test, "dev", best->value, "evaluations", (double)t->evals, NULL);
    free(of);
}

why_task_rule *const why_score_rules[WHY_SCORE_KINDS + 1] = {
    one_class,    no_better,  few_rows,        part_of_dev,     swapped,   misnamed, overfit,
    still_rising, best_first, score_undefined, invalid_answers, below_dev, NULL
};
