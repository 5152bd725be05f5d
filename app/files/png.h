/* Conversion of SVG pictures to PNG by rsvg-convert (Debian package librsvg2-bin), which is optional. */
#ifndef APP_FILES_PNG_H
#define APP_FILES_PNG_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* Returns 0 when rsvg-convert is on PATH; else ERR_NOT_FOUND, which names the package and the alternative. */
int png_ready(struct err *e);
/* Renders the picture at twice its size into *out (buf_release); blocks, about a second for a screen.
 * ERR_NOT_FOUND as above; ERR_FAILED with the message of rsvg-convert when it fails, writes an incomplete
 * PNG or takes more than two minutes.  Writes no file. */
int png_of_svg(const struct buf *svg, struct buf *out, struct err *e);

#endif
