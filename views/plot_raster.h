/* Curves as pixels: what the charts of one series and of several share.  Private to the plots. */
#ifndef VIEWS_PLOT_RASTER_H
#define VIEWS_PLOT_RASTER_H

#include "views/plot_axis.h"

/* Pixels of one curve, a bit mask a cell. */
struct raster {
    int w, h;            /* cells */
    int px, py;          /* pixels a cell */
    uint8_t *bits;
};
/* Pixels that the canvas's marks give a cell. */
void raster_pixels(const struct canvas *c, int *px, int *py);
/* As large as the inside of the frame, nothing set; free(r.bits). */
struct raster raster_new(const struct plot_frame *f);
/* The least and greatest of every pixel column of points begin … end-1; `join`: lines between columns. */
void raster_trace(struct raster *r, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                  size_t end, bool join);
/* Breaks a curve's level parts by a pattern (plot_line's dash), so that curves stay apart without colours. */
void raster_dash(struct raster *r, int dash);
void raster_show(struct canvas *c, const struct plot_frame *f, const struct raster *r, struct style style,
                 char ascii);
/* A curve of these points, from raster_new to its end. */
void plot_trace(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                size_t end, bool join, struct style style, char ascii);
/* Notes where a click on the curve leads (views/zone.h); 0: nowhere. */
void raster_lead(struct canvas *c, const struct plot_frame *f, const struct raster *r, int pick);
/* A mark at the top for every column with a point that is no number. */
void plot_lost(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
               size_t end);
/* A mark at the top or bottom for every column with a point above or below the range. */
void plot_outside(struct canvas *c, const struct plot_frame *f, const struct plot_data *d, size_t begin,
                  size_t end, struct style style);
void plot_cursor(struct canvas *c, const struct plot_frame *f, double cursor);
/* A line at each of look's marks, where nothing else stands, and its number at the top. */
void plot_stages(struct canvas *c, const struct plot_frame *f, const struct plot_look *look);
/* First index with step ≥ s. */
size_t plot_lower(const struct plot_data *d, double s);
/* Points begin … end-1: those in the frame's window and one more on either side, so that lines run out of
 * it. */
void plot_in_sight(const struct plot_frame *f, const struct plot_data *d, size_t *begin, size_t *end);

#endif
