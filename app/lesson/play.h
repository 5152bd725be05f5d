/* Runs lessons (play.c, measure.c): their runs are trained as jobs, and their quantities are computed from
 * them.
 *
 * play.c starts runs and requests quantities, measure.c computes them.  A player is used by one thread at a
 * time; `lesson_measure` may take long and computes on the crew of the jobs. */
#ifndef APP_LESSON_PLAY_H
#define APP_LESSON_PLAY_H

#include "app/jobs/jobs.h"
#include "core/lesson/progress.h"
#include "store/store.h"

struct lesson_play {
    const struct lesson *lesson;
    struct lesson_progress *progress;
    struct store *store; /* open for writing */
    struct jobs *jobs;
    const char *model, *task; /* override those of the lesson; NULL: those, or the defaults */
    struct lesson_subject *subject; /* opened runs and methods; private */
    int subjects, room;
    struct model *held; /* the lesson's model, loaded on first use; private */
};
/* Sets the model and task of the lesson's runs in its progress: these, or the lesson's, or the defaults
 * (NULL: not given). */
void lesson_play_on(const struct lesson *l, struct lesson_progress *p, const char *model, const char *task);
/* Frees opened runs and models. */
void lesson_play_release(struct lesson_play *p);

/* Starts the runs of a step, one per seed, with the tag of lessons; their ids are in the step's result,
 * which is then busy.  ERR_USAGE names file and line. */
int lesson_begin(struct lesson_play *p, int step, struct err *e);
/* Returns whether the runs of a busy step have ended; its result is then done, or failed with the reason. */
bool lesson_over(struct lesson_play *p, int step, double seconds);
/* Computes the quantities of a step (lesson_computes) into its result, which also receives a failure. */
int lesson_measure(struct lesson_play *p, int step, struct err *e);

/* Computes the value of a quantity; private to app/lesson. */
int lesson_quantity(void *self, enum quantity q, const struct expression_argument *argument,
                    const double *number, int count, double *out, struct err *e);
/* Builds the config of a run from these options and the lesson's model and task; release with
 * config_release.  `like`: a run whose options are copied, or 0. */
struct typed_option;
int lesson_config(const struct lesson_play *p, const struct typed_option *o, int n, int64_t like,
                  struct run_config *c, struct err *e);

/* Read and write the saved progress of this lesson in PATH-files/lessons.json next to the database;
 * ERR_SYSTEM. */
int lesson_progress_load(struct lesson_progress *p, const struct lesson *l, const char *database,
                         struct err *e);
int lesson_progress_store(const struct lesson_progress *p, const struct lesson *l, const char *database,
                      struct err *e);
/* Finds the file of the last lesson played with a database; caller frees; NULL: none. */
int lesson_progress_last(const char *database, char **path, struct err *e);
/* Returns whether the saved progress has changed since *stamp was taken, and updates it. */
bool lesson_progress_changed(const char *database, struct buf *stamp);

#endif
