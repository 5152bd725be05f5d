/* Insight: a thread that looks inside the model and runs for Map and Heatmap.
 *
 * It sends rows of a task through the untouched model and one or two trained runs, or reads their
 * vectors where they are kept, lays them out a few iterations at a time, and gives copied pictures to the
 * screen's thread, at most ten a second.  The thread itself computes nothing: it asks the crew that trains
 * and waits, which comes before the runs (core/base/crew.h), so that no more threads compute than there are
 * workers. */
#ifndef APP_INSIGHT_INSIGHT_H
#define APP_INSIGHT_INSIGHT_H

#include "core/base/crew.h"
#include "store/store.h"
#include "views/effects.h"
#include "views/heatmap.h"
#include "views/map.h"

struct insight;

/* `wake` is called from the insight's thread when a new picture is there.  keep: vectors and matrices
 * that were computed go into the store, which must be open for writing.  The crew computes (NULL: the
 * insight's thread) and must outlive it. */
struct insight *insight_new(struct store *s, bool keep, struct crew *crew, void (*wake)(void *), void *self);
void insight_free(struct insight *in);

/* What is looked at: runs (at most two; none: the model alone, on the task named), or kept sets of
 * vectors (at most two, of the same rows). */
struct insight_subject {
    const char *model, *task;
    const int64_t *run, *set;
    int runs, sets;
    const char *run_task; /* of runs with several tasks: whose rows, by name, or "all"; NULL: by task_at */
    int task_at; /* of runs with several tasks: whose rows, from 0; behind the last: of all; then again from
                  * 0. INSPECT_USUAL: of all where the run has a retriever, which parts them, else of the
                  * first */
    const char *unseen; /* and rows of tasks that it was not trained on, names with commas; NULL */
};
/* What was looked at before is dropped. */
void insight_open(struct insight *in, const struct insight_subject *what);
/* The layout goes on or stands still; one iteration; from its start; the next perplexity of
 * the series, and the next layer of a panel, by -1 or 1. */
void insight_play(struct insight *in);
void insight_step(struct insight *in);
void insight_rewind(struct insight *in);
void insight_perplexity(struct insight *in, int by);
void insight_layer(struct insight *in, int panel, int by);
/* Beside a retriever's vectors the run's pooled ones, or the model's. */
void insight_beside(struct insight *in);
/* The sets that the runs kept while they trained, played in turn, or the layers again; and one of
 * them before or after. */
void insight_training(struct insight *in);
void insight_moment(struct insight *in, int by);
/* Computes the matrices, once; the attention of the row that Map shows as `chosen` (-1: as it was).
 * And another row, layer or head of it, by -1 or 1. */
void insight_matrices(struct insight *in, int chosen);
void insight_attention(struct insight *in, int row, int layer, int head);

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

/* The same without a thread, on the caller's, the layout run to its end (of `training`: the last moment),
 * nothing kept: for `petri render`.  Either of map and heat may be NULL.  A picture is there even on failure,
 * and says why. */
int insight_now(struct store *s, const struct insight_subject *what, bool training, struct insight_map **map,
                struct insight_heat **heat, struct err *e);
/* A kept matrix alone, for `petri render`. */
int insight_kept(struct store *s, int64_t matrix, struct insight_heat **heat, struct err *e);

#endif
