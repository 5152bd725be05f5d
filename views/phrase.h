/* Short texts by value, so that callers need no buffer: phrase("#%d", 3).text. */
#ifndef VIEWS_PHRASE_H
#define VIEWS_PHRASE_H

#include <stdbool.h>
#include <stdint.h>

enum { PHRASE = 400 };
struct phrase {
    char text[PHRASE];
};

/* Returns the formatted text, truncated to the buffer. */
struct phrase phrase(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends formatted text. */
void phrase_add(struct phrase *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct phrase show_count(int64_t v);           /* 149,856; from 10 million: "22.7 M" */
struct phrase show_seconds(double s);          /* 0:08, 1:42, 2:03:10; "–" if unknown */
struct phrase show_short_seconds(double s);    /* the same, with tenths below ten: 0.3 s */
struct phrase show_value(double v);            /* 0.838; "–" for NaN */
struct phrase show_points(double v, bool points); /* 83.80 if the metric is a share, else as show_value */
struct phrase show_short(double v);            /* 6.1e-4, 0.83, 1,620: three digits */

#endif
