/* Functions: what a module computes, its Δh.  One file a function (core/method/fn_NAME.c), which ends with
 * its row; one line a function in the list FUNCTIONS (space.h).  What others know of a function they ask here. */
#ifndef CORE_METHOD_FUNCTIONS_H
#define CORE_METHOD_FUNCTIONS_H

#include "core/engine/tape.h"
#include "core/method/space.h"
#include "core/model/arch.h"

enum function_form {
    FORM_CHANGE,    /* a change at the tap that is written: `apply` */
    FORM_KEYS,      /* further keys and values of an attention: `keys_of` */
    FORM_IN_WEIGHT, /* existing tensors, trained in their place */
};

/* The keys of the text form (keys.c).  What a function takes no key for stays as in its usual module. */
enum {
    TAKES_R = 1 << 0,
    TAKES_L = 1 << 1,
    TAKES_S = 1 << 2,
    TAKES_ALPHA = 1 << 3,
    TAKES_MLP = 1 << 4,
    TAKES_ACT = 1 << 5,
    TAKES_BIASES = 1 << 6,
    TAKES_NORM = 1 << 7,
    TAKES_READ = 1 << 8, /* without: reads what it writes (FORM_CHANGE), the queries (FORM_KEYS), nothing */
    TAKES_TARGET = 1 << 9,
    TAKES_COMP = 1 << 10,
    TAKES_HEADS = 1 << 11,
    TAKES_SOURCE = 1 << 12,
    TAKES_INIT = 1 << 13,
    TAKES_DROPOUT = 1 << 14,
    TAKES_PLACE = 1 << 15, /* write, layers, stack, site: of every function */
    TAKES_SIZE = TAKES_R | TAKES_L
};

struct function_slot; /* fn.h, as the next */
struct use;

struct function {
    const char *name;     /* the word of text and JSON form, and of tensors' names */
    enum function_form form;
    unsigned keys;        /* TAKES_… */
    struct module usual;  /* a module with usual values (module_default); layers and places are all */
    enum init made_init;  /* usual start where a network makes the values; 0: as otherwise */
    bool linear;          /* in what it reads: over one map it is a change of that map's weight */
    bool vectors_only;    /* FORM_IN_WEIGHT: of the existing tensors the additive vectors alone */

    /* The tensors of a module at one layer, in the order of the flat block; ends with a row without name.
     * A learned s follows by itself. */
    const struct function_slot *slots;
    /* Whether the tensor's gradient is zero in exact arithmetic; `shift`: a constant added to all keys of
     * the module's layers changes something.  NULL: never. */
    bool (*still)(const struct module *m, int slot, bool shift);
    /* FORM_CHANGE: the tap's value with the change. */
    node (*apply)(struct tape *t, const struct use *u);
    /* FORM_KEYS: sets key and value. */
    void (*keys_of)(struct tape *t, const struct use *u, struct kv_set *set);
};

/* function_bottleneck, …: the rows, each at the end of its file. */
#define FUNCTION_ROW(constant, file) extern const struct function function_##file;
FUNCTIONS(FUNCTION_ROW)
#undef FUNCTION_ROW

const struct function *function_at(enum fn fn);
const struct function *function_of(const struct module *m);
/* Whether the module's function takes one of these keys. */
bool module_takes(const struct module *m, unsigned keys);
bool module_in_weight(const struct module *m);
bool module_is_sized(const struct module *m);

#endif
