/* Functions: what a module computes, its Δh.  One file a function (core/method/fn_NAME.c), which ends with
 * its row; one line a function in the list FUNCTIONS (space.h).  What others know of a function they ask
 * here. */
#ifndef CORE_METHOD_FUNCTIONS_H
#define CORE_METHOD_FUNCTIONS_H

#include "core/engine/tape.h"
#include "core/method/space.h"
#include "core/model/arch.h"

enum function_form {
    FORM_CHANGE,    /* a change at the tap that is written: `apply` */
    FORM_KEYS,      /* further keys and values of an attention: `keys_of` */
    FORM_IN_WEIGHT, /* existing tensors, trained in their place */
    FORM_ROWS,      /* rows that join the encoder's sequences: its first slot is they */
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
    TAKES_ROWS = 1 << 16,  /* place, pool, rows */
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

/* A place that at= may move a preset's modules to. */
struct function_place {
    const char *word; /* NULL ends a list */
    enum tap tap;     /* that is written */
};

/* The linear maps of a layer, by their outputs. */
extern const struct function_place function_maps[];

/* Trained tensors of the model are merged first. */
enum merge_turn {
    MERGE_ADDS = 1,   /* adds to weights */
    MERGE_MULTIPLIES, /* works on what was added, too */
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
    const char *name;     /* the word of text and JSON form, and of tensors' names */
    const char *title;    /* on the screens */
    const char *says;     /* what it is, for a person who chooses: one to three sentences */
    const char *sign;     /* of what it makes, in formulas; NULL: Δh */
    const char
        *composed; /* what becomes of the tap, where it is said otherwise than by the composition; NULL */
    enum function_form form;
    unsigned keys;        /* TAKES_… */
    unsigned comps;       /* COMPS_… that it has */
    struct module usual;  /* a module with usual values (module_default); layers and places are all */
    enum init made_init;  /* usual start where a network makes the values; 0: as otherwise */
    bool of_words; /* changes what the tokens' words are looked up as, at embed.words, and nothing else */
    bool linear;          /* in what it reads: over one map it is a change of that map's weight */
    bool vectors_only;    /* FORM_IN_WEIGHT: of the existing tensors the additive vectors alone */
    bool per_head;        /* may work head by head */
    const char *say_write; /* "the tap to scale": write= must be said; NULL: the usual one is meant */
    const struct function_place *places; /* at=; NULL: it cannot be moved so */

    /* The tensors of a module at one layer, in the order of the flat block; ends with a row without name.
     * A learned s follows by itself. */
    const struct function_slot *slots;
    /* Start values of slots that the model's weights decide.  NULL: there are none. */
    void (*start)(const struct module *m, const struct model *of, const struct plan_tensor *t, real *out);
    /* Whether the tensor's gradient is zero in exact arithmetic; `shift`: a constant added to all keys of
     * the module's layers changes something.  NULL: never. */
    bool (*still)(const struct module *m, int slot, bool shift);
    /* FORM_CHANGE: the tap's value with the change. */
    node (*apply)(struct tape *t, const struct use *u);
    /* FORM_KEYS: sets key and value. */
    void (*keys_of)(struct tape *t, const struct use *u, struct kv_set *set);

    /* Writes Δh in the field's notation. */
    void (*formula)(const struct module *m, const struct formula_words *w, char out[160]);
    /* Its sizes, short, for a box in a drawing; a NULL: before a model is chosen.  NULL: nothing to say. */
    void (*label)(const struct module *m, const struct arch *a, char out[64]);

    /* Its own rules beside those of check.c.  check: whether its form can be, with an error if not; advise:
     * warnings; pair: y with an earlier module x of this function at the same tap and some same layer,
     * `first` its index.  NULL: none. */
    bool (*check)(struct check *c, const struct module *m);
    void (*advise)(struct check *c, const struct module *m);
    void (*pair)(struct check *c, const struct module *x, int first, const struct module *y);
    /* Whether two such modules at one place, of one scale, equal one whose size is the sum of theirs.  NULL:
     * never. */
    bool (*joins)(const struct module *m);
    /* The arithmetic of its tensors at one layer. */
    void (*terms)(struct terms *t, const struct module *m, const struct arch *a);

    /* Why a module cannot be folded into the base weights: of every module, or as the function says; NULL:
     * it can.  Static text. */
    const char *unmerged;
    const char *(*unmergeable)(const struct plan *p, const struct module *m);
    /* Folds one layer of a module, or takes it out again; FORM_IN_WEIGHT needs none. */
    int (*merge)(struct merge *x, const struct merge_at *at, struct err *e);
    enum merge_turn turn;
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
bool module_joins(const struct module *m);
bool module_is_sized(const struct module *m);
/* Whether it changes a tap by what that holds itself, as a scale does: nothing else can be read. */
bool module_is_in_place(const struct module *m);
/* What a module moved by at= to this tap reads. */
enum tap function_place_read(const struct function *f, enum tap write);

#endif
