/* An example of an objective: twice the squared error of scores. */
#include "core/train/run/objective.h"

static bool fits(const struct arch *a, enum data_kind kind) {
    (void)a;
    return kind == DATA_REGRESSION;
}

static int losses(struct run *r, const struct bench *on, struct pass *p, node encoded, struct part *part,
                  node *loss) {
    const struct batch *b = &p->batch;
    node pooled = attach_pool(on->attach, &p->forward, encoded);
    node out = attach_head(on->attach, &p->forward, pooled, b->range[0],
                           run_dropout(&r->c, r->m->arch.classifier_dropout));
    loss[0] = op_scale(on->tape, op_squared_error(on->tape, out, b->target, b->weight), 2);
    part->loss += (double)*tape_value(on->tape, loss[0]);
    return 1;
}

static void split_begin(const struct run *r, struct run_split *s, const struct generate_options *how) {
    (void)how;
    scoring_init(&s->scoring, s->data, r->plan->outputs[s->task]);
}

static int units(const struct run_split *s) { return s->scoring.chunks; }

static int64_t examples(const struct run_split *s, int unit) {
    return (int64_t)s->scoring.first[unit + 1] - s->scoring.first[unit];
}

static bool score(const struct run *r, struct run_split *s, int unit, struct worker *w, struct attach *a,
                  const real *params, const real *generated, uint64_t *bad) {
    return scoring_chunk(&s->scoring, unit, w->tape, w->arena, a, r->m, params, generated, bad);
}

static void measure(struct run_split *s, const struct task *t, struct metrics *m, struct metric_value *tokens) {
    (void)tokens;
    scoring_metrics(&s->scoring, t->positive, m);
}

const struct objective objective_doubled = {
    .fits = fits,
    .other_examples = "",
    .weigh = weigh_example,
    .losses = losses,
    .split_init = split_begin,
    .split_units = units,
    .split_examples = examples,
    .split_score = score,
    .split_measure = measure,
};
