/* Values of a run's options that are not their defaults, by the table's own ranges, so that tests cover a new
 * row by themselves. */
#ifndef TESTS_SUPPORT_OPTIONS_H
#define TESTS_SUPPORT_OPTIONS_H

#include "core/train/config/option.h"

/* Sets one row to something else than its default. */
void options_move_away(struct run_config *c, const struct option *o);
/* Fails the test, naming the row, unless both have the same values; `named`: only rows of the command line. */
void options_same(const struct run_config *a, const struct run_config *b, const char *what, bool named);

#endif
