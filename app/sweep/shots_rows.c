/* The tasks of a few-shot run and their data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/sweep/shots_private.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/leopard.h"
#include "core/train/config/complete.h"

enum { LEAST_EVAL = 100 }; /* examples of an eval file: fewer are not informative */

void shots__task_release(struct shots_task *t) {
    if (t->opened) task_release(&t->task);
    for (int i = 0; i < t->classes; i++) free(t->class_name[i]);
    free(t->class_name);
    free(t->prefix);
    plan_free(t->plan);
    config_release(&t->c);
    *t = (struct shots_task){ 0 };
}

static struct shots_task *shots_rows_add(struct shots *x) {
    x->of = xrealloc(x->of, (size_t)x->tasks + 1, sizeof *x->of);
    x->of[x->tasks] = (struct shots_task){ 0 };
    return &x->of[x->tasks++];
}

/* ---- LEOPARD's layout ---- */

static void shots_rows_leave_out(struct shots *x, const char *task, const char *why) {
    struct buf line = BUF_INIT;
    text_line(&line, "%s is excluded: %s", task, why);
    shots__say(x, &line);
    if (x->left_out.size) buf_putc(&x->left_out, ',');
    buf_putc(&x->left_out, '{');
    json_put(&x->left_out, "task:%s,why:%s}", task, why);
}

/* Reads the classes and text pair of a task in the layout; a task that cannot be evaluated is dropped. */
static int shots_rows_read_classes(struct shots *x, struct shots_task *t, const char *name, bool *usable,
                                   struct err *e) {
    char why[160];
    size_t rows = 0;
    struct err own = ERR_INIT;
    int rc = leopard_classes(t->prefix, &t->pair, &rows, &t->class_name, &t->classes, &own);
    *usable = !rc && rows >= LEAST_EVAL;
    if (*usable) return 0;
    if (rc && rc != ERR_NOT_FOUND) {
        *e = own;
        return rc;
    }
    if (rc) snprintf(why, sizeof why, "the eval file is missing");
    else snprintf(why, sizeof why, "the eval file has %zu examples, fewer than %d", rows, LEAST_EVAL);
    shots_rows_leave_out(x, name, why);
    return 0;
}

/* Uses the first readable draw as the training set. */
static char *some_draw(const struct shots *x, const char *prefix) {
    for (int i = 0; i < x->how.ks; i++)
        for (int d = 0; d < x->how.draws; d++) {
            char *path = leopard_draw(prefix, d, x->how.k[i]);
            struct dataset rows;
            const struct dataset_options o = { .path = path, .format = DATA_LIST, .text_a = "sentence1",
                                               .label = "label", .kind = DATA_KIND_CLASSES };
            bool good = file_exists(path) && !dataset_read(&rows, &o, NULL);
            if (good) {
                dataset_release(&rows);
                return path;
            }
            free(path);
        }
    return NULL;
}

static bool has_draws(const struct shots *x, const char *prefix, int k) {
    bool has = false;
    for (int d = 0; d < x->how.draws && !has; d++) {
        char *path = leopard_draw(prefix, d, k);
        has = file_exists(path);
        free(path);
    }
    return has;
}

static int describe_files(const struct shots *x, const struct leopard_task *l, const struct shots_task *t,
                          struct run_config *rows, struct err *e) {
    for (int i = 0; i < x->how.ks; i++)
        if (!has_draws(x, l->prefix, x->how.k[i]))
            return err_set(
                e, ERR_NOT_FOUND,
                "%s: no support set with %d examples per class found; expected %s_train_D_%d.json, "
                "D = index of the support set",
                l->name, x->how.k[i], l->prefix, x->how.k[i]);
    config_init(rows);
    rows->train_file = some_draw(x, l->prefix);
    rows->dev_file = leopard_eval(l->prefix);
    rows->text_column = xstrdup("sentence1");
    rows->text_b_column = t->pair ? xstrdup("sentence2") : NULL;
    rows->label_column = xstrdup("label");
    rows->regression = 0;
    if (rows->train_file) return 0;
    return err_set(e, ERR_INPUT, "%s: no valid training file TASK_train_D_K.json", l->name);
}

static int add_leopard(struct shots *x, const struct leopard_task *l, struct err *e) {
    struct shots_task *t = shots_rows_add(x);
    struct run_config rows = { 0 };
    bool usable;
    t->prefix = xstrdup(l->prefix);
    int rc = shots_rows_read_classes(x, t, l->name, &usable, e);
    if (!rc && !usable) shots__task_release(&x->of[--x->tasks]);
    if (rc || !usable) return rc;
    rc = describe_files(x, l, t, &rows, e);
    if (!rc) rc = config_add_task(&x->c, &rows, l->name, e);
    config_release(&rows);
    return rc;
}

/* Either all parts of --tasks use the layout, or none does. */
static int find_leopards(struct shots *x, const char *what, bool *found, struct err *e) {
    char *copy = xstrdup(what), *rest = copy, *part;
    int rc = 0, of_layout = 0, parts = 0;
    while (!rc && (part = text_item(&rest))) {
        struct leopard l;
        char *full = realpath(part, NULL);
        rc = leopard_find(full ? full : part, &l, e);
        free(full);
        parts++;
        of_layout += !rc && l.count > 0;
        for (int i = 0; !rc && i < l.count; i++) rc = add_leopard(x, &l.of[i], e);
        leopard_release(&l);
    }
    free(copy);
    if (!rc && of_layout && of_layout < parts)
        rc = err_set(e, ERR_USAGE, "--tasks %s: folders in LEOPARD's layout and other tasks cannot be mixed",
                     what);
    *found = of_layout > 0;
    if (!rc && *found && !x->tasks) rc = err_set(e, ERR_INPUT, "--tasks %s: all tasks were excluded", what);
    return rc;
}

/* The data of a single task is that of the config. */
static void be_single(struct shots *x) {
    struct run_config one;
    config_of_task(&x->c, 0, &one);
    char *name = xstrdup(config_task_name(&x->c, 0));
    xreplace(&one.task_name, NULL);
    one.task_weight = 0;
    config_take_data(&x->c, &one);
    xreplace(&x->c.task, name);
    free(name);
    config_release(&one);
}

int shots__find_tasks(struct shots *x, const char *what, struct err *e) {
    bool files = false;
    config_take_task(&x->c, "");
    xreplace(&x->c.task, NULL);
    if (find_leopards(x, what, &files, e)) return e->code;
    x->how.files = files;
    if (files) {
        if (x->tasks == 1) be_single(x);
        return 0;
    }
    bool several = strchr(what, ',') || (text_ends(what, ".json") && file_exists(what));
    int rc = several ? config_take_tasks(&x->c, what, e) : config_set(&x->c, "task", what, e);
    for (int i = 0; !rc && i < config_task_count(&x->c); i++) shots_rows_add(x);
    return rc;
}

/* ---- reading the data ---- */

static int find_classes(struct shots_task *t, struct err *e) {
    size_t rows;
    t->prefix = t->prefix ? t->prefix : leopard_prefix(t->c.train_file);
    if (t->classes || !t->prefix) return 0;
    return leopard_classes(t->prefix, &t->pair, &rows, &t->class_name, &t->classes, e);
}

static void of_files(const struct shots_task *t, struct task_source *s) {
    s->format = DATA_LIST;
    s->names = (const char *const *)t->class_name;
    s->name_count = t->classes;
    s->names_from = "the eval file";
}

int shots__open_task(struct shots *x, struct shots_task *t, struct err *e) {
    struct task_source s = config_source(&t->c, NULL);
    if (model_needs_tokenizer(x->model, e)) return e->code;
    if (x->how.files && find_classes(t, e)) return e->code;
    if (x->how.files) of_files(t, &s);
    if (task_open(&t->task, &s, e)) return e->code;
    t->opened = true;
    return run_prepare_task(&t->c, x->model, &t->task, e);
}

/* Reports a class that the draw lacks; returns false if it has all. */
static bool lacks(const struct dataset *d, char why[200]) {
    for (int c = 0; c < d->classes; c++) {
        if (d->class_examples[c]) continue;
        char *shown = text_visible(d->class_name[c], strlen(d->class_name[c]));
        snprintf(why, 200, "it has no examples of class %.100s", shown);
        free(shown);
        return true;
    }
    return false;
}

int shots__draw(void *self, int k, int draw, struct task *out, char why[200], struct err *e) {
    struct shots *x = self;
    struct shots_task *t = x->at;
    struct err own = ERR_INIT;
    char *path = leopard_draw(t->prefix, draw, k);
    struct task_source s = { .train = path,
                             .text = "sentence1",
                             .text_b = t->pair ? "sentence2" : NULL,
                             .label = "label",
                             .kind = DATA_KIND_CLASSES };
    of_files(t, &s);
    int rc = 0;
    if (!file_exists(path)) {
        snprintf(why, 200, "the file does not exist");
    } else if (task_open(out, &s, &own)) {
        if (own.code == ERR_INPUT) snprintf(why, 200, "%s", own.text);
        else {
            *e = own;
            rc = own.code;
        }
    } else {
        if (!lacks(&out->train, why)) rc = run_prepare_task(&t->c, x->model, out, e);
        if (rc || *why) {
            task_release(out);
            *out = (struct task){ 0 };
        }
    }
    free(path);
    return rc;
}
