/* The additive vectors that the model has, trained in their place. */
#include "core/method/fn.h"

const struct function function_bias = {
    .name = "bias",
    .form = FORM_IN_WEIGHT,
    .keys = TAKES_PLACE | TAKES_TARGET,
    .comps = COMPS_IN_WEIGHT,
    .usual = {.target = TARGET_ALL, .comp = COMP_IN_WEIGHT},
    .vectors_only = true,
};
