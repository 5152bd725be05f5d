/* Functions that learn.c, learn_draw.c and learn_notes.c share, and that ui.c and ui_draw.c use. */
#ifndef VIEWS_LEARN_PARTS_H
#define VIEWS_LEARN_PARTS_H

#include "views/phrase.h"
#include "views/ui.h"

/* Returns whether a step is skipped: a let or check without text, unless it failed. */
bool learn_is_silent(const struct learn_view *v, int step);
/* Formats the position of a step among those that are shown, "4 of 12". */
struct phrase learn_place(const struct learn_view *v, int step);
/* Returns the next shown step in that direction, or -1. */
int learn_next_step(const struct learn_view *v, int by);
/* Returns the current step, or NULL; and whether it and all steps before it are complete. */
const struct lesson_step *learn_step(const struct learn_view *v);
bool learn_passed(const struct learn_view *v);
/* Handles a letter that answers the current question; false if it does not. */
bool learn_press(struct ui *ui, const struct press *p, struct effect *out);

void learn_draw(const struct ui *ui, struct canvas *c, struct rect r);
void learn_readout(const struct ui *ui, struct buf *out);
/* Returns the title of a step on the screen: "Question", its heading. */
struct phrase learn_step_title(const struct lesson_step *s);
/* Draws the notes (with c NULL only measures them) and returns their number of rows. */
int learn_draw_notes(const struct ui *ui, struct canvas *c, struct rect r);
/* Draws the maps of a step side by side in r; and returns the number of rows that they need. */
void learn_draw_map(struct canvas *c, struct rect r, const struct lesson_step *s, const struct lesson_map *m);
int learn_map_rows(const struct lesson_step *s);
/* Returns the rows of the open lesson's text at this width, and of the sentence below the list. */
int learn_rows(const struct ui *ui, int w);
int learn_about_rows(const struct ui *ui);

/* Divides a window between another screen and the current step; false if it is too small for both. */
bool learn_share(int w, int h, struct rect *screen, struct rect *step);
void learn_draw_beside(const struct ui *ui, struct canvas *c, struct rect r);

#endif
