/* A method on a tiny fixture model, run as training does it: prologue, one shard, backward
 * through both.  A model with a decoder writes the fixture's targets and has no head.  Built
 * for float and double tests. */
#ifndef TESTS_SUPPORT_RIG_H
#define TESTS_SUPPORT_RIG_H

#include "core/method/attach.h"
#include "tests/support/fixture.h"

enum { RIG_RANGES = 3 };
struct rig {
    struct fixture fixture;
    const struct model *m;
    int classes;  /* 0: the model writes text */
    struct arena *arena, *prologue_arena;
    struct tape *tape, *prologue;
    double dropout, attention_dropout; /* of the backbone in training; 0 */
    bool recompute; /* the activations of each layer in training */
    /* In training, of one task: what is added to the loss; `answers`: the head's outputs, or the decoder's states.  NULL: nothing. */
    node (*more)(void *self, struct forward *f, node encoded, node answers, node loss);
    void *more_self;
    /* Of several tasks, each with a head of as many outputs: their ranges of the fixture's rows. */
    int tasks;    /* 0: one */
    struct task_range range[RIG_RANGES];
};
void rig_open(struct rig *r); /* BERT */
/* A folder below the project's root with expected.safetensors in it. */
void rig_open_at(struct rig *r, const char *folder);
void rig_close(struct rig *r);

/* Every tiny model that methods are tried on: folders for rig_open_at, NULL past the end. */
const char *rig_folder(int i);

/* The fixture's rows are of three tasks from here on, or (`absent`) of two of them. */
void rig_mix(struct rig *r, bool absent);
/* They are of one task again. */
void rig_unmix(struct rig *r);

/* The plan of a method text on the model; fails the test when it is refused. */
struct plan *rig_plan(const struct rig *r, const char *text);
/* Whether the method has a place on this model: not all have biases, layers as deep,
 * keys of the rows that queries have, or a width that Kronecker products divide.  Fails the test
 * for any other error. */
bool rig_has_place(const struct rig *r, const char *text);
/* The model without a method: its head alone, NULL where it has none.  All functions here
 * take that NULL for the bare model. */
struct plan *rig_bare(const struct rig *r);
/* plan_init, then every value moved by N(0, sigma), so that nothing is zero by chance. */
real *rig_params(const struct rig *r, const struct plan *p, uint64_t seed, double sigma);
/* Logits (rows × classes, or target tokens × vocabulary) of model `m` in evaluation;
 * caller frees. */
real *rig_logits_of(struct rig *r, const struct model *m, const struct plan *p, const real *params);
real *rig_logits(struct rig *r, const struct plan *p, const real *params);
/* The fixture's rows, of which those that a method's own rows leave no positions for are cut; on the arena. */
struct batch rig_batch(struct rig *r, const struct plan *p);
/* The mean loss in training; the whole gradient when grads is not NULL. */
double rig_loss(struct rig *r, const struct plan *p, const real *params, real *grads);

/* The tensor of that name; fails the test when there is none. */
const struct plan_tensor *rig_tensor(const struct plan *p, const char *name);
size_t rig_logit_count(const struct rig *r);
/* Largest difference of two sets of logits. */
double rig_apart(const struct rig *r, const real *a, const real *b);

#endif
