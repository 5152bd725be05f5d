/* What the files of the functions, fn_*.c, are written with: slots, and a module at work.  Private to
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
    START_MODEL,     /* by the model's weights: the function's `start` */
};

struct slot_shape {
    int64_t rows, cols;
    bool one; /* for all tasks, where the others are one a task */
};

/* Rows or columns of a tensor: one, the module's size, the width of the tap it reads or writes, or the
 * vocabulary's. */
enum dim { DIM_ONE, DIM_SIZE, DIM_READ, DIM_WRITE, DIM_VOCABULARY };

struct function_slot {
    enum slot slot;
    const char *name; /* the last part of the tensor's name: "W_d" */
    enum start start;
    enum dim rows, cols; /* of one row: a vector; weight decay is for matrices */
    /* Changes the shape that rows and cols give; returns false where this module has no such tensor.  NULL:
     * that shape, always. */
    bool (*fit)(const struct module *m, const struct arch *a, struct slot_shape *out);
};

/* The row of a slot of the module's function, or NULL: it is its source's, or the learned s. */
const struct function_slot *function_slot(const struct module *m, enum slot slot);
/* Sets the shape of a slot of a module on this model; returns false where the module has no such tensor. */
bool function_slot_shape(const struct function_slot *s, const struct module *m, const struct arch *a,
                         struct slot_shape *out);

/* ---- a module at work on some rows ---- */

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
    struct fused *fused;             /* of source fusion: what those before it at its place made */
    double attention_dropout;
};

/* The values of a slot, NODE_NONE where the module has none.  With groups it holds the tasks' blocks one
 * above another. */
node use_slot(const struct use *u, enum slot slot);
/* The method's own tensor of a slot, one for all its modules. */
node use_network(const struct use *u, enum slot slot);
/* The plan that the module is of, and a tensor of it by its index. */
const struct plan *use_plan(const struct use *u);
node use_leaf(const struct use *u, int tensor);
/* The model's tensor of a role at the module's place, as the method has it; NODE_NONE without one. */
node use_weight(struct tape *t, const struct use *u, enum tensor_role role);
/* Room for n values of the module at its place, the same at each step. */
real *use_room(const struct use *u, size_t n);
/* s as a constant, with the learned value beside it. */
double use_factor(const struct use *u, node *learned);
/* A gate of the input, one value a sequence: the mean over its own tokens of σ(x·w + b), x what the gate
 * reads. */
node use_gate(struct tape *t, const struct use *u, int gate);
/* `base` with Δh, composed as the module says. */
node use_compose(struct tape *t, const struct use *u, node base, node delta);
/* The module's dropout on x; `which` (0, 1) tells two of one module apart. */
node use_dropout(struct tape *t, const struct use *u, node x, int which);
/* The second site of the two, for what the function drops otherwise. */
uint64_t use_dropout_site(const struct use *u);

#endif
