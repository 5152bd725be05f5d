/* Meta-learning on an episode: the inner loop adapts a copy of the parameters on the support set; the outer
 * loop computes gradients of the loss of the adapted parameters on the query set.
 *
 *   e_0     = label vectors of the first batch at φ_0
 *   φ_{s+1} = φ_s − α ⊙ c_s g_s,  g_s = ∇_φ L_s(φ_s, ω),  s = 0 … S−1; φ includes e, c_s clips
 *   F       = Σ_j w_j L_query(φ_j, ω), after the last step, or also at intermediate steps
 *
 * φ: parameters adapted by the inner loop; ω: parameters frozen in it; α: a learning rate per layer. First
 * order uses the gradients of F with respect to φ_j as those with respect to φ_0; second order backpropagates
 * through the steps, with Hessian products by central differences. No graph is stored across steps. Clipping
 * factors are treated as constants. A pure function of parameters, examples and episode number, independent
 * of runs and threads. */
#ifndef CORE_TRAIN_META_META_H
#define CORE_TRAIN_META_META_H

#include "core/data/dataset.h"
#include "core/method/attach.h"
#include "core/train/config/regime.h"

/* The examples of an episode: the support set in batches, then the query set. Owned by the sampler. */
struct episode_example {
    const struct dataset *data; /* encoded */
    uint32_t index;
    int32_t label;              /* 0 … classes-1 */
};
struct episode {
    int classes, batches;
    int *start;                 /* batches+2: offsets of the batches and of the query */
    struct episode_example *example;
};

/* The settings shared by the episodes of a run. */
struct meta {
    const struct plan *plan;    /* of a run over episodes */
    const struct model *model;
    struct regime regime;
    uint64_t seed;
    double dropout, attention_dropout, activation_dropout, classifier_dropout;
    bool recompute; /* the activations of each layer in the backward pass */
    bool flat;                  /* for tests: second order with zero Hessians */
};

/* Memory of a worker, grown on demand; initially zeroed. */
struct meta_room {
    real *block[5];             /* each of the size of the trainable parameters */
    size_t values;
    real *label[5];             /* classes × label_width each */
    size_t labels[5];
    real *step;                 /* second order: adapted parameters and gradients, per step */
    size_t step_room;
    int32_t *prediction;        /* predictions for the query */
    size_t prediction_room;
    double *clip, *rate;        /* per step; per learning rate */
    size_t clip_room, rate_room;
};
void meta_room_release(struct meta_room *r);

/* Resources of an episode. */
struct meta_bench {
    struct tape *tape;
    struct arena *arena;
    struct attach *attach;
    struct meta_room *room;
};

struct meta_score {
    double before, after;             /* accuracy on the query */
    double loss_before, loss_after;   /* mean loss on the query, without dropout */
};

/* Writes `weight` times the gradient of F to grads (trainable parameters of the plan), with zeros where the
 * outer loop does not train; *objective: weight·F; *tokens: total over all passes. number: number of the
 * episode in the run, which determines its dropout masks. Returns false if out of memory. */
bool meta_episode(const struct meta *x, const struct meta_bench *on, const real *params,
                  const struct episode *e, uint64_t number, double weight, real *grads, double *objective,
                  double *tokens);
/* Returns F. */
double meta_objective(const struct meta *x, const struct meta_bench *on, const real *params,
                      const struct episode *e, uint64_t number);
/* The inner loop by step: the loss of each batch before and after its step, and that of the query before the
 * first and after each step; without dropout. Owned by the caller. */
struct meta_trace {
    double *before, *after, *query; /* inner, inner, inner+1 */
};
/* Evaluates the query before and after the inner loop; trace: output, or NULL. Returns false if out of
 * memory. */
bool meta_evaluate(const struct meta *x, const struct meta_bench *on, const real *params,
                   const struct episode *e, uint64_t number, struct meta_score *out,
                   const struct meta_trace *trace);

/* Adaptation of the parameters to the shots of a task: label vectors from batch 0, which has examples of
 * every class, then one step per batch, with a linear warm-up over a tenth of them and linear decay to zero.
 * As with labels=apart and that number of inner steps. */
struct meta_passes {
    int batches;      /* per epoch over the shots */
    double stop_loss; /* stop after an epoch with a mean loss below this; 0: never */
};
struct meta_adapted {
    int steps;
    double loss; /* of the last step */
    double loss_before, loss_after;  /* of the scored examples, without dropout */
    const real *params, *label; /* adapted parameters and label vectors; owned by `on`, valid until its next
                                 * use */
    int32_t *before, *after;         /* predictions, owned by the caller; before NULL: not computed */
};
/* Adapts to `shots` and evaluates on `scored`: examples in batches, the last one in the place of the query;
 * some but not all may be unlabeled (-1). Returns false if out of memory. */
bool meta_adapt(const struct meta *x, const struct meta_bench *on, const real *params,
                const struct episode *shots, const struct episode *scored, const struct meta_passes *passes,
                struct meta_adapted *out);

#endif
