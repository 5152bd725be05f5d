/* Shared by data.c, data_files.c and data_rows.c; data_looked is also called by the app. */
#ifndef VIEWS_DATA_PARTS_H
#define VIEWS_DATA_PARTS_H

#include "views/ui.h"
#include "views/ui_parts.h"

/* ---- data_rows.c ---- */
/* Applies the detected settings after v->look was set, on top of the settings of `base` other than its
 * data. */
void data_looked(struct data_view *v, const struct run_config *base);
int data_columns(const struct data_view *v);
void data_give(struct data_view *v, int column, enum peek_role role);
int data_options(const struct data_view *v, int line[DATA_OPTIONS]);
void data_option_words(const struct data_view *v, int line, const char **name, char value[160]);
bool data_option_step(struct data_view *v, int line, int by);

/* ---- data_files.c ---- */
/* Opens the file chooser, in the last folder or the working folder. */
void data_find(struct ui *ui, struct effect *out);
/* Resets the file chooser after a folder was listed. */
void data_listed(struct ui *ui);
/* Handles a press in the file chooser; false: it belongs to the prompt. */
bool data_files_press(struct ui *ui, const struct press *p, struct effect *out);
void data_files_typed(struct ui *ui);
void data_files_draw(const struct data_view *v, const struct ui *ui, struct canvas *c, struct rect r);

#endif
