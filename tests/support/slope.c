#include "tests/support/slope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/slots.h"
#include "tests/support/test.h"

enum { FEW_TENSORS = 5 };

/* The squared length of a row of a decomposed module's W + s W_u W_d. */
static double length_of(const struct rig *r, const struct plan *p, const struct plan_tensor *t, int row, const real *x) {
    const struct module *m = &p->method.module[t->module];
    const struct plan_tensor *d = plan_slot(p, t->module, SLOT_DOWN_W, t->stack, t->site, t->layer),
                             *u = plan_slot(p, t->module, SLOT_UP_W, t->stack, t->site, t->layer),
                             *s = plan_slot(p, t->module, SLOT_SCALE, t->stack, t->site, t->layer);
    int i = arch_find(r->m->tensor, r->m->tensors, tap_weight_role(m->write), t->stack, t->site, t->layer);
    double sum = 0, scale = s ? (double)x[s->offset] : m->comp == COMP_SCALED ? m->scale : 1;
    for (int c = 0; c < d->cols; c++) {
        double w = (double)r->m->weight[i][row * d->cols + c];
        for (int k = 0; k < d->rows; k++)
            w += scale * (double)x[u->offset + (size_t)(row * d->rows + k)] * (double)x[d->offset + (size_t)(k * d->cols + c)];
        sum += w * w;
    }
    return sum;
}

/* The norms of decomposed modules are constants to their gradients: m is moved so that m over the norm stays. */
static void hold_lengths(const struct rig *r, const struct plan *p, const real *x, real *moved) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind != PLAN_OWN || t->role != SLOT_LENGTH || p->method.module[t->module].fn != FN_DECOMPOSED) continue;
        for (int k = 0; k < t->cols; k++)
            moved[t->offset + (size_t)k] *= (real)sqrt(length_of(r, p, t, k, moved) / length_of(r, p, t, k, x));
    }
}

/* What is never trained stays. */
static void hold_fixed(const struct plan *p, real *along) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].fixed) memset(along + p->tensor[i].offset, 0, p->tensor[i].count * sizeof *along);
}

static double slope(struct rig *r, const struct plan *p, const real *x, const real *along, real *moved, double h) {
    double side[2];
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < p->trained; i++) moved[i] = (real)(x[i] + (k ? -h : h) * along[i]);
        hold_lengths(r, p, x, moved);
        side[k] = rig_loss(r, p, moved, NULL);
    }
    return (side[0] - side[1]) / (2 * h);
}

/* A smaller step where a bend of relu lies within the larger. */
static void agree(struct rig *r, const char *text, const char *what, const struct plan *p, double analytic,
                  const real *x, const real *along, real *moved, double h) {
    double measured = 0;
    for (int again = 0; again < 3; again++, h /= 10) {
        measured = slope(r, p, x, along, moved, h);
        if (fabs(analytic - measured) <= 1e-7 + 1e-5 * fabs(measured)) return;
    }
    fail_msg("%s: %s: %.12g, by differences %.12g", text, what, analytic, measured);
}

/* With dropout, the gradient has the same bits when the activations of the layers are computed again. */
static void same_recomputed(struct rig *r, const char *text, const struct plan *p, const real *x) {
    real *g = xcalloc(2 * p->trained + 1, sizeof *g);
    r->dropout = r->attention_dropout = 0.2;
    for (int k = 0; k < 2; k++) {
        r->recompute = k;
        rig_loss(r, p, x, g + (size_t)k * p->trained);
    }
    if (memcmp(g, g + p->trained, p->trained * sizeof *g)) fail_msg("%s: recomputed activations differ", text);
    r->recompute = false;
    r->dropout = r->attention_dropout = 0;
    free(g);
}

void slope_check(struct rig *r, const char *text) {
    struct plan *p = rig_plan(r, text);
    struct rng_key key = rng_key(11, RNG_TEST, 0, rng_site(text));
    real *x = rig_params(r, p, 9, 0.3), *g = xcalloc(p->trained, sizeof *g);
    real *along = xcalloc(p->trained, sizeof *along), *moved = xcalloc(p->trained, sizeof *moved);
    double dot = 0;
    same_recomputed(r, text, p, x);
    rig_loss(r, p, x, g);
    for (size_t i = 0; i < p->trained; i++) along[i] = (real)rng_normal(key, i);
    hold_fixed(p, along);
    for (size_t i = 0; i < p->trained; i++) dot += g[i] * along[i];
    agree(r, text, "along all", p, dot, x, along, moved, 1e-6);
    memset(along, 0, p->trained * sizeof *along);
    int every = test_slow() || p->tensors < FEW_TENSORS ? 1 : 4, first = (int)rng_below(key, 2000000, (uint64_t)every);
    for (int k = first; k < p->tensors; k += every) {
        const struct plan_tensor *t = &p->tensor[k];
        if (t->fixed) continue;
        size_t i = t->offset + rng_below(key, 1000000 + (uint64_t)k, t->count);
        along[i] = 1;
        agree(r, text, t->name, p, g[i], x, along, moved, 1e-5);
        along[i] = 0;
    }
    free(x);
    free(g);
    free(along);
    free(moved);
    plan_free(p);
}

/* Whether it has a place; then it is checked. */
static int check_module(struct rig *r, struct module m) {
    struct finding f;
    struct method one = {.count = 1};
    module_normalize(&m);
    one.module[0] = m;
    if (method_check(&one, &r->m->arch, &f, 1) && f.level == LEVEL_ERROR) return 0;
    char *text = method_canonical(&one);
    slope_check(r, text);
    free(text);
    return 1;
}

static void compose(struct module *m, enum comp comp) {
    m->comp = comp;
    m->scale = comp == COMP_SCALED ? 0.5 : 1.5;
}

int slope_check_function(struct rig *r, enum fn fn) {
    static const enum source sources[] = {SOURCE_SHARED, SOURCE_TASK};
    const struct function *f = function_at(fn);
    struct module m = module_default(fn);
    enum comp comps[COMP_COUNT];
    int n = 0, done = 0, turn = 0;
    if (m.size) m.size = 3;
    for (int c = 0; c < COMP_COUNT; c++)
        if (f->comps >> c & 1) comps[n++] = (enum comp)c;
    for (int c = 0; c < n; c++) {
        compose(&m, comps[c]);
        done += check_module(r, m);
    }
    for (int tap = TAP_NONE + 1; tap < TAP_COUNT && f->form == FORM_CHANGE; tap++) {
        const enum tap reads[] = {(enum tap)tap, tap >= TAP_F_RES && tap <= TAP_F_END ? TAP_F_IN : TAP_A_IN};
        for (int k = 0; k < (module_takes(&m, TAKES_READ) ? 2 : 1); k++) {
            m.write = (enum tap)tap;
            m.read = reads[k];
            compose(&m, comps[turn % n]);
            int found = check_module(r, m);
            done += found;
            turn += found;
        }
    }
    m = module_default(fn);
    if (m.size) m.size = 3;
    for (size_t i = 0; i < COUNT_OF(sources) && module_takes(&m, TAKES_SOURCE); i++) {
        m.source = sources[i];
        done += check_module(r, m);
    }
    return done;
}
