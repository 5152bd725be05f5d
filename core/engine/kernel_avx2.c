/* For x86-64 with AVX2 and FMA. */
#include "core/engine/kernel_table.h"

#if defined(__x86_64__) && !REAL_IS_DOUBLE
#include <math.h>
#include <string.h>

#pragma GCC target("avx2,fma,bmi2")
#define LANES 8
#define KERNELS kernels_avx2
#include "core/engine/kernel_body.h"
#endif
