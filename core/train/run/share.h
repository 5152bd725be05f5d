/* Sharing of frozen layers (frozen.h): with --share-frozen on, the examples of all splits of a run go through
 * the layers below its method only once. Private to core/train. */
#ifndef CORE_TRAIN_RUN_SHARE_H
#define CORE_TRAIN_RUN_SHARE_H

#include "core/train/run/state.h"

/* Sets up sharing after the splits are set up and before anything is computed; reports which layers are
 * shared, or why none are. */
void share_init(struct run *r);
void share_release(struct run *r);
/* Reports once why outputs cannot be cached. Needs exclusive access to the run. */
void share_tell(struct run *r);

#endif
