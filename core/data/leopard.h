/* Tasks in the layout of the LEOPARD data (Bansal et al. 2020): a folder a task, in it PREFIX_train_D_K.json,
 * draw D of K rows a class, and PREFIX_eval.json, each one JSON list of {"sentence1", "sentence2"?, "label"}.
 * The prefix is mostly the folder's name. */
#ifndef CORE_DATA_LEOPARD_H
#define CORE_DATA_LEOPARD_H

#include "core/data/task.h"

struct leopard_task {
    char *name;   /* the folder's */
    char *prefix; /* with the folder: what stands before "_train_" */
};
struct leopard {
    int count;
    struct leopard_task *of; /* by name */
};
/* The task that a folder is, or those in the folders below it; none where it is of another layout.  ERR_INPUT
 * for a folder with draws of two prefixes, ERR_SYSTEM. */
int leopard_find(const char *folder, struct leopard *out, struct err *e);
void leopard_release(struct leopard *l);

/* PREFIX_eval.json, and PREFIX_train_D_K.json; callers free. */
char *leopard_eval(const char *prefix);
char *leopard_draw(const char *prefix, int draw, int k);
bool leopard_is_draw(const char *path);
/* PREFIX, of the path of a draw; caller frees.  NULL: it is none. */
char *leopard_prefix(const char *draw);

/* How such files are read: of the eval file and the draws, as struct task_source wants it.  *pair: whether
 * rows have a second sentence; *names (count of them, the caller's): the classes, all of them in the eval
 * file.  ERR_NOT_FOUND without one. */
int leopard_classes(const char *prefix, bool *pair, size_t *rows, char ***names, int *count, struct err *e);

/* Published accuracies in per cent (Bansal et al. 2022, BERT-base, ten draws), as far as they were read. */
struct leopard_cell {
    const char *task;     /* the folder's name; NULL: the mean over all 17 tasks */
    int k;
    const char *method;
    double mean, sd;      /* sd NaN: not read */
    const char *remark;   /* what is wrong with it; NULL: nothing known */
};
const struct leopard_cell *leopard_cell(int i); /* NULL past the end */

#endif
