#include "core/train/meta/meta_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/meta/episodes.h"

/* Held-out episodes have separate dropout masks. */
static const uint64_t held_numbers = 1ull << 40;
enum { TRACE_NAME = 40 };
static const real least_rate = (real)1e-8, most_rate = 1; /* as released */

struct run_meta {
    struct meta meta;
    struct episodes *source;
    struct meta_room room[CREW_MOST];
    struct episodes_room draw[CREW_MOST];
    struct meta_score score[EPISODES_HELD];
    struct meta_trace trace;    /* of the first held-out episode */
    char (*trace_name)[TRACE_NAME]; /* names of its values: before, after, query, per step */
    char (*rate_name)[PLAN_RATE];
    bool told;
    struct task stand_in;
};

struct meta meta_of(const struct run_config *c, const struct regime *r, const struct plan *p,
                    const struct model *m) {
    const struct arch *a = &m->arch;
    return (struct meta){ .plan = p,
                          .model = m,
                          .regime = *r,
                          .seed = c->seed,
                          .dropout = run_dropout(c, a->dropout),
                          .attention_dropout = run_dropout(c, a->attention_dropout),
                          .activation_dropout = a->activation_dropout > 0
                                                    ? run_dropout(c, a->activation_dropout)
                                                    : 0,
                          .classifier_dropout = run_dropout(c, a->classifier_dropout),
                          .recompute = c->recompute };
}

/* Allocates the trace of the inner loop of an episode, and names for it and the learning rates. */
static void name_numbers(struct run_meta *x) {
    const struct plan *p = x->meta.plan;
    size_t inner = (size_t)x->meta.regime.inner;
    x->trace = (struct meta_trace){ xcalloc(inner, sizeof(double)), xcalloc(inner, sizeof(double)),
                                    xcalloc(inner + 1, sizeof(double)) };
    x->trace_name = xcalloc(3 * inner + 1, sizeof *x->trace_name);
    for (size_t s = 0; s < inner; s++) {
        snprintf(x->trace_name[3 * s], TRACE_NAME, "query_%zu", s);
        snprintf(x->trace_name[3 * s + 1], TRACE_NAME, "support_%zu_before", s + 1);
        snprintf(x->trace_name[3 * s + 2], TRACE_NAME, "support_%zu_after", s + 1);
    }
    snprintf(x->trace_name[3 * inner], TRACE_NAME, "query_%zu", inner);
    x->rate_name = xcalloc((size_t)p->rates + 1, sizeof *x->rate_name);
    for (int i = 0; i < p->rates; i++) plan_rate_name(p, &x->meta.model->arch, i, x->rate_name[i]);
}

/* Creates an empty task for a run without tasks. */
static void stand_in(struct run *r) {
    const struct sampling how = { SAMPLING_PROPORTIONAL, 1 };
    struct task *t = &r->objective.meta->stand_in;
    *t = (struct task){ .kind = DATA_CLASSES, .label_kind = DATA_CLASSES, .positive = -1 };
    r->tasks = 1;
    r->of = xcalloc(1, sizeof *r->of);
    r->of[0] = (struct run_task){ .name = "", .task = t, .weight = 1, .metric = METRIC_ACCURACY };
    r->order.first = xcalloc(2, sizeof *r->order.first);
    r->order.sampler = sampler_new(&how, r->c.seed, 1, (const size_t[]){ 1 }, 1);
}

static int begin(struct run *r, const struct run_tasks *tasks, struct err *e) {
    struct run_meta *x = r->objective.meta = xcalloc(1, sizeof *x);
    const struct regime regime = config_regime(&r->c);
    r->objective.row = &objective_head;
    stand_in(r);
    x->source = episodes_open(&r->c, &regime, r->m, tasks, e);
    if (!x->source) return e->code;
    x->meta = meta_of(&r->c, &regime, r->plan, r->m);
    name_numbers(x);
    return 0;
}

static void release(struct run *r) {
    struct run_meta *x = r->objective.meta;
    for (int i = 0; i < CREW_MOST; i++) {
        meta_room_release(&x->room[i]);
        episodes_room_release(&x->draw[i]);
    }
    episodes_free(x->source);
    free(x->trace.before);
    free(x->trace.after);
    free(x->trace.query);
    free(x->trace_name);
    free(x->rate_name);
    free(x);
    sampler_free(r->order.sampler);
    free(r->order.first);
    free(r->of);
}

static int parts(const struct run *r) { return r->objective.meta->meta.regime.tasks; }

/* Reports what second order treats as constant. */
static void tell_order(struct run *r) {
    const struct meta *x = &r->objective.meta->meta;
    bool drops = x->dropout > 0 || x->attention_dropout > 0 || x->classifier_dropout > 0;
    if (x->regime.order != META_FD) return;
    if (drops)
        run_say(r, "order=fd: all passes of an inner step use the same dropout masks");
    if (x->regime.clip > 0)
        run_say(r, "order=fd: the factors of inner gradient clipping are treated as constants");
}

/* Sends the summary of the episodes, line by line. */
static void tell_source(struct run *r) {
    char *text = xstrdup(episodes_report(r->objective.meta->source)), *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        if (*line) {
            char *shown = text_visible(line, strlen(line));
            run_say(r, shown);
            free(shown);
        }
    free(text);
    tell_order(r);
    r->objective.meta->told = true;
}

static void prepare(struct run *r) {
    if (!r->objective.meta->told) tell_source(r);
    r->batch.cut.parts = parts(r);
}

static struct meta_bench bench(struct run *r, struct worker *w) {
    return (struct meta_bench){ w->tape, w->arena, run_attach(r, w), &r->objective.meta->room[w->index] };
}

static void episode_part(struct run *r, int index, struct worker *w, real *grads) {
    struct run_meta *x = r->objective.meta;
    struct part *part = &r->batch.part[index];
    const struct meta_bench on = bench(r, w);
    uint64_t number = (uint64_t)r->step * (uint64_t)parts(r) + (uint64_t)index;
    *part = (struct part){ 0 };
    const struct episode *e = episodes_draw(x->source, false, number, &x->draw[w->index]);
    if (!meta_episode(&x->meta, &on, r->values.params, e, number, 1.0 / parts(r), grads, &part->loss,
                      &part->tokens))
        mem_lack(r->plan->trained * sizeof *grads);
}

/* Clamps the learning rates to their range. */
static void clamp_rates(struct run *r) {
    const struct plan *p = r->plan;
    if (p->rate_tensor < 0) return;
    real *rate = r->values.params + p->tensor[p->rate_tensor].offset;
    for (int i = 0; i < p->rates; i++)
        rate[i] = rate[i] < least_rate ? least_rate : rate[i] > most_rate ? most_rate : rate[i];
}

/* ---- the held-out episodes ---- */

/* They take as long as several steps. */
static int64_t every(const struct run *r) {
    enum { LEAST_APART = 50, OF_A_RUN = 10 };
    int64_t part = r->c.steps / OF_A_RUN;
    return r->c.eval_every ? r->c.eval_every : part > LEAST_APART ? part : LEAST_APART;
}

static int units(const struct run *r) {
    (void)r;
    return EPISODES_HELD;
}

static int64_t unit_rows(const struct run *r, int index) {
    (void)r, (void)index;
    return 1;
}

static void evaluate(struct run *r, int index, struct worker *w) {
    struct run_meta *x = r->objective.meta;
    const struct meta_bench on = bench(r, w);
    const struct episode *e = episodes_draw(x->source, true, (uint64_t)index, &x->draw[w->index]);
    const struct meta_trace *trace = index ? NULL : &x->trace;
    if (!meta_evaluate(&x->meta, &on, r->values.params, e, held_numbers + (uint64_t)index, &x->score[index],
                       trace))
        mem_lack(r->plan->trained * sizeof *r->values.params);
}

static void add(struct event *e, const char *name, double value) {
    event_add_metric(e, name, (struct metric_value){ value, isfinite(value), "NaN or infinite" });
}

/* Sends auxiliary values, in as many events as needed. */
struct asides {
    struct run *run;
    struct event e;
};

static void send_asides(struct asides *a) {
    if (a->e.metrics) run_send(a->run, a->e);
    a->e.metrics = 0;
}

static void add_aside(struct asides *a, const char *name, double value) {
    if (a->e.metrics == EVENT_METRICS) send_asides(a);
    add(&a->e, name, value);
}

/* Sends the inner loop of the first held-out episode, and the learned learning rates. */
static void tell_inside(struct run *r) {
    const struct run_meta *x = r->objective.meta;
    const struct plan *p = r->plan;
    int inner = x->meta.regime.inner;
    struct asides a = { r,
                        { .kind = EVENT_EVALUATION,
                          .split = "inner",
                          .auxiliary = true,
                          .examples = "the first held-out episode" } };
    for (int s = 0; s <= inner; s++) {
        add_aside(&a, x->trace_name[3 * s], x->trace.query[s]);
        if (s == inner) break;
        add_aside(&a, x->trace_name[3 * s + 1], x->trace.before[s]);
        add_aside(&a, x->trace_name[3 * s + 2], x->trace.after[s]);
    }
    send_asides(&a);
    a.e.split = "rates";
    a.e.examples = "of the inner loop";
    for (int i = 0; p->rate_tensor >= 0 && i < p->rates; i++)
        add_aside(&a, x->rate_name[i],
                  (double)r->values.params[p->tensor[p->rate_tensor].offset + (size_t)i]);
    send_asides(&a);
}

static bool tell(struct run *r) {
    const struct run_meta *x = r->objective.meta;
    double before = 0, after = 0, loss_before = 0, loss_after = 0, squares = 0;
    for (int i = 0; i < EPISODES_HELD; i++) {
        const struct meta_score *s = &x->score[i];
        before += s->before / EPISODES_HELD;
        after += s->after / EPISODES_HELD;
        loss_before += s->loss_before / EPISODES_HELD;
        loss_after += s->loss_after / EPISODES_HELD;
    }
    for (int i = 0; i < EPISODES_HELD; i++) {
        double gain = x->score[i].after - x->score[i].before - (after - before);
        squares += gain * gain;
    }
    char rows[80];
    const struct metric_value v = { after, isfinite(loss_after), "NaN or infinite loss" };
    bool best = best_offer(&r->evaluation.best, METRIC_ACCURACY, v, r->step); /* greater is better */
    r->of[0].best = r->evaluation.best;
    r->evaluation.worse = best ? 0 : r->evaluation.worse + 1;
    r->evaluation.best_unsaved |= best;
    snprintf(rows, sizeof rows, "%d held-out episodes", EPISODES_HELD);
    struct event e = {
        .kind = EVENT_EVALUATION, .split = "episodes", .decides = true, .examples = rows, .best = best
    };
    add(&e, "after", after);
    add(&e, "before", before);
    add(&e, "gain_error", sqrt(squares / (EPISODES_HELD - 1) / EPISODES_HELD));
    add(&e, "loss", loss_after);
    add(&e, "loss_before", loss_before);
    run_send(r, e);
    tell_inside(r);
    return true;
}

const struct example_source source_episodes = {
    .starts = true,
    .begin = begin,
    .release = release,
    .parts = parts,
    .prepare = prepare,
    .part = episode_part,
    .updated = clamp_rates,
    .every = every,
    .units = units,
    .unit_examples = unit_rows,
    .unit = evaluate,
    .report = tell,
};
