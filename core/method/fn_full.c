/* The tensors that the model has, trained in their place. */
#include "core/method/fn.h"

const struct function function_full = {
    .name = "full",
    .form = FORM_IN_WEIGHT,
    .keys = TAKES_PLACE | TAKES_TARGET,
    .usual = {.target = TARGET_ALL, .comp = COMP_IN_WEIGHT},
};
