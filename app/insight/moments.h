/* The same rows at moments of a run's training, as --embed-every kept them, and a map of each
 * begun from the one before, so that they can be played. */
#ifndef APP_INSIGHT_MOMENTS_H
#define APP_INSIGHT_MOMENTS_H

#include "app/history/rowset.h"
#include "app/insight/ratings.h"
#include "core/base/crew.h"
#include "store/store.h"

enum { MOMENTS_ITERATIONS = 250 }; /* of a map that goes on from the one before */

struct moment {
    int64_t step, set;
    real *vector;          /* n×width, of length 1 */
    int32_t *predicted;    /* n, or NULL */
    struct ratings ratings, by_task; /* of the labels; of the tasks, where there are several */
    double metric;         /* the run's deciding metric on dev at this step; NaN without */
    /* after moments_lay */
    real *layout;          /* n×2; NULL before */
    double kl, kept;       /* kept: share of the 10 nearest that are so in the map too */
};

struct moments {
    int64_t run;           /* 0: of an untouched model */
    char *called, *title; /* called: the run's number with its name, or NULL */
    char *model, *task, *split, *pool, *metric;
    int layer, width;
    struct rowset rows;
    int count;
    struct moment *moment; /* by step */
    double perplexity;     /* asked for: 30 */
    double used;           /* after the first map */
    struct crew *crew;     /* computes what is computed here; NULL: the caller's thread */
};

/* The run's longest series of sets of the same rows, layer and pooling, or of its retriever's vectors.
 * ERR_NOT_FOUND when it kept none while it trained, ERR_USAGE when sets of one series differ in their
 * rows. */
int moments_open(struct moments *m, struct store *s, int64_t run, bool retriever, struct crew *crew,
                 struct err *e);
/* One kept set alone, as the only moment. */
int moments_open_set(struct moments *m, struct store *s, int64_t set, struct crew *crew, struct err *e);
/* The map of moment i; those before must be there.  The same points, perplexity and seed give the
 * same maps, for any number of workers. */
int moments_lay(struct moments *m, int i, uint64_t seed, struct err *e);
/* Drops all maps, for another perplexity. */
void moments_clear(struct moments *m);
void moments_release(struct moments *m);

#endif
