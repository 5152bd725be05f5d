/* The tensors that the model has, trained in their place. */
#include <stdio.h>
#include <unistd.h>

#include "core/method/check.h"
#include "core/method/fn.h"

static void fn_full_advise(struct check *c, const struct module *m) {
    double values = 0, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < c->tensors; i++)
        if (module_selects(m, c->a, &c->tensor[i])) values += (double)c->tensor[i].rows * c->tensor[i].cols;
    if (values * 16 > memory) /* value, gradient and two moments */
        WARN(c, "V33",
             "training %.0f values needs %.1f GB for values, gradients and moments; this machine "
             "has %.1f GB",
             values, values * 16e-9, memory * 1e-9);
}

static void fn_full_formula(const struct module *m, const char *x, const char *sub, const char *place,
                            char out[160]) {
    (void)m;
    (void)x;
    snprintf(out, 160, "W%s: weights, %s", sub, place);
}

const struct function function_full = {
    .name = "full",
    .title = "full",
    .says = "The tensors that the model has, trained in their place: full tuning, or the LayerNorms alone.",
    .form = FORM_IN_WEIGHT,
    .keys = TAKES_PLACE | TAKES_TARGET,
    .comps = COMPS_IN_WEIGHT,
    .usual = {.target = TARGET_ALL, .comp = COMP_IN_WEIGHT},
    .advise = fn_full_advise, .formula = fn_full_formula,
};
