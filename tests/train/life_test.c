/* The life of a run: states in order, pause, stop, several at once, early stop, NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

static struct ground ground;

static int open_ground(void **state) {
    (void)state;
    ground_open_toy(&ground, true);
    return 0;
}

static int close_ground(void **state) {
    (void)state;
    ground_release(&ground);
    return 0;
}

static void a_run_goes_through_its_states(void **state) {
    (void)state;
    struct run_config c = ground_config(&ground, "lora(r=2)", 3, 0);
    struct trained t;
    c.epochs = 1.5; /* 7 steps an epoch: 10.5 steps */
    train(&ground, &c, NULL, 2, &t);
    assert_int_equal(t.states, 2);
    assert_int_equal(t.state[0], RUN_RUNNING);
    assert_int_equal(t.state[1], RUN_FINISHED);
    assert_int_equal(t.points, 11);
    assert_int_equal(t.evaluations, 2);
    assert_int_equal(t.evaluation[0].step, 7);
    assert_int_equal(t.evaluation[1].step, 11);
    assert_string_equal(t.evaluation[0].split, "dev");
    assert_string_equal(t.evaluation[0].rows, "dev 20");
    /* The seventh step has the two rows that are left; all of an epoch are trained. */
    double tokens = 0;
    for (int i = 0; i < 7; i++) tokens += t.tokens[i];
    assert_true(tokens == (double)ground.task.train.start[20]);
    trained_release(&t);
    config_release(&c);
}

static void wait_for(struct pool *p, struct run *r, enum run_state state) {
    struct run_progress now;
    for (int i = 0; i < 20000; i++) {
        run_progress(r, &now);
        if (now.state == state) return;
        pool_wait(p, r, 0.001);
    }
    fail_msg("the run did not become %s", run_state_name(state));
}

/* A receiver that takes its time, so that requests come in the midst of the run. */
static void keep_slowly(void *self, const struct event *e) {
    struct event_sink sink = trained_sink(self);
    usleep(300);
    sink.send(sink.self, e);
}

static void pause_and_stop_take_effect(void **state) {
    (void)state;
    struct run_config c = ground_config(&ground, "lora(r=2)", 2, 2000);
    struct trained whole, t = { 0 };
    struct err e = ERR_INIT;
    c.eval_every = 100;
    struct event_sink slow = { &t, keep_slowly };
    struct run *r = run_new(1, &c, ground.model, &ground.task, NULL, slow, &e);
    struct pool *p = pool_new(2);
    struct run_progress before, after;
    assert_non_null(r);
    pool_add(p, r, 0);
    for (int i = 0; i < 5; i++) {
        run_pause(r);
        wait_for(p, r, RUN_PAUSED);
        run_progress(r, &before);
        pool_wait(p, r, 0.02);
        run_progress(r, &after);
        assert_int_equal(before.step, after.step);
        assert_true(before.seconds == after.seconds);
        run_unpause(r);
        pool_wake(p);
        wait_for(p, r, RUN_RUNNING);
        pool_wait(p, r, 0.005);
        run_progress(r, &after);
        assert_true(after.seconds > before.seconds);
    }
    run_pause(r);
    wait_for(p, r, RUN_PAUSED);
    run_stop(r);
    pool_wake(p);
    assert_true(pool_wait(p, r, 30));
    assert_int_equal(trained_state(&t), RUN_STOPPED);
    assert_true(t.points > 0 && t.points < 2000);
    pool_free(p);
    run_free(r);
    for (int i = 0; i < t.points; i++) assert_int_equal(t.step[i], i + 1);
    train(&ground, &c, NULL, 1, &whole);
    assert_memory_equal(whole.loss, t.loss, (size_t)t.points * sizeof t.loss[0]);
    trained_release(&whole);
    config_release(&c);
}

/* Three runs on two workers: each gives what it gives alone, and none waits for another's
 * end but those that have no place. */
static void runs_take_turns(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "bitfit", "adapter-pfeiffer(r=4)" };
    struct trained alone[3], t[3];
    struct run *r[3];
    struct err e = ERR_INIT;
    struct pool *p = pool_new(2);
    for (int i = 0; i < 3; i++) {
        struct run_config c = ground_config(&ground, methods[i], 2, 60);
        train(&ground, &c, NULL, 1, &alone[i]);
        t[i] = (struct trained){ 0 };
        r[i] = run_new(i, &c, ground.model, &ground.task, NULL, trained_sink(&t[i]), &e);
        assert_non_null(r[i]);
        config_release(&c);
    }
    for (int i = 0; i < 3; i++) pool_add(p, r[i], i == 0);
    for (int i = 0; i < 3; i++) {
        assert_true(pool_wait(p, r[i], 60));
        assert_int_equal(trained_state(&t[i]), RUN_FINISHED);
        assert_memory_equal(t[i].loss, alone[i].loss, 60 * sizeof t[i].loss[0]);
    }
    pool_free(p);
    for (int i = 0; i < 3; i++) {
        run_free(r[i]);
        trained_release(&alone[i]);
    }
}

/* What a run says of the evaluation in hand when its scores are told: all rows, each once. */
struct teller {
    struct trained told;
    struct run *run;
    int evaluations;
    struct run_progress at, after;
};
static void keep_progress(void *self, const struct event *e) {
    struct teller *t = self;
    struct event_sink sink = trained_sink(&t->told);
    sink.send(sink.self, e);
    if (e->kind == EVENT_EVALUATION && !e->auxiliary && !t->evaluations++) run_progress(t->run, &t->at);
    if (e->kind == EVENT_POINT) run_progress(t->run, &t->after);
}

static void an_evaluation_tells_how_far_it_is(void **state) {
    (void)state;
    struct run_config c = ground_config(&ground, "lora(r=2)", 2, 4);
    struct teller t = { 0 };
    struct err e = ERR_INIT;
    c.eval_every = 2;
    c.embed_every = 2; /* its rows come along and are not counted with the scores */
    t.run = run_new(1, &c, ground.model, &ground.task, NULL, (struct event_sink){ &t, keep_progress }, &e);
    assert_non_null(t.run);
    struct pool *p = pool_new(2);
    pool_add(p, t.run, 0);
    assert_true(pool_wait(p, t.run, 30));
    pool_free(p);
    run_free(t.run);
    assert_int_equal(t.evaluations, 2);
    assert_int_equal(t.at.to_score, 20);
    assert_int_equal(t.at.scored, 20);
    assert_int_equal(t.after.to_score, 0);
    config_release(&c);
}

/* One worker: a long run that is trained, and one of so many steps that waits behind it. */
struct queue {
    struct pool *pool;
    struct run *first, *second;
    struct trained a, b; /* what each of them told */
};

static void queue_open(struct queue *q, int steps) {
    struct run_config c = ground_config(&ground, "lora(r=2)", 2, 2000);
    struct err e = ERR_INIT;
    *q = (struct queue){ .pool = pool_new(1) };
    q->first = run_new(1, &c, ground.model, &ground.task, NULL, (struct event_sink){ &q->a, keep_slowly }, &e);
    c.steps = steps;
    q->second = run_new(2, &c, ground.model, &ground.task, NULL, trained_sink(&q->b), &e);
    pool_add(q->pool, q->first, 0);
    pool_add(q->pool, q->second, 0);
    wait_for(q->pool, q->first, RUN_RUNNING);
    config_release(&c);
}

static void queue_close(struct queue *q) {
    pool_free(q->pool);
    run_free(q->first);
    run_free(q->second);
}

/* Also when the next one was there before the pause. */
static void a_paused_run_leaves_its_place(void **state) {
    (void)state;
    struct queue q;
    queue_open(&q, 5);
    run_pause(q.first);
    assert_true(pool_wait(q.pool, q.second, 30));
    assert_int_equal(trained_state(&q.b), RUN_FINISHED);
    run_stop(q.first);
    pool_wake(q.pool);
    assert_true(pool_wait(q.pool, q.first, 30));
    queue_close(&q);
}

static void a_queued_run_can_be_stopped(void **state) {
    (void)state;
    struct queue q;
    queue_open(&q, 2000);
    run_stop(q.second);
    pool_wake(q.pool);
    assert_true(pool_wait(q.pool, q.second, 30));
    struct run_progress now;
    run_progress(q.first, &now);
    assert_int_equal(now.state, RUN_RUNNING);
    assert_int_equal(q.b.states, 1);
    assert_int_equal(q.b.state[0], RUN_STOPPED);
    assert_int_equal(q.b.points, 0);
    run_stop(q.first);
    pool_wake(q.pool);
    assert_true(pool_wait(q.pool, q.first, 30));
    queue_close(&q);
}

/* With a rate of nothing no evaluation is better than the first. */
static void a_run_that_gains_nothing_stops_early(void **state) {
    (void)state;
    struct run_config c = ground_config(&ground, "lora(r=2)", 2, 100);
    struct trained t;
    c.lr = 1e-30;
    c.eval_every = 4;
    c.early_stop = 3;
    train(&ground, &c, NULL, 2, &t);
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_int_equal(t.evaluations, 4);
    assert_int_equal(t.points, 16);
    assert_true(t.evaluation[0].best && !t.evaluation[1].best);
    assert_non_null(strstr(t.message, "early stopping: no improvement of accuracy in 3 evaluations"));
    trained_release(&t);
    config_release(&c);
}

/* Earlier points are stored, the NaN is recorded as it is, the reason names step
 * and op, and the best is from before. */
static void a_run_that_diverges_fails_with_step_and_op(void **state) {
    (void)state;
    static const char *const methods[] = { "full", "lora(r=2)", "adapter-houlsby(r=4)", "bitfit",
                                           "head" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct run_config c = ground_config(&ground, methods[i], 2, 20);
        struct trained t;
        c.lr = 1e30;
        train(&ground, &c, NULL, 2, &t);
        assert_int_equal(trained_state(&t), RUN_FAILED);
        assert_true(t.points >= 2 && t.points < 20);
        for (int j = 0; j + 1 < t.points; j++) {
            assert_int_equal(t.step[j], j + 1);
            assert_true(t.loss[j] < 1e25);
        }
        bool saturated = i == 1 || i == 4; /* every value stays finite */
        assert_int_equal(isfinite(t.loss[t.points - 1]), saturated);
        char step[32];
        snprintf(step, sizeof step, "step %d: ", t.points);
        assert_ptr_equal(strstr(t.reason, step), t.reason);
        assert_non_null(strstr(t.reason, saturated ? "the run has diverged"
                                                   : "first produced by op "));
        assert_null(strstr(t.reason, "unknown"));
        trained_release(&t);
        config_release(&c);
    }
}

static void wrong_runs_are_refused(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct event_sink none = { NULL, NULL };
    struct run_config c = ground_config(&ground, "lora(r=2)", 2, 10);
    test_refused(config_set(&c, "method", "lroa", &e), ERR_USAGE, &e, "lora");
    c.accumulate = 3;
    assert_null(run_new(1, &c, ground.model, &ground.task, NULL, none, &e));
    test_refused(e.code, ERR_USAGE, &e, "--gradient-accumulation-steps");
    c.accumulate = 1;
    c.metric = xstrdup("pearson");
    assert_null(run_new(1, &c, ground.model, &ground.task, NULL, none, &e));
    test_refused(e.code, ERR_USAGE, &e, "--metric");
    config_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_through_its_states),
        cmocka_unit_test(pause_and_stop_take_effect),
        cmocka_unit_test(runs_take_turns),
        cmocka_unit_test(an_evaluation_tells_how_far_it_is),
        cmocka_unit_test(a_paused_run_leaves_its_place),
        cmocka_unit_test(a_queued_run_can_be_stopped),
        cmocka_unit_test(a_run_that_gains_nothing_stops_early),
        cmocka_unit_test(a_run_that_diverges_fails_with_step_and_op),
        cmocka_unit_test(wrong_runs_are_refused),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
