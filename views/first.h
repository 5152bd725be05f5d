/* State of the first page: the machine, the model and the task.  Plain data, filled by
 * the app, which owns the strings. */
#ifndef VIEWS_FIRST_H
#define VIEWS_FIRST_H

#include <stdbool.h>

struct first_view {
    const char *model, *task;     /* names */
    bool model_ready, task_ready; /* the files exist */
    const char *fetch;            /* the command that fetches what is missing, or NULL */
    double seconds;               /* estimated duration of the first run; 0: unknown */
    int cores;
    const char *kernel;           /* "Zen", "SkylakeX" */
    double gflops;                /* of one core; 0: unknown */
    int terminal_colors;         /* 256, 8, 0 */
    const char
        *stand_in; /* a sentence on petri's own model or task that replaces the default one, or NULL */
};

#endif
