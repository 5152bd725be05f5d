#include "core/method/retriever.h"

#include <math.h>

#include "core/base/mem.h"
#include "core/method/init.h"

static const struct retriever defaults = {
    .on = true, .hidden = 128, .width = 64, .instance = INSTANCE_SUPCON, .weight = 0.1, .temperature = 0.1
};
static const char *const instances[INSTANCE_COUNT] = { "none", "supcon", "negatives" };
static const char *const prototypes[PROTOTYPE_COUNT] = { "none", "decoupled", "softmax" };

#define AT(member) .offset = offsetof(struct retriever, member)
static const struct key keys[] = {
    { "hidden", AT(hidden), .kind = KEY_WHOLE,
      .description = "Inner width of the two linear layers; 0: one layer." },
    { "width", AT(width), .kind = KEY_WHOLE,
      .description = "Width of an example's vector z; 0: the pooled vector itself." },
    { "instance", AT(instance), KEY_WORDS(instances),
      .description = "Contrastive loss that pulls examples of the same task together." },
    { "prototype", AT(prototype), KEY_WORDS(prototypes),
      .description = "Loss that pulls examples toward the prototype of their task." },
    { "weight", AT(weight), .kind = KEY_NUMBER,
      .description = "Weight λ of the retriever's losses relative to the tasks' losses." },
    { "temperature", AT(temperature), .kind = KEY_NUMBER,
      .description = "Temperature τ of the cosine similarities." },
    { "tap", AT(tap), .kind = KEY_WHOLE, .text = KEY_NOT_DEFAULT,
      .description = "Encoder layer that the retriever reads; 0: the output." },
};
const struct network retriever_network = { "retriever", "retriever", offsetof(struct method, retriever),
                                          sizeof defaults,
                                          &defaults, keys, COUNT_OF(keys) };

int retriever_width(const struct retriever *r, const struct arch *a) {
    return r->width ? r->width : a->width;
}

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
