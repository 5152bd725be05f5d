/* Internals of insight: the examples, their vectors at each layer or moment of training, and the matrices.
 *
 * In insight.c (the thread), inside.c (preparing the data), insight_picture.c (Map) and insight_matrix.c
 * (Heatmap). */
#ifndef APP_INSIGHT_INSIGHT_PRIVATE_H
#define APP_INSIGHT_INSIGHT_PRIVATE_H

#include <stdatomic.h>

#include "app/insight/insight.h"
#include "app/insight/matrix.h"
#include "app/insight/moments.h"
#include "core/analysis/tsne.h"

enum { INSIGHT_ROWS = 400, INSIGHT_TASK_ROWS = 64 /* at least, of each of several */, INSIGHT_SEED = 1 };

/* A list of matrices shared by pictures. */
struct matrix_list {
    atomic_int refs;
    int count, room;
    struct matrix *matrix;
};
void matrix_list_drop(struct matrix_list *a); /* NULL is ignored */

struct inside_panel {
    char *title;
    const struct rowset *rows;
    const int32_t *predicted;  /* per example; NULL without a head */
    int layer, layers, width; /* layers: the highest layer; the retriever follows the model's last */
    struct probe *probe;       /* shows its layers; or… */
    struct moments *moments;   /* …its sets, of which `at` is shown */
    int at;
    /* derived from layer or moment */
    struct tsne *tsne;         /* NULL when moments are played */
    int near;                  /* neighbors per example: 10, or all if there are fewer */
    int32_t *neighbor;        /* examples × near, in the original space */
    struct ratings ratings, by_task; /* of the labels; of the tasks, with several */
    double **small;            /* layouts of the layers, examples×2, for small maps; NULL: not requested */
    struct tsne *small_now;    /* the one that is computed, of layer small_at */
    int small_at;
    double kl, preservation;   /* of the layout at iteration `rated`; NaN before */
    int rated;
};

/* The subject of the insight. */
struct inside {
    struct store *store;
    bool keep;                 /* computed results are stored */
    struct crew *crew;         /* computes; NULL: the caller's thread */
    bool training;             /* panels play moments of training */
    struct probe probe[MAP_PANELS];
    struct moments moments[MAP_PANELS], played[MAP_PANELS];
    int64_t run[MAP_PANELS];
    int runs;
    char *drawn;               /* "400 of 2,538 dev examples" */
    char *run_task;            /* of multi-task runs, the task of the examples, or all; NULL */
    int run_task_at, run_tasks; /* at: run_tasks for all */
    double perplexity;         /* requested */
    char *task_name[ROWSET_TASKS]; /* the selected ones */
    int task_names;
    char *unseen; /* tasks whose examples have only a retriever's vector: compared with the prototypes */
    int sides;                 /* probes that are open */
    int panels, shown, plays;  /* panels of `live`; of the shown panels; of `play` */
    struct inside_panel live[MAP_PANELS], play[MAP_PANELS];
    struct inside_panel *panel; /* live or play */
    struct matrix_list *matrices, *attention;
    int row, layer, head;      /* of the attention; layer 0: the last */
};

/* The resources of the insight. */
struct inside_means {
    struct store *store;
    bool keep;
    struct crew *crew;
    /* Called in the caller's thread with the current work; when it returns false, the rest is canceled
     * (ERR_INTERRUPTED). */
    bool (*busy)(void *self, const char *what);
    void *self;
};
/* Opens task, model and runs, or stored sets, and fills *s, with layers at the last one.  After a failure
 * only the runs' moments of training can be shown. */
int inside_open(struct inside *s, const struct inside_means *by, const struct insight_subject *what,
                struct err *e);
void inside_release(struct inside *s);
/* Computes neighbors and scores of a panel, and a new layout unless moments are played. */
int inside_look(struct inside *s, int panel, struct err *e);
/* Requests the layouts of all layers of a panel; continues them by so many iterations, false: they are
 * complete. */
void inside_small(struct inside *s, int panel);
bool inside_small_step(struct inside *s, int iterations);
int inside_small_maps(const struct inside_panel *p); /* the layers with vectors */
/* For a run with a retriever, shows next to its vectors the run's pooled ones, or the model's again.
 * Returns false without a retriever. */
bool inside_beside(struct inside *s);
/* Switches to the moments of training stored by the runs, or back. */
int inside_training(struct inside *s, bool on, struct err *e);
/* Moves all panels to moment `at`, or to their last one; computes missing layouts. */
int inside_moment(struct inside *s, int at, struct err *e);
int inside_moments(const struct inside *s); /* of the longest panel; 0: none is played */
/* Changes the perplexity: all layouts restart. */
int inside_perplexity(struct inside *s, double perplexity, struct err *e);

/* Opens all of a run's tasks with the unseen ones, and the retriever's vectors of their examples.  Call
 * probe_release, also after a failure. */
int inside_open_unseen(const struct inside *s, int64_t run, struct probe *p, struct err *e);
/* Computes missing matrices and attention. */
int inside_matrices(struct inside *s, struct err *e);
/* Moves to another example, layer or head of the attention, by -1 or 1. */
void inside_attention(struct inside *s, int row, int layer, int head);
/* Shows the attention of the example that a panel shows as `chosen`. */
void inside_attention_row(struct inside *s, int chosen);
struct insight_heat *inside_heat(const struct inside *s);

/* Pictures (insight_picture.c). */
struct shared_rows; /* texts and labels, which pictures share */
struct shared_rows *shared_rows_of(const struct inside *in);
void shared_rows_drop(struct shared_rows *s);
struct insight_map *picture_of(struct inside *in, struct shared_rows *rows, bool playing, const char *busy,
                               const char *failed);

#endif
