/* Training over episodes: steps and evaluations of source_episodes (core/train/run/objective.h). An episode
 * is the unit of a worker; outer gradients are added in the order of episodes, so that the result depends
 * neither on the number of workers nor on resuming. Private to core/train. */
#ifndef CORE_TRAIN_META_META_RUN_H
#define CORE_TRAIN_META_META_RUN_H

#include "core/train/meta/meta.h"
#include "core/train/run/objective.h"

/* Returns the settings shared by the episodes of a config with plan p. */
struct meta meta_of(const struct run_config *c, const struct regime *r, const struct plan *p,
                    const struct model *m);

#endif
