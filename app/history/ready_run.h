/* A run whose values are there already: imported, or joined of other runs. */
#ifndef APP_HISTORY_READY_RUN_H
#define APP_HISTORY_READY_RUN_H

#include "app/history/backbone.h"
#include "app/history/run_row.h"
#include "core/exchange/import.h"

/* Adds it, finished at step 0, with its values in its folder, or failed with the reason.  Its description
 * names the model from here on.  more: what is said beside; its `imported` is made of *x. */
int ready_run(struct store *s, struct imported *x, const struct history_row *more, int64_t *id,
              struct err *e);

/* Names the classes of such a run (predictor_name_classes) in its file.  ERR_USAGE for a run that was trained
 * here: its rows name them. */
int ready_run_name_classes(struct store *s, int64_t id, const struct backbone_hint *hint,
                           const char *const *name, int n, struct err *e);

#endif
