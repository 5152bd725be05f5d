/* Similarity matrices: computed by petri similarity and shown by Heatmap, stored with the run, and read
 * again instead of being recomputed. */
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

enum { ATTENTION_FIRST = -1 }; /* instead of a head: attention of the first token, all heads */

struct matrix {
    enum matrix_of of;
    const char *measure;     /* static */
    char *title, *what;      /* for the screen: a title, and a description of the numbers */
    char *caution;           /* a warning about its numbers; NULL: none */
    char *beside;            /* summary of the whole matrix; NULL */
    char **row_note;         /* summary of each row; NULL */
    char **text;             /* of the example of each row; NULL, also after matrix_read */
    int width;               /* of the compared vectors; 0: unknown */
    const char *undefined;   /* reason for undefined cells; static, NULL when there can be none */
    int rows, columns;
    char **row_name, **column_name;
    double *value;           /* rows×columns, NaN: undefined */
    int *order;              /* rows, by clustering; NULL until matrix_cluster */
    bool clustered;          /* rows and columns were reordered */
    int64_t run;             /* run that stores it; 0: none */
    char *about;             /* JSON that identifies it */
    int64_t id;              /* in the store, 0: not stored */
};
void matrix_release(struct matrix *m);

/* Sides: one is compared with itself; two use the examples of the first.  All return ERR_USAGE for sides
 * that cannot be compared: different examples or widths, no classes.  The requested layers must have been
 * embedded. */
int matrix_classes(struct matrix *m, const struct probe *const *side, int sides, int layer, struct err *e);
/* pick: `picks` of the sampled examples; NULL: all. */
int matrix_rows(struct matrix *m, const struct probe *const *side, int sides, int layer, const int *pick,
                int picks, struct err *e);
/* Compares layers by linear CKA, or its unbiased estimator. */
int matrix_layers(struct matrix *m, const struct probe *const *side, int sides, bool debiased, struct err *e);
/* Compares trainable tensors: low-rank products by principal angles, others by cosine (likeness.h). */
int matrix_tensors(struct matrix *m, const struct probe *const *side, int sides, struct err *e);
/* Returns the attention of sampled example `row` in layer 1…: tokens by tokens of a head, or with
 * ATTENTION_FIRST heads by tokens, the attention of the first token. */
int matrix_attention(struct matrix *m, const struct probe *p, int row, int layer, int head, struct err *e);

/* matrix_tasks.c: for a run with all its tasks (probe_open_all).  Checks that the run has what the matrix
 * needs (else ERR_USAGE), before any example is read. */
bool matrix_needs_rows(const struct probe *p, enum matrix_of of);
int matrix_possible(const struct probe *p, enum matrix_of of, struct err *e);
/* Compares examples, encoded by the retriever, with the tasks' prototypes: the mean cosine per task, with
 * the number of examples that are nearest to their own.  The retriever's vectors must have been embedded. */
int matrix_prototypes(struct matrix *m, const struct probe *p, struct err *e);
/* Compares the generator's task embeddings by cosine. */
int matrix_tasks(struct matrix *m, const struct probe *p, struct err *e);
/* Compares the task-specific weights in each layer, generated or trained per task, by cosine.  Weights
 * generated per example are averaged over the task's sampled examples. */
int matrix_weights(struct matrix *m, const struct probe *p, struct crew *crew, struct err *e);
/* Computes the share of attention on a prefix in each layer of either stack, by head, over the sampled
 * examples. */
int matrix_mass(struct matrix *m, const struct probe *p, struct crew *crew, struct err *e);

/* Computes an order by average linkage if rows and columns have the same names; else returns false. */
bool matrix_cluster(struct matrix *m);
/* Reorders rows and columns by clustering. */
void matrix_reorder(struct matrix *m);

/* Reads the values of the stored matrix with this name, run and `about`, or stores the matrix if there is
 * none and `keep`. */
int matrix_store(struct matrix *m, struct store *s, bool keep, struct err *e);
/* Reads a stored matrix by its id. */
int matrix_read(struct matrix *m, struct store *s, int64_t id, struct err *e);

#endif
