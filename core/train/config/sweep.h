/* A sweep: options of `petri train` in whose texts lists in braces stand, which cross (docs/sweep.md).
 *
 * {a,b,c} is a list (commas outside brackets; an item may hold lists of its own), {x..y:n} n even values,
 * {x..y:n log} even in the log (between whole numbers rounded to whole ones), {a,b,c log} numbers that count
 * by their logs. Each list is an axis, named by its option, or, inside a method's text, by the key before it.
 * A value that begins with {" or {} is JSON and no list.  As JSON the same is
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
/* What a sweep may spend: runs begun, their planned steps, tokens trained on, trained values of a run,
 * minutes of training, which depend on the machine. */
enum sweep_budget { BUDGET_RUNS, BUDGET_STEPS, BUDGET_TOKENS, BUDGET_TRAINED, BUDGET_MINUTES, SWEEP_BUDGETS };
extern const char *const SWEEP_BUDGET[SWEEP_BUDGETS]; /* "runs" … */

struct sweep_axis {
    char *key;
    int values;
    char **value;    /* owned; may hold {AXIS} of another axis */
    bool range;      /* the values are n even ones from x to y; fewer where whole numbers coincide */
    bool log;        /* they are even in the log; of a list, they count by it */
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
    int cells; /* drawn; 0: all */
    uint64_t draw_seed;
    double budget[SWEEP_BUDGETS]; /* 0: no limit */
    bool halving;  /* runs stop at rungs, from which the best third of the cells goes on */
    char *note;    /* that its runs are kept with; NULL: none */
    char *size_of; /* a method, of whose size those of all cells are made; NULL: as they are */
};
void sweep_init(struct sweep_spec *s);
void sweep_release(struct sweep_spec *s);

/* Takes an option with its text; "seeds" fills in the seeds, "draw", "cells" and "draw-seed" how cells are
 * drawn, "budget" ("runs=10,minutes=30") what may be spent, "size-of" a method for the sizes of all, "note"
 * what its runs are kept with, "halving" ("on") that rungs choose among them. ERR_USAGE names the option, the
 * place and what would be right. */
int sweep_set(struct sweep_spec *s, const char *option, const char *text, struct err *e);
/* Adds to what the sweep has: "seeds" further ones, an option of the sweep's the values that its text has (a
 * list, or one). They come into the list that stands there ("lora(r={16,32})" into "lora(r={2,4})"'s), or the
 * option's text and they become a list.  What is there already stays once.  ERR_USAGE for what cannot be
 * extended; *s is to be released then. */
int sweep_extend(struct sweep_spec *s, const char *option, const char *text, struct err *e);
/* Whether the option says seeds. */
bool sweep_is_seeds(const char *option);
/* Whether the option has no value: "halving". */
bool sweep_is_flag(const char *option);
/* The option's text with the lists put back, "lora(r={2,4})"; caller frees. */
char *sweep_option_text(const struct sweep_spec *s, int option);
/* "petri sweep …", words quoted for a shell; caller frees. */
char *sweep_text(const struct sweep_spec *s);
void sweep_json(const struct sweep_spec *s, struct buf *out);
/* `name` stands in messages.  On failure *s needs no release. */
int sweep_from_json(const char *name, const char *json, size_t n, struct sweep_spec *s, struct err *e);

/* One combination. */
struct sweep_cell {
    char **text;  /* of each option */
    char **value; /* of each axis; NULL where the cell does not have it */
};
struct sweep_cells {
    int count, options, axes;
    struct sweep_cell *cell;
};
/* Every combination once: an axis that a cell's texts do not mention makes no further one.  Of a draw, that
 * many (fewer where there are no more): at random without repetition, or so that each axis's values come
 * equally often. ERR_USAGE above SWEEP_CELLS. */
int sweep_expand(const struct sweep_spec *s, struct sweep_cells *out, struct err *e);
void sweep_cells_release(struct sweep_cells *c);

#endif
