/* Shared parts of the equivalence tests: a model of every family, points of a method on it, and the distance
 * between the outputs of two points. */
#ifndef TESTS_METHOD_EQUIVALENCE_H
#define TESTS_METHOD_EQUIVALENCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "core/method/slots.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct rig rig;
static int model; /* index of the current test model */

static inline int open_rig(void **state) {
    (void)state;
    rig_open_at(&rig, rig_folder(model));
    return 0;
}

static inline int close_rig(void **state) {
    (void)state;
    rig_close(&rig);
    return 0;
}

/* A plan with its parameters. */
struct point {
    struct plan *p;
    real *x;
};

static inline struct point point(const char *text, double sigma) {
    struct point a = {.p = rig_plan(&rig, text)};
    a.x = rig_params(&rig, a.p, 21, sigma);
    return a;
}

static inline void drop(struct point a) {
    free(a.x);
    plan_free(a.p);
}

/* A sublayer of a layer. */
struct place {
    int stack, site, layer;
};
enum { PLACES = 32 };

/* Every attention, or every FFN. */
static inline int places(bool attention, struct place out[PLACES]) {
    const struct arch *a = &rig.m->arch;
    int n = 0;
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        for (int site = attention ? SUB_SELF : SUB_FFN; site <= (attention ? SUB_CROSS : SUB_FFN);
             site++)
            for (int i = 0; i < (stack ? a->decoder_layers : a->encoder_layers); i++)
                if (stack || site != SUB_CROSS) out[n++] = (struct place){stack, site, i};
    assert_in_range(n, 1, PLACES);
    return n;
}

static inline real *at(struct point a, struct place p, const char *rest) {
    char name[96];
    snprintf(name, sizeof name, "%s.%d.%s/%s", p.stack ? "dec" : "enc", p.layer, site_name(p.site),
             rest);
    return a.x + rig_tensor(a.p, name)->offset;
}

static inline int find(struct place p, enum tensor_role role) {
    return arch_find(rig.m->tensor, rig.m->tensors, role, p.stack, p.site, p.layer);
}

/* Returns a model tensor that the method trains; NULL if the family has none. */
static inline real *trained(struct point a, struct place p, enum tensor_role role) {
    int i = find(p, role);
    return i < 0 ? NULL : a.x + rig_tensor(a.p, rig.m->tensor[i].name)->offset;
}

/* Returns the largest difference of the outputs; both use the head of the first. */
static inline double apart(struct point a, struct point b) {
    size_t n = a.p->head; /* it is last in the block */
    memcpy(b.x + b.p->trained - n, a.x + a.p->trained - n, n * sizeof(real));
    real *p = rig_logits(&rig, a.p, a.x), *q = rig_logits(&rig, b.p, b.x);
    double d = rig_apart(&rig, p, q);
    free(p);
    free(q);
    return d;
}

static inline void same(const char *what, struct point a, struct point b) {
    double d = apart(a, b);
    if (!(d < 1e-10)) fail_msg("%s: logits differ by %g", what, d);
}

static inline void differ(const char *what, struct point a, struct point b) {
    double d = apart(a, b);
    if (!(d > 1e-4)) fail_msg("%s: logits differ by %g only", what, d);
}

/* out (n×m) = a (n×k) b (k×m). */
static inline void product(const real *a, const real *b, int n, int k, int m, real *out) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            real sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * m + j];
            out[i * m + j] = sum;
        }
}

static inline void times(real *x, int n, double s) {
    for (int i = 0; i < n; i++) x[i] *= s;
}

static inline int width(void) { return rig.m->arch.width; }
static inline int projected(void) { return rig.m->arch.heads * rig.m->arch.head_width; }

/* Trains with AdamW without weight decay and with a tiny ε; `factor`: multiplies the learning rate of W_u and
 * b_u. */
static inline void train_point(struct point a, double factor) {
    static const struct adamw how = {0.9, 0.999, 1e-300, 0};
    enum { STEPS = 6 };
    size_t n = a.p->trained;
    real *g = xcalloc(n, sizeof *g), *moments = xcalloc(2 * n, sizeof *moments);
    struct optim_group *group = xcalloc((size_t)a.p->tensors, sizeof *group);
    for (int i = 0; i < a.p->tensors; i++) {
        const struct plan_tensor *t = &a.p->tensor[i];
        bool up = strstr(t->name, ".W_u") || strstr(t->name, ".b_u");
        group[i] = (struct optim_group){t->offset, t->count, up ? factor : 1, 0};
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        rig_loss(&rig, a.p, a.x, g);
        optim_adamw(&how, 1e-3, step, (size_t)a.p->tensors, group, a.x, g, moments, moments + n);
    }
    free(g);
    free(moments);
    free(group);
}

/* The model with the units of a parallel adapter as additional units of the FFN. */
struct wide {
    struct model model;
    real *own[4 * PLACES];
    int owned;
};

static inline real *widen_own(struct wide *w, size_t n) { return w->own[w->owned++] = xcalloc(n, sizeof(real)); }

/* Widens one layer by the adapter x, or (NULL) by units without effect. */
static inline void widen(struct wide *w, struct place p, struct point a, int r, const struct module *x) {
    double s = x && x->comp == COMP_SCALED ? x->scale : 1;
    bool biases = x && x->biases;
    int w1 = find(p, ROLE_F1_W), b1 = find(p, ROLE_F1_B), w2 = find(p, ROLE_F2_W), b2 = find(p, ROLE_F2_B);
    int d = width(), f = rig.m->arch.inner;
    real *first = widen_own(w, (size_t)((f + r) * d)), *second = widen_own(w, (size_t)((f + r) * d));
    memcpy(first, rig.m->weight[w1], (size_t)(f * d) * sizeof *first);
    if (x) memcpy(first + f * d, at(a, p, "bottleneck.out.W_d"), (size_t)(r * d) * sizeof *first);
    for (int i = 0; i < d; i++) {
        memcpy(second + i * (f + r), rig.m->weight[w2] + i * f, (size_t)f * sizeof *second);
        if (x) memcpy(second + i * (f + r) + f, at(a, p, "bottleneck.out.W_u") + i * r, (size_t)r * sizeof *second);
        times(second + i * (f + r) + f, r, s);
    }
    w->model.weight[w1] = first;
    w->model.weight[w2] = second;
    w->model.tensor[w1].rows = w->model.tensor[w2].cols = f + r;
    if (!rig.m->arch.biases) return;
    real *inner = widen_own(w, (size_t)(f + r)), *outer = widen_own(w, (size_t)d);
    memcpy(inner, rig.m->weight[b1], (size_t)f * sizeof *inner);
    if (biases) memcpy(inner + f, at(a, p, "bottleneck.out.b_d"), (size_t)r * sizeof *inner);
    for (int i = 0; i < d; i++)
        outer[i] = rig.m->weight[b2][i] + (biases ? (real)s * at(a, p, "bottleneck.out.b_u")[i] : 0);
    w->model.weight[b1] = inner;
    w->model.weight[b2] = outer;
    w->model.tensor[b1].cols = f + r;
}

/* Widens by modules of a plan, parallel adapters of one size; release with widened_free. */
static inline struct wide widened(struct point a, bool (*is)(const struct method *m, int i)) {
    const struct method *m = &a.p->method;
    int r = 0;
    struct wide w = {.model = *rig.m};
    struct place place[PLACES];
    int n = places(false, place);
    for (int i = 0; i < m->count; i++)
        if (is(m, i)) r = m->module[i].size;
    w.model.arch.inner += r;
    w.model.tensor = xcalloc((size_t)w.model.tensors, sizeof *w.model.tensor);
    w.model.weight = xcalloc((size_t)w.model.tensors, sizeof *w.model.weight);
    memcpy(w.model.tensor, rig.m->tensor, (size_t)w.model.tensors * sizeof *w.model.tensor);
    memcpy(w.model.weight, rig.m->weight, (size_t)w.model.tensors * sizeof *w.model.weight);
    for (int i = 0; i < n; i++) {
        const struct module *x = NULL;
        for (int k = 0; k < m->count; k++)
            if (is(m, k) && module_covers(&m->module[k], &rig.m->arch, place[i].stack, place[i].site, place[i].layer)) x = &m->module[k];
        widen(&w, place[i], a, r, x);
    }
    return w;
}

static inline void widened_free(struct wide *w) {
    while (w->owned) free(w->own[--w->owned]);
    free(w->model.tensor);
    free(w->model.weight);
}

/* Runs the tests on every model; sets the number of failures. */
#define EQUIVALENCE_RUN(tests, failed)                                                                        \
    for (failed = 0; rig_folder(model); model++)                                                              \
        failed += cmocka_run_group_tests_name(rig_folder(model), tests, open_rig, close_rig)

#endif
