#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/train/meta/episodes.h"
#include "core/train/meta/meta_run.h"
#include "core/train/run/state.h"

bool best_offer(struct best *b, enum metric_id id, struct metric_value v, int64_t step) {
    struct metric_value old = { .value = b->value, .defined = b->has, .why = NULL };
    if (!metric_better(id, v, old)) return false;
    *b = (struct best){ true, v.value, step };
    return true;
}

int64_t evaluation_every(const struct run *r) {
    return r->meta ? meta_eval_every(r) : r->c.eval_every ? r->c.eval_every : sampler_epoch(r->sampler);
}

bool evaluation_due(const struct run *r) {
    if ((!r->splits && !r->meta) || (!r->step && !r->zero && !r->meta) || r->evaluated == r->step)
        return false;
    if (run_is_done(r) || !r->step || stage_is_over(r)) return true;
    return r->step % evaluation_every(r) == 0;
}

static int split_units(const struct run *r, const struct run_split *s) {
    return r->masking ? s->masked.chunks : r->text ? text_scoring_units(&s->text) : s->scoring.chunks;
}

int evaluation_prepare(struct run *r) {
    int units = 0;
    r->evaluating = evaluation_due(r);
    r->watch.now = watch_due(r);
    for (int t = 0; t < r->tasks; t++) r->of[t].samples.now = samples_due(r);
    if (r->evaluating && r->meta) units += EPISODES_HELD;
    for (int i = 0; r->evaluating && i < r->splits; i++) units += split_units(r, &r->split[i]);
    units += watch_chunks(r);
    units += samples_units(r);
    if (r->testing) units = split_units(r, &r->test[r->tested]);
    r->bad_chunk = -1;
    r->score_began = clock_seconds();
    step_make(r);
    return units;
}

/* A unit of a split, of the watched rows, or of the sampled ones. */
struct unit_place {
    int split; /* SPLIT_TEST; the run's splits: watched, one more: sampled */
    int unit;
};
static struct unit_place evaluate_place_of(const struct run *r, int index) {
    if (r->testing) return (struct unit_place){ SPLIT_TEST, index };
    int split = 0, splits = r->evaluating ? r->splits : 0;
    while (split < splits && index >= split_units(r, &r->split[split]))
        index -= split_units(r, &r->split[split++]);
    if (split < splits) return (struct unit_place){ split, index };
    int watched = watch_chunks(r);
    return index < watched ? (struct unit_place){ r->splits, index }
                           : (struct unit_place){ r->splits + 1, index - watched };
}

static struct run_split *split_at(const struct run *r, int split) {
    return split == SPLIT_TEST ? &r->test[r->tested] : &r->split[split];
}

static int64_t chunk_rows(const struct scoring *s, int chunk) {
    return (int64_t)s->first[chunk + 1] - s->first[chunk];
}

int64_t evaluation_rows(const struct run *r, int index) {
    if (r->meta) return 1;
    struct unit_place at = evaluate_place_of(r, index);
    if (at.split >= r->splits && r->evaluating) return 0; /* they come along with the scores */
    if (at.split > r->splits) return samples_rows(r, at.unit);
    if (at.split == r->splits) return watch_rows(r, at.unit);
    const struct run_split *s = split_at(r, at.split);
    if (r->masking) return masked_scoring_rows(&s->masked, at.unit);
    return r->text ? text_scoring_rows(&s->text, at.unit) : chunk_rows(&s->scoring, at.unit);
}

static bool evaluate_score(struct run *r, struct run_split *s, int unit, struct worker *w, uint64_t *bad) {
    struct attach *a = run_attach(r, w);
    const real *params = r->kept ? r->kept : r->params, *made = r->kept ? r->kept_made : r->made;
    if (r->masking)
        return masked_scoring_chunk(&s->masked, unit, w->tape, w->arena, a, r->m, params, made, bad);
    if (r->text) return text_scoring_unit(&s->text, unit, w->tape, w->arena, a, params, made, bad);
    return scoring_chunk(&s->scoring, unit, w->tape, w->arena, a, r->m, params, made, bad);
}

void evaluation_chunk(struct run *r, int index, struct worker *w) {
    if (r->meta) {
        meta_chunk(r, index, w);
        return;
    }
    struct unit_place at = evaluate_place_of(r, index);
    uint64_t bad = 0;
    if (at.split == r->splits) watch_chunk(r, at.unit, w);
    else if (at.split > r->splits) samples_unit(r, at.unit, w);
    if (at.split >= r->splits || evaluate_score(r, split_at(r, at.split), at.unit, w, &bad)) return;
    /* The first unit is named, whichever worker was quicker. */
    pthread_mutex_lock(&r->lock);
    if (r->bad_chunk < 0 || index < r->bad_chunk) {
        r->bad_chunk = index;
        r->bad_row = bad;
    }
    pthread_mutex_unlock(&r->lock);
}

static void evaluate_add_metric(struct event *e, const char *name, struct metric_value v) {
    if (e->metrics == EVENT_METRICS) return;
    e->metric[e->metrics++] = (struct event_metric){ name, v.value, v.defined ? NULL : v.why };
}

/* The metrics that a task of this kind has, "best"'s own first. */
static void add_metrics(struct event *e, const struct run *r, const struct run_task *of,
                        const struct metrics *m, const struct metric_value *tokens) {
    evaluate_add_metric(e, metric_name(of->metric), m->value[of->metric]);
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (id != (int)of->metric && metrics_have(m, (enum metric_id)id, of->task->gold))
            evaluate_add_metric(e, metric_name((enum metric_id)id), m->value[id]);
    }
    if (of->task->gold == DATA_CLASSES) evaluate_add_metric(e, "majority", m->majority);
    if (!r->text) return;
    evaluate_add_metric(e, "token_accuracy", *tokens);
    if (of->task->gold != DATA_TEXT)
        evaluate_add_metric(e, "invalid", (struct metric_value){ (double)m->invalid, true, NULL });
}

static void tell_split(struct run *r, const struct run_split *s, const struct metrics *m,
                       const struct metric_value *tokens, bool best) {
    const struct run_task *of = &r->of[s->task];
    bool test = s->dev == SPLIT_TEST;
    const struct dataset *d = test ? &of->task->test : &of->task->dev[s->dev];
    char rows[160];
    if (test)
        snprintf(rows, sizeof rows, "test %zu (%s step %lld)", d->rows,
                 r->kept ? "best checkpoint," : "values of", (long long)(r->kept ? r->kept_step : r->step));
    else if (d->split_rows > d->rows)
        snprintf(rows, sizeof rows, "%s %zu of %zu (seed 0)", of->task->dev_name[s->dev], d->rows,
                 d->split_rows);
    else snprintf(rows, sizeof rows, "%s %zu", of->task->dev_name[s->dev], d->rows);
    struct event e = { .kind = EVENT_EVALUATION,
                       .task = run_is_single(r) ? NULL : of->name,
                       .split = test ? "test" : task_split(of->task, s->dev),
                       .decides = !s->dev && run_is_single(r),
                       .rows = rows,
                       .stage = stage_decides(r) ? 0 : r->stage + 1,
                       .constant = m->constant,
                       .none_valid = m->rows && m->invalid == m->rows,
                       .best = best };
    add_metrics(&e, r, of, m, tokens);
    run_send(r, e);
}

/* ---- the average of several tasks ---- */

struct mean {
    double sum;
    int count, undefined;
};

/* Every metric from 0 to 1; an undefined one counts 0 and is counted. */
static void add_to_mean(struct mean *x, enum metric_id id, struct metric_value v) {
    double unit = id == METRIC_BLEU ? 100 : 1;
    bool defined = v.defined && isfinite(v.value);
    x->sum += defined ? v.value / unit : 0;
    x->undefined += !defined;
    x->count++;
}

/* What a task's first split adds to the average: its deciding metric, or all that are no loss. */
static void evaluate_add_task(struct mean *x, const struct run *r, const struct run_task *of,
                              const struct metrics *m) {
    if (r->c.average == AVERAGE_ONE) {
        add_to_mean(x, of->metric, m->value[of->metric]);
        return;
    }
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (metric_direction((enum metric_id)id) > 0 && metrics_have(m, (enum metric_id)id, of->task->gold))
            add_to_mean(x, (enum metric_id)id, m->value[id]);
    }
}

static void offer(struct run *r, bool best) {
    r->worse = best ? 0 : r->worse + 1;
    r->best_unsaved |= best && !run_keeps_each_best(r);
}

static void tell_average(struct run *r, const struct mean *x) {
    struct metric_value v = { x->sum / x->count, true, NULL };
    bool best = stage_decides(r) && best_offer(&r->best, METRIC_ACCURACY, v, r->step); /* greater is better */
    char rows[80];
    if (stage_decides(r)) offer(r, best);
    snprintf(rows, sizeof rows, "%d metrics of %d tasks%s", x->count, r->tasks,
             x->undefined ? ", undefined ones as 0" : "");
    struct event e = { .kind = EVENT_EVALUATION, .decides = true, .rows = rows, .best = best,
                       .stage = stage_decides(r) ? 0 : r->stage + 1 };
    evaluate_add_metric(&e, "average", v);
    if (x->undefined) evaluate_add_metric(&e, "undefined", (struct metric_value){ x->undefined, true, NULL });
    run_send(r, e);
}

/* ---- the end of an evaluation ---- */

static bool evaluate_all_finite(struct run *r) {
    if (r->bad_chunk < 0) return true;
    snprintf(r->failure, sizeof r->failure,
             "step %lld: evaluation: the logits of %s row %llu%s are not finite", (long long)r->step,
             r->testing ? "test" : "dev", (unsigned long long)r->bad_row + 1,
             r->text ? " or of one beside it" : "");
    return false;
}

/* Whether the deciding metric of the split's task is at its best. */
static bool offer_split(struct run *r, const struct run_split *s, const struct metrics *m) {
    struct run_task *of = &r->of[s->task];
    if (s->dev || !r->step || !stage_decides(r)) return false;
    bool best = best_offer(&of->best, of->metric, m->value[of->metric], r->step);
    if (run_is_single(r)) {
        r->best = of->best;
        offer(r, best);
    }
    of->best_unsaved |= best;
    return best;
}

/* All chunks are scored; metrics_release. */
static void evaluate_measure(struct run *r, struct run_split *s, struct metrics *m,
                             struct metric_value *tokens) {
    const struct task *t = r->of[s->task].task;
    *tokens = (struct metric_value){ 0 };
    if (r->masking) masked_scoring_metrics(&s->masked, m);
    else if (r->text) text_scoring_metrics(&s->text, t, m, tokens);
    else scoring_metrics(&s->scoring, t->positive, m);
}

static bool tell_test(struct run *r) {
    struct run_split *s = &r->test[r->tested];
    struct metrics m;
    struct metric_value tokens;
    if (!evaluate_all_finite(r)) return false;
    evaluate_measure(r, s, &m, &tokens);
    tell_split(r, s, &m, &tokens, false);
    metrics_release(&m);
    test_done(r);
    return true;
}

static bool tell_scores(struct run *r) {
    struct mean mean = { 0 };
    if (r->meta ? !meta_tell(r) : !evaluate_all_finite(r)) return false;
    for (int i = 0; i < r->splits; i++) {
        struct run_split *s = &r->split[i];
        struct metrics m;
        struct metric_value tokens;
        evaluate_measure(r, s, &m, &tokens);
        bool best = offer_split(r, s, &m);
        if (!s->dev) evaluate_add_task(&mean, r, &r->of[s->task], &m);
        tell_split(r, s, &m, &tokens, best);
        metrics_release(&m);
    }
    if (!run_is_single(r)) tell_average(r, &mean);
    r->evaluated = r->step;
    r->early = r->c.early_stop > 0 && r->worse >= r->c.early_stop && r->step < r->c.steps;
    pthread_mutex_lock(&r->lock);
    r->score_seconds = clock_seconds() - r->score_began;
    pthread_mutex_unlock(&r->lock);
    return true;
}

bool evaluation_finish(struct run *r) {
    if (r->testing) return tell_test(r);
    if (r->evaluating && !tell_scores(r)) return false;
    samples_finish(r);
    return !r->watch.now || watch_finish(r);
}
