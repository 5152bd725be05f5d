/* What measure.c's parts share: of several seeds, and what `why` says, in measure_seeds.c; of how rows lie
 * and of several tasks in measure_tasks.c; of a prefix as a gate in measure_gate.c; of points in a file and
 * their map in measure_map.c. */
#ifndef APP_LESSON_MEASURE_PRIVATE_H
#define APP_LESSON_MEASURE_PRIVATE_H

#include "app/lesson/play.h"

/* The runs of the step that an argument names. */
int lesson_measure_runs_of(const struct lesson_play *p, const struct expression_argument *a,
                           const struct lesson_result **r, struct err *e);

/* lowest … gap_width, over the first `most` seeds (INFINITY: all); and why. */
int lesson_measure_seeds(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                         double most, double *out, struct err *e);
int lesson_measure_why(struct lesson_play *p, const struct expression_argument *a, double *out,
                       struct err *e);

/* purity … alike; layer: of the first two. */
int lesson_measure_rows(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        double layer, double *out, struct err *e);
/* measure_gate.c: lambda … gate_gap; number: of the arguments. */
int lesson_measure_gate(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        const double *number, double *out, struct err *e);
/* A run or a method at its start, opened on its model with some rows; the play's. */
struct probe;
int lesson_measure_probe(struct lesson_play *p, const struct expression_argument *a, const struct probe **out,
                         struct err *e);

/* map_size … map_kl. */
int lesson_measure_map(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                       const double *number, int count, double *out, struct err *e);

/* Computes the maps of a step into its result. */
int lesson_measure_layouts(struct lesson_play *p, int step, struct err *e);

#endif
