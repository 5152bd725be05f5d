#include "core/method/frozen_layers.h"

#include <stdio.h>

#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/slots.h"

/* Returns the lowest encoder layer that a module changes, numbered as plan.lowest_layer. */
static int layers_below(const struct plan *p, const struct module *m, const struct arch *a) {
    struct span span[SPANS];
    int lowest = a->encoder_layers, n = module_spans(m, a, span);
    if (module_in_weight(m)) return p->lowest_layer;
    if (m->shift) return -1; /* shifts the positions of the tokens */
    for (int i = 0; i < n; i++)
        if (span[i].stack == STACK_ENCODER && span[i].first < lowest) lowest = span[i].first;
    return lowest;
}

int method_frozen_layers(const struct plan *p, const struct arch *a, char why[FROZEN_LAYERS_REASON]) {
    const struct method *m = &p->method;
    int layers = p->lowest_layer < a->encoder_layers ? p->lowest_layer : a->encoder_layers;
    const char *who = NULL;
    for (int i = 0; i < m->count; i++) {
        int below = layers_below(p, &m->module[i], a);
        if (below < layers || (below == layers && !who)) who = fn_name(m->module[i].fn);
        if (below < layers) layers = below;
    }
    if (layers < 0)
        snprintf(why, FROZEN_LAYERS_REASON, "%s changes the embeddings", who ? who : "the method");
    if (!layers) snprintf(why, FROZEN_LAYERS_REASON, "%s changes layer 1", who ? who : "the method");
    /* Taps of the networks count from 1; 0 is the encoder's output. */
    if (m->retriever.on && m->retriever.tap && m->retriever.tap < layers) layers = m->retriever.tap;
    if (hyper_with_example(m) && hyper_tap(m) && hyper_tap(m) < layers) layers = hyper_tap(m);
    return layers < 0 ? 0 : layers;
}
