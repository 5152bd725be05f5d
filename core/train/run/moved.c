#include "core/train/run/moved.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/model.h"
#include "core/train/run/state.h"

enum { HASH = 65, NAME = 32 };

/* Gradients of a group in a step. */
enum had { NOTHING_TO_MOVE, NO_GRADIENT, A_GRADIENT };

/* Groups: the modules, then the head, then hypernetworks. */
struct moved {
    int64_t from;        /* the first step observed */
    int groups;
    double *norm;        /* per group, before */
    char (*hash)[HASH];  /* per tensor, before */
    int64_t *still, *longest; /* per group: consecutive steps without a gradient, current and longest */
    enum had *had;       /* per group, in the current step */
    bool *reached;       /* per tensor: it had a gradient in some step */
    char (*name)[NAME];  /* names of the reported values */
};

static int moved_group(const struct plan *p, const struct plan_tensor *t) {
    int modules = p->method.count;
    return t->module >= 0 && t->module < modules ? t->module : t->kind == PLAN_HEAD ? modules : modules + 1;
}

/* Returns whether the tensor is trainable. */
static bool can_move(const struct plan_tensor *t) { return !t->frozen && !t->fixed && !t->no_gradient; }

static double moved_norm(const struct run *r, int group) {
    double squares = 0;
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        if (t->fixed || moved_group(r->plan, t) != group) continue;
        for (size_t k = 0; k < t->count; k++)
            squares += (double)r->values.params[t->offset + k] * (double)r->values.params[t->offset + k];
    }
    return sqrt(squares);
}

struct moved *moved_new(const struct run *r) {
    struct moved *m = xcalloc(1, sizeof *m);
    m->from = r->step;
    m->groups = r->plan->method.count + 2;
    m->norm = xcalloc((size_t)m->groups, sizeof *m->norm);
    m->still = xcalloc((size_t)m->groups, sizeof *m->still);
    m->longest = xcalloc((size_t)m->groups, sizeof *m->longest);
    m->had = xcalloc((size_t)m->groups, sizeof *m->had);
    m->hash = xcalloc((size_t)r->plan->tensors + 1, sizeof *m->hash);
    m->reached = xcalloc((size_t)r->plan->tensors + 1, sizeof *m->reached);
    for (int g = 0; g < m->groups; g++) m->norm[g] = moved_norm(r, g);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        sha256_hex(r->values.params + t->offset, t->count * sizeof *r->values.params, m->hash[i]);
    }
    return m;
}

void moved_free(struct moved *m) {
    if (!m) return;
    free(m->norm);
    free(m->still);
    free(m->longest);
    free(m->had);
    free(m->reached);
    free(m->hash);
    free(m->name);
    free(m);
}

static bool has_gradient(const struct run *r, const struct plan_tensor *t) {
    for (size_t k = 0; k < t->count; k++)
        if (r->values.sum[t->offset + k] != 0) return true;
    return false;
}

void moved_step(struct moved *m, const struct run *r) {
    const struct plan *p = r->plan;
    for (int g = 0; g < m->groups; g++) m->had[g] = NOTHING_TO_MOVE;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        enum had *had = &m->had[moved_group(p, t)];
        if (!can_move(t) || (*had == A_GRADIENT && m->reached[i])) continue;
        bool now = has_gradient(r, t);
        m->reached[i] |= now;
        if (*had != A_GRADIENT) *had = now ? A_GRADIENT : NO_GRADIENT;
    }
    for (int g = 0; g < m->groups; g++) {
        m->still[g] = m->had[g] == NO_GRADIENT ? m->still[g] + 1 : 0;
        if (m->still[g] > m->longest[g]) m->longest[g] = m->still[g];
    }
}

/* ---- report ---- */

struct telling {
    struct run *run;
    struct event e;
    struct moved *m;
    int names;
};

static void add(struct telling *t, const char *group, const char *what, double value) {
    char *name = t->m->name[t->names++];
    snprintf(name, NAME, "%s_%s", group, what);
    if (t->e.metrics == EVENT_METRICS) {
        run_send(t->run, t->e);
        t->e.metrics = 0;
    }
    t->e.metric[t->e.metrics++] = (struct event_metric){ name, value, isfinite(value) ? NULL :
        "NaN or infinite" };
}

static void tell_group(struct telling *t, int g) {
    const struct run *r = t->run;
    int modules = r->plan->method.count, tensors = 0, same = 0, unreached = 0;
    char group[sizeof "module-2147483648"], hash[HASH];
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *x = &r->plan->tensor[i];
        if (moved_group(r->plan, x) != g || !can_move(x)) continue;
        sha256_hex(r->values.params + x->offset, x->count * sizeof *r->values.params, hash);
        tensors++;
        same += !strcmp(hash, t->m->hash[i]);
        unreached += !t->m->reached[i];
    }
    if (!tensors) return;
    if (g < modules) snprintf(group, sizeof group, "module%d", g + 1);
    else snprintf(group, sizeof group, "%s", g == modules ? "head" : "network");
    add(t, group, "from", t->m->norm[g]);
    add(t, group, "to", moved_norm(r, g));
    add(t, group, "tensors", tensors);
    add(t, group, "same", same);
    add(t, group, "still", (double)t->m->longest[g]);
    add(t, group, "unreached", unreached);
}

void moved_tell(struct moved *m, struct run *r) {
    enum { OF_A_GROUP = 6, OF_THE_MODEL = 2 };
    char since[48], hash[HASH];
    if (r->step <= m->from) return;
    m->name = xcalloc((size_t)m->groups * OF_A_GROUP + OF_THE_MODEL, sizeof *m->name);
    snprintf(since, sizeof since, "since step %lld", (long long)m->from);
    struct telling t = {
        r, { .kind = EVENT_EVALUATION, .split = "moved", .auxiliary = true, .examples = since }, m, 0
    };
    for (int g = 0; g < m->groups; g++) tell_group(&t, g);
    model_hash(r->m, hash);
    add(&t, "frozen", "values", (double)r->plan->model);
    add(&t, "frozen", "same", !strcmp(hash, r->m->sha256));
    run_send(r, t.e);
}
