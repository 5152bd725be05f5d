/* W_d[token] W_u: a low-rank change of the word embeddings; W_d has one row per token. */
#include <stdio.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/check.h"
#include "core/method/count.h"
#include "core/method/fn.h"
#include "core/method/merge.h"

static const struct function_slot slots[] = {
    { SLOT_DOWN_W, "W_d", START_ZERO, .rows = DIM_VOCABULARY, .cols = DIM_SIZE },
    { SLOT_UP_W, "W_u", START_DRAWN, .rows = DIM_WRITE, .cols = DIM_SIZE },
    { 0 },
};

static node apply(struct tape *t, const struct use *u) {
    node scale;
    double s = use_factor(u, &scale);
    const struct embed_table rows = { use_slot(u, SLOT_DOWN_W), u->ids, 0 };
    node x = op_embed_sum(t, tape_rows_of(t, u->value), &rows, 1);
    return op_linear_add_groups(t, u->value, x, use_slot(u, SLOT_UP_W), NODE_NONE, s, scale, NULL);
}

/* ---- rules, counts, texts ---- */

static bool check(struct check *c, const struct module *m) {
    if (m->init == INIT_LORA)
        ERROR(c, "V42",
              "init=lora is not available for lookup, which initializes W_d to 0 and W_u at random: use "
              "init=normal or init=bert");
    return true;
}

static void advise(struct check *c, const struct module *m) {
    double d = c->a->width, v = c->a->vocabulary, values = m->size * (d + v);
    if (values >= d * v)
        WARN(
            c, "V17",
            "rank %d has %.0f parameters, but the word embeddings have only %.0f: use a lower rank or "
            "full(target=embeddings)",
            m->size, values, d * v);
}

static void terms(struct terms *t, const struct module *m, const struct arch *a) {
    terms_add(t, "r·(V+d)", "%d·(%d+%d)", m->size, a->vocabulary, a->width);
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "Δh%s = W_d[token] W_u", w->sub);
}

static void label(const struct module *m, const struct arch *a, char out[64]) {
    if (a) snprintf(out, 64, "%d→%d→%d", a->vocabulary, m->size, a->width);
    else snprintf(out, 64, "r %d", m->size);
}

/* ---- merging ---- */

static const char *unmergeable(const struct plan *p, const struct module *m) {
    (void)m;
    if (p->tied)
        return "the word embeddings are also the output map, and the module changes only the embeddings: it "
               "cannot be merged into a weight";
    return p->decoder ? "encoder and decoder share the embedding matrix, and the module changes only one "
                        "of them: it cannot be merged into a weight"
                      : NULL;
}

/* E += s·W_d W_uᵀ. */
static int merge(struct merge *x, const struct merge_at *at, struct err *e) {
    const struct module *m = &x->p->method.module[at->module];
    int i = merge_tensor(x, at, ROLE_EMBED_WORD);
    const struct tensor_info *t = &x->m->tensor[i];
    real *w = merge_copy(x, i, e);
    if (!w) return ERR_SYSTEM;
    const real *up = merge_values(x, at, SLOT_UP_W), *down = merge_values(x, at, SLOT_DOWN_W);
    blas_gemm(false, true, t->rows, t->cols, m->size, (real)merge_scale(x, at), down, m->size, up, m->size, 1,
              w, t->cols);
    return 0;
}

const struct function function_lookup = {
    .name = "lookup",
    .title = "word vectors",
    .description =
        "A vector of size r per token of the vocabulary, times a matrix: W_d[token] W_u. LoRA on the word "
        "embeddings; on an encoder it can be merged into them.",
    .form = FORM_CHANGE,
    .keys = TAKES_PLACE | TAKES_R | TAKES_S | TAKES_ALPHA | TAKES_COMP | TAKES_INIT,
    .comps = COMPS_ADDING,
    .defaults = { .size = 8, .write = TAP_EMBED_WORDS, .init = INIT_NORMAL },
    .of_words = true,
    .slots = slots,
    .apply = apply,
    .check = check,
    .advise = advise,
    .terms = terms,
    .formula = formula,
    .label = label,
    .unmergeable = unmergeable,
    .merge = merge,
    .turn = MERGE_ADDS,
};
