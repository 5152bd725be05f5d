#include "core/method/classifier.h"

#include "core/base/mem.h"

static const struct classifier classifier_usual = {.on = true, .layers = 2, .act = ACT_TANH};

#define KEY(member, kind, ...) {#member, offsetof(struct classifier, member), kind, __VA_ARGS__, false}
static const struct network_key classifier_keys[] = {
    KEY(layers, NETWORK_SIZE, 1, NULL, 0),
    KEY(act, NETWORK_WORD, 0, method_act_names, ACT_COUNT),
    KEY(pooler, NETWORK_FLAG, 0, NULL, 0),
    {"hidden", offsetof(struct classifier, hidden), NETWORK_SIZE, 0, NULL, 0, true},
};
const struct network classifier_network = {"classifier", "classifier", offsetof(struct method, classifier),
                                           sizeof classifier_usual, &classifier_usual, classifier_keys, COUNT_OF(classifier_keys)};

int classifier_width(const struct classifier *c, const struct arch *a) { return c && c->layers == 2 && c->hidden ? c->hidden : a->width; }

static bool is_two(const struct classifier *c, const struct arch *a) {
    return c->layers == 2 && c->act == ACT_TANH && !c->pooler && classifier_width(c, a) == a->width;
}

const struct classifier *classifier_of(const struct method *m, const struct arch *a) {
    const struct classifier *c = &m->classifier;
    bool family = a->pooler ? c->layers == 1 && c->pooler : is_two(c, a);
    return c->on && !family ? c : NULL;
}

bool classifier_is_usual(const struct method *m, const struct arch *a) {
    const struct classifier *c = classifier_of(m, a);
    return !c || (a->pooler && is_two(c, a));
}

const char *classifier_fault(const struct method *m, const struct arch *a) {
    const struct classifier *c = &m->classifier;
    if (!c->on) return NULL;
    if (c->layers > 2) return "a classifier has one or two maps: say layers=1 or layers=2";
    if (c->hidden && c->layers < 2) return "hidden is the width of the first of two maps: say layers=2";
    if (m->generated.on) return "a generated head takes the classifier's place: leave one of them out";
    if (arch_generates(a)) return "a model that writes text has no classifier";
    if (c->pooler && !a->pooler) return "this family has no pooler: say pooler=no";
    return c->pooler && a->pooler_absent && c->layers == 2 ? "the model folder has no pooler: say pooler=no" : NULL;
}
