/* bias: the existing bias vectors of the model, trained in place. */
#include <stdio.h>

#include "core/method/fn.h"

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "b%s: bias vectors, %s", w->sub, w->place);
}

const struct function function_bias = {
    .name = "bias",
    .title = "bias",
    .description = "Trains the bias vectors of the model and adds nothing (BitFit).",
    .form = FORM_IN_WEIGHT,
    .keys = TAKES_PLACE | TAKES_TARGET,
    .comps = COMPS_IN_WEIGHT,
    .defaults = { .target = TARGET_ALL, .comp = COMP_IN_WEIGHT },
    .vectors_only = true,
    .formula = formula,
};
