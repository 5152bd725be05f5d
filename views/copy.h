/* The list of what can be copied of a run.
 *
 * In copy.c. */
#ifndef VIEWS_COPY_H
#define VIEWS_COPY_H

#include "views/ui.h"

/* Opens the list (PICK_COPY) for a run; on a table of runs, with the value and the row under the cursor. */
void copy_open(struct ui *ui, int64_t run, const char *method);
/* Requests the copy of the item under the cursor from the app. */
void copy_picked(struct ui *ui, struct effect *out);

#endif
