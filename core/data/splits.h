/* Which rows of a task's files train, measure and test; private to core/data. */
#ifndef CORE_DATA_SPLITS_H
#define CORE_DATA_SPLITS_H

#include "core/data/task_files.h"

/* Reads the splits of the task as *s asks for; `o` says how a file of it is read.  On failure *e, and what
 * was read is left to task_release. */
int splits_read(struct task *t, const struct task_files *p, const struct task_source *s,
                const struct dataset_options *o, struct err *e);

#endif
