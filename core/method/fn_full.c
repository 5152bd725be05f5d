/* full: the existing tensors of the model, trained in place. */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/fn.h"

static void advise(struct check *c, const struct module *m) {
    check_memory(c, m, 16, false); /* value, gradient and two moments */
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "W%s: weights, %s", w->sub, w->place);
}

const struct function function_full = {
    .name = "full",
    .title = "full",
    .description = "Trains existing tensors of the model: full fine-tuning, or the LayerNorms only.",
    .form = FORM_IN_WEIGHT,
    .keys = TAKES_PLACE | TAKES_TARGET,
    .comps = COMPS_IN_WEIGHT,
    .defaults = { .target = TARGET_ALL, .comp = COMP_IN_WEIGHT },
    .advise = advise, .formula = formula,
};
