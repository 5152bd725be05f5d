/* What a test of equivalence has: a model of every family, points of a method on it, and how far two points lie apart. */
#ifndef TESTS_METHOD_EQUIVALENCE_H
#define TESTS_METHOD_EQUIVALENCE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

static struct rig rig;
static int model; /* the number of that which the tests run on */

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

/* A plan with its values. */
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

/* A model tensor that the method trains; NULL where the family has none. */
static inline real *trained(struct point a, struct place p, enum tensor_role role) {
    int i = find(p, role);
    return i < 0 ? NULL : a.x + rig_tensor(a.p, rig.m->tensor[i].name)->offset;
}

/* Both heads become the first's. */
static inline double apart(struct point a, struct point b) {
    size_t n = a.p->head; /* the last in the block */
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

/* The tests on every model; how many failed. */
#define EQUIVALENCE_RUN(tests, failed)                                                                        \
    for (failed = 0; rig_folder(model); model++)                                                              \
        failed += cmocka_run_group_tests_name(rig_folder(model), tests, open_rig, close_rig)

#endif
