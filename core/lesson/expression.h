/* Arithmetic expressions of lessons over named values and quantities: "2*8*width()*layers() -
 * count("lora(r=8)")".
 *
 * An expression is parsed once and every name is resolved, so that errors are reported before anything runs.
 * The caller provides the values when it is evaluated. */
#ifndef CORE_LESSON_EXPRESSION_H
#define CORE_LESSON_EXPRESSION_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/lesson/quantities.h"

enum { EXPRESSION_ARGUMENTS = QUANTITY_MOST };

/* An argument of a quantity; `takes` determines which member is set. */
struct expression_argument {
    enum quantity_takes
        takes; /* QUANTITY_NUMBER, QUANTITY_RUN, QUANTITY_METHOD or QUANTITY_WORD */
    int run;                  /* of a run: the step of the lesson that trains it */
    char *text;               /* of a method or a word; owned */
    struct expression *value; /* of a number; owned */
};

struct expression; /* opaque */

/* The names that an expression can refer to. */
struct expression_names {
    void *self;
    /* Returns the earlier step that computes the value (with `run`: trains the run) of this name; -1:
     * none. */
    int (*find)(void *self, const char *name, bool run);
    /* Returns the most similar known name for messages, or NULL. */
    const char *(*nearest)(void *self, const char *name, bool run);
};
/* Parses the whole text.  ERR_INPUT names the word and the expected input; expression_free. */
int expression_read(struct expression **out, const char *text, const struct expression_names *names,
                    struct err *e);
void expression_free(struct expression *x); /* accepts NULL */

/* Provides the values of names and quantities. */
struct expression_values {
    void *self;
    int (*value)(void *self, int step, double *out, struct err *e);
    /* argument: `count` arguments as written; number[]: their evaluated numbers. */
    int (*quantity)(void *self, enum quantity q, const struct expression_argument *argument,
                    const double *number, int count, double *out, struct err *e);
};
/* Evaluates an expression. */
int expression_value(const struct expression *x, const struct expression_values *from, double *out,
                     struct err *e);

#endif
