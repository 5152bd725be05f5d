/* What bfloat16 gains, relative to what its products would gain alone (Amdahl's law). */
#ifndef TESTS_BENCH_BENCH_BF16_H
#define TESTS_BENCH_BENCH_BF16_H

#include "core/base/err.h"

struct bench_bf16 {
    double single, half;           /* GF/s of a layer's products on one thread; casts are included */
    double share;                  /* of products in a step in float32 */
    double step, half_step;        /* seconds, one worker, medians of alternating steps */
    double possible, gain;         /* speedup with faster products alone; measured */
};
/* Measures LoRA on the shapes of BERT-base, batch size 8, sequence length 128, for about this long. */
int bench_bf16(double seconds, struct bench_bf16 *out, struct err *e);

#endif
