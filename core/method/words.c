#include "core/method/words.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/init.h"

void words_plan(struct build *b) {
    int d = b->a->width;
    bool moves = b->p->method.head == METHOD_HEAD_TRAINED;
    const struct {
        const char *name;
        enum slot slot;
        int rows, cols;
    } parts[] = {
        { "weight", SLOT_WORDS_W, d, d },
        { "bias", SLOT_WORDS_B, 1, d },
        { "norm.weight", SLOT_WORDS_NORM_W, 1, d },
        { "norm.bias", SLOT_WORDS_NORM_B, 1, d },
        { "vocabulary.bias", SLOT_WORDS_BIAS, 1, b->a->vocabulary },
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        struct plan_tensor t = build_part(PLAN_HEAD, parts[i].slot, parts[i].rows, parts[i].cols);
        t.decays = moves && parts[i].slot == SLOT_WORDS_W;
        t.no_gradient = !moves;
        b->p->head += build_network(b, t, "head.words.%s", parts[i].name);
    }
}

/* Returns the values of the model's own head for this tensor, or NULL. */
static const real *words_of_model(const struct model *m, int role) {
    const struct words_head *h = &m->words;
    switch (role) {
    case SLOT_WORDS_W: return h->w;
    case SLOT_WORDS_B: return h->b;
    case SLOT_WORDS_NORM_W: return h->norm_w;
    case SLOT_WORDS_NORM_B: return h->norm_b;
    case SLOT_WORDS_BIAS: return h->bias;
    default: BUG("unknown slot %d of a generated head", role);
    }
}

void words_init(struct rng_key key, const struct model *m, const struct plan_tensor *t, real *out) {
    const real *own = words_of_model(m, t->role);
    if (own) memcpy(out, own, t->count * sizeof *out);
    else if (t->role == SLOT_WORDS_W) init_normal(key, out, t->count, 0.02);
    else init_fill(out, t->count, t->role == SLOT_WORDS_NORM_W ? 1 : 0);
}
