/* Folders below $TMPDIR (or /tmp) for what need not outlive its process.  Each is held by a lock while it is
 * in use, so that one whose process was killed is known, and removed when the next of its kind is made. */
#ifndef CORE_BASE_SCRATCH_H
#define CORE_BASE_SCRATCH_H

#include "core/base/err.h"

struct scratch {
    char *folder; /* NULL: none */
    int hold;
};
/* petri-WHAT-XXXXXX; ERR_SYSTEM.  scratch_drop. */
int scratch_make(struct scratch *s, const char *what, struct err *e);
/* Removes it with all that is in it; of one that was not made nothing. */
void scratch_drop(struct scratch *s);

#endif
