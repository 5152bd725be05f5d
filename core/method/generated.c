#include "core/method/generated.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/method/init.h"

static const struct generated_head defaults = {
    .on = true, .hidden = 384, .width = 256, .learn = LEARN_OUTER, .rates = RATES_MOVING
};
static const char *const learns[LEARN_COUNT] = { "both", "inner", "outer" };
static const char *const rates[] = { "moving", "all" };

#define AT(member) .offset = offsetof(struct generated_head, member)
static const struct key keys[] = {
    { "hidden", AT(hidden), .kind = KEY_WHOLE, .least = 1, .description = "Inner width of each network." },
    { "width", AT(width), .kind = KEY_WHOLE, .least = 1,
      .description = "Width of the vectors of examples and labels." },
    { "learn", AT(learn), KEY_WORDS(learns),
      .description = "Whether the inner loop adapts the networks too, or only the outer loop trains them." },
    { "rates", AT(rates), KEY_WORDS(rates),
      .description = "Inner-loop learning rates: for adapted tensors only, or for all tensors (as counted "
                     "in Meta-Adapters)." },
};
const struct network generated_network = {
    "generated-head",        "generated head", offsetof(struct method, generated),
    sizeof defaults,  &defaults, keys,
    COUNT_OF(keys)
};

void method_take_generated(struct method *m) { m->generated = defaults; }

void generated_plan(struct build *b) {
    const struct generated_head *g = &b->p->method.generated;
    int d = b->a->width;
    if (!g->on || !b->p->meta.on) return;
    b->p->label_width = g->width + 1;
    const struct {
        const char *name;
        enum slot slot;
        int rows, cols;
    } parts[] = {
        { "feature.W_1", SLOT_FEATURE_W1, g->hidden, d },
        { "feature.b_1", SLOT_FEATURE_B1, 1, g->hidden },
        { "feature.W_2", SLOT_FEATURE_W2, g->width, g->hidden },
        { "feature.b_2", SLOT_FEATURE_B2, 1, g->width },
        { "label.W_1", SLOT_LABEL_W1, g->hidden, d },
        { "label.b_1", SLOT_LABEL_B1, 1, g->hidden },
        { "label.W_2", SLOT_LABEL_W2, g->width + 1, g->hidden },
        { "label.b_2", SLOT_LABEL_B2, 1, g->width + 1 },
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        b->p->head += build_network(
            b, build_part(PLAN_HEAD, parts[i].slot, parts[i].rows, parts[i].cols), "head.%s", parts[i].name);
    }
}

void generated_init(struct rng_key key, const struct plan_tensor *t, real *out) {
    if (t->rows > 1) init_truncated(key, out, t->count, 0.02);
    else init_fill(out, t->count, 0);
}

/* ---- inner and outer loop ---- */

static enum learn tensor_learn(const struct plan *p, const struct plan_tensor *t) {
    if (t->kind == PLAN_HEAD) return p->method.generated.learn;
    return t->module >= 0 ? p->method.module[t->module].learn : LEARN_OUTER;
}

/* The groups of tensors with a separate inner learning rate, in the order of the rates: encoder layers,
 * decoder layers, tensors outside the layers, the pooler, the label vectors, the maps. */
enum {
    RATE_EMBED,
    RATE_POOLER,
    RATE_LABELS,
    RATE_FEATURE_1,
    RATE_FEATURE_2,
    RATE_LABEL_1,
    RATE_LABEL_2,
    RATE_ENDS
};

static int rate_place(const struct arch *a, const struct plan_tensor *t) {
    int layers = a->encoder_layers + a->decoder_layers;
    switch (t->role) {
    case SLOT_FEATURE_W1: case SLOT_FEATURE_B1: return layers + RATE_FEATURE_1;
    case SLOT_FEATURE_W2: case SLOT_FEATURE_B2: return layers + RATE_FEATURE_2;
    case SLOT_LABEL_W1: case SLOT_LABEL_B1: return layers + RATE_LABEL_1;
    case SLOT_LABEL_W2: case SLOT_LABEL_B2: return layers + RATE_LABEL_2;
    case SLOT_POOLER_W: case SLOT_POOLER_B: return layers + RATE_POOLER;
    default: break;
    }
    if (t->layer >= 0) return t->layer + (t->stack == STACK_DECODER ? a->encoder_layers : 0);
    return layers + (t->pooler ? RATE_POOLER : RATE_EMBED);
}

/* Numbers the rates in use; at[place] is the number or -1. Returns the number of rates. */
static int number_rates(const struct plan *p, const struct arch *a, int *at) {
    int layers = a->encoder_layers + a->decoder_layers, places = layers + RATE_ENDS, count = 0;
    bool all = p->method.generated.rates == RATES_ALL;
    for (int i = 0; i < places; i++) at[i] = all ? 0 : -1;
    at[layers + RATE_LABELS] = 0;
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].inner) at[rate_place(a, &p->tensor[i])] = 0;
    for (int i = 0; i < places; i++)
        if (!at[i]) at[i] = count++;
    return count;
}

void plan_rate_name(const struct plan *p, const struct arch *a, int rate, char out[PLAN_RATE]) {
    static const char *const end[RATE_ENDS] = { "embeddings", "pooler",  "labels", "feature_1",
                                                "feature_2",  "label_1", "label_2" };
    int layers = a->encoder_layers + a->decoder_layers, *at = xcalloc((size_t)layers + RATE_ENDS, sizeof *at),
        place = 0;
    number_rates(p, a, at);
    while (place < layers + RATE_ENDS - 1 && at[place] != rate) place++;
    free(at);
    if (place >= layers) snprintf(out, PLAN_RATE, "%s", end[place - layers]);
    else if (place < a->encoder_layers) snprintf(out, PLAN_RATE, "layer_%d", place + 1);
    else snprintf(out, PLAN_RATE, "decoder_%d", place - a->encoder_layers + 1);
}

void learn_plan(struct build *b) {
    struct plan *p = b->p;
    const struct plan_meta *meta = &p->meta;
    p->rate_tensor = -1;
    if (!meta->on) return;
    for (int i = 0; i < p->tensors; i++) {
        struct plan_tensor *t = &p->tensor[i];
        enum learn learn = tensor_learn(p, t);
        /* the label vectors are computed once, before the inner steps, so that these have no gradient for the
         * label maps */
        t->inner = learn != LEARN_OUTER && (t->role < SLOT_LABEL_W1 || t->role > SLOT_LABEL_B2);
        t->outer = learn == LEARN_OUTER ? meta->shared : learn == LEARN_BOTH && meta->start;
        if (t->inner || (t->kind == PLAN_HEAD && learn == LEARN_BOTH)) p->adapted += t->count;
        if (t->outer) p->meta_trained += t->count;
        t->decays = t->decays && t->outer;
    }
    int *at = xcalloc((size_t)(b->a->encoder_layers + b->a->decoder_layers) + RATE_ENDS, sizeof *at);
    p->rates = number_rates(p, b->a, at);
    p->label_rate = at[b->a->encoder_layers + b->a->decoder_layers + RATE_LABELS];
    for (int i = 0; i < p->tensors; i++)
        p->tensor[i].rate = p->tensor[i].inner ? at[rate_place(b->a, &p->tensor[i])] : -1;
    free(at);
    if (!meta->learned) return;
    p->rate_tensor = p->tensors;
    p->meta_trained += (size_t)p->rates;
    struct plan_tensor t = build_part(PLAN_HEAD, SLOT_RATES, 1, p->rates);
    t.outer = true;
    t.rate = -1;
    build_network(b, t, "rates");
}
