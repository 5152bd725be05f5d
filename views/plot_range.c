#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "views/plot.h"
#include "views/plot_raster.h"

enum {
    LOOKED_AT = 4096, /* points of a series at most, evenly spread */
    FEW = 20,         /* all of so many points are in the range */
    STRETCHES = 64,   /* whose medians are in the range */
    STRETCH = 5,      /* points of one at least */
};

static int lower_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The element at `share` of n sorted ones. */
static double quantile(const double *sorted, size_t n, double share) {
    return sorted[(size_t)ceil(share * (double)n) - 1];
}

/* The least and greatest median of stretches of the series, which go with it where it falls and leave out
 * spikes. */
static void stretch_medians(const double *v, size_t n, double *lo, double *hi) {
    size_t size = n / STRETCHES < STRETCH ? STRETCH : n / STRETCHES;
    double *part = xmalloc(2 * size * sizeof *part);
    for (size_t at = 0; at + size <= n; at += size) {
        size_t m = at + 2 * size > n ? n - at : size; /* the last one takes the rest */
        for (size_t i = 0; i < m; i++) part[i] = v[at + i];
        qsort(part, m, sizeof *part, lower_first);
        double middle = part[m / 2];
        if (!at || middle < *lo) *lo = middle;
        if (!at || middle > *hi) *hi = middle;
    }
    free(part);
}

/* Narrows lo … hi, the extent of v's n values, to where they are but for spikes: to the medians of stretches
 * and to half the distance of the 5 % and 95 % quantiles beyond these. */
static void leave_out_spikes(double *v, size_t n, double *lo, double *hi) {
    double low, high;
    if (n < FEW) return;
    stretch_medians(v, n, &low, &high);
    qsort(v, n, sizeof *v, lower_first);
    double from = quantile(v, n, 0.05), to = quantile(v, n, 0.95), margin = to / 2 - from / 2;
    *lo = fmax(*lo, fmin(low, from - margin));
    *hi = fmin(*hi, fmax(high, to + margin));
}

static void span_widen(struct plot_span *s, double lo, double hi) {
    if (!s->any || lo < s->lo) s->lo = lo;
    if (!s->any || hi > s->hi) s->hi = hi;
    s->any = true;
}

/* The range of the raw points begin … end-1 within lo … hi, their extent; on a log axis in logarithms. */
static void points_range(const struct plot_data *d, size_t begin, size_t end, bool log_y, double *lo,
                         double *hi) {
    size_t every = (end - begin) / LOOKED_AT + 1, n = 0;
    double *v = xmalloc(((end - begin) / every + 1) * sizeof *v);
    for (size_t i = begin; i < end; i += every)
        if (isfinite(d->value[i]) && (!log_y || d->value[i] > 0))
            v[n++] = log_y ? log(d->value[i]) : d->value[i];
    if (log_y) *lo = log(*lo), *hi = log(*hi);
    leave_out_spikes(v, n, lo, hi);
    if (log_y) *lo = exp(*lo), *hi = exp(*hi);
    free(v);
}

static void span_widen_by(struct plot_span *s, const struct plot_data *d, const struct plot_look *look,
                          bool log_y) {
    bool window = look->to > look->from;
    double from = window ? look->from : -INFINITY, to = window ? look->to : INFINITY, lo, hi;
    if (look->smooth > 0) {
        double *mean = xmalloc((d->count + 1) * sizeof *mean);
        plot_smooth(d->value, d->count, plot_smooth_weight(look->smooth), mean);
        if (plot_extent(&(struct plot_data){ d->step, mean, d->count }, from, to, log_y, &lo, &hi))
            span_widen(s, lo, hi);
        free(mean);
    }
    if ((look->smooth > 0 && !look->raw) || !plot_extent(d, from, to, log_y, &lo, &hi)) return;
    size_t begin = plot_lower(d, from), end = begin;
    while (end < d->count && d->step[end] <= to) end++;
    if (!look->whole) points_range(d, begin, end, log_y, &lo, &hi);
    span_widen(s, lo, hi);
}

void plot_widen(struct plot_span *s, const struct plot_data *d, const struct plot_look *look) {
    struct plot_span own = { 0 };
    bool log_y = look->log;
    if (log_y) span_widen_by(&own, d, look, true);
    if (!own.any && s->log) return; /* nothing that a log axis could show */
    if (!own.any) span_widen_by(&own, d, look, log_y = false);
    if (!own.any) return;
    if (log_y && !s->log) s->any = false; /* so far there was only what a log axis cannot show */
    s->log = log_y;
    span_widen(s, own.lo, own.hi);
}

void plot_widen_metric(struct plot_span *s, const struct plot_data *d, double baseline) {
    plot_widen(s, d, &(struct plot_look){ .whole = true });
    if (isfinite(baseline)) span_widen(s, baseline, baseline);
}
