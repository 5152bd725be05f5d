/* Runs as a table for other programs: all columns of the run list, in the order in which the runs are
 * given. */
#ifndef APP_HISTORY_RUN_TABLE_H
#define APP_HISTORY_RUN_TABLE_H

#include "core/base/report.h"
#include "store/store.h"

/* Returns the extension of a table file, with its dot: ".csv", ".json", ".md"; the second finds the form
 * named by a word ("csv", "json", "markdown") and returns false if there is none. */
const char *run_table_end(enum store_format form);
bool run_table_form(const char *word, enum store_format *form);

/* Writes the runs; CSV and JSON (one array) have all columns, Markdown those that `petri runs` prints. */
int run_table_write(struct store *s, const int64_t *run, size_t runs, enum store_format form,
                    struct store_sink sink, struct err *e);
/* Returns "#3", or "#3 the best" for a named run; caller frees. */
char *run_table_called(const struct store_run *r);
/* Returns "#3 lora(r=8)", or "#4 the best: lora(r=8)"; caller frees. */
char *run_table_short(const struct store_run *r);
/* Returns "#3 lora(r=8) · reviews · seed 1", or for a named run "#4 the best: lora(r=8) · …"; caller
 * frees. */
char *run_table_title(const struct store_run *r);
/* Appends the runs as `petri runs` prints them, with a name column if any has a name, or as Markdown. */
void run_table_report(const struct store_run *run, size_t n, enum report_form form, struct buf *b);

/* Writes a value, "undefined", or "-" without a measurement. */
enum { RUN_VALUE_ROOM = 48 };
void run_table_value(const struct store_value *v, char out[RUN_VALUE_ROOM]);

#endif
