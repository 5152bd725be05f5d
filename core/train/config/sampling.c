#include "core/train/config/sampling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/train/run/order.h"

static const double default_temperature = 10;
static const char *const sampling_names[SAMPLING_RULES] = { "proportional", "temperature", "one-task",
                                                            "stratified" };

int sampling_parse(const char *text, struct sampling *out, struct err *e) {
    size_t n = strcspn(text, "(");
    const char *inner = text[n] ? text + n + 1 : NULL;
    size_t length = inner ? strlen(inner) : 0;
    for (int i = 0; i < SAMPLING_RULES; i++) {
        if (strlen(sampling_names[i]) != n || memcmp(sampling_names[i], text, n)) continue;
        double t = default_temperature;
        char number[32] = "";
        if (inner && i != SAMPLING_PROPORTIONAL && length > 1 && length <= sizeof number &&
            inner[length - 1] == ')')
            memcpy(number, inner, length - 1);
        if (inner && (!text_to_double(number, &t) || !(t > 0) || t > 1e6)) break;
        *out = (struct sampling){ (enum sampling_rule)i, i == SAMPLING_PROPORTIONAL ? 1 : t };
        return 0;
    }
    return err_set(
        e, ERR_USAGE,
        "--sampling %s: must be proportional, temperature(T), one-task(T) or stratified(T), with T above 0 "
        "(default 10)",
        text);
}

static int parse_said(const char *text, void *value, struct err *e) {
    return sampling_parse(text, &((struct sampling_given *)value)->how, e);
}
const struct option_parser sampling_parser = { offsetof(struct sampling_given, text), parse_said };

struct sampling config_sampling(const struct run_config *c) {
    return c->sampling ? c->sampling->how : (struct sampling){ SAMPLING_PROPORTIONAL, 1 };
}

void sampling_text(const struct sampling *s, char out[48]) {
    char t[32];
    text_from_double(s->temperature, t);
    if (s->rule == SAMPLING_PROPORTIONAL) snprintf(out, 48, "%s", sampling_names[s->rule]);
    else snprintf(out, 48, "%s(%s)", sampling_names[s->rule], t);
}

void sampling_shares(const struct sampling *s, int tasks, const size_t *rows, double *shares) {
    double sum = 0, most = 0;
    for (int i = 0; i < tasks; i++)
        if ((double)rows[i] > most) most = (double)rows[i];
    for (int i = 0; i < tasks; i++) {
        bool plain = s->rule == SAMPLING_PROPORTIONAL;
        shares[i] = plain ? (double)rows[i] : pow((double)rows[i] / most, 1 / s->temperature);
        sum += shares[i];
    }
    for (int i = 0; i < tasks; i++) shares[i] /= sum;
}

/* ---- stratified: a fixed number of examples of each task ---- */

/* Returns the number of tasks of which a batch can hold two examples. */
static int tasks_at_once(int tasks, int batch) {
    return 2 * tasks <= batch ? tasks : batch > 1 ? batch / 2 : 1;
}

/* Returns task k of the tasks of a step. */
static int task_in_turn(int tasks, int at_once, int64_t step, int k) {
    return at_once == tasks ? k : (int)((step % tasks * at_once + k) % tasks);
}

/* Distributes a batch over the tasks of this step: at least two examples each (one in a batch of one), the
 * rest by the largest remainders of their shares. A task exceeds its share only by that minimum. */
static void stratify(int tasks, const double *share, int batch, int64_t step, int *count) {
    int at_once = tasks_at_once(tasks, batch), least = batch > 1 ? 2 : 1;
    double *want = xcalloc((size_t)tasks, sizeof *want), sum = 0;
    memset(count, 0, (size_t)tasks * sizeof *count);
    for (int k = 0; k < at_once; k++) sum += share[task_in_turn(tasks, at_once, step, k)];
    int given = 0;
    for (int k = 0; k < at_once; k++) {
        int t = task_in_turn(tasks, at_once, step, k);
        want[t] = share[t] / sum * batch;
        count[t] = (int)want[t] > least ? (int)want[t] : least;
        given += count[t];
    }
    while (given != batch) {
        /* Adds an example to the task furthest below its share, or removes one from that furthest above
         * it. */
        int best = -1, by = given < batch ? 1 : -1;
        for (int t = 0; t < tasks; t++) {
            if (want[t] == 0 || (by < 0 && count[t] <= least)) continue;
            if (best < 0 || by * (want[t] - count[t]) > by * (want[best] - count[best])) best = t;
        }
        BUG_IF(best < 0);
        count[best] += by;
        given += by;
    }
    free(want);
}

void sampling_expected(const struct sampling *s, int tasks, const size_t *rows, int batch, double *expected) {
    double *share = xcalloc((size_t)tasks, sizeof *share);
    sampling_shares(s, tasks, rows, share);
    for (int i = 0; i < tasks; i++) expected[i] = share[i] * batch;
    if (s->rule == SAMPLING_STRATIFIED) {
        int *count = xcalloc((size_t)tasks, sizeof *count);
        for (int i = 0; i < tasks; i++) expected[i] = 0;
        for (int step = 0; step < tasks; step++) { /* the turns repeat after that many steps */
            stratify(tasks, share, batch, step, count);
            for (int i = 0; i < tasks; i++) expected[i] += (double)count[i] / tasks;
        }
        free(count);
    }
    free(share);
}

/* ---- the sampler ---- */

struct passes {
    size_t rows;
    uint32_t first;
    int64_t pass; /* the pass of `order`; -1: none */
    uint32_t *order;
    int64_t taken; /* examples in all steps before `at` */
};

struct sampler {
    struct sampling how;
    uint64_t seed;
    int tasks, batch;
    size_t rows; /* total over the tasks */
    double *share;
    struct passes *of; /* one per task; proportional: one over all tasks */
    int64_t at;        /* the step up to which `taken` counts */
    int *count;
};

struct sampler *sampler_new(const struct sampling *s, uint64_t seed, int tasks, const size_t *rows,
                            int batch) {
    struct sampler *x = xcalloc(1, sizeof *x);
    BUG_IF(tasks < 1 || batch < 1);
    *x = (struct sampler){ .how = *s, .seed = seed, .tasks = tasks, .batch = batch };
    x->share = xcalloc((size_t)tasks, sizeof *x->share);
    x->count = xcalloc((size_t)tasks, sizeof *x->count);
    x->of = xcalloc((size_t)tasks, sizeof *x->of);
    sampling_shares(s, tasks, rows, x->share);
    for (int i = 0; i < tasks; i++) {
        BUG_IF(!rows[i]);
        x->of[i] = (struct passes){ .rows = rows[i], .first = (uint32_t)x->rows, .pass = -1 };
        x->rows += rows[i];
    }
    if (s->rule == SAMPLING_PROPORTIONAL) x->of[0].rows = x->rows;
    int sets = s->rule == SAMPLING_PROPORTIONAL ? 1 : tasks;
    for (int i = 0; i < sets; i++) x->of[i].order = xmalloc(x->of[i].rows * sizeof *x->of[i].order);
    return x;
}

void sampler_free(struct sampler *s) {
    if (!s) return;
    for (int i = 0; i < s->tasks; i++) free(s->of[i].order);
    free(s->of);
    free(s->share);
    free(s->count);
    free(s);
}

int64_t sampler_epoch(const struct sampler *s) {
    return ((int64_t)s->rows + s->batch - 1) / s->batch;
}

/* Returns example k of the infinite sequence of a task. */
static uint32_t row_at(struct sampler *s, int task, int64_t k) {
    struct passes *p = &s->of[task];
    int64_t pass = k / (int64_t)p->rows;
    if (pass != p->pass) {
        /* a single task, or all tasks as one: the order of an epoch */
        if (s->how.rule == SAMPLING_PROPORTIONAL) order_epoch(s->seed, pass, p->order, p->rows);
        else rng_permute(rng_key(s->seed, RNG_ORDER, (uint64_t)pass, (uint64_t)task + 1), p->order, p->rows);
        p->pass = pass;
    }
    return p->first + p->order[k % (int64_t)p->rows];
}

/* Returns the task of sample i of a step. */
static int sampling_draw(const struct sampler *s, int64_t step, int i) {
    double u = rng_uniform(rng_key(s->seed, RNG_ORDER, (uint64_t)step, rng_site("task")), (uint64_t)i);
    int t = 0;
    while (t < s->tasks - 1 && u >= s->share[t]) u -= s->share[t++];
    return t;
}

/* Counts the examples of each task in a step. */
static void count_step(struct sampler *s, int64_t step) {
    memset(s->count, 0, (size_t)s->tasks * sizeof *s->count);
    switch (s->how.rule) {
    case SAMPLING_TEMPERATURE:
        for (int i = 0; i < s->batch; i++) s->count[sampling_draw(s, step, i)]++;
        break;
    case SAMPLING_ONE_TASK: s->count[sampling_draw(s, step, 0)] = s->batch; break;
    case SAMPLING_STRATIFIED: stratify(s->tasks, s->share, s->batch, step, s->count); break;
    default: BUG("unknown sampling rule %d", (int)s->how.rule);
    }
}

/* The last step of a pass may be smaller. */
static int proportional_step(struct sampler *s, int64_t step, uint32_t *rows) {
    int64_t per_epoch = sampler_epoch(s), epoch = step / per_epoch, from = step % per_epoch * s->batch;
    int64_t left = (int64_t)s->rows - from;
    int n = (int)(left < s->batch ? left : s->batch);
    for (int i = 0; i < n; i++) rows[i] = row_at(s, 0, epoch * (int64_t)s->rows + from + i);
    return n;
}

int sampler_step(struct sampler *s, int64_t step, uint32_t *rows) {
    if (s->how.rule == SAMPLING_PROPORTIONAL) return proportional_step(s, step, rows);
    if (step < s->at) {
        for (int i = 0; i < s->tasks; i++) s->of[i].taken = 0;
        s->at = 0;
    }
    for (; s->at < step; s->at++) {
        count_step(s, s->at);
        for (int i = 0; i < s->tasks; i++) s->of[i].taken += s->count[i];
    }
    count_step(s, step);
    int n = 0;
    for (int t = 0; t < s->tasks; t++)
        for (int i = 0; i < s->count[t]; i++) rows[n++] = row_at(s, t, s->of[t].taken + i);
    return n;
}
