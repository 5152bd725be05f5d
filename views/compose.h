/* State of Compose: the description of the run being made (method, model, task, options), what
 * the cursor is on, and the facts about the point (counts, validity, name), which follow from
 * the method.
 *
 * The app sets the facts of model and task (arch, classes, rows), and reads the config when
 * asked to train.  After it changes anything itself it calls compose_changed().  All
 * functions are pure but for the struct; one thread. */
#ifndef VIEWS_COMPOSE_H
#define VIEWS_COMPOSE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/data/kind.h"
#include "core/method/plan.h"
#include "core/train/config/complete.h"
#include "core/train/config/config.h"
#include "core/train/config/estimate.h"
#include "core/train/config/option.h"
#include "views/block.h"
#include "views/canvas.h"

/* The axes of a module, in the order in which h and l walk them: those that screens ask for by name, then
 * the other fields of
 * the table (core/method/keys.h), axis_count() in all. */
enum axis {
    AXIS_FUNCTION, AXIS_POSITION, AXIS_SITE, AXIS_STACK, AXIS_INSERTION, AXIS_COMPOSITION, AXIS_SIZE,
        AXIS_LAYERS, AXIS_SOURCE,
    AXIS_SCALE, AXIS_MID, AXIS_ACTIVATION, AXIS_HEADS, AXIS_INIT, AXIS_DROPOUT, AXIS_LEARN, AXIS_NAMED
};
enum {
    COMPOSE_UNDO = 32,
    COMPOSE_FINDINGS = 16,
    COMPOSE_CHOICES = 24,
    COMPOSE_NETWORKS = 8,
    COMPOSE_OPTIONS = 96,
    COMPOSE_SWEPT = 64,
    COMPOSE_SEEDS = 64,
    COMPOSE_OFF = 8,
    COMPOSE_PRESETS = 96
};

/* A method that the user keeps by name. */
struct compose_own {
    const char *name, *text;
    const char *why; /* it cannot be taken: why; NULL: it can */
};

/* Modules that are switched off: kept aside, no part of the method. */
struct compose_off {
    struct module module[COMPOSE_OFF];
    int count;
};

/* What an edit changes. */
struct compose_state {
    struct run_config config;
    struct compose_off off;
    uint64_t seed[COMPOSE_SEEDS];
    int seeds;
    const char *by; /* what petri set up in the step that follows, static; NULL: it is an edit */
};

/* One choice of an axis: the module it would give, and why not where it is not allowed. */
struct choice {
    char name[32];
    const char *says;        /* what it is, one or two sentences; static */
    struct module module;    /* the current module with this choice taken */
    bool current, allowed;
    char why[240];           /* when not allowed */
};

struct compose_facts {   /* follow from method, arch and classes */
    char *text;          /* method_text */
    char *canonical;
    char *nearest;       /* or NULL when the point has a name */
    const struct preset *preset;
    struct finding finding[COMPOSE_FINDINGS];
    int findings, errors;
    char unfit[300];     /* why the run would be refused, though the method is valid on the model; "" */
    bool counted;
    size_t trained, kept, head, model;
    struct estimate cost;/* what the run is likely to take; NaN: not known */
    size_t module_trained[METHOD_MODULES];
    size_t network_trained[COMPOSE_NETWORKS]; /* of those that are there, in their order */
    struct block_counts places;
    char *arithmetic[METHOD_MODULES];
    char *tensors[METHOD_MODULES]; /* "W_d 384→8 · W_u 8→384, in each of 6 layers" */
};

struct compose_view {
    struct run_config config;    /* what Enter trains; owned */
    /* set by the app */
    const struct arch *arch;     /* NULL: no model yet, counts are not shown */
    const char *model, *task;    /* as shown */
    int outputs[RUN_TASKS];      /* of each of several tasks, as classes */
    int classes;                 /* of the task; 0 not known: 2.  A model that writes text has
                                  * no head for them */
    bool texts;                  /* the task has source and target texts, which need a decoder */
    size_t train_rows, dev_rows; /* 0 not known */
    struct config_rows_facts
        rows[RUN_TASKS]; /* of each task, as far as they are known; what they point to is the app's */
    char unread[240];            /* why the rows could not be read; "": they could, or are not read yet */
    double row_tokens, row_targets; /* of a row on average, as it is cut; 0 not known */
    int workers;                 /* that train */
    double gflops;               /* of one of them; 0 not known */
    const struct compose_own *own; /* methods kept by name */
    int owns;
    uint64_t seed[COMPOSE_SEEDS];  /* a run for each; none: one, of the config's seed */
    int seeds;
    char run_note[200];            /* of the runs to come */
    char run_name[64];             /* what the next run is called */
    struct compose_off off;
    bool folded[OPTION_GROUPS];
    /* marked for a sweep: whole methods, and values of options as "lr=0.001"; owned */
    char *swept[COMPOSE_SWEPT];
    int swepts;
    /* the cursor */
    int part; /* 0 … count-1: a module; behind them the method's networks, the run's options, modules that are
                 off */
    enum axis axis;
    int key;                     /* place among the keys of a network */
    int option;                  /* place among the run's options, which are walked the same way */
    int choice;                  /* under the cursor in the axis's list */
    int note;                    /* finding shown by n, -1 none */
    bool walking;                /* j and k go through one list: one undo step */
    bool describe;               /* D: the choice is explained below */
    char *start_of, *start; /* a method and what it does at step 0, in words; owned; NULL: not measured */
    /* owned */
    struct compose_facts facts;
    struct choice choices[COMPOSE_CHOICES];
    int choice_count;
    const struct option
        *row[COMPOSE_OPTIONS]; /* the run's options that have a say here, in the order of the walk */
    int options;
    char *stuck[COMPOSE_OPTIONS];/* of each, why no other value goes with the rest, or NULL; owned */
    char refused[240];           /* why the last step passed a value over, "": it did not */
    char *bad[COMPOSE_PRESETS];  /* of each preset why it is not valid on the model, or NULL */
    struct arch bad_on;          /* that model's shape, of which nothing is owned */
    struct compose_state undo[COMPOSE_UNDO]; /* configs owned */
    bool new_rows;               /* the rows are others since the app was told (EFFECT_ROWS) */
    bool
        stale_rows; /* and what is known of them is of others yet; the app, which reads them, says when not */
    int undo_at, undo_top;       /* states below undo_at can be undone, up to undo_top redone */
};

/* Facts, choices and options anew, cursor put inside; after any change from outside. */
void compose_changed(struct compose_view *v);
/* Estimates a run of this description on the view's model, examples and machine; false: not known (the model
 * is not read). */
bool compose_estimate(const struct compose_view *v, const struct run_config *c, struct estimate *out);
/* Takes a method (a preset, one typed) at its usual rate, as one undoable step. */
void compose_take_method(struct compose_view *v, const struct method *m);
/* What a method (method_canonical) does to the model before it is trained; shown while that is the method. */
void compose_start(struct compose_view *v, const char *method, const char *words);
/* Takes the model and the tasks of a description, as one undoable step. */
void compose_take_source(struct compose_view *v, const struct run_config *c);
/* Takes a whole description, as one undoable step; `by`: what set it up, static. */
void compose_take_config(struct compose_view *v, const struct run_config *c, const char *by);
/* Writes what the second description says otherwise than the first, as "size 8 → 4, batch 32 → 16"; nothing
 * where they say the same. */
void compose_difference(const struct run_config *from, const struct run_config *to, struct buf *out);
/* How many options the run has here, those that have a say with this model and these options; the name of one
 * on the command line; the place of a name, -1 when it is not there. */
int compose_option_count(const struct compose_view *v);
const char *compose_option_name(const struct compose_view *v, int i);
int compose_option_find(const struct compose_view *v, const char *name);
/* Why model and task do not go together, in a line, or NULL. */
const char *compose_mismatch(const struct compose_view *v);
/* Returns why what is composed cannot be trained, as far as that is known, or NULL: it is shown as valid, and
 * Enter begins it. */
const char *compose_refusal(const struct compose_view *v);
/* What would be trained: the view's config without what has no say with this model; config_release. */
void compose_config(const struct compose_view *v, struct run_config *out);
/* Writes "--seeds 1,2,3", those that are listed. */
void compose_put_seeds(const struct compose_view *v, struct buf *out);
/* The equivalent command line; caller frees. */
char *compose_command(const struct compose_view *v);

#endif
