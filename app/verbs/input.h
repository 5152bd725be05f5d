/* Input texts of a verb: --text and --text-b, or --file with one text per line ("-": standard input) or
 * a table. */
#ifndef APP_VERBS_INPUT_H
#define APP_VERBS_INPUT_H

#include "app/history/opened.h"
#include "app/verbs/args.h"
#include "core/data/dataset.h"

struct input {
    struct dataset data; /* unlabeled texts, not encoded, in the order of the file */
    struct buf whole;    /* the bytes to which texts of plain lines point */
};

/* Reads the texts.  `defaults`: defaults of --column, --header, --no-header and --delimiter; any of them, or
 * the file extension, makes the file a table. Reports unreadable lines and invalid UTF-8 on standard error.
 * ERR_USAGE unless exactly one of --text and
 * --file is given.  On failure nothing is allocated. */
int input_open(struct input *in, const struct args *a, struct table_reader defaults, struct err *e);
void input_release(struct input *in);

/* Reports on standard error how many texts were truncated by the encoding. */
void input_tell_cut(const struct dataset *d);

#endif
