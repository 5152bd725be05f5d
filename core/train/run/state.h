/* What a run is made of; private to core/train.
 *
 * A run is a small machine moved on by whichever worker closes a phase: `control` and what is said to be
 * under the lock is shared; all else belongs to the worker that holds the run alone
 * (phase BEGIN, or the one that added the last part or chunk), and are only read by
 * workers on parts and chunks.
 *
 * In setup.c (made), run.c (moved on) and the files that its parts name, each of which fills and releases
 * its own: values.c, stages_run.c, step.c, part.c, evaluate.c, evaluate_final.c, share.c, watch.c and
 * footprint.c; samples of texts in sample.c. */
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
    PHASE_BEGIN,  /* one worker decides what is next */
    PHASE_FORWARD, /* parts of a step are given out up to the join */
    PHASE_STEP,   /* parts of a step are given out, or what a join leaves of them */
    PHASE_SCORE,  /* chunks of an evaluation are given out */
    PHASE_PAUSED,
    PHASE_OVER,
};
enum unit_kind { UNIT_BEGIN, UNIT_FORWARD, UNIT_PART, UNIT_CHUNK };

/* What a part of a step came to. */
struct part {
    double loss;    /* Σ weight·loss of its rows */
    double *by_task; /* the same of each task's rows; of several tasks */
    double tokens;
    const char *op; /* when the loss is not finite: the first op that made such a number… */
    char site[64];  /* …and where */
    struct distil_terms taught;
};

/* A pass of a part: values that the way back begins from, and their gradients (NULL: ones). */
struct pass {
    struct batch batch;
    const struct batch_row *row;
    struct forward forward;
    int values;
    node value[RUN_TASKS + 1];
    const real *seed[RUN_TASKS + 1];
};

/* A part whose tape is held between its way forward and its way back. */
struct held {
    struct arena *memory;
    struct tape *tape;
    struct attach *attach;
    struct pass pass;
};

/* Where the rows of the whole batch meet (part.c). */
struct join {
    bool on;
    int width;
    real *vector, *grad;  /* a batch × width, in the order of the parts' rows */
    int *task;
    double instance, prototype; /* the losses, without their weight */
    const struct plan_tensor *prototypes; /* tasks × width, or NULL */
    real *spare, *prototype_grad; /* a second gradient of the vectors; of the prototypes */
    int anchors;          /* rows that it is a mean over */
    bool said;            /* that a batch had none */
    bool held;            /* in this step: tapes are held, else the encoder runs twice */
    int parts;
    struct held *part;
    size_t peak;          /* bytes of the largest part so far */
};

/* A stretch of steps with a rate and an optimizer of its own. */
struct stage_span {
    int64_t first, steps; /* the first step, counted from 0; how many */
    double lr;
};

/* The best evaluation so far, by the metric's own direction. */
struct best {
    bool has;
    double value;
    int64_t step;
};
/* Takes `v` when it is strictly better; an undefined or non-finite value never is. */
bool best_offer(struct best *b, enum metric_id id, struct metric_value v, int64_t step);

/* The rows of one task whose vectors are kept while the run trains. */
struct watch_part {
    const char *name;         /* the task's */
    struct dataset rows;      /* a view of its first dev split: its row, start, ids and types are
                               * the watch's own */
    struct scoring scoring;
    real **layer;             /* where scoring leaves the last layer */
    size_t first;             /* among all rows */
};
struct watch {
    int parts;
    struct watch_part *part;
    size_t rows;
    real *vector, *retrieved; /* rows × width, of the last layer; rows × the retriever's width, or NULL */
    int32_t *prediction;
    bool now;                 /* part of the evaluation in hand */
    int64_t step;             /* of the last set, -1 before */
};

/* The rows whose texts are told while the run trains. */
struct samples {
    struct dataset rows;      /* a view of the first dev split, as the watch's */
    struct text_scoring scoring; /* its texts alone are used */
    bool now;
    int64_t step;
};

/* One of the run's tasks. */
struct run_task {
    const char *name;         /* "" where it is the only one */
    struct task *task;
    double weight;            /* of its loss */
    enum metric_id metric;    /* the deciding one */
    struct samples samples;
    struct frozen *frozen;    /* of its train rows; NULL: all layers run */
    struct best best;         /* by its own deciding metric */
    bool best_unsaved;        /* with a checkpoint of its own: it is still to be written */
    /* The step in hand. */
    int rows;
    struct target_count targets;
};

/* A split that is scored. */
enum { SPLIT_TEST = -1 };
struct run_split {
    int task, dev;            /* which; dev 0 decides, SPLIT_TEST is the task's test split */
    const struct dataset *data;
    struct scoring scoring;   /* classes and scores */
    struct text_scoring text; /* or texts */
    struct masked_scoring masked; /* or masked words */
};

/* The order that steps take the rows of all tasks in (setup.c). */
struct run_order {
    uint32_t *first;          /* tasks+1: task t's rows are numbers first[t] … first[t+1]-1 of all */
    struct sampler *sampler;
};

/* What it learns from and what is asked of it (objective.h), each with what it needs. */
struct run_objective {
    const struct example_source *source;
    const struct objective *row;
    struct distil *distil;    /* who teaches it; or NULL */
    struct masking *masking;  /* of masked words */
    struct masked *drawn;     /* max_len: the masks of one example */
    double masks;             /* of the step in hand */
    struct run_meta *meta;    /* of episodes */
};

/* The flat blocks of the plan in hand (plan.h), and what trains them (values.c). */
struct run_values {
    real *params;
    real *made;               /* made_size, of the present step */
    real *sum;                /* gradients: trained, then made_size */
    real *adam_m, *adam_v;    /* trained; SGD keeps its momentum in adam_m */
    real *budget_mean, *budget_spread; /* trained; of a method with a budget (core/method/budget.h) */
    real *prologue_grad;      /* trained; NULL when nothing is made */
    struct arena *prologue_arena;
    struct tape *prologue;
    node *made_node;
    const real **made_seed;
    struct optim_group *group; /* one a trained tensor */
    struct attach *attach[CREW_MOST]; /* made by its worker on first use */
};

/* The stages of a run, and the one in hand: without stages the run is one (stages_run.c). */
struct run_stages {
    const struct stages *of;  /* those of the config, or NULL */
    int now;
    struct stage_span span;   /* its steps and its rate */
};

/* The batch of the step in hand (step.c). */
struct run_batch {
    uint32_t *row, *tokens;   /* the rows of this step as drawn, and their lengths */
    int rows;
    struct row_parts cut;
    struct part *part;
    double *losses;           /* parts × tasks: what part.by_task points into */
    double began;
    double stop_loss;         /* ends after a pass over the rows whose mean loss is below; 0: never */
    double pass_loss;         /* Σ loss·rows of the pass in hand */
    int64_t pass_rows;
    bool low;                 /* that loss was reached */
};

/* The dev splits, and their evaluation in hand (evaluate.c). */
struct run_evaluation {
    int splits;
    struct run_split *split;
    int64_t evaluated;        /* step of the last one, -1 before */
    struct best best;         /* of the one task's deciding metric, or of the tasks' average */
    bool best_unsaved;        /* the best checkpoint is still to be written */
    int worse;                /* evaluations since the best one */
    bool early;               /* stopped early */
    bool zero;                /* scored before the first step too */
    bool on;                  /* scores are in hand; else only vectors or texts */
    uint64_t bad_row;
    int bad_chunk;            /* -1: none */
    double began, seconds;    /* the last one: when, how long it took */
    int64_t scored, to_score; /* rows of the one in hand (under the lock) */
};

/* The test splits, each scored once at the end (evaluate_final.c). */
struct run_final {
    int tests, tested;
    struct run_split *test;
    bool on;                  /* number `tested` is in hand */
    real *kept, *kept_made;   /* with these values, of the saved checkpoint; NULL: with the present ones */
    int64_t kept_step;        /* the checkpoint's */
};

/* Splits whose frozen layers run once (share.c). */
struct run_share {
    int count;                /* 0: nothing is shared */
    struct frozen **of;
    bool told;
};

/* Monotonic seconds (run.c). */
struct run_clock {
    double before;            /* seconds trained before this span */
    double span;              /* when this span began */
    bool running;             /* the span's clock runs */
    double saved_at, save_seconds; /* the last checkpoint: when (run_seconds), how long it took */
    double rate_steps, rate_tokens, rate_seconds; /* fading sums over about ten steps */
};

/* Where the run is, for all workers: under the lock (run.c). */
struct run_control {
    pthread_cond_t turn;
    enum phase phase, resume_phase; /* resume_phase: where a pause came */
    enum run_state state;
    bool want_pause, want_stop;
    int64_t stop_at;          /* it ends as stopped after an evaluation at this step or later; 0: it does not */
    int next;                 /* part or chunk to give out */
    int done;                 /* parts added, or chunks scored */
    int count;                /* of them */
    int in_hand;              /* units that workers hold */
    size_t lacks;             /* bytes that could not be allocated in the phase in hand; 0: none */
    double loss;              /* of the last step */
};

/* Memory that it took (footprint.c). */
struct run_memory {
    size_t values;            /* parameters, gradients and optimizer state: of the stage with most */
    size_t activations[CREW_MOST]; /* bytes of each worker's arena at most, in this run's units (under the
                                    * lock) */
};

struct run {
    int64_t id;
    struct run_config c;      /* resolved: nothing is left to a default */
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
    struct watch watch;       /* vectors of drawn dev rows, kept while it trains (watch.c) */
    struct moved *moved;      /* what it moved; NULL: nobody asks */
    struct run_clock clock;
    struct run_memory memory;
    struct run_control control;
    pthread_mutex_t lock;
    int64_t step;             /* steps done (under the lock) */
    char failure[512];
};

/* run.c */
double run_seconds(const struct run *r);
void run_send(struct run *r, struct event e); /* fills in run, step, seconds */
void run_say(struct run *r, const char *text); /* sends a message */
/* Sets r->failure; returns false. */
bool run_fails(struct run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void run_set_state(struct run *r, enum run_state state, const char *text);
/* Decides what comes after a step, an evaluation, a begin; called by the worker that holds
 * the run alone. */
void run_advance(struct run *r);
bool run_wants_stop(struct run *r);
/* Whether the file to resume from is written again `since` seconds of training after the last time, which
 * took `took`; `evaluated`: an evaluation has just ended. */
bool run_save_due(double since, double took, bool evaluated);

/* values.c: the flat blocks of r->plan, its groups and what makes its weights; taken away again. */
int run_values_init(struct run *r, struct err *e);
void run_values_release(struct run *r);
/* Initial values; the folder's own head goes to the classes of its names, task by task. */
void run_values_start(struct run *r);

/* stages_run.c */
/* Stage k is the one in hand: its span, nothing else.  Without stages the run is one. */
void stage_span_take(struct run *r, int k);
/* Whether the steps of the stage in hand are done and another one follows. */
bool stage_is_over(const struct run *r);
/* Whether the stage in hand is the one that "best" is of. */
bool stage_decides(const struct run *r);
/* Goes on to the next stage: its plan, its start, what it takes over, an optimizer that has seen nothing.
 * False when the run failed (r->failure says why). */
bool stage_next(struct run *r);

/* step.c */
/* The task of a row by its number among all, and its number in the task's train split. */
int run_task_of(const struct run *r, uint32_t row, uint32_t *own);
/* What the mean over a task's rows counts in the step's loss, its weight apart; a sum counts as it is. */
double run_task_share(const struct run *r, const struct run_task *of);
void step_init(struct run *r); /* the batch */
void step_release(struct run *r);
int step_prepare(struct run *r); /* returns how many parts it has */
/* Adds up, goes backward through the prologue, clips, updates, tells.  False when the run
 * failed (r->failure says why). */
int step_finish(struct run *r);
/* Makes the made values of the present parameters, without gradients. */
void step_make(struct run *r);

/* part.c: without a join step_part alone; with one, step_forward for all parts, step_join, step_part. */
void join_init(struct run *r);
void join_release(struct run *r);
void join_prepare(struct run *r); /* whether tapes are held in this step */
void step_forward(struct run *r, int index, struct worker *w);
int step_join(struct run *r); /* returns how many parts are left to do */
void step_part(struct run *r, int index, struct worker *w);

/* footprint.c: around a worker's unit, and when the parameters were made. */
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
/* What is due is made ready, the scores or only the vectors of watch.c; returns how many chunks. */
int evaluation_prepare(struct run *r);
void evaluation_chunk(struct run *r, int index, struct worker *w);
/* Rows that are done with this chunk; a row whose text is written and whose loss is taken counts once. */
int64_t evaluation_rows(const struct run *r, int index);
int evaluation_finish(struct run *r); /* false when the run failed */

/* evaluate_final.c */
void test_init(struct run *r, int task, const struct generate_options *how); /* of a task that has one */
void test_release(struct run *r);
bool test_due(const struct run *r);
/* Makes the next one ready; false when none is left.  One whose checkpoint cannot be read is told and passed
 * over. */
bool test_ready(struct run *r);
void test_done(struct run *r); /* with the one that is in hand */

/* watch.c: with --embed-every, before the first step, every so many steps, and at the end. */
void watch_init(struct run *r);
void watch_release(struct run *r);
bool watch_due(const struct run *r);
int watch_chunks(const struct run *r); /* of those that are due now */
int64_t watch_rows(const struct run *r, int index);
void watch_chunk(struct run *r, int index, struct worker *w);
/* Tells the vectors.  False when one is not finite: the run has failed, as r->failure says. */
bool watch_finish(struct run *r);

/* sample.c: as --sample-every says, and with each evaluation. */
void samples_init(struct run *r, int task, const struct generate_options *how);
void samples_release(struct run *r);
bool samples_due(const struct run *r);
int samples_units(const struct run *r); /* of those that are due now */
int64_t samples_rows(const struct run *r, int index);
void samples_unit(struct run *r, int index, struct worker *w);
void samples_finish(struct run *r); /* tells them */

static inline void run_lock(struct run *r) { pthread_mutex_lock(&r->lock); }
static inline void run_unlock(struct run *r) { pthread_mutex_unlock(&r->lock); }
/* Whether the run is of one task, whose rows and results stand without its name. */
static inline bool run_is_single(const struct run *r) { return r->tasks == 1; }
/* Whether no step is to come: all are done, or it ends early. */
static inline bool run_is_done(const struct run *r) {
    return r->step >= r->c.steps || r->evaluation.early || r->batch.low;
}
/* Whether "best" is each task's own, with a checkpoint of its own. */
static inline bool run_keeps_each_best(const struct run *r) {
    return !run_is_single(r) && r->c.best_of == BEST_PER_TASK;
}

/* The worker's attachment to this run. */
struct attach *run_attach(struct run *r, struct worker *w);

#endif
