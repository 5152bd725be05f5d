/* A screen as text, without a terminal: `petri render`, and tests. */
#ifndef VIEWS_RENDER_H
#define VIEWS_RENDER_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "views/ui.h"

/* "80x24"; sizes 1x1 to 1000x1000. */
int render_size(const char *text, int *w, int *h, struct err *e);
/* What a drawing may become; by name ("text", "ansi", "svg", "png"), false: none; and the end of its file's
 * name, with its point. */
enum render_form { RENDER_TEXT, RENDER_ANSI, RENDER_SVG, RENDER_PNG, RENDER_FORMS };
bool render_form_named(const char *word, enum render_form *form);
const char *render_end(enum render_form form);
/* A canvas; and ui, drawn at its size with its glyphs and colours.  RENDER_PNG gives the SVG that a PNG is
 * made of. */
void render_canvas(const struct canvas *c, enum render_form form, struct buf *out);
void render_ui(const struct ui *ui, enum render_form form, struct buf *out);

#endif
