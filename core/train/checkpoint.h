/* Checkpoints: one safetensors file each, written aside and renamed.
 *
 * param/NAME: every tensor that is kept after training, and in the file that a run resumes
 * from also those needed only while training; what a prologue made under its own name.
 * adam.m/NAME, adam.v/NAME: optimiser state, only in the file to resume from.  Metadata
 * (all strings): "petri" the format's number, "method" canonical, "method_text", "config",
 * "state", "labels" (JSON array in the order of the head's outputs), "kind" ("classes", "scores"
 * or "text": what the rows are labelled with, also where the config's form is text), "backbone",
 * "backbone_sha256", "weights_sha256". */
#ifndef CORE_TRAIN_CHECKPOINT_H
#define CORE_TRAIN_CHECKPOINT_H

#include "core/model/safetensors.h"
#include "core/train/state.h"

/* Writes FOLDER/last.safetensors (with what resuming needs) or FOLDER/best.safetensors and
 * sends the event. */
int checkpoint_save(struct run *r, bool last, struct err *e);
char *checkpoint_path(const char *folder, bool last); /* caller frees */

/* What a checkpoint says about itself. */
struct checkpoint {
    char *path;
    struct st_file *file;
    struct method method;
    struct run_config config;
    enum data_kind gold;
    int labels;
    char **label;
    int64_t step;
    double seconds, loss;
    struct best best;
    int worse;
    int64_t evaluated;
    bool finished;
};
/* On failure *c is empty.  ERR_NOT_FOUND, or ERR_INPUT for a file that is no checkpoint. */
int checkpoint_open(struct checkpoint *c, const char *path, struct err *e);
void checkpoint_close(struct checkpoint *c);
/* Reads tensors into the flat blocks.  `training`: those needed only while training and
 * adam_m, adam_v as well.  Missing, unexpected and misshapen tensors are refused by name. */
int checkpoint_read(const struct checkpoint *c, const struct plan *p, bool training, real *params,
                    real *made, real *adam_m, real *adam_v, struct err *e);

#endif
