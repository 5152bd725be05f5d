#include "tests/support/tuned.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

/* ---- the head ---- */

static void add_part(struct head *h, const char *name, int rows, int cols, real *value) {
    real *grad = xcalloc((size_t)rows * (size_t)cols, sizeof *grad);
    h->part[h->parts++] = (struct head_part){name, rows, cols, value, grad};
}

void head_open(struct head *h, const struct model *m) {
    int d = m->arch.width, classes = m->head_rows;
    bool two = m->dense_w != NULL;
    *h = (struct head){.classes = classes};
    if (arch_generates(&m->arch)) return;
    assert_true(classes > 0);
    if (two) {
        add_part(h, "classifier.dense.weight", d, d, m->dense_w);
        add_part(h, "classifier.dense.bias", 1, d, m->dense_b);
    }
    add_part(h, two ? "classifier.out_proj.weight" : "classifier.weight", classes, d, m->head_w);
    add_part(h, two ? "classifier.out_proj.bias" : "classifier.bias", 1, classes, m->head_b);
}

void head_freeze(struct head *h) {
    for (int i = 0; i < h->parts; i++) {
        free(h->part[i].grad);
        h->part[i].grad = NULL;
    }
}

void head_close(struct head *h) {
    head_freeze(h);
    *h = (struct head){0};
}

static node part_leaf(struct tape *t, const struct head_part *p) {
    if (!p->grad) return tape_frozen(t, p->rows, p->cols, p->value);
    return tape_trained(t, p->rows, p->cols, p->value, p->grad);
}

/* ---- full tuning ---- */

size_t tensor_size(const struct tensor_info *t) { return (size_t)t->rows * (size_t)t->cols; }

static node full_weight(void *self, struct tape *t, int tensor) {
    struct full *x = self;
    const struct tensor_info *info = &x->model->tensor[tensor];
    if (x->leaf[tensor] == NODE_NONE)
        x->leaf[tensor] =
            tape_trained(t, info->rows, info->cols, x->model->weight[tensor], x->grad[tensor]);
    return x->leaf[tensor];
}

void full_open(struct full *x, const struct model *m) {
    x->model = m;
    x->grad = xcalloc((size_t)m->tensors, sizeof *x->grad);
    x->leaf = xcalloc((size_t)m->tensors, sizeof *x->leaf);
    x->hooks = (struct hooks){.self = x, .weight = full_weight};
    for (int i = 0; i < m->tensors; i++)
        x->grad[i] = xcalloc(tensor_size(&m->tensor[i]), sizeof(real));
}

void full_close(struct full *x) {
    for (int i = 0; i < x->model->tensors; i++) free(x->grad[i]);
    free(x->grad);
    free(x->leaf);
}

/* ---- LoRA ---- */

static node lora_write(void *self, struct tape *t, const struct forward *f, struct site *s,
                       enum tap tap, enum tap_stage stage, node value) {
    struct lora *l = self;
    const struct model *m = f->model;
    if (stage != TAP_RAW || (tap != TAP_A_Q && tap != TAP_A_V)) return value;
    int i = arch_find(m->tensor, m->tensors, tap == TAP_A_Q ? ROLE_Q_W : ROLE_V_W, s->stack,
                      s->sublayer, s->layer);
    node a = tape_trained(t, l->rank[i], m->tensor[i].cols, l->a[i], l->da[i]);
    node b = tape_trained(t, m->tensor[i].rows, l->rank[i], l->b[i], l->db[i]);
    node down = op_linear(t, tap == TAP_A_Q ? s->value[TAP_A_IN] : s->source, a, NODE_NONE);
    return op_linear_add(t, value, down, b, NODE_NONE, 2, NODE_NONE);
}

void lora_open(struct lora *l, const struct model *m) {
    size_t n = (size_t)m->tensors;
    *l = (struct lora){.model = m,
                       .rank = xcalloc(n, sizeof *l->rank),
                       .a = xcalloc(n, sizeof *l->a),
                       .b = xcalloc(n, sizeof *l->b),
                       .da = xcalloc(n, sizeof *l->da),
                       .db = xcalloc(n, sizeof *l->db),
                       .hooks = {.self = l, .write = lora_write}};
}

void lora_put(struct lora *l, int tensor, int rank) {
    size_t in = (size_t)rank * (size_t)l->model->tensor[tensor].cols;
    size_t out = (size_t)rank * (size_t)l->model->tensor[tensor].rows;
    l->rank[tensor] = rank;
    l->a[tensor] = xcalloc(in, sizeof(real));
    l->da[tensor] = xcalloc(in, sizeof(real));
    l->b[tensor] = xcalloc(out, sizeof(real));
    l->db[tensor] = xcalloc(out, sizeof(real));
}

void lora_close(struct lora *l) {
    for (int i = 0; i < l->model->tensors; i++) {
        free(l->a[i]);
        free(l->b[i]);
        free(l->da[i]);
        free(l->db[i]);
    }
    free(l->rank);
    free(l->a);
    free(l->b);
    free(l->da);
    free(l->db);
}

/* ---- a pass ---- */

struct passed pass(struct forward *f, const struct head *h, double smoothing) {
    struct tape *t = f->tape;
    struct passed p = {.encoded = forward_encode(f)};
    if (arch_generates(&f->model->arch)) {
        p.decoded = forward_decode(f, p.encoded);
        p.logits = forward_logits(f, p.decoded);
        p.loss = forward_lm_loss(f, p.decoded, smoothing);
        return p;
    }
    node x = forward_pool(f, p.encoded), leaf[4];
    for (int i = 0; i < h->parts; i++) leaf[i] = part_leaf(t, &h->part[i]);
    if (h->parts == 4) x = op_linear_act(t, x, leaf[0], leaf[1], ACT_TANH);
    p.logits = op_linear(t, x, leaf[h->parts - 2], leaf[h->parts - 1]);
    p.loss = op_cross_entropy(t, p.logits, f->batch->label, f->batch->weight);
    return p;
}
