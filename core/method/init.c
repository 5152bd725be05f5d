/* Initial values, each a function of the seed, the tensor's name and the element. */
#include "core/method/init.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/attempt.h"
#include "core/method/classifier.h"
#include "core/method/fn.h"
#include "core/method/fusion.h"
#include "core/method/generated.h"
#include "core/method/hyper.h"
#include "core/method/kronecker.h"
#include "core/method/masked.h"
#include "core/method/projection.h"
#include "core/method/prompt_rows.h"
#include "core/method/retriever.h"
#include "core/method/words.h"

void init_uniform(struct rng_key key, real *out, size_t n, double bound) {
    for (size_t i = 0; i < n; i++) out[i] = (real)((2 * rng_uniform(key, i) - 1) * bound);
}

void init_normal(struct rng_key key, real *out, size_t n, double sigma) {
    for (size_t i = 0; i < n; i++) out[i] = (real)(sigma * rng_normal(key, i));
}

/* Redraws values beyond two sigma, with counters that no other element uses. */
void init_truncated(struct rng_key key, real *out, size_t n, double sigma) {
    for (size_t i = 0; i < n; i++) {
        double z = rng_normal(key, i);
        for (size_t again = 1; fabs(z) > 2; again++) z = rng_normal(key, i + again * n);
        out[i] = (real)(sigma * z);
    }
}

void init_fill(real *out, size_t n, double v) {
    for (size_t i = 0; i < n; i++) out[i] = (real)v;
}

/* Initializes a matrix by the module's rule; `out_of`: it is the last factor of the change (W_u). */
static void matrix(struct rng_key key, const struct module *m, const struct plan_tensor *t, bool out_of,
                   real *out) {
    switch (m->init) {
    case INIT_LORA: /* Kaiming-uniform with a = √5 is U(-1/√in, 1/√in) */
        if (out_of) init_fill(out, t->count, 0);
        else init_uniform(key, out, t->count, 1 / sqrt(t->cols));
        return;
    case INIT_BERT: init_normal(key, out, t->count, 0.02); return;
    case INIT_HOULSBY: init_truncated(key, out, t->count, 0.01); return;
    case INIT_TRUNCATED: init_truncated(key, out, t->count, 0.02); return;
    case INIT_NORMAL: init_normal(key, out, t->count, 1); return;
    case INIT_HYPERFORMER: init_normal(key, out, t->count, 0.01); return;
    default: BUG("unknown initialization %s of a matrix", init_name(m->init));
    }
}

/* Initializes tensors that do not belong to the function. */
static void not_of_function(struct rng_key key, const struct module *m, const struct plan_tensor *t,
                            real *out) {
    if (t->role >= SLOT_LSTM && t->role <= SLOT_LSTM_LAST) { /* including biases */
        init_uniform(key, out, t->count, 1 / sqrt(m->mid));
        return;
    }
    if (kronecker_is_factor(t->role)) {
        kronecker_init(key, m, t, out);
        return;
    }
    switch (t->role) {
    case SLOT_MLP_E: case SLOT_PROMPT: case SLOT_PRODUCT: matrix(key, m, t, false, out); return;
    case SLOT_PRODUCT_U: case SLOT_PRODUCT_V: init_normal(key, out, t->count, 0.02); return;
    case SLOT_GATE_W: init_normal(key, out, t->count, 0.02); return;
    case SLOT_GATE_B: init_fill(out, t->count, 0); return;
    case SLOT_SCALE: case SLOT_CHANNEL: init_fill(out, t->count, m->scale); return;
    /* Maps of an MLP or of a prompt: U(-1/√in, 1/√in), including biases. */
    case SLOT_PROMPT_DOWN_K: case SLOT_PROMPT_UP_K: case SLOT_PROMPT_DOWN_V: case SLOT_PROMPT_UP_V:
    case SLOT_MLP_W1:
    case SLOT_MLP_W2:
    case SLOT_MLP_W3: init_uniform(key, out, t->count, 1 / sqrt(t->cols)); return;
    default: BUG("unknown module slot %d", t->role);
    }
}

static void init_own(struct rng_key key, const struct module *m, const struct model *of,
                     const struct plan_tensor *t, real *out) {
    const struct function_slot *slot = function_slot(m, (enum slot)t->role);
    if (!slot) {
        not_of_function(key, m, t, out);
        return;
    }
    switch (slot->start) {
    case START_ZERO: init_fill(out, t->count, 0); return;
    case START_ONE: init_fill(out, t->count, 1); return;
    case START_TENTH: init_fill(out, t->count, 0.1); return;
    case START_MODEL: function_of(m)->start(m, of, t, out); return;
    case START_DRAWN: case START_DRAWN_OUT: matrix(key, m, t, slot->start == START_DRAWN_OUT, out); return;
    }
}

/* Copies row row[i] of `from` to row i of `to`, `cols` values each. */
static void take_rows(real *to, const real *from, const int *row, int rows, int cols) {
    for (int i = 0; i < rows; i++)
        memcpy(to + (size_t)i * (size_t)cols, from + (size_t)row[i] * (size_t)cols,
               (size_t)cols * sizeof *to);
}

static void init_head(struct rng_key key, const struct model *m, const struct plan_tensor *t,
                      const int *row, int classes, real *out) {
    const real *own = NULL; /* the head in the folder */
    switch (row ? t->role : SLOT_COUNT) {
    case SLOT_HEAD_W: take_rows(out, m->head_w, row, classes, t->cols); return;
    case SLOT_HEAD_B: take_rows(out, m->head_b, row, classes, 1); return;
    case SLOT_POOLER_W: own = m->dense_w; break;
    case SLOT_POOLER_B: own = m->dense_b; break;
    default: break;
    }
    if (own) memcpy(out, own, t->count * sizeof *out);
    else if (t->role == SLOT_HEAD_W || t->role == SLOT_POOLER_W) init_normal(key, out, t->count, 0.02);
    else init_fill(out, t->count, 0);
}

/* Returns whether the tensor contains the rows of a prompt, or their parameters before the
 * reparameterization, and is initialized from word embeddings. */
static bool starts_of_words(const struct plan *p, const struct plan_tensor *t) {
    if (t->kind != PLAN_OWN || !init_is_of_rows(p->method.module[t->module].init)) return false;
    return t->role == SLOT_OWN || t->role == SLOT_MLP_E || t->role == SLOT_PRODUCT;
}

void plan_init_head(const struct plan *p, const struct model *m, const int *const *row,
                    const struct plan_words *words, uint64_t seed, real *params) {
    /* the head in the folder does not fit an explicit classifier */
    bool other = classifier_of(&p->method, &m->arch) != NULL;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        struct rng_key key = rng_key(seed, RNG_INIT, 0, rng_site(t->name));
        real *out = params + t->offset;
        if (t->kind == PLAN_MODEL) model_read_weight(m, t->tensor, out);
        else if (masked_is_own(t)) masked_init(p, t, out);
        else if (attempt_is_own(t)) attempt_init(t, key, out);
        else if (t->kind == PLAN_NETWORK && t->fixed) projection_start(p, t, out);
        else if (t->kind == PLAN_NETWORK && t->role >= SLOT_FUSION_QUERY_W && t->role <= SLOT_FUSION_VALUE)
            fusion_init(&p->method, t, key, out);
        else if (t->kind == PLAN_NETWORK && t->role >= SLOT_HYPER_TASK) hyper_init(p, t, key, out);
        else if (t->kind == PLAN_NETWORK) retriever_init(key, t, p->tensor[i - (t->rows == 1)].cols, out);
        else if (t->role == SLOT_RATES) init_fill(out, t->count, p->meta.rate);
        else if (t->kind == PLAN_HEAD && t->role >= SLOT_FEATURE_W1) generated_init(key, t, out);
        else if (t->kind == PLAN_HEAD && t->role >= SLOT_WORDS_W && t->role <= SLOT_WORDS_BIAS)
            words_init(key, m, t, out);
        else if (t->kind == PLAN_HEAD) init_head(key, m, t, other ? NULL : row[t->task],
                                                 p->outputs[t->task], out);
        else if (t->role == SLOT_MLP_B1 || t->role == SLOT_MLP_B2 || t->role == SLOT_MLP_B3)
            /* bias: same bound as its matrix */
            init_uniform(key, out, t->count, 1 / sqrt(p->tensor[i - 1].cols));
        else if (starts_of_words(p, t))
            prompt_rows_start(&p->method.module[t->module], t, m, words, key, out);
        else init_own(key, &p->method.module[t->module], m, t, out);
    }
}

void plan_init(const struct plan *p, const struct model *m, uint64_t seed, real *params) {
    int *same = xcalloc((size_t)m->head_rows + 1, sizeof *same);
    const int **row = xcalloc((size_t)p->tasks, sizeof *row);
    for (int i = 0; i < m->head_rows; i++) same[i] = i;
    for (int k = 0; k < p->tasks; k++)
        row[k] = m->head_w && m->head_rows == p->outputs[k] ? same : NULL;
    plan_init_head(p, m, row, NULL, seed, params);
    free(row);
    free(same);
}
