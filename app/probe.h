/* Looking inside a model or a run: drawn rows of a task and their vectors at its layers. */
#ifndef APP_PROBE_H
#define APP_PROBE_H

#include "app/args.h"
#include "app/use.h"
#include "core/data/task.h"

struct probe {
    struct user u;         /* predictor NULL: the model as it is */
    struct task t;
    struct dataset *d;     /* the drawn rows, encoded; in t */
    const char *split;     /* in t, or static */
    int layers, width;     /* layers: the greatest layer's number */
    real **layer;          /* layers+1: rows×width, or NULL where not embedded */
};

/* `run` (as typed), or the model that `model` names.  probe_release frees, also after a
 * failure. */
int probe_open(struct probe *p, const struct args *a, const char *run, const char *model, struct err *e);
/* Opens --task (default: the run's, or the default task), takes --split, draws at most --rows
 * rows (default `most`) evenly over the classes by `seed`, encodes them. */
int probe_rows(struct probe *p, const struct args *a, int64_t most, uint64_t seed, struct err *e);
enum { PROBE_ROWS = 1000 };
/* The vectors at `layer`, or at all layers with -1. */
int probe_embed(struct probe *p, int layer, bool mean, int workers, struct err *e);
/* --pool: whether it is "mean". */
int probe_pool(const struct args *a, bool *mean, struct err *e);
void probe_release(struct probe *p);

#endif
