/* What a run moved and what stayed as it was, told once when it is over: of each module the norm of its
 * values before and after, tensors that never changed, the longest row of steps without a gradient; and
 * whether the model's own values are bit for bit what they were.  Private to core/train. */
#ifndef CORE_TRAIN_RUN_MOVED_H
#define CORE_TRAIN_RUN_MOVED_H

#include <stdbool.h>
#include <stdint.h>

struct run;
struct moved;

/* Looks at the run's values as they are now: before its first step, or where it goes on.  moved_free. */
struct moved *moved_new(const struct run *r);
void moved_free(struct moved *m); /* NULL is let pass */
/* With the step's gradients in r->sum: counts the steps in which a module had none. */
void moved_step(struct moved *m, const struct run *r);
/* As an evaluation beside the measure, split "moved": moduleK_from, moduleK_to (norms), moduleK_tensors,
 * moduleK_same (of these, unchanged), moduleK_still (steps), moduleK_unreached (tensors that no step gave a
 * gradient), K from 1; head_… and network_… likewise; frozen_values, frozen_same (1: their SHA-256 is what it
 * was).  Nothing where no step was made. */
void moved_tell(struct moved *m, struct run *r);

#endif
