/* A screen as text, without a terminal: `petri render`, and tests. */
#ifndef VIEWS_RENDER_H
#define VIEWS_RENDER_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "views/ui.h"

/* "80x24"; sizes 1x1 to 1000x1000. */
int render_size(const char *text, int *w, int *h, struct err *e);
/* Draws ui at its size; with SGR colours when `ansi`.  ui's glyphs and colours apply. */
void render_ui(const struct ui *ui, bool ansi, struct buf *out);

#endif
