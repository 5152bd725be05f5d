/* The list of what can be copied: of the run and the item under the cursor, of the table, and the screen.
 *
 * In copy.c. */
#ifndef VIEWS_COPY_H
#define VIEWS_COPY_H

#include "views/ui.h"

/* Opens the list (PICK_COPY). */
void copy_open(struct ui *ui);
/* Requests the copy of the item under the cursor from the app. */
void copy_picked(struct ui *ui, struct effect *out);

/* Receives the texts that a screen offers (`copies` of screen.h). */
struct copy_list;
void copy_add(struct copy_list *to, const char *name, const char *text);
/* Offers the line above the hints, which describes the item under the cursor. */
void copy_readout(const struct ui *ui, struct copy_list *to);

#endif
