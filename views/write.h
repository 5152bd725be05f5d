/* The export list of a screen: the screen as a picture or text, its table, the run under the cursor.
 *
 * In write.c. */
#ifndef VIEWS_WRITE_H
#define VIEWS_WRITE_H

#include "views/ui.h"

/* Opens the list (PICK_WRITE). */
void write_open(struct ui *ui);
/* Requests the export of the item under the cursor from the app. */
void write_picked(struct ui *ui, struct effect *out);
/* Returns name i of the formats, in the order of the list, with repetitions; NULL after the last. */
const char *write_form(size_t i);
/* Exports in the named format ("csv", "svg", …); false: not available, with a message. */
bool write_named(struct ui *ui, const char *form, struct effect *out);

#endif
