/* A lesson: a file of steps of text, ask, run, let, check, show, answer, change and code (docs/lessons.md has
 * the grammar), read whole and checked before anything of it is shown or run.
 *
 * In read.c; finding files in files.c. */
#ifndef CORE_LESSON_LESSON_H
#define CORE_LESSON_LESSON_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/lesson/expression.h"

enum lesson_kind {
    LESSON_TEXT,   /* is read */
    LESSON_ASK,    /* a question with choices, answered before the lesson goes on */
    LESSON_ANSWER, /* which choice was right, beside what was chosen, and why */
    LESSON_RUN,    /* trains */
    LESSON_LET,    /* computes a value */
    LESSON_CHECK,  /* computes one that lies in a band */
    LESSON_SHOW,   /* a screen of petri, and what to look at there */
    LESSON_CHANGE, /* something to do by oneself */
    LESSON_CODE,   /* where in petri's code that is */
    LESSON_MAP,    /* t-SNE maps of the points of a file beside the lesson */
    LESSON_KINDS
};
struct lesson_step;
/* Returns whether something is computed for a step, that is no run. */
bool lesson_computes(const struct lesson_step *s);

enum { LESSON_CHOICES = 9, LESSON_NAME = 40, LESSON_SEEDS = 32, LESSON_SHOWN = 4 };

/* Lines joined to one, to be wrapped; or one kept as it is (a formula, a drawing).  Holds {name} as the file
 * has it. */
struct lesson_paragraph {
    bool kept;
    char *text;
};

struct lesson_choice {
    char letter;
    char *text;
};

/* One of the maps of a step. */
struct lesson_map_of {
    double perplexity;
    int64_t seed; /* of a random start; -1: the principal components */
};

struct lesson_step {
    enum lesson_kind kind;
    int line;           /* where in the file, from 1 */
    char *name;         /* ask, answer, run, let, check; else NULL */
    char *head; /* text: its heading; run: its options; show: the screen; code: file and function; map: the
                 * file of points; else NULL */
    int of;             /* answer: the ask's step; run: the run that it is again; else -1 */
    char right;         /* answer: the right choice; */
    char otherwise;     /* the right one where value is outside its band; 0: the answer has no condition */
    struct expression *value, *low,
        *high; /* let, check, and answer with a condition; low or high NULL: without that end */
    bool strict;        /* of a band: the end itself is outside (above X, below X) */
    int show[LESSON_SHOWN], shows; /* steps of the runs that a screen is to show */
    struct lesson_map_of map[LESSON_SHOWN];
    int maps;
    int paragraphs, choices, notes;
    struct lesson_paragraph *paragraph, *note; /* note: for who presents the lesson */
    struct lesson_choice *choice;
};

struct lesson {
    char *name;    /* of the file, without folder and ending */
    char *path;
    char *title, *about;
    char *model, *task; /* NULL: the usual ones */
    int minutes;   /* of reading */
    double seconds; /* of computing with petri's own model on one core of 100 GF/s; 0: not given */
    int order;     /* its place in the list */
    char sha256[65]; /* of the file */
    int steps, room;
    struct lesson_step *step;
};

/* Reads a file.  ERR_INPUT names file, line, word and what would be right; then *out is empty.
 * lesson_release. */
int lesson_read(struct lesson *out, const char *path, struct err *e);
/* The same of bytes; `path` stands in messages. */
int lesson_parse(struct lesson *out, const char *path, const char *bytes, size_t n, struct err *e);
void lesson_release(struct lesson *l);
/* The step of that name and kind before step `before`, or -1. */
int lesson_find(const struct lesson *l, int before, enum lesson_kind kind, const char *name);
/* What {name} may be where no step has the name: what the lesson's runs are trained on, and the folder of its
 * file. */
enum lesson_word { LESSON_MODEL, LESSON_TASK, LESSON_FOLDER, LESSON_WORDS };
/* Returns which of them a name is, or LESSON_WORDS. */
enum lesson_word lesson_word_named(const char *name);
/* The let, check or run that {name} stands for in step `at`, or -1. */
int lesson_named(const struct lesson *l, int at, const char *name);

/* A {name} in a text that was read: where `at` begins with one, its bytes, with the name (LESSON_NAME) and
 * whether a percent sign followed it, "{acc%}"; 0: none begins here. */
size_t lesson_placeholder(const char *at, char name[LESSON_NAME], bool *percent);

/* The file of a lesson: a path that exists, or lessons/NAME.lesson where assets lie; caller frees.  NULL with
 * *e (ERR_NOT_FOUND), which names the nearest. */
char *lesson_file(const char *typed, struct err *e);
/* All lessons that assets have, in their order; one that cannot be read is left out, and *e says why of the
 * first.  Owned: lesson_list_free. */
int lesson_list(struct lesson **out, struct err *e);
void lesson_list_free(struct lesson *l, int n);

#endif
