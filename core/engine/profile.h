/* Where the time of a step goes: seconds of each op, and of the products and casts within them.  Of an idle
 * machine: the processor time of a thread takes too long to read around each product. */
#ifndef CORE_ENGINE_PROFILE_H
#define CORE_ENGINE_PROFILE_H

#include <stdbool.h>

#include "core/engine/optable.h"

enum profile_part { PROFILE_PRODUCTS, PROFILE_CASTS, PROFILE_PARTS };

struct profile {
    double op[OP_COUNT][2];     /* forward and backward */
    double part[PROFILE_PARTS]; /* within all ops */
};

/* Adds what the calling thread does from now on to *p, until profile_stop. */
void profile_start(struct profile *p);
void profile_stop(void);

/* Called by the engine: returns the time to pass to the others when something ends; 0 without a profile, when
 * they do nothing. */
double profile_begin(void);
void profile_op(enum op_id op, bool backward, double begin);
void profile_part(enum profile_part part, double begin);

#endif
