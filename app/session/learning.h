/* A lesson on the screen: what the background does for it (list, open, a step's run or value, keep), and what
 * the screen shows of it. */
#ifndef APP_SESSION_LEARNING_H
#define APP_SESSION_LEARNING_H

#include "app/lesson/play.h"
#include "views/learn.h"

/* The lesson under way, as the background has it; only its thread for lessons touches it after it was
 * made. */
struct learning;
struct learning *learning_new(struct store *s, struct jobs *j);
void learning_free(struct learning *l); /* NULL is no work */

/* The list. */
struct learn_shelf {
    struct lesson *lesson;
    struct learn_row *row;
    char **needs;
    int rows;
};
int learning_list(struct learning *l, struct learn_shelf **out, struct err *e);
void learn_shelf_free(struct learn_shelf *s);

/* A lesson with how far somebody is in it, for the screen. */
struct learn_page {
    struct lesson lesson;
    struct lesson_progress progress;
};
/* Opens it, by name or file, where it was left; `model` and `task`: in place of what a lesson leaves open. */
int learning_open(struct learning *l, const char *name, const char *model, const char *task,
                  struct learn_page **out, struct err *e);
void learn_page_free(struct learn_page *p);

/* The lesson that another petri leads beside this history, where it is; *out NULL: nothing is new since it
 * was asked last, or there is none. */
int learning_follow(struct learning *l, struct learn_page **out, struct err *e);

/* What has come of step `step` and those before it; of a run that goes: news. */
struct learn_news {
    int steps, busy;    /* busy: a run's step that goes on, or -1 */
    struct lesson_result *of; /* steps of them; copies */
};
/* Does what the lesson needs up to a step: values that are open are computed, up to the first that fails; a
 * run that goes is looked at, with `train` step's own begun.  *screen is the screen's progress as it is: its
 * place and answers are taken over and kept beside the history.  step < 0: it begins anew.  A failure is in
 * the result of its step. */
int learning_step(struct learning *l, int step, bool train, const struct lesson_progress *screen,
                  struct learn_news **out, struct err *e);
void learn_news_free(struct learn_news *n);
/* Takes the news over into the screen's progress. */
void learn_news_take(const struct learn_news *n, struct lesson_progress *p);

#endif
