/* Matrices of similarities: what petri similarity computes and Heatmap shows, kept with the run and
 * read again in place of being computed anew. */
#ifndef APP_INSIGHT_MATRIX_H
#define APP_INSIGHT_MATRIX_H

#include "app/insight/probe.h"

enum matrix_of {
    OF_CLASSES,
    OF_ROWS,
    OF_LAYERS,
    OF_TENSORS,
    OF_ATTENTION,
    OF_PROTOTYPES,
    OF_TASKS,
    OF_WEIGHTS,
    OF_MASS,
    OF_COUNT
};
extern const char *const matrix_of_names[OF_COUNT];

enum { ATTENTION_FIRST = -1 }; /* in place of a head: all heads, what the first token looks at */

struct matrix {
    enum matrix_of of;
    const char *measure;     /* static */
    char *title, *what;      /* for the screen: a heading, and how its numbers were made */
    char *caution;           /* what to mind about its numbers, a sentence; NULL: nothing */
    char *beside;            /* numbers of the whole that stand beside it; NULL */
    char **row_note;         /* and of each row; NULL */
    int width;               /* of the vectors compared; 0: not known */
    const char *undefined;   /* why cells may have no value; static, NULL when they cannot */
    int rows, columns;
    char **row_name, **column_name;
    double *value;           /* rows×columns, NaN: undefined */
    int *order;              /* rows, by clustering; NULL until matrix_cluster */
    bool clustered;          /* rows and columns are in that order */
    int64_t run;             /* kept with it; 0: with none */
    char *about;             /* JSON: what identifies it */
    int64_t id;              /* in the store, 0: not kept */
};
void matrix_release(struct matrix *m);

/* Sides: one is compared with itself, of two the rows are the first's.  All refuse (ERR_USAGE) what
 * cannot be compared: other rows, widths, no classes.  Layers must be embedded that are asked for. */
int matrix_classes(struct matrix *m, const struct probe *const *side, int sides, int layer, struct err *e);
/* pick: `picks` of the drawn rows; NULL: all. */
int matrix_rows(struct matrix *m, const struct probe *const *side, int sides, int layer, const int *pick,
                int picks, struct err *e);
/* By linear CKA, or its unbiased estimator. */
int matrix_layers(struct matrix *m, const struct probe *const *side, int sides, bool debiased, struct err *e);
/* Trained tensors: low-rank products by principal angles, others by cosine (likeness.h). */
int matrix_tensors(struct matrix *m, const struct probe *const *side, int sides, struct err *e);
/* Attention of drawn row `row` in layer 1…: of a head tokens by tokens, or with ATTENTION_FIRST
 * heads by tokens, what the first token looks at. */
int matrix_attention(struct matrix *m, const struct probe *p, int row, int layer, int head, struct err *e);

/* matrix_tasks.c: of a run with all its tasks (probe_open_all).  What such a matrix needs and the run has not
 * is ERR_USAGE, here before any row is read. */
bool matrix_needs_rows(const struct probe *p, enum matrix_of of);
int matrix_possible(const struct probe *p, enum matrix_of of, struct err *e);
/* Rows through the retriever by the tasks' prototypes: each task's mean cosine; beside it how many rows are
 * nearest to their own.  The retriever's vectors must be embedded. */
int matrix_prototypes(struct matrix *m, const struct probe *p, struct err *e);
/* The generator's task embeddings, cosine. */
int matrix_tasks(struct matrix *m, const struct probe *p, struct err *e);
/* What each task has for itself in each layer, made by a generator or trained one a task, by the other
 * tasks': cosine.  Of what is made for each row the mean over the task's drawn rows. */
int matrix_weights(struct matrix *m, const struct probe *p, struct crew *crew, struct err *e);
/* The share of attention that goes to a prefix in each layer of either stack, by head, over the drawn
 * rows. */
int matrix_mass(struct matrix *m, const struct probe *p, struct crew *crew, struct err *e);

/* The order by average linkage, where rows and columns have the same names; false where not. */
bool matrix_cluster(struct matrix *m);
/* Puts rows and columns into that order. */
void matrix_reorder(struct matrix *m);

/* Reads the kept matrix with this name, run and `about` into its values, or keeps it when there is
 * none and `keep`. */
int matrix_keep(struct matrix *m, struct store *s, bool keep, struct err *e);
/* A kept matrix by its number. */
int matrix_read(struct matrix *m, struct store *s, int64_t id, struct err *e);

#endif
