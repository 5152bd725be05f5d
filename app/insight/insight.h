/* Insight: a thread that computes the pictures of Map and Heatmap from the model and runs.
 *
 * It encodes examples of a task with the base model and one or two trained runs, or reads their stored
 * vectors, computes their layout a few iterations at a time, and passes copied pictures to the screen's
 * thread, at most ten per second.  The thread itself computes nothing: it submits work to the crew that
 * also trains, with priority over the runs (core/base/crew.h), so that no more threads compute than there
 * are workers. */
#ifndef APP_INSIGHT_INSIGHT_H
#define APP_INSIGHT_INSIGHT_H

#include "core/base/crew.h"
#include "store/store.h"
#include "views/effects.h"
#include "views/heatmap.h"
#include "views/map.h"

struct insight;

/* Creates it.  `wake` is called from its thread when a new picture is available.  keep: computed vectors
 * and matrices are stored, which requires a writable store.  The crew computes (NULL: the insight's own
 * thread) and must outlive it. */
struct insight *insight_new(struct store *s, bool keep, struct crew *crew, void (*wake)(void *), void *self);
void insight_free(struct insight *in);

/* The subject: runs (at most two; none: only the model, on the named task), or stored sets of vectors (at
 * most two, of the same examples). */
struct insight_subject {
    const char *model, *task;
    const int64_t *run, *set;
    int runs, sets;
    const char *run_task; /* of multi-task runs: the task, by name, or "all"; NULL: by task_at */
    int task_at; /* of multi-task runs: the task, from 0; after the last one: all; then again from
                  * 0. INSPECT_USUAL: all if the run has a retriever, which separates them, else the
                  * first */
    const char *unseen; /* names of unseen tasks to add, separated by commas; NULL */
};
/* Opens a subject and drops the previous one. */
void insight_open(struct insight *in, const struct insight_subject *what);
/* Pauses or continues the layout; runs one iteration; restarts it; changes to the next perplexity of the
 * series, or the next layer of a panel, by -1 or 1. */
void insight_play(struct insight *in);
void insight_step(struct insight *in);
void insight_rewind(struct insight *in);
void insight_perplexity(struct insight *in, int by);
void insight_layer(struct insight *in, int panel, int by);
/* Computes layouts of all layers of a panel, for small maps, one after the other. */
void insight_small(struct insight *in, int panel);
/* Shows, next to a retriever's vectors, the pooled vectors of the run or those of the model. */
void insight_beside(struct insight *in);
/* Plays the sets that the runs stored during training, or returns to the layers; and moves to an earlier or
 * later moment. */
void insight_training(struct insight *in);
void insight_moment(struct insight *in, int by);
/* Computes the matrices once, and the attention of the example that Map shows as `chosen` (-1: unchanged);
 * and moves to another example, layer or head of it, by -1 or 1. */
void insight_matrices(struct insight *in, int chosen);
void insight_attention(struct insight *in, int row, int layer, int head);

/* Takes a picture: `data` points into its own memory.  NULL without a new one; the caller frees it. */
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

/* Computes the pictures in the caller's thread with the layout run to its end (of `training`: the last
 * moment), and stores nothing; for `petri render`.  Either of map and heat may be NULL.  A picture is
 * returned even on failure, and shows the error. */
int insight_now(struct store *s, const struct insight_subject *what, bool training, struct insight_map **map,
                struct insight_heat **heat, struct err *e);
/* Returns a stored matrix, for `petri render`. */
int insight_stored(struct store *s, int64_t matrix, struct insight_heat **heat, struct err *e);

#endif
