/* Learn: the lessons, and one of them step by step; while a lesson is open its step lies beside every other
 * screen.
 *
 * learn.c is what it does, learn_draw.c what it draws, learn_map.c its maps of points, learn_notes.c the
 * notes to a lesson that another petri leads. */
#ifndef VIEWS_LEARN_H
#define VIEWS_LEARN_H

#include "core/lesson/progress.h"

struct learn_row {
    const char *name, *title, *about;
    const char *needs; /* model and task, "" for the usual ones */
    const char *done;  /* "done", "begun", "" */
    int minutes;
    double seconds; /* with petri's own model on one core of 100 GF/s */
};

struct learn_view {
    /* filled by the app */
    const struct learn_row *row;
    int rows;
    bool listed;                      /* the list was read */
    const struct lesson *lesson;      /* the open one; NULL: none */
    struct lesson_progress *progress; /* the screen's own: its place and answers change here */
    char failed[400];                 /* why a lesson could not be read */
    char opening[LESSON_NAME *
                 4]; /* what is to be opened and not there yet; "": nothing.  The app takes it back */
    /* the screen's */
    int cursor, top;
    int up;      /* rows that the text is scrolled back from its end */
    bool large;  /* one step alone, with room around it */
    bool notes;  /* the notes to a lesson that another petri leads: nothing is done here */
    bool beside; /* another screen is shown, with the step beside it */
    int64_t run[LESSON_SHOWN * LESSON_SEEDS]; /* those of the step that is shown */
};

#endif
