/* Shared parts of petri map: options, and output of numbers and points
 * (map_output.c); and the maps of all steps of a run (map_steps.c). */
#ifndef APP_VERBS_INSIDE_MAP_OUTPUT_H
#define APP_VERBS_INSIDE_MAP_OUTPUT_H

#include "app/history/rowset.h"
#include "app/insight/ratings.h"
#include "app/verbs/args.h"
#include "core/analysis/tsne.h"
#include "store/store.h"

enum map_form { AS_TEXT, AS_JSON, AS_CSV };
extern const char map_caution[];

/* Reads --perplexity, --iterations, --seed and --workers; the caller frees the crew. */
void map_options(const struct args *a, struct tsne_options *o);

void map_add_labels(struct buf *b, char *const *name, const int32_t *label, int n);
void map_add_points(struct buf *b, const real *xy, int n);

/* Write CSV, one line per point: the header, the part that is equal in all lines of a map (perplexity NaN:
 * PCA), and a line. */
extern const char map_csv_head[];
void map_csv_start(struct buf *b, const struct store_embedding *m, double perplexity, uint64_t seed);
void map_csv_line(const char *start, int64_t row, const char *task, const char *label, const char *said,
                  const real *xy);
/* Returns the predicted label of example i, or "". */
const char *map_said_of(const struct rowset *r, const int32_t *predicted, int i);

int map_all_steps(const struct args *a, enum map_form form, struct err *e);

#endif
