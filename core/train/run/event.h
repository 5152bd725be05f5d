/* What a run tells the world.  Sent from worker threads, one run's events in order; the
 * receiver copies what it keeps and returns quickly (it may block when its queue is
 * full: a point is never dropped). */
#ifndef CORE_TRAIN_RUN_EVENT_H
#define CORE_TRAIN_RUN_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/real.h"

enum run_state {
    RUN_QUEUED, RUN_RUNNING, RUN_PAUSED, RUN_FINISHED,
    RUN_STOPPED,     /* by the user */
    RUN_FAILED,      /* with step and reason */
    RUN_INTERRUPTED, /* its owner is gone */
    RUN_STATES
};
const char *run_state_name(enum run_state s);

enum event_kind {
    EVENT_STATE, /* state, text: the reason of a failure */
    EVENT_POINT, /* one training step: step, loss, lr, grad_norm, tokens, seconds */
    EVENT_EVALUATION, /* step, metrics, split, rows, constant, best; one event a split */
    EVENT_CHECKPOINT, /* step, path, best, sha256 */
    EVENT_MESSAGE, /* text: something worth saying once */
    EVENT_EMBEDDING, /* step, split, embedding */
    EVENT_SAMPLE, /* step, split, samples: the texts given for the same drawn rows */
    EVENT_SAVING, /* a checkpoint to go on from is written next: what was told so far is not told again after
                   * it, so it must be kept for good when the sink returns */
};

struct dataset;
/* Vectors of drawn dev rows inside the model as it is trained so far. */
struct event_embedding {
    int tasks;                  /* 1, or those of the run's tasks that have dev rows */
    const struct dataset *const *of; /* the drawn rows of each: their texts, labels and numbers in the file */
    const char *const *task;    /* and its name; "" where the run has one */
    size_t rows;                /* of all, each task's below the other's */
    const real *vector;         /* rows × columns: the mean over a row's tokens */
    int columns, layer;         /* layer: the last one */
    const real *retrieved; /* rows × retrieved_columns: what the method's retriever makes of them; NULL */
    int retrieved_columns;
    uint64_t seed;              /* of the draw */
    const int32_t
        *prediction; /* rows: classes of the row's own task, -1: it has none; NULL: no row has one */
};

/* What is given for a row beside what should have been.  NUL-terminated; bytes as in the file and as
 * the tokenizer gives them: show through text_visible. */
struct event_sample {
    uint64_t row;              /* number in its file */
    const char *source;        /* as the model reads it; here and below a NUL is shown as U+2400 */
    const char *target;        /* NULL: the row has none */
    const char *generated;
    int valid;                 /* 1: names a class or is a score, 0: does not, -1: any text is an answer */
};
struct event_samples {
    int count;
    const struct event_sample *sample;
};

enum { EVENT_METRICS = 16 };
struct event_metric {
    const char *name;  /* "accuracy", "f1", "loss", "majority", … static */
    double value;
    const char *undefined; /* NULL, or why there is no value; static */
};

/* Names of the components of a loss begin with this; the examples' own loss is the first of them. */
#define LOSS_COMPONENT "loss."
#define LOSS_OF_TASKS LOSS_COMPONENT "task"

/* A further value of a training step: the loss of a task; of all tasks (task NULL) a component of the loss,
 * without its weight, or a metric of the step, such as the ranks that are left. */
struct event_term {
    const char *task, *name;
    double value;
};
/* Returns the name that histories and outputs have it by, "TASK/loss" or "loss.task"; caller frees. */
char *event_term_name(const struct event_term *x);

struct event {
    enum event_kind kind;
    int64_t run;       /* the id the owner gave */
    int64_t step;      /* steps done; the first trained step is 1 */
    enum run_state state;
    const char *text;
    double loss, lr, grad_norm; /* may be NaN or infinite: told as they are */
    double tokens;     /* tokens of this step */
    int terms;
    const struct event_term *term;
    double seconds;    /* of training, monotonic, summed over all spans */
    int metrics;
    struct event_metric metric[EVENT_METRICS];
    const char *task; /* evaluation, samples, a best checkpoint of its own: of several tasks, which one; NULL:
                       * the one there is, or (an evaluation without split) their average */
    const char *split; /* evaluation: task_split; samples, embedding: of which rows */
    bool decides;      /* evaluation: "best" is of this split, the first */
    bool aside;        /* evaluation: numbers that go with the measure: kept, but not told in a line */
    const char *rows;  /* evaluation: which rows, "dev 256 of 2538 (seed 0)" */
    int stage; /* evaluation: the number of a stage before the last, from 1 on; 0: of the last one, or of a
                  run without */
    bool constant;     /* every prediction was the same */
    bool none_valid;   /* no answer named a class */
    bool best;
    const char *path, *sha256;
    const struct event_embedding *embedding;
    const struct event_samples *samples;
};

struct event_sink {
    void *self;
    void (*send)(void *self, const struct event *e);
};

#endif
