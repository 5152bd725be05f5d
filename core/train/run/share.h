/* Which of a run's rows go through frozen layers once (frozen.h): with --share-frozen on those of all its
 * splits, through the layers that its method leaves as they are.  Private to core/train. */
#ifndef CORE_TRAIN_RUN_SHARE_H
#define CORE_TRAIN_RUN_SHARE_H

#include "core/train/run/state.h"

/* Once the splits are there, before anything is computed; tells what is shared, or why nothing is. */
void share_init(struct run *r);
void share_release(struct run *r);
/* Tells once what keeps rows from being kept.  By the worker that holds the run alone. */
void share_tell(struct run *r);

#endif
