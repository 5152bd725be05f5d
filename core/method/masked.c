#include "core/method/masked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "core/method/init.h"
#include "core/method/slots.h"
#include "core/method/sources.h"

static const char *const pruning_masks[] = { "learned", "fixed" };
static const struct pruning pruning_defaults = {
    .on = true, .keep = 0.005, .weight = 1.25e-7, .rate = 0.1, .start = 5, .groups = true
};

#define AT(member) .offset = offsetof(struct pruning, member)
static const struct key pruning_keys[] = {
    { "mask", AT(mask), KEY_WORDS(pruning_masks),
      .description =
          "learned: a trainable gate per parameter; fixed: the largest changes of an earlier stage with "
          "trained gates." },
    { "keep", AT(keep), .kind = KEY_NUMBER,
      .description = "Share of the parameters that mask=fixed selects." },
    { "weight", AT(weight), .kind = KEY_WEIGHT,
      .description = "Weight of the expected number of open gates in the loss." },
    { "rate", AT(rate), .kind = KEY_NUMBER, .description = "Learning rate of the gates." },
    { "start", AT(start), .kind = KEY_NUMBER,
      .description = "Initial value of the gates; far above 0 they are open." },
    { "groups", AT(groups), .kind = KEY_FLAG,
      .description = "Whether each tensor has a gate too, which multiplies the gates of its parameters." },
};
const struct network pruning_network = { "pruning",
                                         "pruning",
                                         offsetof(struct method, pruning),
                                         sizeof pruning_defaults,
                                         &pruning_defaults,
                                         pruning_keys,
                                         COUNT_OF(pruning_keys) };

bool masked_is_fixed(const struct method *m) { return m->pruning.on && m->pruning.mask == MASK_FIXED; }
bool masked_has_gates(const struct method *m) { return m->pruning.on && m->pruning.mask == MASK_LEARNED; }

const char *masked_fault(const struct method *m, int *module) {
    int masked = -1;
    for (*module = 0; *module < m->count; ++*module) {
        if (m->module[*module].fn != FN_MASKED) continue;
        if (masked >= 0)
            return "a method can have only one masked module: use one that selects the tensors of both";
        if (!m->pruning.on) return "a masked module needs a mask: append '+ pruning'";
        masked = *module;
    }
    *module = -1;
    if (m->pruning.on && masked < 0)
        return "pruning needs a masked module: append '+ masked'";
    if (m->pruning.on && m->pruning.keep > 1) return "pruning: keep= is a share of all parameters and must "
                                                     "be at most 1";
    return NULL;
}

/* ---- plan ---- */

static void masked_add(struct build *b, int module, const struct tensor_info *t, int tensor, enum slot slot,
                       int64_t rows, int64_t cols) {
    static const char *const names[] = { "w", "alpha", "group", "values", "places" };
    struct plan_tensor x = build_part(PLAN_OWN, slot, rows, cols);
    x.module = module;
    x.stack = t->stack;
    x.site = t->sublayer;
    x.layer = t->layer;
    x.tensor = tensor;
    x.decays = slot == SLOT_MASK_W && !t->vector;
    x.fixed = x.frozen = slot == SLOT_MASK_PLACES;
    build_network(b, x, "%s.%s", t->name, names[slot - SLOT_MASK_W]);
}

static void add_made(struct build *b, int module, const struct tensor_info *t, int tensor) {
    const struct span s = { t->stack, t->sublayer, t->layer, t->layer + 1 };
    snprintf(b->place, sizeof b->place, "masked");
    build_generated(b, module, &s, t->layer, SLOT_MASK_W, 1, t->rows, t->cols);
    struct plan_generated *x = &b->p->generated_tensor[b->p->generated - 1];
    snprintf(x->name, sizeof x->name, "%s", t->name);
    x->tensor = tensor;
    x->stored = false;
}

void masked_plan(struct build *b, int module, const struct tensor_info *list, int n) {
    const struct method *m = &b->p->method;
    double all = 0;
    for (int i = 0; i < n; i++) {
        const struct tensor_info *t = &list[i];
        if (!module_selects(&m->module[module], b->a, t)) continue;
        all += (double)t->rows * t->cols;
        add_made(b, module, t, i);
        if (masked_is_fixed(m)) continue;
        masked_add(b, module, t, i, SLOT_MASK_W, t->rows, t->cols);
        masked_add(b, module, t, i, SLOT_MASK_GATE, t->rows, t->cols);
        if (m->pruning.groups) masked_add(b, module, t, i, SLOT_MASK_GROUP, 1, 1);
    }
    if (!masked_is_fixed(m)) return;
    const struct tensor_info whole = {
        .name = "masked", .stack = STACK_ENCODER, .sublayer = SUB_EMBED, .layer = -1
    };
    int64_t keep = (int64_t)fmax(1, floor(all * m->pruning.keep));
    masked_add(b, module, &whole, -1, SLOT_MASK_VALUES, keep, 1);
    masked_add(b, module, &whole, -1, SLOT_MASK_PLACES, keep, 2);
}

bool masked_is_own(const struct plan_tensor *t) {
    return t->kind == PLAN_OWN && t->role >= SLOT_MASK_W && t->role <= SLOT_MASK_PLACES;
}

/* Until it is selected, a fixed mask has evenly spaced places. */
static void spread_places(const struct plan *p, const struct plan_tensor *t, real *out) {
    double all = 0, before = 0;
    int row = 0, n = 0;
    for (int i = 0; i < p->generated; i++)
        all += p->generated_tensor[i].tensor >= 0 ? (double)p->generated_tensor[i].count : 0;
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *x = &p->generated_tensor[i];
        if (x->tensor < 0) continue;
        for (; n < t->rows && floor(n * all / t->rows) < before + (double)x->count; n++) {
            size_t k = (size_t)(floor(n * all / t->rows) - before);
            out[2 * n] = (real)(row + (int)(k / (size_t)x->cols));
            out[2 * n + 1] = (real)(k % (size_t)x->cols);
        }
        before += (double)x->count;
        row += x->rows;
    }
}

void masked_init(const struct plan *p, const struct plan_tensor *t, real *out) {
    bool gate = t->role == SLOT_MASK_GATE || t->role == SLOT_MASK_GROUP;
    init_fill(out, t->count, gate ? p->method.pruning.start : 0);
    if (t->role == SLOT_MASK_PLACES) spread_places(p, t, out);
}

double masked_rate(const struct plan *p, const struct plan_tensor *t, double rate) {
    bool gate = masked_is_own(t) && (t->role == SLOT_MASK_GATE || t->role == SLOT_MASK_GROUP);
    return gate && rate > 0 ? p->method.pruning.rate / rate : 1;
}

/* ---- prologue ---- */

/* Returns the tensor with a role that belongs to a generated tensor, or NULL. */
static const struct plan_tensor *masked_find(const struct plan *p, const struct plan_generated *x,
                                             enum slot slot) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].module == x->module && p->tensor[i].role == (int)slot &&
            p->tensor[i].tensor == x->tensor)
            return &p->tensor[i];
    return NULL;
}

static const struct plan_tensor *masked_of(const struct plan *p, const struct plan_generated *x,
                                           enum slot slot) {
    const struct plan_tensor *t = masked_find(p, x, slot);
    BUG_IF(!t);
    return t;
}

static const struct plan_tensor *masked_whole(const struct plan *p, enum slot slot) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].kind == PLAN_OWN && p->tensor[i].role == (int)slot) return &p->tensor[i];
    BUG("the plan has no mask");
}

/* Returns the first row of generated tensor i; the rows of all masked tensors are numbered consecutively. */
static int first_row(const struct plan *p, int i) {
    int row = 0;
    for (int k = 0; k < i; k++) row += p->generated_tensor[k].tensor >= 0 ? p->generated_tensor[k].rows : 0;
    return row;
}

static node make_fixed(const struct prologue *x, node base) {
    const struct plan_tensor *values = masked_whole(x->p, SLOT_MASK_VALUES),
                             *places = masked_whole(x->p, SLOT_MASK_PLACES);
    const real *place = x->params + places->offset;
    int row = first_row(x->p, x->first), end = row + x->of->rows, first = 0, last;
    while (first < places->rows && (int)place[2 * first] < row) first++;
    for (last = first; last < places->rows && (int)place[2 * last] < end; last++) {}
    return op_scattered(x->t, base, source_leaf(x->t, values, x->params, x->grads), place, first, last, row);
}

node masked_make(const struct prologue *x) {
    const struct plan_generated *of = x->of;
    node base = tape_frozen(x->t, of->rows, of->cols, model_weight(x->m, of->tensor)), part[3];
    tape_site(x->t, "mask of %s", of->name);
    if (masked_is_fixed(&x->p->method)) return make_fixed(x, base);
    for (int k = 0; k < 3; k++) { /* the change, its gates, and the gate of the tensor, which can be absent */
        const struct plan_tensor *t = masked_find(x->p, of, (enum slot)(SLOT_MASK_W + k));
        BUG_IF(!t && k < 2);
        part[k] = t ? source_leaf(x->t, t, x->params, x->grads) : NODE_NONE;
    }
    return op_gated_change(x->t, base, part[0], part[1], part[2],
                           rng_site(masked_of(x->p, of, SLOT_MASK_GATE)->name));
}

/* ---- loss component ---- */

/* Returns the expected number of open gates of one tensor, including the probability that the gate of its
 * group is open. */
static double expected_of(const struct plan *p, const struct plan_tensor *gate, const real *params,
                          real *grads, double *open) {
    const struct plan_generated at = { .module = gate->module, .tensor = gate->tensor };
    const struct plan_tensor *group = masked_find(p, &at, SLOT_MASK_GROUP);
    const real *alpha = params + gate->offset;
    double of_group = group ? op_gate_expected((double)params[group->offset]) : 1, sum = 0,
           weight = p->method.pruning.weight;
    bool group_open = !group || op_gate_open((double)params[group->offset]) > 0;
    for (size_t i = 0; i < gate->count; i++) {
        double s = op_gate_expected((double)alpha[i]);
        sum += s;
        *open += group_open && alpha[i] > 0; /* open without noise */
        if (!gate->frozen) grads[gate->offset + i] += (real)(weight * of_group * s * (1 - s));
    }
    if (group && !group->frozen) grads[group->offset] += (real)(weight * sum * of_group * (1 - of_group));
    return sum * of_group;
}

double masked_expected(const struct plan *p, const real *params, real *grads, double *open) {
    double sum = 0;
    *open = 0;
    for (int i = 0; i < p->tensors; i++)
        if (masked_is_own(&p->tensor[i]) && p->tensor[i].role == SLOT_MASK_GATE)
            sum += expected_of(p, &p->tensor[i], params, grads, open);
    return sum;
}

/* ---- the fixed mask ---- */

/* Returns the k-th largest of n values (k from 0), which are reordered. */
static float kth_largest(float *x, size_t n, size_t k) {
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        float pivot = x[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (x[i] > pivot) i++;
            while (x[j] < pivot) j--;
            if (i >= j) break;
            float swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        if (k <= j) hi = j;
        else lo = j + 1;
    }
    return x[k];
}

/* Writes the effective changes in the order of the generated tensors; returns their number. out NULL: only
 * counts. */
static size_t acting_changes(const struct plan *from, const real *values, real *out) {
    size_t n = 0;
    for (int i = 0; i < from->generated; i++) {
        const struct plan_generated *x = &from->generated_tensor[i];
        if (x->tensor < 0) continue;
        const struct plan_tensor *w = masked_of(from, x, SLOT_MASK_W),
                                 *gate = masked_of(from, x, SLOT_MASK_GATE),
                                 *group = masked_find(from, x, SLOT_MASK_GROUP);
        double z = group ? op_gate_open((double)values[group->offset]) : 1;
        for (size_t k = 0; out && k < w->count; k++)
            out[n + k] = (real)(z * op_gate_open((double)values[gate->offset + k]) *
                                (double)values[w->offset + k]);
        n += w->count;
    }
    return n;
}

/* Returns whether both plans change the same tensors. */
static bool masks_the_same(const struct plan *p, const struct plan *from) {
    if (!masked_is_fixed(&p->method) || !masked_has_gates(&from->method)) return false;
    int a = 0, b = 0;
    for (;; a++, b++) {
        while (a < p->generated && p->generated_tensor[a].tensor < 0) a++;
        while (b < from->generated && from->generated_tensor[b].tensor < 0) b++;
        if (a == p->generated || b == from->generated) return a == p->generated && b == from->generated;
        if (p->generated_tensor[a].tensor != from->generated_tensor[b].tensor) return false;
    }
}

/* Selects the changes above `least` in magnitude, and the first `equal` of those that equal it. */
static void take_places(const struct plan *p, real *params, const real *change, float least, int equal) {
    const struct plan_tensor *values = masked_whole(p, SLOT_MASK_VALUES),
                             *places = masked_whole(p, SLOT_MASK_PLACES);
    real *value = params + values->offset, *place = params + places->offset;
    int n = 0, row = 0;
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *x = &p->generated_tensor[i];
        if (x->tensor < 0) continue;
        for (size_t k = 0; k < x->count; k++, change++) {
            float size = fabsf((float)*change);
            if (size < least || (size == least && equal-- <= 0)) continue;
            BUG_IF(n == values->rows);
            place[2 * n] = (real)(row + (int)(k / (size_t)x->cols));
            place[2 * n + 1] = (real)(k % (size_t)x->cols);
            value[n++] = *change;
        }
        row += x->rows;
    }
    BUG_IF(n != values->rows);
}

size_t masked_choose(const struct plan *p, real *params, const struct plan *from, const real *values) {
    if (!masks_the_same(p, from)) return 0;
    size_t n = acting_changes(from, values, NULL), above = 0, keep = masked_whole(p, SLOT_MASK_VALUES)->count;
    real *change = xmalloc(n * sizeof *change);
    float *size = xmalloc(n * sizeof *size);
    acting_changes(from, values, change);
    for (size_t i = 0; i < n; i++) size[i] = fabsf((float)change[i]);
    float least = kth_largest(size, n, keep - 1);
    for (size_t i = 0; i < n; i++) above += fabsf((float)change[i]) > least;
    take_places(p, params, change, least, (int)(keep - above));
    free(size);
    free(change);
    return keep;
}

/* ---- texts ---- */

char *masked_arithmetic(const struct plan *p, int module, size_t trained) {
    char shown[32], all[32];
    size_t values = 0;
    int tensors = 0;
    for (int i = 0; i < p->generated; i++) {
        if (p->generated_tensor[i].module != module) continue;
        values += p->generated_tensor[i].count;
        tensors++;
    }
    text_thousands((int64_t)trained, shown);
    text_thousands((int64_t)values, all);
    if (!masked_is_fixed(&p->method))
        return xprintf("w and a gate for each of %s parameters of %d tensor%s%s = %s", all, tensors,
                       tensors == 1 ? "" : "s", p->method.pruning.groups ? ", plus one gate per tensor" : "",
                       shown);
    return xprintf("%g of %s parameters of %d tensor%s = %s; stored with their rows and columns",
                   p->method.pruning.keep, all, tensors, tensors == 1 ? "" : "s", shown);
}

/* Number of reals per parameter with learned masks: two trained values with two moments each, gradients of
 * each worker and their sum (w, gate, weight), of the prologue, the weight, and on the tape of the prologue
 * the weight, its gradient and the gate. */
double masked_bytes(const struct method *m, int workers) {
    int reals = masked_is_fixed(m) ? 5 : 2 + 4 + 3 * workers + 3 + 2 + 1 + 3;
    return reals * (double)sizeof(real);
}
