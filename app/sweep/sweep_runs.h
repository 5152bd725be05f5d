/* Sweeps in the database: matching their cells with runs, and creating the missing ones.  sweep_more.c
 * extends one.
 *
 * The record of a sweep contains its spec and, for each cell, its texts, whether it is valid, its number of
 * trainable parameters, and the key (config_key) of each seed's run.  Runs are matched by key: equal existing
 * runs, whoever started them, are reused, and one run may belong to several sweeps. */
#ifndef APP_SWEEP_SWEEP_RUNS_H
#define APP_SWEEP_SWEEP_RUNS_H

#include "app/jobs/jobs.h"
#include "app/sweep/comparison.h"
#include "core/base/json.h"
#include "core/train/config/sweep.h"

struct sweep_tune; /* tune.h */
struct sweep_rungs; /* halving.h */
struct expected_time; /* expected.h */

/* The run of a key: a finished one if possible, else the newest of this sweep. */
struct sweep_found {
    int64_t run;            /* 0: none yet */
    enum store_state state; /* as recorded: an active run may have lost its owner */
    bool over;              /* finished or failed: nothing remains to do; of a draw: finished or dropped */
    int64_t step;           /* completed steps, as recorded */
};
struct sweep_entry {
    bool valid;
    char *reason; /* why it is invalid */
    bool twin;    /* an earlier cell with a different spelling has the same runs */
    int64_t trained;
    char (*key)[65];         /* one per seed */
    struct sweep_found *found; /* one per seed */
    char *method;            /* of --size-of: the cell's method in the matching size; NULL: unchanged */
    int64_t kept, wanted;    /* of that: stored parameters, and the requested number */
    struct sweep_tune
        *tune; /* of --lr auto: keys are "" until the learning rate is known; NULL: it is given */
    char *conditions,
        *spelled; /* factors of the time per step, and the method (expected.h) */
    int64_t steps;           /* of such a run */
    struct sweep_rungs *rungs; /* of --halving; NULL: none */
};
/* Returns whether the runs of two cells are the same, except for seeds: cells whose learning rate is being
 * tuned have no keys yet. */
bool sweep_entry_same(const struct sweep_entry *a, const struct sweep_entry *b);
/* The place of a key. */
struct sweep_place {
    const char *key;
    int cell, seed;
};
/* A stored run, by its key. */
struct sweep_known {
    int64_t run;
    char key[65];           /* of its evidence (core/train/config/evidence.h); "": its record is invalid */
    bool there, own;        /* not in the trash; created for this sweep */
    enum store_state state; /* as recorded */
    int64_t step, ended;    /* likewise */
    char weights[65];       /* SHA-256 of its trained parameters; "": unknown */
    bool repeat, differs; /* it is finished, and another run of its evidence counts; such runs have different
                             weights */
};
struct sweep_plan {
    int64_t id;   /* 0: not stored */
    bool draws;   /* the set of a few-shot run's draws (shots.h): axes task and k, a seed is a draw's number;
                     runs are matched by sweep and cell, of which their keys consist */
    char *record; /* as stored; NULL: not stored */
    struct sweep_spec spec;
    struct sweep_cells cells;
    struct sweep_entry *entry; /* one per cell */
    /* results of sweep_plan_find */
    struct sweep_place *place; /* sorted by key */
    size_t places;
    struct sweep_known *known; /* sorted by id */
    size_t known_count, known_room;
};
void sweep_find_key(const struct sweep_plan *p, const char *key, struct sweep_found *out);
/* Takes ownership of the spec, builds the cells and completes their configs.  An invalid cell has a reason;
 * if all are invalid, that is an error.  Release with sweep_plan_release, also after a failure. */
int sweep_plan_make(struct sweep_plan *p, struct sweep_spec *spec, struct jobs *j, struct err *e);
/* Builds the set of draws of the spec's axes, each with so many trainable parameters. */
int sweep_plan_of_draws(struct sweep_plan *p, struct sweep_spec *spec, int64_t trained, struct err *e);
/* Returns ERR_USAGE for such a set, whose runs are not started from its cells. */
int sweep_plan_no_draws(const struct sweep_plan *p, struct err *e);
/* Returns the cell with which a draw's run is stored: "TASK/kK/dD"; caller frees. */
char *sweep_plan_draw(const struct sweep_plan *p, int cell, int seed);
/* Store the reason of a dropped draw, and read the reasons: `take` receives each. */
int sweep_plan_leave_out(struct sweep_plan *p, struct store *s, int cell, int seed, const char *why,
                         struct err *e);
int sweep_plan_left_out(struct sweep_plan *p, struct store *s,
                        void (*take)(void *self, int cell, int seed, const char *why), void *self,
                        struct err *e);
/* Opens a stored sweep. */
int sweep_plan_open(struct sweep_plan *p, struct store *s, int64_t id, struct err *e);
void sweep_plan_release(struct sweep_plan *p);
/* Adds further values and seeds of the n options, and completes each cell again.  ERR_USAGE for options
 * that cannot be extended (sweep_extend) and if an existing cell would become invalid or have other runs
 * (its data or its model is missing or changed): then *p is unchanged. */
struct sweep_more {
    const char *option, *text;
};
int sweep_plan_extend(struct sweep_plan *p, const struct sweep_more *more, int n, struct jobs *j,
                      struct err *e);
/* Finds the existing runs; called again, updates their state. */
int sweep_plan_find(struct sweep_plan *p, struct store *s, struct err *e);
/* Reports the used part of the sweep's budget by the runs created for it ("3 of 3 runs") once it is spent;
 * *why NULL: it is not.  Caller frees. */
int sweep_plan_spent(const struct sweep_plan *p, struct store *s, char **why, struct err *e);
/* Returns the number of runs that are neither finished nor failed, nor eliminated at a rung. */
int sweep_plan_missing(const struct sweep_plan *p);
/* Stores the sweep under its text and sets its id.  A stored one is updated, unless another process changed
 * it since it was read: ERR_DATABASE. */
int sweep_plan_store(struct sweep_plan *p, struct store *s, struct err *e);
/* Stores it with an existing uid. */
int sweep_plan_store_as(struct sweep_plan *p, struct store *s, const char *uid, struct err *e);
/* Writes its record, and reads a plan from one; `name` is used in messages. */
void sweep_plan_record(const struct sweep_plan *p, struct buf *b);
int sweep_plan_read(struct sweep_plan *p, const char *name, const json_t *record, struct err *e);
/* Builds the config of a cell's run with a seed, with the tuned learning rate if it is known; release with
 * config_release, also after a failure. */
int sweep_plan_config(const struct sweep_plan *p, int cell, uint64_t seed, struct run_config *c,
                      struct err *e);
/* Returns the result of --size-of for a cell: "lora-ffn(r=3) stores 12345 parameters, +0.4% compared with
 * the 12300 of lora(r=8)", marked if the sizes differ; NULL: unchanged.  Caller frees. */
char *sweep_plan_size(const struct sweep_plan *p, int cell);
/* Writes {"cells":[{"axes":{…},"valid","reason","runs":N,"trained"}],"runs":N,"lacking":N,"taken":TAKEN,
 * and the members of halving.h and expected.h}; taken: JSON. */
void sweep_plan_json(const struct sweep_plan *p, const char *taken, const struct expected_time *t,
                     struct buf *out);
/* Reports which of its runs existed before, by the version of petri and the kernel (matrix library and
 * processor) that trained them, as a JSON array and as lines; call it after sweep_plan_find. */
int sweep_plan_taken(const struct sweep_plan *p, struct store *s, struct buf *json, struct buf *lines,
                     struct err *e);
/* Adds its cells after sweep_plan_find to the comparison *c, which has its settings (comparison.h). */
int sweep_plan_compare(struct sweep_plan *p, struct store *s, struct side_by_side *c, struct err *e);

#endif
