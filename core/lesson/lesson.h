/* A lesson: a file of steps (docs/lessons.md describes the grammar).  The whole file is parsed and checked
 * before any step is shown or run.
 *
 * Parser in read.c, search for files in files.c. */
#ifndef CORE_LESSON_LESSON_H
#define CORE_LESSON_LESSON_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/lesson/expression.h"

enum lesson_kind {
    LESSON_TEXT,   /* text */
    LESSON_ASK,    /* a question with choices; must be answered to continue */
    LESSON_ANSWER, /* the right choice and an explanation */
    LESSON_RUN,    /* trains one run or more */
    LESSON_LET,    /* computes a value */
    LESSON_CHECK,  /* computes a value and checks that it is in a range */
    LESSON_SHOW,   /* a screen of petri */
    LESSON_CHANGE, /* an exercise */
    LESSON_CODE,   /* a place in the source code */
    LESSON_MAP,    /* t-SNE maps of points in a file next to the lesson */
    LESSON_KINDS
};
struct lesson_step;
/* Returns whether a step computes a value or maps, without training a run. */
bool lesson_computes(const struct lesson_step *s);

/* Of the runs of a lesson: its text mentions their figures. */
#define LESSON_PRECISION "f32"

enum { LESSON_CHOICES = 9, LESSON_NAME = 40, LESSON_SEEDS = 32, LESSON_SHOWN = 4 };

/* A paragraph to be wrapped, or a verbatim line (a formula, a drawing, a command); {name} is not replaced. */
struct lesson_paragraph {
    bool verbatim;
    char *text;
};

struct lesson_choice {
    char letter;
    char *text;
};

/* One of the maps of a step. */
struct lesson_map_of {
    double perplexity;
    int64_t seed; /* of a random initialization; -1: principal components */
};

struct lesson_step {
    enum lesson_kind kind;
    int line;           /* line number in the file, from 1 */
    char *name;         /* ask, answer, run, let, check; else NULL */
    char *head; /* text, change: heading; run: options; show: screen; code: file and function; map: file of
                 * points; else NULL */
    int of;             /* answer: the step of the question; run: the run that it repeats; else -1 */
    char right;         /* answer: the right choice */
    char otherwise;     /* the right choice if value is outside its range; 0: the answer has no condition */
    struct expression *value, *low,
        *high; /* let, check, and answer with a condition; low or high NULL: no such limit */
    bool strict;        /* the limit itself is outside the range (above X, below X) */
    int show[LESSON_SHOWN], shows; /* steps of the runs that a screen shows */
    struct lesson_map_of map[LESSON_SHOWN];
    int maps;
    int paragraphs, choices, notes;
    struct lesson_paragraph *paragraph, *note; /* note: for the presenter */
    struct lesson_choice *choice;
};

struct lesson {
    char *name;    /* of the file, without folder and suffix */
    char *path;
    char *title, *about;
    char *model, *task; /* NULL: the defaults */
    int minutes;   /* reading time */
    double seconds; /* computing time with petri-mini (with `model`: that one) on one core of 100 GFLOP/s; 0: unknown */
    int order;     /* position in the list */
    char sha256[65]; /* of the file */
    int steps, room;
    struct lesson_step *step;
};

/* Reads a file.  ERR_INPUT names file, line, word and the expected input; then *out is empty.
 * lesson_release. */
int lesson_read(struct lesson *out, const char *path, struct err *e);
/* Parses bytes; `path` is used in messages. */
int lesson_parse(struct lesson *out, const char *path, const char *bytes, size_t n, struct err *e);
void lesson_release(struct lesson *l);
/* Returns the last step before `before` with this kind and name, or -1. */
int lesson_find(const struct lesson *l, int before, enum lesson_kind kind, const char *name);
/* Names that {name} can have without a step: the model and task of the runs, and the folder of the file. */
enum lesson_word { LESSON_MODEL, LESSON_TASK, LESSON_FOLDER, LESSON_WORDS };
/* Returns the word with this name, or LESSON_WORDS. */
enum lesson_word lesson_word_named(const char *name);
/* Returns the let, check or run that {name} refers to in step `at`, or -1. */
int lesson_named(const struct lesson *l, int at, const char *name);

/* Parses a {name} or {name%} at the start of a text.  Returns its number of bytes and sets the name and
 * whether it has a percent sign; 0 if there is none. */
size_t lesson_placeholder(const char *at, char name[LESSON_NAME], bool *percent);

/* Returns the file of a lesson: an existing path, or lessons/NAME.lesson in the asset folders; caller frees.
 * NULL with *e (ERR_NOT_FOUND), which suggests a similar name. */
char *lesson_file(const char *typed, struct err *e);
/* Lists all lessons of the asset folders in their order.  Lessons that cannot be read are omitted, and *e
 * reports the first of them.  Owned: lesson_list_free. */
int lesson_list(struct lesson **out, struct err *e);
void lesson_list_free(struct lesson *l, int n);

#endif
