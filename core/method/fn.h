/* The interface of the files of functions, fn_*.c: slots, and a module in a forward pass.  Private to
 * core/method. */
#ifndef CORE_METHOD_FN_H
#define CORE_METHOD_FN_H

#include "core/method/functions.h"
#include "core/method/slots.h"
#include "core/model/taps.h"

/* ---- slots ---- */

enum start {
    START_ZERO,
    START_ONE,
    START_DRAWN,     /* a matrix, by the module's init */
    START_DRAWN_OUT, /* the same, but 0 with init=lora: the change starts at 0 */
    START_TENTH,     /* 0.1 */
    START_MODEL,     /* computed from the model's weights: the function's `start` */
};

struct slot_shape {
    int64_t rows, cols;
    bool one; /* shared by all tasks; others have one per task */
};

/* The size of a dimension: one, the module's size, the width of the tap that it reads or writes, or the
 * vocabulary size. */
enum dim { DIM_ONE, DIM_SIZE, DIM_READ, DIM_WRITE, DIM_KEYS, DIM_VOCABULARY };

struct function_slot {
    enum slot slot;
    const char *name; /* the last part of the tensor's name: "W_d" */
    enum start start;
    enum dim rows, cols; /* of one row: a vector; weight decay is for matrices */
    /* Changes the shape given by rows and cols; returns false if this module has no such tensor. NULL: that
     * shape, always. */
    bool (*fit)(const struct module *m, const struct arch *a, struct slot_shape *out);
};

/* Returns the row of a slot of the module's function, or NULL for slots of its source and the learned s. */
const struct function_slot *function_slot(const struct module *m, enum slot slot);
/* Sets the shape of a slot of a module on this model; returns false where the module has no such tensor. */
bool function_slot_shape(const struct function_slot *s, const struct module *m, const struct arch *a,
                         struct slot_shape *out);

/* ---- a module in a forward pass ---- */

struct fused; /* fusion.h */

struct use {
    const struct attach *attach;
    const struct module *m;
    const struct arch *arch;
    int module;
    const struct site *site;
    const struct tape_rows *rows;    /* of FORM_KEYS: the keys' own */
    const struct row_groups *groups; /* of tokens: NULL where all take the same weights */
    const int32_t *ids;              /* at the embedding: the tokens' */
    node x, value;                   /* what is read, what the tap holds by now (not of FORM_KEYS) */
    struct fused *fused;             /* of source fusion: the outputs of earlier modules at its place */
    double attention_dropout;
};

/* Returns the values of a slot, or NODE_NONE if the module has none. With groups, the blocks of the tasks
 * are concatenated. */
node use_slot(const struct use *u, enum slot slot);
/* Returns the tensor of a slot that belongs to the method as a whole. */
node use_network(const struct use *u, enum slot slot);
/* Return the plan of the module, and a tensor of it by index. */
const struct plan *use_plan(const struct use *u);
node use_leaf(const struct use *u, int tensor);
/* Returns the model's tensor of a role at the module's place, as modified by the method, or NODE_NONE. */
node use_weight(struct tape *t, const struct use *u, enum tensor_role role);
/* Returns memory for n values of the module at its place, the same at each step. */
real *use_room(const struct use *u, size_t n);
/* Returns the constant factor of Δh and sets *learned to the trained one, if any. */
double use_factor(const struct use *u, node *learned);
/* Returns an input-dependent gate, one value per sequence: the mean over its tokens of σ(x·w + b), with x
 * the tap that the gate reads. */
node use_gate(struct tape *t, const struct use *u, int gate);
/* Returns `base` combined with Δh by the composition of the module. */
node use_compose(struct tape *t, const struct use *u, node base, node delta);
/* Applies the module's dropout to x; `which` (0, 1) distinguishes the two dropout sites of a module. */
node use_dropout(struct tape *t, const struct use *u, node x, int which);
/* Returns the second of the two sites, for functions that apply dropout themselves. */
uint64_t use_dropout_site(const struct use *u);

#endif
