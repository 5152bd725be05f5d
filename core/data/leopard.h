/* Tasks in the layout of the LEOPARD data (Bansal et al. 2020): one folder per task with
 * PREFIX_train_D_K.json, support set D of K examples per class, and PREFIX_eval.json, each a JSON list of
 * {"sentence1", "sentence2"?, "label"}.  The prefix usually equals the folder name. */
#ifndef CORE_DATA_LEOPARD_H
#define CORE_DATA_LEOPARD_H

#include "core/data/task.h"

struct leopard_task {
    char *name;   /* the folder's */
    char *prefix; /* with the folder: the part before "_train_" */
};
struct leopard {
    int count;
    struct leopard_task *of; /* by name */
};
/* Lists the task of a folder, or those of its subfolders; empty for another layout.  ERR_INPUT for support
 * sets with two prefixes, ERR_SYSTEM. */
int leopard_find(const char *folder, struct leopard *out, struct err *e);
void leopard_release(struct leopard *l);

/* Return PREFIX_eval.json, and PREFIX_train_D_K.json; callers free. */
char *leopard_eval(const char *prefix);
char *leopard_draw(const char *prefix, int draw, int k);
bool leopard_is_draw(const char *path);
/* Returns the PREFIX of the path of a support set; caller frees.  NULL for another file. */
char *leopard_prefix(const char *draw);

/* Describes how such files are read, evaluation file and support sets, for struct task_source.  *pair:
 * whether examples have a second sentence; *names (count of them, owned by the caller): the classes, all of
 * them in the evaluation file.  ERR_NOT_FOUND without one. */
int leopard_classes(const char *prefix, bool *pair, size_t *rows, char ***names, int *count, struct err *e);

/* Published accuracies in percent (Bansal et al. 2022, BERT-base, ten support sets). */
struct leopard_cell {
    const char *task;     /* the folder's name; NULL: the mean over all 17 tasks */
    int k;
    const char *method;
    double mean, sd;      /* sd NaN: unknown */
    const char *remark;   /* a known error in it; NULL: none */
};
const struct leopard_cell *leopard_cell(int i); /* NULL past the end */

#endif
