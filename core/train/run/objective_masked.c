/* Masked language modeling, with new masks at each step. */
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/train/run/objective.h"

static int begin(struct run *r, struct err *e) {
    r->objective.masking = masking_new(r->m, r->c.whole_words, e);
    r->objective.drawn = xcalloc((size_t)r->c.max_len, sizeof *r->objective.drawn);
    return r->objective.masking ? 0 : e->code;
}

static void release(struct run *r) {
    masking_free(r->objective.masking);
    free(r->objective.drawn);
}

static size_t take(struct run *r, struct run_task *of, uint32_t row, size_t tokens) {
    const struct dataset *d = &of->task->train;
    struct run_objective *o = &r->objective;
    o->masks += (double)masking_draw(o->masking, masking_key(r->c.seed, step_masks(r), d->example[row].id),
                                     d->ids + d->start[row], tokens, o->drawn);
    return tokens;
}

static void pack(const struct run *r, struct arena *memory, struct batch *b, const struct batch_example *row,
                 int n) {
    const struct run_objective *o = &r->objective;
    (void)row, (void)n;
    masking_apply(o->masking, memory, b, r->c.seed, step_masks(r), o->masks > 0 ? o->masks : 1);
}

static int losses(struct run *r, const struct bench *on, struct pass *p, node encoded, struct part *part,
                  node *loss) {
    (void)r;
    loss[0] = attach_words_loss(on->attach, &p->forward, masking_rows(&p->forward, encoded), NULL);
    part->loss += (double)*tape_value(p->forward.tape, loss[0]);
    return 1;
}

static void init_split(const struct run *r, struct run_split *s, const struct generate_options *how) {
    (void)how;
    masked_scoring_init(&s->masked, r->objective.masking, s->data);
}

static int split_units(const struct run_split *s) { return s->masked.chunks; }
static int64_t split_rows(const struct run_split *s, int unit) {
    return masked_scoring_examples(&s->masked, unit);
}

static bool split_score(const struct run *r, struct run_split *s, int unit, struct worker *w,
                        struct attach *a, const real *params, const real *generated, uint64_t *bad) {
    return masked_scoring_chunk(&s->masked, unit, w->tape, w->arena, a, r->m, params, generated, bad);
}

static void split_measure(struct run_split *s, const struct task *t, struct metrics *m,
                          struct metric_value *tokens) {
    (void)t, (void)tokens;
    masked_scoring_metrics(&s->masked, m);
}

static bool fits(const struct arch *a, enum data_kind kind) {
    (void)a;
    return kind == DATA_MASKED;
}

const struct objective objective_masked = {
    .fits = fits,
    .loss_op = "vocabulary_loss",
    .other_examples = "",
    .begin = begin,
    .release = release,
    .take = take,
    .weigh = weigh_example,
    .pack = pack,
    .losses = losses,
    .split_init = init_split,
    .split_units = split_units,
    .split_examples = split_rows,
    .split_score = split_score,
    .split_measure = split_measure,
};
