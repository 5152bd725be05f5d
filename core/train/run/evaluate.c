#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/train/run/objective.h"

/* ---- the splits ---- */

void split_init(struct run *r, struct run_split *s, int task, int dev, const struct generate_options *how) {
    struct task *t = r->of[task].task;
    *s = (struct run_split){ .task = task, .dev = dev, .data = dev == SPLIT_TEST ? &t->test : &t->dev[dev] };
    r->objective.row->split_init(r, s, how);
}

void split_release(struct run_split *s) {
    scoring_release(&s->scoring);
    text_scoring_release(&s->text);
    masked_scoring_release(&s->masked);
}

int evaluation_init(struct run *r, struct err *e) {
    struct run_evaluation *x = &r->evaluation;
    const struct objective *o = r->objective.row;
    x->split = xcalloc((size_t)r->tasks * TASK_DEVS, sizeof *x->split);
    for (int i = 0; i < r->tasks; i++) {
        const struct task *t = r->of[i].task;
        struct generate_options how;
        if (o->open && o->open(r, i, &how, e)) return e->code;
        for (int k = 0; k < t->devs; k++) split_init(r, &x->split[x->splits++], i, k, &how);
        if (t->has_test) test_init(r, i, &how);
    }
    return 0;
}

void evaluation_release(struct run *r) {
    struct run_evaluation *x = &r->evaluation;
    for (int i = 0; i < x->splits; i++) split_release(&x->split[i]);
    free(x->split);
}

/* ---- schedule and units ---- */

bool best_offer(struct best *b, enum metric_id id, struct metric_value v, int64_t step) {
    struct metric_value old = { .value = b->value, .defined = b->has, .why = NULL };
    if (!metric_better(id, v, old)) return false;
    *b = (struct best){ true, v.value, step };
    return true;
}

int64_t evaluation_every(const struct run *r) { return r->objective.source->every(r); }
int64_t evaluation_examples(const struct run *r, int index) {
    return r->objective.source->unit_examples(r, index);
}
void evaluation_chunk(struct run *r, int index, struct worker *w) {
    r->objective.source->unit(r, index, w);
}

int64_t examples_every(const struct run *r) {
    return r->c.eval_every ? r->c.eval_every : sampler_epoch(r->order.sampler);
}

bool evaluation_due(const struct run *r) {
    const struct run_evaluation *x = &r->evaluation;
    bool starts = r->objective.source->starts;
    if ((!x->splits && !starts) || (!r->step && !x->zero && !starts) || x->evaluated == r->step) return false;
    if (run_is_done(r) || !r->step || stage_is_over(r)) return true;
    return r->step % evaluation_every(r) == 0;
}

int examples_units(const struct run *r) {
    int units = 0;
    for (int i = 0; i < r->evaluation.splits; i++)
        units += r->objective.row->split_units(&r->evaluation.split[i]);
    return units;
}

int evaluation_prepare(struct run *r) {
    struct run_evaluation *x = &r->evaluation;
    const struct run_final *f = &r->final;
    x->on = evaluation_due(r);
    r->watch.now = watch_due(r);
    for (int t = 0; t < r->tasks; t++) r->of[t].samples.now = samples_due(r);
    int units = x->on ? r->objective.source->units(r) : 0;
    units += watch_chunks(r);
    units += samples_units(r);
    if (f->on) units = r->objective.row->split_units(&f->test[f->tested]);
    x->bad_chunk = -1;
    x->began = clock_seconds();
    step_make(r);
    return units;
}

/* A unit of a split, of the embedded examples, or of the sampled ones. */
struct unit_place {
    int split; /* SPLIT_TEST; the number of splits: embedded examples; one more: sampled */
    int unit;
};
static struct unit_place evaluate_place_of(const struct run *r, int index) {
    const struct run_evaluation *x = &r->evaluation;
    int (*units)(const struct run_split *) = r->objective.row->split_units;
    if (r->final.on) return (struct unit_place){ SPLIT_TEST, index };
    int split = 0, splits = x->on ? x->splits : 0;
    while (split < splits && index >= units(&x->split[split])) index -= units(&x->split[split++]);
    if (split < splits) return (struct unit_place){ split, index };
    int watched = watch_chunks(r);
    return index < watched ? (struct unit_place){ x->splits, index }
                           : (struct unit_place){ x->splits + 1, index - watched };
}

static struct run_split *split_at(const struct run *r, int split) {
    return split == SPLIT_TEST ? &r->final.test[r->final.tested] : &r->evaluation.split[split];
}

int64_t examples_unit_examples(const struct run *r, int index) {
    const struct run_evaluation *x = &r->evaluation;
    struct unit_place at = evaluate_place_of(r, index);
    if (at.split >= x->splits && x->on) return 0; /* computed with the scores */
    if (at.split > x->splits) return samples_examples(r, at.unit);
    if (at.split == x->splits) return watch_examples(r, at.unit);
    return r->objective.row->split_examples(split_at(r, at.split), at.unit);
}

static bool evaluate_score(struct run *r, struct run_split *s, int unit, struct worker *w, uint64_t *bad) {
    const struct run_final *f = &r->final;
    const real *params = f->best_params ? f->best_params : r->values.params;
    const real *generated = f->best_params ? f->best_generated : r->values.generated;
    return r->objective.row->split_score(r, s, unit, w, run_attach(r, w), params, generated, bad);
}

void examples_unit(struct run *r, int index, struct worker *w) {
    struct run_evaluation *x = &r->evaluation;
    struct unit_place at = evaluate_place_of(r, index);
    uint64_t bad = 0;
    if (at.split == x->splits) watch_chunk(r, at.unit, w);
    else if (at.split > x->splits) samples_unit(r, at.unit, w);
    if (at.split >= x->splits || evaluate_score(r, split_at(r, at.split), at.unit, w, &bad)) return;
    /* Reports the first unit, regardless of the order of workers. */
    run_lock(r);
    if (x->bad_chunk < 0 || index < x->bad_chunk) {
        x->bad_chunk = index;
        x->bad_example = bad;
    }
    run_unlock(r);
}

void event_add_metric(struct event *e, const char *name, struct metric_value v) {
    if (e->metrics == EVENT_METRICS) return;
    e->metric[e->metrics++] = (struct event_metric){ name, v.value, v.defined ? NULL : v.why };
}

/* Appends the metrics for a task of this kind, the primary metric first. */
static void add_metrics(struct event *e, const struct run *r, const struct run_task *of,
                        const struct metrics *m, const struct metric_value *tokens) {
    event_add_metric(e, metric_name(of->metric), m->value[of->metric]);
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (id != (int)of->metric && metrics_have(m, (enum metric_id)id, of->task->label_kind))
            event_add_metric(e, metric_name((enum metric_id)id), m->value[id]);
    }
    if (of->task->label_kind == DATA_CLASSES) event_add_metric(e, "majority", m->majority);
    if (r->objective.row->metrics) r->objective.row->metrics(e, of->task, m, tokens);
}

static void tell_split(struct run *r, const struct run_split *s, const struct metrics *m,
                       const struct metric_value *tokens, bool best) {
    const struct run_task *of = &r->of[s->task];
    const struct run_final *f = &r->final;
    bool test = s->dev == SPLIT_TEST;
    const struct dataset *d = s->data;
    char rows[160];
    if (test)
        snprintf(rows, sizeof rows, "test %zu (%s step %lld)", d->examples,
                 f->best_params ? "best checkpoint," : "parameters of",
                 (long long)(f->best_params ? f->best_step : r->step));
    else if (d->split_examples > d->examples)
        snprintf(rows, sizeof rows, "%s %zu of %zu (seed 0)", of->task->dev_name[s->dev], d->examples,
                 d->split_examples);
    else snprintf(rows, sizeof rows, "%s %zu", of->task->dev_name[s->dev], d->examples);
    struct event e = { .kind = EVENT_EVALUATION,
                       .task = run_is_single(r) ? NULL : of->name,
                       .split = test ? "test" : task_split(of->task, s->dev),
                       .decides = !s->dev && run_is_single(r),
                       .examples = rows,
                       .stage = stage_decides(r) ? 0 : r->stages.now + 1,
                       .constant = m->constant,
                       .none_valid = m->examples && m->invalid == m->examples,
                       .best = best };
    add_metrics(&e, r, of, m, tokens);
    run_send(r, e);
}

/* ---- multi-task average ---- */

struct mean {
    double sum;
    int count, undefined;
};

/* Sum of metrics from 0 to 1, greater ones being better: of a loss, its exponential e^−loss. An undefined one counts
 * as 0 and is counted. */
static void add_to_mean(struct mean *x, enum metric_id id, struct metric_value v) {
    double unit = id == METRIC_BLEU ? 100 : 1;
    bool defined = v.defined && isfinite(v.value);
    if (defined && metric_direction(id) < 0) v.value = exp(-v.value);
    x->sum += defined ? v.value / unit : 0;
    x->undefined += !defined;
    x->count++;
}

/* Adds a task's first split to the average: its primary metric, or all metrics except losses. */
static void evaluate_add_task(struct mean *x, const struct run *r, const struct run_task *of,
                              const struct metrics *m) {
    if (r->c.average == AVERAGE_ONE) {
        add_to_mean(x, of->metric, m->value[of->metric]);
        return;
    }
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (metric_direction((enum metric_id)id) > 0 &&
            metrics_have(m, (enum metric_id)id, of->task->label_kind))
            add_to_mean(x, (enum metric_id)id, m->value[id]);
    }
}

static void offer(struct run *r, bool best) {
    r->evaluation.worse = best ? 0 : r->evaluation.worse + 1;
    r->evaluation.best_unsaved |= best && !run_keeps_each_best(r);
}

static void tell_average(struct run *r, const struct mean *x) {
    struct metric_value v = { x->sum / x->count, true, NULL };
    /* greater is better */
    bool best = stage_decides(r) && best_offer(&r->evaluation.best, METRIC_ACCURACY, v, r->step);
    char rows[80];
    if (stage_decides(r)) offer(r, best);
    snprintf(rows, sizeof rows, "%d metrics of %d tasks%s", x->count, r->tasks,
             x->undefined ? ", undefined as 0" : "");
    struct event e = { .kind = EVENT_EVALUATION, .decides = true, .examples = rows, .best = best,
                       .stage = stage_decides(r) ? 0 : r->stages.now + 1 };
    event_add_metric(&e, "average", v);
    if (x->undefined) event_add_metric(&e, "undefined", (struct metric_value){ x->undefined, true, NULL });
    run_send(r, e);
}

/* ---- results of an evaluation ---- */

bool examples_report(struct run *r) {
    const struct run_evaluation *x = &r->evaluation;
    if (x->bad_chunk < 0) return true;
    return run_fails(r, "step %lld: evaluation: NaN or infinite logits for %s example %llu%s",
                     (long long)r->step, r->final.on ? "test" : "validation",
                     (unsigned long long)x->bad_example + 1, r->objective.row->other_examples);
}

/* Returns whether the primary metric of the split's task improved. */
static bool offer_split(struct run *r, const struct run_split *s, const struct metrics *m) {
    struct run_task *of = &r->of[s->task];
    if (s->dev || !r->step || !stage_decides(r)) return false;
    bool best = best_offer(&of->best, of->metric, m->value[of->metric], r->step);
    if (run_is_single(r)) {
        r->evaluation.best = of->best;
        offer(r, best);
    }
    of->best_unsaved |= best;
    return best;
}

/* Sends the metrics of a completely scored split and adds them to the average; `mean` NULL: a test set, which
 * does not select a checkpoint. */
static void tell_scores_of(struct run *r, struct run_split *s, struct mean *mean) {
    const struct run_task *of = &r->of[s->task];
    struct metrics m;
    struct metric_value tokens = { 0 };
    r->objective.row->split_measure(s, of->task, &m, &tokens);
    bool best = mean && offer_split(r, s, &m);
    if (mean && !s->dev) evaluate_add_task(mean, r, of, &m);
    tell_split(r, s, &m, &tokens, best);
    metrics_release(&m);
}

static bool tell_test(struct run *r) {
    if (!examples_report(r)) return false;
    tell_scores_of(r, &r->final.test[r->final.tested], NULL);
    test_done(r);
    return true;
}

static bool tell_scores(struct run *r) {
    struct run_evaluation *x = &r->evaluation;
    struct mean mean = { 0 };
    if (!r->objective.source->report(r)) return false;
    for (int i = 0; i < x->splits; i++) tell_scores_of(r, &x->split[i], &mean);
    if (!run_is_single(r)) tell_average(r, &mean);
    x->evaluated = r->step;
    x->early = r->c.early_stop > 0 && x->worse >= r->c.early_stop && r->step < r->c.steps;
    run_lock(r);
    x->seconds = clock_seconds() - x->began;
    run_unlock(r);
    return true;
}

int evaluation_finish(struct run *r) {
    if (r->final.on) return tell_test(r);
    if (r->evaluation.on && !tell_scores(r)) return false;
    samples_finish(r);
    return !r->watch.now || watch_finish(r);
}
