/* Export of a run as a Hugging Face model folder. */
#ifndef APP_HISTORY_EXPORT_HF_H
#define APP_HISTORY_EXPORT_HF_H

#include "core/base/buf.h"
#include "core/base/crew.h"
#include "core/base/err.h"
#include "store/store.h"

/* Writes the run's best weights, merged (`half`: in F16), and verifies them with the crew (NULL: in the
 * caller's thread).  *worst: the largest logit difference on a few training examples, NaN when they could
 * not be read. `task`, `model` and `notes` as for opened_run. */
int export_hf(struct store *s, int64_t run, const char *task, const char *model, const char *folder,
              bool half, struct crew *crew, double *worst, struct buf *notes, struct err *e);

#endif
