/* Few shots of a new task: what is drawn, what a draw begins from, what of it trains, that the same comes of any
 * number of workers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/method/carry.h"
#include "core/train/config/complete.h"
#include "core/train/fewshot/fewshot_run.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/pool.h"
#include "core/train/run/predictor.h"
#include "core/train/use/retrieve.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"

#define HYPER "bottleneck(r=2; read=f.in, write=f.out, source=hyper) + lora(r=2) + "                                   \
              "hyper(task=3, layer=2, place=0, hidden=4, inner=3, start=fan)"
#define VOTES HYPER " + retriever(hidden=4, width=3, prototype=decoupled)"
#define OWN "bottleneck(r=2; read=f.in, write=f.out, source=task) + lora(r=2)"

static struct mixed mixed[MIXED_MODELS];

/* A run of the three tasks, and a new one: the rows of "two" again. */
struct ground_run {
    struct mixed *m;
    struct predictor *from;
    struct run_config c;
    struct fewshot how;
    struct pool *pool;
};

static int open_all(void **state) {
    (void)state;
    mixed_open_both(mixed, NULL);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    mixed_release_both(mixed);
    return 0;
}

static struct ground_run open_ground(int of, const char *method) {
    struct err e = ERR_INIT;
    struct ground_run g = { .m = &mixed[of], .pool = pool_new(2) };
    struct run_config c = mixed_config(g.m, method, 7, 4);
    struct trained t;
    char *folder = test_folder(), *path = checkpoint_path(folder, false);
    c.lr = 1e-2;
    mixed_train(g.m, &c, folder, 2, 0, &t);
    trained_release(&t);
    g.from = predictor_open_all(path, g.m->model, &e);
    if (!g.from) fail_msg("%s", e.text);
    config_copy(&g.c, &c);
    fewshot_config(&g.c);
    config_take_data(&g.c, config_data_of(&g.m->config, 0));
    xreplace(&g.c.task_name, NULL);
    g.c.steps = 3;
    g.c.batch = 4;
    config_settle(&g.c, of == T5);
    struct task *task = &g.m->task[0];
    const struct run_tasks one = { 1, &task };
    test_ok(config_complete(&g.c, g.m->model, &one, &e), &e);
    g.how = (struct fewshot){ .ks = 2, .k = { 1, 2 }, .draws = 2, .start = FEWSHOT_LOWEST, .parts = PLAN_ROW | PLAN_OF_HEAD };
    config_release(&c);
    free(folder);
    free(path);
    return g;
}

static void close_ground(struct ground_run *g) {
    pool_free(g->pool);
    predictor_free(g->from);
    config_release(&g->c);
}

static struct fewshot_work work(struct ground_run *g) {
    return (struct fewshot_work){ .how = &g->how, .task_name = "two", .c = &g->c, .m = g->m->model,
                                  .task = &g->m->task[0], .from = g->from };
}

struct running {
    struct fewshot_draw draw;
    struct run *run;
};

/* What a run tells goes into its draw's result. */
static void on_event(void *self, const struct event *e) {
    struct fewshot_result *x = self;
    x->steps = e->step;
    if (e->kind == EVENT_POINT) x->loss = e->loss;
    if (e->kind != EVENT_EVALUATION || !e->decides) return;
    struct fewshot_scores *s = e->step ? &x->scores : &x->zero;
    for (s->count = 0; s->count < e->metrics; s->count++) {
        struct fewshot_metric *m = &s->metric[s->count];
        snprintf(m->name, sizeof m->name, "%s", e->metric[s->count].name);
        m->value = e->metric[s->count].value;
        if (e->metric[s->count].undefined) snprintf(m->undefined, sizeof m->undefined, "%s", e->metric[s->count].undefined);
    }
}

/* All draws at once; the tensors of the first go into the folder. */
static void run_in(struct ground_run *g, const char *folder, struct fewshot_results *r) {
    struct err e = ERR_INIT;
    const struct fewshot_work w = work(g);
    int n = g->how.ks * g->how.draws;
    struct running *x = xcalloc((size_t)n, sizeof *x);
    *r = (struct fewshot_results){ 0 };
    test_ok(fewshot_check(&w, &e), &e);
    for (int i = 0; i < n; i++) {
        test_ok(fewshot_open(&w, g->how.k[i / g->how.draws], i % g->how.draws, &x[i].draw, &e), &e);
        x[i].run = fewshot_begin(&w, &x[i].draw, 1, i ? NULL : folder, (struct event_sink){ &x[i].draw.result, on_event }, &e);
        if (!x[i].run) fail_msg("%s", e.text);
        pool_add(g->pool, x[i].run, 0);
    }
    for (int i = 0; i < n; i++) {
        while (!pool_wait(g->pool, x[i].run, 1)) {}
        run_free(x[i].run);
        fewshot_add(r, &x[i].draw.result);
        fewshot_close(&x[i].draw);
    }
    free(x);
}

static struct fewshot_results run_all(struct ground_run *g) {
    struct fewshot_results r;
    char *folder = test_folder();
    run_in(g, folder, &r);
    assert_int_equal(r.count, g->how.ks * g->how.draws);
    free(folder);
    return r;
}

static void same_scores(const struct fewshot_scores *a, const struct fewshot_scores *b) {
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->metric[i].name, b->metric[i].name);
        assert_string_equal(a->metric[i].undefined, b->metric[i].undefined);
        if (!*a->metric[i].undefined) assert_memory_equal(&a->metric[i].value, &b->metric[i].value, sizeof(double));
    }
}

static void same_results(const struct fewshot_results *a, const struct fewshot_results *b) {
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        const struct fewshot_result *x = &a->of[i], *y = fewshot_find(b, x->task, x->k, x->draw);
        assert_non_null(y);
        assert_string_equal(x->start, y->start);
        assert_int_equal(x->steps, y->steps);
        assert_memory_equal(&x->loss, &y->loss, sizeof x->loss);
        assert_int_equal(x->known, y->known);
        if (x->known) assert_memory_equal(x->near, y->near, (size_t)x->known * sizeof *x->near);
        same_scores(&x->scores, &y->scores);
        same_scores(&x->zero, &y->zero);
    }
}

/* ---- the draws ---- */

static void draws_are_even_and_nested(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    const struct dataset *d = &mixed[BERT].task[1].train; /* 13 rows of three classes */
    int small[3], large[15], other[12], count[3] = { 0 }, found = 0;
    assert_int_equal(fewshot_draw(d, 1, 5, 0, small, &e), 3);
    assert_int_equal(fewshot_draw(d, 4, 5, 0, large, &e), 12);
    assert_int_equal(fewshot_draw(d, 4, 5, 1, other, &e), 12);
    for (int i = 0; i < 12; i++) {
        count[d->example[large[i]].label]++;
        assert_true(!i || large[i] > large[i - 1]);
        for (int k = 0; k < 3; k++) found += small[k] == large[i];
    }
    assert_true(count[0] == 4 && count[1] == 4 && count[2] == 4 && found == 3);
    assert_int_equal(fewshot_draw(d, 5, 5, 0, large, &e), ERR_INPUT);
    assert_non_null(strstr(e.text, "class 1 has 4 labeled examples, but a support set needs 5; use a smaller --k"));
    const struct dataset *scores = &mixed[BERT].task[2].train;
    assert_int_equal(fewshot_draw(scores, 9, 5, 0, large, &e), 9); /* in all */
    assert_int_equal(fewshot_draw(scores, 10, 5, 0, large, &e), ERR_INPUT);
}

/* ---- the same bits ---- */

static void same_for_any_workers(int of, const char *method, enum fewshot_start start) {
    struct ground_run g = open_ground(of, method);
    g.how.start = start;
    g.how.zero = true;
    struct fewshot_results first = run_all(&g);
    for (int workers = 1; workers <= 3; workers += 2) {
        pool_free(g.pool);
        g.pool = pool_new(workers);
        struct fewshot_results other = run_all(&g);
        same_results(&first, &other);
        fewshot_results_release(&other);
    }
    for (int i = 0; i < first.count; i++) assert_true(first.of[i].zero.count && first.of[i].steps == 3 && *first.of[i].start);
    fewshot_results_release(&first);
    close_ground(&g);
}

static void same_bits(void **state) {
    (void)state;
    same_for_any_workers(BERT, VOTES, FEWSHOT_VOTE);
    same_for_any_workers(T5, HYPER, FEWSHOT_LOWEST);
    same_for_any_workers(BERT, OWN, FEWSHOT_LOWEST);
}

/* What is known of a draw before it trains is stored and read as it was. */
static void where_it_begins_is_read_again(void **state) {
    (void)state;
    struct ground_run g = open_ground(BERT, VOTES);
    struct err e = ERR_INIT;
    struct fewshot_draw x;
    struct fewshot_result again = { .k = 2 };
    struct buf b = BUF_INIT;
    g.how.start = FEWSHOT_VOTE;
    const struct fewshot_work w = work(&g);
    test_ok(fewshot_open(&w, 2, 1, &x, &e), &e);
    buf_putc(&b, '{');
    fewshot_draw_members(&x.result, &b);
    buf_putc(&b, '}');
    json_t *o = json_parse("a draw", buf_text(&b), b.size, &e);
    fewshot_read_draw(o, &again);
    assert_string_equal(again.start, x.result.start);
    assert_int_equal(again.known, 3);
    assert_memory_equal(again.near, x.result.near, 3 * sizeof *again.near);
    assert_memory_equal(again.votes, x.result.votes, 3 * sizeof *again.votes);
    json_decref(o);
    buf_release(&b);
    free(again.near), free(again.votes);
    fewshot_close(&x);
    close_ground(&g);
}

/* ---- what trains ---- */

/* The kept tensors of the first draw against the run's: those of `moves` differ, all others have its bits. */
static void only_these_move(int of, const char *method, unsigned parts, int task) {
    struct ground_run g = open_ground(of, method);
    struct err e = ERR_INIT;
    struct fewshot_results r;
    char *folder = test_folder(), *path = checkpoint_path(folder, false);
    g.how.ks = g.how.draws = 1;
    g.how.parts = parts;
    g.how.start = task == CARRY_MEAN ? FEWSHOT_MEAN : FEWSHOT_NAMED;
    if (task >= 0) snprintf(g.how.named, sizeof g.how.named, "%s", config_task_name(&g.m->config, task));
    run_in(&g, folder, &r);
    struct predictor *p = predictor_open_all(path, g.m->model, &e);
    if (!p) fail_msg("%s", e.text);
    real *start = xcalloc(p->plan->trained + 1, sizeof *start);
    plan_carry(p->plan, start, g.from->plan, g.from->params, task);
    for (int i = 0; i < p->plan->tensors; i++) {
        const struct plan_tensor *t = &p->plan->tensor[i];
        bool same = !memcmp(start + t->offset, p->params + t->offset, t->count * sizeof *start);
        bool still = t->no_gradient || strstr(t->name, "W_d"); /* may wait for W_u, which begins at 0 */
        if (t->kind == PLAN_HEAD || (still && parts & plan_part_of(p->plan, t))) continue;
        if (same != !(parts & plan_part_of(p->plan, t))) fail_msg("%s %s: %s", method, t->name, same ? "stayed" : "moved");
    }
    free(start);
    predictor_free(p);
    fewshot_results_release(&r);
    free(folder);
    free(path);
    close_ground(&g);
}

static void what_trains_is_what_was_said(void **state) {
    (void)state;
    only_these_move(BERT, VOTES, PLAN_ROW | PLAN_OF_HEAD, 1);
    only_these_move(BERT, HYPER, PLAN_OF_HEAD, CARRY_MEAN);
    only_these_move(T5, HYPER, PLAN_ROW, 2);
    only_these_move(T5, HYPER, PLAN_SHARED | PLAN_ROW, 0);
    /* The halves of an encoder; a generator that reads the retriever's vector beside prototypes. */
    only_these_move(BERT, "pha(r=2)", PLAN_ROW, 1);
    only_these_move(T5, "pha(r=2) + hyper(task=0, prototype=64, instance=retriever)", PLAN_ROW, 2);
    only_these_move(T5, "pha(r=2) + hyper(task=0, prototype=64, instance=retriever)", PLAN_GENERATOR, 0);
    only_these_move(BERT, OWN, PLAN_ROW, CARRY_MEAN);
    only_these_move(T5, "hyperdecoder(r=2)", PLAN_GENERATOR, CARRY_MEAN); /* made for each row */
    only_these_move(BERT, "hyperprompt-share(backbone=frozen,l=2,b=2)", PLAN_ROW, 1);
    only_these_move(T5, "hyperprompt-sep(backbone=frozen,l=2,b=16)", PLAN_ROW, 2);
}

/* It ends after a pass over the shots whose loss is low enough, and is scored there. */
static void a_low_loss_ends_a_draw(void **state) {
    (void)state;
    struct ground_run g = open_ground(BERT, OWN);
    g.how.stop_loss = 1e9;
    struct fewshot_results r = run_all(&g);
    for (int i = 0; i < r.count; i++) assert_true(r.of[i].steps == 1 && r.of[i].scores.count);
    fewshot_results_release(&r);
    close_ground(&g);
}

/* ---- where it begins ---- */

static void starts(void **state) {
    (void)state;
    struct ground_run g = open_ground(BERT, VOTES);
    struct fewshot_results vote, worst, random;
    g.how.start = FEWSHOT_VOTE;
    vote = run_all(&g);
    g.how.start = FEWSHOT_WORST;
    worst = run_all(&g);
    g.how.start = FEWSHOT_RANDOM;
    random = run_all(&g);
    for (int i = 0; i < vote.count; i++) {
        const struct fewshot_result *x = &vote.of[i], *y = fewshot_find(&worst, x->task, x->k, x->draw);
        int votes = 0, best = 0, least = 0;
        for (int t = 0; t < x->known; t++) {
            votes += x->votes[t];
            if (x->near[t] > x->near[best]) best = t;
            if (x->near[t] < x->near[least]) least = t;
            assert_true(fabs(x->near[t]) <= 1 + 1e-9);
        }
        assert_int_equal(votes, 2 * x->k);
        assert_string_equal(x->start, config_task_name(&g.m->config, best));
        assert_string_equal(y->start, config_task_name(&g.m->config, least));
    }
    fewshot_results_release(&vote);
    fewshot_results_release(&worst);
    fewshot_results_release(&random);
    close_ground(&g);
}

static void refused(struct ground_run *g, const char *why) {
    struct err e = ERR_INIT;
    const struct fewshot_work w = work(g);
    assert_int_equal(fewshot_check(&w, &e), ERR_USAGE);
    if (!strstr(e.text, why)) fail_msg("\"%s\" does not say \"%s\"", e.text, why);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    struct ground_run g = open_ground(T5, HYPER);
    g.how.start = FEWSHOT_VOTE;
    refused(&g, "task prototypes");
    g.how.start = FEWSHOT_NAMED;
    strcpy(g.how.named, "four");
    refused(&g, "--start four: unknown task; the run has two, three, score");
    g.how.start = FEWSHOT_MEAN;
    g.how.parts = PLAN_OF_HEAD;
    refused(&g, "no trainable parameters selected; use one or more of row, generator, shared");
    close_ground(&g);
}

/* A cosine knows no length, and turns its sign with the prototype. */
static void cosines(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct ground_run g = open_ground(T5, VOTES);
    const struct plan_tensor *k = plan_prototypes(g.from->plan);
    const struct dataset *d = &g.m->task[1].train;
    double *a = xcalloc(2 * d->examples * 3, sizeof *a), *b = a + d->examples * 3;
    test_ok(retrieve_cosines(g.from, d, a, &e), &e);
    for (int c = 0; c < k->cols; c++) {
        g.from->params[k->offset + (size_t)c] *= 2;
        g.from->params[k->offset + (size_t)(k->cols + c)] *= -1;
    }
    test_ok(retrieve_cosines(g.from, d, b, &e), &e);
    for (size_t i = 0; i < d->examples; i++) {
        assert_true(fabs(a[3 * i] - b[3 * i]) < 1e-6);
        assert_true(fabs(a[3 * i + 1] + b[3 * i + 1]) < 1e-6);
        assert_memory_equal(&a[3 * i + 2], &b[3 * i + 2], sizeof *a);
    }
    free(a);
    close_ground(&g);
}

/* The regime is no run's that takes all rows: it is refused there, and a copy of such a run has none. */
static void a_draw_is_an_ordinary_run(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct ground_run g = open_ground(BERT, OWN);
    struct task *task = &g.m->task[0];
    const struct run_tasks one = { 1, &task };
    test_ok(run_check(&g.c, g.m->model, &one, &e), &e);
    config_put(&g.c, "regime", "fewshot(k=4, draws=10, from=none)");
    test_refused(run_check(&g.c, g.m->model, &one, &e), ERR_USAGE, &e, "use petri adapt or petri fewshot");
    config_reuse(&g.c);
    assert_null(g.c.regime);
    close_ground(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_even_and_nested), cmocka_unit_test(same_bits),
        cmocka_unit_test(where_it_begins_is_read_again),
        cmocka_unit_test(what_trains_is_what_was_said), cmocka_unit_test(a_low_loss_ends_a_draw),
        cmocka_unit_test(starts),                    cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(cosines),                   cmocka_unit_test(a_draw_is_an_ordinary_run),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
