/* Functions: what a module computes, its Δh. Each function is one file (core/method/fn_NAME.c), which ends
 * with its row, and one line of FUNCTIONS (space.h). All other code uses a function through its row. */
#ifndef CORE_METHOD_FUNCTIONS_H
#define CORE_METHOD_FUNCTIONS_H

#include "core/engine/tape.h"
#include "core/method/space.h"
#include "core/model/arch.h"

enum function_form {
    FORM_CHANGE,    /* a change of the written tap: `apply` */
    FORM_KEYS,      /* additional keys and values of an attention: `keys_of` */
    FORM_IN_WEIGHT, /* existing tensors, trained in place */
    FORM_ROWS,      /* rows inserted into the encoder's sequences, the values of its first slot */
};

/* The keys of the text form (keys.c). A field whose key a function does not take has the value of the
 * default module. */
enum {
    TAKES_R = 1 << 0,
    TAKES_L = 1 << 1,
    TAKES_S = 1 << 2,
    TAKES_ALPHA = 1 << 3,
    TAKES_MLP = 1 << 4,
    TAKES_ACT = 1 << 5,
    TAKES_BIASES = 1 << 6,
    TAKES_NORM = 1 << 7,
    TAKES_READ =
        1 << 8, /* if absent: reads the written tap (FORM_CHANGE), the queries (FORM_KEYS), nothing */
    TAKES_TARGET = 1 << 9,
    TAKES_COMP = 1 << 10,
    TAKES_HEADS = 1 << 11,
    TAKES_SOURCE = 1 << 12,
    TAKES_INIT = 1 << 13,
    TAKES_DROPOUT = 1 << 14,
    TAKES_PLACE = 1 << 15, /* write, layers, stack, site: of every function */
    TAKES_ROWS = 1 << 16, /* place, pool, rows */
    TAKES_RESIDUAL = 1 << 20, /* residual, end */
    TAKES_SEED = 1 << 21,
    TAKES_LENGTH = 1 << 24,
    TAKES_SHIFT = 1 << 25,
    TAKES_SIZE = TAKES_R | TAKES_L
};

/* Sets of compositions, bit c for enum comp c. */
enum {
    COMPS_ADDING = 1 << COMP_ADD | 1 << COMP_SCALED | 1 << COMP_LEARNED,
    COMPS_GATED = 1 << COMP_GATED,
    COMPS_CHANNEL = 1 << COMP_CHANNEL,
    COMPS_GATE = 1 << COMP_GATE,
    COMPS_GATES = 1 << COMP_GATES,
    COMPS_MULTIPLY = 1 << COMP_MULTIPLY,
    COMPS_IN_WEIGHT = 1 << COMP_IN_WEIGHT,
    COMPS_CONCAT = 1 << COMP_CONCAT
};

/* A place to which at= can move a preset's modules. */
struct function_place {
    const char *word; /* NULL ends a list */
    enum tap tap;     /* the written tap */
};

/* The linear maps of a layer, by their outputs. */
extern const struct function_place function_maps[];

/* The order of merging; trained tensors of the model come first. */
enum merge_turn {
    MERGE_ADDS = 1,   /* adds to weights */
    MERGE_MULTIPLIES, /* multiplies weights, including what was added */
    MERGE_TURNS
};

/* Parts of a module's formula that depend on where it is. */
struct formula_words {
    const char *x, *sub,
        *place; /* the tap that is read, the module's number as an index, its place in words */
    const char *scores;          /* "/√d_h", or "" for a model whose attention scores are not divided by it */
};

struct function_slot; /* fn.h, as the next */
struct use;
struct check; /* check.h */
struct terms; /* count.h */
struct merge; /* merge.h, as the next */
struct merge_at;
struct plan;
struct plan_tensor;
struct model; /* core/model/model.h */

struct function {
    const char *name;     /* the name in the text and JSON forms, and in tensor names */
    const char *title;    /* on the screens */
    const char *description; /* a description for users: one to three sentences */
    const char *sign;     /* the symbol of its result in formulas; NULL: Δh */
    const char
        *composed; /* the formula of the tap, if it does not follow from the composition; NULL */
    enum function_form form;
    unsigned keys;        /* TAKES_… */
    unsigned comps;       /* COMPS_… that it supports */
    struct module defaults; /* a module with default values (module_default), in all layers and places */
    enum init init_if_generated; /* default initialization if a network generates the values; 0: no separate
                           * default */
    bool of_words; /* changes only the word embeddings, at embed.words */
    bool linear;          /* linear in its input: over one map it is a change of the weight */
    bool vectors_only;    /* FORM_IN_WEIGHT: only bias vectors of the existing tensors */
    bool per_head;        /* supports separate heads */
    const char *write_help; /* "the tap to scale": write= is required; NULL: it has a default */
    const struct function_place *places; /* the places of at=; NULL: at= is not supported */

    /* The tensors of a module at one layer, in the order of the flat block; ends with a row without name.
     * The scale s, if learned, follows. */
    const struct function_slot *slots;
    /* Initial values of slots that are computed from the model's weights. NULL: none. */
    void (*start)(const struct module *m, const struct model *of, const struct plan_tensor *t, real *out);
    /* Returns whether the gradient of the tensor is zero in exact arithmetic; `shift`: a constant added to
     * all keys of the module's layers has an effect. NULL: never. */
    bool (*no_gradient)(const struct module *m, int slot, bool shift);
    /* FORM_CHANGE: returns the value of the tap with the change. */
    node (*apply)(struct tape *t, const struct use *u);
    /* FORM_KEYS: sets key and value. */
    void (*keys_of)(struct tape *t, const struct use *u, struct kv_set *set);

    /* Writes Δh in the field's notation. */
    void (*formula)(const struct module *m, const struct formula_words *w, char out[160]);
    /* Writes its sizes for a box of a diagram; a NULL: no model is selected. NULL: none. */
    void (*label)(const struct module *m, const struct arch *a, char out[64]);

    /* Its rules, in addition to those of check.c. check: returns whether its form is valid, with an error
     * if not; advise: adds warnings; pair: checks y and an earlier module x of this function at the same
     * tap with a common layer, `first` its index. NULL: none. */
    bool (*check)(struct check *c, const struct module *m);
    void (*advise)(struct check *c, const struct module *m);
    void (*pair)(struct check *c, const struct module *x, int first, const struct module *y);
    /* Returns whether two such modules at one place and of one scale are equivalent to one with the sum of
     * their sizes. NULL: never. */
    bool (*joins)(const struct module *m);
    /* Adds the terms of its parameter count at one layer. */
    void (*terms)(struct terms *t, const struct module *m, const struct arch *a);

    /* Why a module cannot be merged into the base weights: for every module, or as the function returns;
     * NULL: it can. Static text. */
    const char *unmerged;
    const char *(*unmergeable)(const struct plan *p, const struct module *m);
    /* Merges one layer of a module, or removes it again; not needed by FORM_IN_WEIGHT. */
    int (*merge)(struct merge *x, const struct merge_at *at, struct err *e);
    enum merge_turn turn;
};

/* function_bottleneck, …: the rows, each defined at the end of its file. */
#define FUNCTION_ROW(constant, file) extern const struct function function_##file;
FUNCTIONS(FUNCTION_ROW)
#undef FUNCTION_ROW

const struct function *function_at(enum fn fn);
const struct function *function_of(const struct module *m);
/* Returns whether the module's function takes one of these keys. */
bool module_takes(const struct module *m, unsigned keys);
bool module_in_weight(const struct module *m);
bool module_joins(const struct module *m);
bool module_is_sized(const struct module *m);
/* Returns whether it changes a tap using only the value of that tap, as a scale does, so that it cannot
 * read another. */
bool module_is_in_place(const struct module *m);
/* Returns the tap that a module reads when at= moves it to this tap. */
enum tap function_place_read(const struct function *f, enum tap write);

#endif
