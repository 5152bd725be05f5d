/* Events of a run. Sent from worker threads, in order per run; the receiver copies what it needs and returns
 * quickly (it may block when its queue is full: points are never dropped). */
#ifndef CORE_TRAIN_RUN_EVENT_H
#define CORE_TRAIN_RUN_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/real.h"

enum run_state {
    RUN_QUEUED, RUN_RUNNING, RUN_PAUSED, RUN_FINISHED,
    RUN_STOPPED,     /* by the user */
    RUN_FAILED,      /* with a reason */
    RUN_INTERRUPTED, /* its process ended */
    RUN_STATES
};
const char *run_state_name(enum run_state s);

enum event_kind {
    EVENT_STATE, /* state; text: reason of a failure */
    EVENT_POINT, /* a training step: step, loss, lr, grad_norm, tokens, seconds */
    EVENT_EVALUATION, /* step, metrics, split, rows, constant, best; one event per split */
    EVENT_CHECKPOINT, /* step, path, best, sha256 */
    EVENT_MESSAGE, /* text: a message for the log */
    EVENT_EMBEDDING, /* step, split, embedding */
    EVENT_SAMPLE, /* step, split, samples: generated texts of sampled examples */
    EVENT_SAVING, /* the last checkpoint is written next: a resumed run does not repeat earlier events, so
                   * they must be stored durably when the sink returns */
};

struct dataset;
/* Embeddings of sampled validation examples at the current step. */
struct event_embedding {
    int tasks;                  /* 1, or the number of tasks with a validation set */
    const struct dataset *const *of; /* sampled examples of each: texts, labels and row numbers in the file */
    const char *const *task;    /* its name; "" in a single-task run */
    size_t examples;            /* total, grouped by task */
    const real *vector;         /* rows × columns: mean over the tokens of an example */
    int columns, layer;         /* layer: index of the last layer */
    const real *retrieved; /* rows × retrieved_columns: output of the method's retriever; or NULL */
    int retrieved_columns;
    uint64_t seed;              /* of the sample */
    const int32_t
        *prediction; /* rows: predicted class, -1: the task has no classes; NULL: no task has classes */
};

/* A generated text and its reference. NUL-terminated; bytes as in the file and as decoded by the tokenizer:
 * display with text_visible. */
struct event_sample {
    uint64_t row;              /* row number in its file */
    const char *source;        /* model input; here and below NUL is replaced by U+2400 */
    const char *target;        /* reference; NULL: none */
    const char *generated;
    int valid;                 /* 1: a class name or a score, 0: neither, -1: any text is valid */
};
struct event_samples {
    int count;
    const struct event_sample *sample;
};

enum { EVENT_METRICS = 16 };
struct event_metric {
    const char *name;  /* "accuracy", "f1", "loss", "majority", … static */
    double value;
    const char *undefined; /* NULL, or the reason for a missing value; static */
};

/* Prefix of the names of loss components; the first is the loss of the examples. */
#define LOSS_COMPONENT "loss."
#define LOSS_OF_TASKS LOSS_COMPONENT "task"

/* An additional value of a training step: the loss of a task; or for all tasks (task NULL) an unweighted loss
 * component, or a metric of the step, such as the remaining ranks. */
struct event_term {
    const char *task, *name;
    double value;
};
/* Returns its name in the database and in outputs, "TASK/loss" or "loss.task"; caller frees. */
char *event_term_name(const struct event_term *x);

struct event {
    enum event_kind kind;
    int64_t run;       /* run id */
    int64_t step;      /* completed steps; the first training step is 1 */
    enum run_state state;
    const char *text;
    double loss, lr, grad_norm; /* may be NaN or infinite */
    double tokens;     /* tokens of this step */
    int terms;
    const struct event_term *term;
    double seconds;    /* training time, monotonic, summed over all sessions */
    int metrics;
    struct event_metric metric[EVENT_METRICS];
    const char *task; /* task of an evaluation, samples or a per-task best checkpoint in a multi-task run;
                       * NULL: the only task, or (an evaluation without split) the average */
    const char *split; /* evaluation: task_split; samples, embedding: their split */
    bool decides;      /* evaluation: this split, the first, selects the best checkpoint */
    bool auxiliary;    /* evaluation: auxiliary values, stored but not printed */
    const char *examples; /* evaluation: the examples, "dev 256 of 2538 (seed 0)" */
    int stage; /* evaluation: number of a stage before the last, from 1; 0: the last stage, or a run without
                * stages */
    bool constant;     /* predicts one class only */
    bool none_valid;   /* no generated text is a class name */
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
