/* Checkpoints: one safetensors file each, written to a temporary file and renamed. param/NAME: every tensor
 * stored after training, and in the last checkpoint also those needed only for training; generated weights
 * under their own names. adam.m/NAME, adam.v/NAME: optimizer state, only in the last checkpoint. Metadata
 * (all strings): "petri" the format version, "method" canonical, "method_text", "config", "state", "labels"
 * (JSON array in the order of the head's outputs), "kind" ("classes", "scores" or "text": the kind of the
 * labels, also where the config's form is text; "none": no head), or for a multi-task run instead of these
 * two "tasks" ([{"name","kind","labels"}]), "backbone", "backbone_sha256", "weights_sha256", "tensors_sha256"
 * (of all bytes after the header; missing in older versions), and for imported parameters "origin": the
 * config that came with them.
 *
 * Written in checkpoint.c, read in checkpoint_read.c. */
#ifndef CORE_TRAIN_RUN_CHECKPOINT_H
#define CORE_TRAIN_RUN_CHECKPOINT_H

#include "core/model/safetensors.h"
#include "core/train/run/state.h"

/* Which checkpoint; a number from 0 is the best checkpoint of that task of a multi-task run. */
enum { CHECKPOINT_LAST = -2, CHECKPOINT_BEST = -1 };
/* Writes FOLDER/last.safetensors (with optimizer state), FOLDER/best.safetensors or
 * FOLDER/best.TASK.safetensors and sends the event. */
int checkpoint_save(struct run *r, int which, struct err *e);
/* Returns the path of the last or best checkpoint, or that of a task; caller frees. */
char *checkpoint_path(const char *folder, bool last);
char *checkpoint_path_of_task(const char *folder, const char *task);

/* A task of the run of a checkpoint. */
struct checkpoint_task {
    char *name;          /* "" in a single-task run */
    enum data_kind label_kind; /* kind of its labels */
    int labels;
    char **label;
    struct best best;    /* multi-task: by its own primary metric */
};

/* An open checkpoint. */
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
    int stage;           /* current stage of a run in stages, from 0 */
    bool finished;
};
/* Opens a checkpoint. On failure *c is empty: ERR_NOT_FOUND, or ERR_INPUT for a file that is not a checkpoint
 * or is damaged. */
int checkpoint_open(struct checkpoint *c, const char *path, struct err *e);
void checkpoint_close(struct checkpoint *c);
/* Verifies the SHA-256 of a file of tensors, where it has one; ERR_INPUT. */
int checkpoint_verify(const char *path, struct err *e);
/* Checks that the model has the weights, config and tokenizer with which the run was trained (ERR_INPUT). */
int checkpoint_is_of(const struct checkpoint *c, const struct model *m, struct err *e);
/* Reads tensors into the flat blocks. `training`: also those needed only for training, and adam_m, adam_v.
 * Missing and unexpected tensors and wrong shapes are refused by name. */
int checkpoint_read(const struct checkpoint *c, const struct plan *p, bool training, real *params,
                    real *generated, real *adam_m, real *adam_v, struct err *e);

/* Reads the statistics of a rank budget; `mean` and `spread` may be NULL. */
int checkpoint_read_budget(const struct checkpoint *c, const struct plan *p, real *mean, real *spread,
                           struct err *e);

#endif
