/* How a method is learned, as text: "single", "multi(sampling=proportional, average=one, best=average)",
 * "fewshot(k=4+16, draws=10, from=3)", "meta(order=first, inner=6, …)", "stages(lora, steps=100; …)"
 * (stages.h). A text gives what it wants to be other than usual; the canonical form, which is stored, gives
 * every part.  docs/meta.md.  In regime.c; what goes with it in regime_check.c. */
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
    REGIME_MULTI,   /* several, together */
    REGIME_FEWSHOT, /* draws of k rows of a new task */
    REGIME_META,    /* episodes: an inner loop adapts, an outer one learns what adapts well */
    REGIME_STAGES,  /* one after the other, each with its own method */
    REGIME_KINDS
};
enum { REGIME_KS = 16 };
enum meta_order { META_FIRST, META_FD };
/* What the outer loop learns: what all tasks share, where the inner loop starts, its rates. */
enum { META_SHARED = 1, META_START = 2, META_RATES = 4 };
enum meta_labels { META_LABELS_WITHIN, META_LABELS_APART };

struct regime {
    enum regime_kind kind;
    /* multi */
    struct sampling sampling;
    enum average average;
    enum best_of best_of;
    /* fewshot */
    int ks, k[REGIME_KS]; /* rows a class (rows in all for texts and scores), rising */
    int draws;
    int64_t from;     /* the run that it starts from; 0: none */
    /* meta */
    enum meta_order order;
    int inner;        /* SGD steps of an episode */
    double inner_lr;  /* the rate of each, or where the learned ones start */
    bool learned;
    double clip;      /* largest norm of an inner gradient; 0: not clipped */
    int support, query; /* rows of an episode in all */
    int tasks;        /* episodes an outer step */
    int outer;        /* META_ bits */
    int every;        /* the query loss is taken at step 0, every so many and the last; 0: the last alone */
    enum meta_labels labels; /* of the first of the support's batches, or of one more */
    unsigned said;    /* parts that a text gave: bits in the order of the canonical form */
};

/* The --regime of a run, as it was given. */
struct regime_said {
    struct regime regime;
    struct stages stages; /* of that kind */
    char text[];
};
extern const struct option_parser regime_parser;

/* The usual parts of a kind. */
struct regime regime_usual(enum regime_kind kind);
/* Takes the text's parts over *r; those of another kind over that one's usual ones, of stages the kind alone.
 * On failure *r is as it was; ERR_USAGE names the part and what it may be. */
int regime_take(const char *text, struct regime *r, struct err *e);
/* ERR_USAGE where its parts contradict each other. */
int regime_agrees(const struct regime *r, struct err *e);
/* The canonical form, but for stages; caller frees.  Taken, it gives the same regime. */
char *regime_text(const struct regime *r);
const char *regime_kind_name(enum regime_kind k);
/* Rows of an episode's support in all: with labels apart a batch more than the inner steps take. */
int regime_batches(const struct regime *r);

/* The regime that a method's preset names, with the parts that `said` (may be NULL) gives over it; one task's
 * or several tasks' where it names none. */
struct regime regime_of_method(const struct method *m, bool several, const struct regime_said *said);
/* What a plan is made for. */
struct plan_meta regime_plan(const struct regime *r);

/* The regime of a run: what its description says, else its method's, else what its tasks make of it. */
struct regime config_regime(const struct run_config *c);
bool config_is_meta(const struct run_config *c);
bool config_is_fewshot(const struct run_config *c); /* as its description says */
/* Its text as it was given, "" where there is none. */
const char *config_regime_said(const struct run_config *c);
/* The regime as text, of a config that was completed; caller frees. */
char *config_regime_text(const struct run_config *c);
/* What of a description does not go with its regime, and what to know of it: findings as method_check's, of
 * rules R1 … (docs/meta.md).  a: NULL where the model is not known yet.  Returns how many there are. */
int regime_check(const struct run_config *c, const struct arch *a, struct finding *out, int room);
/* ERR_USAGE for the first of these that is an error. */
int regime_refuse(const struct run_config *c, const struct arch *a, struct err *e);
/* What the regime says of several tasks goes to the options that say it; ERR_USAGE where they say otherwise,
 * or where tasks and regime do not go together. */
int config_complete_regime(struct run_config *c, struct err *e);

#endif
