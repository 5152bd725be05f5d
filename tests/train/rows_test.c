/* Weights that are made for each row: the same bits for any number of workers, with the encoder held or run twice,
 * and after a stop; one task alone predicts what training told; texts written token by token are made by their own
 * row's weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/model/generate.h"
#include "core/train/run/checkpoint.h"
#include "core/train/use/predict.h"
#include "tests/support/mixed.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct mixed mixed[MIXED_MODELS];

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

/* As released, without a retriever; from the retriever's vector, with both losses; the encoder's own. */
static const char *const plain = "hyperdecoder(r=2)";
static const char *const retrieved =
    "bottleneck(r=2; read=f.in, write=f.out, stack=encoder) + "
    "bottleneck(r=2; read=f.in, write=f.out, stack=decoder, source=hyper, dropout=0.1) + "
    "softmax(l=2; stack=decoder, source=hyper, dropout=0.1) + "
    "hyper(task=0, prototype=3, layer=2, place=2, instance=retriever, hidden=5, inner=3, net=layer) + "
    "retriever(hidden=4, width=3, prototype=decoupled)";
static const char *const twice =
    "bottleneck(r=2; read=f.in, write=f.out, stack=encoder) + bottleneck(r=2; read=f.in, write=f.out, source=hyper) + "
    "hyper(task=2, layer=2, place=0, instance=pooled, pass=2, hidden=5, inner=0, norm=no) + retriever(hidden=4, width=3)";
static const char *const tapped =
    "bottleneck(r=2; read=f.in, write=f.out, layers=1) + softmax(l=2; layers=2, source=hyper, dropout=0.1) + "
    "hyper(task=0, layer=2, place=0, instance=mlp, tap=1, hidden=5, inner=3) + retriever(hidden=4, width=3, tap=1)";

static void same_run(const struct trained *a, const struct trained *b, int from) {
    assert_int_equal(trained_state(b), RUN_FINISHED);
    assert_int_equal(a->points - from, b->points);
    assert_memory_equal(a->loss + from, b->loss, (size_t)b->points * sizeof a->loss[0]);
    assert_memory_equal(a->norm + from, b->norm, (size_t)b->points * sizeof a->norm[0]);
    assert_string_equal(a->sha256, b->sha256);
}

static void same_bits(int of, const char *method, bool joins) {
    enum { STEPS = 4, STOP = 2 };
    struct run_config c = mixed_config(&mixed[of], method, 7, STEPS);
    struct trained first, other;
    c.lr = 1e-2;
    c.dropout = 0.1;
    c.eval_every = 1000;
    c.accumulate = 2;
    if (joins) c.join = JOIN_HELD;
    mixed_train(&mixed[of], &c, NULL, 1, 0, &first);
    for (int workers = 2; workers <= 3; workers++) {
        if (joins) c.join = JOIN_TWICE;
        mixed_train(&mixed[of], &c, NULL, workers, 0, &other);
        same_run(&first, &other, 0);
        trained_release(&other);
    }
    char *folder = test_folder();
    mixed_train(&mixed[of], &c, folder, 2, STOP, &other);
    trained_release(&other);
    mixed_go_on(&mixed[of], &c, folder, 1, &other);
    same_run(&first, &other, STOP);
    trained_release(&other);
    trained_release(&first);
    free(folder);
    config_release(&c);
}

static void workers_join_and_a_stop_change_nothing(void **state) {
    (void)state;
    same_bits(T5, plain, false);
    same_bits(T5, retrieved, true);
    same_bits(T5, twice, true);
    same_bits(BERT, tapped, true);
    same_bits(BERT, plain, false); /* its halves */
    same_bits(BERT, "pha(r=2)", true);
}

/* ---- one task of several ---- */

static double told_loss(const struct trained *t, const char *task) {
    for (int i = t->evaluations; i-- > 0;)
        if (!strcmp(t->evaluation[i].task, task)) return t->evaluation[i].loss;
    fail_msg("nothing was told of %s", task);
    return NAN;
}

static void one_task_alone_scores_the_same(int of, const char *method) {
    struct mixed *m = &mixed[of];
    struct run_config c = mixed_config(m, method, 7, 12);
    struct trained t;
    char *folder = test_folder(), *last = checkpoint_path(folder, true);
    c.lr = 1e-2;
    mixed_train(m, &c, folder, 2, 0, &t);
    for (int k = 0; k < m->tasks.count; k++) {
        struct err e = ERR_INIT;
        struct metrics x;
        struct predictor *p = predictor_open(last, m->config.of[k].task_name, m->model, &e);
        if (!p) fail_msg("%s", e.text);
        if (predictor_writes(p)) {
            struct written w;
            struct metric_value tokens;
            test_ok(predictor_evaluate_texts(p, &m->task[k], 0, 0, NULL, &w, &x, &tokens, &e), &e);
            written_release(&w);
        } else {
            test_ok(predictor_evaluate(p, &m->task[k].dev[0], NULL, m->task[k].positive, NULL, NULL, &x, &e), &e);
        }
        double was = told_loss(&t, m->config.of[k].task_name);
        double is = x.value[METRIC_LOSS].value;
        if (!(fabs(was - is) <= 1e-5 * (1 + fabs(was)))) fail_msg("task %d: %g was told, %g is found", k, was, is);
        metrics_release(&x);
        predictor_free(p);
    }
    trained_release(&t);
    config_release(&c);
    free(last);
    free(folder);
}

static void what_was_told_is_what_one_task_gives(void **state) {
    (void)state;
    one_task_alone_scores_the_same(T5, retrieved);
    one_task_alone_scores_the_same(T5, twice);
    one_task_alone_scores_the_same(BERT, tapped);
    one_task_alone_scores_the_same(BERT, plain);
    one_task_alone_scores_the_same(BERT, "pha(r=2)");
}

/* ---- token by token ---- */

struct begun {
    struct attach *attach;
    const real *params;
};

static const struct hooks *begin(void *self, struct tape *t) {
    const struct begun *b = self;
    return attach_begin(b->attach, t, b->params, b->params, NULL);
}

/* The log-probability of a text, whole, as the model gives it to its row. */
static double log_probability(const struct rig *r, const struct begun *b, int row, const struct generated *g,
                              const struct generate_options *o) {
    const struct batch *all = &r->fixture.batch;
    int start[2] = { 0, all->start[row + 1] - all->start[row] }, target_start[2] = { 0, g->count };
    int32_t *in = xcalloc((size_t)g->count + 1, sizeof *in), *positions = xcalloc((size_t)g->count, sizeof *positions);
    in[0] = o->start;
    memcpy(in + 1, g->ids, (size_t)g->count * sizeof *in);
    for (int i = 0; i < g->count; i++) positions[i] = i;
    struct batch one = { .examples = 1, .tokens = start[1], .ids = all->ids + all->start[row], .types = all->types + all->start[row],
                         .positions = all->positions + all->start[row], .start = start, .example_id = all->example_id + row,
                         .target_tokens = g->count, .target_in = in, .target_positions = positions,
                         .target_start = target_start };
    struct forward f;
    size_t vocabulary = (size_t)r->m->arch.vocabulary;
    tape_reset(r->tape, false, 0, 0);
    forward_init(&f, r->tape, r->m, &one, begin((void *)b, r->tape));
    const real *v = tape_value(r->tape, forward_logits(&f, forward_decode(&f, forward_encode(&f))));
    double sum = 0;
    for (int i = 0; i < g->count; i++, v += vocabulary) {
        real top = kernel_largest(vocabulary, v);
        sum += (double)v[g->ids[i]] - (double)top - (double)kernel_log_sum(vocabulary, top, v);
    }
    free(in);
    free(positions);
    return sum;
}

/* Every row of a beam search scores what its text scores whole; and rows differ by their weights. */
static void texts_are_by_their_rows_weights(const char *method) {
    struct rig r;
    struct generate_options o;
    struct err e = ERR_INIT;
    rig_open_at(&r, "tests/reference/families/t5-tiny");
    struct plan *p = rig_plan(&r, method);
    real *params = rig_params(&r, p, 5, 0.3);
    struct begun b = { attach_new(p, r.m), params };
    const struct batch *all = &r.fixture.batch;
    size_t *start = xcalloc((size_t)all->examples + 1, sizeof *start);
    for (int i = 0; i <= all->examples; i++) start[i] = (size_t)all->start[i];
    const struct generate_sources s = { (size_t)all->examples, start, all->ids };
    test_ok(generate_defaults(r.m, &o, NULL, &e), &e);
    o.beams = 3;
    o.max_new = 8;
    struct generation g;
    generation_init(&g, r.m, &o, &s);
    struct generated *out = xcalloc(s.rows, sizeof *out);
    struct generate_memory memory = { .tape = r.tape, .arena = r.arena, .cache = cache_new(&r.m->arch), .begin = begin, .self = &b };
    for (int i = 0; i < g.groups; i++) test_ok(generation_group(&g, i, &memory, out, &e), &e);
    for (int i = 0; i < all->examples; i++) {
        double want = log_probability(&r, &b, i, &out[i], &o) / pow(out[i].count, o.length_penalty);
        if (!(fabs(out[i].score - want) < 1e-4)) fail_msg("%s: row %d scores %g, whole %g", method, i, out[i].score, want);
    }
    cache_free(memory.cache);
    generated_release(out, s.rows);
    free(out);
    generation_release(&g);
    free(start);
    attach_free(b.attach);
    free(params);
    plan_free(p);
    rig_close(&r);
}

static void texts_are_written_by_their_own_rows(void **state) {
    (void)state;
    texts_are_by_their_rows_weights(plain);
    texts_are_by_their_rows_weights("softmax(l=2; stack=decoder, source=hyper) + scale(write=a.v, source=hyper, stack=decoder) + "
                                    "hyper(task=0, layer=2, place=2, instance=pooled, hidden=5, inner=3, net=layer)");
    texts_are_by_their_rows_weights(twice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_join_and_a_stop_change_nothing),
        cmocka_unit_test(what_was_told_is_what_one_task_gives),
        cmocka_unit_test(texts_are_written_by_their_own_rows),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
