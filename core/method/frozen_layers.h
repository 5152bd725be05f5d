/* The lower encoder layers that a method does not change: their output for an example is the same in every
 * step. */
#ifndef CORE_METHOD_FROZEN_LAYERS_H
#define CORE_METHOD_FROZEN_LAYERS_H

#include "core/method/plan.h"

/* Returns the number of lowest encoder layers that have no module in or below them, and of which networks
 * of the method read only the output of the last. For 0, *why is set to the reason, a phrase ("lora is in
 * layer 1"). */
enum { FROZEN_LAYERS_REASON = 120 };
int method_frozen_layers(const struct plan *p, const struct arch *a, char why[FROZEN_LAYERS_REASON]);

#endif
