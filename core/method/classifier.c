#include "core/method/classifier.h"

#include "core/base/mem.h"

static const struct classifier defaults = { .on = true, .layers = 2, .act = ACT_TANH };

#define AT(member) .offset = offsetof(struct classifier, member)
static const struct key keys[] = {
    { "layers", AT(layers), .kind = KEY_WHOLE, .least = 1,
      .description =
          "Number of linear layers between the first token and the outputs: one, or two with an activation "
          "between." },
    { "act", AT(act), KEY_WORDS(method_act_names), .description = "Activation between the two layers." },
    { "pooler", AT(pooler), .kind = KEY_FLAG,
      .description = "Whether the input is the model's pooler output instead of the first token." },
    { "hidden", AT(hidden), .kind = KEY_WHOLE, .text = KEY_NOT_DEFAULT,
      .description = "Width of the first of two layers; 0: the model width." },
};
const struct network classifier_network = { "classifier",
                                            "classifier",
                                            offsetof(struct method, classifier),
                                            sizeof defaults,
                                            &defaults,
                                            keys,
                                            COUNT_OF(keys) };

int classifier_width(const struct classifier *c, const struct arch *a) {
    return c && c->layers == 2 && c->hidden ? c->hidden : a->width;
}

static bool is_two(const struct classifier *c, const struct arch *a) {
    return c->layers == 2 && c->act == ACT_TANH && !c->pooler && classifier_width(c, a) == a->width;
}

const struct classifier *classifier_of(const struct method *m, const struct arch *a) {
    const struct classifier *c = &m->classifier;
    bool family = a->pooler   ? c->layers == 1 && c->pooler
                  : a->causal ? c->layers == 1
                              : is_two(c, a);
    return c->on && !family ? c : NULL;
}

bool classifier_is_standard(const struct method *m, const struct arch *a) {
    const struct classifier *c = classifier_of(m, a);
    return !c || (a->pooler && is_two(c, a));
}

const char *classifier_fault(const struct method *m, const struct arch *a) {
    const struct classifier *c = &m->classifier;
    if (!c->on) return NULL;
    if (c->layers > 2) return "classifier: layers= must be 1 or 2";
    if (c->hidden && c->layers < 2) return "classifier: hidden= is the width of the first of two layers: "
                                           "use layers=2";
    if (m->generated.on) return "a generated head replaces the classifier: remove one of them";
    if (arch_generates(a)) return "an encoder–decoder model generates text and has no classifier: remove "
                                  "classifier from the method";
    if (c->pooler && !a->pooler) return "this model family has no pooler: use pooler=no";
    return c->pooler && a->pooler_absent && c->layers == 2 ? "the model folder has no pooler: use pooler=no"
                                                           : NULL;
}
