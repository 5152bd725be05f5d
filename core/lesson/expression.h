/* Arithmetic over named values and quantities, as a lesson writes it: "2*8*width()*layers() -
 * count("lora(r=8)")".
 *
 * Read once, with every name looked up, so that a slip of the pen is told with its line before anything runs;
 * evaluated by whoever knows the values. */
#ifndef CORE_LESSON_EXPRESSION_H
#define CORE_LESSON_EXPRESSION_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/lesson/quantities.h"

enum { EXPRESSION_ARGUMENTS = QUANTITY_MOST };

/* An argument of a quantity; text or value by the quantity's own row of the table. */
struct expression_argument {
    enum quantity_takes
        takes; /* what stands here: QUANTITY_NUMBER, QUANTITY_RUN, QUANTITY_METHOD or QUANTITY_WORD */
    int run;                  /* of a run: which step of the lesson makes it */
    char *text;               /* of a method or a word; owned */
    struct expression *value; /* of a number; owned */
};

struct expression; /* private but for its evaluation */

/* What an expression is read among. */
struct expression_names {
    void *self;
    /* The step that makes the value or, where `run`, the run of that name before this place; -1: none. */
    int (*find)(void *self, const char *name, bool run);
    /* The names that there are, for messages: the nearest of them to `name`, or NULL. */
    const char *(*nearest)(void *self, const char *name, bool run);
};
/* Reads the whole of `text`.  ERR_INPUT names the word and what would be right; expression_free. */
int expression_read(struct expression **out, const char *text, const struct expression_names *names,
                    struct err *e);
void expression_free(struct expression *x); /* NULL is let pass */

/* Where values come from. */
struct expression_values {
    void *self;
    int (*value)(void *self, int step, double *out, struct err *e);
    /* argument: as many as were written, their numbers evaluated in number[]. */
    int (*quantity)(void *self, enum quantity q, const struct expression_argument *argument,
                    const double *number, int count, double *out, struct err *e);
};
int expression_value(const struct expression *x, const struct expression_values *from, double *out,
                     struct err *e);

#endif
