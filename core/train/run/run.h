/* A run: model + task + method + config, trained step by step by the pool's workers.
 *
 * A step: the prologue makes weights once; S shards go forward and backward, each on one
 * thread; their gradients are added in shard order; the prologue goes backward; clip;
 * optimizer.  The run owns its parameters, gradients and optimizer state (flat), the
 * order of its rows (a function of seed and epoch), and its checkpoints' folder.
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

/* The tokens a row may have: max_len, or what the model can take; likewise of a target. */
int run_max_len(const struct run_config *c, const struct model *m);
int run_max_target(const struct run_config *c, const struct model *m);
/* A rate of dropout: the config's, or where it says none the model's own. */
double run_dropout(const struct run_config *c, double published);
/* Makes a task that was just opened ready for runs with this config: a labelled one is put as text
 * where the config or the model wants it, then all splits are encoded.  ERR_USAGE, saying what
 * would work, when model, task and --form do not go together.  Of m shape, tokenizer and name are asked
 * for. */
int run_prepare_task(const struct run_config *c, const struct model *m, struct task *t, struct err *e);

/* Outputs of the head of a run on a prepared task: classes, 1 for scores, 0 (none) for texts, PLAN_WORDS for
 * masked words. */
int run_outputs(const struct task *t);

/* Whether a run of this config can be made: what run_new refuses, but for want of memory. */
int run_check(const struct run_config *c, const struct model *m, const struct run_tasks *tasks,
              struct err *e);

/* Whether m is still the model of a run that was begun: `was` is its config, `since` "step 40 of this run",
 * for the message.  ERR_INPUT names the file that is another. */
int run_check_model(const struct run_config *was, const struct model *m, const char *since, struct err *e);

/* Takes over nothing: model and tasks (prepared by run_prepare_task) must outlive the run (the model is
 * shared by reference, tasks may be shared by runs).  `folder`: where checkpoints go, or NULL for none.  What
 * the config leaves to defaults is filled in (run_config_of: that is what is stored).  On failure NULL and
 * *e: ERR_USAGE names the option. */
struct run *run_begin(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e);
/* Of one task. */
struct run *run_new(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                    const char *folder, struct event_sink sink, struct err *e);
/* Where a run begins in place of its method's start, for a task that came later. */
struct run_start {
    const struct plan *from;  /* plan_carry from this plan and its values; NULL: the usual start */
    const real *values;
    int task;
    bool other;               /* of another method: what both have (plan_carry_common) */
    unsigned parts;           /* PLAN_ bits that train (carry.h); 0: all */
    double stop_loss; /* it ends after the pass over its rows whose mean loss is below this; 0: never */
    const char
        *copies; /* folder with those of the runs that modules begin with (start.h); NULL: the run's own */
    bool zero;                /* scored before its first step too, which is never "best" */
};
/* The same, of one task; ERR_USAGE when none of the parts has a value. */
struct run *run_begin_at(int64_t id, const struct run_config *c, struct model *m, struct task *task,
                         const char *folder, struct event_sink sink, const struct run_start *start,
                         struct err *e);
/* The same from the last checkpoint of `folder`; goes on bit for bit as if it had never
 * stopped.  A run that was ended before its first checkpoint begins anew, which gives the same bits: c must
 * then be what was stored of it (run_config_of).  What writers that were killed left in the folder is
 * removed. c NULL: the config it was begun with, from the checkpoint.  ERR_NOT_FOUND with neither; ERR_INPUT,
 * naming the file, when model, train or dev file changed since; ERR_USAGE, naming the option, when c would
 * train differently, or when the run is finished. */
struct run *run_go_on(int64_t id, const struct run_config *c, struct model *m, const struct run_tasks *tasks,
                      const char *folder, struct event_sink sink, struct err *e);
/* The plan of a run on these tasks, as run_begin makes it. */
struct plan *run_plan_for(const struct run_config *c, const struct run_tasks *tasks, const struct arch *a,
                          struct err *e);
/* The same of one of its stages, all of whose tensors train; *e names the stage. */
struct stages;
struct plan *run_plan_for_stage(const struct run_config *c, const struct stages *s, int k,
                                const struct run_tasks *tasks, const struct arch *a, struct err *e);
/* Whether a run whose files are in `folder` goes on from a checkpoint, or begins anew. */
bool run_has_checkpoint(const char *folder);
/* Removes the checkpoint of a run's end, of a run whose record has no end: the process was ended when the
 * file was there and the record's last rows were not.  Nothing can go on from it, and what was told on the
 * way is lost, so the run begins anew.  Returns whether there was one. */
bool run_drop_end(const char *folder);
void run_free(struct run *r);

/* Work for one worker at a time: a shard of a step, a part of an evaluation.  The pool
 * asks; a run never owns a thread. */
enum run_take { RUN_TOOK, RUN_BUSY, RUN_IDLE, RUN_OVER };
struct unit {
    struct run *run;
    int kind;
    int64_t index;
};
enum run_take run_take(struct run *r, struct unit *u);
void run_work(struct unit *u, struct worker *w);

/* Requests: take effect at the next step's end, or between two parts of an evaluation (done
 * anew after a resume).  Stopping saves a checkpoint.  A run whose checkpoint cannot be
 * written (full disk) pauses by itself, EVENT_STATE saying why in its text; run_unpause tries
 * again, run_stop gives the checkpoint up.  pool_wake after run_unpause and run_stop. */
void run_pause(struct run *r);
void run_unpause(struct run *r);
void run_stop(struct run *r);
/* Ends it as stopped, with a checkpoint, after its first evaluation at this step or later (0: none), unless
 * it is done then.  What it computes stays the same, and so does what comes when it goes on.  Before a pool
 * has it. */
void run_stop_at(struct run *r, int64_t step);

struct run_progress {
    enum run_state state;
    int64_t step, steps;
    double loss, seconds, tokens_per_second, seconds_left;
    int64_t scored, to_score; /* rows of the evaluation (or set of vectors or texts) in hand; 0: none is */
};
void run_progress(struct run *r, struct run_progress *out);

const struct plan *run_plan(const struct run *r);
const struct run_config *run_config_of(const struct run *r);
/* Returns the bytes that the run needed at most: the model's weights, the tokenized examples, parameters with
 * gradients and optimizer state, activations of each worker.  Other runs of the process, and what it keeps
 * beside runs, are not among them; nor are teachers and the shared cache of frozen layers. */
size_t run_peak_bytes(struct run *r);
/* SHA-256 over the trained tensors (names, shapes, bytes): equal runs are seen equal. */
void run_weights_sha256(const struct run *r, char out[65]);
/* The flat block (plan.h), for tests and reports.  Only while no worker works on it. */
real *run_params(struct run *r);

#endif
