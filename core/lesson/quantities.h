/* The quantities that a lesson may ask of a model, a method or a run: their names, what they take, what they
 * are.
 *
 * The table is what the reader checks by and what docs/lessons.md lists; what computes them is in
 * app/lesson. */
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
    /* of how rows lie, and of several tasks */
    QUANTITY_PURITY,
    QUANTITY_SILHOUETTE,
    QUANTITY_RETRIEVED_PURITY,
    QUANTITY_RETRIEVED_SILHOUETTE,
    QUANTITY_RETRIEVER_LAYER,
    QUANTITY_OWN_PROTOTYPE,
    QUANTITY_ALIKE,
    /* of points in a file beside the lesson, and their map */
    QUANTITY_MAP_SIZE,
    QUANTITY_MAP_GAP,
    QUANTITY_MAP_KEPT,
    QUANTITY_MAP_KL,
    /* inside */
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
    QUANTITY_METHOD,  /* a method's text in quotes */
    QUANTITY_SUBJECT, /* a run, or a method in quotes: as it is before its first step, seed 1 */
    QUANTITY_WORD,    /* a word in quotes */
};

enum { QUANTITY_MOST = 5 };
struct quantity_row {
    const char *name;
    enum quantity_takes takes[QUANTITY_MOST];
    int least;           /* how many of these must be there */
    const char *written; /* how it is written: "delta(RUN|\"METHOD\", LAYER)" */
    const char *says;    /* one phrase */
};
const struct quantity_row *quantity_row(enum quantity q);
/* By name, or QUANTITIES. */
enum quantity quantity_by_name(const char *name);
/* The nearest name, or NULL. */
const char *quantity_nearest(const char *name);

#endif
