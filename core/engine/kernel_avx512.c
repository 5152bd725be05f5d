/* For x86-64 with AVX-512. */
#include "core/engine/kernel_table.h"

#if defined(__x86_64__) && !REAL_IS_DOUBLE
#include <math.h>
#include <string.h>

#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,bmi2,prefer-vector-width=512")
#define LANES 16
#define KERNELS kernels_avx512
#include "core/engine/kernel_body.h"
#endif
