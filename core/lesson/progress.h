/* Progress in a lesson: results of its steps, answers, and the current step; stored as JSON. */
#ifndef CORE_LESSON_PROGRESS_H
#define CORE_LESSON_PROGRESS_H

#include <stdint.h>

#include "core/lesson/lesson.h"

enum lesson_state { LESSON_OPEN, LESSON_BUSY, LESSON_DONE, LESSON_FAILED };

/* The result of a map step: points, their classes, and their coordinates in each map. */
enum { LESSON_POINTS = 256, LESSON_CLASSES = 8 };
struct lesson_map {
    int n, classes;
    int32_t label[LESSON_POINTS];
    double xy[LESSON_SHOWN][2 * LESSON_POINTS];
    char class_name[LESSON_CLASSES][32];
};

struct lesson_result {
    enum lesson_state state;  /* of run, let, check, map, and answer with a condition; else LESSON_OPEN */
    double value, low, high;  /* low, high: the range; infinite without a limit */
    bool ok;                  /* the value is in its range */
    int runs;                 /* of a run: one per seed */
    int64_t run[LESSON_SEEDS];
    char chosen;              /* of a question: the letter, or 0 */
    int given[LESSON_CHOICES]; /* how often each choice was given, including the current answer */
    struct lesson_map *map;   /* of a finished map; owned */
    char *why;                /* LESSON_FAILED: the error; owned */
    char *note; /* of a run: a warning, "accuracy 0.51 is not above …", or NULL; owned */
};

struct lesson_progress {
    int steps;
    struct lesson_result *of; /* result of each step */
    int at, furthest;         /* the current step, and the last one reached */
    bool whole;               /* the end was reached */
    char *model, *task;       /* of the runs, lesson_progress_on; NULL: unknown */
};
void lesson_progress_init(struct lesson_progress *p, const struct lesson *l);
void lesson_progress_release(struct lesson_progress *p);

/* Sets the model and task of the runs, as texts and commands name them; copied.  NULL: unknown. */
void lesson_progress_on(struct lesson_progress *p, const char *model, const char *task);

/* Resets everything except how often each choice was given. */
void lesson_progress_restart(struct lesson_progress *p);
/* Discards the results from a step on, and moves the current step back to it. */
void lesson_progress_back(struct lesson_progress *p, int step);
/* Copies between progress of the same lesson: everything (clone, copy), the current step and answers (place),
 * or the results. */
struct lesson_progress *lesson_progress_clone(
    const struct lesson_progress *p); /* released and freed by the caller */
void lesson_progress_copy(struct lesson_progress *to, const struct lesson_progress *from);
void lesson_progress_place(struct lesson_progress *to, const struct lesson_progress *from);
void lesson_progress_results(struct lesson_progress *to, const struct lesson_progress *from);

/* Returns whether the reader can continue after a step: its question is answered, its result computed. */
bool lesson_passed(const struct lesson *l, const struct lesson_progress *p, int step);
/* Answers a question and replaces an earlier answer; false if the choice does not exist. */
bool lesson_choose(const struct lesson *l, struct lesson_progress *p, int step, char letter);
/* Returns the right choice of an answer; 0 if its condition is not computed yet. */
char lesson_right(const struct lesson *l, const struct lesson_progress *p, int step);
/* Sets the value of a step and checks it against its range. */
void lesson_set_value(const struct lesson *l, struct lesson_progress *p, int step, double value, double low,
                      double high);
/* Sets the maps of a step and takes ownership of them. */
void lesson_set_map(struct lesson_progress *p, int step, struct lesson_map *map);
void lesson_set_failed(struct lesson_progress *p, int step, const char *why);
/* Counts the checks, and those that are computed and in their range. */
void lesson_checks(const struct lesson *l, const struct lesson_progress *p, int *all, int *ok);

/* Returns a text of a step with every {name} replaced; values that are not computed yet become "…".  In a
 * verbatim line a run is "3" instead of "#3", and words are quoted for a shell.  Caller frees. */
char *lesson_fill(const struct lesson *l, const struct lesson_progress *p, int step, const char *text,
                  bool verbatim);
/* Returns the command that reproduces the run of a step, with words quoted for a shell: "petri train --model
 * M
 * --task T --method 'lora(r=8)'".  A repeated run becomes "petri train --like 3 …", with the name of the
 * earlier run if it was not trained yet.  Caller frees. */
char *lesson_command(const struct lesson *l, const struct lesson_progress *p, int step);
/* Formats a computed check: "measured 1.976, expected above 1"; the range is "0 to 1e-04", "24,576", "above
 * 0" or "below 0.1". */
void lesson_check_text(const struct lesson_result *r, char out[160]);

/* Reads the progress of a lesson from the JSON of all lessons, {"NAME":{…}}, if the file of the lesson has
 * not changed.  For another model or task, reads only how often each choice was given.  Ignores invalid
 * parts. */
void lesson_progress_read(struct lesson_progress *p, const struct lesson *l, const char *json, size_t n);
/* Writes the progress of a lesson into such JSON (empty: new), and marks it as played last. */
void lesson_progress_write(const struct lesson_progress *p, const struct lesson *l, const char *json,
                           size_t n, struct buf *out);
/* Returns the file of the lesson played last from such JSON; caller frees.  NULL: none. */
char *lesson_played_last(const char *json, size_t n);

#endif
