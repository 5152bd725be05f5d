/* m ⊙ (W + s W_u W_d) / ‖W + s W_u W_d‖ (DoRA): a low-rank change of the direction of a map, with a learned
 * magnitude per output. The norms are constants in the backward pass, as in the paper. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/engine/kernel.h"
#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"

/* Initializes the magnitudes to the norms of the map's rows. */
static void start_length(const struct module *m, const struct model *of, const struct plan_tensor *t,
                         real *out) {
    int i = arch_find(of->tensor, of->tensors, tap_weight_role(m->write), t->stack, t->site, t->layer);
    BUG_IF(i < 0);
    const real *w = model_weight(of, i);
    for (int r = 0; r < t->cols; r++, w += of->tensor[i].cols) {
        double sum = 0;
        for (int c = 0; c < of->tensor[i].cols; c++) sum += (double)w[c] * (double)w[c];
        out[r] = (real)sqrt(sum);
    }
}

static const struct function_slot slots[] = {
    { SLOT_DOWN_W, "W_d", START_DRAWN, .rows = DIM_SIZE, .cols = DIM_READ },
    { SLOT_UP_W, "W_u", START_DRAWN_OUT, .rows = DIM_WRITE, .cols = DIM_SIZE },
    { SLOT_LENGTH, "m", START_MODEL, .rows = DIM_ONE, .cols = DIM_WRITE },
    { 0 },
};

/* ---- forward ---- */

/* A map and its change: out×in, out×r and r×in. */
struct changed {
    int out, in, rank;
    double s; /* scale of the change within the norms */
    const real *weight, *up, *down;
};

/* Computes 1/‖row of W + s W_u W_d‖ without that matrix: ‖w‖² + 2 s u·(W_d w) + s² u·(W_d W_dᵀ u). `room`:
 * out×r + r×r. */
static void inverse_lengths(const struct changed *x, real *room, real *out) {
    int r = x->rank;
    real *across = room, *inner = room + (size_t)x->out * (size_t)r;
    blas_gemm(false, true, x->out, r, x->in, 1, x->weight, x->in, x->down, x->in, 0, across, r);
    blas_gemm(false, true, r, r, x->in, 1, x->down, x->in, x->down, x->in, 0, inner, r);
    for (int i = 0; i < x->out; i++) {
        const real *w = x->weight + (size_t)i * (size_t)x->in, *u = x->up + (size_t)i * (size_t)r;
        double own = kernel_dot((size_t)x->in, w, w),
               cross = kernel_dot((size_t)r, u, across + (size_t)i * (size_t)r), square = 0;
        for (int k = 0; k < r; k++)
            square += (double)u[k] * kernel_dot((size_t)r, u, inner + (size_t)k * (size_t)r);
        double all = own + 2 * x->s * cross + x->s * x->s * square;
        out[i] = (real)(1 / sqrt(all > 0 ? all : 1e-30)); /* rows of zeros remain zero */
    }
}

static size_t room_of(int out, int rank) { return (size_t)out * (size_t)rank + (size_t)rank * (size_t)rank; }

static node apply(struct tape *t, const struct use *u) {
    node scale, down = use_slot(u, SLOT_DOWN_W), up = use_slot(u, SLOT_UP_W);
    node weight = use_weight(t, u, tap_weight_role(u->m->write)),
         bias = use_weight(t, u, tap_bias_role(u->m->write));
    double s = use_factor(u, &scale);
    int out = tape_rows_of(t, weight);
    bool all = u->m->length == LENGTH_OUTPUT;
    const struct changed x = { out,
                               tape_cols_of(t, weight),
                               u->m->size,
                               all                  ? 1
                               : scale == NODE_NONE ? s
                                                    : (double)*tape_value(t, scale),
                               tape_value(t, weight),
                               tape_value(t, up),
                               tape_value(t, down) };
    real *inverse = use_room(u, (size_t)out + room_of(out, x.rank));
    inverse_lengths(&x, inverse + out, inverse);
    node gain = op_mul(t, use_slot(u, SLOT_LENGTH), tape_frozen(t, 1, out, inverse));
    node low = op_linear(t, use_dropout(t, u, u->x, 0), down, NODE_NONE);
    return op_gain(t, op_linear_add(t, u->value, low, up, NODE_NONE, s, scale), all ? NODE_NONE : bias, gain);
}

/* ---- rules, counts, texts ---- */

static bool check(struct check *c, const struct module *m) {
    if (!module_is_map(m)) {
        enum tap input = tap_map_input(m->write);
        if (input == TAP_NONE)
            ERROR(c, "V70",
                  "%s is not the output of a linear layer, whose weight could be decomposed: use write=a.q, "
                  "a.k, "
                  "a.v, a.out, f.pre, f.up or f.out",
                  tap_name(m->write));
        else
            ERROR(c, "V70",
                  "only the weight of one linear layer can be decomposed: use read=%s with write=%s",
                  tap_name(input), tap_name(m->write));
        return true;
    }
    for (int i = 0; i < c->m->count; i++) {
        const struct module *o = &c->m->module[i];
        if (i == c->at || o->write != m->write || !module_is_map(o) || !modules_meet(m, o, c->a)) continue;
        ERROR(c, "V71",
              "module %d also changes the linear layer that writes %s, so the norm of its weight would be "
              "ambiguous: "
              "remove one of the two",
              i + 1, tap_name(m->write));
        break;
    }
    return true;
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    terms_matrices(t, m, a);
    terms_add(t, terms_letter(a, m->write), "%d", tap_width(a, m->write));
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    char s[32] = "";
    if (m->comp == COMP_SCALED) snprintf(s, sizeof s, "%.6g ", m->scale);
    bool all = m->length == LENGTH_OUTPUT;
    snprintf(out, 160, "W%s = m (W + %sW_u W_d)/‖W + %sW_u W_d‖%s, over %s", w->sub, s, all ? "" : s,
             all ? ", also b" : "", w->x);
}

/* ---- merging ---- */

/* With length=output the bias is scaled by the magnitude too. */
static int merge_bias(struct merge *x, const struct merge_at *at, const real *gain, struct err *e) {
    int i = merge_tensor(x, at, tap_bias_role(x->p->method.module[at->module].write));
    real *b = i < 0 ? NULL : merge_copy(x, i, e);
    for (int k = 0; b && k < x->m->tensor[i].cols; k++) b[k] *= gain[k];
    return b || i < 0 ? 0 : ERR_SYSTEM;
}

/* W = (m/‖W + s W_u W_d‖) ⊙ (W + s W_u W_d). */
static int merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    int i = merge_tensor(x, at, tap_weight_role(m->write));
    const struct tensor_info *t = &x->m->tensor[i];
    const real *length = merge_values(x, at, SLOT_LENGTH);
    bool all = m->length == LENGTH_OUTPUT;
    const struct changed c = { t->rows,
                               t->cols,
                               m->size,
                               all ? 1 : merge_scale(x, at),
                               model_weight(x->m, i),
                               merge_values(x, at, SLOT_UP_W),
                               merge_values(x, at, SLOT_DOWN_W) };
    const struct merge_change change = { .up = c.up, .down = c.down };
    real *w = merge_copy(x, i, e),
         *gain = w ? mem_try((size_t)c.out + room_of(c.out, c.rank), sizeof *gain) : NULL;
    if (!gain) return w ? err_set(e, ERR_SYSTEM, "out of memory for the norms of %s", t->name) : ERR_SYSTEM;
    inverse_lengths(&c, gain + c.out, gain);
    for (int r = 0; r < c.out; r++) gain[r] *= length[r];
    size_t cols = (size_t)c.in;
    int rc = merge_low(x, at, &change, e);
    for (int r = 0; !rc && r < c.out; r++)
        kernel_scale(cols, gain[r], w + (size_t)r * cols, w + (size_t)r * cols);
    if (!rc && all) rc = merge_bias(x, at, gain, e);
    free(gain);
    return rc;
}

const struct function function_decomposed = {
    .name = "decomposed",
    .title = "decomposed",
    .description =
        "Decomposes a weight into magnitude and direction: two matrices of rank r change the direction, "
        "and the magnitude of each output is trained (DoRA). It can be merged into the weight.",
    .sign = "W",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_S | TAKES_ALPHA | TAKES_READ | TAKES_COMP | TAKES_INIT |
            TAKES_DROPOUT | TAKES_LENGTH,
    .comps = COMPS_ADDING,
    .defaults = { .size = 8, .read = TAP_A_IN, .write = TAP_A_Q, .init = INIT_LORA },
    .linear = true,
    .places = function_maps,
    .slots = slots,
    .start = start_length,
    .composed = "h ← x Wᵀ + b",
    .apply = apply,
    .check = check,
    .terms = terms,
    .formula = formula,
    .label = terms_label,
    .merge = merge,
    .turn = MERGE_ADDS,
};
