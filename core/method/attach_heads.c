#include "core/method/attach_in.h"

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/method/classifier.h"

static node head_leaf(const struct attach *a, int task, enum slot slot) {
    const struct plan_tensor *t = plan_head(a->p, task, slot);
    return t ? a->leaf[t - a->p->tensor] : NODE_NONE;
}

node attach_pool(struct attach *a, struct forward *f, node encoded) {
    const struct classifier *c = classifier_of(&a->p->method, &a->m->arch);
    if (c) return c->pooler ? forward_pool(f, encoded) : forward_first(f, encoded);
    /* Poolers specific to a task are applied in attach_head. */
    bool own = a->p->tasks > 1 && plan_head(a->p, 0, SLOT_POOLER_W);
    return own ? forward_first(f, encoded) : forward_pool(f, encoded);
}

/* Returns rows `first` … as sequences of one row each, for the dropout of a task's head. */
static const struct tape_rows *pooled_rows(struct attach *a, const struct forward *f, int task, int first,
                                           int count) {
    GROW(a->start, a->start_room, (size_t)f->rows.count + 1);
    for (int i = 0; i <= f->rows.count; i++) a->start[i] = i;
    a->pooled[task] = (struct tape_rows){ count, a->start, f->rows.id + first };
    return &a->pooled[task];
}

node attach_head(struct attach *a, struct forward *f, node pooled, struct task_range range, double dropout) {
    struct tape *t = a->tape;
    int count = range.end - range.first;
    node x = pooled, dense = head_leaf(a, range.task, SLOT_POOLER_W);
    if (count < f->rows.count) x = op_rows(t, x, range.first, range.end);
    const struct tape_rows *rows = pooled_rows(a, f, range.task, range.first, count);
    const struct classifier *own = classifier_of(&a->p->method, &a->m->arch);
    tape_site(t, "head");
    if (dense != NODE_NONE && !own && a->m->arch.pooler &&
        a->p->tasks > 1) { /* BERT's pooler, specific to the task */
        x = op_linear_act(t, x, dense, head_leaf(a, range.task, SLOT_POOLER_B), ACT_TANH);
    } else if (dense != NODE_NONE && (own || !a->m->arch.pooler)) { /* RoBERTa: the dense layer belongs to the
                                                                       head */
        x = op_dropout(t, x, rows, dropout, rng_site("head.dense.drop"));
        x = op_linear_act(t, x, dense, head_leaf(a, range.task, SLOT_POOLER_B), own ? own->act : ACT_TANH);
    }
    x = op_dropout(t, x, rows, dropout, rng_site("head.drop"));
    return op_linear(t, x, head_leaf(a, range.task, SLOT_HEAD_W), head_leaf(a, range.task, SLOT_HEAD_B));
}

/* ---- masked-word head ---- */

/* Returns the transformed vectors; sets the embedding table and the bias of the logits. */
static node attach_words_of(struct attach *a, const struct forward *f, node rows, node *table, node *bias) {
    const struct model *m = a->m;
    tape_site(a->tape, "head");
    node x = op_linear_act(a->tape, rows, head_leaf(a, 0, SLOT_WORDS_W), head_leaf(a, 0, SLOT_WORDS_B),
                           m->arch.act);
    x = op_layernorm(a->tape, x, NODE_NONE, head_leaf(a, 0, SLOT_WORDS_NORM_W),
                     head_leaf(a, 0, SLOT_WORDS_NORM_B), m->arch.norm_eps);
    *table = forward_map(f, arch_find(m->tensor, m->tensors, ROLE_EMBED_WORD, STACK_ENCODER, SUB_EMBED, -1));
    *bias = head_leaf(a, 0, SLOT_WORDS_BIAS);
    return x;
}

node attach_words_loss(struct attach *a, struct forward *f, node rows, double *each) {
    node table, bias, x = attach_words_of(a, f, rows, &table, &bias);
    tape_site(a->tape, "loss");
    return op_vocabulary_loss(a->tape, x, table, bias, f->batch->mask_id, f->batch->mask_weight, 0, each);
}

node attach_words_logits(struct attach *a, struct forward *f, node rows) {
    node table, bias, x = attach_words_of(a, f, rows, &table, &bias);
    return op_linear(a->tape, x, table, bias);
}

/* ---- generated head ---- */

/* Returns W_2 tanh(W_1 x + b_1) + b_2; the four slots are consecutive. */
static node mapped(struct attach *a, node x, enum slot first) {
    x = op_linear_act(a->tape, x, head_leaf(a, 0, first), head_leaf(a, 0, first + 1), ACT_TANH);
    return op_linear(a->tape, x, head_leaf(a, 0, first + 2), head_leaf(a, 0, first + 3));
}

static node dropped(struct attach *a, struct forward *f, node pooled, double dropout) {
    tape_site(a->tape, "head");
    return op_dropout(a->tape, pooled, pooled_rows(a, f, 0, 0, f->rows.count), dropout,
                      rng_site("head.drop"));
}

node attach_features(struct attach *a, struct forward *f, node pooled, double dropout) {
    return mapped(a, dropped(a, f, pooled, dropout), SLOT_FEATURE_W1);
}

void attach_labels(struct attach *a, struct forward *f, node pooled, const struct tape_rows *classes,
                   double dropout, node *w, node *b) {
    int width = a->p->label_width - 1;
    node vector = op_pool_mean(a->tape, mapped(a, dropped(a, f, pooled, dropout), SLOT_LABEL_W1), classes);
    *w = op_cols(a->tape, vector, 0, width);
    *b = op_cols(a->tape, vector, width, width + 1);
}
