/* The quantities of a model, a method or a run that a lesson can compute: their names and arguments.
 *
 * docs/lessons.md describes each of them; app/lesson computes them. */
#ifndef CORE_LESSON_QUANTITIES_H
#define CORE_LESSON_QUANTITIES_H

enum quantity {
    /* of the model */
    QUANTITY_WIDTH,
    QUANTITY_LAYERS,
    QUANTITY_HEADS,
    QUANTITY_INNER,
    QUANTITY_VALUES,
    /* of a method on it */
    QUANTITY_COUNT,
    /* of a run's record */
    QUANTITY_TRAINED,
    QUANTITY_STEPS,
    QUANTITY_BEST,
    QUANTITY_LOSS,
    QUANTITY_LOSS_MEAN,
    QUANTITY_RECORD,
    QUANTITY_SAME,
    QUANTITY_WHY,
    /* of several seeds */
    QUANTITY_LOWEST,
    QUANTITY_HIGHEST,
    QUANTITY_WINS,
    QUANTITY_GAP,
    QUANTITY_GAP_LOW,
    QUANTITY_GAP_HIGH,
    QUANTITY_GAP_WIDTH,
    /* of positions of examples, and of several tasks */
    QUANTITY_PURITY,
    QUANTITY_SILHOUETTE,
    QUANTITY_RETRIEVED_PURITY,
    QUANTITY_RETRIEVED_SILHOUETTE,
    QUANTITY_RETRIEVER_LAYER,
    QUANTITY_OWN_PROTOTYPE,
    QUANTITY_ALIKE,
    /* of points in a file next to the lesson, and of their map */
    QUANTITY_MAP_SIZE,
    QUANTITY_MAP_GAP,
    QUANTITY_MAP_KEPT,
    QUANTITY_MAP_KL,
    /* of activations and weights */
    QUANTITY_DELTA,
    QUANTITY_DELTA_SHARE,
    QUANTITY_DW,
    QUANTITY_UV,
    QUANTITY_RANK,
    QUANTITY_FOLDED,
    /* of a prefix */
    QUANTITY_LAMBDA,
    QUANTITY_LAMBDA_LEAST,
    QUANTITY_LAMBDA_MOST,
    QUANTITY_GATE_GAP,
    QUANTITIES
};

enum quantity_takes {
    QUANTITY_NOTHING,
    QUANTITY_NUMBER,  /* an expression */
    QUANTITY_RUN,     /* the name of a run of the lesson */
    QUANTITY_METHOD,  /* the text of a method in quotes */
    QUANTITY_SUBJECT, /* a run, or a method in quotes at initialization with seed 1 */
    QUANTITY_WORD,    /* a word in quotes */
};

enum { QUANTITY_MOST = 5 };
struct quantity_row {
    const char *name;
    enum quantity_takes takes[QUANTITY_MOST];
    int least;           /* number of required arguments */
    const char *written; /* syntax, for example "delta(RUN|\"METHOD\", LAYER)" */
};
/* Returns the row of a quantity. */
const struct quantity_row *quantity_row(enum quantity q);
/* Returns the quantity with this name, or QUANTITIES. */
enum quantity quantity_by_name(const char *name);
/* Returns the most similar name of a quantity, or NULL. */
const char *quantity_nearest(const char *name);

#endif
