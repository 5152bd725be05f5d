/* tasks: known tasks, or the composition of a multi-task batch. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"
#include "core/train/config/complete.h"
#include "core/train/config/sampling.h"

struct known_task {
    char *name, *folder; /* owned */
    const char *kind;
};
static const struct report_column KNOWN_TASK[] = {
    { "name", REPORT_TEXT, .offset = offsetof(struct known_task, name) },
    { "kind", REPORT_TEXT, offsetof(struct known_task, kind), .forms = REPORT_DATA },
    { "folder", REPORT_TEXT, .offset = offsetof(struct known_task, folder) },
    { 0 },
};

static void list_known(const struct args *a) {
    char **names;
    size_t n = task_names(NULL, &names), rows = 0;
    struct known_task *row = xcalloc(n + 1, sizeof *row);
    for (size_t i = 0; i < n; i++) {
        char *inside = xprintf("tasks/%s", names[i]), *folder = assets_find(inside);
        if (folder) row[rows++] = (struct known_task){ names[i], folder, "folder below assets" };
        else free(names[i]);
        free(inside);
    }
    free(names);
    if (verb_rows(a, KNOWN_TASK, row, rows, sizeof *row)) {
        puts("To use your own data (TSV, CSV or JSON Lines): --train FILE --dev FILE --text COLUMN --label "
             "COLUMN");
        verb_tell_own(NULL, paths_task());
    }
    while (rows) free(row[--rows].name), free(row[rows].folder);
    free(row);
}

/* ---- the composition of a multi-task batch ---- */

/* Counts the training examples of each task, as in a run. */
static int count_rows(const struct run_config *c, size_t *rows, struct err *e) {
    for (int i = 0; i < c->tasks; i++) {
        const struct task_source s = config_source(&c->of[i], NULL);
        struct task t;
        if (task_open(&t, &s, e)) return err_prefix(e, "task %s", c->of[i].task_name);
        rows[i] = t.train.examples;
        task_release(&t);
        if (!rows[i]) return err_set(e, ERR_INPUT, "task %s: the training set is empty", c->of[i].task_name);
    }
    return 0;
}

/* A task of a multi-task batch. */
struct batch_task {
    const char *task;
    int64_t rows;
    double probability, expected;
};
static const struct report_column BATCH_TASK[] = {
    { "task", REPORT_TEXT, .offset = offsetof(struct batch_task, task) },
    { "rows", REPORT_COUNT, .offset = offsetof(struct batch_task, rows) },
    { "probability", REPORT_DOUBLE, offsetof(struct batch_task, probability), .decimals = 5 },
    { "expected", REPORT_DOUBLE, offsetof(struct batch_task, expected), .decimals = 2 },
    { 0 },
};

static void print_batch(const struct run_config *c, const size_t *rows, const struct args *a) {
    const struct sampling how = config_sampling(c);
    struct batch_task row[RUN_TASKS];
    double expected[RUN_TASKS];
    char name[48];
    sampling_expected(&how, c->tasks, rows, c->batch, expected);
    for (int i = 0; i < c->tasks; i++)
        row[i] = (struct batch_task){ c->of[i].task_name, (int64_t)rows[i], expected[i] / c->batch,
                                      expected[i] };
    sampling_text(&how, name);
    if (verb_rows(a, BATCH_TASK, row, c->tasks, sizeof *row))
        printf("expected number of examples in a batch of %d with --sampling %s\n", c->batch, name);
}

static int show_batch(const struct args *a, struct err *e) {
    struct run_config c;
    size_t rows[RUN_TASKS];
    config_init(&c);
    int rc = args_config(a, &c, e);
    if (!rc) rc = config_set_tasks(&c, a->positional[0], e);
    if (!rc) rc = count_rows(&c, rows, e);
    if (!rc) print_batch(&c, rows, a);
    config_release(&c);
    return rc;
}

int verb_tasks(const struct args *a, struct err *e) {
    if (a->count) return show_batch(a, e);
    list_known(a);
    return 0;
}
