/* What the insight's files share: the rows looked at, what each layer or moment of training makes
 * of them, and the matrices.
 *
 * In insight.c (the thread), inside.c (what is fetched), insight_picture.c (Map) and insight_matrix.c
 * (Heatmap). */
#ifndef APP_INSIGHT_INSIGHT_PRIVATE_H
#define APP_INSIGHT_INSIGHT_PRIVATE_H

#include <stdatomic.h>

#include "app/insight/insight.h"
#include "app/insight/matrix.h"
#include "app/insight/moments.h"
#include "core/analysis/tsne.h"

enum { INSIGHT_ROWS = 400, INSIGHT_TASK_ROWS = 64 /* of each of several, at least */, INSIGHT_SEED = 1 };

/* Matrices that pictures share. */
struct matrix_list {
    atomic_int refs;
    int count, room;
    struct matrix *matrix;
};
void matrix_list_drop(struct matrix_list *a); /* NULL is fine */

struct inside_panel {
    char *title;
    const struct rowset *rows;
    const int32_t *predicted;  /* rows; NULL without a head */
    int layer, layers, width; /* layers: the greatest layer's number; behind the model's last the retriever */
    struct probe *probe;       /* its layers; or… */
    struct moments *moments;   /* …its sets, of which `at` is shown */
    int at;
    /* follow from layer or moment */
    struct tsne *tsne;         /* NULL where moments are played */
    int near;                  /* neighbours of each row: 10, or as many as there are */
    int32_t *neighbour;        /* rows × near, in the original space */
    struct ratings ratings, by_task; /* of the labels; of the tasks, where there are several */
    double kl, kept;           /* of the layout at iteration `rated`; NaN before */
    int rated;
};

/* What is looked at. */
struct inside {
    struct store *store;
    bool keep;                 /* what is computed goes into the store */
    struct crew *crew;         /* computes; NULL: the caller's thread */
    bool training;             /* panels play moments of training */
    struct probe probe[MAP_PANELS];
    struct moments moments[MAP_PANELS], played[MAP_PANELS];
    int64_t run[MAP_PANELS];
    int runs;
    char *drawn;               /* "400 of 2,538 dev rows" */
    char *run_task;            /* of runs with several tasks, the one whose rows these are, or all; NULL */
    int run_task_at, run_tasks; /* at: run_tasks for all */
    double perplexity;         /* asked for */
    char *task_name[ROWSET_TASKS]; /* of them those that are looked at */
    int task_names;
    char *unseen; /* tasks whose rows have a retriever's vector alone: they stand by the prototypes */
    int sides;                 /* probes that are open */
    int panels, shown, plays;  /* panels of `live`; of what is shown; of `play` */
    struct inside_panel live[MAP_PANELS], play[MAP_PANELS];
    struct inside_panel *panel; /* live or play */
    struct matrix_list *matrices, *attention;
    int row, layer, head;      /* of the attention; layer 0: the last */
};

/* Where to look, and by what means. */
struct inside_means {
    struct store *store;
    bool keep;
    struct crew *crew;
    /* Told, on the caller's thread, what is being done; once it is false, the rest is given up
     * (ERR_INTERRUPTED). */
    bool (*busy)(void *self, const char *what);
    void *self;
};
/* Opens task, model and runs, or kept sets, and fills *s, layers at the last one.  After a failure only the
 * runs' moments of training can be looked at. */
int inside_open(struct inside *s, const struct inside_means *by, const struct insight_subject *what,
                struct err *e);
void inside_release(struct inside *s);
/* Neighbours and scores of what a panel shows, and a fresh layout but where moments are played. */
int inside_look(struct inside *s, int panel, struct err *e);
/* Of one run with a retriever: beside its vectors the run's pooled ones, or the model's again.  False: it has
 * none. */
bool inside_beside(struct inside *s);
/* Turns to the moments of training that the runs kept, or back. */
int inside_training(struct inside *s, bool on, struct err *e);
/* All panels to moment `at`, or to their last; lays out what is not yet. */
int inside_moment(struct inside *s, int at, struct err *e);
int inside_moments(const struct inside *s); /* of the longest panel; 0 when none is played */
/* Another perplexity: everything is laid out anew. */
int inside_perplexity(struct inside *s, double perplexity, struct err *e);

/* All of a run's tasks with the unseen ones, and the retriever's vectors of their rows.  probe_release, also
 * after a failure. */
int inside_open_unseen(const struct inside *s, int64_t run, struct probe *p, struct err *e);
/* Fills matrices and attention where they are not there. */
int inside_matrices(struct inside *s, struct err *e);
/* Another row, layer or head of the attention, by -1 or 1. */
void inside_attention(struct inside *s, int row, int layer, int head);
/* The row of the attention is the one that a panel shows as `chosen`. */
void inside_attention_row(struct inside *s, int chosen);
struct insight_heat *inside_heat(const struct inside *s);

/* Pictures (insight_picture.c). */
struct shared_rows; /* texts and labels, which pictures share */
struct shared_rows *shared_rows_of(const struct inside *in);
void shared_rows_drop(struct shared_rows *s);
struct insight_map *picture_of(struct inside *in, struct shared_rows *rows, bool playing, const char *busy,
                               const char *failed);

#endif
