#include "core/engine/optable.h"

#define ROW(name) [OP_##name] = { #name, name##_forward, name##_backward },

const struct op op_table[OP_COUNT] = { OP_TABLE(ROW) };
