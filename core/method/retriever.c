#include "core/method/retriever.h"

#include <math.h>

#include "core/base/mem.h"
#include "core/method/init.h"

static const struct retriever retriever_usual = {.on = true, .hidden = 128, .width = 64,
                                                 .instance = INSTANCE_SUPCON,
                                                 .weight = 0.1, .temperature = 0.1};
static const char *const retriever_instances[INSTANCE_COUNT] = {"none", "supcon", "negatives"};
static const char *const prototypes[PROTOTYPE_COUNT] = {"none", "decoupled", "softmax"};

#define KEY(member, kind, ...) {#member, offsetof(struct retriever, member), kind, 0, __VA_ARGS__}
static const struct network_key retriever_keys[] = {
    KEY(hidden, NETWORK_SIZE, NULL, 0, false),
    KEY(width, NETWORK_SIZE, NULL, 0, false),
    KEY(instance, NETWORK_WORD, retriever_instances, INSTANCE_COUNT, false),
    KEY(prototype, NETWORK_WORD, prototypes, PROTOTYPE_COUNT, false),
    KEY(weight, NETWORK_NUMBER, NULL, 0, false),
    KEY(temperature, NETWORK_NUMBER, NULL, 0, false),
    KEY(tap, NETWORK_SIZE, NULL, 0, true),
};
const struct network retriever_network = {"retriever", "retriever", offsetof(struct method, retriever),
                                          sizeof retriever_usual,
                                          &retriever_usual, retriever_keys, COUNT_OF(retriever_keys)};

int retriever_width(const struct retriever *r, const struct arch *a) { return r->width ? r->width : a->width; }

void retriever_plan(struct build *b) {
    const struct retriever *r = &b->p->method.retriever;
    int d = b->a->width;
    if (!r->on || !r->width) return;
    if (r->hidden) {
        build_retriever(b, SLOT_MLP_W1, r->hidden, d);
        build_retriever(b, SLOT_MLP_B1, 1, r->hidden);
    }
    build_retriever(b, SLOT_MLP_W2, r->width, r->hidden ? r->hidden : d);
    build_retriever(b, SLOT_MLP_B2, 1, r->width);
}

void retriever_init(struct rng_key key, const struct plan_tensor *t, int in, real *out) {
    init_uniform(key, out, t->count, 1 / sqrt(in));
}
