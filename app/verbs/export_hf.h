/* A run as a Hugging Face folder (verb_use.c). */
#ifndef APP_VERBS_EXPORT_HF_H
#define APP_VERBS_EXPORT_HF_H

#include <stdbool.h>

#include "core/base/crew.h"
#include "core/base/err.h"
#include "store/store.h"

/* Writes the run's best weights, merged, and prints where and how near they are. */
int export_hf(struct store *s, int64_t run, const char *task, const char *model, const char *folder, bool json,
              struct err *e);
/* The same without printing, compared by the crew; *worst: the largest logit difference on a few training rows,
 * NaN when they could not be read. */
int export_hf_quiet(struct store *s, int64_t run, const char *task, const char *model, const char *folder,
                    struct crew *crew, double *worst, struct buf *said, struct err *e);

#endif
