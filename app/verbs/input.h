/* Texts given to a verb: --text and --text-b, or --file with one text a line ("-": standard input) or
 * a table. */
#ifndef APP_VERBS_INPUT_H
#define APP_VERBS_INPUT_H

#include "app/history/opened.h"
#include "app/verbs/args.h"
#include "core/data/dataset.h"

struct input {
    struct dataset data; /* rows without labels, not encoded; in the file's order */
    struct buf whole;    /* what the rows of plain lines point into */
};

/* `usual` stands for what --column, --header, --no-header and --delimiter do not say; any of them, or the
 * file's name, makes it a table.
 * Rows that cannot be read are named on standard error, and how many are not UTF-8.  ERR_USAGE unless exactly
 * one of --text and --file is given.  On failure nothing is left. */
int input_open(struct input *in, const struct args *a, struct table_reader usual, struct err *e);
void input_release(struct input *in);

/* After encoding: says on standard error how many rows lost tokens to the longest length. */
void input_tell_cut(const struct dataset *d);

#endif
