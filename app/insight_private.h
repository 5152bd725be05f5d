/* What insight.c, insight_rows.c and insight_matrix.c share: the rows looked at, and what
 * each layer makes of them. */
#ifndef APP_INSIGHT_PRIVATE_H
#define APP_INSIGHT_PRIVATE_H

#include "app/insight.h"
#include "app/likeness.h"
#include "core/analysis/tsne.h"
#include "core/data/task.h"

enum { INSIGHT_ROWS = 400, INSIGHT_SEED = 1 };

struct inside_panel {
    char *title;
    int layer, layers, width;  /* layers: embeddings (0) and the model's */
    real **vector;             /* layers: rows × width */
    int32_t *predicted;        /* rows; NULL without a head */
    /* follow from the layer */
    real *unit;                /* rows × width, of length 1: cosine geometry */
    struct tsne *tsne;
    int32_t *neighbour;
    struct map_score silhouette, purity;
    int purity_k;
};

/* What is looked at; read-only once it is filled, but for what follows from the layers. */
struct inside {
    struct task task;
    bool have_task;
    int n, classes;
    struct dataset *rows_of;   /* the drawn rows; in the task */
    int32_t *gold;
    char *rows;                /* "400 of 2,538 dev rows" */
    double perplexity;         /* asked for */
    struct likeness tensors;   /* of the runs, of one with itself; empty without a run */
    char *tensors_title;
    int panels;
    struct inside_panel panel[MAP_PANELS];
};

/* Opens task, model and runs and fills *s, layers at the last one.  `busy` is told what is
 * being done; once it is false, the rest is given up (ERR_INTERRUPTED). */
int inside_open(struct inside *s, struct store *store, const char *model, const char *task,
                const int64_t *run, int runs, bool (*busy)(void *, const char *), void *self,
                struct err *e);
void inside_release(struct inside *s);
/* Scores, neighbours and a fresh layout of a panel at its layer. */
int inside_layer(struct inside *s, int panel, struct err *e);

/* The matrices, in memory of the picture. */
struct insight_heat *inside_matrices(const struct inside *s);

#endif
