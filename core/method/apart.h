/* How far two methods are from each other: the axes that differ, module by module. */
#ifndef CORE_METHOD_APART_H
#define CORE_METHOD_APART_H

#include "core/method/space.h"

/* "2 axes apart: function, composition", "the same on every axis", "1 module apart: a further bottleneck at
 * f.out"; sizes are no axis.  Caller frees. */
char *method_apart(const struct method *a, const struct method *b);
/* How many: axes, and modules that only one of them has. */
int method_apart_count(const struct method *a, const struct method *b);

#endif
