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
#include "core/train/complete.h"
#include "core/train/sampling.h"

static void list_known(bool json) {
    char **names;
    size_t n = task_names(NULL, &names);
    struct buf b = BUF_INIT;
    buf_putc(&b, '[');
    for (size_t i = 0; i < n; i++) {
        char *inside = xprintf("tasks/%s", names[i]), *folder = assets_find(inside);
        if (folder && json) {
            json_open(&b, NULL, '{');
            json_member_string(&b, "name", names[i]);
            json_member_string(&b, "kind", "folder below assets");
            json_member_string(&b, "folder", folder);
            buf_putc(&b, '}');
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

static int verb_tasks_read_options(const struct args *a, struct run_config *c, struct err *e) {
    for (int i = 0; i < a->given; i++) {
        const struct option_spec *o = a->option[i].spec;
        if (config_option_name(o->name) && config_set(c, o->name, o->value ? a->option[i].value : "on", e)) return e->code;
    }
    return config_set_tasks(c, a->positional[0], e);
}

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

static void verb_tasks_print_json(const struct run_config *c, const size_t *rows, const double *expected) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '[');
    for (int i = 0; i < c->tasks; i++) {
        json_open(&b, NULL, '{');
        json_member_string(&b, "task", c->of[i].task_name);
        json_member_int(&b, "rows", rows[i]);
        json_member_double(&b, "probability", expected[i] / c->batch);
        json_member_double(&b, "expected", expected[i]);
        buf_putc(&b, '}');
    }
    buf_putc(&b, ']');
    out_line(&b);
}

static void print_table(const struct run_config *c, const struct sampling *how, const size_t *rows,
                        const double *expected) {
    static const char *const heading[] = { "task", "rows", "probability", "expected" };
    struct table t;
    char name[48];
    table_init(&t, COUNT_OF(heading), heading, "lrrr");
    for (int i = 0; i < c->tasks; i++) {
        char count[32], share[32], each[32];
        text_thousands((int64_t)rows[i], count);
        snprintf(share, sizeof share, "%.5f", expected[i] / c->batch);
        snprintf(each, sizeof each, "%.2f", expected[i]);
        table_add(&t, (const char *[]){ c->of[i].task_name, count, share, each });
    }
    table_print(&t);
    sampling_text(how, name);
    printf("rows in a batch of %d on average, --sampling %s\n", c->batch, name);
}

static int show_batch(const struct args *a, struct err *e) {
    struct sampling how = { SAMPLING_PROPORTIONAL, 1 };
    struct run_config c;
    size_t rows[RUN_TASKS];
    double expected[RUN_TASKS];
    config_init(&c);
    int rc = verb_tasks_read_options(a, &c, e);
    if (!rc && c.sampling) rc = sampling_parse(c.sampling, &how, e);
    if (!rc) rc = count_rows(&c, rows, e);
    if (!rc) {
        sampling_expected(&how, c.tasks, rows, c.batch, expected);
        if (args_flag(a, "json")) verb_tasks_print_json(&c, rows, expected);
        else print_table(&c, &how, rows, expected);
    }
    config_release(&c);
    return rc;
}

int verb_tasks(const struct args *a, struct err *e) {
    if (a->count) return show_batch(a, e);
    for (int i = 0; i < a->given; i++) {
        const char *name = a->option[i].spec->name;
        if (config_option_name(name))
            return err_set(e, ERR_USAGE, "--%s: needs the names of several tasks: petri tasks A,B,C --%s …", name, name);
    }
    list_known(args_flag(a, "json"));
    return 0;
}
