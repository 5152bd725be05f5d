/* Reports at the end of a run which parameters changed: for each module the norm of its parameters before and
 * after, unchanged tensors, and the longest sequence of steps without a gradient; and whether the frozen
 * weights of the model are bit-identical. Private to core/train. */
#ifndef CORE_TRAIN_RUN_MOVED_H
#define CORE_TRAIN_RUN_MOVED_H

#include <stdbool.h>
#include <stdint.h>

struct run;
struct moved;

/* Records the current parameters of the run, before its first step or where it resumes. Free with
 * moved_free. */
struct moved *moved_new(const struct run *r);
void moved_free(struct moved *m); /* NULL: no-op */
/* Counts the steps in which a module has no gradient; call with the gradients of a step in r->sum. */
void moved_step(struct moved *m, const struct run *r);
/* Sends the report as an auxiliary evaluation with split "moved": moduleK_from, moduleK_to (norms),
 * moduleK_tensors, moduleK_same (unchanged tensors), moduleK_still (steps), moduleK_unreached (tensors
 * without a gradient in any step), K from 1; head_… and network_… likewise; frozen_values, frozen_same (1:
 * SHA-256 unchanged). Sends nothing where no step was done. */
void moved_tell(struct moved *m, struct run *r);

#endif
