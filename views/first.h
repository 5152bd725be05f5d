/* State of the first page: what this machine and its folders hold.  Plain data, filled by
 * the app; strings are the app's and outlive the page. */
#ifndef VIEWS_FIRST_H
#define VIEWS_FIRST_H

#include <stdbool.h>

struct first_view {
    const char *model, *task;     /* names */
    bool model_ready, task_ready; /* the files are there */
    const char *fetch;            /* the command that fetches what is missing, or NULL */
    double seconds;               /* what the first run takes here; 0 not known */
    int cores;
    const char *kernel;           /* "Zen", "SkylakeX" */
    double gflops;                /* of one core; 0 not known */
    int terminal_colours;         /* 256, 8, 0 */
    const char
        *stand_in; /* a sentence on petri's own model or task that stands in for what is fetched, or NULL */
};

#endif
