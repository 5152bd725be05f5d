/* The Learn screen: the list of lessons, and one lesson step by step.  While a lesson is open, its current
 * step is next to every other screen.
 *
 * learn.c handles keys, learn_draw.c draws, learn_map.c draws maps of points, learn_notes.c draws the notes
 * to a lesson that another petri shows. */
#ifndef VIEWS_LEARN_H
#define VIEWS_LEARN_H

#include "core/lesson/progress.h"

struct learn_row {
    const char *name, *title, *about;
    const char *needs; /* model and task, "" for the defaults */
    const char *done;  /* "done", "started", "" */
    int minutes;
    double seconds; /* on one core with 100 GFLOP/s, with petri-mini, or with its own model */
    bool own_model;
};

struct learn_view {
    /* set by the app */
    const struct learn_row *row;
    int rows;
    bool listed;                      /* the list was loaded */
    const struct lesson *lesson;      /* the open lesson; NULL: none */
    struct lesson_progress *progress; /* owned by the screen, which changes its place and answers */
    char failed[400];                 /* error when a lesson could not be read */
    char opening[LESSON_NAME * 4]; /* lesson being opened; "": none.  The app resets it */
    /* set by the screen */
    int cursor, top;
    int up;      /* rows scrolled back from the end of the text */
    bool large;  /* one step at a time, in a narrow column */
    bool notes;  /* notes to a lesson that another petri shows; read-only */
    bool beside; /* another screen is shown, with the step next to it */
    int64_t run[LESSON_SHOWN * LESSON_SEEDS]; /* runs of the current step */
};

#endif
