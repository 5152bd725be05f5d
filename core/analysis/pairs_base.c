/* For any processor: SSE2 or NEON, and the double build. */
#include "core/analysis/pairs.h"

#define LANES ((int)(16 / sizeof(real)))
#define PAIRS pairs_base
#include "core/analysis/pairs_body.h"
