/* Gradients of a method on a rig against central differences.  In the double build. */
#ifndef TESTS_SUPPORT_SLOPE_H
#define TESTS_SUPPORT_SLOPE_H

#include "tests/support/rig.h"

/* Along one random direction of all values, and at one value of each tensor; fails the test where they differ.  The
 * method must have a place on the model.  Which tensors is drawn from the text, a quarter of them where there are many:
 * those of other layers differ from these in the layer alone, and the direction has them all.  `make test-slow` takes each. */
void slope_check(struct rig *r, const char *text);
/* Forms of a function: at each tap that it may write, reading that tap and the sublayer's input, with its
 * compositions in turns; at its usual place each composition, shared over layers and one a task.  Returns how many
 * have a place on the model. */
int slope_check_function(struct rig *r, enum fn fn);

#endif
