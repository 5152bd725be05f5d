/* The parts of a run; private to core/train. A run is a state machine, advanced by the worker that completes
 * a phase. `control` and members marked "under the lock" are shared; all others belong to the worker with
 * exclusive access (phase BEGIN, or the worker that added the last part or chunk) and are read-only for
 * workers on parts and chunks. Created in setup.c, advanced in run.c; each part is set up and released in the
 * file that it names: values.c, stages_run.c, step.c, part.c, evaluate.c, evaluate_final.c, share.c, watch.c
 * and footprint.c; generated samples in sample.c. */
#ifndef CORE_TRAIN_RUN_STATE_H
#define CORE_TRAIN_RUN_STATE_H

#include <pthread.h>

#include "core/engine/optim.h"
#include "core/train/config/sampling.h"
#include "core/train/config/stages.h"
#include "core/train/config/target.h"
#include "core/train/meta/masking.h"
#include "core/train/run/distil.h"
#include "core/train/run/moved.h"
#include "core/train/run/order.h"
#include "core/train/run/pool.h"
#include "core/train/run/run.h"
#include "core/train/run/score.h"
#include "core/train/run/text_score.h"

enum phase {
    PHASE_BEGIN,  /* one worker determines the next phase */
    PHASE_FORWARD, /* parts of a step run forward to the join */
    PHASE_STEP,   /* parts of a step, or the backward passes after a join */
    PHASE_UPDATE, /* slices of the parameters */
    PHASE_SCORE,  /* chunks of an evaluation */
    PHASE_PAUSED,
    PHASE_OVER,
};
enum unit_kind { UNIT_BEGIN, UNIT_FORWARD, UNIT_PART, UNIT_UPDATE, UNIT_CHUNK };

/* The result of a part of a step. */
struct part {
    double loss;    /* Σ weight·loss of its examples */
    double *by_task; /* the same per task; multi-task */
    double tokens;
    const char *op; /* NaN or infinite loss: the first op that produced such a number… */
    char site[64];  /* …and its site */
    struct distil_terms taught;
};

/* A pass of a part: the nodes from which the backward pass starts, and their gradients (NULL: ones). */
struct pass {
    struct batch batch;
    const struct batch_example *row;
    struct forward forward;
    int values;
    node value[RUN_TASKS + 1];
    const real *seed[RUN_TASKS + 1];
};

/* A part whose activations are stored between its forward and backward pass. */
struct stored_pass {
    struct arena *memory;
    struct tape *tape;
    struct attach *attach;
    struct pass pass;
};

/* A contrastive (whole-batch) loss (part.c). */
struct join {
    bool on;
    int width;
    real *vector, *grad;  /* batch × width, in the order of the examples of the parts */
    int *task;
    double instance, prototype; /* unweighted losses */
    const struct plan_tensor *prototypes; /* tasks × width, or NULL */
    real *spare, *prototype_grad; /* a second gradient of the vectors; gradient of the prototypes */
    int anchors;          /* number of anchors in the mean */
    bool reported;        /* a batch without anchors was reported */
    bool store_activations; /* this step stores activations; else the encoder runs twice */
    int parts;
    struct stored_pass *stored;
    size_t peak;          /* bytes of the largest part so far */
};

/* A range of steps with its learning rate and optimizer. */
struct stage_span {
    int64_t first, steps; /* first step, from 0; number of steps */
    double lr;
};

/* The best evaluation so far, by the direction of the metric. */
struct best {
    bool has;
    double value;
    int64_t step;
};
/* Updates *b if `v` is strictly better, and returns whether it is; an undefined, NaN or infinite value never
 * is. */
bool best_offer(struct best *b, enum metric_id id, struct metric_value v, int64_t step);

/* The examples of a task whose embeddings are saved during training. */
struct watch_part {
    const char *name;         /* of the task */
    struct dataset data;      /* a view of its first dev split; row, start, ids and types are owned */
    struct scoring scoring;
    real **layer;             /* output of scoring for the last layer */
    size_t first;             /* index of its first row among all */
};
struct watch {
    int parts;
    struct watch_part *part;
    size_t examples;
    real *vector, *retrieved; /* rows × width of the last layer; rows × width of the retriever, or NULL */
    int32_t *prediction;
    bool now;                 /* part of the current evaluation */
    int64_t step;             /* step of the last set; -1: none */
};

/* The examples whose generated texts are saved during training. */
struct samples {
    struct dataset data;      /* a view of the first dev split, as in struct watch_part */
    struct text_scoring scoring; /* only its texts are used */
    bool now;
    int64_t step;
};

/* A task of the run. */
struct run_task {
    const char *name;         /* "" in a single-task run */
    struct task *task;
    double weight;            /* of its loss */
    enum metric_id metric;    /* primary metric */
    struct samples samples;
    struct frozen *frozen;    /* shared frozen layers of its training set; NULL: all layers run */
    struct best best;         /* by its own primary metric */
    bool best_unsaved;        /* its per-task best checkpoint is not written yet */
    /* The current step. */
    int examples;
    struct target_count targets;
};

/* A split that is scored. */
enum { SPLIT_TEST = -1 };
struct run_split {
    int task, dev;            /* dev 0 selects the best checkpoint; SPLIT_TEST is the task's test set */
    const struct dataset *data;
    struct scoring scoring;   /* classes and scores */
    struct text_scoring text; /* texts */
    struct masked_scoring masked; /* masked language modeling */
};

/* The order of the examples of all tasks (setup.c). */
struct run_order {
    uint32_t *first;          /* tasks+1: the examples of task t have the numbers first[t] … first[t+1]-1 */
    struct sampler *sampler;
};

/* The training data and the objective (objective.h), with their resources. */
struct run_objective {
    const struct example_source *source;
    const struct objective *row;
    struct distil *distil;    /* teachers, or NULL */
    struct masking *masking;  /* masked language modeling */
    struct masked *drawn;     /* max_len: masks of one example */
    double masks;             /* number in the current step */
    struct run_meta *meta;    /* episodes */
};

/* The gradient of a trained word table, added by rows: zero outside those that the step has used. */
struct table_rows {
    const struct plan_tensor *of; /* NULL: none; the gradients of all parameters are added whole */
    int count;
    int32_t *row;
    bool *has;
    bool all;
};

/* The flat blocks of the current plan (plan.h), and their optimizer state (values.c). */
struct run_values {
    real *params;
    real *generated;          /* generated_size: generated weights of the current step */
    real *sum;                /* gradients: trainable parameters, then generated_size */
    real *adam_m, *adam_v;    /* trainable parameters; SGD uses adam_m for momentum */
    real *budget_mean, *budget_spread; /* trainable parameters; of a method with a rank budget
                                        * (core/method/budget.h) */
    real *prologue_grad;      /* trainable parameters; NULL without generated weights */
    struct arena *prologue_arena;
    struct tape *prologue;
    node *generated_node;
    const real **generated_seed;
    struct table_rows table;  /* rows of `sum` */
    struct optim_group *group; /* one per trainable tensor */
    struct attach *attach[CREW_MOST]; /* created by its worker on first use */
};

/* The stages of a run and the current one; a run without stages is a single stage (stages_run.c). */
struct run_stages {
    const struct stages *of;  /* those of the config, or NULL */
    int now;
    struct stage_span span;   /* its steps and its learning rate */
};

/* The batch of the current step (step.c). */
struct run_batch {
    uint32_t *example, *tokens; /* the sampled examples, and their lengths */
    int examples;
    struct row_parts cut;
    struct part *part;
    double *losses;           /* parts × tasks: storage of part.by_task */
    double began;
    double loss_of_examples, loss, norm, lr; /* of the step */
    double clip;              /* factor of its gradient */
    bool good;                /* loss and gradient are finite */
    struct added_values *added; /* added losses (step.c) */
    double stop_loss;         /* stop after an epoch with a mean loss below this; 0: never */
    double epoch_loss;        /* Σ loss·rows of the current epoch */
    int64_t epoch_examples;
    bool low;                 /* that loss was reached */
};

/* The dev splits and their current evaluation (evaluate.c). */
struct run_evaluation {
    int splits;
    struct run_split *split;
    int64_t evaluated;        /* step of the last one; -1: none */
    struct best best;         /* by the primary metric, or the multi-task average */
    bool best_unsaved;        /* the best checkpoint is not written yet */
    int worse;                /* evaluations since the best one */
    bool early;               /* stopped early */
    bool zero;                /* also evaluate before the first step */
    bool on;                  /* scores are computed; else only embeddings or texts */
    uint64_t bad_example;
    int bad_chunk;            /* -1: none */
    double began, seconds;    /* the last one: start and duration */
    int64_t scored, to_score; /* examples of the current one (under the lock) */
};

/* The test sets, each evaluated once at the end (evaluate_final.c). */
struct run_final {
    int tests, tested;
    struct run_split *test;
    bool on;                  /* number `tested` is being evaluated */
    real *best_params, *best_generated; /* of the evaluated checkpoint; NULL: the current parameters */
    int64_t best_step;        /* step of the checkpoint */
};

/* Splits with shared frozen layers (share.c). */
struct run_share {
    int count;                /* 0: none */
    struct frozen **of;
    bool reported;
};

/* Monotonic seconds (run.c). */
struct run_clock {
    double before;            /* training seconds before this session */
    double span;              /* start of this session */
    bool running;             /* the clock is running */
    double saved_at, save_seconds; /* the last checkpoint: time (run_seconds) and duration */
    double rate_steps, rate_tokens, rate_seconds; /* decaying sums over about ten steps */
};

/* The progress of the run, for all workers: under the lock (run.c). */
struct run_control {
    pthread_cond_t turn;
    enum phase phase, resume_phase; /* resume_phase: phase before a pause */
    enum run_state state;
    bool want_pause, want_stop;
    int64_t stop_at;          /* stop after an evaluation at this step or later; 0: never */
    int next;                 /* next part or chunk */
    int done;                 /* parts added, or chunks scored */
    int count;                /* of them */
    int in_progress;          /* units in progress */
    size_t failed_bytes;      /* size of a failed allocation in the current phase, in bytes; 0: none */
    double loss;              /* of the last step */
};

/* Memory use (footprint.c). */
struct run_memory {
    size_t values;            /* parameters, gradients and optimizer state: maximum over stages */
    size_t activations[CREW_MOST]; /* peak bytes of each worker's arena in units of this run (under the
                                    * lock) */
};

struct run {
    int64_t id;
    struct run_config c;      /* completed */
    struct model *m;
    char *folder;             /* or NULL */
    struct event_sink sink;
    struct plan *plan;
    int tasks;
    struct run_task *of;
    struct run_order order;
    struct run_objective objective;
    struct run_values values;
    struct run_stages stages;
    struct run_batch batch;
    struct join join;
    struct run_evaluation evaluation;
    struct run_final final;
    struct run_share share;
    struct watch watch;       /* embeddings of sampled validation examples (watch.c) */
    struct moved *moved;      /* changes of parameters; NULL: not reported */
    struct run_clock clock;
    struct run_memory memory;
    struct run_control control;
    pthread_mutex_t lock;
    int64_t step;             /* completed steps (under the lock) */
    char failure[512];
};

/* run.c */
double run_seconds(const struct run *r);
void run_send(struct run *r, struct event e); /* fills in run, step, seconds */
void run_say(struct run *r, const char *text); /* sends a message */
/* Sets r->failure; returns false. */
bool run_fails(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool run_wants_stop(struct run *r);
/* Returns whether to write the last checkpoint `since` seconds after the previous one, which took `took`
 * seconds; `evaluated`: an evaluation has just ended. */
bool run_save_due(double since, double took, bool evaluated);

/* values.c: allocates and frees the flat blocks of r->plan, the parameter groups and the prologue. */
int run_values_init(struct run *r, struct err *e);
void run_values_release(struct run *r);
/* Initializes the parameters; the head of the model's folder is matched with classes by name, per task. */
void run_values_start(struct run *r);

/* Clears the gradient of the word table in the sum, before the parts of a step. */
void table_clear(struct run *r);
/* Adds the gradients of a part, which its backward pass on the tape has written to `grads`; the first part
 * has written to the sum. */
void values_add(struct run *r, int index, const struct tape *t, const real *grads);

/* stages_run.c */
/* Makes stage k the current one; sets only its span. A run without stages is a single stage. */
void stage_span_take(struct run *r, int k);
/* Returns whether the current stage is complete and another one follows. */
bool stage_is_over(const struct run *r);
/* Returns whether the current stage is the last, of which the best checkpoint is. */
bool stage_decides(const struct run *r);
/* Starts the next stage: plan, initialization, copied parameters, new optimizer state. Returns false when the
 * run failed (reason in r->failure). */
bool stage_next(struct run *r);

/* step.c */
/* Returns the task of an example by its number over all tasks, and sets *own to its number in that task. */
int run_task_of(const struct run *r, uint32_t row, uint32_t *own);
/* Returns the factor of a task's mean loss in the loss of the step, without the task's weight; 1 for a
 * sum. */
double run_task_share(const struct run *r, const struct run_task *of);
void step_init(struct run *r); /* the batch */
void step_release(struct run *r);
int step_prepare(struct run *r); /* returns the number of parts */
/* After the parts: runs the backward pass of the prologue and computes loss and norm.  Returns 1 more than
 * the number of slices of the parameters to update; none when the step diverged. */
int step_sum(struct run *r);
/* Clips and updates a slice; the result does not depend on the order. */
void step_update(struct run *r, int index, struct worker *w);
/* Sends the event of the step.  Returns false when the run failed (reason in r->failure). */
int step_finish(struct run *r);
/* Computes the generated weights of the current parameters, without gradients. */
void step_make(struct run *r);

/* part.c: without a join only step_part; with one step_forward for all parts, step_join, step_part. */
void join_init(struct run *r);
void join_release(struct run *r);
void join_prepare(struct run *r); /* decides whether this step stores activations */
void step_forward(struct run *r, int index, struct worker *w);
int step_join(struct run *r); /* returns the number of remaining parts */
void step_part(struct run *r, int index, struct worker *w);
/* Returns the tape of the part, which this worker has just computed. */
const struct tape *step_tape(const struct run *r, int index, const struct worker *w);

/* footprint.c: around a worker's unit, and after the parameters were allocated. */
void footprint_begin(struct worker *w);
void footprint_end(struct run *r, const struct worker *w);
void footprint_values(struct run *r);

/* evaluate.c */
int evaluation_init(struct run *r, struct err *e);
void evaluation_release(struct run *r);
void split_init(struct run *r, struct run_split *s, int task, int dev, const struct generate_options *how);
void split_release(struct run_split *s);
bool evaluation_due(const struct run *r);
int64_t evaluation_every(const struct run *r); /* steps */
/* Prepares what is due, scores or only the embeddings of watch.c; returns the number of chunks. */
int evaluation_prepare(struct run *r);
void evaluation_chunk(struct run *r, int index, struct worker *w);
/* Returns the number of examples completed by a chunk; an example with a loss and a generated text counts
 * once. */
int64_t evaluation_examples(const struct run *r, int index);
int evaluation_finish(struct run *r); /* false when the run failed */

/* evaluate_final.c */
void test_init(struct run *r, int task, const struct generate_options *how); /* of a task with a test set */
void test_release(struct run *r);
bool test_due(const struct run *r);
/* Prepares the next test set; returns false after the last. Reports and skips one whose checkpoint cannot be
 * read. */
bool test_ready(struct run *r);
void test_done(struct run *r); /* with the current one */

/* watch.c: with --embed-every, before the first step, at the interval, and at the end. */
void watch_init(struct run *r);
void watch_release(struct run *r);
bool watch_due(const struct run *r);
int watch_chunks(const struct run *r); /* of those that are due now */
int64_t watch_examples(const struct run *r, int index);
void watch_chunk(struct run *r, int index, struct worker *w);
/* Sends the embeddings. Returns false where one is NaN or infinite: the run failed (reason in r->failure). */
bool watch_finish(struct run *r);

/* sample.c: at the interval of --sample-every, and with each evaluation. */
void samples_init(struct run *r, int task, const struct generate_options *how);
void samples_release(struct run *r);
bool samples_due(const struct run *r);
int samples_units(const struct run *r); /* of those that are due now */
int64_t samples_examples(const struct run *r, int index);
void samples_unit(struct run *r, int index, struct worker *w);
void samples_finish(struct run *r); /* sends them */

static inline void run_lock(struct run *r) { pthread_mutex_lock(&r->lock); }
static inline void run_unlock(struct run *r) { pthread_mutex_unlock(&r->lock); }
/* Returns whether the run has one task, whose name is omitted in results. */
static inline bool run_is_single(const struct run *r) { return r->tasks == 1; }
/* Returns whether training is complete: all steps are done, or it stopped early. */
static inline bool run_is_done(const struct run *r) {
    return r->step >= r->c.steps || r->evaluation.early || r->batch.low;
}
/* Returns whether each task has a separate best checkpoint. */
static inline bool run_keeps_each_best(const struct run *r) {
    return !run_is_single(r) && r->c.best_of == BEST_PER_TASK;
}

/* Returns the worker's attachment to this run, creating it on first use. */
struct attach *run_attach(struct run *r, struct worker *w);

#endif
