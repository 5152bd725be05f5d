/* Pictures as PNG: rsvg-convert (Debian's package librsvg2-bin), which petri does without where it is not
 * there, makes them of SVG. */
#ifndef APP_FILES_PNG_H
#define APP_FILES_PNG_H

#include "core/base/buf.h"
#include "core/base/err.h"

/* 0 where rsvg-convert is on PATH; else ERR_NOT_FOUND, which names the package and what can be done without
 * it. */
int png_ready(struct err *e);
/* The picture at twice its size in *out (buf_release); waits for it, a second or so for a screen.
 * ERR_NOT_FOUND as above; ERR_FAILED with what rsvg-convert said, where that fails, gives no whole PNG or
 * takes more than two minutes.  Nothing is written into any folder. */
int png_of_svg(const struct buf *svg, struct buf *out, struct err *e);

#endif
