/* What a run is taught beside its rows: a run of one task for each of its tasks (MPT, Wang et al. 2023) whose
 * answers and hidden states, made of the same rows without dropout, its own are drawn to.  To the loss of a
 * row, whose weight in the batch is w:
 *
 *   w · distil_logits · KL(teacher's answer ‖ own answer)  +  w · distil_hidden · mean (teacher's hidden -
 * own hidden)²
 *
 * The answer: softmax of the head's outputs, or for each target token that over the vocabulary.  The hidden
 * states: the last layer's of the stack that the answer is read from, all positions and channels, those of a
 * prompt's rows among them. The run's folder has a copy of each teacher's checkpoint, teacher.N.safetensors,
 * so that it does not matter what becomes of the others.  Private to core/train, but for what says which runs
 * they are, keeps them and checks them. */
#ifndef CORE_TRAIN_RUN_DISTIL_H
#define CORE_TRAIN_RUN_DISTIL_H

#include "core/train/run/batch.h"
#include "core/train/run/run.h"
#include "core/train/use/predict.h"

struct attach;
struct worker;

/* The --teachers of a run, "3,5": numbers of runs, one for each of its tasks; the same one may teach several. */
struct teachers {
    int count;
    int64_t run[RUN_TASKS];
    char text[];
};
extern const struct option_parser teachers_parser;
/* Whether a predictor can teach task number `task` of a run: it answers the same, and its prompt is as long
 * and stands where the run's does.  p: the run's plan; t: the task; run: the teacher's number. */
int distil_fits(const struct predictor *teacher, int64_t run, const struct plan *p, int task,
                const struct task *t, struct err *e);
/* Copies a teacher's checkpoint into the folder of a run. */
int distil_keep(const char *checkpoint, const char *folder, int64_t run, struct err *e);

struct distil;
/* The teachers that a run's folder has a copy of; ERR_USAGE without one, as for what does not fit. */
struct distil *distil_open(const struct run_config *c, const struct plan *p, const struct run_tasks *tasks,
                           struct model *m, const char *folder, struct err *e);
void distil_free(struct distil *d); /* NULL: nothing */

/* What the terms come to, without their factors. */
struct distil_terms {
    double logits, hidden;
};
/* What a teacher says of rows: of each answer its outputs, of each state its channels. */
struct distil_said {
    const real *logits, *hidden;
    int answers, outputs, states, width;
};
/* What comes of a pass that was begun (attach_begin, forward_init) on a tape that does not train; kept on the
 * arena. */
void distil_say(struct attach *a, struct forward *f, bool text, struct arena *keep, struct distil_said *out);
/* Asks the teacher of these rows, all of one task; kept on the arena.  Each worker asks for itself. */
void distil_ask(struct distil *d, struct worker *w, struct arena *keep, const struct batch_row *rows, int n,
                struct distil_said *out);
/* `loss` with both terms.  answers and hidden: the run's own nodes; weight: of each answer, state_weight: of
 * each channel of a state. */
node distil_add(struct tape *t, const struct run_config *c, const struct distil_said *said, node loss,
                node answers, const real *weight, node hidden, const real *state_weight,
                struct distil_terms *terms);

#endif
