/* Temporary folders in $TMPDIR (or /tmp).  Each is locked while in use; folders of killed processes are
 * detected by their free lock and removed when the next folder of the same kind is created. */
#ifndef CORE_BASE_SCRATCH_H
#define CORE_BASE_SCRATCH_H

#include "core/base/err.h"

struct scratch {
    char *folder; /* NULL: none */
    int hold;
};
/* Creates petri-WHAT-XXXXXX; ERR_SYSTEM.  Freed with scratch_drop. */
int scratch_make(struct scratch *s, const char *what, struct err *e);
/* Removes the folder and its content; does nothing if it was not created. */
void scratch_drop(struct scratch *s);

#endif
