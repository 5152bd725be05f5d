/* tasks: those known by name, or what a batch of several holds. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"
#include "core/train/config/complete.h"
#include "core/train/config/sampling.h"

static void list_known(bool json) {
    char **names;
    size_t n = task_names(NULL, &names);
    struct buf b = BUF_INIT;
    buf_putc(&b, '[');
    for (size_t i = 0; i < n; i++) {
        char *inside = xprintf("tasks/%s", names[i]), *folder = assets_find(inside);
        if (folder && json) {
            json_put(&b, "{name:%s,kind:%s,folder:%s}", names[i], "folder below assets", folder);
        } else if (folder) {
            printf("%-12s %s\n", names[i], folder);
        }
        free(folder);
        free(inside);
        free(names[i]);
    }
    free(names);
    buf_putc(&b, ']');
    if (json) out_line(&b);
    else puts("Any TSV, CSV or JSON Lines: --train FILE --dev FILE --text COLUMN --label COLUMN");
    if (!json) verb_tell_own(NULL, paths_task());
    buf_release(&b);
}

/* ---- what a batch of several holds ---- */

/* Train rows of each task, as a run would have them. */
static int count_rows(const struct run_config *c, size_t *rows, struct err *e) {
    for (int i = 0; i < c->tasks; i++) {
        const struct task_source s = config_source(&c->of[i], NULL);
        struct task t;
        if (task_open(&t, &s, e)) return err_prefix(e, "task %s", c->of[i].task_name);
        rows[i] = t.train.rows;
        task_release(&t);
        if (!rows[i]) return err_set(e, ERR_INPUT, "task %s: no row to train on", c->of[i].task_name);
    }
    return 0;
}

/* A task of a batch of several. */
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

static void print_batch(const struct run_config *c, const size_t *rows, bool json) {
    const struct sampling how = config_sampling(c);
    struct batch_task row[RUN_TASKS];
    double expected[RUN_TASKS];
    char name[48];
    sampling_expected(&how, c->tasks, rows, c->batch, expected);
    for (int i = 0; i < c->tasks; i++)
        row[i] = (struct batch_task){ c->of[i].task_name, (int64_t)rows[i], expected[i] / c->batch,
                                      expected[i] };
    out_rows(BATCH_TASK, json ? REPORT_JSON : REPORT_TABLE, row, c->tasks, sizeof *row);
    sampling_text(&how, name);
    if (!json) printf("rows in a batch of %d on average, --sampling %s\n", c->batch, name);
}

static int show_batch(const struct args *a, struct err *e) {
    struct run_config c;
    size_t rows[RUN_TASKS];
    config_init(&c);
    int rc = args_config(a, &c, e);
    if (!rc) rc = config_set_tasks(&c, a->positional[0], e);
    if (!rc) rc = count_rows(&c, rows, e);
    if (!rc) print_batch(&c, rows, a->json);
    config_release(&c);
    return rc;
}

int verb_tasks(const struct args *a, struct err *e) {
    if (a->count) return show_batch(a, e);
    for (int i = 0; i < a->given; i++) {
        const char *name = a->option[i].spec->name;
        if (a->option[i].spec->fills == FILLS_CONFIG)
            return err_set(e, ERR_USAGE, "--%s: needs the names of several tasks: petri tasks A,B,C --%s …",
                           name, name);
    }
    list_known(a->json);
    return 0;
}
