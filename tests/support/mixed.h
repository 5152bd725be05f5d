/* Runs of several tasks for tests: a model and a list of tasks, trained as trained.h trains one. */
#ifndef TESTS_SUPPORT_MIXED_H
#define TESTS_SUPPORT_MIXED_H

#include "core/train/run/batch.h"
#include "tests/support/trained.h"

struct mixed {
    struct model *model;
    struct run_config config; /* the tasks' descriptions; the rest at its defaults */
    struct task task[TRAINED_TASKS], *list[TRAINED_TASKS];
    struct run_tasks tasks;
};
/* Makes parent/tasks.json and the rows of its tasks, each its own dev split: "two", 20 rows of two classes,
 * "three", 13 rows of three classes scored by Matthews, "score", 9 rows of scores.  Their words are in the
 * vocabularies of tiny.h and writer.h.  Caller frees the path. */
char *mixed_list(const char *parent);
/* Loads the model's folder and the tasks of a list file; `set`: options and their values in pairs, NULL past
 * the end, or NULL.  Fails the test when they are refused. */
void mixed_open(struct mixed *m, const char *model, const char *list, int max_len, const char *const *set);
void mixed_release(struct mixed *m);

/* The tasks of mixed_list on both tiny models, texts cut to 16 tokens, in a folder of their own; `set` as above. */
enum { BERT, T5, MIXED_MODELS };
void mixed_open_both(struct mixed m[MIXED_MODELS], const char *const *set);
void mixed_release_both(struct mixed m[MIXED_MODELS]);

/* The tasks with this method, batch and steps, dropout 0. */
struct run_config mixed_config(const struct mixed *m, const char *method, int batch, int steps);
/* A run that was begun; fails the test when it is refused. */
struct run *mixed_begin(struct mixed *m, const struct run_config *c, const char *folder, struct event_sink sink);
/* Trains to the end, or until a step is done where `until` is above 0. */
void mixed_train(struct mixed *m, const struct run_config *c, const char *folder, int workers, int64_t until,
                 struct trained *out);
/* Goes on from the folder's last checkpoint to the end. */
void mixed_go_on(struct mixed *m, const struct run_config *c, const char *folder, int workers, struct trained *out);

/* A run that was begun, whose values are plan_init's moved by N(0, sigma): no gradient is zero for want of one. */
struct run *mixed_begin_moved(struct mixed *m, const struct run_config *c, const char *folder, struct event_sink sink,
                              double sigma);
/* The gradient of the first step of such a run before clipping, in the plan's order; caller frees. */
real *mixed_gradient(struct mixed *m, const struct run_config *c, double sigma);
/* The rows of the first step, those of a task next to each other; room for a batch.  Gives how many. */
int mixed_first_rows(const struct mixed *m, const struct run_config *c, struct batch_example *out);
/* Writes what tests/reference/mixed_steps.py trains the same run from: folder/case.json, last.safetensors and
 * rows.tsv of so many steps.  `model`: the folder as Python is to find it. */
void mixed_dump(struct mixed *m, const struct run_config *c, const char *model, const char *folder, int steps,
                double sigma);

#endif
