/* A sweep in the history: which runs its cells are, and making those that are missing.  sweep_more.c extends
 * one.
 *
 * Its record holds the spec and, of each cell, its texts, whether it is a run at all, what it trains, and the
 * key (config_key) of each seed's run.  A run belongs to it by its key: equal runs that are there already,
 * whoever started them, are taken, and one run may stand in several sweeps. */
#ifndef APP_SWEEP_SWEEP_RUNS_H
#define APP_SWEEP_SWEEP_RUNS_H

#include "app/jobs/jobs.h"
#include "app/sweep/comparison.h"
#include "core/base/json.h"
#include "core/train/config/sweep.h"

struct sweep_tune; /* tune.h */
struct sweep_rungs; /* halving.h */
struct expected_time; /* expected.h */

/* What stands for a run of a key: a finished one before any other, then the newest of this sweep's own. */
struct sweep_found {
    int64_t run;            /* 0: none yet */
    enum store_state state; /* as its row says: one that is live there may have lost its owner */
    bool over;              /* finished, or failed: nothing is to be done; of a draw finished, or left out */
    int64_t step;           /* that it has done, as its row says */
};
struct sweep_entry {
    bool valid;
    char *reason; /* why it is none */
    bool twin;    /* that is: an earlier cell has its runs, spelled otherwise */
    int64_t trained;
    char (*key)[65];         /* of each seed */
    struct sweep_found *found; /* of each seed */
    char *method;            /* of --size-of: the cell's in the size that was found; NULL: as it is said */
    int64_t kept, wanted;    /* of that: values that it keeps, and those that it should */
    struct sweep_tune *tune; /* of --lr auto: keys are "" until the rate is known; NULL: it is said */
    char *conditions,
        *spelled; /* of a plan that was made: what a step's time depends on, and the method (expected.h) */
    int64_t steps;           /* of such a run */
    struct sweep_rungs *rungs; /* of --halving; NULL: its runs go through */
};
/* Whether two cells' runs are the same, seeds aside: those of a rate that is looked for have no keys before
 * it is found. */
bool sweep_entry_same(const struct sweep_entry *a, const struct sweep_entry *b);
/* Where a key stands. */
struct sweep_place {
    const char *key;
    int cell, seed;
};
/* A run of the history, by its key. */
struct sweep_known {
    int64_t run;
    char key[65];           /* of its evidence (core/train/config/evidence.h); "": its record cannot be read */
    bool there, own;        /* not in the trash; made for this sweep */
    enum store_state state; /* as its row says */
    int64_t step, ended;    /* likewise */
    char weights[65];       /* SHA-256 of its trained parameters; "": unknown */
    bool repeat, differs; /* it finished, and another run of its evidence counts; and such runs have different
                             weights */
};
struct sweep_plan {
    int64_t id;   /* 0: not in the history */
    bool draws;   /* the set of a few-shot run's draws (shots.h): axes task and k, a seed is a draw's number;
                     a run belongs to it by its sweep and its cell, which are what keys are made of */
    char *record; /* as the history has it; NULL: it has none */
    struct sweep_spec spec;
    struct sweep_cells cells;
    struct sweep_entry *entry; /* of each cell */
    /* what sweep_plan_find has seen */
    struct sweep_place *place; /* by key */
    size_t places;
    struct sweep_known *known; /* by number */
    size_t known_count, known_room;
};
void sweep_find_key(const struct sweep_plan *p, const char *key, struct sweep_found *out);
/* Takes over the spec, crosses its lists and completes every cell.  A cell that is no run keeps its reason.
 * What is wrong with every cell is an error.  sweep_plan_release, also after a failure. */
int sweep_plan_make(struct sweep_plan *p, struct sweep_spec *spec, struct jobs *j, struct err *e);
/* The set of draws that the spec's axes cross to, each training so many values. */
int sweep_plan_of_draws(struct sweep_plan *p, struct sweep_spec *spec, int64_t trained, struct err *e);
/* ERR_USAGE for such a set: what its cells say is not how its runs are begun. */
int sweep_plan_no_draws(const struct sweep_plan *p, struct err *e);
/* The cell that a draw's run is stored with: "TASK/kK/dD"; caller frees. */
char *sweep_plan_draw(const struct sweep_plan *p, int cell, int seed);
/* Stores why a draw is left out, and reads it: `take` gets each. */
int sweep_plan_leave_out(struct sweep_plan *p, struct store *s, int cell, int seed, const char *why,
                         struct err *e);
int sweep_plan_left_out(struct sweep_plan *p, struct store *s,
                        void (*take)(void *self, int cell, int seed, const char *why), void *self,
                        struct err *e);
/* One of the history. */
int sweep_plan_open(struct sweep_plan *p, struct store *s, int64_t id, struct err *e);
void sweep_plan_release(struct sweep_plan *p);
/* The n options' further values and seeds in, each cell completed anew.  ERR_USAGE for what cannot be
 * extended (sweep_extend) and where a cell that was there would be none, or other runs, by now (its rows or
 * its model are gone or changed): then *p is as it was. */
struct sweep_more {
    const char *option, *text;
};
int sweep_plan_extend(struct sweep_plan *p, const struct sweep_more *more, int n, struct jobs *j,
                      struct err *e);
/* Finds the runs that there are; again, what has come of them since. */
int sweep_plan_find(struct sweep_plan *p, struct store *s, struct err *e);
/* What of the sweep's budget is used up by the runs that were made for it ("3 of 3 runs"); *why NULL:
 * nothing.  Caller frees. */
int sweep_plan_spent(const struct sweep_plan *p, struct store *s, char **why, struct err *e);
/* Runs that are neither finished nor failed, nor left at a rung. */
int sweep_plan_lacking(const struct sweep_plan *p);
/* Keeps it in the history under its text; *p has its number then.  One that has a number already is changed,
 * unless another process changed it since it was read: ERR_DATABASE. */
int sweep_plan_keep(struct sweep_plan *p, struct store *s, struct err *e);
/* The same under the uid that it has elsewhere. */
int sweep_plan_keep_as(struct sweep_plan *p, struct store *s, const char *uid, struct err *e);
/* The record that is kept of it, and a plan of one; `name` stands in messages. */
void sweep_plan_record(const struct sweep_plan *p, struct buf *b);
int sweep_plan_read(struct sweep_plan *p, const char *name, const json_t *record, struct err *e);
/* The description of a cell's run with a seed, as it is asked for, with the rate that was found where it is
 * known; config_release, also after a failure. */
int sweep_plan_config(const struct sweep_plan *p, int cell, uint64_t seed, struct run_config *c,
                      struct err *e);
/* What --size-of made of a cell: "lora-ffn(r=3) keeps 12345 values, +0.4 % beside the 12300 of lora(r=8)",
 * marked where that is no equal size; NULL: nothing.  Caller frees. */
char *sweep_plan_size(const struct sweep_plan *p, int cell);
/* {"cells":[{"axes":{…},"valid","reason","runs":N,"trained"}],"runs":N,"lacking":N,"taken":TAKEN, and what
 * halving.h and expected.h say of it}; taken: JSON. */
void sweep_plan_json(const struct sweep_plan *p, const char *taken, const struct expected_time *t,
                     struct buf *out);
/* Which of its runs the history had already, made for something else: by petri's version and the kernel (of
 * matrix library and processor) that made them, as a JSON array and as lines; after sweep_plan_find. */
int sweep_plan_taken(const struct sweep_plan *p, struct store *s, struct buf *json, struct buf *lines,
                     struct err *e);
/* Its cells side by side after sweep_plan_find, added to *c, in which what is asked for (comparison.h) stands
 * already. */
int sweep_plan_compare(struct sweep_plan *p, struct store *s, struct side_by_side *c, struct err *e);

#endif
