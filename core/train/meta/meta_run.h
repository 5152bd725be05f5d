/* A run over episodes: what its steps and evaluations do in place of parts of a batch and chunks of a split
 * (source_episodes, core/train/run/objective.h).
 * An episode is what a worker takes; outer gradients are added in the order of the episodes, so workers and
 * resumes change no bit. Private to core/train. */
#ifndef CORE_TRAIN_META_META_RUN_H
#define CORE_TRAIN_META_META_RUN_H

#include "core/train/meta/meta.h"
#include "core/train/run/objective.h"

/* What the episodes of this config have in common, on its plan. */
struct meta meta_of(const struct run_config *c, const struct regime *r, const struct plan *p,
                    const struct model *m);

#endif
