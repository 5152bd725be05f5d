/* The training regime as text: "single", "multi(sampling=proportional, average=one, best=average)",
 * "fewshot(k=4+16, draws=10, from=3)", "meta(order=first, inner=6, …)", "stages(lora, steps=100; …)"
 * (stages.h). A text overrides defaults; the canonical form, which is stored, has every part. docs/meta.md.
 * In regime.c; compatibility checks in regime_check.c. */
#ifndef CORE_TRAIN_CONFIG_REGIME_H
#define CORE_TRAIN_CONFIG_REGIME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/method/plan.h"
#include "core/train/config/config.h"
#include "core/train/config/sampling.h"
#include "core/train/config/stages.h"

enum regime_kind {
    REGIME_SINGLE,  /* one task */
    REGIME_MULTI,   /* several tasks together */
    REGIME_FEWSHOT, /* sampled support sets of k examples of a new task */
    REGIME_META,    /* episodes: the inner loop adapts to an episode, the outer loop optimizes the adapted
                     * result */
    REGIME_STAGES,  /* consecutive stages, each with its own method */
    REGIME_KINDS
};
enum { REGIME_KS = 16 };
enum meta_order { META_FIRST, META_FD };
/* Trainable in the outer loop: shared parameters, initialization of the inner loop, inner learning rates. */
enum { META_SHARED = 1, META_START = 2, META_RATES = 4 };
enum meta_labels { META_LABELS_WITHIN, META_LABELS_APART };

struct regime {
    enum regime_kind kind;
    /* multi */
    struct sampling sampling;
    enum average average;
    enum best_of best_of;
    /* fewshot */
    int ks, k[REGIME_KS]; /* examples per class (in total for texts and scores), increasing */
    int draws;
    int64_t from;     /* run whose parameters it is initialized from; 0: none */
    /* meta */
    enum meta_order order;
    int inner;        /* SGD steps per episode */
    double inner_lr;  /* learning rate of each, or initial value of the learned ones */
    bool learned;
    double clip;      /* max norm of inner gradients; 0 disables clipping */
    int support, query; /* examples per episode, over all classes */
    int tasks;        /* episodes per outer step */
    int outer;        /* META_ bits */
    int every;        /* the query loss is computed at step 0, every `every` steps and the last; 0: only at
                       * the last */
    enum meta_labels labels; /* labels come from the first batch of the support set, or from an additional
                              * batch */
    unsigned given;   /* parts that a text has: bits in the order of the canonical form */
};

/* The parsed --regime of a run with its text. */
struct regime_given {
    struct regime regime;
    struct stages stages; /* for REGIME_STAGES */
    char text[];
};
extern const struct option_parser regime_parser;

/* Returns the defaults of a kind. */
struct regime regime_default(enum regime_kind kind);
/* Parses `text` and overrides the parts of *r with it; a text of another kind overrides the defaults of that
 * kind, and of stages only the kind is set. On failure *r is unchanged; ERR_USAGE names the part and its
 * valid values. */
int regime_take(const char *text, struct regime *r, struct err *e);
/* Refuses parts that contradict each other (ERR_USAGE). */
int regime_agrees(const struct regime *r, struct err *e);
/* Returns the canonical form, except for stages; caller frees. Parsed again it gives the same regime. */
char *regime_text(const struct regime *r);
const char *regime_kind_name(enum regime_kind k);
/* Returns the number of batches of a support set: the inner steps, and one more with labels=apart. */
int regime_batches(const struct regime *r);
/* Returns how many blocks as large as the trainable parameters a worker stores while it adapts to an episode
 * (meta_make_room of core/train/meta/meta.c). */
int regime_blocks(const struct regime *r);

/* Returns the regime of the method's preset, else single or multi; overridden by `given` (may be NULL). */
struct regime regime_of_method(const struct method *m, bool several, const struct regime_given *given);
/* Returns the options of a plan for this regime. */
struct plan_meta regime_plan(const struct regime *r);

/* Returns the regime of a run: --regime, else that of its method, else single or multi. */
struct regime config_regime(const struct run_config *c);
bool config_is_meta(const struct run_config *c);
bool config_is_fewshot(const struct run_config *c);
/* Returns --regime as given, "" where it is not set. */
const char *config_regime_given(const struct run_config *c);
/* Returns the regime of a completed config as text; caller frees. */
char *config_regime_text(const struct run_config *c);
/* Checks a config against its regime: writes findings like those of method_check, with rules R1 …
 * (docs/meta.md). a: NULL where the model is unknown. Returns the number of findings, which may exceed
 * `room`. */
int regime_check(const struct run_config *c, const struct arch *a, struct finding *out, int room);
/* Refuses a config with such a finding that is an error (ERR_USAGE for the first). */
int regime_refuse(const struct run_config *c, const struct arch *a, struct err *e);
/* Sets the multi-task options from the regime. ERR_USAGE where they contradict it, or where it does not fit
 * the number of tasks. */
int config_complete_regime(struct run_config *c, struct err *e);

#endif
