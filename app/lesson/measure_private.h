/* Internals of the quantities (measure.c): of several seeds and of diagnostics in measure_seeds.c; of the
 * representation of examples and of several tasks in measure_tasks.c; of a prefix as a gate in
 * measure_gate.c; of points in a file and their map in measure_map.c. */
#ifndef APP_LESSON_MEASURE_PRIVATE_H
#define APP_LESSON_MEASURE_PRIVATE_H

#include "app/lesson/play.h"

/* Returns the runs of the step that an argument names. */
int lesson_measure_runs_of(const struct lesson_play *p, const struct expression_argument *a,
                           const struct lesson_result **r, struct err *e);

/* Computes lowest … gap_width, over the first `most` seeds (INFINITY: all); and why. */
int lesson_measure_seeds(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                         double most, double *out, struct err *e);
int lesson_measure_why(struct lesson_play *p, const struct expression_argument *a, double *out,
                       struct err *e);

/* Computes purity … alike; layer: for the first two. */
int lesson_measure_rows(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        double layer, double *out, struct err *e);
/* Computes lambda … gate_gap (measure_gate.c); number: the arguments. */
int lesson_measure_gate(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        const double *number, double *out, struct err *e);
/* Opens a run, or a method at initialization, on its model with some examples; owned by the player. */
struct probe;
int lesson_measure_probe(struct lesson_play *p, const struct expression_argument *a, const struct probe **out,
                         struct err *e);

/* Computes map_size … map_kl. */
int lesson_measure_map(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                       const double *number, int count, double *out, struct err *e);

/* Computes the maps of a step into its result. */
int lesson_measure_layouts(struct lesson_play *p, int step, struct err *e);

#endif
