/* The tape: values, and how they were made.
 *
 * A tape belongs to one shard of one step and to one thread.  Ops run when they
 * are recorded (define by run); tape_backward() walks them in reverse.  Every
 * value is a matrix, rows × cols, row-major and packed; a batch is the
 * concatenation of its sequences' tokens (no padding), so activations are
 * tokens × channels, and vectors are 1 × channels.
 *
 * A weight is an ordinary value: a frozen leaf, a trained leaf, or the result of
 * other ops.  `needs_grad` of a result is the OR over its operands, set when the op
 * is recorded; nothing is saved, and no gradient is computed, for what needs none.
 *
 * Gradients: the first contribution writes, later ones add.  A trained leaf's
 * gradient goes to the memory that the leaf was made with. */
#ifndef CORE_ENGINE_TAPE_H
#define CORE_ENGINE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/rng.h"
#include "core/engine/arena.h"
#include "core/engine/real.h"

struct tape;

/* A value on a tape.  0 is no value (an operand left out). */
typedef int32_t node;
enum { NODE_NONE = 0 };

/* How the rows of token matrices fall into sequences.  Owned by the caller, must
 * outlive the tape's step. */
struct tape_rows {
    int count;             /* sequences */
    const int *start;      /* count+1 offsets; sequence i has rows start[i]…start[i+1]-1 */
    const uint64_t *id;    /* count row ids: the random numbers of a row follow its id */
};

/* `training` false: dropout does nothing and no value needs a gradient. */
struct tape *tape_new(struct arena *arena);
void tape_free(struct tape *t);
/* Starts a step: forgets all values (the arena is reset too). */
void tape_reset(struct tape *t, bool training, uint64_t seed, uint64_t step);
bool tape_training(const struct tape *t);
/* Until the next reset, on a tape that is not training: linear maps of few rows stream their
 * weight instead of packing it (kernel_few_rows).  For texts that are made token by token. */
void tape_few_rows(struct tape *t);
bool tape_has_few_rows(const struct tape *t);

/* Memory that lives as long as the step, or until what was made after a mark below it is recycled. */
void *tape_keep(struct tape *t, size_t bytes);

/* A frozen leaf: the caller's memory, read only, alive for the step. */
node tape_frozen(struct tape *t, int rows, int cols, const real *value);
/* A trained leaf.  `grad` (rows*cols) is written by the first contribution and must
 * be cleared by tape_backward() when there is none: after backward it holds the
 * whole gradient of this tape, zeros included.  Asking again for the same memory and
 * shape gives the same leaf, so a weight that several layers share adds up. */
node tape_trained(struct tape *t, int rows, int cols, const real *value, real *grad);

int tape_rows_of(const struct tape *t, node n);
int tape_cols_of(const struct tape *t, node n);
const real *tape_value(const struct tape *t, node n);
bool tape_needs_grad(const struct tape *t, node n);
/* After backward: the gradient of an inner value when it is still held (only for
 * values marked by tape_watch), else NULL. */
void tape_watch(struct tape *t, node n);
const real *tape_grad(const struct tape *t, node n);

/* Runs backward from `n` values with given gradients (seeds[i] has the value's size;
 * NULL means all ones).  Trained leaves hold their gradients after it. */
void tape_backward(struct tape *t, int n, const node *values, const real *const *seeds);

/* Before backward: leaves that were made with gradients within from[0 …] have them at the same places of
 * `to` from now on, so that a tape may be finished by whoever is free. */
void tape_move_grads(struct tape *t, const real *from, size_t n, real *to);

/* Values made after the mark are dead, but `keep` and watched ones: no later op takes
 * them.  When none of them needs a gradient, `keep` is moved down to the mark and the
 * memory above is reused, so that the layers below the lowest adapted site cost the
 * memory of one layer.  Else leaves and nodes stay, and what no backward reads gives
 * its memory to values to come.  Take the mark once, below the first layer, and
 * recycle to the same mark after each. */
struct tape_mark {
    int value;
    struct arena_mark memory;
};
struct tape_mark tape_mark(const struct tape *t);
void tape_recycle(struct tape *t, struct tape_mark m, node *keep);

/* The first op (in the order of the step) that made a number that is not finite, by
 * its table name and site, or NULL when all values of this tape are finite.  Slow:
 * for the message after a loss was found bad. */
const char *tape_first_bad(const struct tape *t, char site[64]);
/* Names what is recorded from now on, for tape_first_bad ("layer 3 attention"). */
void tape_site(struct tape *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* How many times the tape's own lists had to grow; like arena_grown, constant in
 * steady steps. */
size_t tape_grown(const struct tape *t);

#endif
