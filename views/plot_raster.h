/* Curves as pixels, shared by charts of one and of several series.  Private to the plots. */
#ifndef VIEWS_PLOT_RASTER_H
#define VIEWS_PLOT_RASTER_H

#include "views/plot_axis.h"

enum { PLOT_CURSOR = 0x2506 }; /* the line at the cursor */

/* Pixels of one curve, a bit mask a cell. */
struct raster {
    int w, h;            /* cells */
    int px, py;          /* pixels a cell */
    uint8_t *bits;
};
/* Writes the pixels per cell of the glyphs of the canvas. */
void raster_pixels(const struct canvas *c, int *px, int *py);
/* Returns an empty raster of the size of the inside of the frame; free(r.bits). */
struct raster raster_new(const struct plot_frame *f);
/* Draws minimum and maximum of every pixel column of points begin … end-1; `join`: lines between columns. */
void raster_trace(struct raster *r, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                  size_t end, bool join);
/* Breaks the level parts of a curve by a pattern (dash of plot_line), distinguishable without colors. */
void raster_dash(struct raster *r, int dash);
void raster_show(struct canvas *c, const struct plot_frame *f, const struct raster *r, struct style style,
                 char ascii);
/* Draws the rasters of several curves: cells that curves share have the dots of all, in the style of none. */
void raster_show_all(struct canvas *c, const struct plot_frame *f, const struct raster *r,
                     const struct style *style, int count);
/* Draws a curve of these points in one call. */
void plot_trace(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                size_t end, bool join, struct style style, char ascii);
/* Records the zones of the curve (views/zone.h); pick 0: none. */
void raster_lead(struct canvas *c, const struct plot_frame *f, const struct raster *r, int pick);
/* Draws a mark at the top of every column with a NaN or infinite point. */
void plot_lost(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
               size_t end);
/* Draws a mark at the top or bottom of every column with a point above or below the range. */
void plot_outside(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                  size_t end, struct style style);
void plot_cursor(struct canvas *c, const struct plot_frame *f, double cursor);
/* Draws a line on blank cells at each mark of the look, and its number at the top. */
void plot_stages(struct canvas *c, const struct plot_frame *f, const struct plot_look *look);
/* Returns the first index with step ≥ s. */
size_t plot_lower(const struct plot_data *d, double s);
/* Finds the points begin … end-1 in the window of the frame, with one more on either side, so that lines
 * leave it. */
void plot_in_sight(const struct plot_frame *f, const struct plot_data *d, size_t *begin, size_t *end);

#endif
