/* Drawings that verbs give out: to standard output, or a file whose name's end says the form. */
#ifndef APP_VERBS_DRAWING_H
#define APP_VERBS_DRAWING_H

#include "app/verbs/args.h"
#include "views/render.h"

/* What --ansi, --svg and the end of --out ask for; none: text.  ERR_USAGE where they disagree or ask for what
 * cannot be made. */
int drawing_form(const struct args *a, enum render_form *form, struct err *e);
/* To --out (with --overwrite also over a file) or standard output; a file's name is said, with --json on a
 * line of JSON. */
int drawing_put(const struct args *a, const struct buf *drawn, struct err *e);

#endif
