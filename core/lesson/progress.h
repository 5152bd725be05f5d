/* How far somebody is in a lesson: what its steps came to, what was answered, where the reader is; and as a
 * text that brings it all back. */
#ifndef CORE_LESSON_PROGRESS_H
#define CORE_LESSON_PROGRESS_H

#include <stdint.h>

#include "core/lesson/lesson.h"

enum lesson_state { LESSON_OPEN, LESSON_BUSY, LESSON_DONE, LESSON_FAILED };

/* What a map's step came to: points and their classes, and where each map has them. */
enum { LESSON_POINTS = 256, LESSON_CLASSES = 8 };
struct lesson_map {
    int n, classes;
    int32_t label[LESSON_POINTS];
    double xy[LESSON_SHOWN][2 * LESSON_POINTS];
    char class_name[LESSON_CLASSES][32];
};

struct lesson_result {
    enum lesson_state state;  /* of run, let, check, and answer with a condition; else LESSON_OPEN */
    double value, low, high;  /* low, high: the band, infinite where it has no such end */
    bool ok;                  /* the value is in its band */
    int runs;                 /* of a run: one a seed */
    int64_t run[LESSON_SEEDS];
    char chosen;              /* of an ask: the letter, or 0 */
    int given[LESSON_CHOICES]; /* how often each choice was given so far, the present answer among them */
    struct lesson_map *map;   /* of a map that is done; owned */
    char *why;                /* LESSON_FAILED: what went wrong; owned */
    char *note; /* of a run: what to know of it, "accuracy 0.51 is not above …", or NULL; owned */
};

struct lesson_progress {
    int steps;
    struct lesson_result *of; /* of each step */
    int at, furthest;         /* the step shown, and the last one that was */
    bool whole;               /* its end was reached */
    char *model, *task;       /* what runs are trained on, lesson_progress_on; NULL: not known */
};
void lesson_progress_init(struct lesson_progress *p, const struct lesson *l);
void lesson_progress_release(struct lesson_progress *p);

/* Sets what the lesson's runs are trained on, as texts and commands name it; copied.  NULL: not known. */
void lesson_progress_on(struct lesson_progress *p, const char *model, const char *task);

/* All from the beginning again, but for how often each choice was given. */
void lesson_progress_restart(struct lesson_progress *p);
/* What was run and computed from a step on is open again, and the reader is there at most. */
void lesson_progress_back(struct lesson_progress *p, int step);
/* Of two of the same lesson: everything; the reader's place and answers; what was run and computed. */
struct lesson_progress *lesson_progress_clone(
    const struct lesson_progress *p); /* released and freed by the caller */
void lesson_progress_copy(struct lesson_progress *to, const struct lesson_progress *from);
void lesson_progress_place(struct lesson_progress *to, const struct lesson_progress *from);
void lesson_progress_results(struct lesson_progress *to, const struct lesson_progress *from);

/* Whether the lesson can go on from a step: a question is answered, a run or a value is there. */
bool lesson_passed(const struct lesson *l, const struct lesson_progress *p, int step);
/* A choice of an ask, in place of the one before where there was one; false: there is no such choice. */
bool lesson_choose(const struct lesson *l, struct lesson_progress *p, int step, char letter);
/* Returns the right choice of an answer; 0: its condition is not computed yet. */
char lesson_right(const struct lesson *l, const struct lesson_progress *p, int step);
/* Sets the value of a step and whether it is in its band. */
void lesson_set_value(const struct lesson *l, struct lesson_progress *p, int step, double value, double low,
                      double high);
/* Sets the maps of a step, which are the result's from here on. */
void lesson_set_map(struct lesson_progress *p, int step, struct lesson_map *map);
void lesson_set_failed(struct lesson_progress *p, int step, const char *why);
/* How many checks there are and how many of them are computed and lie in their bands. */
void lesson_checks(const struct lesson *l, const struct lesson_progress *p, int *all, int *ok);

/* Returns the text of a step with every {name} filled in; what is not computed yet is "…".  In a line that is
 * shown as it is
 * (`kept`, a command) a run is "3", otherwise "#3", and words are quoted for a shell.  Caller frees. */
char *lesson_fill(const struct lesson *l, const struct lesson_progress *p, int step, const char *text,
                  bool kept);
/* Returns the line that trains a run's step again, with model and task, words quoted for a shell: "petri
 * train --model M --task T
 * --method 'lora(r=8)'"; of one that is a run again "petri train --like 3 …", by that run's name where it was
 * not made yet.  Caller frees. */
char *lesson_command(const struct lesson *l, const struct lesson_progress *p, int step);
/* Formats a computed check: "measured 1.976, expected above 1"; the band is "0 to 1e-04", "24,576", "above 0"
 * or "below 0.1". */
void lesson_check_text(const struct lesson_result *r, char out[160]);

/* What is kept of lessons, all of them in one text: JSON, {"NAME":{…}}.  Takes what it says of this lesson,
 * as long as it is the same file; on another model or task only how often each choice was given.  What cannot
 * be read is as if it were not there. */
void lesson_progress_read(struct lesson_progress *p, const struct lesson *l, const char *json, size_t n);
/* Puts this lesson's into such a text (empty: a new one), as the one that was played last. */
void lesson_progress_write(const struct lesson_progress *p, const struct lesson *l, const char *json,
                           size_t n, struct buf *out);
/* The file of the lesson that was played last, by such a text; caller frees.  NULL: none. */
char *lesson_played_last(const char *json, size_t n);

#endif
