/* What data.c, data_files.c and data_rows.c share; data_looked is also the app's. */
#ifndef VIEWS_DATA_PARTS_H
#define VIEWS_DATA_PARTS_H

#include "views/ui.h"
#include "views/ui_parts.h"

/* ---- data_rows.c ---- */
/* After v->look was set: the guesses are taken, on top of what `base` has beside its rows. */
void data_looked(struct data_view *v, const struct run_config *base);
int data_columns(const struct data_view *v);
void data_give(struct data_view *v, int column, enum peek_role role);
int data_options(const struct data_view *v, int line[DATA_OPTIONS]);
void data_option_words(const struct data_view *v, int line, const char **name, char value[160]);
bool data_option_step(struct data_view *v, int line, int by);

/* ---- data_files.c ---- */
/* Opens the screen to find a file, where it was left or in the working folder. */
void data_find(struct ui *ui, struct effect *out);
/* A folder was listed in place of a file that was looked for. */
void data_listed(struct ui *ui);
/* A press while a file is looked for; false: it is the typed line's. */
bool data_files_press(struct ui *ui, const struct press *p, struct effect *out);
void data_files_typed(struct ui *ui);
void data_files_draw(const struct data_view *v, const struct ui *ui, struct canvas *c, struct rect r);

#endif
