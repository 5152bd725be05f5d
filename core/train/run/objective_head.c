/* Classes and scores, by a classification head on the encoder. */
#include "core/train/config/complete.h"
#include "core/train/run/distil.h"
#include "core/train/run/objective.h"

void weigh_example(const struct run *r, const struct run_task *of, struct batch_example *x) {
    x->weight = (real)(of->weight / r->batch.examples);
}

/* Returns the weight of each channel of a hidden state: that of its example, divided over the positions. */
static real *state_weights(struct arena *memory, const struct tape_rows *rows, const real *weight,
                           struct task_range x, int width) {
    int first = rows->start[x.first], n = rows->start[x.end] - first;
    real *out = arena_keep(memory, ((size_t)n + 1) * sizeof *out);
    for (int i = x.first; i < x.end; i++)
        for (int j = rows->start[i]; j < rows->start[i + 1]; j++)
            out[j - first] = weight[i] / (real)((rows->start[i + 1] - rows->start[i]) * width);
    return out;
}

/* Adds the distillation losses of the teacher to the loss of a range, on outputs and on encoder states. */
static node add_teacher(struct run *r, const struct bench *on, const struct pass *p, struct task_range x,
                        node encoded, node out, node loss, struct part *part) {
    const struct forward *f = &p->forward;
    struct distil_output said;
    int first = f->rows.start[x.first], end = f->rows.start[x.end];
    distil_teach(r->objective.distil, on->worker, on->memory, p->row + x.first, x.end - x.first, &said);
    node states = end - first < f->rows.start[f->rows.count] ? op_rows(f->tape, encoded, first, end)
                                                             : encoded;
    real *each = state_weights(on->memory, &f->rows, p->batch.weight, x, said.width);
    return distil_add(f->tape, &r->c, &said, loss, out, p->batch.weight + x.first, states, each,
                      &part->taught);
}

static int losses(struct run *r, const struct bench *on, struct pass *p, node encoded, struct part *part,
                  node *loss) {
    struct forward *f = &p->forward;
    const struct batch *b = &p->batch;
    struct tape *t = f->tape;
    node pooled = attach_pool(on->attach, f, encoded);
    for (int k = 0; k < b->ranges; k++) {
        struct task_range x = b->range[k];
        node out = attach_head(on->attach, f, pooled, x,
                               run_dropout(&r->c, r->m->arch.classifier_dropout));
        tape_site(t, "loss");
        loss[k] = r->of[x.task].task->kind == DATA_REGRESSION
                      ? op_squared_error(t, out, b->target + x.first, b->weight + x.first)
                      : op_cross_entropy(t, out, b->label + x.first, b->weight + x.first);
        part->loss += (double)*tape_value(t, loss[k]);
        if (part->by_task) part->by_task[x.task] += (double)*tape_value(t, loss[k]);
        if (r->objective.distil) loss[k] = add_teacher(r, on, p, x, encoded, out, loss[k], part);
    }
    return b->ranges;
}

static void init_split(const struct run *r, struct run_split *s, const struct generate_options *how) {
    (void)how;
    scoring_init(&s->scoring, s->data, r->plan->outputs[s->task]);
    s->scoring.task = s->task;
}

static int split_units(const struct run_split *s) { return s->scoring.chunks; }
static int64_t split_rows(const struct run_split *s, int unit) {
    return (int64_t)s->scoring.first[unit + 1] - s->scoring.first[unit];
}

static bool split_score(const struct run *r, struct run_split *s, int unit, struct worker *w,
                        struct attach *a, const real *params, const real *generated, uint64_t *bad) {
    return scoring_chunk(&s->scoring, unit, w->tape, w->arena, a, r->m, params, generated, bad);
}

static void split_measure(struct run_split *s, const struct task *t, struct metrics *m,
                          struct metric_value *tokens) {
    (void)tokens;
    scoring_metrics(&s->scoring, t->positive, m);
}

static bool fits(const struct arch *a, enum data_kind kind) {
    (void)a;
    return kind == DATA_CLASSES || kind == DATA_REGRESSION;
}

const struct objective objective_head = {
    .fits = fits,
    .other_examples = "",
    .weigh = weigh_example,
    .losses = losses,
    .split_init = init_split,
    .split_units = split_units,
    .split_examples = split_rows,
    .split_score = split_score,
    .split_measure = split_measure,
};
