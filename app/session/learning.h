/* A lesson on the screen: its background work (list, open, a step's run or value, save) and the data that
 * the screen shows. */
#ifndef APP_SESSION_LEARNING_H
#define APP_SESSION_LEARNING_H

#include "app/lesson/play.h"
#include "views/learn.h"

/* The current lesson, as the background has it; after its creation only the lesson thread accesses it. */
struct learning;
struct learning *learning_new(struct store *s, struct jobs *j);
void learning_free(struct learning *l); /* NULL is ignored */

/* The list of lessons. */
struct learn_shelf {
    struct lesson *lesson;
    struct learn_row *row;
    char **needs;
    int rows;
};
int learning_list(struct learning *l, struct learn_shelf **out, struct err *e);
void learn_shelf_free(struct learn_shelf *s);

/* A lesson and its progress, for the screen. */
struct learn_page {
    struct lesson lesson;
    struct lesson_progress progress;
};
/* Opens a lesson by name or file at its saved position; `model` and `task`: used if the lesson sets none. */
int learning_open(struct learning *l, const char *name, const char *model, const char *task,
                  struct learn_page **out, struct err *e);
void learn_page_free(struct learn_page *p);

/* Returns the lesson that another process leads on this database, at its current position; *out is NULL
 * when nothing has changed since the last call, or there is none. */
int learning_follow(struct learning *l, struct learn_page **out, struct err *e);

/* The results of step `step` and earlier ones, of a running step: news. */
struct learn_news {
    int steps, busy;    /* busy: the step whose run is training, or -1 */
    struct lesson_result *of; /* steps of them; copies */
};
/* Does the work that the lesson needs up to a step: computes missing values up to the first failure, and
 * checks the current run; with `train`, starts the run of the step.  *screen is the screen's progress: its
 * position and answers are copied and saved next to the database.  step < 0: restarts the lesson.  A
 * failure is in the result of its step. */
int learning_step(struct learning *l, int step, bool train, const struct lesson_progress *screen,
                  struct learn_news **out, struct err *e);
void learn_news_free(struct learn_news *n);
/* Applies the news to the screen's progress. */
void learn_news_take(const struct learn_news *n, struct lesson_progress *p);

#endif
