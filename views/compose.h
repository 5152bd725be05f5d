/* State of Compose: the config of the run (method, model, task, options), the cursor, and the facts of the
 * method (parameter counts, validity, name), which are computed from it.
 *
 * The app sets the facts of model and task (arch, classes, examples), and reads the config to train.
 * After changing anything it calls compose_changed().  All functions only access the struct;
 * single-threaded. */
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
#include "views/phrase.h"

/* The axes of a module, in the order of h and l: those that screens use by name, then the other fields of
 * the table (core/method/keys.h), axis_count() in total. */
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

/* Which modules an edit changes: by default all of one function if they differ at most in their position. */
enum reach { REACH_DEFAULT, REACH_ONE, REACH_KIND };

/* A method that the user saved by name. */
struct compose_own {
    const char *name, *text;
    const char *why; /* the reason if it cannot be used, or NULL */
};

/* Modules that are switched off and not part of the method. */
struct compose_off {
    struct module module[COMPOSE_OFF];
    int count;
};

/* The state that an edit changes. */
struct compose_state {
    struct run_config config;
    struct compose_off off;
    uint64_t seed[COMPOSE_SEEDS];
    int seeds;
    const char *by; /* the origin of the following step if petri made it, static; NULL: an edit */
};

/* One choice of an axis: the resulting module, and the reason if it is not allowed. */
struct choice {
    char name[32];
    const char *says;        /* description of one or two sentences; static */
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
    char unfit[300];     /* the reason if the run is refused although the method is valid on the model; "" */
    bool counted;
    size_t trained, kept, head, model;
    struct estimate cost;/* estimated cost of the run; NaN: unknown */
    size_t module_trained[METHOD_MODULES];
    size_t network_trained[COMPOSE_NETWORKS]; /* of the present networks, in order */
    struct block_counts places;
    char *arithmetic[METHOD_MODULES];
    char *tensors[METHOD_MODULES]; /* "W_d 384→8 · W_u 8→384, in each of 6 layers" */
};

struct compose_view {
    struct run_config config;    /* the run that Enter trains; owned */
    /* set by the app */
    const struct arch *arch;     /* NULL: no model, counts are not shown */
    const char *model, *task;    /* as shown */
    int outputs[RUN_TASKS];      /* of each of several tasks, as classes */
    int classes;                 /* of the task; 0 not known: 2.  A model that writes text has
                                  * no head for them */
    bool texts;                  /* the task has source and target texts, which need a decoder */
    size_t train_rows, dev_rows; /* 0: unknown */
    struct config_data_facts
        rows[RUN_TASKS]; /* of each task, as far as known; pointers belong to the app */
    char unread[240];            /* the error of reading the data set; "": none, or not read yet */
    double row_tokens, row_targets; /* mean length of a truncated example; 0: unknown */
    double row_squares, longest_row; /* mean square and maximum of the lengths of sources; 0: unknown */
    double data_bytes;              /* of all examples; 0: unknown */
    double available;               /* bytes of memory; 0: unknown */
    bool forced;                    /* the run is started although it needs more */
    int workers;                 /* training workers */
    struct estimate_speed speed; /* of one worker */
    const struct compose_own *own; /* methods saved by name */
    int owns;
    uint64_t seed[COMPOSE_SEEDS];  /* one run per seed; none: one run with the seed of the config */
    int seeds;
    char run_note[200];            /* of the next runs */
    char run_name[64];             /* name of the next run */
    struct compose_off off;
    struct module adding; /* a copy of a module that is in the method, until the question is answered */
    int adding_at;
    bool copies;                   /* answered: copies are added without a question, until another method */
    bool folded[OPTION_GROUPS];
    /* marked for a sweep: whole methods, and values of options as "lr=0.001"; owned */
    char *swept[COMPOSE_SWEPT];
    int swepts;
    /* the cursor */
    int part; /* 0 … count-1: a module; then the networks of the method, the options, modules switched off */
    enum axis axis;
    int key;                     /* index among the keys of a network */
    enum reach reach;            /* set by a key, until another method is loaded */
    int option;                  /* index among the options of the run */
    int choice;                  /* under the cursor in the axis's list */
    int note;                    /* finding shown by n, -1 none */
    bool walking;                /* j and k move through one list: one undo step */
    bool describe;               /* D: the choice is described below */
    char *start_of, *start; /* a method and its measured effect at step 0; owned; NULL: not measured */
    /* owned */
    struct compose_facts facts;
    struct choice choices[COMPOSE_CHOICES];
    int choice_count;
    const struct option
        *row[COMPOSE_OPTIONS]; /* the applicable options of the run, in the order of h and l */
    int options;
    char *stuck[COMPOSE_OPTIONS];/* of each, the reason if no other value is compatible, or NULL; owned */
    char refused[240];           /* the reason if the last step skipped a value, "": none */
    char *bad[COMPOSE_PRESETS];  /* of each preset, the reason if it is invalid on the model, or NULL */
    struct arch bad_on;          /* the shape of that model, nothing owned */
    struct compose_state undo[COMPOSE_UNDO]; /* configs owned */
    bool new_rows;               /* the data set has changed since the last EFFECT_ROWS */
    bool
        stale_rows; /* the facts belong to the previous data set, until the app has read the new one */
    int undo_at, undo_top;       /* states below undo_at can be undone, up to undo_top redone */
};

/* Recomputes facts, choices and options and clamps the cursor, after any external change. */
void compose_changed(struct compose_view *v);
/* Estimates the cost of a run with this config on the current model, data set and machine; false: unknown
 * (the model is not loaded). */
bool compose_estimate(const struct compose_view *v, const struct run_config *c, struct estimate *out);
/* Sets the method (a preset or a typed one) and its default learning rate, as one undoable step. */
void compose_take_method(struct compose_view *v, const struct method *m);
/* Sets the description of the effect of a method (method_canonical) at step 0; shown while it is the
 * method. */
void compose_start(struct compose_view *v, const char *method, const char *words);
/* Sets the model and the tasks of a config, as one undoable step. */
void compose_take_source(struct compose_view *v, const struct run_config *c);
/* Sets a whole config, as one undoable step; `by`: its origin, static. */
void compose_take_config(struct compose_view *v, const struct run_config *c, const char *by);
/* Writes the differences of the second config from the first, as "size 8 → 4, batch 32 → 16"; nothing if they
 * are equal. */
void compose_difference(const struct run_config *from, const struct run_config *to, struct buf *out);
/* Return the number of applicable options of the run, the name of one on the command line, and the index of a
 * name, -1 if absent. */
int compose_option_count(const struct compose_view *v);
const char *compose_option_name(const struct compose_view *v, int i);
int compose_option_find(const struct compose_view *v, const char *name);
/* Returns whether a run on these texts is trained on target tokens, without a head. */
bool compose_targets(const struct compose_view *v);
/* Returns the reason in one line if model and task are incompatible, or NULL. */
const char *compose_mismatch(const struct compose_view *v);
/* Returns the reason if the run cannot be trained, as far as known, or NULL: it is shown as valid, and Enter
 * starts it. */
const char *compose_refusal(const struct compose_view *v);
/* Returns whether the run is estimated to need more memory than is available. */
bool compose_lacks_memory(const struct compose_view *v);
/* Writes the config of the run without options that do not apply to the model; config_release. */
void compose_config(const struct compose_view *v, struct run_config *out);
/* Writes the listed seeds as "--seeds 1,2,3". */
void compose_put_seeds(const struct compose_view *v, struct buf *out);
/* Returns the equivalent command line; caller frees. */
char *compose_command(const struct compose_view *v);

/* Return how Compose calls an option, which is shorter for those that it lists first, and its value in a
 * config. */
const char *option_label(const struct option *o, bool *first);
struct phrase option_value_of(const struct run_config *c, const struct option *o);

#endif
