#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/train/state.h"

bool best_offer(struct best *b, enum metric_id id, struct metric_value v, int64_t step) {
    struct metric_value old = { .value = b->value, .defined = b->has, .why = NULL };
    if (!metric_better(id, v, old)) return false;
    *b = (struct best){ true, v.value, step };
    return true;
}

bool evaluation_due(const struct run *r) {
    if (!r->task->devs || !r->step || r->evaluated == r->step) return false;
    if (r->step >= r->c.steps) return true;
    int64_t every = r->c.eval_every ? r->c.eval_every : r->per_epoch;
    return r->step % every == 0;
}

static int split_units(const struct run *r, int split) {
    return r->text ? text_scoring_units(&r->text_scoring[split]) : r->scoring[split].chunks;
}

int evaluation_prepare(struct run *r) {
    int units = 0;
    r->evaluating = evaluation_due(r);
    r->watch.now = watch_due(r);
    r->samples.now = samples_due(r);
    for (int i = 0; r->evaluating && i < r->task->devs; i++) units += split_units(r, i);
    if (r->watch.now) units += r->watch.scoring.chunks;
    if (r->samples.now) units += text_scoring_units(&r->samples.scoring);
    r->bad_chunk = -1;
    r->score_began = clock_seconds();
    step_make(r);
    return units;
}

/* A unit of a split, of the watched rows, or of the sampled ones. */
struct place {
    int split; /* TASK_DEVS: watched, TASK_DEVS + 1: sampled */
    int unit;
};
static struct place place_of(const struct run *r, int index) {
    int split = 0, splits = r->evaluating ? r->task->devs : 0;
    while (split < splits && index >= split_units(r, split)) index -= split_units(r, split++);
    if (split < splits) return (struct place){ split, index };
    int watched = r->watch.now ? r->watch.scoring.chunks : 0;
    return index < watched ? (struct place){ TASK_DEVS, index } : (struct place){ TASK_DEVS + 1, index - watched };
}

int64_t evaluation_rows(const struct run *r, int index) {
    struct place at = place_of(r, index);
    if (at.split >= TASK_DEVS && r->evaluating) return 0; /* they come along with the scores */
    if (at.split > TASK_DEVS) return text_scoring_rows(&r->samples.scoring, at.unit);
    if (at.split < TASK_DEVS && r->text) return text_scoring_rows(&r->text_scoring[at.split], at.unit);
    const struct scoring *s = at.split == TASK_DEVS ? &r->watch.scoring : &r->scoring[at.split];
    return (int64_t)s->first[at.unit + 1] - s->first[at.unit];
}

static bool score(struct run *r, int split, int unit, struct worker *w, uint64_t *bad) {
    struct attach *a = run_attach(r, w);
    if (r->text)
        return text_scoring_unit(&r->text_scoring[split], unit, w->tape, w->arena, a, r->params, r->made,
                                 bad);
    return scoring_chunk(&r->scoring[split], unit, w->tape, w->arena, a, r->m, r->params, r->made, bad);
}

void evaluation_chunk(struct run *r, int index, struct worker *w) {
    struct place at = place_of(r, index);
    uint64_t bad = 0;
    if (at.split == TASK_DEVS) watch_chunk(r, at.unit, w);
    else if (at.split > TASK_DEVS) samples_unit(r, at.unit, w);
    if (at.split >= TASK_DEVS || score(r, at.split, at.unit, w, &bad)) return;
    /* The first unit is named, whichever worker was quicker. */
    pthread_mutex_lock(&r->lock);
    if (r->bad_chunk < 0 || index < r->bad_chunk) {
        r->bad_chunk = index;
        r->bad_row = bad;
    }
    pthread_mutex_unlock(&r->lock);
}

static void add_metric(struct event *e, const char *name, struct metric_value v) {
    if (e->metrics == EVENT_METRICS) return;
    e->metric[e->metrics++] = (struct event_metric){ name, v.value, v.defined ? NULL : v.why };
}

/* The metrics that a task of this kind has, "best"'s own first. */
static void add_metrics(struct event *e, const struct run *r, const struct metrics *m,
                        const struct metric_value *tokens) {
    add_metric(e, metric_name(r->metric), m->value[r->metric]);
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (id == (int)r->metric || !metric_fits((enum metric_id)id, r->task->gold)) continue;
        if (id == METRIC_F1 && m->positive < 0) continue;
        add_metric(e, metric_name((enum metric_id)id), m->value[id]);
    }
    if (r->task->gold == DATA_CLASSES) add_metric(e, "majority", m->majority);
    if (!r->text) return;
    add_metric(e, "token_accuracy", *tokens);
    if (r->task->gold != DATA_TEXT)
        add_metric(e, "invalid", (struct metric_value){ (double)m->invalid, true, NULL });
}

static void tell_split(struct run *r, int split, const struct metrics *m, const struct metric_value *tokens,
                       bool best) {
    const struct dataset *d = &r->task->dev[split];
    char rows[160];
    size_t all = d->split_rows ? d->split_rows : d->report.rows, of = all > d->rows ? all : d->rows;
    if (of > d->rows)
        snprintf(rows, sizeof rows, "%s %zu of %zu (seed 0)", r->task->dev_name[split], d->rows,
                 of);
    else snprintf(rows, sizeof rows, "%s %zu", r->task->dev_name[split], d->rows);
    struct event e = { .kind = EVENT_EVALUATION,
                       .split = task_split(r->task, split),
                       .decides = split == 0,
                       .rows = rows,
                       .constant = m->constant,
                       .none_valid = m->rows && m->invalid == m->rows,
                       .best = best };
    add_metrics(&e, r, m, tokens);
    run_send(r, e);
}

static bool tell_scores(struct run *r) {
    if (r->bad_chunk >= 0) {
        snprintf(r->failure, sizeof r->failure,
                 "step %lld: evaluation: the logits of dev row %llu%s are not finite", (long long)r->step,
                 (unsigned long long)r->bad_row + 1, r->text ? " or of one beside it" : "");
        return false;
    }
    for (int i = 0; i < r->task->devs; i++) {
        struct metrics m;
        struct metric_value tokens = { 0 };
        if (r->text) text_scoring_metrics(&r->text_scoring[i], r->task, &m, &tokens);
        else scoring_metrics(&r->scoring[i], r->task->positive, &m);
        bool best = !i && best_offer(&r->best, r->metric, m.value[r->metric], r->step);
        if (!i) {
            r->worse = best ? 0 : r->worse + 1;
            r->best_unsaved |= best;
        }
        tell_split(r, i, &m, &tokens, best);
        metrics_release(&m);
    }
    r->evaluated = r->step;
    r->early = r->c.early_stop > 0 && r->worse >= r->c.early_stop && r->step < r->c.steps;
    pthread_mutex_lock(&r->lock);
    r->score_seconds = clock_seconds() - r->score_began;
    pthread_mutex_unlock(&r->lock);
    return true;
}

bool evaluation_finish(struct run *r) {
    if (r->evaluating && !tell_scores(r)) return false;
    if (r->samples.now) samples_finish(r);
    return !r->watch.now || watch_finish(r);
}
