/* Looking inside a model or a run: drawn rows of one or more tasks and their vectors at its
 * layers, read where they are kept already.  What embed, map, similarity and the screens share.
 * A probe is used by one thread at a time. */
#ifndef APP_INSIGHT_PROBE_H
#define APP_INSIGHT_PROBE_H

#include "app/history/opened.h"
#include "app/history/rowset.h"
#include "core/data/task.h"

enum { PROBE_ROWS = 1000, PROBE_MODEL_LEN = 128 };
/* In place of a layer: all of them, and what the method's retriever makes of a row. */
enum { PROBE_ALL_LAYERS = -1, PROBE_RETRIEVER = -2 };

struct probe_task {
    struct task t;
    struct dataset *d;     /* the drawn rows, encoded; in t */
    struct dataset_row *given; /* the same rows as their file has them */
    char *form;            /* what the task's report says of its text form; NULL: read as given */
    int of_run;            /* which of the run's tasks; -1: none of them */
};

struct probe {
    struct opened opened;  /* predictor NULL: the model as it is */
    int tasks;
    struct probe_task *task; /* room for ROWSET_TASKS */
    char *name;            /* of the tasks, "A,B" */
    const char *split;     /* in a task, or static */
    size_t all;            /* rows of the splits */
    struct rowset rows;    /* what was drawn */
    int layers, width;     /* layers: the greatest layer's number */
    int retrieved; /* columns of the retriever's vectors, which stand behind the layers; 0: it has none */
    real **layer;          /* layers+2: rows×width, or NULL where not embedded; the last: rows×retrieved */
    int64_t *set;          /* layers+2: the kept set of a layer, 0: not kept */
    int made;              /* layers that were computed, not read */
    int32_t *predicted;    /* rows: classes of `rows`, -1 none; NULL without a head for them */
};

/* How rows are drawn. */
struct probe_draw {
    const char *split;     /* NULL: the first dev split; "train"; a dev split's name */
    int64_t most;
    uint64_t seed;
    const struct opened *own; /* the run whose tasks are meant without sources; NULL: the probe's */
    const int *task;       /* which of its tasks, of a run with all of them; */
    int tasks;             /* 0: all */
    const struct task_source *unseen; /* and tasks that it was not trained on */
    int unseens;
    bool retrieved;        /* nothing but the retriever's vectors is asked for */
    int max_len;           /* 0: the run's, or what the model takes */
};

/* How vectors are made. */
struct probe_look {
    bool mean;             /* of all tokens, else the first */
    struct crew *crew;     /* that makes them; NULL: the caller's thread */
    struct store *store;   /* kept sets are read from here; NULL: nothing is */
    bool keep;             /* and what is not kept yet is added */
    uint64_t seed;         /* of the draw, kept with them */
    /* Told, on the caller's thread, what is being done; once it is false the rest is given up
     * (ERR_INTERRUPTED).  NULL: never. */
    bool (*busy)(void *self, const char *what);
    void *self;
};

/* "A,B" as `option` was given it: each name into out, read as `like` says; a file's name may hold commas.
 * *names (to be freed) holds them. */
int probe_sources(const char *option, const char *typed, const struct task_source *like,
                  struct task_source out[ROWSET_TASKS], int *count, char **names, struct err *e);

/* A run's best weights, or the model that `model` names.  probe_release frees, also after a
 * failure.  `task` as opened_run takes it; probe_open_all: with all of the run's. */
int probe_open_run(struct probe *p, struct store *s, int64_t run, const char *task,
                   const struct backbone_hint *hint, struct buf *said, struct err *e);
int probe_open_all(struct probe *p, struct store *s, int64_t run, const struct backbone_hint *hint,
                   struct buf *said, struct err *e);
int probe_open_model(struct probe *p, const char *model, struct err *e);
/* Opens the sources (none: the own tasks of a run), takes the split of each and draws at most `most`
 * rows evenly over the tasks, and over the classes of each; encodes them in the form that the run
 * was trained in, a model as it is in that of how->own or the one that training would take.  `rows`
 * keeps the texts as given.  ERR_USAGE for unseen tasks where the encoder's modules are one a task. */
int probe_rows(struct probe *p, const struct task_source *source, int sources, const struct probe_draw *how,
               struct err *e);
/* The vectors at `layer`, at all layers with PROBE_ALL_LAYERS, or the retriever's (ERR_USAGE without one),
 * and what a run predicts; rows go through the run with their own task's modules. */
int probe_embed(struct probe *p, int layer, const struct probe_look *how, struct err *e);
/* A drawn task's modules are in use from here on, of a run with all of its tasks; of one that it does not
 * know the first's, which stand in for them. */
void probe_use(const struct probe *p, int task);
/* Where p->layer has a layer, and how many columns: PROBE_RETRIEVER stands behind the last. */
int probe_place(const struct probe *p, int layer);
int probe_columns(const struct probe *p, int place);
void probe_release(struct probe *p);

#endif
