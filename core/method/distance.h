/* The distance between two methods: the axes that differ, module by module. */
#ifndef CORE_METHOD_DISTANCE_H
#define CORE_METHOD_DISTANCE_H

#include "core/method/space.h"

/* Returns "2 axes apart: function, composition", "equal on all axes" or "1 module apart: another bottleneck
 * at f.out"; sizes are not axes. The caller frees it. */
char *method_difference(const struct method *a, const struct method *b);
/* Returns the number of axes that differ plus the number of modules that only one method has. */
int method_distance(const struct method *a, const struct method *b);

#endif
