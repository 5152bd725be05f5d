/* masked: the existing tensors of the model, each with a change made sparse by a mask (masked.h). */
#include <stdio.h>

#include "core/method/check.h"
#include "core/method/fn.h"
#include "core/method/masked.h"

/* Reports the memory on every machine. */
static void advise(struct check *c, const struct module *m) {
    check_memory(c, m, masked_bytes(c->m, 1), true);
}

static void formula(const struct module *m, const struct formula_words *w, char out[160]) {
    (void)m;
    snprintf(out, 160, "W%s = W₀ + z ⊙ w, z the mask: weights, %s", w->sub, w->place);
}

const struct function function_masked = {
    .name = "masked",
    .title = "masked",
    .description =
        "A sparse change of existing tensors: the mask z is trained as gates, or fixed to the largest "
        "changes of an earlier stage (diff pruning). It can be merged into the weights.",
    .form = FORM_IN_WEIGHT,
    .keys = TAKES_PLACE | TAKES_TARGET,
    .comps = COMPS_IN_WEIGHT,
    .defaults = { .target = TARGET_ALL, .comp = COMP_IN_WEIGHT },
    .advise = advise,
    .formula = formula,
};
