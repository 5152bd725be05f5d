/* A run over episodes: what its steps and evaluations do in place of parts of a batch and chunks of a split.
 * An episode is what a worker takes; outer gradients are added in the order of the episodes, so workers and
 * resumes change no bit. Private to core/train. */
#ifndef CORE_TRAIN_META_META_RUN_H
#define CORE_TRAIN_META_META_RUN_H

#include "core/train/meta/meta.h"
#include "core/train/run/state.h"

struct run_meta;

/* What the episodes of this config have in common, on its plan. */
struct meta meta_of(const struct run_config *c, const struct regime *r, const struct plan *p,
                    const struct model *m);

/* Opens the run's episodes; the plan is there.  0, or *e. */
int meta_begin(struct run *r, const struct run_tasks *tasks, struct err *e);
void meta_release(struct run *r);
/* Stands for the run's task where there is none: it has no rows. */
struct task *meta_stand_in(struct run *r);
/* Episodes of a step. */
int meta_parts(const struct run *r);

void meta_prepare(struct run *r);
/* Episode `index` of the step in hand, its gradients into `grads`. */
void meta_part(struct run *r, int index, struct worker *w, real *grads);
/* Keeps the rates within their range. */
void meta_clamp(struct run *r);

int64_t meta_eval_every(const struct run *r);
void meta_chunk(struct run *r, int index, struct worker *w);
bool meta_tell(struct run *r);

#endif
