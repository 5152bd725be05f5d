/* Several tasks in a step, in 64 bits: the loss and the whole gradient of a mixed batch are the weighted sum of
 * what runs of each task alone get on the same rows, from the values that are theirs (plan_of_task). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"

static const char *const weights[] = { "weights", "two=2,score=0.5", NULL };
static const double weight[] = { 2, 1, 0.5 };

static struct mixed mixed[MIXED_MODELS];

static int open_all(void **state) {
    (void)state;
    mixed_open_both(mixed, weights);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    mixed_release_both(mixed);
    return 0;
}

static int all_rows(const struct mixed *m) {
    size_t n = 0;
    for (int i = 0; i < m->tasks.count; i++) n += m->task[i].train.examples;
    return (int)n;
}

/* Plain descent of rate 1: a step takes the gradient off the values. */
static void descend(struct run_config *c) {
    c->optimizer = OPTIMIZER_SGD;
    c->momentum = c->weight_decay = c->clip = 0;
    c->schedule = SCHEDULE_CONSTANT;
    c->lr = 1;
}

/* A run's one step from x on; its gradient, which the caller frees. */
static real *gradient(struct run *r, const real *x, struct trained *out) {
    size_t n = run_plan(r)->trained;
    memcpy(run_params(r), x, n * sizeof *x);
    trained_run(r, 2, out);
    assert_int_equal(trained_state(out), RUN_FINISHED);
    assert_int_equal(out->points, 1);
    real *g = xcalloc(n, sizeof *g);
    for (size_t i = 0; i < n; i++) g[i] = x[i] - out->params[i];
    trained_release(out);
    return g;
}

static struct plan_tensor named(const struct plan *p, const char *name) {
    int i = 0;
    while (i < p->tensors && strcmp(p->tensor[i].name, name)) i++;
    if (i == p->tensors) fail_msg("no tensor %s", name);
    return p->tensor[i];
}

/* Adds `by` times a task's gradient where the values are that it took. */
static void add_up(const struct plan *all, const struct plan *own, int task, const real *g, double by, real *sum) {
    for (int i = 0; i < own->tensors; i++) {
        const struct plan_tensor *t = &own->tensor[i];
        char name[PLAN_NAME + PLAN_TASK];
        if (t->kind == PLAN_HEAD) snprintf(name, sizeof name, "%s/%s", all->task[task], t->name);
        else snprintf(name, sizeof name, "%s", t->name);
        const struct plan_tensor to = named(all, name);
        real *at = sum + to.offset + (to.blocks > 1 ? (size_t)task * t->count : 0);
        assert_true(to.count == t->count * (size_t)to.blocks);
        for (size_t k = 0; k < t->count; k++) at[k] += (real)by * g[t->offset + k];
    }
}

/* What runs of one task each come to: the weighted gradient, each task's loss and the weighted one. */
struct alone {
    real *gradient;
    double loss[TRAINED_TASKS], sum;
};

static struct alone alone(struct mixed *m, const struct run_config *c, const struct plan *p, const real *x) {
    struct alone a = { .gradient = xcalloc(p->trained, sizeof *a.gradient) };
    for (int t = 0; t < m->tasks.count; t++) {
        struct err e = ERR_INIT;
        struct run_config one;
        struct trained out = { 0 };
        real *own_x, *own_made;
        struct plan *own = plan_of_task(p, &m->model->arch, t, x, NULL, &own_x, &own_made, &e);
        if (!own) fail_msg("%s", e.text);
        config_of_task(c, t, &one);
        one.method = own->method;
        one.batch = (int)m->task[t].train.examples;
        one.accumulate = one.shards = 1;
        struct run *r = run_new(1, &one, m->model, &m->task[t], NULL, trained_sink(&out), &e);
        if (!r) fail_msg("%s", e.text);
        real *g = gradient(r, own_x, &out);
        double share = c->loss_mean == MEAN_SUM ? 1 : (double)one.batch / all_rows(m);
        add_up(p, own, t, g, weight[t] * share, a.gradient);
        a.loss[t] = out.loss[0];
        a.sum += weight[t] * share * out.loss[0];
        free(g);
        free(own_x);
        free(own_made);
        plan_free(own);
        config_release(&one);
    }
    return a;
}

static void near(const char *what, double got, double want) {
    if (!(fabs(got - want) <= 1e-11 * fmax(1, fabs(want)))) fail_msg("%s: %.15g, not %.15g", what, got, want);
}

static void same_gradient(const char *text, const struct plan *p, const real *got, const real *want) {
    double most = 0;
    for (size_t i = 0; i < p->trained; i++) most = fmax(most, fabs(want[i]));
    assert_true(most > 0);
    for (int i = 0; i < p->tensors; i++)
        for (size_t k = p->tensor[i].offset; k < p->tensor[i].offset + p->tensor[i].count; k++)
            if (!(fabs(got[k] - want[k]) <= 1e-12 * fmax(1, most)))
                fail_msg("%s: %s[%zu]: %.15g, of the tasks alone %.15g", text, p->tensor[i].name,
                         k - p->tensor[i].offset, got[k], want[k]);
}

/* plan_init's values moved, so that no gradient is zero for want of a value. */
static real *start_of(struct run *r) {
    const struct plan *p = run_plan(r);
    real *x = xcalloc(p->trained, sizeof *x);
    struct rng_key key = rng_key(5, RNG_TEST, 0, rng_site("tasks"));
    for (size_t i = 0; i < p->trained; i++) x[i] = run_params(r)[i] + (real)(0.2 * rng_normal(key, i));
    return x;
}

static void sum_of_its_tasks(struct mixed *m, const char *text, enum loss_mean mean) {
    static const int cuts[][2] = { { 1, 1 }, { 1, 4 }, { 2, 1 }, { 2, 4 } }; /* accumulate, shards */
    struct run_config c = mixed_config(m, text, all_rows(m), 1);
    struct alone want = { 0 };
    real *x = NULL;
    descend(&c);
    c.loss_mean = mean;
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        struct trained out = { 0 };
        c.accumulate = cuts[i][0];
        c.shards = cuts[i][1];
        struct run *r = mixed_begin(m, &c, NULL, trained_sink(&out));
        struct err e = ERR_INIT;
        struct plan *p = run_plan_for(&c, &m->tasks, &m->model->arch, &e);
        if (!x) {
            x = start_of(r);
            want = alone(m, &c, p, x);
        }
        real *g = gradient(r, x, &out);
        same_gradient(text, p, g, want.gradient);
        near("loss", out.loss[0], want.sum);
        assert_int_equal(out.tasks, m->tasks.count);
        for (int t = 0; t < out.tasks; t++) {
            assert_string_equal(out.task[t], c.of[t].task_name);
            near(out.task[t], out.task_loss[t][0], want.loss[t]);
        }
        free(g);
        plan_free(p);
    }
    free(want.gradient);
    free(x);
    config_release(&c);
}

static const char *const methods[] = {
    "bottleneck(r=2; act=tanh, read=f.in, write=f.out, source=task)",
    "bottleneck(r=2; act=tanh, read=f.in, write=f.out, source=task, norm=own)",
    "bottleneck(r=2; act=tanh, read=f.out, write=f.out, source=task, norm=shared)",
    "linear(r=2; read=a.in, write=a.q, source=task, comp=learned(1.5)) + linear(r=2; read=a.in, write=a.v)",
    "scale(write=a.k, source=task) + full(target=norms)",
    "softmax(l=2; source=task) + scale(write=f.act)",
    "softmax(l=3; comp=add, source=task)",
    "softmax(l=2; source=mlp(4)) + bottleneck(r=2; act=gelu, read=a.in, write=a.out, source=task)",
    "bottleneck(r=2; act=gelu, read=f.in, write=f.out, source=shared, norm=own)",
    "full",
};

static void heads_of_classes_and_scores(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(methods); i++) sum_of_its_tasks(&mixed[BERT], methods[i], MEAN_TOKENS);
}

static void tasks_written_as_text(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(methods); i++) sum_of_its_tasks(&mixed[T5], methods[i], MEAN_TOKENS);
    for (int mean = 0; mean <= MEAN_POSITIONS; mean++) sum_of_its_tasks(&mixed[T5], methods[0], (enum loss_mean)mean);
}

/* Each task's dev rows are its training rows: what a step says of a task is what an evaluation of the same
 * values says. */
static void terms_are_the_evaluations_losses(void **state) {
    (void)state;
    for (int i = 0; i < MIXED_MODELS; i++) {
        struct mixed *m = &mixed[i];
        struct run_config c = mixed_config(m, methods[1], all_rows(m), 1);
        struct trained out;
        double sum = 0;
        descend(&c);
        c.lr = 1e-30;
        mixed_train(m, &c, NULL, 2, 0, &out);
        assert_int_equal(out.evaluations, m->tasks.count + 1);
        for (int t = 0; t < m->tasks.count; t++) {
            assert_string_equal(out.evaluation[t].task, out.task[t]);
            near(out.task[t], out.task_loss[t][0], out.evaluation[t].loss);
            sum += weight[t] * (double)m->task[t].train.examples / all_rows(m) * out.evaluation[t].loss;
        }
        near("loss", out.loss[0], sum);
        trained_release(&out);
        config_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_of_classes_and_scores),
        cmocka_unit_test(tasks_written_as_text),
        cmocka_unit_test(terms_are_the_evaluations_losses),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
