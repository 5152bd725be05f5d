/* Insight: a thread that looks inside the model and runs for Map and Heatmap.
 *
 * It sends rows of a task through the untouched model and one or two trained runs, lays them
 * out a few iterations at a time, and gives copied pictures to the screen's thread, at most
 * ten a second.  It works at a low priority, so that it holds up neither training nor keys. */
#ifndef APP_INSIGHT_H
#define APP_INSIGHT_H

#include "store/store.h"
#include "views/heatmap.h"
#include "views/map.h"

struct insight;

/* `wake` is called from the insight's thread when a new picture is there. */
struct insight *insight_new(struct store *s, void (*wake)(void *), void *self);
void insight_free(struct insight *in);

/* Looks at runs (at most two; none: at the model alone, on the task named).  What was looked
 * at before is dropped. */
void insight_open(struct insight *in, const char *model, const char *task, const int64_t *run, int runs);
/* The layout goes on or stands still; one iteration; from its start; the next perplexity of
 * the series, and the next layer of a panel, by -1 or 1. */
void insight_play(struct insight *in);
void insight_step(struct insight *in);
void insight_rewind(struct insight *in);
void insight_perplexity(struct insight *in, int by);
void insight_layer(struct insight *in, int panel, int by);
/* Computes the matrices, once. */
void insight_matrices(struct insight *in);

/* Pictures: `data` points into memory of their own.  NULL when nothing is new; the taker
 * frees them. */
struct insight_map {
    struct map_data data;
    void *memory;
};
struct insight_heat {
    struct heatmap_data data;
    void *memory;
};
struct insight_map *insight_take_map(struct insight *in);
struct insight_heat *insight_take_heat(struct insight *in);
void insight_map_free(struct insight_map *m);
void insight_heat_free(struct insight_heat *h);

/* The same without a thread, the layout run to its end: for `petri render`.  Either of map and
 * heat may be NULL.  A picture is there even on failure, and says why. */
int insight_now(struct store *s, const char *model, const char *task, const int64_t *run, int runs,
                struct insight_map **map, struct insight_heat **heat, struct err *e);

#endif
