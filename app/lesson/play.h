/* Playing a lesson: its runs trained by the jobs like any others, its values computed of them.
 *
 * play.c begins runs and asks for values, measure.c computes them.  One thread at a time uses a player; what
 * takes long is `lesson_measure`, which computes on the crew of the jobs. */
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
    const char *model, *task; /* in place of the lesson's; NULL: those, or the usual ones */
    struct lesson_subject *subject; /* what was opened to look inside; private */
    int subjects, room;
    struct model *held; /* the lesson's model, once it was asked for; private */
};
/* Sets in a lesson's progress what its runs are trained on: these, or the lesson's own, or the usual ones
 * (NULL: not given). */
void lesson_play_on(const struct lesson *l, struct lesson_progress *p, const char *model, const char *task);
/* Frees what was opened. */
void lesson_play_release(struct lesson_play *p);

/* Begins the runs of a run's step, one a seed, with the lessons' tag; their numbers stand in the step's
 * result, which is busy then.  ERR_USAGE names file and line. */
int lesson_begin(struct lesson_play *p, int step, struct err *e);
/* Whether the runs of a busy step are over: then the result is done, or failed with the reason. */
bool lesson_over(struct lesson_play *p, int step, double seconds);
/* Computes what a step asks for (lesson_computes) into its result; a failure is in the result too. */
int lesson_measure(struct lesson_play *p, int step, struct err *e);

/* Private to app/lesson: a quantity's value. */
int lesson_quantity(void *self, enum quantity q, const struct expression_argument *argument,
                    const double *number, int count, double *out, struct err *e);
/* The description of a run with these options besides the lesson's model and task; config_release.  `like`: a
 * run that it is made like, or 0. */
struct typed_option;
int lesson_config(const struct lesson_play *p, const struct typed_option *o, int n, int64_t like,
                  struct run_config *c, struct err *e);

/* What is kept of all lessons beside a history: PATH-files/lessons.json.  Reads this lesson's, or writes it;
 * ERR_SYSTEM. */
int lesson_keep_read(struct lesson_progress *p, const struct lesson *l, const char *database, struct err *e);
int lesson_keep_write(const struct lesson_progress *p, const struct lesson *l, const char *database,
                      struct err *e);
/* The file of the lesson that was played last beside a history, for free; NULL: none was. */
int lesson_keep_last(const char *database, char **path, struct err *e);
/* Whether what is kept has changed since *stamp was taken, which is put into it. */
bool lesson_keep_changed(const char *database, struct buf *stamp);

#endif
