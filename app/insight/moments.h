/* The vectors of the same examples at moments of a run's training, stored by --embed-every, and a map of
 * each that is initialized from the previous one, so that they can be played. */
#ifndef APP_INSIGHT_MOMENTS_H
#define APP_INSIGHT_MOMENTS_H

#include "app/history/rowset.h"
#include "app/insight/ratings.h"
#include "core/base/crew.h"
#include "store/store.h"

enum { MOMENTS_ITERATIONS = 250 }; /* of a map initialized from the previous one */

struct moment {
    int64_t step, set;
    real *vector;          /* n×width, of length 1 */
    int32_t *predicted;    /* n, or NULL */
    struct ratings ratings, by_task; /* of the labels; of the tasks, with several */
    double metric;         /* the run's primary metric on the validation set at this step; NaN: none */
    /* after moments_lay */
    real *layout;          /* n×2; NULL before */
    double kl, preservation; /* preservation: share of the 10 nearest neighbors that the map has too */
};

struct moments {
    int64_t run;           /* 0: of a base model */
    char *called, *title; /* called: the run's id with its name, or NULL */
    char *model, *task, *split, *pool, *metric;
    int layer, width;
    struct rowset rows;
    int count;
    struct moment *moment; /* sorted by step */
    double perplexity;     /* requested: 30 */
    double used;           /* after the first map */
    struct crew *crew;     /* does the computation; NULL: the caller's thread */
};

/* Opens the run's longest series of sets with the same examples, layer and pooling, or of its retriever's
 * vectors. ERR_NOT_FOUND when it stored none during training, ERR_USAGE when sets of a series differ in
 * their examples. */
int moments_open(struct moments *m, struct store *s, int64_t run, bool retriever, struct crew *crew,
                 struct err *e);
/* Opens one stored set, as the only moment. */
int moments_open_set(struct moments *m, struct store *s, int64_t set, struct crew *crew, struct err *e);
/* Computes the map of moment i; the earlier ones must exist.  The same points, perplexity and seed give the
 * same maps, for any number of workers. */
int moments_lay(struct moments *m, int i, uint64_t seed, struct err *e);
/* Drops all maps, for another perplexity. */
void moments_clear(struct moments *m);
void moments_release(struct moments *m);

#endif
