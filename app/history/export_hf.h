/* A run as a Hugging Face folder. */
#ifndef APP_HISTORY_EXPORT_HF_H
#define APP_HISTORY_EXPORT_HF_H

#include "core/base/buf.h"
#include "core/base/crew.h"
#include "core/base/err.h"
#include "store/store.h"

/* Writes the run's best weights (`half`: in F16), merged, compared by the crew (NULL: by the caller's
 * thread); *worst: the largest logit difference on a few training rows, NaN when they could not be read.
 * `task`, `model` and `said` as of opened_run. */
int export_hf(struct store *s, int64_t run, const char *task, const char *model, const char *folder,
              bool half, struct crew *crew, double *worst, struct buf *said, struct err *e);

#endif
