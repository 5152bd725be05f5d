/* Stored runs that Train overlays in its charts. */
#ifndef APP_SESSION_OVERLAY_H
#define APP_SESSION_OVERLAY_H

#include "app/history/series.h"
#include "store/store.h"
#include "views/train.h"

struct overlay_runs {
    struct train_run *row; /* points into the other members */
    int rows;
    struct run_series **series;
    char **name;
    bool live;             /* one of them may still train */
};
/* Reads at most TRAIN_BESIDE runs, in this order; deleted runs are omitted.  Release with overlay_free. */
int overlay_read(struct store *s, const int64_t *run, int runs, struct overlay_runs **out, struct err *e);
void overlay_free(struct overlay_runs *b); /* NULL is ignored */

#endif
