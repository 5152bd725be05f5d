/* For any processor: SSE2 or NEON, and all of the double build. */
#include "core/engine/kernel_table.h"

#define LANES ((int)(16 / sizeof(real)))
#define KERNELS kernels_base
#include "core/engine/kernel_body.h"
