/* The tape: values, and the ops that produced them.
 *
 * A tape belongs to one shard of one step and to one thread.  Ops run when they are recorded (define by run);
 * tape_backward() walks them in reverse.  Every value is a matrix, rows × cols, row-major and packed; a batch
 * is the concatenation of the tokens of its sequences (no padding), so activations are tokens × channels, and
 * vectors are 1 × channels.
 *
 * A weight is an ordinary value: a frozen leaf, a trained leaf, or the result of other ops.  `needs_grad` of
 * a result is the OR over its operands, set when the op is recorded; nothing is saved, and no gradient is
 * computed, for values that do not need one.
 *
 * Gradients: the first contribution writes, later ones add.  The gradient of a trained leaf is written to the
 * memory passed when the leaf was created. */
#ifndef CORE_ENGINE_TAPE_H
#define CORE_ENGINE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/rng.h"
#include "core/engine/arena.h"
#include "core/engine/real.h"

struct tape;

/* A value on a tape.  0 marks an omitted operand. */
typedef int32_t node;
enum { NODE_NONE = 0 };

/* Partitions the rows of token matrices into sequences.  Owned by the caller, must outlive the tape's
 * step. */
struct tape_rows {
    int count;             /* sequences */
    const int *start;      /* count+1 offsets; sequence i has rows start[i]…start[i+1]-1 */
    const uint64_t *id;    /* count row ids: the random numbers of a row depend on its id */
};

/* `training` false: dropout is disabled and no value needs a gradient. */
struct tape *tape_new(struct arena *arena);
void tape_free(struct tape *t);
/* Starts a step: removes all values (the arena is reset too). */
void tape_reset(struct tape *t, bool training, uint64_t seed, uint64_t step);
bool tape_training(const struct tape *t);
/* Until the next reset, on a tape that is not training: linear maps of few rows stream their weight instead
 * of packing it (kernel_few_rows).  For autoregressive generation. */
void tape_few_rows(struct tape *t);
bool tape_has_few_rows(const struct tape *t);
/* Until the next reset: products with a trained weight that has a side of at most THIN use kernel_thin_…,
 * which are faster than the matrix library and have other bits. */
void tape_thin(struct tape *t);
bool tape_has_thin(const struct tape *t);

/* Until the next reset: the values of a segment are not stored, but computed again, with the same bits, before
 * its backward pass.  No effect on a tape that is not training. */
void tape_recompute(struct tape *t);
/* Start and end a segment: later ops may use no value of it except `output`, the values from before it, and
 * leaves.  No effect without tape_recompute. */
void tape_segment_begin(struct tape *t);
void tape_segment_end(struct tape *t, node output);

/* Allocates memory that lives as long as the step, or until values after a lower mark are recycled. */
void *tape_keep(struct tape *t, size_t bytes);

/* Adds a frozen leaf: memory of the caller, read-only, alive for the step. */
node tape_frozen(struct tape *t, int rows, int cols, const real *value);
/* Adds a frozen leaf whose products with rows are computed in bfloat16 by `packed` (core/engine/packed.h),
 * which may be NULL; otherwise `value` may be NULL, and nothing else reads the leaf. */
struct packed;
node tape_frozen_packed(struct tape *t, int rows, int cols, const real *value, const struct packed *packed);
/* Likewise for a leaf that exists; a trained one is of packed_trained_new, and its gradient is computed in
 * bfloat16 too. */
void tape_pack(struct tape *t, node leaf, const struct packed *packed);
/* Returns it; NULL for any other value. */
const struct packed *tape_packed(const struct tape *t, node n);
/* A frozen matrix whose values are in memory while a product uses them. */
struct lent {
    const real *value;           /* NULL where they are packed */
    const struct packed *packed; /* NULL: products in float32 */
};
struct lender {
    const void *self;
    int index;
    bool packs; /* lends the packed form */
    /* Returns the matrix, which stays in memory until it is given back; thread-safe. */
    struct lent (*take)(const struct lender *l);
    void (*give)(const struct lender *l);
};
/* Adds a frozen leaf of such a matrix, which only products read; `lender` is alive for the step. */
node tape_lent(struct tape *t, int rows, int cols, const struct lender *lender);
/* Adds a trained leaf.  `grad` (rows*cols) is written by the first contribution and cleared by
 * tape_backward() if there is none: after backward it contains the whole gradient of this tape, zeros
 * included.  Another call with the same memory and shape returns the same leaf, so that a weight shared by
 * several layers accumulates. */
node tape_trained(struct tape *t, int rows, int cols, const real *value, real *grad);

/* Likewise for a table whose rows op_embed_sum reads: backward writes only these rows of `grad`, unless
 * another op contributes to it. */
node tape_trained_rows(struct tape *t, int rows, int cols, const real *value, real *grad);
/* After backward: returns the number of rows of such a leaf that were written and sets *row to them, in the
 * order of their first use, until the next reset; -1 if all were. */
int tape_rows_written(const struct tape *t, const real *grad, const int32_t **row);

int tape_rows_of(const struct tape *t, node n);
int tape_cols_of(const struct tape *t, node n);
const real *tape_value(const struct tape *t, node n);
bool tape_needs_grad(const struct tape *t, node n);
/* Returns, after backward, the gradient of an inner value that is still stored (only values marked by
 * tape_watch), otherwise NULL. */
void tape_watch(struct tape *t, node n);
const real *tape_grad(const struct tape *t, node n);

/* Runs backward from `n` values with given gradients (seeds[i] has the value's size; NULL means all ones).
 * Trained leaves have their gradients afterwards. */
void tape_backward(struct tape *t, int n, const node *values, const real *const *seeds);

/* Before backward: redirects the gradients of leaves within from[0 …] to the same positions of `to`, so that
 * another worker can finish a tape. */
void tape_move_grads(struct tape *t, const real *from, size_t n, real *to);

/* Ends the life of values created after the mark, except `keep` and watched ones: later ops must not use
 * them.  If none of them needs a gradient, `keep` is moved down to the mark and the memory above is reused,
 * so that the layers below the lowest adapted site cost the memory of one layer.  Otherwise leaves and nodes
 * stay, and memory that no backward reads is reused for later values.  Take the mark once, below the first
 * layer, and recycle to the same mark after each layer. */
struct tape_mark {
    int value;
    struct arena_mark memory;
};
struct tape_mark tape_mark(const struct tape *t);
void tape_recycle(struct tape *t, struct tape_mark m, node *keep);

/* Before backward: returns the first op (in the order of the step) with a NaN or infinite result, by its table name and site,
 * or NULL when all values of this tape are finite.  Slow: for the message after a bad loss was detected. */
const char *tape_first_bad(struct tape *t, char site[64]);
/* Names the values recorded from now on, for tape_first_bad ("layer 3 attention"). */
void tape_site(struct tape *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns how often the tape's lists have grown; like arena_grown, constant in steady steps. */
size_t tape_grown(const struct tape *t);

#endif
