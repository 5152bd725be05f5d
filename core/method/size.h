/* A method of the size of another: what is compared at equal cost. */
#ifndef CORE_METHOD_SIZE_H
#define CORE_METHOD_SIZE_H

#include "core/method/plan.h"

struct size_fit {
    size_t kept, wanted; /* values that are kept, without the head */
};
/* Sets the sizes of m's modules, in the proportion that they have, so that what is kept of it on the model is
 * nearest to what is kept of `like`; of equally near ones the smaller.  A method without sizes stays as it
 * is.  `tasks`: of the run. ERR_USAGE where one of the two is none on this model. */
int method_size_like(struct method *m, const struct method *like, const struct arch *a, int tasks,
                     struct size_fit *out, struct err *e);

#endif
