/* What is the same in the maps of petri map: its options, and how numbers and points are written
 * (map_output.c); and the maps of all moments of a run's training (map_steps.c). */
#ifndef APP_VERBS_INSIDE_MAP_OUTPUT_H
#define APP_VERBS_INSIDE_MAP_OUTPUT_H

#include "app/history/rowset.h"
#include "app/insight/ratings.h"
#include "app/verbs/args.h"
#include "core/analysis/tsne.h"
#include "store/store.h"

enum map_form { AS_TEXT, AS_JSON, AS_CSV };
extern const char map_caution[];

/* --perplexity, --iterations, --seed, --workers; the crew is the caller's. */
void map_options(const struct args *a, struct tsne_options *o);

void map_add_labels(struct buf *b, char *const *name, const int32_t *label, int n);
void map_add_points(struct buf *b, const real *xy, int n);

/* A line a point: the heading, what is the same in all lines of a map (perplexity NaN: of PCA), and a
 * line. */
extern const char map_csv_head[];
void map_csv_start(struct buf *b, const struct store_embedding *m, double perplexity, uint64_t seed);
void map_csv_line(const char *start, int64_t row, const char *task, const char *label, const char *said,
                  const real *xy);
/* The label that was predicted for row i, or "". */
const char *map_said_of(const struct rowset *r, const int32_t *predicted, int i);

int map_all_steps(const struct args *a, enum map_form form, struct err *e);

#endif
