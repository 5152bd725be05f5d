/* What learn.c, learn_draw.c and learn_notes.c share, and ui.c and ui_draw.c need of them. */
#ifndef VIEWS_LEARN_PARTS_H
#define VIEWS_LEARN_PARTS_H

#include "views/phrase.h"
#include "views/ui.h"

/* Returns whether a step is passed over: a let or check without text, unless it failed. */
bool learn_is_silent(const struct learn_view *v, int step);
/* Formats where a step is among those that are seen, "4 of 12". */
struct phrase learn_place(const struct learn_view *v, int step);
/* The next step to be read in that direction, or -1. */
int learn_next_step(const struct learn_view *v, int by);
/* The step that is shown, or NULL; whether it and all before it are passed. */
const struct lesson_step *learn_step(const struct learn_view *v);
bool learn_passed(const struct learn_view *v);
/* A letter that answers the question on the screen; false: it is none. */
bool learn_press(struct ui *ui, const struct press *p, struct effect *out);

void learn_draw(const struct ui *ui, struct canvas *c, struct rect r);
void learn_readout(const struct ui *ui, struct buf *out);
/* What a step is called on the screen: "Question", its heading. */
struct phrase learn_step_title(const struct lesson_step *s);
/* learn_notes.c: the notes; with c NULL only measured.  Returns their rows. */
int learn_draw_notes(const struct ui *ui, struct canvas *c, struct rect r);
/* learn_map.c: the maps of a step, side by side, in r; and the rows that they take. */
void learn_draw_map(struct canvas *c, struct rect r, const struct lesson_step *s, const struct lesson_map *m);
int learn_map_rows(const struct lesson_step *s);
/* Rows of the open lesson's text at this width; of the sentence below the list. */
int learn_rows(const struct ui *ui, int w);
int learn_about_rows(const struct ui *ui);

/* Beside another screen: what is left of a window for that screen, and where the step goes; false: the window
 * is too small for both. */
bool learn_share(int w, int h, struct rect *screen, struct rect *step);
void learn_draw_beside(const struct ui *ui, struct canvas *c, struct rect r);

#endif
