/* Locates the files of a task before any is read; private to core/data. */
#ifndef CORE_DATA_TASK_FILES_H
#define CORE_DATA_TASK_FILES_H

#include "core/base/err.h"
#include "core/data/layouts.h"
#include "core/data/task.h"

struct task_files {
    const struct layout *layout; /* NULL: unknown */
    char *train;                 /* NULL: none */
    int devs;
    char *dev[TASK_DEVS];
    const char *dev_name[TASK_DEVS]; /* constants */
};

/* Locates the files.  *name: the name of the task, owned by the caller also on failure.  Released with
 * task_files_release in either case. */
int task_files_find(struct task_files *p, const struct task_source *s, char **name, struct err *e);
void task_files_release(struct task_files *p);

/* Returns "folder/stem.tsv" or another supported extension if it exists, or NULL.  Owned by the caller. */
char *task_files_split(const char *folder, const char *stem);

#endif
