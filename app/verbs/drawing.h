/* Output of drawings: to standard output, or to a file whose extension selects the format. */
#ifndef APP_VERBS_DRAWING_H
#define APP_VERBS_DRAWING_H

#include "app/verbs/args.h"
#include "views/render.h"

/* Sets the format of --ansi, --svg or the extension of --out; none: text.  ERR_USAGE where they disagree or
 * the format is not available. */
int drawing_form(const struct args *a, enum render_form *form, struct err *e);
/* Writes the drawing to --out (--overwrite: also over an existing file) or standard output; reports the file,
 * with --json as a line of JSON. */
int drawing_put(const struct args *a, const struct buf *drawn, struct err *e);

#endif
