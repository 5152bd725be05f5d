/* What the screens keep from one start to the next: filter, order and grouping of Runs, used tips. */
#ifndef VIEWS_STORED_H
#define VIEWS_STORED_H

#include "views/ui.h"

/* Appends the state as lines "name value"; the defaults have no line. */
void stored_write(const struct ui *ui, struct buf *out);
/* Restores it, and shows tips from now on.  Unknown names and values are ignored; the caller requests the
 * rows again. */
void stored_read(struct ui *ui, const char *text);

#endif
