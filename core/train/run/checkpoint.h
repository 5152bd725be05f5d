/* Checkpoints: one safetensors file each, written aside and renamed.
 *
 * param/NAME: every tensor that is kept after training, and in the file that a run resumes
 * from also those needed only while training; what a prologue made under its own name.
 * adam.m/NAME, adam.v/NAME: optimizer state, only in the file to resume from.  Metadata
 * (all strings): "petri" the format's number, "method" canonical, "method_text", "config",
 * "state", "labels" (JSON array in the order of the head's outputs), "kind" ("classes", "scores"
 * or "text": what the rows are labelled with, also where the config's form is text; "none": it has no head),
 * or of several tasks in place of these two "tasks" ([{"name","kind","labels"}]), "backbone",
 * "backbone_sha256", "weights_sha256", "tensors_sha256" (of all bytes
 * behind the header; earlier versions wrote none), and of values from another program "origin": the config
 * that came with them.
 *
 * Written in checkpoint.c, read in checkpoint_read.c. */
#ifndef CORE_TRAIN_RUN_CHECKPOINT_H
#define CORE_TRAIN_RUN_CHECKPOINT_H

#include "core/model/safetensors.h"
#include "core/train/run/state.h"

/* Which: a number from 0 on is the best state of that task, of several. */
enum { CHECKPOINT_LAST = -2, CHECKPOINT_BEST = -1 };
/* Writes FOLDER/last.safetensors (with what resuming needs), FOLDER/best.safetensors or
 * FOLDER/best.TASK.safetensors and sends the event. */
int checkpoint_save(struct run *r, int which, struct err *e);
/* The first two; callers free. */
char *checkpoint_path(const char *folder, bool last);
char *checkpoint_path_of_task(const char *folder, const char *task);

/* A task that a checkpoint's run has. */
struct checkpoint_task {
    char *name;          /* "" where it is the only one */
    enum data_kind gold; /* what its rows were labelled with */
    int labels;
    char **label;
    struct best best;    /* of several: by its own deciding metric */
};

/* What a checkpoint says about itself. */
struct checkpoint {
    char *path;
    struct st_file *file;
    struct method method;
    struct run_config config;
    int tasks;
    struct checkpoint_task *task;
    int64_t step;
    double seconds, loss;
    struct best best;
    int worse;
    int64_t evaluated;
    int stage;           /* of a run in stages the one in hand, from 0 on */
    bool finished;
};
/* On failure *c is empty.  ERR_NOT_FOUND, or ERR_INPUT for a file that is no checkpoint, or holds other bytes
 * than were written. */
int checkpoint_open(struct checkpoint *c, const char *path, struct err *e);
void checkpoint_close(struct checkpoint *c);
/* Whether the bytes of a file of tensors are those that were written, as far as it says; ERR_INPUT. */
int checkpoint_look(const char *path, struct err *e);
/* ERR_INPUT unless the model has the weights, config and tokenizer that the run was trained with. */
int checkpoint_is_of(const struct checkpoint *c, const struct model *m, struct err *e);
/* Reads tensors into the flat blocks.  `training`: those needed only while training and
 * adam_m, adam_v as well.  Missing, unexpected and misshapen tensors are refused by name. */
int checkpoint_read(const struct checkpoint *c, const struct plan *p, bool training, real *params,
                    real *made, real *adam_m, real *adam_v, struct err *e);

/* What a method's budget has seen so far; either may be NULL. */
int checkpoint_read_budget(const struct checkpoint *c, const struct plan *p, real *mean, real *spread,
                           struct err *e);

#endif
