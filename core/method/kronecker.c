#include "core/method/kronecker.h"

#include <math.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "core/method/init.h"
#include "core/method/sources.h"

bool kronecker_is_factor(int slot) { return slot >= SLOT_KRON_A && slot <= SLOT_KRON_R_UP; }

static const struct plan_tensor *shared_rule(const struct plan *p) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].kind == PLAN_OWN && p->tensor[i].role == SLOT_KRON_A) return &p->tensor[i];
    return NULL;
}

/* Adds the factors of one map, and the map. */
static void kronecker_map(struct build *b, int module, const struct span *s, int layer, enum slot slot,
                          int64_t out, int64_t in) {
    const struct module *m = &b->p->method.module[module];
    bool down = slot == SLOT_DOWN_W;
    int64_t n = m->mid, k = m->factor;
    if (m->own_rule) build_own(b, module, s, layer, down ? SLOT_KRON_A_DOWN : SLOT_KRON_A_UP, 1, n * n, n);
    build_own(b, module, s, layer, down ? SLOT_KRON_L_DOWN : SLOT_KRON_L_UP, 1, in, k ? k : out / n);
    if (k) build_own(b, module, s, layer, down ? SLOT_KRON_R_DOWN : SLOT_KRON_R_UP, 1, n * k, out / n);
    build_generated(b, module, s, layer, slot, 1, out, in);
}

void kronecker_plan(struct build *b, int module, const struct span *s) {
    const struct module *m = &b->p->method.module[module];
    struct slot_shape shape;
    build_place(b, module, s, -1);
    if (!m->own_rule && !shared_rule(b->p))
        build_own(b, module, s, -1, SLOT_KRON_A, 1, (int64_t)m->mid * m->mid, m->mid);
    for (int i = s->first; i < s->end; i++) {
        build_place(b, module, s, i);
        for (const struct function_slot *x = function_of(m)->slots; x->name; x++) {
            if (!function_slot_shape(x, m, b->a, &shape)) continue;
            if (x->slot == SLOT_DOWN_W || x->slot == SLOT_UP_W)
                kronecker_map(b, module, s, i, x->slot, shape.rows, shape.cols);
            else build_own(b, module, s, i, x->slot, 1, shape.rows, shape.cols);
        }
        build_composition(b, module, s, i, 1);
    }
}

int kronecker_make(const struct prologue *x) {
    const struct plan_generated *of = x->of;
    bool down = of->slot == SLOT_DOWN_W;
    const enum slot slots[] = { down ? SLOT_KRON_A_DOWN : SLOT_KRON_A_UP,
                                down ? SLOT_KRON_L_DOWN : SLOT_KRON_L_UP,
                                down ? SLOT_KRON_R_DOWN : SLOT_KRON_R_UP };
    node w[3];
    tape_site(x->t, "Kronecker products of module %d", of->module + 1);
    for (int k = 0; k < 3; k++) {
        const struct plan_tensor *t = plan_slot(x->p, of->module, slots[k], of->stack, of->site, of->layer);
        if (!k && !x->p->method.module[of->module].own_rule) t = shared_rule(x->p);
        w[k] = t ? source_leaf(x->t, t, x->params, x->grads) : NODE_NONE;
    }
    x->generated[x->first] = op_kronecker(x->t, w[0], w[1], w[2]);
    return x->first + 1;
}

void kronecker_init(struct rng_key key, const struct module *m, const struct plan_tensor *t, real *out) {
    if (t->role == SLOT_KRON_A) init_normal(key, out, t->count, 1e-4);
    else if (t->role == SLOT_KRON_A_DOWN || t->role == SLOT_KRON_A_UP) init_normal(key, out, t->count, 0.01);
    else init_normal(key, out, t->count, sqrt(2.0 / (t->rows / m->mid + t->cols)));
}

void kronecker_check(struct check *c, const struct module *m) {
    int n = m->mid, in = tap_width(c->a, m->read), out = tap_width(c->a, m->write);
    if (m->fn != FN_BOTTLENECK || m->heads != HEADS_SHARED) {
        ERROR(c, "V25",
              "source=kronecker supports only bottlenecks with heads=shared: use source=free");
        return;
    }
    if (n < 1 || in % n || out % n || m->size % n)
        ERROR(c, "V25",
              "source=kronecker(%d): the number must divide the input width %d, the output width %d and "
              "the bottleneck width %d", n,
              in, out, m->size);
    for (int i = 0; i < c->at; i++) {
        const struct module *x = &c->m->module[i];
        if (x->source != SOURCE_KRONECKER || x->own_rule || m->own_rule || x->mid == n) continue;
        ERROR(c, "V25",
              "module %d has source=kronecker(%d), this one kronecker(%d), but they share the matrices "
              "A_i: use the same number or rule=own",
              i + 1, x->mid, n);
        return;
    }
}

char *kronecker_arithmetic(const struct plan *p, const struct arch *a, int module, size_t trained) {
    const struct module *m = &p->method.module[module];
    struct buf b = BUF_INIT;
    struct span span[SPANS];
    char shown[32];
    size_t places = 0, each = 0, once = 0;
    int spans = module_spans(m, a, span);
    for (int i = 0; i < spans; i++) places += (size_t)(span[i].end - span[i].first);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module != module) continue;
        if (t->role == SLOT_KRON_A) once += t->count;
        else each += t->count;
    }
    BUG_IF(!places);
    each /= places;
    text_thousands((int64_t)trained, shown);
    if (m->factor)
        buf_printf(&b, "(k·(%s+2·r+%s) with n %d, k %d, r %d, plus the remaining parameters", "in", "out",
                   m->mid, m->factor, m->size);
    else buf_printf(&b, "((in+out)·r/n with n %d, r %d, plus the remaining parameters", m->mid, m->size);
    buf_printf(&b, ": %zu)·%zu", each, places);
    if (once) buf_printf(&b, " + n³ = %zu·%zu + %zu", each, places, once);
    else buf_printf(&b, " = %zu·%zu", each, places);
    buf_printf(&b, " = %s", shown);
    return buf_take(&b);
}
