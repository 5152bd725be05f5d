/* The files of a task, found before any is read; private to core/data. */
#ifndef CORE_DATA_TASK_FILES_H
#define CORE_DATA_TASK_FILES_H

#include "core/base/err.h"
#include "core/data/layouts.h"
#include "core/data/task.h"

struct task_files {
    const struct layout *layout; /* NULL: none that is known */
    char *train;                 /* NULL: none */
    int devs;
    char *dev[TASK_DEVS];
    const char *dev_name[TASK_DEVS]; /* constants */
};

/* *name: the task's name, the caller's also on failure.  task_files_release frees in either case. */
int task_files_find(struct task_files *p, const struct task_source *s, char **name, struct err *e);
void task_files_release(struct task_files *p);

/* "folder/stem.tsv" or another known ending, when it is there; or NULL.  The caller's. */
char *task_files_split(const char *folder, const char *stem);

#endif
