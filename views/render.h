/* A screen as text, without a terminal: `petri render`, and tests. */
#ifndef VIEWS_RENDER_H
#define VIEWS_RENDER_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "views/ui.h"

/* Parses a size such as "80x24", from 1x1 to 1000x1000. */
int render_size(const char *text, int *w, int *h, struct err *e);
/* The formats of a drawing; finds one by name ("text", "ansi", "svg", "png"), false: unknown; returns the
 * file extension with its dot. */
enum render_form { RENDER_TEXT, RENDER_ANSI, RENDER_SVG, RENDER_PNG, RENDER_FORMS };
bool render_form_named(const char *word, enum render_form *form);
const char *render_end(enum render_form form);
/* Render a canvas, or the interface at its size with its glyphs and colors.  RENDER_PNG writes the SVG from
 * which the PNG is made. */
void render_canvas(const struct canvas *c, enum render_form form, struct buf *out);
void render_ui(const struct ui *ui, enum render_form form, struct buf *out);

#endif
