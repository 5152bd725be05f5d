/* Runs for tests: a model and a task, trained in a pool of their own, everything that was
 * told kept. */
#ifndef TESTS_SUPPORT_TRAINED_H
#define TESTS_SUPPORT_TRAINED_H

#include "core/train/run/pool.h"
#include "tests/support/fixture.h"

enum { TRAINED_POINTS = 2048, TRAINED_EVALUATIONS = 256, TRAINED_STATES = 16, TRAINED_METRICS = 16, TRAINED_TASKS = 3 };

/* The terms of a loss that is more than the tasks': loss.task, loss.instance, loss.prototype. */
enum { TRAINED_TASK_TERM, TRAINED_INSTANCE_TERM, TRAINED_PROTOTYPE_TERM, TRAINED_TERMS };
extern const char *const trained_term[TRAINED_TERMS];

struct trained {
    int points;
    int64_t step[TRAINED_POINTS];
    double loss[TRAINED_POINTS], lr[TRAINED_POINTS], norm[TRAINED_POINTS], tokens[TRAINED_POINTS];
    int tasks; /* of several: those that were told of */
    char task[TRAINED_TASKS][PLAN_TASK];
    double task_loss[TRAINED_TASKS][TRAINED_POINTS]; /* NaN in steps without rows of the task */
    double term[TRAINED_TERMS][TRAINED_POINTS]; /* NaN where the run has none of the kind */
    int evaluations;
    struct {
        int64_t step;
        char task[PLAN_TASK]; /* "" of one task, and of the average of several */
        double value; /* of the metric that decides; NaN when undefined */
        double loss;
        bool best, constant;
        char split[32], rows[64];
        int metrics;
        struct event_metric metric[EVENT_METRICS];
    } evaluation[TRAINED_EVALUATIONS];
    int states;
    enum run_state state[TRAINED_STATES]; /* in order */
    char reason[768];                     /* text of the last state */
    char message[768];                    /* the last one */
    int checkpoints;
    int embeddings;
    struct {
        int64_t step;
        int rows, columns;
        uint64_t sum; /* of the vectors' bits */
    } embedding[TRAINED_STATES];
    int samples;
    struct {
        int64_t step;
        int count, right, valid; /* texts; those as wanted; those that are answers */
        char first[64];          /* the first one's text */
    } sample[TRAINED_EVALUATIONS];
    double metric[TRAINED_METRICS]; /* the last evaluation's, by name */
    char metric_name[TRAINED_METRICS][24];
    int metrics;
    char sha256[65]; /* of the weights at the end */
    real *params;    /* the flat block at the end, owned */
    size_t params_count;
};
void trained_release(struct trained *t);
/* A metric of the last evaluation; NaN when it had none. */
double trained_metric(const struct trained *t, const char *name);
enum run_state trained_state(const struct trained *t); /* the last */
/* A sink that fills *t. */
struct event_sink trained_sink(struct trained *t);
/* The same, which also stops the run, as a user would, once a step is done. */
struct step_stopper {
    struct trained *out;
    struct run *run; /* set when it is begun */
    int64_t step;
};
struct event_sink step_stopper_sink(struct step_stopper *s);
/* Trains a run that was begun with such a sink to its end, and frees it. */
void trained_run(struct run *r, int workers, struct trained *out);

struct ground {
    struct model *model;
    struct task task;
    int max_len;
};
/* Loads the model and the files (dev NULL: none) with columns text and label. */
void ground_open(struct ground *g, const char *model, const char *train, const char *dev,
                 int max_len);
/* The same of columns source and target. */
void ground_open_pairs(struct ground *g, const char *model, const char *train, const char *dev,
                       int max_len);
/* The tiny model and the toy task, which is its own dev split where `dev`, in a fresh
 * folder; texts cut to 16 tokens. */
void ground_open_toy(struct ground *g, bool dev);
void ground_release(struct ground *g);
/* Defaults with the ground's max_len, dropout 0, this method, batch and steps. */
struct run_config ground_config(const struct ground *g, const char *method, int batch, int steps);

/* Trains to the end on `workers` and releases nothing of the ground.  folder NULL: no
 * checkpoints. */
void train(struct ground *g, const struct run_config *c, const char *folder, int workers,
           struct trained *out);
/* Trains and stops once `step` is done. */
void train_until(struct ground *g, const struct run_config *c, const char *folder, int workers,
                 int64_t step, struct trained *out);
/* Goes on from the folder's last checkpoint to the end. */
void train_on(struct ground *g, const struct run_config *c, const char *folder, int workers,
              struct trained *out);

/* The fixture's rows as a task without texts. */
struct fixture_task {
    struct task task;
};
void fixture_task_open(struct fixture_task *t, const struct fixture *f);
void fixture_task_close(struct fixture_task *t);

#endif
