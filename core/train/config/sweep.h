/* A sweep: options of `petri train` whose values contain lists in braces, combined as a grid (docs/sweep.md).
 * {a,b,c} is a list (separated by commas outside of brackets; an item may contain lists), {x..y:n} n evenly
 * spaced values, {x..y:n log} evenly spaced on a logarithmic scale (rounded between integers), {a,b,c log}
 * numbers on a logarithmic scale. Each list is an axis, named by its option, or, inside a method's text, by
 * the key before it. A value that starts with {" or {} is JSON instead of a list. The JSON form is
 * {"version":1,"base":{OPTION:TEXT with {AXIS} where a value
 * goes},"axes":[{"key","values","log"}|{"key","from","to","n",
 * "log"}],"seeds":[…],"draw":{"rule","cells","seed"},"stop":{"runs","steps","tokens","trained","minutes","halving":true},
 * "size_of":METHOD,"note":TEXT}. */
#ifndef CORE_TRAIN_CONFIG_SWEEP_H
#define CORE_TRAIN_CONFIG_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum { SWEEP_AXES = 24, SWEEP_SEEDS = 1000, SWEEP_OPTIONS = 96, SWEEP_VALUES = 1000, SWEEP_CELLS = 10000 };
enum sweep_draw { SWEEP_GRID, SWEEP_RANDOM, SWEEP_LATIN };
/* Limits of a sweep: started runs, their planned steps, training tokens, trainable parameters of a run,
 * minutes of training. */
enum sweep_budget { BUDGET_RUNS, BUDGET_STEPS, BUDGET_TOKENS, BUDGET_TRAINED, BUDGET_MINUTES, SWEEP_BUDGETS };
extern const char *const SWEEP_BUDGET[SWEEP_BUDGETS]; /* "runs" … */

struct sweep_axis {
    char *key;
    int values;
    char **value;    /* owned; may contain {AXIS} of another axis */
    bool range;      /* n evenly spaced values from `from` to `to`; fewer where rounded integers coincide */
    bool log;        /* logarithmic scale */
    int n;
    double from, to;
};
struct sweep_spec {
    int options, axes, seeds;
    struct {
        char *name, *text; /* the text with {AXIS} in it */
    } option[SWEEP_OPTIONS];
    struct sweep_axis axis[SWEEP_AXES];
    uint64_t seed[SWEEP_SEEDS]; /* at least one: 1 */
    enum sweep_draw draw;
    int cells; /* number sampled; 0: all */
    uint64_t draw_seed;
    double budget[SWEEP_BUDGETS]; /* 0: no limit */
    bool halving;  /* successive halving: runs stop at rungs, and the best third of the cells continues */
    char *note;    /* note of its runs; NULL: none */
    char *size_of; /* method to whose number of parameters the methods of all cells are scaled; NULL:
                    * unchanged */
};
void sweep_init(struct sweep_spec *s);
void sweep_release(struct sweep_spec *s);

/* Sets an option of the sweep: "seeds", "draw", "cells" and "draw-seed" (sampling of cells), "budget"
 * ("runs=10,minutes=30"), "size-of" (method), "note", "halving" ("on"), or adds an option of petri train with
 * its text. ERR_USAGE names the option, the position and the valid form. */
int sweep_set(struct sweep_spec *s, const char *option, const char *text, struct err *e);
/* Extends the sweep by further seeds ("seeds") or by values of one of its options (a list, or one value).
 * They are merged into the list at the same place ("lora(r={16,32})" into "lora(r={2,4})"), or form a list
 * with the option's text. Duplicates are dropped. ERR_USAGE for an option that cannot be extended; release *s
 * then. */
int sweep_extend(struct sweep_spec *s, const char *option, const char *text, struct err *e);
/* Returns whether the option is "seeds" or "seed". */
bool sweep_is_seeds(const char *option);
/* Returns whether the option has no value: "halving". */
bool sweep_is_flag(const char *option);
/* Returns the option's text with its lists, "lora(r={2,4})"; caller frees. */
char *sweep_option_text(const struct sweep_spec *s, int option);
/* Returns the command line, "petri sweep …", quoted for a shell; caller frees. */
char *sweep_text(const struct sweep_spec *s);
void sweep_json(const struct sweep_spec *s, struct buf *out);
/* Parses the JSON form; `name` is used in messages. On failure *s needs no release. */
int sweep_from_json(const char *name, const char *json, size_t n, struct sweep_spec *s, struct err *e);

/* One combination of values. */
struct sweep_cell {
    char **text;  /* per option */
    char **value; /* per axis; NULL where the cell does not use it */
};
struct sweep_cells {
    int count, options, axes;
    struct sweep_cell *cell;
};
/* Expands the lists to all distinct combinations; an axis that the texts of a cell do not mention adds none.
 * SWEEP_RANDOM samples `cells` of them without replacement, SWEEP_LATIN so that the values of each axis are
 * equally frequent. ERR_USAGE above SWEEP_CELLS. */
int sweep_expand(const struct sweep_spec *s, struct sweep_cells *out, struct err *e);
void sweep_cells_release(struct sweep_cells *c);

#endif
