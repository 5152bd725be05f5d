/* The table of ops, one row each.  NAME refers to NAME_forward() and NAME_backward() in an op_*.c file; a row
 * without them does not link, and the tests fail for a row without cases. */
#ifndef CORE_ENGINE_OPTABLE_H
#define CORE_ENGINE_OPTABLE_H

#include "core/engine/tape.h"

struct record;

#define OP_TABLE(OP)                                                                   \
    OP(linear) \
    OP(linear_add) \
    OP(matmul) \
    OP(head_linear) \
    OP(add) \
    OP(add_scaled) \
    OP(bias) \
    OP(channel_scale) \
    OP(add_gated) \
    OP(gated_copies) \
    OP(dots) \
    OP(mix) \
    OP(gain) \
    OP(mul) \
    OP(scale) \
    OP(act) \
    OP(layernorm) \
    OP(rmsnorm) \
    OP(rotary) \
    OP(dropout) \
    OP(embed) \
    OP(pool_first) \
    OP(pool_mean) \
    OP(pool_max) \
    OP(rows) \
    OP(cols) \
    OP(concat_rows) \
    OP(kronecker) \
    OP(gated_change) \
    OP(scattered) \
    OP(attention) \
    OP(cross_entropy) \
    OP(vocabulary_loss) \
    OP(divergence) \
    OP(squared_error)

#define OP_ID(name) OP_##name,
enum op_id { OP_TABLE(OP_ID) OP_COUNT };
#undef OP_ID

struct op {
    const char *name;
    void (*forward)(struct tape *t, struct record *r);
    void (*backward)(struct tape *t, const struct record *r);
};
extern const struct op op_table[OP_COUNT];

#define OP_FUNCTIONS(name)                                 \
    void name##_forward(struct tape *t, struct record *r); \
    void name##_backward(struct tape *t, const struct record *r);
OP_TABLE(OP_FUNCTIONS)
#undef OP_FUNCTIONS

#endif
