/* Scales a method to the size of another, to compare methods at equal cost. */
#ifndef CORE_METHOD_SIZE_H
#define CORE_METHOD_SIZE_H

#include "core/method/plan.h"

struct size_fit {
    size_t stored, target; /* stored parameters, without the head */
};
/* Sets the sizes of m's modules, in their proportion, so that the number of stored parameters on the model
 * is closest to that of `like`, the smaller of equally close ones. A method without sizes is unchanged.
 * `tasks`: number of tasks of the run. Returns ERR_USAGE if one of the two is invalid on this model. */
int method_match_size(struct method *m, const struct method *like, const struct arch *a, int tasks,
                     struct size_fit *out, struct err *e);

#endif
