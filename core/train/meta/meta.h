/* An episode: a few rows of a task adapt a copy of the values (the inner loop), further rows of it say how
 * well that went, and gradients of that say how the values should have been (the outer loop).
 *
 *   e_0 = label vectors of the first batch at φ_0
 *   φ_{s+1} = φ_s − α ⊙ c_s g_s,  g_s = ∇_φ L_s(φ_s, ω)        s = 0 … S−1; φ with e; c_s clips
 *   F = Σ_j w_j L_query(φ_j, ω)                                 after the last step, or on the way as well
 *
 * φ: what the inner loop adapts, ω: what it holds still, α: a rate a layer.  First order takes the gradients
 * of F by φ_j as those by φ_0; second order goes back through the steps, with products of the Hessian by
 * central differences.  No graph is kept over steps.  A clip's factor is held constant.
 *
 * A pure function of values, rows and number: nothing here knows of runs or threads. */
#ifndef CORE_TRAIN_META_META_H
#define CORE_TRAIN_META_META_H

#include "core/data/dataset.h"
#include "core/method/attach.h"
#include "core/train/config/regime.h"

/* Rows of an episode: the support batch by batch, then the query.  Owned by who draws them. */
struct episode_row {
    const struct dataset *data; /* encoded */
    uint32_t row;
    int32_t label;              /* 0 … classes-1 */
};
struct episode {
    int classes, batches;
    int *start;                 /* batches+2: the rows of each batch, and those of the query */
    struct episode_row *row;
};

/* What the episodes of a run have in common. */
struct meta {
    const struct plan *plan;    /* over episodes */
    const struct model *model;
    struct regime regime;
    uint64_t seed;
    double dropout, attention_dropout, activation_dropout, classifier_dropout;
    bool flat;                  /* for tests: the second order's way with Hessians of zero */
};

/* A worker's own memory, grown as it is needed; zeroed at first. */
struct meta_room {
    real *block[5];             /* as long as the plan's trained values each */
    size_t values;
    real *label[5];             /* classes × label_width each */
    size_t labels[5];
    real *step;                 /* of the second order: what was adapted, and its gradients, a step */
    size_t step_room;
    int32_t *given;             /* the query's answers */
    size_t given_room;
    double *clip, *rate;        /* a step; a rate */
    size_t clip_room, rate_room;
};
void meta_room_release(struct meta_room *r);

/* What one works on. */
struct meta_bench {
    struct tape *tape;
    struct arena *arena;
    struct attach *attach;
    struct meta_room *room;
};

struct meta_score {
    double before, after;             /* share of the query's rows that are right */
    double loss_before, loss_after;   /* their mean loss, without dropout */
};

/* Fills grads (the plan's trained values) with `weight` times the gradient of F by what the outer loop
 * learns, zeros elsewhere; *objective: weight·F; *tokens: of all passes.  number: the episode's among all of
 * the run, which decides its dropout.  False: no memory. */
bool meta_episode(const struct meta *x, const struct meta_bench *on, const real *params,
                  const struct episode *e, uint64_t number, double weight, real *grads, double *objective,
                  double *tokens);
/* F alone. */
double meta_objective(const struct meta *x, const struct meta_bench *on, const real *params,
                      const struct episode *e, uint64_t number);
/* The inner loop step by step: the loss of each step's batch before it and after it, and that of the query
 * before the first and after each; all without dropout.  The caller's. */
struct meta_trace {
    double *before, *after, *query; /* inner, inner, inner+1 */
};
/* How well the query's rows are told before and after the inner loop; trace: NULL, or to be filled.  False:
 * no memory. */
bool meta_evaluate(const struct meta *x, const struct meta_bench *on, const real *params,
                   const struct episode *e, uint64_t number, struct meta_score *out,
                   const struct meta_trace *trace);

/* A task's shots adapt the values: the label vectors of batch 0, which are rows of every class, then a step a
 * batch, with a linear warm-up over a tenth of them and down to zero.  The rule's labels are apart, its inner
 * steps those. */
struct meta_passes {
    int batches;      /* of one pass over the shots */
    double stop_loss; /* after a pass whose mean loss is below it ends; 0: never */
};
struct meta_adapted {
    int steps;
    double loss;                     /* of the last one */
    double loss_before, loss_after;  /* of the scored rows, without dropout */
    const real *params, *label; /* the adapted values and label vectors: the bench's, until its next use */
    int32_t *before, *after;         /* their answers, the caller's; before NULL: they are not told then */
};
/* `scored`: rows in batches that are told at once, the last one where the query is; of these some may have no
 * label
 * (-1), not all.  False: no memory. */
bool meta_adapt(const struct meta *x, const struct meta_bench *on, const real *params,
                const struct episode *shots, const struct episode *scored, const struct meta_passes *passes,
                struct meta_adapted *out);

#endif
