/* Assignment of a task's examples to training, validation and test; private to core/data. */
#ifndef CORE_DATA_SPLITS_H
#define CORE_DATA_SPLITS_H

#include "core/data/task_files.h"

/* Reads the splits of the task as requested by *s; `o` describes how a file is read.  On failure *e, and the
 * splits read so far are left to task_release. */
int splits_read(struct task *t, const struct task_files *p, const struct task_source *s,
                const struct dataset_options *o, struct err *e);

#endif
