#include "core/analysis/pairs.h"

const struct pairs *pairs_in_use(void) {
#if defined(__x86_64__) && !REAL_IS_DOUBLE
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return &pairs_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &pairs_avx2;
#endif
    return &pairs_base;
}
