/* Distillation from one single-task teacher run per task (MPT, Wang et al. 2023), whose outputs and hidden
 * states are computed on the same examples without dropout. Adds to the loss of an example with weight w in
 * the batch:
 *
 *   w · distil_logits · KL(teacher's answer ‖ own answer)
 *   w · distil_hidden · mean (teacher's hidden − own hidden)²
 *
 * Answers are the softmax of the head's outputs, or for each target token that over the vocabulary. Hidden
 * states are those of the last layer of the output stack, over all positions and channels, including prompt
 * vectors. The run's folder has a copy of each teacher's checkpoint, teacher.N.safetensors, so that the
 * teachers may be deleted. Private to core/train, except for parsing, copying and checking teachers. */
#ifndef CORE_TRAIN_RUN_DISTIL_H
#define CORE_TRAIN_RUN_DISTIL_H

#include "core/train/run/batch.h"
#include "core/train/run/run.h"
#include "core/train/use/predict.h"

struct attach;
struct worker;

/* The --teachers of a run, "3,5": run ids, one per task; a run may be given more than once. */
struct teachers {
    int count;
    int64_t run[RUN_TASKS];
    char text[];
};
extern const struct option_parser teachers_parser;
/* Checks that a predictor can be the teacher of task number `task` of a run: it has the same outputs, and a
 * prompt of the same length at the same place. p: the run's plan; t: the task; run: the teacher's id. */
int distil_fits(const struct predictor *teacher, int64_t run, const struct plan *p, int task,
                const struct task *t, struct err *e);
/* Copies a teacher's checkpoint into the folder of a run. */
int distil_keep(const char *checkpoint, const char *folder, int64_t run, struct err *e);

struct distil;
/* Opens the copies of the teachers in the run's folder; ERR_USAGE for a missing copy or an incompatible
 * teacher. */
struct distil *distil_open(const struct run_config *c, const struct plan *p, const struct run_tasks *tasks,
                           struct model *m, const char *folder, struct err *e);
void distil_free(struct distil *d); /* NULL: nothing */

/* Values of the distillation losses, without their weights. */
struct distil_terms {
    double logits, hidden;
};
/* Outputs of a teacher: answers × outputs, and hidden states × width. */
struct distil_output {
    const real *logits, *hidden;
    int answers, outputs, states, width;
};
/* Computes the outputs of a pass started by attach_begin and forward_init on a tape without training;
 * allocated on `keep`. */
void distil_compute(struct attach *a, struct forward *f, bool text, struct arena *keep,
                    struct distil_output *out);
/* Computes the teacher's outputs for examples of one task; allocated on `keep`. Called by each worker on its
 * own. */
void distil_teach(struct distil *d, struct worker *w, struct arena *keep, const struct batch_example *rows,
                  int n, struct distil_output *out);
/* Returns `loss` plus both distillation losses. answers and hidden: the run's own nodes; weight: of each
 * answer; state_weight: of each channel of a state. */
node distil_add(struct tape *t, const struct run_config *c, const struct distil_output *said, node loss,
                node answers, const real *weight, node hidden, const real *state_weight,
                struct distil_terms *terms);

#endif
