/* Regular expressions as the library PEFT matches module names with. */
#ifndef CORE_EXCHANGE_PATTERN_H
#define CORE_EXCHANGE_PATTERN_H

#include <stdbool.h>

#include "core/base/err.h"

enum pattern_way {
    PATTERN_WHOLE, /* the whole name */
    PATTERN_END,   /* the name, or what follows one of its dots */
};
/* Returns 1 for a match, 0 for none, and below 0 with *e (ERR_INPUT) for an invalid expression or one that
 * takes too long. */
int pattern_matches(const char *pattern, enum pattern_way way, const char *name, struct err *e);

#endif
