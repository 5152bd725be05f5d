/* `real`: the number type of the engine.  float in the program; the same sources
 * are built a second time with PETRI_DOUBLE for strict gradient checks. */
#ifndef CORE_ENGINE_REAL_H
#define CORE_ENGINE_REAL_H

#ifdef PETRI_DOUBLE
typedef double real;
#define REAL_IS_DOUBLE 1
#else
typedef float real;
#define REAL_IS_DOUBLE 0
#endif

#endif
