/* A training run: model, tasks, method and config, trained step by step by the workers of the pool. A step:
 * the prologue computes generated weights; forward and backward passes of S shards, each on one thread;
 * gradients are added in the order of shards; backward pass of the prologue; gradient clipping; optimizer.
 * The run owns its parameters, gradients and optimizer state (flat), the order of examples (a function of
 * seed and epoch), and the folder of its checkpoints.
 *
 * Threads: run_new, run_free and the getters belong to the owner; run_take and run_work
 * to the pool; run_pause, run_unpause, run_stop and run_progress may be called by any thread. */
#ifndef CORE_TRAIN_RUN_RUN_H
#define CORE_TRAIN_RUN_RUN_H

#include "core/data/task.h"
#include "core/method/attach.h"
#include "core/train/config/config.h"
#include "core/train/run/event.h"

struct run;
struct worker;

/* Returns the maximum sequence length: max_len, or that of the model; run_max_target: of a target text. */
int run_max_len(const struct run_config *c, const struct model *m);
int run_max_target(const struct run_config *c, const struct model *m);
/* Returns the dropout probability: that of the config, or `published`, the model's, where it is not set. */
double run_dropout(const struct run_config *c, double published);
/* Prepares an opened task for runs with this config: converts a labeled task to text-to-text where needed and
 * tokenizes all splits. ERR_USAGE where model, task and --form are incompatible. Uses the architecture,
 * tokenizer and name of m. */
int run_prepare_task(const struct run_config *c, const struct model *m, struct task *t, struct err *e);

/* How texts are encoded for a causal language model. */
struct language_coding {
    const char *chat; /* a chat template by name or file, also for prompts and completions; NULL: that of the
                       * model, for chats only */
    bool all;         /* all tokens are targets */
    size_t max_len, max_target;
};
/* Tokenizes all splits of a task of texts for a causal language model. ERR_INPUT where the model has no end
 * token. */
int run_encode_language(const struct model *m, struct task *t, const struct language_coding *by,
                        struct err *e);

/* Returns the number of outputs of the head for a prepared task: classes, 1 for scores, 0 (no head) for
 * texts, PLAN_WORDS for masked language modeling. */
int run_outputs(const struct task *t);

/* Checks whether a run can be created from the config: fails as run_new does, except for memory. */
int run_check(const struct run_config *c, const struct model *m, const struct run_tasks *tasks,
              struct err *e);

/* Checks that m is the model of a started run with config `was`; `since` is "step 40 of this run", for the
 * message. ERR_INPUT names the file that changed. */
int run_check_model(const struct run_config *was, const struct model *m, const char *since, struct err *e);

/* Creates a run. Borrows model and tasks (prepared by run_prepare_task), which must outlive the run and may
 * be shared by runs. `folder`: folder for checkpoints, or NULL for none. Completes the config (run_config_of:
 * the one to store). Returns NULL with *e on failure: ERR_USAGE names the option. */
struct run *run_begin(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e);
/* Creates a single-task run. */
struct run *run_new(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                    const char *folder, struct event_sink sink, struct err *e);
/* Initialization of a run from other parameters, for adaptation to a new task. */
struct run_start {
    const struct plan *from;  /* plan of the source and its parameters (plan_carry); NULL: the default
                               * initialization */
    const real *values;
    int task;
    bool other;               /* another method: copy what both have (plan_carry_common) */
    unsigned parts;           /* PLAN_ bits of the trainable parts (carry.h); 0: all */
    double stop_loss; /* stop after an epoch with a mean loss below this; 0: never */
    const char
        *copies; /* folder with copies of the runs from which modules are initialized (start.h); NULL: the
                  * run's folder */
    bool zero;                /* evaluate before the first step too; that is never the best checkpoint */
};
/* Creates a single-task run with this initialization; ERR_USAGE where the parts have no parameters. */
struct run *run_begin_at(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                         const char *folder, struct event_sink sink, const struct run_start *start,
                         struct err *e);
/* Resumes a run from the last checkpoint in `folder`, with results bit-identical to an uninterrupted run. A
 * run without a checkpoint starts over, with the same result; c must then be the stored config
 * (run_config_of). Removes temporary files of killed writers from the folder. c NULL: the config of the
 * checkpoint. ERR_NOT_FOUND without config and checkpoint; ERR_INPUT names the file when model, training or
 * validation file have changed; ERR_USAGE names the option when c would train differently, or when the run is
 * finished. */
struct run *run_go_on(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e);
/* Returns the plan of a run on these tasks, as in run_begin; NULL with *e on failure. */
struct plan *run_plan_for(const struct run_config *c, const struct run_tasks *tasks, const struct arch *a,
                          struct err *e);
/* Returns the plan of a stage, with all tensors trainable; *e names the stage. */
struct stages;
struct plan *run_plan_for_stage(const struct run_config *c, const struct stages *s, int k,
                                const struct run_tasks *tasks, const struct arch *a, struct err *e);
/* Returns whether the run in `folder` has a checkpoint from which it resumes. */
bool run_has_checkpoint(const char *folder);
/* Removes the final checkpoint of a run that is not recorded as finished: the process ended after writing the
 * file and before storing the last events. Such a run cannot resume and starts over. Returns whether there
 * was one. */
bool run_drop_end(const char *folder);
void run_free(struct run *r);

/* A unit of work for one worker: a shard of a step, a part of an evaluation. Requested by the pool; a run has
 * no threads. */
enum run_take { RUN_TOOK, RUN_BUSY, RUN_IDLE, RUN_OVER };
struct unit {
    struct run *run;
    int kind;
    int64_t index;
};
enum run_take run_take(struct run *r, struct unit *u);
void run_work(struct unit *u, struct worker *w);

/* Requests: take effect at the end of the current step, or between parts of an evaluation (repeated after a
 * resume). Stopping saves a checkpoint. A run whose checkpoint cannot be written (full disk) pauses, with the
 * reason in the text of EVENT_STATE; run_unpause tries again, run_stop ends it without the checkpoint. Call
 * pool_wake after run_unpause and run_stop. */
void run_pause(struct run *r);
void run_unpause(struct run *r);
void run_stop(struct run *r);
/* Stops the run, with a checkpoint, after its first evaluation at this step or later (0: never), unless it
 * has finished then. Does not change its results, also after resuming. Call before pool_add. */
void run_stop_at(struct run *r, int64_t step);

struct run_progress {
    enum run_state state;
    int64_t step, steps;
    double loss, seconds, tokens_per_second, seconds_left;
    int64_t scored, to_score; /* examples of the current evaluation (or set of embeddings or texts); 0:
                               * none */
};
void run_progress(struct run *r, struct run_progress *out);

const struct plan *run_plan(const struct run *r);
const struct run_config *run_config_of(const struct run *r);
/* Returns the peak memory of the run in bytes: model weights, tokenized examples, parameters with gradients
 * and optimizer state, activations of each worker. Excludes other runs and memory of the process, teachers,
 * and the shared cache of frozen layers. */
size_t run_peak_bytes(struct run *r);
/* Writes the SHA-256 of the trainable tensors (names, shapes, bytes), by which equal runs are recognized. */
void run_weights_sha256(const struct run *r, char out[65]);
/* Returns the flat block of parameters (plan.h), for tests and reports, while no worker uses it. */
real *run_params(struct run *r);

#endif
