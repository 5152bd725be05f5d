/* What can be written of a screen, as a list to choose from: itself as a picture or text, its table, the run
 * that its cursor is on.
 *
 * In write.c. */
#ifndef VIEWS_WRITE_H
#define VIEWS_WRITE_H

#include "views/ui.h"

/* Opens the list (PICK_WRITE). */
void write_open(struct ui *ui);
/* Its item under the cursor, asked of the app. */
void write_picked(struct ui *ui, struct effect *out);
/* The forms' names, in the list's order, one perhaps more than once; NULL behind the last. */
const char *write_form(size_t i);
/* By name ("csv", "svg", …) of what the screen has; false: it has nothing in that form, which is said. */
bool write_named(struct ui *ui, const char *form, struct effect *out);

#endif
