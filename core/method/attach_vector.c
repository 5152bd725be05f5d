#include "core/method/attach_in.h"

#include "core/method/functions.h"
#include "core/method/retriever.h"

static node retriever_leaf(const struct attach *a, enum slot slot) {
    for (int i = 0; i < a->p->tensors; i++)
        if (a->p->tensor[i].kind == PLAN_NETWORK && a->p->tensor[i].role == (int)slot) return a->leaf[i];
    return NODE_NONE;
}

/* Returns z of the encoder's current output x. */
static node retrieve(const struct attach *a, const struct forward *f, node x) {
    const struct retriever *r = &a->p->method.retriever;
    struct tape *t = a->tape;
    tape_site(t, "retriever");
    node h = joined_mean(f, x);
    if (!r->width) return h;
    if (r->hidden)
        h = op_linear_act(t, h, retriever_leaf(a, SLOT_MLP_W1), retriever_leaf(a, SLOT_MLP_B1), ACT_RELU);
    return op_linear(t, h, retriever_leaf(a, SLOT_MLP_W2), retriever_leaf(a, SLOT_MLP_B2));
}

/* Returns whether z is computed within the encoder pass: from a layer below the top, or to generate weights
 * from it. */
static bool retrieves_early(const struct method *m) {
    const struct hyper *h = hyper_with_example(m);
    return m->retriever.on && (m->retriever.tap || (h && h->instance == EXAMPLE_RETRIEVER));
}

bool attach_reached(void *self, struct tape *t, const struct forward *f, int layer, node x) {
    struct attach *a = self;
    const struct method *m = &a->p->method;
    bool early = retrieves_early(m) && layer == m->retriever.tap;
    if (early) a->vector = retrieve(a, f, x);
    if (!a->rows || layer != hyper_tap(m)) return early;
    node h = hyper_with_example(m)->instance == EXAMPLE_RETRIEVER ? a->vector : joined_mean(f, x);
    const int *task = attach_example_tasks(a, f->batch);
    bool first = a->hooks.passes == 2 && a->pass == 1, second = a->pass == 2;
    if (!second) example_weights_generate(a->rows, t, f, a->leaf, STACK_ENCODER, h, task);
    if (!first && !a->vectors_only) example_weights_generate(a->rows, t, f, a->leaf, STACK_DECODER, h, task);
    if (first) a->pass = 2;
    return true;
}

const real *attach_generated_for_example(struct attach *a, int i, int row) {
    return example_weights_one(a->rows, a->tape, i, row);
}

void attach_vectors_only(struct attach *a) { a->vectors_only = true; }

node attach_retrieve(struct attach *a, struct forward *f, node encoded) {
    if (!a->p->method.retriever.on) return NODE_NONE;
    return a->vector != NODE_NONE ? a->vector : retrieve(a, f, encoded);
}

int attach_retrieved_width(const struct plan *p, const struct arch *a) {
    const struct retriever *r = &p->method.retriever;
    return r->on ? retriever_width(r, a) : 0;
}
