/* Adding runs whose parameters already exist: imported, or combined from other runs. */
#ifndef APP_HISTORY_READY_RUN_H
#define APP_HISTORY_READY_RUN_H

#include "app/history/backbone.h"
#include "app/history/run_row.h"
#include "core/exchange/import.h"

/* Adds the run as finished at step 0 with its parameters in its folder, or as failed with the reason.  Its
 * description then names the model.  more: further members of its record; its `imported` is made from *x. */
int ready_run(struct store *s, struct imported *x, const struct history_row *more, int64_t *id,
              struct err *e);

/* Stores the class names of such a run (predictor_name_classes).  ERR_USAGE for a run that was trained
 * here: its data names them. */
int ready_run_name_classes(struct store *s, int64_t id, const struct backbone_hint *hint,
                           const char *const *name, int n, struct err *e);

#endif
