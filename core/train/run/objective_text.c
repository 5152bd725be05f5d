/* Objectives on target tokens, without a head: text-to-text, by an encoder–decoder model, and language
 * modeling, by a causal model. */
#include "core/train/run/distil.h"
#include "core/train/run/objective.h"

static size_t take(struct run *r, struct run_task *of, uint32_t row, size_t tokens) {
    const struct dataset *d = &of->task->train;
    (void)r;
    target_count_example(&of->targets, d, row);
    return tokens + target_length(d, row);
}

/* The loss is the mean over examples of each task's loss, times its weight; a sum remains a sum. */
static void weigh(const struct run *r, const struct run_task *of, struct batch_example *x) {
    x->token_weight =
        (real)(of->weight * run_task_share(r, of) *
               target_weight(r->c.loss_mean, &of->targets, target_length(x->data, x->index)));
}

static void pack(const struct run *r, struct arena *memory, struct batch *b, const struct batch_example *row,
                 int n) {
    batch_pack_targets(b, memory, &r->m->arch, row, n);
}

/* Adds the distillation losses to the loss, on the outputs at target tokens and on decoder states. */
static node add_teachers(struct run *r, const struct bench *on, struct pass *p, node decoded, node loss,
                         struct part *part) {
    const struct batch *b = &p->batch;
    struct tape *t = p->forward.tape;
    for (int k = 0; k < b->ranges; k++) {
        struct task_range x = b->range[k];
        struct distil_output said;
        int first = b->target_start[x.first], n = b->target_start[x.end] - first;
        distil_teach(r->objective.distil, on->worker, on->memory, p->row + x.first, x.end - x.first, &said);
        node states = n < b->target_tokens ? op_rows(t, decoded, first, first + n) : decoded;
        real *each = arena_keep(on->memory, ((size_t)n + 1) * sizeof *each);
        for (int i = 0; i < n; i++) each[i] = b->target_weight[first + i] / (real)said.width;
        loss = distil_add(t, &r->c, &said, loss, forward_logits(&p->forward, states),
                          b->target_weight + first, states, each, &part->taught);
    }
    return loss;
}

/* Computes the losses of texts, summed over the examples of a task. */
static void add_by_task(struct part *part, const struct batch *b, const double *token_loss) {
    for (int k = 0; k < b->ranges && part->by_task; k++) {
        const struct task_range *x = &b->range[k];
        for (int i = b->target_start[x->first]; i < b->target_start[x->end]; i++)
            part->by_task[x->task] += token_loss[i];
    }
}

static int losses(struct run *r, const struct bench *on, struct pass *p, node encoded, struct part *part,
                  node *loss) {
    struct forward *f = &p->forward;
    const struct batch *b = &p->batch;
    node decoded = forward_decode(f, encoded);
    double *each = part->by_task ? arena_keep(on->memory, (size_t)b->target_tokens * sizeof *each) : NULL;
    f->token_loss = each;
    tape_site(f->tape, "loss");
    loss[0] = forward_lm_loss(f, decoded, r->c.smoothing);
    add_by_task(part, b, each);
    part->loss += (double)*tape_value(f->tape, loss[0]);
    if (r->objective.distil) loss[0] = add_teachers(r, on, p, decoded, loss[0], part);
    return 1;
}

/* ---- splits ---- */

static int open_splits(struct run *r, int task, struct generate_options *how, struct err *e) {
    const struct task *t = r->of[task].task;
    if (!t->devs) return 0;
    if (text_options(r->m, t, r->c.beams, r->c.max_target, how, e)) return e->code;
    if (t->dev[0].shape != DATA_DOCUMENTS) samples_init(r, task, how);
    return 0;
}

static void init_split(const struct run *r, struct run_split *s, const struct generate_options *how) {
    text_scoring_init(&s->text, r->m, s->data, true, how);
    s->text.task = s->task;
}

static int split_units(const struct run_split *s) { return text_scoring_units(&s->text); }
static int64_t split_rows(const struct run_split *s, int unit) {
    return text_scoring_examples(&s->text, unit);
}

static bool split_score(const struct run *r, struct run_split *s, int unit, struct worker *w,
                        struct attach *a, const real *params, const real *generated, uint64_t *bad) {
    (void)r;
    return text_scoring_unit(&s->text, unit, w->tape, w->arena, a, params, generated, bad);
}

static void split_measure(struct run_split *s, const struct task *t, struct metrics *m,
                          struct metric_value *tokens) {
    text_scoring_metrics(&s->text, t, m, tokens);
}

static void add_metrics(struct event *e, const struct task *t, const struct metrics *m,
                        const struct metric_value *tokens) {
    event_add_metric(e, "token_accuracy", *tokens);
    if (t->label_kind != DATA_TEXT)
        event_add_metric(e, "invalid", (struct metric_value){ (double)m->invalid, true, NULL });
}

/* ---- language modeling ---- */

/* Evaluations generate texts only if the primary metric compares them. */
static void init_language(const struct run *r, struct run_split *s, const struct generate_options *how) {
    init_split(r, s, text_generates(r->m, r->of[s->task].metric) ? how : NULL);
}

static void add_language(struct event *e, const struct task *t, const struct metrics *m,
                         const struct metric_value *tokens) {
    event_add_metric(e, "perplexity", text_perplexity(m));
    add_metrics(e, t, m, tokens);
}

static bool fits_language(const struct arch *a, enum data_kind kind) {
    return kind == DATA_TEXT && a->causal;
}

const struct objective objective_language = {
    .fits = fits_language,
    .loss_op = "vocabulary_loss",
    .other_examples = "",
    .take = take,
    .weigh = weigh,
    .pack = pack,
    .losses = losses,
    .open = open_splits,
    .split_init = init_language,
    .split_units = split_units,
    .split_examples = split_rows,
    .split_score = split_score,
    .split_measure = split_measure,
    .metrics = add_language,
};

static bool fits_text(const struct arch *a, enum data_kind kind) { return kind == DATA_TEXT && !a->causal; }

const struct objective objective_text = {
    .fits = fits_text,
    .loss_op = "vocabulary_loss",
    .other_examples = " or an example generated together with it",
    .take = take,
    .weigh = weigh,
    .pack = pack,
    .losses = losses,
    .open = open_splits,
    .split_init = init_split,
    .split_units = split_units,
    .split_examples = split_rows,
    .split_score = split_score,
    .split_measure = split_measure,
    .metrics = add_metrics,
};
