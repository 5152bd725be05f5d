/* The table of ops: one row each.  NAME stands for NAME_forward(), NAME_backward()
 * and NAME_flops() in an op_*.c file; a row that lacks one does not link, and
 * the tests fail for a row without cases. */
#ifndef CORE_ENGINE_OPTABLE_H
#define CORE_ENGINE_OPTABLE_H

#include "core/engine/tape.h"

struct record;

/* Ops whose flops are those of matrix products, and those without any. */
#define OP_TABLE(PRODUCT, PLAIN)                                                                   \
    PRODUCT(linear)                                                                                \
    PRODUCT(linear_add)                                                                            \
    PRODUCT(matmul)                                                                                \
    PRODUCT(head_linear)                                                                           \
    PLAIN(add)                                                                                     \
    PLAIN(add_scaled)                                                                              \
    PLAIN(bias)                                                                                    \
    PLAIN(channel_scale)                                                                           \
    PLAIN(add_gated)                                                                               \
    PLAIN(gated_copies)                                                                            \
    PLAIN(dots)                                                                                    \
    PLAIN(mix)                                                                                     \
    PLAIN(gain)                                                                                    \
    PLAIN(mul)                                                                                     \
    PLAIN(scale)                                                                                   \
    PLAIN(act)                                                                                     \
    PLAIN(layernorm)                                                                               \
    PLAIN(rmsnorm)                                                                                 \
    PLAIN(dropout)                                                                                 \
    PLAIN(embed)                                                                                   \
    PLAIN(pool_first)                                                                              \
    PLAIN(pool_mean)                                                                               \
    PLAIN(pool_max)                                                                                \
    PLAIN(rows)                                                                                    \
    PLAIN(cols)                                                                                    \
    PLAIN(concat_rows)                                                                             \
    PLAIN(kronecker)                                                                               \
    PLAIN(gated_change)                                                                            \
    PLAIN(scattered)                                                                               \
    PRODUCT(attention)                                                                             \
    PLAIN(cross_entropy)                                                                           \
    PRODUCT(vocabulary_loss)                                                                       \
    PLAIN(divergence)                                                                              \
    PLAIN(squared_error)

#define OP_ID(name) OP_##name,
enum op_id { OP_TABLE(OP_ID, OP_ID) OP_COUNT };
#undef OP_ID

struct op {
    const char *name;
    void (*forward)(struct tape *t, struct record *r);
    void (*backward)(struct tape *t, const struct record *r);
    /* Floating-point operations of the matrix products: forward, plus what backward
     * will do given which operands need a gradient.  NULL: none. */
    double (*flops)(const struct tape *t, const struct record *r);
};
extern const struct op op_table[OP_COUNT];

#define OP_PLAIN(name)                                                                             \
    void name##_forward(struct tape *t, struct record *r);                                         \
    void name##_backward(struct tape *t, const struct record *r);
#define OP_PRODUCT(name)                                                                           \
    OP_PLAIN(name)                                                                                 \
    double name##_flops(const struct tape *t, const struct record *r);
OP_TABLE(OP_PRODUCT, OP_PLAIN)
#undef OP_PLAIN
#undef OP_PRODUCT

#endif
