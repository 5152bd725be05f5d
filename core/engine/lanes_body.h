/* Vectors of LANES elements and fused multiply-adds, shared by kernel_body.h and analysis/pairs_body.h.
 *
 * The including file defines FUSED(a, b, c) if its instruction set computes a·b + c of vectors with one
 * rounding. Otherwise the product and the sum are each rounded: fma of the C library would return the bits of
 * FUSED, but takes many times as long.  The compiler never contracts by itself (-ffp-contract=off), because
 * its choice differs between code paths and between compilers.  A table returns the same bits whichever
 * compiler built it. */

#if defined(__aarch64__) && !defined(FUSED)
#include <arm_neon.h>
#if REAL_IS_DOUBLE
#define FUSED(a, b, c) vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b))
#else
#define FUSED(a, b, c) vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b))
#endif
#endif

typedef real vec __attribute__((vector_size(LANES * sizeof(real))));

#define INLINE static inline __attribute__((always_inline))
/* x in every lane.  Subtracts zero, which compiles to nothing; adding zero would change -0 and cost an
 * instruction. */
#define ALL(x) ((real)(x) - (vec){ 0 })

/* Return a·b + c: of vectors, of one element (rounded as in a lane) and of doubles. */
#ifdef FUSED
INLINE vec fused(vec a, vec b, vec c) { return (vec)FUSED(a, b, c); }
#if REAL_IS_DOUBLE
INLINE real fused_one(real a, real b, real c) { return __builtin_fma(a, b, c); }
#else
INLINE real fused_one(real a, real b, real c) { return __builtin_fmaf(a, b, c); }
#endif
INLINE double fused_double(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
INLINE vec fused(vec a, vec b, vec c) { return a * b + c; }
INLINE real fused_one(real a, real b, real c) { return a * b + c; }
INLINE double fused_double(double a, double b, double c) { return a * b + c; }
#endif
