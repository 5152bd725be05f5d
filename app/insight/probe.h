/* Vectors inside a model or a run: sampled examples of one or more tasks and their vectors at its layers,
 * which are read if they are stored.  Shared by embed, map, similarity and the screens. A probe is used by
 * one thread at a time. */
#ifndef APP_INSIGHT_PROBE_H
#define APP_INSIGHT_PROBE_H

#include "app/history/opened.h"
#include "app/history/rowset.h"
#include "core/data/task.h"

enum { PROBE_ROWS = 1000, PROBE_MODEL_LEN = 128 };
/* Instead of a layer: all layers, and the output of the method's retriever. */
enum { PROBE_ALL_LAYERS = -1, PROBE_RETRIEVER = -2 };

struct probe_task {
    struct task t;
    struct dataset *d;     /* the sampled examples, encoded; in t */
    struct example *given; /* the same examples as in their file */
    char *form;            /* description of the text form in the import report; NULL: read as given */
    int of_run;            /* index among the run's tasks; -1: none of them */
};

struct probe {
    struct opened opened;  /* predictor NULL: the base model */
    int tasks;
    struct probe_task *task; /* room for ROWSET_TASKS */
    char *name;            /* names of the tasks, "A,B" */
    const char *split;     /* owned by a task, or static */
    size_t all;            /* examples of the splits */
    struct rowset rows;    /* the sample */
    int layers, width;     /* layers: the highest layer */
    int retrieved; /* width of the retriever's vectors, which follow the layers; 0: no retriever */
    real **layer; /* layers+2: examples×width, or NULL if not embedded; the last: examples×retrieved */
    int64_t *set;          /* layers+2: the stored set of a layer, 0: not stored */
    int made;              /* number of layers that were computed, not read */
    int32_t *predicted;    /* per example: class index, -1: none; NULL without a head for them */
};

/* How examples are sampled. */
struct probe_draw {
    const char *split;     /* NULL: the first validation split; "train"; a validation split's name */
    int64_t most;
    uint64_t seed;
    const struct opened *own; /* the run whose tasks are used without sources; NULL: the probe's */
    const int *task;       /* indices of its tasks, for a run opened with all of them; */
    int tasks;             /* 0: all */
    const struct task_source *unseen; /* unseen tasks to add */
    int unseens;
    bool retrieved;        /* only the retriever's vectors are requested */
    int max_len;           /* 0: the run's, or the maximum of the model */
};

/* How vectors are computed. */
struct probe_context {
    bool mean;             /* mean over all tokens; else the first token */
    struct crew *crew;     /* computes them; NULL: the caller's thread */
    struct store *store;   /* stored sets are read from here; NULL: none */
    bool keep;             /* and missing sets are stored */
    uint64_t seed;         /* of the sample, stored with them */
    /* Called in the caller's thread with the current work; when it returns false, the rest is canceled
     * (ERR_INTERRUPTED).  NULL: not called. */
    bool (*busy)(void *self, const char *what);
    void *self;
};

/* Parses "A,B", the value of `option`: each name becomes a source in out that is read like `like`; a file's
 * name may contain commas.  *names (to be freed) holds them. */
int probe_sources(const char *option, const char *typed, const struct task_source *like,
                  struct task_source out[ROWSET_TASKS], int *count, char **names, struct err *e);

/* Opens a run's best weights, or the model `model`.  Release with probe_release, also after a failure.
 * `task` as for opened_run; probe_open_all: with all tasks of the run. */
int probe_open_run(struct probe *p, struct store *s, int64_t run, const char *task,
                   const struct backbone_hint *hint, struct buf *said, struct err *e);
int probe_open_all(struct probe *p, struct store *s, int64_t run, const struct backbone_hint *hint,
                   struct buf *said, struct err *e);
int probe_open_model(struct probe *p, const char *model, struct err *e);
/* Opens the sources (none: the run's own tasks), takes the split of each and samples at most `most`
 * examples evenly over the tasks and over the classes of each; encodes them in the form that the run was
 * trained with, a base model in that of how->own or the one that training would use.  `rows` keeps the
 * original texts.  ERR_USAGE for unseen tasks if the encoder has modules per task. */
int probe_rows(struct probe *p, const struct task_source *source, int sources, const struct probe_draw *how,
               struct err *e);
/* Computes the vectors at `layer`, at all layers with PROBE_ALL_LAYERS, or the retriever's (ERR_USAGE
 * without one), and the run's predictions; examples are encoded with the modules of their own task. */
int probe_embed(struct probe *p, int layer, const struct probe_context *how, struct err *e);
/* Selects the modules of a sampled task, for a run opened with all its tasks; for an unseen task, the
 * modules of the first one. */
void probe_use(const struct probe *p, int task);
/* Returns the index of a layer in p->layer, and its width: PROBE_RETRIEVER follows the last layer. */
int probe_place(const struct probe *p, int layer);
int probe_columns(const struct probe *p, int place);
void probe_release(struct probe *p);

#endif
