/* The weights of a model that a plan trains or generates, packed in bfloat16 after each change for all
 * workers together.  A plan of another precision packs nothing.
 *
 * packing_set and packing_changed are called while no pass of the plan is in progress; the others are
 * thread-safe.  Private to core/method but for these two and packing_bytes. */
#ifndef CORE_METHOD_PACKING_H
#define CORE_METHOD_PACKING_H

#include "core/method/plan.h"

struct packing;

/* Selects the parameters and generated values that are packed, on first use; passes over others compute in
 * float32. */
void packing_set(struct plan *p, const struct model *m, const real *params, const real *generated);
/* The parameters or generated values have changed. */
void packing_changed(const struct plan *p);
void packing_free(struct packing *k);
/* Returns the bytes of all packed weights. */
size_t packing_bytes(const struct plan *p);

/* Packs what has changed, together with other threads that call this; returns when all is packed.  False when
 * passes over these parameters compute in float32.  Calls mem_lack when out of memory. */
bool packing_ready(const struct plan *p, const real *params, const real *generated);
/* Returns tensor i, numbered as of_model (attach_in.h) does, or NULL. */
const struct packed *packing_of(const struct plan *p, int i);

#endif
