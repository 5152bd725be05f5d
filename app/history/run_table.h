/* Runs as a table for other programs: all that a list knows of each, in the order in which they are named. */
#ifndef APP_HISTORY_RUN_TABLE_H
#define APP_HISTORY_RUN_TABLE_H

#include "core/base/report.h"
#include "store/store.h"

/* The end of a table's file, with its point: ".csv", ".json", ".md"; and the form that a word ("csv", "json",
 * "markdown") names, false: none. */
const char *run_table_end(enum store_format form);
bool run_table_form(const char *word, enum store_format *form);

/* CSV and JSON (one array) have every column, Markdown those that `petri runs` prints. */
int run_table_write(struct store *s, const int64_t *run, size_t runs, enum store_format form,
                    struct store_sink sink, struct err *e);
/* "#3", of one that is called something "#3 the best"; caller frees. */
char *run_table_called(const struct store_run *r);
/* "#3 lora(r=8)", "#4 the best: lora(r=8)"; caller frees. */
char *run_table_short(const struct store_run *r);
/* "#3 lora(r=8) · reviews · seed 1", of one that is called something "#4 the best: lora(r=8) · …"; caller
 * frees. */
char *run_table_title(const struct store_run *r);
/* Adds the runs as `petri runs` prints them, with their names where there are any, or as Markdown. */
void run_table_report(const struct store_run *run, size_t n, enum report_form form, struct buf *b);

/* Writes a value, "undefined", or "-" where nothing was measured. */
enum { RUN_VALUE_ROOM = 48 };
void run_table_value(const struct store_value *v, char out[RUN_VALUE_ROOM]);

#endif
