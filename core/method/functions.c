#include "core/method/functions.h"

#include "core/base/mem.h"

#define ROW(constant, file) [FN_##constant] = &function_##file,
static const struct function *const rows[FN_COUNT] = { FUNCTIONS(ROW) };

const struct function_place function_maps[] = { { "q", TAP_A_Q },    { "k", TAP_A_K },    { "v", TAP_A_V },
                                                { "o", TAP_A_OUT },  { "w1", TAP_F_PRE }, { "w2", TAP_F_OUT },
                                                { "gate", TAP_F_PRE }, { "up", TAP_F_UP },
                                                { "down", TAP_F_OUT }, { 0 } };

const struct function *function_at(enum fn fn) {
    BUG_IF(fn >= FN_COUNT);
    return rows[fn];
}

const struct function *function_of(const struct module *m) { return function_at(m->fn); }
bool module_takes(const struct module *m, unsigned keys) { return function_of(m)->keys & keys; }
bool module_in_weight(const struct module *m) { return function_of(m)->form == FORM_IN_WEIGHT; }

bool module_joins(const struct module *m) {
    const struct function *f = function_of(m);
    return f->joins && f->joins(m);
}

bool module_is_sized(const struct module *m) { return module_takes(m, TAKES_SIZE); }

bool module_is_in_place(const struct module *m) {
    return function_of(m)->form == FORM_CHANGE && !module_takes(m, TAKES_READ);
}

enum tap function_place_read(const struct function *f, enum tap write) {
    return f->linear ? tap_map_input(write) : write;
}

const char *fn_name(enum fn f) { return (unsigned)f < FN_COUNT ? rows[f]->name : "?"; }
