/* The crew: each unit once, rounds in order, giving up, shares of time, calls from within. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/crew.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

enum { UNITS = 1000, ROUNDS = 40 };

struct counted {
    int width, round, units;
    atomic_int seen[UNITS], now, bad;
    int sum[UNITS];        /* Σ over rounds, of what the round before left */
    struct crew *crew;
};

/* A unit reads what other units of the round before wrote. */
static void count_unit(void *self, int index, int worker) {
    struct counted *c = self;
    if (worker < 0 || worker >= c->width || atomic_fetch_add(&c->now, 1) >= c->width) atomic_store(&c->bad, 1);
    if (atomic_fetch_add(&c->seen[index], 1) != c->round) atomic_store(&c->bad, 1);
    c->sum[index] += 1;
    atomic_fetch_sub(&c->now, 1);
}

static int count_round(void *self) {
    struct counted *c = self;
    if (atomic_load(&c->now)) atomic_store(&c->bad, 1);
    for (int i = 0; i < c->units; i++)
        if (c->sum[i] != c->round + 1) atomic_store(&c->bad, 1);
    return ++c->round < ROUNDS ? c->units : 0;
}

static void all_units_once_and_rounds_in_order(void **state) {
    (void)state;
    static struct counted c;
    for (int workers = 0; workers <= 5; workers++) {
        struct crew *crew = workers ? crew_new(workers, NULL) : NULL;
        assert_int_equal(crew_width(crew), workers ? workers : 1);
        for (int units = 1; units <= UNITS; units = units * 9 + 1) {
            memset(&c, 0, sizeof c);
            c.width = crew_width(crew);
            c.units = units;
            assert_true(crew_do(crew, &(struct crew_work){ &c, units, count_unit, count_round, NULL }));
            assert_int_equal(c.round, ROUNDS);
            assert_int_equal(atomic_load(&c.bad), 0);
        }
        assert_true(crew_do(crew, &(struct crew_work){ .self = &c, .unit = count_unit }));
        crew_free(crew);
    }
}

/* ---- giving up ---- */

struct patience {
    atomic_int done;
    int told, most;
    pthread_t caller;
};

static void short_unit(void *self, int index, int worker) {
    struct patience *p = self;
    (void)index;
    (void)worker;
    atomic_fetch_add(&p->done, 1);
    for (double until = clock_seconds() + 2e-4; clock_seconds() < until;) continue;
}

static bool until_most(void *self, int done) {
    struct patience *p = self;
    assert_true(pthread_equal(pthread_self(), p->caller));
    assert_true(done > p->told && done <= atomic_load(&p->done));
    p->told = done;
    return done < p->most;
}

static int same_again(void *self) {
    (void)self;
    return UNITS;
}

static void what_is_given_up_ends(void **state) {
    (void)state;
    for (int workers = 0; workers <= 3; workers++) {
        struct crew *crew = workers ? crew_new(workers, NULL) : NULL;
        struct patience p = { .most = 5, .caller = pthread_self() };
        assert_false(crew_do(crew, &(struct crew_work){ &p, UNITS, short_unit, same_again, until_most }));
        int done = atomic_load(&p.done);
        assert_true(done >= 5 && done < UNITS);
        p = (struct patience){ .most = 1 << 30, .caller = pthread_self() };
        assert_true(crew_do(crew, &(struct crew_work){ &p, 20, short_unit, NULL, until_most }));
        assert_int_equal(atomic_load(&p.done), 20);
        crew_free(crew);
    }
}

/* ---- several callers, calls from within ---- */

struct within {
    struct crew *crew;
    atomic_int inner;
    pthread_t thread;
};

static void inner_unit(void *self, int index, int worker) {
    struct within *w = self;
    (void)index;
    (void)worker;
    if (pthread_equal(pthread_self(), w->thread)) atomic_fetch_add(&w->inner, 1);
}

static void outer_call(void *self) {
    struct within *w = self;
    w->thread = pthread_self();
    crew_do(w->crew, &(struct crew_work){ .self = w, .units = 50, .unit = inner_unit });
}

static void *ask_often(void *self) {
    for (int i = 0; i < 50; i++) {
        struct within w = { .crew = self };
        crew_call(w.crew, outer_call, &w);
        if (atomic_load(&w.inner) != 50) return self;
    }
    return NULL;
}

static void callers_share_and_may_ask_from_within(void **state) {
    (void)state;
    struct crew *crew = crew_new(2, NULL);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, ask_often, crew), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    crew_free(crew);
}

/* ---- shares ---- */

/* Work without an end, in units of so many seconds. */
struct endless {
    double unit;
    atomic_bool stop;
    atomic_int units;
    atomic_long microseconds; /* that they took */
    atomic_int asked;         /* units when a question was answered */
    atomic_int at_work, most; /* units of both kinds at once */
};

static void busy(struct endless *x, double seconds) {
    int now = atomic_fetch_add(&x->at_work, 1) + 1;
    if (now > atomic_load(&x->most)) atomic_store(&x->most, now);
    for (double until = clock_seconds() + seconds; clock_seconds() < until;) continue;
    atomic_fetch_sub(&x->at_work, 1);
}

static bool take_endless(void *self, int worker) {
    struct endless *x = self;
    (void)worker;
    return !atomic_load(&x->stop);
}

static void work_endless(void *self, int worker) {
    struct endless *x = self;
    double began = clock_seconds();
    (void)worker;
    busy(x, x->unit);
    atomic_fetch_add(&x->microseconds, (long)(1e6 * (clock_seconds() - began)));
    atomic_fetch_add(&x->units, 1);
}

static void waited_unit(void *self, int index, int worker) {
    struct endless *x = self;
    (void)index;
    (void)worker;
    atomic_store(&x->asked, atomic_load(&x->units));
    busy(self, 0.001);
}

static void rest(double seconds) {
    for (double until = clock_seconds() + seconds; clock_seconds() < until;) continue;
}

/* What is waited for gets three quarters where it has units all the time, whatever the lengths of the units;
 * the rest goes on. */
static void what_goes_on_is_not_starved(void **state) {
    (void)state;
    for (int workers = 1; workers <= 2; workers++) {
        struct endless x = { .unit = 0.005 };
        struct crew *crew = crew_new(workers, &(struct crew_source){ &x, take_endless, work_endless });
        rest(0.2); /* no credit comes of having been alone */
        long before = atomic_load(&x.microseconds);
        double began = clock_seconds();
        crew_do(crew, &(struct crew_work){ .self = &x, .units = 600 * workers, .unit = waited_unit });
        double took = clock_seconds() - began, share = 1e-6 * (double)(atomic_load(&x.microseconds) - before) / took / workers;
        printf("%d workers: what goes on had %.2f of the time\n", workers, share);
        assert_true(share > 0.12 && share < 0.4);
        assert_true(atomic_load(&x.most) <= workers);
        atomic_store(&x.stop, true);
        crew_free(crew);
    }
}

/* A short question is answered as soon as a worker is free, however long the other has worked alone. */
static void a_question_is_next(void **state) {
    (void)state;
    struct endless x = { .unit = 0.02 };
    struct crew *crew = crew_new(1, &(struct crew_source){ &x, take_endless, work_endless });
    int prompt = 0; /* where the machine did not keep the caller waiting itself */
    rest(0.1);
    for (int i = 0; i < 10; i++) {
        int before = atomic_load(&x.units);
        crew_do(crew, &(struct crew_work){ .self = &x, .units = 1, .unit = waited_unit });
        prompt += atomic_load(&x.asked) - before <= 2; /* the one in hand, or one begun as it was asked */
    }
    assert_true(prompt >= 5);
    atomic_store(&x.stop, true);
    crew_free(crew);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_units_once_and_rounds_in_order),
        cmocka_unit_test(what_is_given_up_ends),
        cmocka_unit_test(callers_share_and_may_ask_from_within),
        cmocka_unit_test(what_goes_on_is_not_starved),
        cmocka_unit_test(a_question_is_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
