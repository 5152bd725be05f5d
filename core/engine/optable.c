#include "core/engine/optable.h"

#include <stddef.h>

#define PRODUCT(name) [OP_##name] = { #name, name##_forward, name##_backward, name##_flops },
#define PLAIN(name) [OP_##name] = { #name, name##_forward, name##_backward, NULL },

const struct op op_table[OP_COUNT] = { OP_TABLE(PRODUCT, PLAIN) };
