/* How much of the encoder a method leaves as it is: what its lowest layers make of a row is the same in every
 * step. */
#ifndef CORE_METHOD_UNTOUCHED_H
#define CORE_METHOD_UNTOUCHED_H

#include "core/method/plan.h"

/* The encoder's lowest layers that nothing of the method is in or below, and of which no network of it reads
 * but the last one's output.  0: not even the first; *why then says who is in it, a phrase ("lora is in layer
 * 1"). */
enum { UNTOUCHED_WHY = 120 };
int method_untouched(const struct plan *p, const struct arch *a, char why[UNTOUCHED_WHY]);

#endif
